# SPDX-License-Identifier: BSD-3-Clause
"""The call path that took longer in slow iterations than in the others of the same process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up

_LOST = 0.5
"""Processes that lose this part of the largest loss of a process are compared."""
_REASON = 0.1
"""A call path is no reason for a growth of which it has a smaller share."""
_REPLACED = 0.5
"""A call path with this part of an iteration takes most of it."""
_RARE = 0.2
"""A call path with at most this part of its usual time is not in an iteration: one or two of the range may have it."""
_TOGETHER = 20
"""Processes whose iterations begin and end in one twentieth of a usual iteration are read in one pass."""


@dataclass(frozen=True, kw_only=True)
class SlowPath:
    """locations: where the path took longer, the one with the most first. path (row of RunFacts.paths; 0 if only these
    iterations have the call, or for the time outside of recorded calls), its names. more: ns of all these iterations on
    the first location. begin, end: ns, of these iterations on the first location. master: the first location of the
    process, whose iterations these are. for_thread: the path waits for other threads of the process. is_other_code: the
    call path that takes most of the other iterations is not in these."""

    locations: tuple[int, ...]
    path: int
    names: tuple[str, ...]
    more: int
    begin: int
    end: int
    master: int
    for_thread: bool = False
    is_other_code: bool = False


@dataclass(frozen=True, kw_only=True)
class _Growth:
    """The time of a call path on a location, by that in other iterations. master: the first location of its process.
    works: no call that may wait for others. for_thread: it may wait for other threads of the process. is_absent: the
    path takes most of the other iterations, and next to no time in these."""

    location: int
    master: int
    path: int
    names: tuple[str, ...]
    more: float
    works: bool
    for_thread: bool
    is_absent: bool
    begin: int
    end: int


def slow_path(facts: RunFacts, iterations: Iterations, first: int, last: int, *, alike: int = 1) -> SlowPath:
    """The call path that took longer in these iterations than in the others. The path where a process waits for others
    counts only if no other path is a reason (_REASON). Ranks that do not meet in each iteration are in other iterations
    at the same time, so each one is read in its own iterations. Where a first thread waits for others of its process,
    the path is that of the thread that works longer. alike: so many parts of the run are as slow, this one included:
    the others are not usual."""
    found = [*_growths(facts, iterations, first, last, alike=alike)]
    growths = [each for each in found if each.more > 0]
    if not growths:
        ends = int(iterations.table["begin"][first]), int(iterations.table["end"][last])
        master = iterations.locations[0]
        return SlowPath(locations=(master,), path=0, names=(), more=0, begin=ends[0], end=ends[1], master=master)
    least = _REASON * max(each.more for each in growths)
    most = max(growths, key=lambda each: (each.works and each.more >= least, each.more, -each.location, each.names))
    if most.for_thread:
        theirs = [each for each in _growths(facts, iterations, first, last, alike=alike, threads=True) if each.works]
        longest = max(theirs, key=lambda each: each.more, default=most)
        most = longest if longest.more >= _LOST * most.more else most
    same = [each for each in growths if each.names == most.names and each.more >= _LOST * most.more]
    same = sorted(same, key=lambda each: (-each.more, each.location)) or [most]
    return SlowPath(
        locations=tuple(each.location for each in same), path=most.path, names=most.names, more=int(most.more),
        begin=most.begin, end=most.end, master=most.master, for_thread=most.for_thread,
        is_other_code=any(each.is_absent and each.works for each in found),
    )  # fmt: skip


def _growths(
    facts: RunFacts, iterations: Iterations, first: int, last: int, *, alike: int, threads: bool = False
) -> Iterator[_Growth]:
    """The growths of the processes' first threads; threads: of their other threads."""
    process, masters = facts.trace.places.process, iterations.locations
    of = {at: [row for row in facts.rows if row != at and process[row] == process[at]] for at in masters if threads}
    whole = _by_name(facts, [row for rows in of.values() for row in rows] or masters, facts.times[:, -1])
    counts = np.count_nonzero(iterations.times >= 0, axis=0)
    for begin, end, columns in _windows(iterations, first, last):
        number = {row: column for column in columns for row in of.get(masters[column], [masters[column]])}
        part = _calls(facts, Selection(start=begin, stop=end, locations=tuple(sorted(number))))
        n = part.numbers
        outside = end - begin - add_up(n["location"], n["exclusive"], facts.trace.locations.rows)
        inside = _by_name(part, [*number], outside)
        for location, names in {**inside, **{key: 0 for key in whole if key[0] in number}}:
            ns, row = inside.get((location, names), (0, -1))
            here = np.count_nonzero(iterations.times[first : last + 1, number[location]] >= 0)
            usual, path = whole.get((location, names), (0, 0))
            others = max(1, counts[number[location]] - alike * here)
            expected = max(0, usual - alike * ns) * here / others
            tree, at = (part, row) if row >= 0 else (facts, path)
            works = not tree.waiting[at]
            yield _Growth(
                location=location, master=masters[number[location]], path=path, names=names, more=ns - expected,
                works=works, for_thread=bool(tree.for_thread[tree.paths["region"][at]]),
                is_absent=ns <= _RARE * expected and expected >= _REPLACED * here * iterations.median,
                begin=begin, end=end,
            )  # fmt: skip


def _windows(iterations: Iterations, first: int, last: int) -> Iterator[tuple[int, int, list[int]]]:
    """Begin and end (ns) of these iterations, and the columns of iterations.times of the processes that run them then.
    Only processes that lose much time."""
    times, begins = iterations.times[first : last + 1], iterations.begins[first : last + 1]
    lost = iterations.lost(first, last)
    ends = (begins + times).max(axis=0)
    step = max(1, int(iterations.median / _TOGETHER))
    together: dict[tuple[int, int], list[int]] = {}
    for column in np.flatnonzero((times[0] >= 0) & (lost >= _LOST * lost.max())).tolist():
        together.setdefault((int(begins[0, column]) // step, int(ends[column]) // step), []).append(column)
    for columns in together.values():
        yield int(begins[0, columns].min()), int(ends[columns].max()), columns


def _calls(facts: RunFacts, window: Selection) -> RunFacts:
    """The call tree of a selection, without other facts, which take a time for each location of the trace."""
    tree = CallTree()
    ask(facts.trace, [tree], window)
    part = RunFacts(facts.trace, window, *tree.answer(), Table({}), np.empty((0, 0)))
    part.processor_waits = facts.processor_waits
    return part


def _waited(facts: RunFacts) -> Counter[tuple[int, int]]:
    """The ns of waits for a processor by location and call path."""
    waits, found = facts.processor_waits, Counter[tuple[int, int]]()
    columns = waits.location, facts.path_of_wait, waits.within(facts.window.start, facts.window.stop)
    for location, path, ns in zip(*(column.tolist() for column in columns), strict=True):
        found[location, path] += round(ns)
    return found


def _by_name(
    facts: RunFacts, locations: list[int], outside: Array
) -> dict[tuple[int, tuple[str, ...]], tuple[int, int]]:
    """Exclusive ns without waits for a processor, and the row of the path, by location and the names of the path.
    outside: (locations,) ns outside of recorded calls; these have no names."""
    known: dict[int, tuple[str, ...]] = {}
    waited = _waited(facts)
    found: dict[tuple[int, tuple[str, ...]], tuple[int, int]] = {
        (at, ()): (max(0, int(outside[at]) - waited[at, 0]), 0) for at in locations
    }
    for row in facts.numbers.take(np.isin(facts.numbers["location"], locations)).records():
        path = row["path"]
        if path not in known:
            known[path] = facts.names(path)
        found[row["location"], known[path]] = (max(0, row["exclusive"] - waited[row["location"], path]), path)
    return found
