# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations: begin and end, operation, root, and the bytes according to the table in templates/coll.c."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace, inside

NONE = 0xFFFFFFFF
ROOT = 1
REQUEST, COMPLETE = "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"

Operation = tuple[str, int, int, int]


def operations(trace: Trace, rank: int, kind: str = "MpiCollectiveEnd") -> list[Operation]:
    """Operation, root, bytes sent and received of all collectives of a rank that move data, in order."""
    return [
        (e.attrs["collective_op"], e.attrs["root"], e.attrs["size_sent"], e.attrs["size_received"])
        for e in trace.of(rank)
        if e.kind == kind and "HANDLE" not in e.attrs["collective_op"]
    ]


def apart(rank: int, n: int) -> list[Operation]:
    """The operations of apart() in mpi_collectives.c."""
    root, mine, total = rank == ROOT, 4 * (rank + 1), 4 * n * (n + 1) // 2
    mixed = sum(2 * (4 if min(rank, i) % 2 else 2) for i in range(n))
    return [
        ("BARRIER", NONE, 0, 0),
        ("BCAST", ROOT, root * n * 12, 12),
        ("GATHER", ROOT, 8, root * n * 8),
        ("GATHERV", ROOT, mine, root * total),
        ("SCATTER", ROOT, root * n * 20, 20),
        ("SCATTERV", ROOT, root * total, mine),
        ("ALLGATHER", NONE, n * 7, n * 7),
        ("ALLGATHERV", NONE, n * mine, total),
        ("ALLTOALL", NONE, n * 12, n * 12),
        ("ALLTOALLV", NONE, n * 8, n * 8),
        ("ALLTOALLW", NONE, mixed, mixed),
        ("ALLREDUCE", NONE, n * 32, n * 32),
        ("REDUCE", ROOT, 24, root * n * 24),
        ("REDUCE_SCATTER", NONE, total, n * mine),
        ("SCAN", NONE, (n - rank) * 8, (rank + 1) * 8),
        ("EXSCAN", NONE, (n - rank - 1) * 12, rank * 12),
        ("REDUCE_SCATTER_BLOCK", NONE, n * 8, n * 8),
    ]


def in_place(rank: int, n: int) -> list[Operation]:
    """The operations of in_place() in mpi_collectives.c."""
    root, mine, total = rank == ROOT, 4 * (rank + 1), 4 * n * (n + 1) // 2
    others = sum(2 * (4 if min(rank, i) % 2 else 2) for i in range(n) if i != rank)
    return [
        ("GATHER", ROOT, 0 if root else 8, root * (n - 1) * 8),
        ("GATHERV", ROOT, 0 if root else mine, root * (total - mine)),
        ("SCATTER", ROOT, root * (n - 1) * 20, 0 if root else 20),
        ("SCATTERV", ROOT, root * (total - mine), 0 if root else mine),
        ("ALLGATHER", NONE, (n - 1) * 7, (n - 1) * 7),
        ("ALLGATHERV", NONE, (n - 1) * mine, total - mine),
        ("ALLTOALL", NONE, (n - 1) * 12, (n - 1) * 12),
        ("ALLTOALLV", NONE, (n - 1) * 8, (n - 1) * 8),
        ("ALLTOALLW", NONE, others, others),
        ("ALLREDUCE", NONE, (n - 1) * 32, (n - 1) * 32),
        ("REDUCE", ROOT, 0 if root else 24, root * (n - 1) * 24),
        ("REDUCE_SCATTER", NONE, total - mine, (n - 1) * mine),
        ("SCAN", NONE, (n - rank - 1) * 8, rank * 8),
        ("EXSCAN", NONE, (n - rank - 1) * 12, rank * 12),
        ("REDUCE_SCATTER_BLOCK", NONE, (n - 1) * 8, (n - 1) * 8),
    ]


def between(rank: int, n: int) -> list[Operation]:
    """The operations of between() in mpi_collectives.c: rank 0 and all others. The root's own group names no root."""
    root, leaf, peers = rank == n - 1, rank == 0, n - 1 if rank == 0 else 1
    named = n - 1 if leaf else NONE
    return [
        ("BARRIER", NONE, 0, 0),
        ("BCAST", named, root * 12, leaf * 12),
        ("GATHER", named, leaf * 8, root * 8),
        ("SCATTERV", named, root * 8, leaf * 8),
        ("REDUCE", named, leaf * 24, root * 24),
        ("ALLGATHER", NONE, peers * 4, peers * 4),
        ("ALLTOALLV", NONE, peers * 8, peers * 8),
        ("ALLREDUCE", NONE, peers * 32, peers * 32),
    ]


def near(out: int, into: int) -> list[Operation]:
    """The operations of near() in mpi_collectives.c with these numbers of neighbours."""
    return [
        ("ALLGATHER", NONE, out * 12, into * 12),
        ("ALLGATHERV", NONE, out * 8, into * 8),
        ("ALLTOALL", NONE, out * 5, into * 5),
        ("ALLTOALLV", NONE, out * 8, into * 8),
        ("ALLTOALLW", NONE, out * 4, into * 4),
    ]


def first_part(rank: int, n: int) -> list[Operation]:
    return apart(rank, n) + in_place(rank, n)


def second_part(trace: Trace, rank: int, n: int) -> list[Operation]:
    """The operations between groups, on a line, in a ring, and from all lower to all higher ranks. The last operation
    is missing for an MPI with a defect in it."""
    on_line = (rank > 0) + (rank < n - 1)
    last = sum(count for call, count in trace.calls(rank).items() if "eighbor_alltoallw" in call) - 2
    assert last in (0, 1)
    return between(rank, n) + near(on_line, on_line) + near(2, 2) + near(n - 1 - rank, rank)[: 4 + last]


RANKS = pytest.mark.parametrize(
    "n", [3, pytest.param(2, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full)]
)


@RANKS
def test_operations_bytes_and_roles(mpi: Mpi, tmp_path: Path, n: int) -> None:
    trace = mpi.record(mpi.build("mpi_collectives.c"), tmp_path, ranks=n)
    for rank in range(n):
        assert operations(trace, rank) == first_part(rank, n) + second_part(trace, rank, n), rank
    roles = {region.name: region.role for region in trace.regions.values() if region.paradigm == "MPI"}
    assert roles["MPI_Barrier"] == "BARRIER"
    assert roles["MPI_Bcast"] == roles["MPI_Scatterv"] == "COLL_ONE2ALL"
    assert roles["MPI_Gather"] == roles["MPI_Reduce"] == "COLL_ALL2ONE"
    assert roles["MPI_Alltoallw"] == roles["MPI_Reduce_scatter"] == roles["MPI_Reduce_scatter_block"] == "COLL_ALL2ALL"
    assert roles["MPI_Neighbor_allgather"] == "COLL_ALL2ALL"
    assert roles["MPI_Scan"] == roles["MPI_Exscan"] == "COLL_OTHER"
    assert roles["MPI_Comm_rank"] == roles["MPI_Init"] == "FUNCTION"


@RANKS
def test_non_blocking(mpi: Mpi, tmp_path: Path, n: int) -> None:
    """Non-blocking collectives: the same operations begin in one call and end in another."""
    trace = mpi.record(mpi.build("mpi_collectives.c", flags=("-O1", "-DNONBLOCKING")), tmp_path, ranks=n)
    for rank in range(n):
        expected = first_part(rank, n) + second_part(trace, rank, n)
        assert operations(trace, rank, COMPLETE) == expected, rank
        assert operations(trace, rank) == []
        where = inside(trace, rank)
        starts = {call: dict(kinds) for call, kinds in where.items() if call[:5] == "MPI_I" and REQUEST in kinds}
        assert sum(kinds.pop(REQUEST) for kinds in starts.values()) == len(expected)
        assert not any(starts.values())
        assert where["MPI_Wait"] == {COMPLETE: len(expected)}
    roles = {region.name: region.role for region in trace.regions.values() if region.paradigm == "MPI"}
    assert roles["MPI_Ibarrier"] == "BARRIER"
    assert roles["MPI_Ibcast"] == "COLL_ONE2ALL"
    assert roles["MPI_Igatherv"] == roles["MPI_Ireduce"] == "COLL_ALL2ONE"
    assert roles["MPI_Ialltoallw"] == roles["MPI_Ireduce_scatter"] == roles["MPI_Ineighbor_alltoallv"] == "COLL_ALL2ALL"


@RANKS
def test_persistent(mpi: Mpi, tmp_path: Path, n: int) -> None:
    """Persistent collectives: each start begins all operations again."""
    program = mpi.build("mpi_collectives.c", flags=("-O1", "-DPERSISTENT"))
    if "none" in mpi.run(program, tmp_path, ranks=n).stdout:
        pytest.skip("this MPI has no persistent collectives")
    unify(tmp_path, "mpi_collectives")
    trace = check(tmp_path / "mpi_collectives.trace")
    for rank in range(n):
        rounds = trace.calls(rank)["MPI_Startall"] // 2
        assert rounds >= 1
        expected = first_part(rank, n) * rounds + second_part(trace, rank, n) * rounds
        assert operations(trace, rank, COMPLETE) == expected, rank
        where = inside(trace, rank)
        assert where["MPI_Startall"] == {REQUEST: len(expected)}
        assert where["MPI_Waitall"] == {COMPLETE: len(expected)}
        assert not any(call.endswith("_init") for call in where)
