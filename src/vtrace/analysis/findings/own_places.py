# SPDX-License-Identifier: BSD-3-Clause
"""The functions in which each of some locations takes longer than all others, in a call path that names none."""

from __future__ import annotations

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.findings.sampled_places import SampledPlace
from vtrace.analysis.findings.sleeping_calls import SleepingCall

Place = SleepingCall | SampledPlace
_EXPLAINS = 0.4
"""The least share of a location's delays that its longer time in a function explains."""


def own_places(facts: RunFacts, names: tuple[str, ...], delays_ns: dict[int, float]) -> dict[int, Place]:
    """By location its function in the call path with these names; without locations whose delays no function explains.
    delays_ns: ns that all others wait for each location."""
    masters = facts.masters.values()
    found = (
        (row, _own_place(facts, names, row, [each for each in masters if each != row], delay_ns=ns))
        for row, ns in delays_ns.items()
    )
    return {row: place for row, place in found if place}


def by_place(places: dict[int, Place]) -> list[list[int]]:
    """The locations of each function, but for its line."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row, place in places.items():
        found.setdefault(place.names, []).append(row)
    return [*found.values()]


def _own_place(
    facts: RunFacts, names: tuple[str, ...], row: int, others: list[int], *, delay_ns: float
) -> Place | None:
    least = _EXPLAINS * delay_ns / max(1, len(others))
    for whole in (False, True):  # several functions may sleep by the same helpers, this rank less in some of them
        asleep, ns = facts.longest_sleep(facts.paths_named(names), [row], others, whole=whole)
        if asleep and ns >= least:
            return asleep
    sampled = facts.sampled.more(names, [row], others) if facts.sampled else None
    return sampled if sampled and sampled.ns >= least else None
