# SPDX-License-Identifier: BSD-3-Clause
"""Processes with incomplete files: they ended early, still run, or their files are damaged or missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtrace.console import ranges
from vtrace.io.local.local_files import FileHead
from vtrace.unify.model.process import Process

_SHOWN = 8


@dataclass(frozen=True)
class IncompleteProcess:
    """A process with incomplete files."""

    head: FileHead
    label: str
    world: int
    rank: int | None
    main: bool
    died: bool
    running: bool
    hidden: bool
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
            state = (p.died, p.running, p.buffer_unseen, contents.in_memory, contents.problems, contents.missing_files)
            found[p.number] = IncompleteProcess(p.head, p.label, p.world, p.rank, p.main, *state)
    return found


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
