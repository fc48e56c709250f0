# SPDX-License-Identifier: BSD-3-Clause
"""The replay of ends against a plain second one, which is told in which order things have happened and who belongs to
whom: by how much each clock is put forward, to the ns, and what is counted."""

from __future__ import annotations

import os
import random
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from vtrace.io.kernel import UNMAPPED, Kernel
from vtrace.io.repair import PIECE, Parts, Repaired, replay

NONE, SEND, RECEIVE, POST, DONE, BEGIN, END = range(7)  # enum vt_end_kind
NO_FLOW, ALL, FROM_ROOT, TO_ROOT, PREFIX = range(5)  # enum vt_end_flow
GIVES, TAKES, ASIDE = 8, 16, 32
CLOCKS = (0, 0, 1, 2)
"""Of each process."""
COMMS = ((0, 1, 2, 3), (3, 1, 2), (2, 0))
Ends = dict[int, list[tuple[int, ...]]]


def replayed(ends: Ends, *, doubtful: tuple[int, ...] = (), limit: int = 0, piece: int = 7) -> Repaired:
    """ends: by process (ns, request, communicator, peer, tag, what), in pieces of so many."""
    members = np.concatenate([np.array(comm, np.uint32) for comm in COMMS])
    first = np.cumsum([0, *map(len, COMMS)]).astype(np.uint32)
    sure = np.array([process in doubtful for process in range(4)], np.uint8)
    parts = Parts(
        np.array(CLOCKS, np.uint32), sure, first, members, np.ones(len(COMMS), np.uint8), 3, len(COMMS), limit,
        np.arange(4, dtype=np.uint32),
    )  # fmt: skip
    file = os.memfd_create("ends")
    pieces, offset = [], 0
    for process, mine in sorted(ends.items()):
        for at in range(0, len(mine), piece):
            part = mine[at : at + piece]
            offset += os.pwrite(file, b"".join(struct.pack("<QQ4I", *end) for end in part), offset)
            pieces.append((offset - 32 * len(part), process, 0, len(part), file))
    try:
        return replay(Kernel(), parts, np.array(pieces, PIECE))
    finally:
        os.close(file)


@dataclass
class Second:
    """Does what a clock does one event after the other."""

    doubtful: tuple[int, ...]
    limit: int
    begin: list[int] = field(default_factory=lambda: [0] * 3)
    put: list[int] = field(default_factory=lambda: [0] * 3)
    knots: list[dict[int, int]] = field(default_factory=lambda: [{}, {}, {}])
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def shown(self, process: int, ns: int) -> int:
        clock = CLOCKS[process]
        return ns + max(0, self.put[clock] - (ns - self.begin[clock]) // 1024)

    def arrive(self, process: int, ns: int, sent: int, base: int, doubtful: bool, what: str) -> None:
        clock, now = CLOCKS[process], self.shown(process, ns)
        if base > ns:
            self.counts["reversed_" + what] += 1
            self.counts["most"] = max(self.counts["most"], base - ns)
        if now >= sent:
            return
        if doubtful and sent - now > self.limit:
            self.counts["ignored"] += 1
            self.counts["left"] += 1
            return
        self.begin[clock], self.put[clock] = ns, sent + 1 - ns
        self.knots[clock][ns] = self.put[clock]
        self.counts["largest"] = max(self.counts["largest"], self.put[clock])


class Program:
    """Processes that send, receive and meet at random; their clocks are wrong and swing."""

    def __init__(self, seed: int, steps: int, tags: int, doubtful: tuple[int, ...], limit: int) -> None:
        self.random, self.now, self.number, self.tags = random.Random(seed), 1000, 0, tags
        self.wrong = [0, self.random.randrange(-300, 300), self.random.randrange(-300, 300)]
        self.ends: Ends = {process: [] for process in range(4)}
        self.second, self.later = Second(doubtful, limit), list[Callable[[], None]]()
        self.last = [0] * 3
        for step in range(steps):
            if self.random.random() < 0.7:
                self.message(step)
            else:
                self.collective()
            while self.later and self.random.random() < 0.4:
                self.later.pop(self.random.randrange(len(self.later)))()
        for event in self.later:
            event()

    def tick(self, process: int) -> int:
        """Time goes on; what the clock of a process shows then, which never shows the same twice."""
        self.now += self.random.randrange(1, 60)
        clock = CLOCKS[process]
        wave = clock * 40 * np.sin(self.now / 3000 + clock)
        self.last[clock] = max(self.last[clock] + 1, self.now + self.wrong[clock] + 1000 + int(wave))
        return self.last[clock]

    def put(self, process: int, ns: int, request: int, comm: int, peer: int, tag: int, what: int) -> None:
        self.ends[process].append((ns, request, comm, peer, tag, what))

    def message(self, step: int) -> None:
        choose, second = self.random, self.second
        sender, receiver = choose.choice([(a, b) for a in range(4) for b in range(4) if CLOCKS[a] != CLOCKS[b]])
        comm, tag, size = choose.randrange(2), step % self.tags, choose.randrange(100)
        way, self.number = choose.randrange(3), self.number + 1
        request, told = self.number, (0, 0)

        def post() -> None:
            self.put(receiver, self.tick(receiver), request, comm, sender, tag, POST | size << 4)

        def send() -> tuple[int, int]:
            ns = self.tick(sender)
            self.put(sender, ns, 0, comm, receiver, tag, SEND | size << 4)
            return second.shown(sender, ns), ns

        def receive() -> None:
            ns = self.tick(receiver)
            kind = DONE if way else RECEIVE
            self.put(receiver, ns, request if way else 0, comm, sender, tag, kind | (size // 2) << 4)
            second.counts["messages"] += 1
            unsure = sender in second.doubtful or receiver in second.doubtful
            second.arrive(receiver, ns, *told, unsure, "messages")

        if way == 1:
            post()
        told = send()
        if way == 2:
            post()
        if way:
            self.later.append(receive)
        else:
            receive()

    def collective(self) -> None:
        choose, second = self.random, self.second
        comm, flow, aside = choose.randrange(len(COMMS)), choose.randrange(5), choose.random() < 0.5
        root, begun = choose.choice(COMMS[comm]), {}
        self.number += 1
        request = self.number
        flags = {p: choose.choice([GIVES, TAKES, GIVES | TAKES]) | aside * ASIDE | flow | 9 << 8 for p in COMMS[comm]}
        peer = dict.fromkeys(COMMS[comm], root if flow in (FROM_ROOT, TO_ROOT) else UNMAPPED)
        if flow == PREFIX:
            peer = {process: rank for rank, process in enumerate(COMMS[comm])}
        places = {}
        for process in choose.sample(COMMS[comm], len(COMMS[comm])):
            ns = self.tick(process)
            begun[process] = (second.shown(process, ns), ns)
            places[process] = len(self.ends[process])
            self.put(process, ns, aside * request, comm, peer[process], flags[process], BEGIN)

        def end(process: int) -> None:
            ns, givers = self.tick(process), [p for p in COMMS[comm] if flags[p] & GIVES]
            at = places[process]
            if not aside and process % 2:  # begin and end in one
                old = self.ends[process][at]
                self.ends[process][at] = (old[0], ns, *old[2:])
            else:
                self.put(process, ns, aside * request, comm, peer[process], flags[process], END)
            second.counts["collectives"] += 1
            if flow == FROM_ROOT:
                givers = [root] if process != root else []
            elif flow == PREFIX:
                givers = list(COMMS[comm][: COMMS[comm].index(process) + 1])
            if flags[process] & TAKES and flow != NO_FLOW and givers:
                sent, base = (max(begun[p][i] for p in givers) for i in range(2))
                unsure = any(p in second.doubtful for p in COMMS[comm])
                second.arrive(process, ns, sent, base, unsure, "collectives")

        for process in choose.sample(COMMS[comm], len(COMMS[comm])):
            if aside:
                self.later.append(lambda process=process: end(process))  # type: ignore[misc]
            else:
                end(process)


def compare(found: Repaired, second: Second) -> None:
    expected = [(sorted(knots), [knots[ns] for ns in sorted(knots)]) for knots in second.knots]
    assert [(ns.tolist(), shifts.tolist()) for ns, shifts in found.knots] == expected
    for name in ("messages", "reversed_messages", "collectives", "reversed_collectives", "most", "largest", "ignored"):
        assert getattr(found, name) == second.counts[name], name
    assert found.left == second.counts["left"]


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    program = Program(seed, 40, 2, (), 0)
    found = replayed(program.ends)
    compare(found, program.second)
    assert found.largest


@pytest.mark.parametrize("doubtful", [(0,), (2,), (1, 3)])
def test_doubtful_processes(doubtful: tuple[int, ...]) -> None:
    """What they tell moves a clock by the limit at most."""
    left = []
    for limit in (0, 10, 40, 1000):
        program = Program(7, 60, 2, doubtful, limit)
        found = replayed(program.ends, doubtful=doubtful, limit=limit)
        compare(found, program.second)
        left.append(found.left)
    assert left[0] > left[3] == 0


def test_a_long_program() -> None:
    """More ends than are in memory at a time, more tags than there are queues, which never come again."""
    program = Program(3, 7000, 7000, (), 0)
    compare(replayed(program.ends, piece=1500), program.second)


def moved(found: Repaired) -> list[list[tuple[int, int]]]:
    return [list(zip(ns.tolist(), shifts.tolist(), strict=True)) for ns, shifts in found.knots]


def begin(ns: int, *, comm: int = 2, op: int = 0, flow: int = ALL, peer: int = UNMAPPED) -> tuple[int, ...]:
    return ns, 0, comm, peer, flow | GIVES | TAKES | op << 8, BEGIN


def end(ns: int, *, comm: int = 2, op: int = 0, flow: int = ALL, peer: int = UNMAPPED) -> tuple[int, ...]:
    return ns, 0, comm, peer, flow | GIVES | TAKES | op << 8, END


def test_of_one_moment_what_is_put_forward_comes_first() -> None:
    """Processes 0 and 1 share a clock: what one sends as the other one receives was sent after that."""
    for kind in (SEND, BEGIN):
        ends: Ends = {
            0: [(100, 0, 0, 2, 5, SEND)] if kind == SEND else [begin(100)],
            1: [(100, 0, 0, 3, 5, RECEIVE)],
            2: [(300, 0, 0, 0, 5, RECEIVE)] if kind == SEND else [begin(250), end(300)],
            3: [(500, 0, 0, 1, 5, SEND)],
        }
        if kind == BEGIN:
            ends[0].append(end(900))
        assert moved(replayed(ends)) == [[(100, 401)], [(300, 202)], []]


def test_a_message_that_nobody_sent() -> None:
    """Processes 2 and 3 wait for each other: the first one goes on. What is sent later is not taken for it."""
    ends: Ends = {
        2: [(100, 0, 0, 3, 5, RECEIVE), (200, 0, 0, 3, 6, SEND), (900, 0, 0, 3, 5, RECEIVE)],
        3: [(300, 0, 0, 2, 6, RECEIVE), (400, 0, 0, 2, 5, SEND), (950, 0, 0, 2, 5, SEND)],
    }
    found = replayed(ends)
    assert moved(found) == [[], [(900, 51)], []]
    assert (found.messages, found.ignored, found.reversed_messages, found.left) == (3, 1, 1, 0)


def test_a_message_that_is_longer_than_what_was_sent() -> None:
    """It is another one's, which moves nothing."""
    for size, shifts in ((8, [(100, 401)]), (9, [])):
        found = replayed({2: [(500, 0, 0, 3, 5, SEND | 8 << 4)], 3: [(100, 0, 0, 2, 5, RECEIVE | size << 4)]})
        assert (moved(found)[2], found.ignored) == (shifts, not shifts)


def test_collectives_that_are_not_the_same() -> None:
    """Other operations, or one that a process lacks: neither they nor later ones of the communicator move anything."""
    found = replayed({0: [begin(900), end(950)], 2: [begin(100, op=1), end(200, op=1)]})
    assert (moved(found), found.collectives, found.ignored) == ([[], [], []], 2, 2)
    late = [begin(500), end(550), begin(1900), end(1950)]
    found = replayed({0: [], 2: late})
    assert (moved(found), found.collectives, found.ignored) == ([[], [], []], 2, 2)
    # Process 0 lacks the first one, so that its second one is taken for it.
    ends = {0: [begin(3000), end(3100), (3200, 0, 0, 2, 1, SEND)], 2: [*late, (2000, 0, 0, 0, 1, RECEIVE)]}
    found = replayed(ends)
    assert found.ignored


def test_several_wait_for_one() -> None:
    """Both go on when it comes."""
    ends: Ends = {0: [begin(900, comm=0), end(950, comm=0)]}
    for process in (1, 2, 3):
        ends[process] = [begin(100 + process, comm=0), end(200 + process, comm=0)]
    ends[1] = [begin(910, comm=0), end(960, comm=0)]
    # The last begin is at 910, on the clock that two share.
    assert moved(replayed(ends)) == [[], [(202, 709)], [(203, 708)]]


def test_nobody_waits_for_more_than_it_must() -> None:
    """The last one begins after a message of one that has ended: Bcast needs its root only, Scan the lower ranks."""
    for flow, early, late in ((FROM_ROOT, 2, 1), (PREFIX, 1, 2)):
        peers = dict.fromkeys(COMMS[1], 3) if flow == FROM_ROOT else {3: 0, 1: 1, 2: 2}
        one = {p: {"comm": 1, "flow": flow, "peer": peers[p]} for p in COMMS[1]}
        ends: Ends = {
            3: [begin(900, **one[3]), end(950, **one[3])],
            early: [begin(100, **one[early]), end(200, **one[early]), (300, 0, 0, late, 5, SEND)],
            late: [(400, 0, 0, early, 5, RECEIVE), begin(500, **one[late]), end(600, **one[late])],
        }
        found = replayed(ends)
        assert (found.ignored, found.collectives, found.messages) == (0, 3, 1)
        expected = {early: [(200, 701)], late: [(400, 602)], 3: []}
        assert moved(found) == [expected[process] for process in (1, 2, 3)]


def test_put_forward_twice_at_one_moment() -> None:
    """By two processes of one clock: there is one knot."""
    ends: Ends = {
        0: [(100, 0, 0, 2, 5, RECEIVE)],
        1: [(100, 0, 0, 3, 5, RECEIVE)],
        2: [(300, 0, 0, 0, 5, SEND)],
        3: [(500, 0, 0, 1, 5, SEND)],
    }
    assert moved(replayed(ends)) == [[(100, 401)], [], []]


def test_behind_a_collective_that_one_lacks() -> None:
    """Process 2 lacks the first one, so that nobody knows which of the others belong together."""
    ends: Ends = {
        0: [begin(500), end(550), (600, 0, 0, 2, 5, SEND), begin(1900), end(1950), begin(3900), end(3950)],
        2: [(2000, 0, 0, 0, 5, RECEIVE), begin(3000), end(3100), begin(4000), end(4100)],
    }
    found = replayed(ends)
    assert moved(found) == [[], [], []]
    assert (found.messages, found.collectives, found.ignored) == (1, 5, 5)
