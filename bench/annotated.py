# SPDX-License-Identifier: BSD-3-Clause
"""A push or pop of NVTX against the begin or end of a region of the user API, in one program, and against the same call
where no tool listens."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

CALLS, FILL, WARM = 5_000, 300, 400
"""Passes as in functions.py: each fills twice as much of the buffer."""
LIBRARY = str(LIB / "libvtrace-annotations.so")


def prepare(work: Path) -> None:
    """Builds the program with the headers of PyPI's nvidia-nvtx."""
    headers = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/*/include/nvtx3"))[-1].parent
    flags = ["-vt:seq", "-vt:inst", "manual", "-DVTRACE", f"-I{headers}"]
    build("vtrace-cc", *flags, "-O2", HERE / "annotated.c", "-o", "annotated", "-ldl", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The best passes that use memory that was touched before, halved: a call is two events."""
    pairs: list[tuple[float, float]] = []
    alone: list[float] = []
    settings = {"VT_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        found = run("./annotated", CALLS, FILL + WARM, cwd=work, NVTX_INJECTION64_PATH=LIBRARY, **settings)
        pairs.append((min(found[2 * FILL :: 2]) / 2, min(found[2 * FILL + 1 :: 2]) / 2))
        alone.append(min(run("./annotated", CALLS, WARM, cwd=work, **settings)[1::2]) / 2)
    return [
        against_floor("push or pop of a registered string of NVTX; floor: a user region", pairs, 1.5),
        at_most("push or pop of NVTX where no tool listens", "ns", alone, 2),
    ]
