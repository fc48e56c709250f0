# SPDX-License-Identifier: BSD-3-Clause
"""The calls in which threads and ranks sleep while others wait for them. Ranks that take turns spend the same time
there, so that sums of times do not show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.sleeping_calls import SleepingCall, longest_sleep
from vtrace.analysis.table import Array, Table

if TYPE_CHECKING:
    from vtrace.analysis.findings.run_facts import RunFacts
    from vtrace.analysis.findings.sync_calls import Waits

_MOST = 0.5
"""A call explains waits if the partners sleep there for this part of them."""


def slept_meanwhile(facts: RunFacts, partner: Array, begin: Array, until: Array) -> Array:
    """(times,) ns of the partners' sleep that is not for another thread, while others wait for them, over all waits.
    partner, begin, until: of each wait, ns."""
    asleep = facts.blocked
    found = np.zeros(len(asleep.location))
    for location in np.unique(partner[(partner >= 0) & np.isin(partner, asleep.location)]).tolist():
        mine, here = partner == location, asleep.location == location
        edges = np.concatenate([begin[mine], until[mine]])
        order = np.argsort(edges, kind="stable")
        edges, signs = edges[order], np.repeat([1, -1], np.count_nonzero(mine))[order]
        waiting = np.append(0, np.cumsum(np.cumsum(signs)[:-1] * np.diff(edges)))  # ns of all waiting threads
        at = (np.interp(times, edges, waiting) for times in (asleep.end[here], asleep.begin[here]))
        length = np.maximum(1, asleep.end[here] - asleep.begin[here])
        found[here] = np.subtract(*at) * asleep.ns[here] / length
    result: Array = found * ~facts.asleep_for_thread
    return result


def by_region(facts: RunFacts, found: list[Waits], paths: Table) -> dict[int, Array]:
    """slept_meanwhile by the region of the waits, for waits with a known end. paths: those of the waits."""
    sums: dict[int, Array] = {}
    for waits in found:
        if waits.until is None or waits.since is None or not len(facts.blocked.location):
            continue
        regions = paths["region"][waits.path]
        for region in np.unique(regions).tolist():
            mine = regions == region
            until = waits.until[mine]
            ns = slept_meanwhile(facts, waits.partner[mine], until - waits.time[mine], until)
            sums[region] = sums.get(region, 0) + ns
    return sums


def sleep_in_turn(
    facts: RunFacts, waits: Table, names: tuple[str, ...], locations: Sequence[int]
) -> SleepingCall | None:
    """The call in which locations sleep longest, in the call path with these names, while others wait for them; None:
    unknown. waits: of Trace.call_waits."""
    mine = waits.take(np.isin(waits["partner"], locations))
    ns = slept_meanwhile(facts, mine["partner"], mine["begin"], mine["begin"] + mine["time_ns"])
    inside = facts.asleep_in(facts.paths_named(names)) > 0
    return longest_sleep(facts.blocked, ns * inside, locations, [])[0]


def sleep_of_partners(facts: RunFacts, waits: Table, path: int) -> SleepingCall | None:
    """The call in which the partners sleep for most of the waits in one region. path: of the region, in waits.paths."""
    ns = waits.notes.get("meanwhile", {}).get(int(waits.paths["region"][path]))
    return None if ns is None else explains(facts, ns, int(waits["time_ns"].sum()))


def explains(facts: RunFacts, ns: Array, whole: int) -> SleepingCall | None:
    """The call with most of the sleep, if this explains most of the waits. ns: slept_meanwhile. whole: ns of waits."""
    rows = [*facts.rows]
    call, mean = longest_sleep(facts.blocked, ns, rows, [])
    return call if mean * len(rows) >= _MOST * max(1, whole) else None
