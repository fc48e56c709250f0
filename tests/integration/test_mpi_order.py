# SPDX-License-Identifier: BSD-3-Clause
"""Matching of sends and receives when receives fail, after probes, and beside partitioned messages."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import vtrace
from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace

TRUNCATED = (*range(1, 7), *range(9, 16))
"""Tags whose second message is too long for its receive."""


def truncated_bytes(mpi: Mpi, tag: int) -> int:
    """The recorded bytes of a receive for 4 bytes that matches a message of 8 bytes. MPICH gives the size of the
    buffer, Open MPI that of the message. MPICH 4.0 gives neither: the size is known only if the call has the buffer."""
    if mpi.is_open:
        return 8
    names_buffer = tag in (1, 2, 6, 14)  # MPI_Recv, MPI_Sendrecv, MPI_Recv_init, MPI_Mrecv
    return 4 if names_buffer or mpi.name == "mpich-wheel" else 0


def by_posted_order(trace: Trace) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By communicator and tag: the sent and received bytes of each message from rank 0 to rank 1. Matched as readers of
    OTF2 do, by the order of sends and the order of posted receives."""
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    posted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    requests: dict[int, int] = {}
    for event in trace.of(0):
        if event.kind in ("MpiSend", "MpiIsend"):
            sent[event.attrs["communicator"], event.attrs["msg_tag"]].append(event.attrs["msg_length"])
    for order, event in enumerate(trace.of(1)):
        if event.kind == "MpiIrecvRequest":
            requests[event.attrs["request_id"]] = order
        if event.kind in ("MpiRecv", "MpiIrecv"):
            at = requests[event.attrs["request_id"]] if event.kind == "MpiIrecv" else order
            posted[event.attrs["communicator"], event.attrs["msg_tag"]].append((at, event.attrs["msg_length"]))
    assert {key: len(ends) for key, ends in sent.items()} == {key: len(ends) for key, ends in posted.items()}
    return {key: list(zip(sent[key], [n for _, n in sorted(posted[key])], strict=True)) for key in sent}


def test_each_receive_takes_its_place(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_order.c")
    mpi.run(program, tmp_path, ranks=2)
    unify(tmp_path, "mpi_order")
    trace = check(tmp_path / "mpi_order.trace", complete=False)
    pairs = by_posted_order(trace)
    world = next(number for number, comm in trace.comms.items() if comm.name == "MPI_COMM_WORLD")
    for tag in TRUNCATED:
        (first, second, third) = pairs.pop((world, tag))
        assert (first, second[0], third) == ((4, 4), 8, (12, 12)), tag
        assert second[1] == truncated_bytes(mpi, tag), tag
    equal = [(4, 4), (8, 8), (12, 12)]
    assert pairs.pop((world, 7)) == equal
    partitioned = [number for number, comm in trace.comms.items() if comm.name.startswith("partitioned messages")]
    if partitioned:
        assert pairs.pop((world, 8)) == equal
        assert trace.comms[partitioned[0]].members == trace.comms[world].members
        assert trace.comms[partitioned[0]].parent == world
        assert pairs.pop((partitioned[0], 8)) == [(16, 16)]
    assert not pairs
    assert bool(partitioned) == mpi.has("MPI_Psend_init")
    found = vtrace.open(str(tmp_path / "mpi_order.trace")).messages()
    assert (found.unmatched_sends, found.unmatched_receives) == (0, 0)


def test_buffered_sends_of_threads(mpi: Mpi, tmp_path: Path) -> None:
    """Threads start persistent buffered sends at the same time: the archive has each send and each receive."""
    rounds, threads, parts = 8, 4, 2
    trace = mpi.record(mpi.build("mpi_bsend_threads.c", ["-O1", "-pthread"]), tmp_path, ranks=2)
    kinds = trace.kinds()
    for kind in ("MpiIsend", "MpiIsendComplete", "MpiIrecvRequest", "MpiIrecv"):
        assert kinds[kind] == rounds * threads * parts, kind
    assert trace.calls()["MPI_Start"] == 2 * rounds * threads * parts
    lengths = {event.attrs["msg_length"] for event in trace.events if event.kind in ("MpiIsend", "MpiIrecv")}
    assert lengths == {4 * 4096}
