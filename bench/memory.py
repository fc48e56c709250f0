# SPDX-License-Identifier: BSD-3-Clause
"""malloc and free against preloaded wrappers that read the clock twice and store as many words into a mapping of the
same kind (floor_memory.c); and the cost of the calls while recording is off."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

SHIM = str(LIB / "libvtrace-mem.so")
# Pairs in a pass, passes, megabytes of buffer: reused memory, or new memory for all records.
CASES = {"": (1_000, 400, 8), ", new memory": (100_000, 12, 128)}


def prepare(work: Path) -> None:
    """Builds the program and the wrappers of the floor."""
    build("cc", "-O2", "-fno-builtin", HERE / "memory.c", "-o", "memory", "-pthread", cwd=work)
    flags = ("-O2", "-fno-builtin", "-shared", "-fPIC", "-ftls-model=initial-exec")
    for _, _, size in CASES.values():
        source = HERE / "floor_memory.c"
        build("cc", *flags, f"-DALL=({size}u<<20)", source, "-o", f"floor_memory_{size}.so", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Differences to the untraced program, as pairs of floor and vtrace from the same repetition."""
    pairs: dict[tuple[str, int], list[tuple[float, float]]] = {(case, n): [] for case in CASES for n in (1, 2)}
    off: list[float] = []
    for _ in range(repetitions):
        for (case, threads), found in pairs.items():
            count, passes, size = CASES[case]
            words = ("./memory", count, threads, passes)
            sizes = {"VT_BUFFER_SIZE": f"{size}M", "VT_THREAD_BUFFER_SIZE": f"{size}M", "VT_MAX_FLUSHES": "0"}
            (plain,) = run(*words, cwd=work)
            (floor,) = run(*words, cwd=work, LD_PRELOAD=str(work / f"floor_memory_{size}.so"))
            (traced,) = run(*words, cwd=work, LD_PRELOAD=SHIM, VT_MEMTRACE="yes", **sizes)
            found.append((floor - plain, traced - plain))
            if not case and threads == 1:
                off.append(run(*words, cwd=work, LD_PRELOAD=SHIM)[0] - plain)
    return [
        *(
            against_floor(
                "malloc or free with its size" + case + (", 2 threads" if threads == 2 else ""), found, 2.5, "ns a call"
            )
            for (case, threads), found in pairs.items()
        ),
        at_most("malloc or free while VT_MEMTRACE=no", "ns a call", off, 2),
    ]
