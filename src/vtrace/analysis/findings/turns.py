# SPDX-License-Identifier: BSD-3-Clause
"""The function in which ranks sleep while others wait for them: ranks that take turns spend the same time there, so
that sums of times do not show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.findings.sleeping_calls import SleepingCall, longest_sleep
from vtrace.analysis.table import Array, Table


def turn_of(facts: RunFacts, names: tuple[str, ...], locations: Sequence[int], waits: Table) -> SleepingCall | None:
    """The call in which locations sleep longest, in the call path with these names, while others wait for them; None:
    unknown. waits: of Trace.call_waits."""
    blocked = facts.blocked
    waiting = np.zeros(len(blocked.location))
    for location in locations:
        at, mine = np.flatnonzero(blocked.location == location), waits.take(waits["partner"] == location)
        if mine.rows:
            waiting[at] = _waiting(mine, blocked.begin[at], blocked.end[at])
    ns = facts.asleep_in(facts.paths_named(names)) * waiting
    return longest_sleep(blocked, ns, locations, [])[0]


def _waiting(waits: Table, begins: Array, ends: Array) -> Array:
    """(n,) the mean number of locations that wait between times (ns)."""
    edges = np.concatenate([waits["begin"], waits["begin"] + waits["time_ns"]])
    order = np.argsort(edges, kind="stable")
    times = edges[order].astype(np.float64)
    count = np.cumsum(np.repeat([1, -1], waits.rows)[order])
    area = np.concatenate([[0.0], np.cumsum(np.diff(times) * count[:-1])])
    found: Array = (np.interp(ends, times, area) - np.interp(begins, times, area)) / np.maximum(1, ends - begins)
    return found
