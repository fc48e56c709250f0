# SPDX-License-Identifier: BSD-3-Clause
"""The controller of VT_BUDGET beside a slow and obvious model, for random budgets and rates."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction

from support.build.builder import Builder

SECOND, BITS, CHUNK, ROW, HEAD = 10**9, 32, 65536, 88, 2048


@dataclass
class Look:
    """A full chunk: the state of the process, and the words of calls by the bits of their length in ticks."""

    now: int
    written: int
    rows: int
    chunks: int
    kept: int
    words: int
    by_bits: list[int]

    def line(self) -> str:
        numbers = (self.now, self.written, self.rows, self.chunks, self.kept, self.words, *self.by_bits)
        return "c " + " ".join(map(str, numbers))


@dataclass
class Model:
    budget: int
    locations: int
    blocks: list[tuple[int, int]]
    """Raw and stored bytes."""
    bits: int = 0
    since: int = 0
    lowered: int = 0
    all: Fraction = field(default=Fraction(0))

    def _word(self) -> Fraction:
        raw, stored = (sum(values) for values in zip(*self.blocks, strict=True)) if self.blocks else (0, 0)
        return Fraction(8 * stored, raw) if raw else Fraction(8)

    def _needed(self, look: Look) -> int:
        """At the end: heads and definitions of each location, and two copies of the rows of counted calls."""
        return self.locations * (2 * HEAD + 4096) + 2 * look.rows * ROW

    def _left(self, look: Look) -> Fraction:
        """An eighth of the budget is for records that are never thinned."""
        self.all = Fraction(max(1, self.budget - self.budget // 8 - self._needed(look)))
        waiting = self.locations * look.chunks * (CHUNK // 8) * self._word()
        return max(Fraction(0), self.all - look.written - waiting)

    def is_short(self, look: Look) -> bool:
        """After t seconds a part of 1 / (2 sqrt(t)) of the budget must be left, and a half during the first second."""
        seconds = Fraction(max(look.now, SECOND), SECOND)
        return (2 * self._left(look)) ** 2 * seconds < self.all**2

    def limit(self, look: Look) -> int:
        return max(1, self.budget - self._needed(look) - self.budget // 16)

    def choose(self, look: Look) -> int:
        """The least limit with which half of what is left lasts as long as the run has lasted. A limit falls only if
        twice as many words would fit, at the begin of a chunk, and once in a sixteenth of the run."""
        age = max(look.now, SECOND)
        share = self._left(look) / self.locations / 2 * (look.now - self.since) / age / self._word()
        room = int(share)
        self.since = look.now

        def stay(bits: int) -> int:
            return look.words - sum(look.by_bits[: bits + 1]) if bits else look.words

        def least(times: int) -> int:
            return next((bits for bits in range(BITS) if times * stay(bits) <= room), BITS)

        if least(1) >= self.bits:
            self.bits = least(1)
        elif look.kept == 0 and least(2) < self.bits and 16 * (look.now - self.lowered) > age:
            self.bits, self.lowered = least(2), look.now
        return self.bits


def scenario(chance: random.Random, blocks: list[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """The lines to the controller, and its answers by the model."""
    model = Model(chance.randrange(1 << 20, 1 << chance.randrange(21, 33)), chance.choice([1, 1, 2, 16]), blocks)
    lines, answers = [f"p {model.budget} {model.locations}"], list[str]()
    now = written = rows = 0
    for _ in range(chance.randrange(1, 12)):
        if chance.random() < 0.3:
            raw = chance.randrange(1, CHUNK)
            blocks.append((raw, chance.randrange(1, raw + 200)))
            lines.append("w {} {}".format(*blocks[-1]))
        now += chance.randrange(1, 10 ** chance.randrange(5, 11))
        written += chance.randrange(0, model.budget // 4)
        rows += chance.randrange(0, 100)
        by_bits = [chance.choice([0, 0, chance.randrange(0, 2000)]) for _ in range(BITS + 1)]
        words = sum(by_bits) + chance.choice([0, chance.randrange(0, 2000)])
        kept = chance.choice([0, 0, chance.randrange(1, 4000)])
        look = Look(now, written, rows, chunks=chance.randrange(0, 20), kept=kept, words=words, by_bits=by_bits)
        lines.append(look.line())
        answers.append(f"{model.is_short(look):d} {model.choose(look)} {model.limit(look)}")
    return lines, answers


def test_choices(build: Builder) -> None:
    program = build.unit("thinning", parts=("core", "funwrap"))
    chance, blocks = random.Random(38), list[tuple[int, int]]()
    lines, answers = list[str](), list[str]()
    for _ in range(1000):
        some_lines, some_answers = scenario(chance, blocks)
        lines += some_lines
        answers += some_answers
    done = subprocess.run([program], input="\n".join(lines), text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == answers
    assert len({answer.split()[1] for answer in answers}) > BITS / 2


def test_nested_tasks(build: Builder) -> None:
    """Of 20 tasks inside each other 15 are levels of call paths, below the team; ends of the others end no level."""
    program = build.unit("thinning", parts=("core", "funwrap"))
    done = subprocess.run([program], input="t 20 0 t 20 5 t 20 6 t 20 20", text=True, capture_output=True, check=True)
    assert done.stdout.split() == ["16", "16", "15", "1"]
