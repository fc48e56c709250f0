# SPDX-License-Identifier: BSD-3-Clause
"""Whom threads wait for, and what for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts, location_text, locations_text
from vtrace.analysis.findings.thread_waits import API, CRITICAL, EXPLICIT, IMPLICIT, MUTEX, THREAD_BARRIER
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Table, add_up, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

BARRIERS, LOCKS = (EXPLICIT, IMPLICIT, THREAD_BARRIER), (CRITICAL, API, MUTEX)
"""Kinds of waits."""
_MOST_OF, _SOME = 0.6, 0.02
"""A thread with at least this share of a loss is its culprit; the least share of one of several culprits."""
_NAMED = 3
"""A sentence names at most so many threads of one process."""
_NEARLY_ALL, _SOME_WAITS = 0.9, 0.1
"""Threads are culprits together of this share of a loss, and wait at most this part of what another one waits."""


def by_region(waits: Table, *kinds: int) -> Iterator[tuple[Table, int, str]]:
    """The waits of some kinds in each region, the path with the most time, and the time in words."""
    waits = waits.take(np.isin(waits["kind"], kinds))
    first, member = group([waits.paths["region"][waits["path"]]])
    for number in range(len(first)):
        mine = waits.take(member == number)
        yield mine, int(mine["path"][np.argmax(mine["time_ns"])]), span(int(mine["time_ns"].sum()))


def culprits_of(facts: RunFacts, waits: Table) -> list[int]:
    """The partner that most time is waited for. If no partner is, the partner of each process for which most time of
    this process is waited, if most time of all is waited for these partners together."""
    first, member = group([waits["partner"]])
    by, sums = waits["partner"][first], add_up(member, waits["time_ns"], len(first))
    process = facts.trace.places.process[by]
    whole, best = int(sums.sum()), int(np.argmax(sums))
    if sums[best] >= _MOST_OF * whole:
        return [int(by[best])] if by[best] >= 0 else []
    found = {}
    for number in np.unique(process[by >= 0]).tolist():
        mine = np.flatnonzero((process == number) & (by >= 0))
        most = int(mine[np.argmax(sums[mine])])
        if sums[most] >= max(_MOST_OF * int(sums[mine].sum()), _SOME * whole):
            found[int(by[most])] = int(sums[most])
    return [*found] if sum(found.values()) >= _MOST_OF * whole else []


def several_culprits(facts: RunFacts, waits: Table) -> list[int]:
    """The threads of one process for which nearly all time is waited, if these are at most half of the threads, and
    hardly wait themselves."""
    rows = facts.trace.locations.rows
    by, own = (add_up(waits[name], waits["time_ns"], rows) for name in ("partner", "location"))
    threads = np.unique(np.concatenate([waits["location"], waits["partner"]]))
    few = threads[own[threads] <= _SOME_WAITS * own[threads].max()]
    is_most = by[few].sum() >= _NEARLY_ALL * waits["time_ns"].sum() and 2 * len(few) <= len(threads)
    of_one = len(np.unique(facts.trace.places.process[threads])) == 1
    return few.tolist() if is_most and of_one and np.all(waits["partner"] >= 0) else []


def culprits_text(trace: Source, locations: list[int]) -> str:
    """Locations in a sentence."""
    if len(locations) < 2:
        return location_text(trace, locations[0]) if locations else ""
    if len({*trace.places.process[locations].tolist()}) == 1:
        if len(locations) > _NAMED:
            return locations_text(trace, locations)
        return " and ".join(location_text(trace, row) for row in locations)
    names = {*trace.locations["name"][locations].tolist()}
    return f"{names.pop() if len(names) == 1 else 'one thread each'} of {locations_text(trace, locations)}"
