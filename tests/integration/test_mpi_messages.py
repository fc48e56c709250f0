# SPDX-License-Identifier: BSD-3-Clause
"""Point-to-point calls: each message and each request has its records with peer, tag and length."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace, inside

Record = tuple[str, int, int, int]

_PEER = {"MpiSend": "receiver", "MpiIsend": "receiver", "MpiRecv": "sender", "MpiIrecv": "sender"}


def messages(trace: Trace, rank: int) -> list[Record]:
    """Kind, peer, tag and bytes of all messages of a rank, in order."""
    return [
        (e.kind.removeprefix("Mpi"), e.attrs[_PEER[e.kind]], e.attrs["msg_tag"], e.attrs["msg_length"])
        for e in trace.of(rank)
        if e.kind in _PEER
    ]


def exchanged(rank: int, size: int) -> list[Record]:
    """The messages of exchange() in mpi_messages.c."""
    right, left = (rank + 1) % size, (rank - 1) % size
    ends = [("Send", right, 12, 28)] * (rank + 1 < size) + [("Recv", left, 12, 28)] * (rank > 0)
    ring = [("Send", right, 10, 20), ("Recv", left, 10, 20), ("Send", right, 11, 24), ("Recv", left, 11, 24)]
    return [*ring, *ends]


@pytest.fixture(scope="module")
def trace(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace of a run of mpi_messages.c."""
    return mpi.record(mpi.build("mpi_messages.c"), tmp_path_factory.mktemp("messages"), ranks=3)


def test_every_call_that_sends_or_receives(trace: Trace) -> None:
    plain = [(1, 40), (2, 16), (3, 3), (4, 0), (5, 48)]
    probed = [(30, 30), (31, 31), (32, 32)]
    assert messages(trace, 0) == [
        *(("Send", 1, tag, n) for tag, n in plain),
        ("Recv", 1, 60, 0),
        ("Send", 1, 6, 4),
        *exchanged(0, 3),
        *(("Send", 1, tag, n) for tag, n in [*probed, (33, 33)]),
    ]
    assert messages(trace, 1) == [
        *(("Recv", 0, tag, n) for tag, n in plain),
        ("Send", 0, 60, 0),
        ("Irecv", 0, 6, 4),
        *exchanged(1, 3),
        *(("Recv", 0, tag, n) for tag, n in probed[:2]),
        *(("Irecv", 0, tag, tag) for tag in (32, 33)),
    ]
    assert messages(trace, 2) == exchanged(2, 3)
    assert {comm.name for comm in trace.comms.values()} >= {"MPI_COMM_WORLD", "MPI_COMM_SELF"}
    region = trace.region("MPI_Send")
    assert (region.role, region.paradigm, region.file) == ("POINT2POINT", "MPI", None)


def test_order_inside_a_call(trace: Trace) -> None:
    """A send has the time of its call's enter, a receive that of its call's leave."""
    for rank in (0, 1, 2):
        events = trace.of(rank)
        for before, event, after in zip(events, events[1:], events[2:], strict=False):
            if event.kind in ("MpiSend", "MpiIsend"):
                assert (before.kind, before.time) == ("Enter", event.time)
            elif event.kind in ("MpiRecv", "MpiIrecvRequest"):
                assert (after.kind, after.time) == ("Leave", event.time)


def test_requests_of_every_kind_end_in_every_call(mpi: Mpi, tmp_path: Path) -> None:
    trace = mpi.record(mpi.build("mpi_requests.c"), tmp_path, ranks=3)
    ways = 9 * 4
    completions = {
        "MPI_Wait": 4, "MPI_Waitall": 8, "MPI_Waitany": 4, "MPI_Waitsome": 4,
        "MPI_Test": 4, "MPI_Testall": 4, "MPI_Testany": 4, "MPI_Testsome": 4,
    }  # fmt: skip
    sender, receiver = inside(trace, 0), inside(trace, 1)
    for call, count in completions.items():
        # The last one is a receive that the program tests twice without success.
        extra = {"MPI_Waitall": 9 + 6000, "MPI_Wait": 1}.get(call, 0)
        assert receiver[call]["MpiIrecv"] == count + extra, call
        # The counts include sends that complete at once and share a handle.
        assert sender[call]["MpiIsendComplete"] == count + {"MPI_Waitall": 9 + 6000}.get(call, 0), call
    assert receiver["MPI_Test"]["MpiRequestTest"] >= 1
    assert receiver["MPI_Testall"]["MpiRequestTest"] >= 1
    assert "MPI_Request_get_status" not in receiver
    for kind in ("Isend", "Ibsend", "Issend", "Irsend"):
        assert sender[f"MPI_{kind}"]["MpiIsend"] == 9 + {"Isend": 6001}.get(kind, 0)
    assert sender["MPI_Startall"] == {"MpiIsend": 9}
    assert receiver["MPI_Startall"] == {"MpiIrecvRequest": 9}
    assert "MPI_Start" in sender, "the program starts the cancelled receive"
    assert receiver["MPI_Irecv"] == {"MpiIrecvRequest": ways + 2 + 6000}
    kinds = trace.kinds(0)
    assert kinds["MpiIsend"] == ways + 9 + 1 + 6000
    assert kinds["MpiIsendComplete"] == kinds["MpiIsend"] - 1, "the freed request has no completion"
    for rank in (0, 1, 2):
        assert trace.kinds(rank)["MpiRequestCancelled"] == 2
    assert set(messages(trace, 2)) == set()
    many = [("Irecv", 0, 1000 + i, 4) for i in range(3000)]
    assert messages(trace, 1)[-6000:] == many + many
    started = [m for m in messages(trace, 0) if 300 <= m[2] < 400]
    assert started == [("Isend", 1, 300, 4), ("Isend", 1, 301, 8), ("Isend", 1, 302, 12)] * 3


def test_large_counts(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_large.c")
    if "none" in mpi.run(program, tmp_path, ranks=2).stdout:
        pytest.skip("this MPI has no large-count functions")
    unify(tmp_path, "mpi_large")
    trace = check(tmp_path / "mpi_large.trace")
    for rank in (0, 1):
        peer = 1 - rank
        assert messages(trace, rank) == [
            ("Send", peer, 1, 12), ("Recv", peer, 1, 12), ("Isend", peer, 2, 16), ("Irecv", peer, 2, 16),
        ]  # fmt: skip
        ends = [e.attrs for e in trace.of(rank) if e.kind == "MpiCollectiveEnd"]
        assert [(e["collective_op"], e["size_sent"], e["size_received"]) for e in ends] == [
            ("BCAST", 0 if rank else 40, 20),
            ("ALLGATHERV", 2 * 4 * (rank + 1), 12),
        ]
        later = [e.attrs for e in trace.of(rank) if e.kind == "NonBlockingCollectiveComplete"]
        assert [(e["collective_op"], e["size_sent"], e["size_received"]) for e in later] == [
            ("ALLGATHERV", 2 * 4 * (rank + 1), 12)
        ] * 2
        assert trace.calls(rank)["MPI_Allgatherv_c"] == trace.calls(rank)["MPI_Iallgatherv_c"] == 1


def test_partitions_and_pairs(mpi: Mpi, tmp_path: Path) -> None:
    """A partitioned message is one message from start to wait; MPI_Isendrecv has one request for two messages."""
    program = mpi.build("mpi_parts.c")
    if "none" in mpi.run(program, tmp_path, ranks=3).stdout:
        pytest.skip("this MPI has neither partitioned communication nor MPI_Isendrecv")
    unify(tmp_path, "mpi_parts")
    trace = check(tmp_path / "mpi_parts.trace")
    for rank in range(3):
        right, left = (rank + 1) % 3, (rank + 2) % 3
        pairs = [("Isend", right, 2, 20), ("Isend", right, 3, 8), ("Irecv", left, 2, 20), ("Irecv", left, 3, 8)]
        ends = [("Isend", right, 4, 16)] * (rank < 2) + [("Irecv", left, 4, 16)] * (rank > 0)
        assert messages(trace, rank) == [
            *[("Isend", right, 1, 48), ("Irecv", left, 1, 48)] * 2,
            *pairs, *ends, ("Isend", right, 5, 4), ("Irecv", left, 5, 4),
        ]  # fmt: skip
        found, calls = inside(trace, rank), trace.calls(rank)
        assert found["MPI_Startall"] == {"MpiIsend": 2, "MpiIrecvRequest": 2}
        assert found["MPI_Waitall"] == {"MpiIsendComplete": 4, "MpiIrecv": 4}
        assert found["MPI_Isendrecv"] == {"MpiIsend": 2 + (rank < 2), "MpiIrecvRequest": 2 + (rank > 0)}
        assert found["MPI_Wait"] == {"MpiIsendComplete": 1 + (rank < 2), "MpiIrecv": 1 + (rank > 0)}
        assert calls["MPI_Pready"] == calls["MPI_Pready_range"] == calls["MPI_Pready_list"] == 2
        assert calls["MPI_Parrived"] >= 8
        assert not {"MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived"} & found.keys()


def test_threads_that_all_communicate(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_threads.c", flags=("-O1", "-pthread"))
    trace = mpi.record(program, tmp_path, ranks=2)
    groups: dict[str, list[int]] = {}
    for location in trace.locations.values():
        groups.setdefault(location.group, []).append(location.id)
    # A sixth thread reuses the location of an ended one. It waits for a receive that the first thread cancels.
    assert [len(group) for group in groups.values()] == [5, 5]
    for main, *threads in groups.values():
        assert trace.kinds(main)["MpiIrecv"] == 4
        assert sum(trace.kinds(thread)["MpiRequestCancelled"] for thread in threads) == 1
        for thread in threads:
            kinds = trace.kinds(thread)
            assert kinds["MpiIsend"] == kinds["MpiIsendComplete"] == kinds["MpiIrecv"] == 200
            assert kinds["MpiIrecvRequest"] == 201
            assert len({tag for _, _, tag, _ in messages(trace, thread)}) == 1
