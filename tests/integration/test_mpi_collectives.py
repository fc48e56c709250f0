# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations: begin and end, operation, root, and bytes by the table in templates/coll.c."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpis import Mpi
from support.readback import Trace

NONE = 0xFFFFFFFF
ROOT = 1

Operation = tuple[str, int, int, int]


def operations(trace: Trace, rank: int) -> list[Operation]:
    """Operation, root, bytes sent and received of all collectives of a rank, in order."""
    return [
        (e.attrs["collective_op"], e.attrs["root"], e.attrs["size_sent"], e.attrs["size_received"])
        for e in trace.of(rank)
        if e.kind == "MpiCollectiveEnd"
    ]


def apart(rank: int, n: int) -> list[Operation]:
    """What apart() of mpi_collectives.c does."""
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
    """What in_place() of mpi_collectives.c does."""
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


@pytest.mark.parametrize("n", [3, pytest.param(2, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full)])
def test_operations_bytes_and_roles(mpi: Mpi, tmp_path: Path, n: int) -> None:
    trace = mpi.record(mpi.build("mpi_collectives.c"), tmp_path, ranks=n)
    for rank in range(n):
        assert operations(trace, rank) == apart(rank, n) + in_place(rank, n), rank
    roles = {region.name: region.role for region in trace.regions.values() if region.paradigm == "MPI"}
    assert roles["MPI_Barrier"] == "BARRIER"
    assert roles["MPI_Bcast"] == roles["MPI_Scatterv"] == "COLL_ONE2ALL"
    assert roles["MPI_Gather"] == roles["MPI_Reduce"] == "COLL_ALL2ONE"
    assert roles["MPI_Alltoallw"] == roles["MPI_Reduce_scatter"] == roles["MPI_Reduce_scatter_block"] == "COLL_ALL2ALL"
    assert roles["MPI_Exscan"] == "COLL_OTHER"
    assert roles["MPI_Comm_rank"] == roles["MPI_Init"] == "FUNCTION"
