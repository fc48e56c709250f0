# SPDX-License-Identifier: BSD-3-Clause
"""The call path that took longer in slow iterations than in the others of the same process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table

_LOST = 0.5
"""Processes that lose this part of the largest loss of a process are compared."""
_TOGETHER = 20
"""Processes whose iterations begin and end in one twentieth of a usual iteration are read in one pass."""


@dataclass(frozen=True)
class SlowPath:
    """location, path (row of RunFacts.paths; 0 if only these iterations have the call), its names. more: ns of all
    these iterations. begin, end: ns, of these iterations on the location."""

    location: int
    path: int
    names: tuple[str, ...]
    more: int
    begin: int
    end: int


def slow_path(facts: RunFacts, found: Iterations, first: int, last: int) -> SlowPath:
    """The call path that took longer in these iterations than in the others. The path where a process waits for others
    counts only if nothing else took longer. Ranks that do not meet in each iteration are in other iterations at the
    same time, so each one is read in its own iterations."""
    whole = _by_name(facts, found.locations)
    counts = np.count_nonzero(found.times >= 0, axis=0)
    ends = int(found.table["begin"][first]), int(found.table["end"][last])
    best: tuple[bool, float, int, tuple[str, ...], SlowPath]
    best = (False, 0.0, 0, ("",), SlowPath(found.locations[0], 0, (), 0, *ends))
    for begin, end, columns in _windows(found, first, last):
        number = {found.locations[column]: column for column in columns}
        part = _calls(facts, Selection(start=begin, stop=end, locations=tuple(sorted(number))))
        for (location, names), (ns, row) in _by_name(part, [*number]).items():
            here = np.count_nonzero(found.times[first : last + 1, number[location]] >= 0)
            usual, known = whole.get((location, names), (0, 0))
            more = ns - max(0, usual - ns) * here / max(1, counts[number[location]] - here)
            one = SlowPath(location, known, names=names, more=int(more), begin=begin, end=end)
            best = max(
                best, (not part.waiting[row] and more > 0, more, -location, names, one), key=lambda each: each[:4]
            )
    return best[4]


def _windows(found: Iterations, first: int, last: int) -> Iterator[tuple[int, int, list[int]]]:
    """Begin and end (ns) of these iterations, and the columns of found.times of the processes that run them then. Only
    processes that lose much time."""
    times, begins = found.times[first : last + 1], found.begins[first : last + 1]
    lost = found.lost(first, last)
    ends = (begins + times).max(axis=0)
    step = max(1, int(found.median / _TOGETHER))
    together: dict[tuple[int, int], list[int]] = {}
    for column in np.flatnonzero((times[0] >= 0) & (lost >= _LOST * lost.max())).tolist():
        together.setdefault((int(begins[0, column]) // step, int(ends[column]) // step), []).append(column)
    for columns in together.values():
        yield int(begins[0, columns].min()), int(ends[columns].max()), columns


def _calls(facts: RunFacts, window: Selection) -> RunFacts:
    """The call tree of a selection, without other facts, which take a time for each location of the trace."""
    tree = CallTree()
    ask(facts.trace, [tree], window)
    return RunFacts(facts.trace, window, *tree.answer(), Table({}), np.empty((0, 0)))


def _by_name(facts: RunFacts, locations: list[int]) -> dict[tuple[int, tuple[str, ...]], tuple[int, int]]:
    """Exclusive ns, and the row of the path, by location and the names of the path."""
    known: dict[int, tuple[str, ...]] = {}
    found = {}
    for row in facts.numbers.take(np.isin(facts.numbers["location"], locations)).records():
        path = row["path"]
        if path not in known:
            known[path] = facts.names(path)
        found[row["location"], known[path]] = (row["exclusive"], path)
    return found
