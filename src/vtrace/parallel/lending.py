# SPDX-License-Identifier: BSD-3-Clause
"""Which rank of vtunify-mpi writes which locations: where one has more than its share others take some.

A process is read by one rank, which knows its definitions; its locations are written one by one, anywhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from vtrace.parallel.ranks import Ranks
from vtrace.unify.discover.share import A_FILE, Crew
from vtrace.unify.model.process import Process

_EVEN = 1.1
"""A rank with so many times the mean keeps what it has: to hand on definitions costs something, too."""


class WriteTask(NamedTuple):
    """One location to write: its OTF2 id, its process, its number there; bytes: what is stored of it."""

    id: int
    process: Process
    number: int
    bytes: int

    @property
    def weight(self) -> int:
        """What it counts when work is shared."""
        return self.bytes + A_FILE


class _Offer(NamedTuple):
    """What a rank has too much of. near: only a rank of its host can read it, since some of it lies in a buffer."""

    rank: int
    weights: list[int]
    near: list[bool]


def lend(tasks: Sequence[WriteTask], crew: Crew, ranks: Ranks) -> list[WriteTask]:
    """The tasks of this rank: its own, less those that others do, and theirs that it does."""
    if ranks.size == 1:
        return [*tasks]
    own = sum(task.weight for task in tasks)
    loads = [*ranks.gather({ranks.rank: own}).values()]
    most = ranks.first(lambda: _EVEN * sum(loads) / len(loads))
    offers = {}
    if own > most and len(tasks) > 1:
        near = [task.process.buffer is not None for task in tasks]
        offers[ranks.rank] = _Offer(ranks.rank, [task.weight for task in tasks], near)
    gathered = ranks.gather(offers)
    takers = ranks.scatter(_takers([*gathered.values()], loads, crew) if ranks.root else [])
    if not takers:
        takers = [ranks.rank] * len(tasks)
    lent: list[list[WriteTask]] = [[] for _ in range(ranks.size)]
    slim: dict[int, Process] = {}
    for task, taker in zip(tasks, takers, strict=True):
        if taker != ranks.rank:
            process = task.process
            if process.number not in slim:
                slim[process.number] = process.to_hand_on(ranks.rank)
            task = task._replace(process=slim[process.number])
        lent[taker].append(task)
    kept, lent[ranks.rank] = lent[ranks.rank], []
    borrowed = ranks.exchange(lent)
    return [*kept, *chain.from_iterable(borrowed)]


def _takers(offers: Sequence[_Offer], loads: Sequence[int], crew: Crew) -> list[list[int]]:
    """For each rank who does its tasks; nothing: it does all. The heaviest first, to whom has the least."""
    found: list[list[int]] = [[] for _ in loads]
    load = [*loads]
    for offer in offers:
        load[offer.rank] = 0
        found[offer.rank] = [offer.rank] * len(offer.weights)
    queues: dict[object, list[tuple[int, int]]] = {}
    pool = sorted(
        ((weight, offer, place) for offer in offers for place, weight in enumerate(offer.weights)),
        key=lambda one: (-one[0], one[1].rank, one[2]),
    )
    for weight, offer, place in pool:
        view, host = crew.views[offer.rank], crew.hosts[offer.rank] if offer.near[place] else None
        queue = queues.setdefault((view, host), [])
        if not queue:
            queue += [(load[r], r) for r in range(len(load)) if _may(crew, r, view, host)]
            heapq.heapify(queue)
        while queue[0][0] != load[queue[0][1]]:  # it has got more by another queue
            heapq.heapreplace(queue, (load[queue[0][1]], queue[0][1]))
        taker = queue[0][1]
        load[taker] += weight
        heapq.heapreplace(queue, (load[taker], taker))
        found[offer.rank][place] = taker
    return found


def _may(crew: Crew, rank: int, view: object, host: object) -> bool:
    return crew.views[rank] == view and (host is None or crew.hosts[rank] == host)
