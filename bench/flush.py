# SPDX-License-Identifier: BSD-3-Clause
"""Writing a full buffer, against write(2) of as many bytes to a file in the same directory; and the longest time that
an event waits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from functions import BUFFER, CALLS
from measure import ENVIRONMENT, HERE, Row, against_floor, at_most, build, run

from vtrace.io.archive.overview import read_overview

BYTES = int(BUFFER * 0.7)
"""Share of the first thread in VT_BUFFER_SIZE."""
STEP = 6 << 16
"""Bytes of the buffer that a step writes (VT_STEP of csrc/core/location.h)."""


def prepare(work: Path) -> None:
    """Builds the program with the stops, and uses that of functions.py."""
    build("vtrace-cc", "-O2", HERE / "stops.c", "-o", "stops", cwd=work)


def write_plainly(work: Path) -> float:
    """ns per byte for bytes that are in memory already."""
    data = os.urandom(1 << 16)
    begin = time.monotonic_ns()
    with (work / "plain.bytes").open("wb", buffering=0) as file:
        for _ in range(BYTES // len(data)):
            file.write(data)
    taken = time.monotonic_ns() - begin
    (work / "plain.bytes").unlink()
    return taken / BYTES


def flush(work: Path) -> tuple[float, float]:
    """ns per byte of the buffer, measured by the runtime, and bytes of files per byte of the buffer."""
    run("./traced", CALLS, 8, "exe", 1, cwd=work, VT_BUFFER_SIZE="64M", VT_MAX_FLUSHES="0")
    written = sum(path.stat().st_size for path in work.glob("traced.*.events.z"))
    vtunify = [Path(sys.executable).with_name("vtunify"), "-q", "--force", "traced"]
    subprocess.run(vtunify, cwd=work, env=ENVIRONMENT, check=True)
    overview = read_overview(work / "traced.trace" / "traces.otf2")
    events, flushes = overview.vtrace["EVENTS"], overview.vtrace["EVENTS"]["BufferFlush"]
    recorded = 8 * (events["Enter"] + events["Leave"])
    return overview.locations.line(0).properties["FLUSHED_NS"] / (flushes * STEP), written / recorded


def longest_stop(work: Path) -> float:
    """ms of CPU time. The files of an earlier run are removed, which may take as long as a step."""
    for path in work.glob("stops.*.z"):
        path.unlink()
    return run("./stops", 20 * CALLS, cwd=work)[1]


def measure(work: Path, repetitions: int) -> list[Row]:
    """Measures each flush in a run of its own."""
    pairs, sizes, stops = [], [], []
    for _ in range(repetitions):
        floor = write_plainly(work)
        cost, size = flush(work)
        pairs.append((floor, cost))
        sizes.append(size)
        stops.append(longest_stop(work))
    return [
        against_floor("flush of a byte of the buffer", pairs, 3),
        at_most("bytes of files for a byte of the buffer", "B", sizes, 0.25),
        at_most("longest stop at an event, CPU", "ms", stops, 2),
    ]
