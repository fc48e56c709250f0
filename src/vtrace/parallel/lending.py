# SPDX-License-Identifier: BSD-3-Clause
"""Ranks with more than their share of the work lend items to other ranks, which return the results."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from vtrace.parallel.crew import Crew
from vtrace.parallel.ranks import Ranks, WorkItem

Result = TypeVar("Result")

_EVEN = 1.1
"""A rank with at most this multiple of the mean load keeps all its work, because sending an item has a cost, too."""


class _Offer(NamedTuple):
    """The items of an overloaded rank. weights: of the items, in bytes; near: only ranks of its host can read it."""

    rank: int
    weights: list[int]
    near: list[bool]


def lend(
    items: Sequence[WorkItem], weights: Sequence[int], near: Sequence[bool], pack: Callable[[WorkItem], WorkItem],
    *, crew: Crew, ranks: Ranks,
) -> list[WorkItem]:  # fmt: skip
    """Returns the items that this rank works on: its own without lent ones, then borrowed ones. All ranks call lend.

    weights: of the items, in bytes. near: True if only ranks of this host can work on the item; otherwise all ranks
    that see the directory can. pack: converts an item for sending.
    """
    if ranks.size == 1:
        return [*items]
    own = sum(weights)
    loads = [*ranks.gather({ranks.rank: own}).values()]
    most = ranks.first(lambda: _EVEN * sum(loads) / len(loads))
    offers = {}
    if own > most and len(items) > 1:
        offers[ranks.rank] = _Offer(ranks.rank, [*weights], [*near])
    gathered = ranks.gather(offers)
    takers = ranks.scatter(_takers([*gathered.values()], loads, crew) if ranks.root else [])
    if not takers:
        takers = [ranks.rank] * len(items)
    lent: list[list[WorkItem]] = [[] for _ in range(ranks.size)]
    for item, taker in zip(items, takers, strict=True):
        lent[taker].append(item if taker == ranks.rank else pack(item))
    kept, lent[ranks.rank] = lent[ranks.rank], []
    borrowed = ranks.exchange(lent)
    return [*kept, *chain.from_iterable(borrowed)]


def return_results(results: Sequence[tuple[int, int, Result]], ranks: Ranks) -> dict[int, Result]:
    """Sends each (rank, key, result) to the rank; returns this rank's results by key. All ranks call this
    function."""
    by_rank: list[dict[int, Result]] = [{} for _ in range(ranks.size)]
    for rank, key, result in results:
        by_rank[rank][key] = result
    found: dict[int, Result] = {}
    for part in ranks.exchange(by_rank) if ranks.size > 1 else by_rank:
        found |= part
    return found


def _takers(offers: Sequence[_Offer], loads: Sequence[int], crew: Crew) -> list[list[int]]:
    """Returns for each rank the ranks that work on its items; an empty list means the rank itself. The heaviest item is
    assigned first, to the rank with the smallest load."""
    found: list[list[int]] = [[] for _ in loads]
    load = [*loads]
    for offer in offers:
        load[offer.rank] = 0
        found[offer.rank] = [offer.rank] * len(offer.weights)
    queues: dict[object, list[tuple[int, int]]] = {}
    pool = sorted(
        ((weight, offer, place) for offer in offers for place, weight in enumerate(offer.weights)),
        key=lambda item: (-item[0], item[1].rank, item[2]),
    )
    for weight, offer, place in pool:
        view, host = crew.views[offer.rank], crew.hosts[offer.rank] if offer.near[place] else None
        queue = queues.setdefault((view, host), [])
        if not queue:
            queue += [(load[r], r) for r in range(len(load)) if _may_read(crew, r, view, host)]
            heapq.heapify(queue)
        while queue[0][0] != load[queue[0][1]]:  # another queue has given this rank more work
            heapq.heapreplace(queue, (load[queue[0][1]], queue[0][1]))
        taker = queue[0][1]
        load[taker] += weight
        heapq.heapreplace(queue, (load[taker], taker))
        found[offer.rank][place] = taker
    return found


def _may_read(crew: Crew, rank: int, view: int, host: str | None) -> bool:
    """Returns True if a rank sees the directory of a view and, unless host is None, runs on that host."""
    return crew.views[rank] == view and (host is None or crew.hosts[rank] == host)
