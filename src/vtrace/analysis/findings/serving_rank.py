# SPDX-License-Identifier: BSD-3-Clause
"""The rank that only gives work to the others, or takes their results: its waits for messages are no loss, since nobody
is late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vtrace.analysis.activity import CLASS_OF, MPI
from vtrace.analysis.table import add_up

if TYPE_CHECKING:
    from vtrace.analysis.findings.run_facts import RunFacts

_LEAST, _HARDLY, _EVEN = 3, 0.1, 0.8
"""The least ranks. One serves the others if it works for at most the second part of the least work of another rank, and
this one for at least the third part of the longest."""


def serving_rank(facts: RunFacts) -> int:
    """The location of the rank that hardly works while all others work nearly as long as each other; -1: none. Waits
    for a processor are no work."""
    n = facts.numbers.take((CLASS_OF[facts.activity] != MPI)[facts.numbers["path"]])
    works = add_up(n["location"], n["exclusive"], facts.trace.locations.rows) + facts.work(()) - facts.waited_at_work()
    ranks = sorted(facts.ranked, key=lambda row: int(works[row]))
    if len(ranks) < _LEAST or works[ranks[0]] > _HARDLY * works[ranks[1]]:
        return -1
    return ranks[0] if works[ranks[1]] >= _EVEN * works[ranks[-1]] else -1
