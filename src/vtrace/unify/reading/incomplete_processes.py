# SPDX-License-Identifier: BSD-3-Clause
"""Processes with incomplete files: they ended early, still run, or their files are damaged or missing. Also the reasons
to refuse a run that the user may allow: its MPI did not join the processes, buffers are on the disks of nodes without a
rank, or files are missing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtrace.console import ranges
from vtrace.errors import VtraceError
from vtrace.io.local.local_files import FileHead
from vtrace.parallel.crew import Crew
from vtrace.text import shell_path
from vtrace.unify.model.process import Process

_SHOWN, _SHOWN_BUFFERS, _SHOWN_FILES = 8, 20, 4
_DIGITS = 3
"""A signal's number has less digits."""


@dataclass(frozen=True)
class IncompleteProcess:
    """A process with incomplete files."""

    head: FileHead
    label: str
    world: int
    rank: int | None
    main: bool
    died: bool
    ended_by: str
    """As Process.ended_by."""
    running: bool
    buffer_unseen: bool
    """True: its buffer is not accessible."""
    in_memory: bool
    """True: a part of its buffer was memory."""
    problems: Sequence[str]
    """Damage of its files, a text each."""
    missing_files: Sequence[str] = ()
    """Files that are missing or end too early, a text each."""


def incomplete_processes(processes: Sequence[Process]) -> dict[int, IncompleteProcess]:
    """Returns the processes with incomplete files, by number. The definitions must be loaded."""
    found = {}
    for p in processes:
        contents = p.contents
        if p.died or p.running or contents.problems or contents.missing_files or p.buffer_unseen:
            state = (p.running, p.buffer_unseen, contents.in_memory, contents.problems, contents.missing_files)
            found[p.number] = IncompleteProcess(p.head, p.label, p.world, p.rank, p.main, p.died, p.ended_by, *state)
    return found


def by_signal(processes: Sequence[IncompleteProcess]) -> Iterator[tuple[str, list[IncompleteProcess]]]:
    """Yields the processes by the signal that ended them, those without a known one first."""
    for name in sorted({process.ended_by for process in processes}):
        yield name, [process for process in processes if process.ended_by == name]


def signal_name(number: object) -> str:
    """Returns the name of a signal; empty if it is none."""
    text = str(number)
    known = {str(int(each)): each.name for each in signal.Signals}
    return known.get(text, f"signal {text}" if text.isdecimal() and len(text) < _DIGITS else "")


def labels(processes: Sequence[IncompleteProcess]) -> str:
    """Returns the names of processes: all ranks in one text, and the first few other processes."""
    ranked = [p.rank for p in processes if p.main and p.world and p.rank is not None]
    others = [p.label for p in processes if not (p.main and p.world)]
    names = ([ranks_of(ranked)] if ranked else []) + others[:_SHOWN]
    more = len(others) - _SHOWN
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def ranks_of(numbers: Sequence[int]) -> str:
    """Returns ranks as text: ranks 0,2-5."""
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {ranges(numbers)}"


def separate_worlds(processes: Sequence[Process]) -> dict[int, str]:
    """Returns a sentence for each process that was alone in its MPI_COMM_WORLD, by number of the process: the
    launcher and the MPI library belong to different MPIs.

    The definitions must be loaded: csrc/core/process.c writes the note into them at MPI_Init.
    """
    found = {}
    for process in processes:
        known = process.definitions.properties
        if said := known.get("alone"):
            found[process.number] = f"{said}, but in {known.get('shim.mpi', 'their MPI')} each of them was alone"
    return found


def refuse_separate_worlds(text: str, allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns with a sentence of separate_worlds, if there is one; raises VtraceError unless such a run is allowed."""
    if text and not allowed:
        again = "srun --mpi=pmi2 or --mpi=pmix" if text.startswith("srun ") else "the mpiexec of its MPI"
        hint = f"run it again with {again}; --partial unifies each process as a world of one rank"
        raise VtraceError(f"{text}: MPI_COMM_WORLD had 1 rank", hint)
    if text:
        warn(text)


def is_near(process: IncompleteProcess, crew: Crew) -> bool:
    """Returns True if a rank of vtunify is on the host and in the container of a process."""
    return process.head.host in crew.hosts and process.head.pid_space in {0, *crew.pid_spaces}


def list_buffers(processes: Sequence[IncompleteProcess], crew: Crew, say: Callable[[str], None]) -> None:
    """Prints the places of buffers, a line each, by host."""
    found = sorted(processes, key=lambda p: (p.head.host, p.rank is None, p.rank or 0, p.head.start))
    for process in found[:_SHOWN_BUFFERS]:
        head = process.head
        where = "is gone" if is_near(process, crew) else f"is on {head.host}"
        say(f"the buffer of {process.label} {where}: {head.buffer}")
    if len(found) > _SHOWN_BUFFERS:
        more = len({process.head.host for process in found[_SHOWN_BUFFERS:]})
        say(f"and {len(found) - _SHOWN_BUFFERS} more on {more} {'host' if more == 1 else 'hosts'}")


def refuse_remote_buffers(processes: Sequence[IncompleteProcess], crew: Crew, prefix: Path, ranks: int) -> None:
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


def report_missing_parts(texts: Sequence[str], allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns with texts of missing_parts; raises VtraceError unless missing files are allowed."""
    more = [f"{len(texts) - _SHOWN_FILES} more are missing or end too early"] if len(texts) > _SHOWN_FILES else []
    shown = [*texts[:_SHOWN_FILES], *more]
    if not allowed:
        raise VtraceError("; ".join(shown), "copy the missing files there, or use --partial to go on without them")
    for text in shown:
        warn(text)
