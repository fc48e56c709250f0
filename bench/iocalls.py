# SPDX-License-Identifier: BSD-3-Clause
"""I/O calls against preloaded wrappers that read the clock twice and store as many words into a mapping of the same
kind (floor_io.c); and the cost of the calls while recording is off."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

CALLS = 2_000
PASSES = 300
KINDS = ("fputc", "fprintf", "read", "pread", "writev")
TEXTS = (
    "fputc with its byte", "fprintf with its bytes", "read with its bytes", "pread with bytes and position",
    "writev of two buffers with its bytes",
)  # fmt: skip
SHIM = str(LIB / "libvtrace-io.so")


def prepare(work: Path) -> None:
    """Builds the program and the wrappers of the floor."""
    build("cc", "-O2", HERE / "iocalls.c", "-o", "iocalls", "-pthread", cwd=work)
    flags = ("-O2", "-shared", "-fPIC", "-ftls-model=initial-exec")
    build("cc", *flags, "-DALL=(8u<<20)", HERE / "floor_io.c", "-o", "floor_io.so", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Differences to the untraced program, as pairs of floor and vtrace from the same repetition."""
    pairs: dict[tuple[str, int], list[tuple[float, float]]] = {(kind, n): [] for n in (1, 2) for kind in KINDS}
    off: dict[str, list[float]] = {kind: [] for kind in KINDS[:2]}
    on = {"VT_IOTRACE": "yes", "VT_BUFFER_SIZE": "8M", "VT_THREAD_BUFFER_SIZE": "8M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        for threads in (1, 2):
            words = ("./iocalls", threads, CALLS, PASSES)
            plain = run(*words, cwd=work)
            floor = run(*words, cwd=work, LD_PRELOAD=str(work / "floor_io.so"))
            traced = run(*words, cwd=work, LD_PRELOAD=SHIM, **on)
            for kind, f, t, p in zip(KINDS, floor, traced, plain, strict=True):
                pairs[kind, threads].append((f - p, t - p))
            if threads == 1:
                without = run(*words, cwd=work, LD_PRELOAD=SHIM)
                for kind, o, p in zip(off, without, plain, strict=False):
                    off[kind].append(o - p)
    return [
        *(
            against_floor(text + (", 2 threads" if n == 2 else ""), pairs[kind, n], 2.0, "ns a call")
            for n in (1, 2)
            for kind, text in zip(KINDS, TEXTS, strict=True)
        ),
        *(at_most(f"{kind} while VT_IOTRACE=no", "ns a call", values, 2) for kind, values in off.items()),
    ]
