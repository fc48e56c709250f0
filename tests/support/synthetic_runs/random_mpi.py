# SPDX-License-Identifier: BSD-3-Clause
"""Archives of random MPI programs that cannot deadlock, with random times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _otf2

from support.synthetic_runs.archives import UNDEFINED, Foreign

MPI_PARADIGM = 4
_REGIONS = (
    "main work MPI_Send MPI_Isend MPI_Recv MPI_Irecv MPI_Waitall MPI_Sendrecv MPI_Barrier MPI_Coll MPI_Icoll "
    "pthread_join MPI_File_close other MPI_Neighbor_alltoall MPI_Mprobe MPI_Win_unlock_all MPI_Probe "
    "step MPI_Test MPI_Iprobe".split()
)
_OPS = (0, 1, 2, 4, 6, 8, 11, 12, 13, 14, 15)
"""Numbers of OTF2's collective operations."""
_LATER = 100
"""All calls of a step have started at most this many ns after its ranks were ready."""


def region(name: str) -> int:
    """The number of a region in the archives."""
    return _REGIONS.index(name)


class Rank:
    """The events of a rank so far.

    pending: (kind, values) of the completions of open requests. ready: with causal times, when these may complete.
    """

    def __init__(self, rank: int, rng: random.Random, start: int) -> None:
        self.ready = 0
        self.events: list[tuple[Any, ...]] = [(start, "Enter", 0)]
        self.rank, self.rng, self.now, self.request = rank, rng, start, 0
        self.pending: list[tuple[Any, ...]] = []

    def _pass(self, most: int) -> int:
        self.now += self.rng.randint(0, most)
        return self.now

    def call(self, name: str, *events: tuple[Any, ...], ready: int = 0) -> int:
        """Some work, maybe in a function, then a call of MPI with events, which ends after ready. Returns its start."""
        inside = self.rng.random() < 0.4
        if inside:
            self.events.append((self._pass(20), "Enter", 1))
        begin = self._pass(50)
        self.events.append((begin, "Enter", _REGIONS.index(name)))
        self.now = max(self.now, ready)
        self.events += [(self._pass(5), *event) for event in events]
        self.events.append((self._pass(30), "Leave", _REGIONS.index(name)))
        if inside:
            self.events.append((self._pass(20), "Leave", 1))
        return begin

    def wait(self) -> None:
        """Completes all open requests in a random order."""
        self.rng.shuffle(self.pending)
        if self.pending:
            self.call("MPI_Waitall", *self.pending, ready=self.ready)
        self.pending, self.ready = [], 0

    def next_request(self) -> int:
        self.request += 1
        return self.request


def program(
    seed: int, ranks: int = 4, steps: int = 60, causal: bool = False, *, settled: bool = False
) -> dict[int, list[tuple[Any, ...]]]:
    """The events of each rank. A step is a message between two ranks, or a collective of all ranks or of the even
    ranks.

    causal: no call ends before the start of the calls that it depends on. settled: no request is open at a collective.
    """
    rng = random.Random(seed)
    all_ranks = [Rank(rank, rng, rng.randint(0, 100)) for rank in range(ranks)]
    for _ in range(steps):
        if rng.random() < 0.25:
            for rank in all_ranks if settled else ():
                rank.wait()
            _collective(rng, all_ranks, causal)
        else:
            _message(rng, *rng.sample(all_ranks, 2), causal)
        if rng.random() < 0.3:
            rng.choice(all_ranks).wait()
    for rank in all_ranks:
        rank.wait()
        rank.events.append((rank._pass(50), "Leave", 0))
    return {rank.rank: rank.events for rank in all_ranks}


def _message(rng: random.Random, sender: Rank, receiver: Rank, causal: bool) -> None:
    tag, way = rng.randint(0, 2), rng.random()
    if way < 0.15:  # both at once
        ready = causal * (max(sender.now, receiver.now) + _LATER)
        for one, other, out, back in ((sender, receiver, tag, tag + 5), (receiver, sender, tag + 5, tag)):
            events = ("MpiSend", other.rank, 0, out, 8), ("MpiRecv", other.rank, 0, back, 8)
            one.call("MPI_Sendrecv", *events, ready=ready)
        return
    if way < 0.5:
        sent = sender.call("MPI_Send", ("MpiSend", receiver.rank, 0, tag, 8))
    else:
        number = sender.next_request()
        sent = sender.call("MPI_Isend", ("MpiIsend", receiver.rank, 0, tag, 8, number))
        sender.pending.append(("MpiIsendComplete", number))
    if rng.random() < 0.5:
        receiver.call("MPI_Recv", ("MpiRecv", sender.rank, 0, tag, 8), ready=causal * sent)
    else:
        number = receiver.next_request()
        receiver.call("MPI_Irecv", ("MpiIrecvRequest", number))
        receiver.ready = max(receiver.ready, causal * sent)
        receiver.pending.append(("MpiIrecv", sender.rank, 0, tag, 8, number))


def many_comms(evens: int, steps: int) -> dict[int, list[tuple[Any, ...]]]:
    """The events of 3 ranks. In each step: a barrier of all, one on each communicator of the even ranks, and a message
    from rank 1 that rank 0 waits for."""
    rng = random.Random(1)
    everyone = [Rank(rank, rng, rng.randint(0, 100)) for rank in range(3)]
    for _ in range(steps):
        for comm in range(1 + evens):
            _barrier(everyone if comm == 0 else everyone[::2], comm)
        everyone[1].now = everyone[0].now
        sent = everyone[1].call("MPI_Send", ("MpiSend", 0, 0, 0, 8))
        everyone[0].call("MPI_Recv", ("MpiRecv", 1, 0, 0, 8), ready=sent)
    for rank in everyone:
        rank.events.append((rank._pass(50), "Leave", 0))
    return {rank.rank: rank.events for rank in everyone}


def _barrier(ranks: Sequence[Rank], comm: int) -> None:
    ready = max(rank.now for rank in ranks) + _LATER
    for rank in ranks:
        rank.call("MPI_Barrier", ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, comm, UNDEFINED, 0, 0), ready=ready)


def _collective(rng: random.Random, ranks: list[Rank], causal: bool) -> None:
    comm = rng.randint(0, 1)
    members = ranks if comm == 0 else ranks[::2]
    op = rng.choice(_OPS)
    root = rng.randrange(len(members)) if op in (1, 2, 4, 12) else UNDEFINED
    aside = rng.random() < 0.3
    ready = causal * (max(rank.now for rank in members) + _LATER)
    for rank in members:
        if aside:
            number = rank.next_request()
            rank.call("MPI_Icoll", ("NonBlockingCollectiveRequest", number))
            rank.ready = max(rank.ready, ready)
            rank.pending.append(("NonBlockingCollectiveComplete", op, comm, root, 1, 1, number))
        else:
            rank.call("MPI_Coll", ("MpiCollectiveBegin",), ("MpiCollectiveEnd", op, comm, root, 1, 1), ready=ready)


def archive(
    where: Path, events: dict[int, list[tuple[Any, ...]]], length: int = 0, counters: Sequence[str] = (),
    work_role: int = 1, *, evens: int = 1,
) -> Path:  # fmt: skip
    """Writes an archive of the events of ranks: communicator 0 of all, 1 to evens of the even ones; counters: the
    members of metric class 0, whole numbers from the start on; work_role: OTF2's role of region work. Returns its
    anchor."""
    made = Foreign(where)
    for rank, each in events.items():
        made.events(rank, each)
    made.begin_definitions()
    made.machine(groups=len(events), length=length or max(each[-1][0] for each in events.values()))
    for rank in events:
        made.location(rank, rank)
    for number, name in enumerate(_REGIONS):
        paradigm = _otf2.PARADIGM_PTHREAD.value if name.startswith("pthread_") else _otf2.PARADIGM_USER.value
        role = work_role if name == "work" else 1
        made.region(number, name, role, MPI_PARADIGM if name.startswith("MPI_") else paradigm)
    everyone = list(events)
    made.define("Group", 0, "", 4, MPI_PARADIGM, 0, everyone)
    made.define("Group", 1, "", 5, MPI_PARADIGM, 0, everyone)
    made.define("Group", 2, "", 5, MPI_PARADIGM, 0, everyone[::2])
    made.define("Comm", 0, "MPI_COMM_WORLD", 1, UNDEFINED, 0)
    for number in range(1, 1 + evens):
        made.define("Comm", number, "even", 2, 0, 0)
    for number, name in enumerate(counters):
        made.define("MetricMember", number, name, "", 0, 0, _otf2.TYPE_UINT64.value, 0, 0, "#")
    if counters:
        made.define("MetricClass", 0, [*range(len(counters))], 0, 0)
    return made.close()
