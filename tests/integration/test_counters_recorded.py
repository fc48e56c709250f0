# SPDX-License-Identifier: BSD-3-Clause
"""VT_METRICS: counters at enters and leaves, against the kernel's own counts, and their way to vtrace profile."""

from __future__ import annotations

import json
import resource
from collections import defaultdict
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.build.builder import Builder
from support.build.mpis import find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.counters import Counters
from support.tools import ROOT, Done, call, command

FEW = 8
"""Page faults of vtrace itself between two readings: new pages of its buffer and code."""
WHERE = "VT_METRICS_AT"


@pytest.fixture
def program(build: Builder) -> Path:
    return build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))


def printed(done: Done) -> dict[str, list[int]]:
    """The page faults that the program printed, by region."""
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, number = line.split()
        found[name].append(int(number))
    return found


def recorded(program: Path, where: Path, mode: str = "plain", **env: str) -> tuple[Done, Counters]:
    done = run(program, where, mode, env={"VT_METRICS": "page-faults"} | env)
    unify(where, "counter_regions")
    check(where / "counter_regions.trace")
    return done, Counters(where / "counter_regions.trace")


def about(found: list[int], exact: list[int]) -> bool:
    return len(found) == len(exact) and all(0 <= one - other <= FEW for one, other in zip(found, exact, strict=True))


def test_page_faults_of_regions(program: Path, tmp_path: Path) -> None:
    done, found = recorded(program, tmp_path)
    exact = printed(done)
    assert min(exact["outer"]) >= 100
    assert min(exact["inner"]) >= 50
    assert about(found.increases("inner"), exact["inner"])
    both = [sum(pair) for pair in zip(exact["outer"], exact["inner"], strict=True)]
    assert about(found.increases("outer"), both)
    assert found.classes == {("page-faults",): "SYNCHRONOUS"}
    assert found.units == {"page-faults": ("#", "ACCUMULATED_START")}


def test_each_thread_counts_for_itself(program: Path, tmp_path: Path) -> None:
    done, found = recorded(program, tmp_path, "threads")
    assert about(found.increases("worker"), printed(done)["worker"])
    first = [begin["page-faults"] for _, region, begin, _ in found.calls if region == "worker"]
    assert max(first) < 100, "counters of a new thread begin at 0"
    (row,) = [row for row in profile(tmp_path, "--metrics", "page-faults") if row["function"] == "worker"]
    assert row["page-faults"] == sum(found.increases("worker")), "both threads have had one location"


def test_a_forked_child_counts_for_itself(program: Path, tmp_path: Path) -> None:
    done, found = recorded(program, tmp_path, "fork")
    (increase,), (exact,) = found.increases("child"), printed(done)["child"]
    assert 150 <= exact <= increase <= exact + 40, "the child also copies pages of its parent"
    assert [begin["page-faults"] < 100 for _, region, begin, _ in found.calls if region == "child"] == [True]


def test_many_counters_of_one_moment(program: Path, tmp_path: Path) -> None:
    """More than seven counters take two records with the time of the call."""
    names = ["page-faults", "minor-faults", "task-clock", "context-switches", "cpu-migrations", "ru_utime", "ru_minflt"]
    names += ["sched-run", "cpu", "numa-node"]
    done, found = recorded(program, tmp_path, VT_METRICS=":".join([*names, *names[:2]]))
    assert [len(group) for group in found.classes] == [7, 3]
    assert sorted(name for group in found.classes for name in group) == sorted(names)
    exact = printed(done)
    for _, region, begin, end in found.calls:
        assert begin.keys() == end.keys() == {*names}, region
        assert end["page-faults"] - begin["page-faults"] == end["minor-faults"] - begin["minor-faults"]
        assert 0 <= end["task-clock"] - begin["task-clock"] < 10**9
        assert begin["cpu"] < 4096
    assert about(found.increases("inner", "ru_minflt")[1:], exact["inner"][1:])
    assert found.units["task-clock"] == ("ns", "ACCUMULATED_START")
    assert found.units["cpu"] == ("#", "ABSOLUTE_POINT")


@pytest.mark.parametrize("names", ["page-faults:task-clock:cpu-clock", "task-clock:page-faults:cpu-clock"])
def test_events_of_several_pmus_count_at_once(program: Path, tmp_path: Path, names: str) -> None:
    """Holds also in a program that never leaves its CPU."""
    done, found = recorded(program, tmp_path, VT_METRICS=names)
    assert about(found.increases("inner"), printed(done)["inner"])
    for clock in ("task-clock", "cpu-clock"):
        assert min(found.increases("inner", clock)) > 0


def test_no_more_room(program: Path, tmp_path: Path) -> None:
    """8 counters of the thread and 16 of the process fill no group evenly; one more is left out with a message."""
    software = [
        "page-faults",
        "minor-faults",
        "task-clock",
        "cpu-migrations",
        "ru_utime",
        "ru_stime",
        "cpu",
        "numa-node",
    ]
    files = [tmp_path / f"value-{number}" for number in range(17)]
    for number, path in enumerate(files):
        path.write_text(f"{number}\n")
    names = ":".join([*software, *map(str, files)])
    done, found = recorded(program, tmp_path, VT_METRICS=names, VT_METRICS_INTERVAL="0")
    assert f"VT_METRICS: {files[-1]} is not recorded: a process has 24 counters at most" in done.stderr
    assert [len(group) for group in found.classes] == [7, 1, 7, 7, 2]
    read = {name: value for _, name, value in found.readings}
    assert {name: read[name] for name in map(str, files[:-1])} == {str(path): n for n, path in enumerate(files[:-1])}


def test_usage_is_that_of_the_kernel(program: Path, tmp_path: Path) -> None:
    """The last value is the CPU time of the process, less that after the last region."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(program, tmp_path, env={"VT_METRICS": "ru_utime:ru_stime"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    unify(tmp_path, "counter_regions")
    last = {name: value for _, name, value in Counters(tmp_path / "counter_regions.trace").readings}
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert 0 < (last["ru_utime"] + last["ru_stime"]) / 1e6 <= spent + 0.02


def test_cpu_times_are_those_of_the_moment(program: Path, tmp_path: Path) -> None:
    """The kernel's sums are up to date at its ticks only, which are longer than these regions."""
    _, found = recorded(program, tmp_path, VT_METRICS="ru_utime:ru_stime:task-clock")
    usage = sum(sum(found.increases("outer", name)) for name in ("ru_utime", "ru_stime")) * 1000
    spent = sum(found.increases("outer", "task-clock"))
    assert spent > 0
    assert abs(usage - spent) <= 0.3 * spent + 50_000


@pytest.mark.parametrize(("interval", "least", "most"), [("0", 12, 12), ("3600s", 1, 1)])
def test_counters_of_the_process_are_read_by_time(
    program: Path, tmp_path: Path, interval: str, least: int, most: int
) -> None:
    (tmp_path / "energy").write_text("4711\n")
    env = {
        "VT_METRICS_INTERVAL": interval,
        "VT_METRICS": f"page-faults:resident-memory:{tmp_path}/energy:net/lo/rx_bytes",
    }
    _, found = recorded(program, tmp_path, **env)
    read = [value for _, name, value in found.readings if name.endswith("/energy")]
    assert least <= len(read) <= most
    assert {*read} == {4711}
    assert [len(group) for group in found.classes] == [1, 3]
    assert [*found.classes.values()] == ["SYNCHRONOUS", "ASYNCHRONOUS"]
    assert len([1 for _, name, _ in found.readings if name == "page-faults"]) == 12
    assert found.units["net/lo/rx_bytes"] == ("bytes", "ACCUMULATED_START")


def test_where_counters_are_read(program: Path, tmp_path: Path) -> None:
    _, found = recorded(program, tmp_path, VT_METRICS_AT="mpi,openmp")
    assert len(found.calls) == 6
    assert not found.readings


def test_what_cannot_be_recorded_is_told(program: Path, tmp_path: Path) -> None:
    names = "page-fault:page-faults:/no/such/file:net/nowhere/rx_bytes:ru_nothing"
    done, found = recorded(program, tmp_path, VT_METRICS=names, VT_METRICS_AT="user:nowhere")
    lines = done.stderr.splitlines()
    for name in names.split(":"):
        said = [line for line in lines if f"VT_METRICS: {name} is not recorded" in line]
        assert len(said) == (name != "page-faults"), name
    assert "page-fault is not recorded: unknown counter, did you mean page-faults?" in done.stderr
    assert "/no/such/file is not recorded: there is no such file" in done.stderr
    assert "VT_METRICS_AT: nowhere is not mpi, openmp, user, threads, io or samples: the default is used" in done.stderr
    assert len(found.increases("inner")) == 3
    assert {line.replace(" is not recorded", "") for line in lines if " is not recorded: " in line} == {
        f"vtrace: VT_METRICS: {reason}" for reason in _reasons(tmp_path)
    }


def _reasons(where: Path) -> set[str]:
    """The reasons why counters are missing, by the ledger."""
    known = json.loads(vtrace(where, "info", "counter_regions", "--json").stdout)
    return {row["reason"] for row in known["not_recorded"] if row["class"] == "counters"}


@pytest.mark.parametrize(("number", "is_recorded"), [(2**64 - 1, True), (2**64, False), (10**30, False)])
def test_large_numbers_in_a_file(program: Path, tmp_path: Path, number: int, is_recorded: bool) -> None:
    (tmp_path / "counter").write_text(f"{number}\n")
    done, found = recorded(program, tmp_path, VT_METRICS=str(tmp_path / "counter"))
    assert ("counter is not recorded" in done.stderr) != is_recorded
    assert {value for *_, value in found.readings} == ({2**64 - 1} if is_recorded else set())


def test_network_interfaces_are_listed(program: Path, tmp_path: Path) -> None:
    """The message has similar names for unknown counters."""
    rows = json.loads(vtrace(tmp_path, "counters", "--json").stdout)
    listed = [row["name"] for row in rows if row["name"].startswith("net/lo/")]
    assert listed == [f"net/lo/{field}" for field in ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")]
    done, _ = recorded(program, tmp_path, VT_METRICS="net/lo/rx_byte")
    assert "net/lo/rx_byte is not recorded: unknown counter, did you mean net/lo/rx_bytes?" in done.stderr


def test_only_unknown_names(program: Path, tmp_path: Path) -> None:
    _, found = recorded(program, tmp_path, VT_METRICS=":unknown::")
    assert not found.classes
    assert len(found.calls) == 6


def test_other_separators(program: Path, tmp_path: Path) -> None:
    _, found = recorded(program, tmp_path, VT_METRICS="page-faults, task-clock", VT_METRICS_SEP=", ")
    assert [*found.classes] == [("page-faults", "task-clock")]


def test_the_program_closes_descriptors_of_vtrace(program: Path, tmp_path: Path) -> None:
    """No byte of the program's pipes is taken; stderr, the archive and the tables report the loss."""
    done = run(program, tmp_path, "closes", env={"VT_METRICS": "page-faults"})
    assert done.stdout == "500 pipes\n"
    assert "counters can no longer be read: page-faults" in done.stderr
    unify(tmp_path, "counter_regions")
    found = Counters(tmp_path / "counter_regions.trace")
    assert len(found.calls) == 2
    assert len(found.readings) == 2
    known = json.loads(vtrace(tmp_path, "info", "counter_regions", "--json").stdout)
    assert known["shortfalls"] == [
        "counters missing on 1 location (the program has closed the descriptor of the event)"
    ]
    (lost,) = [row for row in known["not_recorded"] if row["class"] == "counters"]
    assert lost["ns"] > 0
    shown = vtrace(tmp_path, "profile", "counter_regions", "--metrics", "page-faults")
    assert (
        "incomplete (the program has closed the descriptor of the event): counters are missing on 1 location, from 0."
        in shown.stdout + shown.stderr
    )


@pytest.mark.parametrize("most", [4, 64, 512])
def test_no_descriptor_of_the_program_is_taken(program: Path, tmp_path: Path, most: int) -> None:
    """Counters that would need such a descriptor are left out."""
    words = ["sh", "-c", f"ulimit -n {most}; exec {program} plain"]
    done = call(words, tmp_path, {"VT_METRICS": "page-faults:ru_minflt"})
    unify(tmp_path, "counter_regions")
    reason = "the limit on descriptors (ulimit -n) leaves none above 511" if most > 4 else ""
    assert f"VT_METRICS: page-faults is not recorded: {reason}" in done.stderr
    assert [text.startswith(f"page-faults: {reason}") for text in _reasons(tmp_path)] == [True]


def test_mpi_on_any_number_of_ranks(build: Builder, tmp_path: Path) -> None:
    mpi = find("mpich-wheel", build)
    program = mpi.build("mpi_collectives.c")
    env = {"VT_METRICS": "page-faults:context-switches:ru_utime:resident-memory", "VT_METRICS_INTERVAL": "0"}
    mpi.run(program, tmp_path, ranks=3, env=env)
    unify(tmp_path, "-k", program.name)
    found = Counters(tmp_path / f"u_{program.name}.trace")
    calls = [call for call in found.calls if call[1].startswith("MPI_") and call[1] not in ("MPI_Init", "MPI_Finalize")]
    assert calls
    for _, region, begin, end in calls:
        assert {"page-faults", "context-switches", "ru_utime"} <= begin.keys() & end.keys(), region
    unify_mpi(mpi, tmp_path, "-k", "-o", tmp_path / "all", program.name, ranks=2)
    assert_same(tmp_path / f"u_{program.name}.trace", tmp_path / "all.trace")


def profile(where: Path, *words: str) -> Any:
    return json.loads(vtrace(where, "profile", "counter_regions", "--json", *words).stdout)["metrics"]


def test_profile(program: Path, tmp_path: Path) -> None:
    done, found = recorded(program, tmp_path, VT_METRICS="page-faults:task-clock")
    rows = {row["function"]: row for row in profile(tmp_path, "--metrics", "page-faults,task-clock")}
    outer, inner = sum(found.increases("outer")), sum(found.increases("inner"))
    assert rows["inner"]["page-faults"] == rows["inner"]["page-faults:inclusive"] == inner
    assert rows["outer"]["page-faults:inclusive"] == outer
    assert rows["outer"]["page-faults"] == outer - inner
    assert rows["inner"]["task-clock"] == sum(found.increases("inner", "task-clock"))
    paths = {tuple(row["callpath"]): row for row in profile(tmp_path, "--metrics", "page-faults", "--by", "callpath")}
    assert paths["outer", "inner"]["page-faults"] == inner
    (rank,) = profile(tmp_path, "--metrics", "page-faults", "--by", "rank")
    assert rank["page-faults"] == sum(row["page-faults"] for row in rows.values())
    table = vtrace(tmp_path, "profile", "counter_regions", "--metrics", "page-faults").stdout
    assert f"{inner:,}" in table
    chosen = profile(tmp_path, "--metrics", "page-faults", "--select", "region=in*")
    assert [row["function"] for row in chosen if row["page-faults"]] == ["inner"]
    nothing = vtrace(tmp_path, "profile", "counter_regions", "--metrics", "page-faults", "--select", "region=nope")
    assert nothing.stdout.startswith("Functions by page-faults\n  no rows\n")
    assert done.stderr.count("vtrace:") == 1


def test_summary(program: Path, tmp_path: Path) -> None:
    _, found = recorded(program, tmp_path, VT_METRICS="page-faults:cpu")
    values = [value for _, name, value in found.readings if name == "page-faults"]
    (row,) = json.loads(vtrace(tmp_path, "summary", "counter_regions", "--json", "--only", "counters").stdout)[
        "counters"
    ]
    assert (row["counter"], row["unit"], row["total"]) == ("page-faults", "#", values[-1] - values[0])
    assert row["total"] == row["most"] == row["mean"]


def test_archives_of_score_p(tmp_path: Path) -> None:
    """A class of three metrics, recorded by Score-P: the sums over all functions are those of the readings."""
    call(["tar", "xJf", ROOT / "tests" / "archives" / "scorep-io.tar.xz"], tmp_path)
    archive = tmp_path / "scorep-io"
    last: dict[tuple[str, str], tuple[int, int]] = {}
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        modes = {one.name: str(one.metric_mode).rsplit(".")[-1] for one in trace.definitions.metric_members}
        for location, event in trace.events:
            if isinstance(event, otf2.events.Metric):
                for member, value in zip(event.metric.members, event.values, strict=True):
                    key = (location.name, member.name)
                    last[key] = (last.get(key, (int(value), 0))[0], int(value))
    counts = [name for name, mode in modes.items() if mode.startswith("ACCUMULATED")]
    assert counts
    done = call([*command("vtrace"), "profile", archive, "--json", "--metrics", ",".join(counts)], tmp_path)
    rows = json.loads(done.stdout)["metrics"]
    for name in counts:
        exact = sum(end - begin for (_, metric), (begin, end) in last.items() if metric == name)
        assert sum(row.get(name) or 0 for row in rows) == exact


def test_run_takes_names(build: Builder, tmp_path: Path) -> None:
    program = build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))
    words = [*command("vtrace"), "run", "--counters", "page-faults,cpu/event=0x3c,umask=0x0/", program, "plain"]
    done = call(words, tmp_path, check=False)
    assert "VT_METRICS: cpu/event=0x3c,umask=0x0/ is not recorded" in done.stderr or "not recorded" not in done.stderr
    unify(tmp_path, "counter_regions")
    assert len(Counters(tmp_path / "counter_regions.trace").increases("inner")) == 3


def test_sections_across_flushes(build: Builder, tmp_path: Path) -> None:
    """After a flush between the values and the start of a section, the section has later values."""
    program = build("many_sections.c", flags=(*MANUAL, "-O1"))
    counters = "page-faults:task-clock:ru_utime:ru_stime:ru_minflt:ru_majflt:ru_nvcsw:ru_nivcsw"
    run(program, tmp_path, "30000", env={"VT_METRICS": counters, "VT_BUFFER_SIZE": "256K"})
    assert "backwards" not in unify(tmp_path, "many_sections").stderr
    assert sum(event.kind == "BufferFlush" for event in check(tmp_path / "many_sections.trace").events) > 3
    shown = vtrace(tmp_path, "profile", "many_sections", "--by", "section", "--metrics", "task-clock", "--json")
    rows = {row["section"]: row for row in json.loads(shown.stdout)["metrics"]}
    assert rows["part/1"]["task-clock"] > 30_000
    assert "were not read" not in shown.stderr
