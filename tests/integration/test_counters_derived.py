# SPDX-License-Identifier: BSD-3-Clause
"""Names of counters before recording: vtrace run --counters with derived events, and VT_RUSAGE."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import vtrace as vtrace_package
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.counters import Counters
from support.tools import Done, call, command
from vtrace.io.archive.properties import CPU_MAX_MHZ, PMUS

EVENTS = """\
EVENT,FAULTS_PER_MS,DERIVED_INFIX,N0*1000000/N1,page-faults,TIME
EVENT,TIME,NOT_DERIVED,task-clock
CPU,no_such_pmu
EVENT,ELSEWHERE,NOT_DERIVED,page-faults
"""


@pytest.fixture
def program(build: Builder) -> Path:
    return build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))


def found_in(where: Path) -> Counters:
    """Unifies the run and returns its counters."""
    unify(where, "counter_regions")
    check(where / "counter_regions.trace")
    return Counters(where / "counter_regions.trace")


def counted(program: Path, where: Path, names: str) -> Done:
    (where / "my.events").write_text(EVENTS)
    words = [*command("vtrace"), "run", "--counters", names, program, "plain"]
    return call(words, where, env={"PAPI_USER_EVENTS_FILE": "my.events"})


def test_run_records_the_bases_of_derived_events(program: Path, tmp_path: Path) -> None:
    done = counted(program, tmp_path, "FAULTS_PER_MS,ru_minflt,ELSEWHERE,page-faults")
    said = "--counters: ELSEWHERE is defined for no_such_pmu only, not for the processor of this machine"
    assert said in done.stderr
    assert [*found_in(tmp_path).classes] == [("task-clock", "page-faults", "ru_minflt")]
    words = ("profile", "counter_regions", "--metrics", "FAULTS_PER_MS,page-faults,TIME", "--json")
    rows = json.loads(vtrace(tmp_path, *words, "--events", "my.events").stdout)["metrics"]
    assert any(row["TIME"] for row in rows)
    for row in rows:
        if row["TIME"]:
            assert row["FAULTS_PER_MS"] == pytest.approx(row["page-faults"] * 1e6 / row["TIME"])


def test_lines_with_errors_are_told(program: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.events").write_text("EVENT,A\nEVENT,B,NOT_DERIVED,page-faults\n")
    words = [*command("vtrace"), "run", "--counters", "B", program, "plain"]
    done = call(words, tmp_path, env={"PAPI_USER_EVENTS_FILE": "bad.events"})
    assert "bad.events:1:8: the derived type is missing: line left out" in done.stderr
    assert [*found_in(tmp_path).classes] == [("page-faults",)]
    done = call(words, tmp_path, env={"PAPI_USER_EVENTS_FILE": "none.events"}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "none.events: No such file or directory" in done.stderr


@pytest.mark.parametrize(("interval", "kind", "least", "most"), [
    ("0", "SYNCHRONOUS", 2, 1000), ("3600000", "ASYNCHRONOUS", 1, 1), ("", "ASYNCHRONOUS", 1, 100),
])  # fmt: skip
def test_usage_is_read_by_each_thread(
    program: Path, tmp_path: Path, interval: str, kind: str, least: int, most: int
) -> None:
    env = {"VT_METRICS": "page-faults", "VT_RUSAGE": "ru_stime:ru_majflt", "VT_PTHREAD_REUSE": "no"}
    run(program, tmp_path, "threads", env=env | ({"VT_RUSAGE_INTV": interval} if interval else {}))
    counters = found_in(tmp_path)
    found = counters.classes
    if kind == "SYNCHRONOUS":
        assert found == {("page-faults", "ru_stime", "ru_majflt"): kind}
    else:
        assert found == {("page-faults",): "SYNCHRONOUS", ("ru_stime", "ru_majflt"): kind}
    numbers: dict[str, Counter[str]] = defaultdict(Counter)
    for location, name, _ in counters.readings:
        numbers[location][name] += 1
    threads = [of for of in numbers.values() if of["page-faults"]]
    assert len(threads) > 1
    for of in threads:
        assert least <= of["ru_stime"] == of["ru_majflt"] <= most


def test_all_usage(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path, env={"VT_RUSAGE": "all", "VT_METRICS": "ru_utime"})
    listed = json.loads(call([*command("vtrace"), "counters", "--json"], tmp_path).stdout)
    names = sorted(row["name"] for row in listed if row["name"].startswith("ru_"))
    found = found_in(tmp_path).classes
    assert sorted(name for group in found for name in group) == names
    assert [kind for group, kind in found.items() if "ru_utime" in group] == ["SYNCHRONOUS"]


def test_wrong_usage_is_told(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path, env={"VT_RUSAGE": "ru_stim:page-faults:ru_stime"})
    assert "VT_RUSAGE: ru_stim is not recorded: unknown counter, did you mean ru_stime?" in done.stderr
    assert "VT_RUSAGE: page-faults is not recorded: no counter of getrusage: set VT_METRICS" in done.stderr
    assert [*found_in(tmp_path).classes] == [("ru_stime",)]


def test_clock_rate_and_pmus(program: Path, tmp_path: Path) -> None:
    """The properties are those of this machine, and vtrace profile takes the clock rate for #. Without counters there
    are none."""
    (tmp_path / "my.events").write_text("EVENT,FAULTS_AT_FULL_RATE,DERIVED_INFIX,N0*#,page-faults\n")
    run(program, tmp_path, "plain", env={"VT_METRICS": "page-faults"})
    found_in(tmp_path)
    known = properties(tmp_path)
    assert sorted(known[PMUS].split()) == sorted(os.listdir("/sys/bus/event_source/devices"))
    cpufreq = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    if cpufreq.exists():
        assert int(known[CPU_MAX_MHZ]) == int(cpufreq.read_text()) // 1000
    else:  # the rate in /proc/cpuinfo may vary
        assert (CPU_MAX_MHZ in known) == ("cpu MHz" in Path("/proc/cpuinfo").read_text())
    if expected := int(known.get(CPU_MAX_MHZ, 0)):
        words = ["profile", "counter_regions", "--metrics", "page-faults,FAULTS_AT_FULL_RATE", "--by", "rank", "--json"]
        done = call([*command("vtrace"), *words], tmp_path, env={"PAPI_USER_EVENTS_FILE": "my.events"})
        (row,) = json.loads(done.stdout)["metrics"]
        assert row["page-faults"] > 0
        assert row["FAULTS_AT_FULL_RATE"] == row["page-faults"] * expected * 10**6
    run(program, tmp_path, "plain")
    unify(tmp_path, "--force", "counter_regions")
    assert not {PMUS, CPU_MAX_MHZ} & {*properties(tmp_path)}


def properties(where: Path) -> dict[str, str]:
    """The properties of the process."""
    table = vtrace_package.open(where / "counter_regions.trace").group_properties
    return dict(zip(table["name"].tolist(), table["value"].tolist(), strict=True))
