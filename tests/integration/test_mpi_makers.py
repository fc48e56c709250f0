# SPDX-License-Identifier: BSD-3-Clause
"""Newer functions that create communicators, and very many communicators."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import vtrace
from support.readers.archive import Trace

MANY = 40


def build(mpi: Mpi) -> Path:
    more = ["-DFROM_GROUP"] if mpi.has("MPI_Comm_create_from_group") else []
    return mpi.build("mpi_makers.c", flags=("-O1", *more))


@pytest.fixture(scope="module")
def trace(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return mpi.record(build(mpi), tmp_path_factory.mktemp("makers"), str(MANY), ranks=4)


def test_members_and_parents(mpi: Mpi, trace: Trace) -> None:
    """By tag of the messages: the members and parents of the communicators, and the number of these communicators."""
    found: dict[int, set[tuple[int, tuple[int, ...] | None, int | None]]] = {}
    for event in trace.events:
        if event.kind in ("MpiSend", "MpiRecv"):
            comm = trace.comms[event.attrs["communicator"]]
            parent = None if comm.parent is None else trace.comms[comm.parent].members
            found.setdefault(event.attrs["msg_tag"], set()).add((comm.id, comm.members, parent))
    everyone, low, high = (0, 1, 2, 3), (0, 1), (2, 3)
    expected: dict[int, Counter[object]] = {
        1: Counter({(everyone, everyone): 1}),
        2: Counter({(low, low): 1, (high, high): 1}),
        3: Counter({(low, low): 1, (high, high): 1}),
        4: Counter({(everyone, everyone): 1}),
        10: Counter({((0, 1, 2), everyone): 3}),
        11: Counter({((1, 2, 3), everyone): 3}),
        20: Counter({((0, 2), everyone): MANY // 10, ((1, 3), everyone): MANY // 10}),
    }
    if mpi.has("MPI_Comm_create_from_group"):
        expected[12] = Counter({((0, 1, 2), None): 1})
    assert {tag: Counter((members, parent) for _, members, parent in comms) for tag, comms in found.items()} == expected
    assert {comm.members for comm in trace.comms.values() if comm.name == "later half"} == {low, high}


def test_duplicates_that_come_later(trace: Trace) -> None:
    """MPI_Comm_idup begins a request; CommCreate directly precedes the completion of the request."""
    for rank in range(4):
        events = [e for e in trace.of(rank) if e.kind.startswith("NonBlocking") or e.kind == "CommCreate"]
        starts = [e.attrs["request_id"] for e in events if e.kind == "NonBlockingCollectiveRequest"]
        ends = [(events[i - 1].kind, e.attrs["request_id"], e.attrs["collective_op"])
                for i, e in enumerate(events) if e.kind == "NonBlockingCollectiveComplete"]  # fmt: skip
        assert len(starts) == 2
        assert sorted(ends) == sorted(("CommCreate", request, "CREATE_HANDLE") for request in starts)
    made = Counter(e.location for e in trace.events if e.kind == "CommCreate")
    freed = Counter(e.location for e in trace.events if e.kind == "CommDestroy")
    assert made == freed


def test_each_loop_costs_the_same(mpi: Mpi, tmp_path: Path) -> None:
    """The members are written once for any number of communicators; each communicator costs one short definition."""
    sizes = {}
    for many in (10, 30, 110):
        mpi.run(build(mpi), tmp_path, str(many), ranks=4)
        lines = vtrace(tmp_path, "dump", "mpi_makers", "--json", "--no-records").stdout.splitlines()
        items = [item for item in map(json.loads, lines) if item["type"] == "definition"]
        kinds = Counter(item["kind"] for item in items)
        sizes[many] = (kinds["COMM"] - 8 * many, kinds["COMM_MEMBERS"], kinds["COMM_NAME"])
    assert sizes[10] == sizes[30] == sizes[110]
