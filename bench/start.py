# SPDX-License-Identifier: BSD-3-Clause
"""Time that start and end of a traced program add, and the time of `vtrace run` before it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, against_floor, at_most, build

RUNS = 20


def prepare(work: Path) -> None:
    """Builds a program that does nothing, untraced and traced."""
    build("gcc", "-O2", HERE / "empty.c", "-o", "empty_plain", cwd=work)
    build("vtrace-cc", "-vt:seq", "-O2", HERE / "empty.c", "-o", "empty_traced", cwd=work)


def seconds(work: Path, *program: object) -> float:
    """The best of some runs, from before the fork to after the wait."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([str(word) for word in program], cwd=work, env=ENVIRONMENT, check=True)
        best = min(best, time.perf_counter() - begin)
    return best


def measure(work: Path, repetitions: int) -> list[Row]:
    """The difference to the untraced program, repetition by repetition."""
    added = [(seconds(work, "./empty_traced") - seconds(work, "./empty_plain")) * 1e3 for _ in range(repetitions)]
    before = [
        (
            seconds(work, BIN / "python", "-c", "import re, sys") * 1e3,
            seconds(work, BIN / "vtrace", "run", "./empty_plain") * 1e3,
        )
        for _ in range(repetitions)
    ]
    return [
        at_most("start and end of a program", "ms", added, 5),
        against_floor("vtrace run before a program (floor: a command of pip that does nothing)", before, 2, "ms"),
    ]
