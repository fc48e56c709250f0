# SPDX-License-Identifier: BSD-3-Clause
"""An archive of ranks that exchange halos with two neighbours and end each step by a collective operation; one rank
works longer. MPI_Init takes a fifth of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import _otf2

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.viewed import served

US = 1000
WORK, HALO, LATE = 800 * US, 20 * US, 1.6
"""ns of a rank's work and of its exchange in a step; factor of the slow rank's work."""
STEPS, FEW_STEPS = 12, 4
MAIN, INIT, STEP, STENCIL, SEND, RECV, ALL, FINALIZE = range(8)
NAMES = ("main", "MPI_Init", "step", "stencil", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Finalize")


class Run(NamedTuple):
    """An archive that vtrace view shows. address: of its page; begin, end: of the part from MPI_Init to MPI_Finalize;
    slow: the rank that works longer; the rank after it waits for its message."""

    archive: Path
    address: str
    ranks: int
    begin: int
    end: int
    slow: int


@contextmanager
def run_of(where: Path, ranks: int) -> Iterator[Run]:
    """Writes an archive into a folder, and runs vtrace view."""
    ends = write(where / "grid.trace", ranks, STEPS if ranks < 1000 else FEW_STEPS)
    with served(where, where / "grid.trace") as (address, _):
        yield Run(where / "grid.trace", address, ranks, *ends)


def write(where: Path, ranks: int, steps: int = STEPS) -> tuple[int, int, int]:
    """Writes the archive; returns the end of MPI_Init, the begin of MPI_Finalize, and the rank that works longer."""
    archive, slow = Foreign(where), ranks // 3
    long = int(WORK * LATE) + 3 * HALO
    begin = steps * long // 3
    end = begin + steps * long
    for rank in range(ranks):
        right, left = (rank + 1) % ranks, (rank - 1) % ranks
        events: list[tuple[object, ...]] = [(0, "Enter", MAIN), (US, "Enter", INIT), (begin, "Leave", INIT)]
        for step in range(steps):
            now = begin + step * long
            stop, last = now + int(WORK * (LATE if rank == slow else 1 + 0.002 * (rank % 7))), now + long
            latest = max(stop, now + int(WORK * LATE) if left == slow else 0) + HALO
            events += [
                (now, "Enter", STEP), (now, "Enter", STENCIL), (stop, "Leave", STENCIL),
                (stop, "Enter", SEND), (stop + US, "MpiSend", right, 0, step, 800), (stop + 2 * US, "Leave", SEND),
                (stop + 2 * US, "Enter", RECV), (latest, "MpiRecv", left, 0, step, 800), (latest, "Leave", RECV),
                (latest, "Enter", ALL), (latest, "MpiCollectiveBegin"),
                (last, "MpiCollectiveEnd", _otf2.COLLECTIVE_OP_ALLREDUCE.value, 0, UNDEFINED, 8, 8),
                (last, "Leave", ALL), (last, "Leave", STEP),
            ]  # fmt: skip
        events += [(end, "Enter", FINALIZE), (end + 50 * US, "Leave", FINALIZE), (end + 60 * US, "Leave", MAIN)]
        archive.events(rank, events)
    archive.begin_definitions()
    archive.machine(groups=ranks, length=end + 60 * US)
    for rank in range(ranks):
        archive.location(rank, group=rank)
    for number, name in enumerate(NAMES):
        archive.region(number, name, 1, 4 if name.startswith("MPI_") else 1)
    archive.define("Group", 0, "", 4, 4, 0, [*range(ranks)])
    archive.define("Group", 1, "", 5, 4, 0, [*range(ranks)])
    archive.define("Comm", 0, "world", 1, UNDEFINED, 0)
    archive.close()
    return begin, end, slow
