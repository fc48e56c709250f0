# SPDX-License-Identifier: BSD-3-Clause
"""The cost of asking the kernel how long a thread has waited for a processor and slept, after a time without records,
and of a context switch, which asks nothing."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, at_most, build, run

TIMES, SWITCHES = 300, 20_000
SHORT = 50
"""us of a sleep that is not recorded."""


def prepare(work: Path) -> None:
    """Builds the program."""
    build("vtrace-cc", "-O2", HERE / "gaps.c", "-o", "gaps", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The CPU time of a turn with the question, without that of a turn without."""
    added: dict[tuple[int, ...], list[float]] = {(TIMES,): [], (SWITCHES, SHORT): []}
    for _ in range(repetitions):
        for words, values in added.items():
            (without,) = run("./gaps", *words, cwd=work, VT_PROCESSOR_WAIT="no")
            (asking,) = run("./gaps", *words, cwd=work)
            values.append(asking - without)
    return [
        at_most("a record after 4 ms or more without one, CPU", "us", added[TIMES,], 20),
        at_most("a context switch by a short sleep, CPU", "us", added[SWITCHES, SHORT], 1.5),
    ]
