# SPDX-License-Identifier: BSD-3-Clause
"""Requests of every origin complete in every kind of call, once, on the thread that made the call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.readers.archive import Event, inside

COLL_END = "NonBlockingCollectiveComplete"
ENDS = Counter(["MpiIrecv", "MpiIsendComplete", COLL_END, "RmaOpCompleteNonBlocking", "IoOperationComplete"])
WAYS = ("Wait", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
TESTS = {"MpiRequestTest", "RmaOpTest", "IoOperationTest"}
MANY = 12


def test_requests_of_all_origins_end_in_every_call(mpi: Mpi, tmp_path: Path) -> None:
    trace = mpi.record(mpi.build("mpi_origins.c"), tmp_path, ranks=2)
    for rank in (0, 1):
        found, calls = inside(trace, rank), trace.calls(rank)
        moved = Counter() if mpi.is_open else Counter(["IoOperationComplete"])
        for way in WAYS:
            expected = ENDS + moved if way == "Wait" else ENDS - moved if way == "Testall" else ENDS
            assert {kind: n for kind, n in found[f"MPI_{way}"].items() if kind not in TESTS} == expected, way
        assert found["MPI_Waitall"] == ENDS + ENDS + Counter({COLL_END: 2 * MANY})
        starts = len(WAYS) + 2
        assert calls["MPI_Grequest_start"] == calls["MPI_Grequest_complete"] == starts
        assert found["MPI_Iallreduce"] == {"NonBlockingCollectiveRequest": starts + MANY}
        assert found["MPI_Ibarrier"] == {"NonBlockingCollectiveRequest": MANY}
        assert found["MPI_Rput"] == {"RmaPut": starts}
        assert found["MPI_File_iwrite_at"] == {"IoOperationBegin": starts, "IoOperationIssued": starts}
        written = [e.attrs for e in trace.of(rank) if e.kind == "IoOperationComplete"]
        assert [w["bytes_result"] for w in written] == [8] * starts
        assert not {"MPI_Grequest_start", "MPI_Grequest_complete", "MPI_Request_get_status"} & found.keys()


def requests(events: list[Event], kind: str) -> set[int]:
    return {e.attrs["request_id"] for e in events if e.kind == kind}


def communicators(events: list[Event], kind: str) -> set[int]:
    return {e.attrs["communicator"] for e in events if e.kind == kind}


@pytest.mark.parametrize("level", ["multiple", "serialized"])
def test_threads_communicate_and_wait_for_each_other(mpi: Mpi, tmp_path: Path, level: str) -> None:
    """One thread begins an operation and another thread waits for it: each record is on the thread of its call."""
    threads, rounds = 3, 20
    trace = mpi.record(mpi.build("mpi_turns.c", flags=("-O1", "-pthread")), tmp_path, level, ranks=2)
    kinds = {"MpiCollectiveBegin", "MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest", "MpiIrecv"}
    kinds |= {"MpiCollectiveEnd", "MpiIsendComplete", COLL_END}
    for process in {location.process for location in trace.locations.values()}:
        _, *others = [location.id for location in trace.locations.values() if location.process == process]
        assert len(others) == threads
        events = {location: trace.of(location) for location in others}
        for location in others:
            assert {k: trace.kinds(location)[k] for k in kinds} == dict.fromkeys(kinds, rounds)
            begun = communicators(events[location], "MpiCollectiveEnd")
            ended = communicators(events[location], COLL_END)
            assert len(begun) == len(ended) == 1
            (partner,) = [o for o in others if communicators(events[o], "MpiCollectiveEnd") == ended]
            assert partner != location
            assert requests(events[location], COLL_END) == requests(events[partner], "NonBlockingCollectiveRequest")
            assert requests(events[location], "MpiIrecv") == requests(events[partner], "MpiIrecvRequest")
        # Sends that complete at once share a handle; each waiting thread completes one of them.
        started, ended = (
            set().union(*(requests(events[o], kind) for o in others)) for kind in ("MpiIsend", "MpiIsendComplete")
        )
        assert started == ended
