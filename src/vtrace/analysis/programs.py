# SPDX-License-Identifier: BSD-3-Clause
"""Which processes run which program with which arguments, as vtunify writes it in properties of location groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vtrace.console import ranges, some
from vtrace.io.archive.properties import PROPERTY

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

EXECUTABLE, COMMAND = PROPERTY + "EXECUTABLE", PROPERTY + "COMMAND"


@dataclass
class RankProgram:
    """One command line. ranks: of the MPI processes that have it, ascending; others: how many processes without a
    rank have it."""

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


def programs(told: Iterable[tuple[int, str, str]]) -> list[RankProgram]:
    """The command lines in the order of their first processes. told: rank (-1: none), executable and command of each
    process; both empty where the archive does not name them."""
    found: dict[tuple[str, str], RankProgram] = {}
    for rank, executable, command in told:
        if executable or command:
            program = found.setdefault((executable, command), RankProgram(executable, command))
            if rank < 0:
                program.others += 1
            else:
                program.ranks.append(rank)
    return list(found.values())


def of_processes(trace: Source) -> list[tuple[int, str, str]]:
    """What programs() takes: rank, executable and command line of each row of trace.processes."""
    table = trace.group_properties
    rows = zip(*(table[name].tolist() for name in ("group", "name", "value")), strict=True)
    texts = {(group, name): str(value) for group, name, value in rows}
    each = zip(*(trace.processes[name].tolist() for name in ("group", "rank")), strict=True)
    return [(rank, texts.get((group, EXECUTABLE), ""), texts.get((group, COMMAND), "")) for group, rank in each]


def lines(trace: Source, most: int = 8) -> list[str]:
    """For people: if a trace has several command lines, each of them with its processes, at most `most`; else none."""
    found = programs(of_processes(trace))
    if len(found) < 2:
        return []
    left = [f"and {len(found) - most:,} more: vtrace info"] if len(found) > most else []
    return [f"{one.processes}: {one.command or one.executable}" for one in found[:most]] + left
