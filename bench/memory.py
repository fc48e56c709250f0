# SPDX-License-Identifier: BSD-3-Clause
"""malloc and free against a preloaded wrapper that only reads the clock twice, and what they cost while off."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

PAIRS = 100_000
SHIM = str(LIB / "libvtrace-mem.so")


def prepare(work: Path) -> None:
    """Builds the program and the floor's wrapper."""
    build("cc", "-O2", "-fno-builtin", HERE / "memory.c", "-o", "memory", "-pthread", cwd=work)
    flags = ("-O2", "-fno-builtin", "-shared", "-fPIC", "-ftls-model=initial-exec")
    build("cc", *flags, HERE / "floor_memory.c", "-o", "floor_memory.so", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Differences to the untraced program, as pairs of floor and vtrace from the same repetition."""
    pairs: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    off: list[float] = []
    settings = {"VT_MEMTRACE": "yes", "VT_BUFFER_SIZE": "512M", "VT_THREAD_BUFFER_SIZE": "512M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        for threads, found in pairs.items():
            words = ("./memory", PAIRS, threads)
            (plain,) = run(*words, cwd=work)
            (floor,) = run(*words, cwd=work, LD_PRELOAD=str(work / "floor_memory.so"))
            (traced,) = run(*words, cwd=work, LD_PRELOAD=SHIM, **settings)
            found.append((floor - plain, traced - plain))
            if threads == 1:
                off.append(run(*words, cwd=work, LD_PRELOAD=SHIM)[0] - plain)
    return [
        against_floor("malloc or free with its size", pairs[1], 2.5, "ns a call"),
        against_floor("malloc or free with its size, 2 threads", pairs[2], 2.5, "ns a call"),
        at_most("malloc or free while VT_MEMTRACE=no", "ns a call", off, 2),
    ]
