# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that processes left on the disks of nodes without a rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.parallel.crew import Crew
from vtrace.text import shell_path
from vtrace.unify.model.fates import Fate

_SHOWN = 20


def is_near(process: Fate, crew: Crew) -> bool:
    """Returns True if a rank of vtunify is on the host and in the container of a process."""
    return process.head.host in crew.hosts and process.head.pid_space in {0, *crew.pid_spaces}


def list_buffers(processes: Sequence[Fate], crew: Crew, say: Callable[[str], None]) -> None:
    """Prints the places of buffers, a line each, by host."""
    found = sorted(processes, key=lambda p: (p.head.host, p.rank is None, p.rank or 0, p.head.start))
    for process in found[:_SHOWN]:
        head = process.head
        where = "is gone" if is_near(process, crew) else f"is on {head.host}"
        say(f"the buffer of {process.label} {where}: {head.buffer}")
    if len(found) > _SHOWN:
        more = len({process.head.host for process in found[_SHOWN:]})
        say(f"and {len(found) - _SHOWN} more on {more} {'host' if more == 1 else 'hosts'}")


def refuse(processes: Sequence[Fate], crew: Crew, prefix: Path, ranks: int) -> None:
    """Raises VtraceError if buffers are on other hosts than those of the ranks, with the command that reads them there.

    ranks: of the first world.
    """
    others = [process for process in processes if not is_near(process, crew)]
    if not others:
        return
    theirs = sorted({process.head.host for process in others})
    where = theirs[0] if len(theirs) == 1 else f"{len(theirs)} other hosts"
    count, verb = ("a buffer", "is") if len(others) == 1 else (f"{len(others)} buffers", "are")
    word = shell_path(prefix)
    mpi = any(process.world for process in others)
    there = (
        f"on the nodes of the run: mpiexec -n {ranks} vtunify-mpi {word}, under Slurm with srun"
        if mpi
        else "copy them beside the other files"
    )
    raise VtraceError(
        f"{count} of processes that did not complete their files {verb} not accessible here, but on {where}",
        f"{there}; vtunify --partial {word} goes on without them",
    )
