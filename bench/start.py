# SPDX-License-Identifier: BSD-3-Clause
"""Time that start and end of a traced program add, also for the programs of a shell, and that of `vtrace run` before
it."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, against_floor, at_most, build

from vtrace.paths import LIB

RUNS = 20
PROGRAMS = 200
SCRIPT = "i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done"
RUNTIME, SHIMS = str(LIB / "libvtrace.so.1"), [str(LIB / name) for name in ("libvtrace-io.so", "libvtrace-mem.so")]


def prepare(work: Path) -> None:
    """Builds a program that does nothing, untraced and traced."""
    build("gcc", "-O2", HERE / "empty.c", "-o", "empty_plain", cwd=work)
    build("vtrace-cc", "-vt:seq", "-O2", HERE / "empty.c", "-o", "empty_traced", cwd=work)


def seconds(work: Path, *program: object, runs: int = RUNS, **settings: str) -> float:
    """The best of some runs, from before the fork to after the wait."""
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run([str(word) for word in program], cwd=work, env=ENVIRONMENT | settings, check=True)
        best = min(best, time.perf_counter() - begin)
    return best


def of_a_shell(work: Path, **settings: str) -> float:
    """Milliseconds that tracing adds to a program of a shell."""
    local = work / "local"
    shutil.rmtree(local, ignore_errors=True)
    local.mkdir()
    settings |= {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    scripts = [("sh", "-c", SCRIPT.format(n)) for n in (2, PROGRAMS)]
    plain = [seconds(work, *script, runs=1) for script in scripts]
    traced = [seconds(work, *script, runs=1, **settings) for script in scripts]
    return ((traced[1] - traced[0]) - (plain[1] - plain[0])) / (PROGRAMS - 2) * 1e3


def measure(work: Path, repetitions: int) -> list[Row]:
    """The difference to the untraced program, repetition by repetition."""
    started = [of_a_shell(work, LD_PRELOAD=RUNTIME) for _ in range(repetitions)]
    both = {"LD_PRELOAD": ":".join([RUNTIME, *SHIMS]), "VT_IOTRACE": "yes", "VT_MEMTRACE": "yes"}
    with_shims = [of_a_shell(work, **both) for _ in range(repetitions)]
    through_run = [
        (seconds(work, BIN / "vtrace", "run", "true", VT_UNIFY="yes") - seconds(work, "true")) * 1e3
        for _ in range(repetitions)
    ]
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
        at_most("program of a shell that records nothing, added", "ms", started, 1.5),
        at_most("program of a shell with I/O and memory, added", "ms", with_shims, 2.5),
        at_most("vtrace run true, added", "ms", through_run, 15),
        against_floor("vtrace run before a program (floor: a command of pip that does nothing)", before, 2, "ms"),
    ]
