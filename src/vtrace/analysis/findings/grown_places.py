# SPDX-License-Identifier: BSD-3-Clause
"""The functions that take longer in some iterations than in the others: recorded ones, and inside of these, or outside
of recorded calls, those that sleep or are in samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.own_places import Place
from vtrace.analysis.findings.run_facts import RunFacts, find_path, named_place
from vtrace.analysis.findings.slow_paths import SlowPath

_EXAMINED = 8
"""The most ranges of iterations to examine."""
_MOST = 0.3
"""The least share of its time for which a function is the code of an iteration."""


@dataclass(frozen=True, kw_only=True)
class GrownPlace:
    """A call path: its names, the source of its region, and both in a sentence."""

    names: tuple[str, ...]
    source: str
    text: str


def grown_place(facts: RunFacts, iterations: Iterations, slow: SlowPath, runs: list[tuple[int, int]]) -> GrownPlace:
    """The call of MPI that took longer in these iterations, or the function, by sleep or samples of the slowest of them
    where these show one."""
    row = find_path(facts, slow.names)
    is_call = facts.path_class(row) == MPI
    if not is_call and (place := _unrecorded(facts, iterations, slow, runs)):
        return GrownPlace(names=place.names, source=place.source, text=place.text)
    source = facts.source(slow.path) if slow.path else ""
    text = facts.call_text(facts.paths, row) if is_call else named_place(facts, slow.names)
    return GrownPlace(names=slow.names, source=source, text=text)


def has_other_code(facts: RunFacts, iterations: Iterations, slow: SlowPath, run: tuple[int, int]) -> bool:
    """True if a function takes most of the time of the other iterations, but none of these: another part of the program
    has the same calls of MPI."""
    if slow.is_other_code:
        return True
    first, last = run
    rows = len(iterations.times)
    others = [each for each in ((0, first - 1), (last + 1, rows - 1)) if each[0] <= each[1]]
    windows, usual = _windows(iterations, slow.master, others)
    length = sum(end - begin for begin, end in windows)
    if facts.grown_sleep(slow.names, slow.locations[0], windows, usual=usual, growth=2 * _MOST * length):
        return True
    if not facts.sampled:
        return False
    sampled = facts.sampled.grown(slow.names, slow.locations[0], windows, usual=usual, sure=True)
    return bool(sampled and sampled.ns >= _MOST * length)


def _unrecorded(facts: RunFacts, iterations: Iterations, slow: SlowPath, runs: list[tuple[int, int]]) -> Place | None:
    """The function that sleeps or computes longer in these iterations than in the others, inside a recorded call."""
    location = slow.locations[0]
    examined = sorted(runs, key=lambda run: -iterations.loss(*run))[:_EXAMINED]
    windows, usual = _windows(iterations, slow.master, examined)
    losses = [iterations.loss(*run) for run in examined]
    growth = slow.more * sum(losses) / max(1, *losses)
    if asleep := facts.grown_sleep(slow.names, location, windows, usual=usual, growth=growth):
        return asleep
    return facts.sampled.grown(slow.names, location, windows, usual=usual) if facts.sampled else None


def _windows(iterations: Iterations, location: int, runs: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], float]:
    """Begin and end (ns) of those of these iterations that a location has, and their number by that of its others."""
    column = iterations.locations.index(location)
    begins, times = iterations.begins[:, column], iterations.times[:, column]
    count = sum(int(np.count_nonzero(times[first : last + 1] >= 0)) for first, last in runs)
    usual = count / max(1, int(np.count_nonzero(times >= 0)) - count)
    ends = begins + times
    return [
        (int(begins[first]), int(ends[first : last + 1].max())) for first, last in runs if begins[first] >= 0
    ], usual
