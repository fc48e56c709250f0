# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of MPI, their causes and efficiencies, of synthetic runs: rates on one processor, memory."""

from __future__ import annotations

import sys
from pathlib import Path

import synthetic
from measure import Row, at_least, at_most, run
from synthetic_program import Program
from unify import unified

EVENTS, LARGE, RANKS = 20_000_000, 100_000_000, 64
MANY = 10_000
"""Ranks of the run for n log n."""
ASK = """
import os, resource, sys, time, vtrace
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
trace = vtrace.open(sys.argv[1])
begin = time.process_time()
getattr(trace, sys.argv[2])()
cpu = time.process_time() - begin
print(cpu, trace.locations.events.sum() / cpu / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
"""Prints CPU seconds, M events/s and MiB of a question."""


def prepare(work: Path) -> None:
    """Nothing to build: the runs are synthetic."""


def made(work: Path, name: str, ranks: int, events: int, calls: int) -> Path:
    """An archive of a synthetic run. calls: function calls in a step of 3 messages and a collective or more."""
    steps = events // ranks // Program(calls=calls).events_of_step()
    synthetic.write(work / name, Program(ranks=ranks, calls=calls, steps=steps))
    return unified(work, name)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Rates of waits with a third of message events and with a twentieth, and of their causes."""
    third, few = made(work, "third", RANKS, EVENTS, 3), made(work, "few", RANKS, EVENTS, 150)
    rows = []
    for what, archive, question, bar in (
        ("waits, a third messages", third, "waits", 20), ("waits, a twentieth messages", few, "waits", 20),
        ("critical path and delays, a third messages", third, "critical_path", 10),
    ):  # fmt: skip
        found = [run(sys.executable, "-c", ASK, archive, question, cwd=work) for _ in range(repetitions)]
        rows.append(at_least(f"{what}, a core", "M events/s", [rate for _, rate, _ in found], bar))
    return rows


def measure_memory(work: Path) -> list[Row]:
    """100 M events of 64 ranks; the time of an event with 64 and with 10 000 ranks."""
    cpu, _, size = run(sys.executable, "-c", ASK, made(work, "large", RANKS, LARGE, 3), "waits", cwd=work)
    many = run(sys.executable, "-c", ASK, made(work, "many", MANY, EVENTS, 3), "waits", cwd=work)
    return [
        at_most(f"waits of {LARGE // 10**6} M events of {RANKS} ranks", "MiB", [size], 300),
        at_most("1000 M events, extrapolated", "s of CPU", [10 * cpu], 60),
        at_most(f"waits of 20 M events of {MANY} ranks", "s of CPU", [many[0]], 10),
    ]
