# SPDX-License-Identifier: BSD-3-Clause
"""Begin and end of processes: forked children, every way to end, and directories and descriptors that disappear."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, command


@pytest.fixture(scope="module")
def forks(build: Builder) -> Path:
    return build("forks.c")


@pytest.fixture(scope="module")
def endings(build: Builder) -> Path:
    return build("endings.c", flags=("-O1", "-pthread"))


def by_process(trace: Trace) -> list[Counter[str]]:
    """The calls of each process, in the order of locations."""
    groups: dict[int, Counter[str]] = {}
    for location in trace.locations.values():
        groups.setdefault(location.process, Counter()).update(trace.calls(location.id))
    return list(groups.values())


@pytest.mark.parametrize("how", ["return", "_exit", "abort", "exec"])
def test_forked_child_records_for_itself(forks: Path, tmp_path: Path, how: str) -> None:
    trace = record(forks, tmp_path, how)
    processes = by_process(trace)
    assert len(processes) == 2, [location.group for location in trace.locations.values()]
    assert processes[0] == {"main": 1, "work": 13}
    assert (processes[1]["child"], processes[1]["work"]) == (1, 7)
    assert trace.edges(1)[("child", "work")] == 7
    assert trace.region("child").file, "the modules of the parent must give the names of a child's functions"
    assert all(location.name == "Master thread" for location in trace.locations.values())


def test_forked_child_leaves_regions_of_its_parent(build: Builder, tmp_path: Path) -> None:
    """A region that the parent has begun is not one of the child, whose end of it is no mistake of the program."""
    run(build("user_fork.c", flags=("-DVTRACE", "-vt:inst", "manual")), tmp_path)
    assert "begun" not in unify(tmp_path, "user_fork").stderr
    trace = check(tmp_path / "user_fork.trace")
    assert by_process(trace) == [{"outer": 1, "inner": 1}, {"inner": 1}]


def test_forked_python_leaves_functions_of_its_parent(tmp_path: Path) -> None:
    call([*command("vtrace"), "run", "--python", "-o", "t", sys.executable, PROGRAMS / "forked_terminal.py"], tmp_path)
    assert "without an enter" not in unify(tmp_path, "t").stderr
    trace = check(tmp_path / "t.trace")
    children = [calls for calls in by_process(trace)[1:] if calls]
    assert [calls["__main__.child"] for calls in children] == [1, 1]
    assert not any(calls["__main__.main"] for calls in children)


def test_child_that_records_nothing_leaves_nothing(forks: Path, tmp_path: Path) -> None:
    trace = record(forks, tmp_path, "silent")
    assert by_process(trace) == [{"main": 1, "work": 13}]
    assert names(tmp_path) == {"forks.trace"}


def test_daemon(build: Builder, tmp_path: Path) -> None:
    """libc ends the parent of a daemon by a call that no library sees: the parent's files are complete nevertheless."""
    done = run(build("daemonizes.c"), tmp_path)  # ends with the daemon, which keeps the standard output
    assert done.stdout == "done\n"
    assert unify(tmp_path, "daemonizes").stderr == ""
    trace = check(tmp_path / "daemonizes.trace")
    assert by_process(trace) == [{"main": 1, "before": 3, "daemon": 1}, {"after": 5}]


def test_parent_of_a_child_takes_the_name_of_rank_0(forks: Path, tmp_path: Path) -> None:
    run(forks, tmp_path, "return")
    left = names(tmp_path)
    assert {"forks.1.def.z", "forks.1.events.z", "forks.uctl"} <= left
    others = left - {"forks.1.def.z", "forks.1.events.z", "forks.uctl"}
    assert others
    assert all(name.startswith("forks.x") and name.endswith((".def.z", ".events.z")) for name in others), others


def test_program_that_becomes_another(endings: Path, tmp_path: Path) -> None:
    """A program calls exec of an untraced program: its files are complete before the exec."""
    run(endings, tmp_path, "true", "100")
    assert [name for name in names(tmp_path) if not name.startswith("endings.x") or ".buffer" in name] == []
    unify(tmp_path, "endings")
    assert check(tmp_path / "endings.trace").calls() == {"main": 1, "work": 100}


def test_program_that_becomes_itself(endings: Path, tmp_path: Path) -> None:
    trace = record(endings, tmp_path, "again", "100", complete=False)
    calls = trace.calls()
    assert (calls["main"], calls["work"]) == (2, 200), "both programs must belong to one run"


@pytest.mark.parametrize("when", ["late", "early"])
def test_files_lie_where_the_program_was_started(build: Builder, tmp_path: Path, when: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(build("moves.c"), tmp_path, elsewhere, when)
    assert names(elsewhere) == set()
    unify(tmp_path, "moves")
    assert check(tmp_path / "moves.trace").calls()["work"] == 20


def test_relative_directories_stay_when_the_program_moves(build: Builder, tmp_path: Path) -> None:
    for name in ("elsewhere", "out", "local"):
        (tmp_path / name).mkdir()
    env = {"VT_PFORM_GDIR": "out", "VT_PFORM_LDIR": "local"}
    run(build("moves.c"), tmp_path, tmp_path / "elsewhere", env=env)
    assert names(tmp_path / "out") == {"moves.1.def.z", "moves.1.events.z", "moves.uctl"}
    assert names(tmp_path / "local") == names(tmp_path / "elsewhere") == set()


def test_program_that_closes_all_descriptors(build: Builder, tmp_path: Path) -> None:
    # The smallest buffer with unlimited flushes: several flushes happen after the descriptors are closed.
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    trace = record(build("closes.c"), tmp_path, "24000", env=env)
    assert trace.calls() == {"main": 1, "work": 24000}


def test_untraced_program_leaves_no_files(build: Builder, tmp_path: Path) -> None:
    done = run(build("nested.c", plain=True), tmp_path)
    assert names(tmp_path) == set()
    assert done.stderr == ""
