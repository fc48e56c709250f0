# SPDX-License-Identifier: BSD-3-Clause
"""The program that synthetic.py simulates: a ring of ranks on hosts with wrong clocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vtrace.io.local.records import FUNCTION, FUNCTION_LEAVE, what

Times = npt.NDArray[np.int64]

SECOND = 1_000_000_000
START = 10 * SECOND
"""True time of the first event."""
EPOCH = 1_700_000_000 * SECOND
SLOT = 4096
"""Address of the first function."""
FUNCTIONS = 16
BARRIER, BCAST, ALLREDUCE, REDUCE = 0, 1, 11, 12  # OTF2_CollectiveOp
REGIONS = ("MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier",
           "MPI_Bcast", "MPI_Reduce", "MPI_Finalize")  # fmt: skip
OPERATIONS = ((ALLREDUCE, "MPI_Allreduce", 8, 8), (BARRIER, "MPI_Barrier", 0, 0), (BCAST, "MPI_Bcast", 64, 64),
              (REDUCE, "MPI_Reduce", 8, 8))  # fmt: skip
"""Collectives in turn: operation, region, bytes sent and bytes received, for ranks that send or receive."""
NO_ROOT = 0xFFFFFFFF
BYTES = 4096


@dataclass(frozen=True)
class Clocks:
    """Errors of the clocks of the hosts, and of their measurement. Host 0 has no error."""

    offset: float = 0.0
    """Largest offset in seconds, in both directions."""
    drift: float = 0.0
    """Largest drift in parts per million, in both directions."""
    wave: int = 0
    """Nanoseconds by which the clock deviates from a straight line."""
    period: float = 1.0
    """Period of that deviation in seconds."""
    error: int = 0
    """Largest error of a measured offset in nanoseconds."""
    measured: int = 2
    """Number of measurements of the offset, evenly over the run, with both ends; 0: none."""


@dataclass(frozen=True)
class Program:
    """The simulated program. calls: function calls of a rank in a step; threads: for each rank, with the main
    thread."""

    ranks: int = 4
    threads: int = 1
    steps: int = 100
    calls: int = 40
    ranks_per_host: int = 2
    compute: int = 20_000
    """Nanoseconds of a step without communication."""
    latency: int = 2_000
    """Shortest nanoseconds of a message."""
    jitter: int = 500
    """Mean of the random addition to that time."""
    tags: int = 1
    """For messages: number of steps between two messages."""
    clocks: Clocks = field(default_factory=Clocks)
    seed: int = 1

    @property
    def hosts(self) -> int:
        return -(-self.ranks // self.ranks_per_host)

    def words_of_step(self) -> int:
        return 2 * self.calls + 35

    def events_of_step(self) -> int:
        """For a rank: events of its main thread, then of each other thread."""
        return 2 * self.calls + 20 + (self.threads - 1) * 2 * self.calls


class HostClocks:
    """Converts true time to the time that the clocks of the hosts show, in ns."""

    def __init__(self, program: Program) -> None:
        random = np.random.default_rng(program.seed)
        c, n = program.clocks, program.hosts
        self.offset = random.uniform(-c.offset, c.offset, n) * SECOND
        self.drift = random.uniform(-c.drift, c.drift, n) * 1e-6
        self.phase = random.uniform(0, 2 * np.pi, n)
        self.wave, self.period = np.full(n, float(c.wave)), c.period * SECOND
        self.offset[0] = self.drift[0] = self.wave[0] = 0

    def at(self, host: int, true: Times) -> Times:
        """The time that the clock of a host shows at true times."""
        wrong = self.offset[host] + (true - START) * self.drift[host]
        if self.wave[host]:
            wrong = wrong + self.wave[host] * np.sin(2 * np.pi * true / self.period + self.phase[host])
        return true + np.rint(wrong).astype(np.int64)


class Simulation:
    """The true times of the events of a step for all ranks, step by step."""

    def __init__(self, program: Program) -> None:
        self.program, self.random = program, np.random.default_rng(program.seed + 1)
        self.now = np.full(program.ranks, START + 50_000, np.int64)
        self.step = 0

    def _latency(self) -> Times:
        p = self.program
        return p.latency + self.random.exponential(p.jitter, p.ranks).astype(np.int64)

    def run(self, steps: int) -> dict[str, Times]:
        """Times of a number of further steps; arrays (steps, ranks)."""
        names = ("begin", "ready", "waited", "received", "collect", "end")
        found = {name: np.empty((steps, self.program.ranks), np.int64) for name in names}
        for i in range(steps):
            for name, values in zip(names, self._step(), strict=True):
                found[name][i] = values
        return found

    def _step(self) -> tuple[Times, ...]:
        p = self.program
        begin = self.now
        ready = begin + (p.compute * self.random.uniform(0.9, 1.1, p.ranks)).astype(np.int64) + 4 * p.calls
        waited = np.maximum(ready + 800, np.roll(ready + 400, 1) + self._latency())
        received = np.maximum(waited + 600, np.roll(waited + 200, 1) + self._latency())
        collect = received + 200
        operation = OPERATIONS[self.step % len(OPERATIONS)][0]
        end = collect + 300
        if operation in (BARRIER, ALLREDUCE):
            end = np.maximum(end, collect.max() + self._latency())
        elif operation == BCAST:
            end = np.maximum(end, collect[0] + self._latency())
        else:
            end[0] = max(int(end[0]), int(collect.max()) + int(self._latency()[0]))
        self.step += 1
        self.now = end + 300
        return begin, ready, waited, received, collect, end


def main_step(program: Program, rank: int, first: int, turns: dict[str, Times]) -> tuple[Any, Any, Times]:
    """Words of the main thread in steps from number first on. Returns an array (steps, words) with the lower halves of
    heads and whole payloads; a mask of the heads among the words; the true times of the heads."""
    steps, p = len(turns["begin"]), program
    words, heads, times = [], [], []
    begin, ready, waited, received, collect, end = (turns[n][:, rank] for n in turns)
    number = np.arange(first, first + steps, dtype=np.int64)
    tags = number % p.tags * 2 << 32
    left, right = (rank - 1) % p.ranks, (rank + 1) % p.ranks

    def put(kind: str, when: Times, identifier: Any = 0, *payload: Any) -> None:
        words.append(what(kind) + identifier)
        heads.append(True)
        times.append(when)
        words.extend(payload)
        heads.extend([False] * len(payload))

    def call(offset: int, leave: bool, when: Times) -> None:
        words.append(FUNCTION | SLOT + 16 * offset | (FUNCTION_LEAVE if leave else 0))
        heads.append(True)
        times.append(when)

    region = {name: i + 1 for i, name in enumerate(REGIONS)}
    calls(p, rank, begin, ready, call)
    put("ENTER", ready + 100, region["MPI_Irecv"])
    put("IRECV_REQUEST", ready + 200, 0, 2 * number + 1)
    put("LEAVE", ready + 300, region["MPI_Irecv"])
    put("ENTER", ready + 400, region["MPI_Isend"])
    put("ISEND", ready + 400, 1, (right | 7 << 32) + tags, BYTES, 2 * number + 2)
    put("LEAVE", ready + 600, region["MPI_Isend"])
    put("ENTER", ready + 700, region["MPI_Waitall"])
    put("ISEND_COMPLETE", waited, 0, 2 * number + 2)
    put("IRECV", waited, 1, (left | 7 << 32) + tags, BYTES, 2 * number + 1)
    put("LEAVE", waited + 100, region["MPI_Waitall"])
    put("ENTER", waited + 200, region["MPI_Send"])
    put("SEND", waited + 200, 1, (right | 8 << 32) + tags, BYTES)
    put("LEAVE", waited + 400, region["MPI_Send"])
    put("ENTER", waited + 500, region["MPI_Recv"])
    put("RECV", received, 1, (left | 8 << 32) + tags, BYTES)
    put("LEAVE", received + 100, region["MPI_Recv"])
    turn = number % len(OPERATIONS)
    chosen = np.array([region[o[1]] for o in OPERATIONS])[turn]
    rooted = np.array([int(o[0] in (BCAST, REDUCE)) for o in OPERATIONS])[turn].astype(bool)
    op_root = np.array([o[0] for o in OPERATIONS])[turn] | np.where(rooted, 0, NO_ROOT) << 32
    sends = np.array([o[2] * (o[0] != BCAST or rank == 0) for o in OPERATIONS])[turn]
    receives = np.array([o[3] * (o[0] != REDUCE or rank == 0) for o in OPERATIONS])[turn]
    put("ENTER", collect, chosen)
    put("COLL_BEGIN", collect, 0)
    put("COLL_END", end, 1, op_root, sends, receives)
    put("LEAVE", end + 100, chosen)
    mask = np.array(heads)
    table = np.empty((steps, len(words)), np.uint64)
    for i, value in enumerate(words):
        table[:, i] = np.asarray(value).astype(np.uint64)
    return table, mask, np.stack(times, axis=1)


def calls(program: Program, rank: int, begin: Times, end: Times, call: Any) -> None:
    """Function calls in pairs, one inside the other, at different distances. If the number is odd, the last call is
    alone."""
    count = program.calls
    space = (end - begin) // (2 * count + 2)
    random = np.random.default_rng((program.seed, rank, int(begin[0]) if len(begin) else 0))
    moments = begin[None] + space[None] * np.arange(1, 2 * count + 1)[:, None]
    each = iter(moments + (random.random(moments.shape, np.float32) * (space[None] // 2)).astype(np.int64))

    def at() -> Times:
        return next(each)

    for i in range(count // 2):
        outer, inner = (2 * i) % FUNCTIONS, (2 * i + 1) % FUNCTIONS
        call(outer, False, at())
        call(inner, False, at())
        call(inner, True, at())
        call(outer, True, at())
    if count % 2:
        call(FUNCTIONS - 1, False, at())
        call(FUNCTIONS - 1, True, at())


def thread_step(program: Program, rank: int, turns: dict[str, Times]) -> tuple[Any, Any, Times]:
    """The same for another thread, which only computes."""
    words: list[int] = []
    times: list[Times] = []

    def call(offset: int, leave: bool, when: Times) -> None:
        words.append(FUNCTION | SLOT + 16 * offset | (FUNCTION_LEAVE if leave else 0))
        times.append(when)

    calls(program, rank, turns["begin"][:, rank], turns["ready"][:, rank], call)
    table = np.broadcast_to(np.array(words, np.uint64), (len(times[0]), len(words))).copy()
    return table, np.ones(len(words), bool), np.stack(times, axis=1)
