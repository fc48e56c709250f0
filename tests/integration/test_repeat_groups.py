# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --repeat-groups: a run for each group of counters that fit together, and their merged profile. Replayed
values stand for counters of a processor that counts two at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import names, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.archive import read
from support.tools import Done
from vtrace.analysis.counter_runs import unlike_first

VALUES = "# most 2\na,b,c,d,e\n0,0,0,0,0\n1,10,100,1000,10000\n3,30,300,3000,30000\n"
ENV = {"VT_METRICS_REPLAY": "values.csv", "VT_UNIFY": ""}
NAMES = "a,b,c,ru_minflt,d,e"
EVENT = "EVENT,E_TO_A,DERIVED_INFIX,N0/N1,e,a\n"


def repeat(where: Path, *words: str | Path, check: bool = True, env: dict[str, str] | None = None) -> Done:
    return vtrace(where, "run", "--repeat-groups", *words, env=ENV | (env or {}), check=check)


def profile(where: Path, *words: str) -> dict[str, dict[str, Any]]:
    rows = json.loads(vtrace(where, "profile", "counter_regions", "--json", *words).stdout)["metrics"]
    return {row[next(iter(row))]: row for row in rows}


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))


@pytest.fixture(scope="module")
def runs(program: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The directory with the archive of three runs."""
    where = tmp_path_factory.mktemp("runs")
    (where / "values.csv").write_text(VALUES)
    (where / "my.events").write_text(EVENT)
    return where, repeat(where, "--counters", f"{NAMES},none", program)


def test_groups(runs: tuple[Path, Done]) -> None:
    """Counters of the kernel and unknown ones are those of the first run."""
    where, done = runs
    told = [line for line in done.stderr.splitlines() if " of 3: " in line]
    assert told == [
        "vtrace: run 1 of 3: a, b, ru_minflt, none", "vtrace: run 2 of 3: c, d", "vtrace: run 3 of 3: e"
    ]  # fmt: skip
    assert done.stderr.count("none is not recorded: unknown counter") == 1
    assert done.stderr.count(" on 1 location: ") == 1  # the shares of the time, once
    assert done.stderr.splitlines()[-1].startswith("vtrace: next: vtrace profile counter_regions --metrics")
    assert done.stdout.count("outer 100") == 9
    assert names(where) == {"counter_regions.trace", "values.csv", "my.events"}
    archive = where / "counter_regions.trace"
    later = [check(archive / "vtrace" / "counters" / str(number)) for number in (2, 3)]
    assert [trace.calls()["outer"] for trace in (read(archive), *later)] == [3, 3, 3]


def test_merged_profile(runs: tuple[Path, Done]) -> None:
    """By hand: enter outer 0, enter inner 1, leave inner 3 times the unit; nothing increases afterwards."""
    where, _ = runs
    units = {"a": 1, "b": 10, "c": 100, "d": 1000, "e": 10_000}
    found = profile(where, "--metrics", NAMES)
    for name, unit in units.items():
        assert [found["inner"][name], found["outer"][name], found["(outside)"][name]] == [2 * unit, unit, 0]
        assert found["outer"][f"{name}:inclusive"] == 3 * unit
    assert found["inner"]["ru_minflt"] >= 150
    paths = vtrace(where, "profile", "counter_regions", "--metrics", "e,a", "--by", "callpath", "--csv").stdout
    assert "outer > inner,20000,20000,2,2" in paths.splitlines()
    assert profile(where, "--metrics", "e,b", "--by", "section")["all/0"] == {"section": "all/0", "e": 30_000, "b": 30}


def test_derived_from_several_runs(runs: tuple[Path, Done]) -> None:
    where, _ = runs
    found = profile(where, "--metrics", "E_TO_A", "--events", "my.events")
    assert (found["inner"]["E_TO_A"], found["outer"]["E_TO_A"]) == (10_000, 10_000)
    done = vtrace(where, "profile", "counter_regions", "--metrics", "f", check=False)
    assert (done.returncode, "the trace has no metric f (the trace has a, b, ru_minflt, c, d, e)" in done.stderr) == (
        2, True
    )  # fmt: skip


def test_topdown_of_several_runs(program: Path, tmp_path: Path) -> None:
    """The same as of one run that counts all events."""
    natives = {
        f"skl::{line}": None
        for name in ("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring")
        for line in vtrace(tmp_path, "counters", "--expand", name, "--cpu", "skl").stdout.split()
    }
    rows = "".join(f"{','.join(str((place + 3) * n) for place in range(len(natives)))}\n" for n in (0, 100, 500))
    found = []
    for head in ("# most 2\n", ""):
        (tmp_path / "values.csv").write_text(f"{head}{','.join(natives)}\n{rows}")
        repeat(tmp_path, "--force", "--counters", ",".join(natives), program)
        done = vtrace(tmp_path, "profile", "counter_regions", "--metrics", "topdown", "--json")
        found.append(json.loads(done.stdout)["topdown"])
    assert found[0] == found[1]
    assert {row["function"] for row in found[0]} == {"inner", "outer"}


def test_ranks(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    (tmp_path / "values.csv").write_text("# most 1\na,b\n0,0\n1,10\n")
    words = [*mpi.launch, "-n", "2", mpi.build("docs_heat.c", plain=True)]
    repeat(tmp_path, "-o", "x", "--counters", "a,b", *words, env={**mpi.env, "VT_METRICS_AT": "mpi"})
    done = vtrace(tmp_path, "profile", "x", "--metrics", "a,b", "--by", "rank", "--json")
    assert [(row["a"], row["b"]) for row in json.loads(done.stdout)["metrics"]] == [(1, 10)] * 2


def test_a_run_that_fails_is_the_last(program: Path, tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text(VALUES)
    script = tmp_path / "twice"
    script.write_text(f"#!/bin/sh\n{program}\ntest -e once && exit 3\ntouch once\n")
    script.chmod(0o755)
    done = repeat(tmp_path, "--counters", "a,b,c,d,e", script, check=False)
    assert done.returncode == 3
    assert "the runs end here: not recorded: e" in done.stderr
    assert {path.name for path in (tmp_path / "twice.trace" / "vtrace" / "counters").iterdir()} == {"2"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("true",), "--repeat-groups without --counters"),
        (("--no-unify", "--counters", "a", "true"), "this command unifies none"),
    ],
)
def test_errors(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = repeat(tmp_path, *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert names(tmp_path) == set()


def test_runs_unlike_the_first() -> None:
    """5 % more or less, and beyond, by hand."""
    again = "of the time of run 1: for high precision collect the data again"
    assert unlike_first([2.0, 2.08, 2.1, 1.9, 1.92]) == [f"run 3 took 105.0 % {again}", f"run 4 took 95.0 % {again}"]
    assert unlike_first([0.0, 1.0]) == []
