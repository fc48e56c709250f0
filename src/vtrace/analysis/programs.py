# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a run: executable, command line and processes, from properties that vtunify gives location groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vtrace.console import ranges, some
from vtrace.io.archive.properties import COMMAND, EXECUTABLE

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


@dataclass
class RankProgram:
    """A command line and the processes that run it. ranks: their MPI ranks, ascending; others: the number of processes
    without a rank."""

    executable: str
    command: str
    ranks: list[int] = field(default_factory=list)
    others: int = 0

    @property
    def processes(self) -> str:
        """The processes in words: ranks 0-3,5."""
        parts = [f"{'rank' if len(self.ranks) == 1 else 'ranks'} {ranges(self.ranks)}"] if self.ranks else []
        if self.others:
            parts.append(f"{some(self.others, 'process', 'processes')} without a rank")
        return ", ".join(parts)


def programs(entries: Iterable[tuple[int, str, str]]) -> list[RankProgram]:
    """The command lines, in the order of their first processes.

    entries: rank (-1: none), executable and command line of each process; "" for texts that the archive lacks.
    """
    found: dict[tuple[str, str], RankProgram] = {}
    for rank, executable, command in entries:
        if executable or command:
            program = found.setdefault((executable, command), RankProgram(executable, command))
            if rank < 0:
                program.others += 1
            else:
                program.ranks.append(rank)
    return list(found.values())


def of_processes(trace: Source) -> list[tuple[int, str, str]]:
    """Rank (-1: none), executable and command line of each row of trace.processes, as programs() takes them."""
    table = trace.group_properties
    rows = zip(*(table[name].tolist() for name in ("group", "name", "value")), strict=True)
    texts = {(group, name): str(value) for group, name, value in rows}
    each = zip(*(trace.processes[name].tolist() for name in ("group", "rank")), strict=True)
    return [(rank, texts.get((group, EXECUTABLE), ""), texts.get((group, COMMAND), "")) for group, rank in each]


def lines(trace: Source, most: int = 8) -> list[str]:
    """A line for each command line, at most `most`; none if the run has a single command line."""
    found = programs(of_processes(trace))
    if len(found) < 2:
        return []
    left = [f"and {len(found) - most:,} more: vtrace info"] if len(found) > most else []
    return [f"{one.processes}: {one.command or one.executable}" for one in found[:most]] + left
