# SPDX-License-Identifier: BSD-3-Clause
"""Threads: each has a location, which later threads reuse, and files with its number; vtunify uses any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify
from support.oracles.check import check


@pytest.fixture(scope="module")
def threads(build: Builder) -> Path:
    return build("threads.c", flags=("-O1", "-pthread"))


@pytest.mark.parametrize("count", [1, 3, 300])
def test_together(threads: Path, tmp_path: Path, count: int) -> None:
    trace = record(threads, tmp_path, "together", str(count), "100")
    assert len(trace.locations) == count + 1
    assert trace.calls(0) == {"main": 1, "work": 100}
    for location in range(1, count + 1):
        assert trace.calls(location) == {"body": 1, "work": 100}
        assert trace.locations[location].name == f"Thread {location}"
    assert trace.edges()[("body", "work")] == count * 100
    assert {location.group for location in trace.locations.values()} == {trace.locations[0].group}


def test_one_after_another_share_a_location(threads: Path, tmp_path: Path) -> None:
    run(threads, tmp_path, "after", "7", "50")
    assert {name for name in names(tmp_path) if ".events." in name} == {"threads.1.events.z", "threads.10001.events.z"}
    unify(tmp_path, "threads")
    trace = check(tmp_path / "threads.trace")
    assert len(trace.locations) == 2
    assert trace.calls(0) == {"main": 1, "work": 50}
    assert trace.calls(1) == {"body": 7, "work": 350}
    assert trace.edges(1) == {(None, "body"): 7, ("body", "work"): 350}


def test_two_ranks_of_three_threads(build: Builder, tmp_path: Path) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    run(program, tmp_path, "10", ranks=2)
    ids = ("1", "10001", "10002", "2", "20001", "20002")
    local = {f"heat.{id}.{content}.z" for id in ids for content in ("def", "events")}
    assert names(tmp_path) == local | {"heat.uctl"}
    unify(tmp_path, "heat")
    trace = check(tmp_path / "heat.trace")
    found = [(location.group, location.name) for _, location in sorted(trace.locations.items())]
    assert found == [
        (f"MPI Rank {rank}", name) for rank in (0, 1) for name in ("Master thread", "Thread 1", "Thread 2")
    ]
    for rank in (0, 1):
        calls = [trace.calls(3 * rank + thread) for thread in range(3)]
        assert [c["work"] for c in calls] == [10 + rank, 20, 30]
        assert [c["body"] for c in calls] == [0, 1, 1]
        assert calls[0]["MPI_Init_thread"] == calls[0]["MPI_Finalize"] == 1
    assert len({location.host for location in trace.locations.values()}) == 1
    assert [comm.members for comm in trace.comms.values() if comm.name == "MPI_COMM_WORLD"] == [(0, 3)]


def test_main_thread_without_events(build: Builder, tmp_path: Path) -> None:
    run(build("quiet.c", flags=("-O1", "-pthread")), tmp_path)
    done = unify(tmp_path, "quiet")
    assert done.stderr == "", "vtunify must print no warning"
    trace = check(tmp_path / "quiet.trace")
    assert trace.calls() == {"body": 1, "work": 10}
    assert names(tmp_path) == {"quiet.trace"}
    assert "quiet" in trace.properties["VTRACE::ABOUT"], "the command line must not depend on the first thread"


@pytest.mark.parametrize(("count", "calls"), [(400, 50), (32, 6000)])
def test_buffer_of_many_threads(build: Builder, tmp_path: Path, count: int, calls: int) -> None:
    """The buffer has VT_BUFFER_SIZE and a chunk for each thread, rounded to segments; no event is lost."""
    program = build("at_once.c", flags=("-O1", "-pthread"))
    done = run(program, tmp_path, str(count), str(calls), env={"VT_BUFFER_SIZE": "1M"})
    assert int(done.stdout.split()[0]) <= 1 + count / 16 + 4 + 16
    unify(tmp_path, "at_once")
    assert check(tmp_path / "at_once.trace").calls() == {"work": count * calls}


def test_same_input_same_bytes(build: Builder, tmp_path: Path) -> None:
    """The archive has the same bytes for any number of threads: ids in order of locations, integer arithmetic."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "together", "5", "400")
    found = []
    for number, jobs in enumerate(("1", "2", "7")):
        unify(tmp_path, "-k", "-j", jobs, "-o", f"t{number}", "threads")
        archive = tmp_path / f"t{number}.trace"
        files = sorted(path for path in archive.rglob("*") if path.is_file() and path.suffix in (".evt", ".def"))
        found.append({str(path.relative_to(archive)): path.read_bytes() for path in files})
        assert len(check(archive).locations) == 6
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 13
