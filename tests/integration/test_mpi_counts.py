# SPDX-License-Identifier: BSD-3-Clause
"""The flag from_all of Alltoallv and similar collectives: set if a rank receives data from every other rank. The
records do not have the counts."""

from __future__ import annotations

import json
from pathlib import Path

from support.build.mpis import Mpi
from support.build.run import unify, vtrace


def test_flags(mpi: Mpi, tmp_path: Path) -> None:
    mpi.run(mpi.build("mpi_counts.c"), tmp_path, ranks=3)
    found: dict[int, list[tuple[str, bool]]] = {0: [], 1: [], 2: []}
    done = vtrace(tmp_path, "dump", "--json", "--only", "COLL_END", "--only", "COLL_COMPLETE", "mpi_counts")
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if "HANDLE" not in (op := item["op"]):
            found[item["rank"]].append((op, item.get("from_all", False)))
    persistent = sum(op == "ALLTOALLV" for op, _ in found[0]) - 5
    assert persistent in (0, 2)
    for rank, flags in found.items():
        expected = []
        for last, gathers in ((True, True), (rank != 2, rank == 0)):
            expected += [("ALLTOALLV", last), ("ALLTOALLW", last), ("ALLGATHERV", gathers), ("ALLTOALLV", last)]
            expected += [("ALLTOALLV", last)] * (persistent // 2)
        expected += [("ALLTOALL", True), ("ALLGATHER", True)]
        expected += [("ALLTOALL", False), ("ALLTOALLV", False), ("ALLGATHER", False)]
        assert flags == expected, rank
    unify(tmp_path, "mpi_counts")
