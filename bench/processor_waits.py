# SPDX-License-Identifier: BSD-3-Clause
"""The cost of asking the kernel how long a thread has waited for a processor, after a time without records."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, at_most, build, run

TIMES = 300


def prepare(work: Path) -> None:
    """Builds the program."""
    build("vtrace-cc", "-O2", HERE / "gaps.c", "-o", "gaps", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The CPU time of a turn with the question, without that of a turn without."""
    added = []
    for _ in range(repetitions):
        (without,) = run("./gaps", TIMES, cwd=work, VT_PROCESSOR_WAIT="no")
        (asking,) = run("./gaps", TIMES, cwd=work)
        added.append(asking - without)
    return [at_most("a record after 4 ms or more without one, CPU", "us", added, 20)]
