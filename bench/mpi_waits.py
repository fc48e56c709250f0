# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of MPI, their causes and efficiencies, of synthetic runs: rates on one processor, memory; vtunify and
vtunify-mpi with --diagnose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import synthetic
from measure import BIN, Row, at_least, at_most, run
from synthetic_program import Program
from unify import against, children_cpu, memory, seconds, unified

EVENTS, LARGE, RANKS = 20_000_000, 100_000_000, 64
SHARED = 120_000_000
"""Events for vtunify-mpi: enough for the start of Python, which ranks do not share, to matter little."""
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


def record(work: Path, name: str, ranks: int, events: int, calls: int) -> None:
    """Writes the local files of a synthetic run. calls: function calls in a step of 3 messages and a collective or
    more."""
    steps = events // ranks // Program(calls=calls).events_of_step()
    synthetic.write(work / name, Program(ranks=ranks, calls=calls, steps=steps))


def made(work: Path, name: str, ranks: int, events: int, calls: int) -> Path:
    """The archive of such a run."""
    record(work, name, ranks, events, calls)
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
    with memory(work) as place:
        for what, name, calls, most in (("a third", "third", 3, 40), ("a twentieth", "few", 150, 15)):
            record(place, name, RANKS, EVENTS, calls)
            added = [added_cpu(place, name) for _ in range(repetitions)]
            rows.append(at_most(f"vtunify --diagnose, {what} messages, CPU besides vtunify's", "%", added, most))
            record(place, name, RANKS, SHARED, calls)
            rows.append(ranks_row(place, repetitions, name, what))
    return rows


def added_cpu(work: Path, name: str) -> float:
    """The CPU time that --diagnose adds to vtunify, in % of that of vtunify."""
    used = []
    for words in ([], ["--diagnose"]):
        begin = children_cpu()
        subprocess.run([BIN / "vtunify", "-q", "-k", "-j", "1", "--force", *words, name], cwd=work, check=True)
        used.append(children_cpu() - begin)
    return 100 * (used[1] - used[0]) / used[0]


def ranks_row(work: Path, repetitions: int, name: str, what: str) -> Row:
    """vtunify-mpi --diagnose on two ranks. The floor is two programs of one rank at the same time against one."""
    gains = []
    for _ in range(repetitions):
        one = diagnosed(work, name, 1)
        gains.append((2 * one / diagnosed(work, name, 1, programs=2), one / diagnosed(work, name, 2)))
    row = f"vtunify-mpi --diagnose, 2 ranks, {what} messages"
    return against(row, "x 1 rank", gains, ">= 1.6 x", lambda ratio, gain: gain >= 1.6)


def diagnosed(work: Path, name: str, ranks: int, programs: int = 1) -> float:
    """Seconds of this number of vtunify-mpi at the same time."""
    words = [BIN / "mpiexec", "-n", ranks, BIN / "vtunify-mpi", "-q", "-k", "--diagnose", name, "-o"]
    return seconds(work, [[*words, f"archive{number}"] for number in range(programs)])


def measure_memory(work: Path) -> list[Row]:
    """100 M events of 64 ranks; the time of an event with 64 and with 10 000 ranks."""
    cpu, _, size = run(sys.executable, "-c", ASK, made(work, "large", RANKS, LARGE, 3), "waits", cwd=work)
    many = run(sys.executable, "-c", ASK, made(work, "many", MANY, EVENTS, 3), "waits", cwd=work)
    return [
        at_most(f"waits of {LARGE // 10**6} M events of {RANKS} ranks", "MiB", [size], 300),
        at_most("1000 M events, extrapolated", "s of CPU", [10 * cpu], 60),
        at_most(f"waits of 20 M events of {MANY} ranks", "s of CPU", [many[0]], 10),
    ]
