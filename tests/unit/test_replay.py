# SPDX-License-Identifier: BSD-3-Clause
"""The replay of ends, compared with a simple second implementation that knows the true order and the matches: both
must put each clock forward by the same ns, and count the same."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from support.synthetic_runs.replaying import (
    ASIDE,
    BEGIN,
    CLOCKS,
    COMMS,
    DONE,
    END,
    FROM_ROOT,
    GIVES,
    NO_FLOW,
    POST,
    PREFIX,
    RECEIVE,
    SEND,
    TAKES,
    TO_ROOT,
    Ends,
    replayed,
)
from vtrace.io.local.kernel import UNMAPPED
from vtrace.io.local.repair_kernel import Repaired


@dataclass
class Second:
    """The simple implementation: it corrects the clocks event by event."""

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
    """Processes with random messages and collectives, on wrong clocks that swing."""

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
        """Advances the time and returns the clock of a process, which never shows the same time twice."""
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
            self.put(
                receiver, self.tick(receiver), request=request, comm=comm, peer=sender, tag=tag, what=POST | size << 4
            )

        def send() -> tuple[int, int]:
            ns = self.tick(sender)
            self.put(sender, ns, request=0, comm=comm, peer=receiver, tag=tag, what=SEND | size << 4)
            return second.shown(sender, ns), ns

        def receive() -> None:
            ns = self.tick(receiver)
            kind = DONE if way else RECEIVE
            self.put(
                receiver,
                ns,
                request=request if way else 0,
                comm=comm,
                peer=sender,
                tag=tag,
                what=kind | (size // 2) << 4,
            )
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
            self.put(
                process, ns, request=aside * request, comm=comm, peer=peer[process], tag=flags[process], what=BEGIN
            )

        def end(process: int) -> None:
            ns, givers = self.tick(process), [p for p in COMMS[comm] if flags[p] & GIVES]
            at = places[process]
            if not aside and process % 2:  # begin and end in one
                old = self.ends[process][at]
                self.ends[process][at] = (old[0], ns, *old[2:])
            else:
                self.put(
                    process, ns, request=aside * request, comm=comm, peer=peer[process], tag=flags[process], what=END
                )
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
    """Ends of doubtful processes put a clock forward by the limit at most."""
    left = []
    for limit in (0, 10, 40, 1000):
        program = Program(7, 60, 2, doubtful, limit)
        found = replayed(program.ends, doubtful=doubtful, limit=limit)
        compare(found, program.second)
        left.append(found.left)
    assert left[0] > left[3] == 0


def test_a_long_program() -> None:
    """More ends than memory holds at a time, and more tags than queues, each used once."""
    program = Program(3, 7000, 7000, (), 0)
    compare(replayed(program.ends, piece=1500), program.second)
