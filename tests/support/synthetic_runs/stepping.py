# SPDX-License-Identifier: BSD-3-Clause
"""An archive of ranks that repeat a step: work, a file by one rank, and a collective operation at the end."""

from __future__ import annotations

from pathlib import Path

import _otf2

from support.synthetic_runs.archives import UNDEFINED, Foreign

RANKS, STEPS, US = 4, 20, 1000
WRITER, SLOW_RANK, SLOW_STEP = 2, 1, 13
MAIN, STEP, WORK, WRITE, ALL = range(5)
NAMES = ("main", "step", "work", "write_results", "MPI_Allreduce")


def write(where: Path, work: int = 600) -> tuple[int, int]:
    """Writes the archive. work: us of a step. In each step WRITER writes for 200 us; in SLOW_STEP, SLOW_RANK works five
    times as long. Returns start and end (ns) of SLOW_STEP."""
    archive, found, now = Foreign(where), (0, 0), 10 * US
    events: list[list[tuple[object, ...]]] = [[(0, "Enter", MAIN)] for _ in range(RANKS)]
    for step in range(STEPS):
        times = [work * US * (5 if (step, rank) == (SLOW_STEP, SLOW_RANK) else 1) for rank in range(RANKS)]
        end = now + max(ns + 200 * US * (rank == WRITER) for rank, ns in enumerate(times)) + 20 * US
        for rank, ns in enumerate(times):
            mine = events[rank]
            mine += [(now, "Enter", STEP), (now, "Enter", WORK), (now + ns, "Leave", WORK)]
            if rank == WRITER:
                mine += [(now + ns, "Enter", WRITE), (now + ns + 200 * US, "Leave", WRITE)]
            arrives = now + ns + 200 * US * (rank == WRITER)
            mine += [
                (arrives, "Enter", ALL), (arrives, "MpiCollectiveBegin"),
                (end, "MpiCollectiveEnd", _otf2.COLLECTIVE_OP_ALLREDUCE.value, 0, UNDEFINED, 8, 8),
                (end, "Leave", ALL), (end, "Leave", STEP),
            ]  # fmt: skip
        if step == SLOW_STEP:
            found = now, end
        now = end
    for rank in range(RANKS):
        archive.events(rank, [*events[rank], (now + 10 * US, "Leave", MAIN)])
    _define(archive, now + 10 * US)
    return found


def _define(archive: Foreign, length: int) -> None:
    archive.begin_definitions()
    archive.machine(groups=RANKS, length=length)
    for rank in range(RANKS):
        archive.location(rank, group=rank)
    roles = {WRITE: _otf2.REGION_ROLE_FILE_IO.value, ALL: _otf2.REGION_ROLE_COLL_ALL2ALL.value}
    for number, name in enumerate(NAMES):
        archive.region(number, name, roles.get(number, 1), 4 if number == ALL else 1)
    archive.define("Group", 0, "", 4, 4, 0, [*range(RANKS)])
    archive.define("Group", 1, "", 5, 4, 0, [*range(RANKS)])
    archive.define("Comm", 0, "world", 1, UNDEFINED, 0)
    archive.close()
