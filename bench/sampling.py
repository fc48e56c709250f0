# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a sample: the handler without the kernel's part, a whole sample, and the start of a program."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from measure import ENVIRONMENT, HERE, Row, at_most, build, run

ROUNDS = 200_000
SPINS = 400
RATE = 2000
"""Samples per second of elapsed time, for the cost of a whole sample."""
RUNS = 20


def prepare(work: Path) -> None:
    """Builds the program with the sources of the runtime, so that it can call the handler's work."""
    csrc = HERE.parent / "csrc"
    sources = [
        path for folder in ("core", "funwrap", "sampling", "providers") for path in sorted((csrc / folder).glob("*.c"))
    ]
    build("gcc", "-O2", "-w", HERE / "sampling.c", *sources, "-o", "sampling", "-lpthread", "-ldl", cwd=work)
    build("vtrace-cc", "-vt:seq", "-O2", HERE / "empty.c", "-o", "empty_sampled", cwd=work)


def added_by_start(work: Path) -> float:
    """Milliseconds that sampling adds to the shortest run of a recorded program that does nothing."""
    best = {}
    for rate in ("", "100"):
        environment = ENVIRONMENT | {"VT_SAMPLE_RATE": rate}
        best[rate] = float("inf")
        for _ in range(RUNS):
            begin = time.perf_counter()
            subprocess.run(["./empty_sampled"], cwd=work, env=environment, check=True)
            best[rate] = min(best[rate], time.perf_counter() - begin)
    return (best["100"] - best[""]) * 1e3


def whole_sample(work: Path) -> float:
    """Microseconds of CPU time that a sample costs, with the kernel's part."""
    (alone,) = run("./sampling", "spin", SPINS, cwd=work)
    (sampled,) = run("./sampling", "spin", SPINS, cwd=work, VT_SAMPLE_RATE=str(RATE), VT_SAMPLE_CLOCK="wall")
    return (sampled - alone) / 1e3 / (RATE * alone / 1e9)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Calls the handler in a loop, with two stacks in turn."""
    rows = []
    for depth, whole, unwinding in ((20, 1000, 400), (100, 1600, 1200)):
        pairs = [run("./sampling", depth, ROUNDS, cwd=work, VT_SAMPLE_RATE="3600s") for _ in range(repetitions)]
        rows.append(at_most(f"a sample of {depth} frames, without the kernel", "ns", [p[0] for p in pairs], whole))
        rows.append(at_most(f"unwinding {depth} frames", "ns", [p[1] for p in pairs], unwinding))
    costs = [whole_sample(work) for _ in range(repetitions)]
    rows.append(at_most("100 samples per second, with the kernel", "% CPU", [cost * 100 / 1e4 for cost in costs], 1))
    rows.append(
        at_most(
            "start of a program with samples, beyond recording",
            "ms",
            [added_by_start(work) for _ in range(repetitions)],
            5,
        )
    )
    return rows
