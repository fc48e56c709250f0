# SPDX-License-Identifier: BSD-3-Clause
"""The cost of reading counters at the enter and leave of a user region (VT_METRICS), against one read(2) of the same
events; and the rate at which derived values are computed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from measure import HERE, Row, at_least, build, run

from vtrace.analysis.derived.event_set import CLOCK_RATE, EventSet
from vtrace.analysis.derived.known_events import known_files
from vtrace.paths import LIB

CALLS = 50_000
SOFTWARE = (
    "page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations", "alignment-faults",
    "emulation-faults", "task-clock",
)  # fmt: skip
"""The events of bench/perf_read.c, in the same order."""
READINGS = 500_000
ROOM = {"VT_BUFFER_SIZE": "256M", "VT_MAX_SIZE": "4G"}


def prepare(work: Path) -> None:
    """Builds the program with vtrace-cc, and the floor."""
    flags = ["-vt:seq", "-vt:inst", "manual", "-DVTRACE", f"-I{LIB / 'user'}"]
    build("vtrace-cc", *flags, "-O2", HERE / "user.c", "-o", "counters_traced", cwd=work)
    build("gcc", "-O2", HERE / "perf_read.c", "-o", "perf_read", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The best of five passes, half for each of the two events, less the cost without counters."""
    rows = []
    for count in (1, len(SOFTWARE)):
        pairs = []
        for _ in range(repetitions):
            (floor,) = run("./perf_read", count, cwd=work)
            without = min(run("./counters_traced", CALLS, 5, cwd=work, **ROOM))
            names = ":".join(SOFTWARE[:count])
            traced = min(run("./counters_traced", CALLS, 5, cwd=work, **ROOM, VT_METRICS=names))
            pairs.append((floor, (traced - without) / 2))
        floor, value = min(pairs, key=lambda pair: pair[1])
        text = f"a reading of {count} software counter{'s' if count > 1 else ''}, the floor one read(2)"
        rows.append(Row(text, "ns", floor, value, value / floor, "<= 1200 ns", value <= 1200))
    return [
        *rows,
        at_least("derived values of all shipped events", "M/s", [_derived() for _ in range(repetitions)], 10),
    ]


def _derived() -> float:
    """Millions of values per second of the derived events of each processor."""
    files = known_files(None)
    pmus = {section.pmus[0] for file in files for section in file.sections if section.pmus}
    random = np.random.default_rng(1)
    values, seconds = 0, 0.0
    for events in (EventSet(files, pmu) for pmu in sorted(pmus)):
        names = [name for name, event in events.events.items() if event.type not in ("NOT_DERIVED", "DERIVED_CMPD")]
        bases = {base for name in names for base in events.natives(name)}
        given = {base: random.integers(1, 1 << 40, READINGS) for base in sorted(bases)} | {CLOCK_RATE: 3000.0}
        begin = time.perf_counter()
        for name in names:
            events.value(name, given)
        seconds += time.perf_counter() - begin
        values += len(names) * READINGS
    return values / seconds / 1e6
