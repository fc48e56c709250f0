# SPDX-License-Identifier: BSD-3-Clause
"""Function events against hooks that only read the clock and store 8 bytes into a mapping of the same kind."""

from __future__ import annotations

import statistics
from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

CALLS = 1_000_000
BUFFER = 64 * 1024 * 1024
SLICE, SLICES = 5_000, 240
"""Passes of filtered calls. Many short passes: the best one has the least disturbance by other processes."""
FILL, WARM = 600, 400
"""Passes of SLICE recorded calls: FILL passes write the whole buffer once, then WARM passes use the memory again.
The calls of a pass fit between two steps in which the full buffer is written."""
CASES = {
    "executable": ("exe", 1), "shared library": ("lib", 1), "alternating": ("both", 1), "2 threads": ("exe", 2),
}  # fmt: skip


def prepare(work: Path) -> None:
    """Builds the program untraced, with the hooks of the floor, and with vtrace-cc."""
    program, library = HERE / "functions.c", HERE / "functions_lib.c"
    hooks = ["-finstrument-functions"]
    origin = "-Wl,-rpath,$ORIGIN"
    for name in ("floor", "hooks"):
        build("gcc", "-O2", "-fPIC", "-shared", HERE / f"{name}.c", "-o", f"lib{name}.so", cwd=work)
    for name, compiler, flags, more in (
        ("plain", "gcc", [], []),
        ("floor", "gcc", hooks, ["-Wl,--no-as-needed", "-L.", "-lfloor"]),
        ("empty", "gcc", hooks, ["-Wl,--no-as-needed", "-L.", "-lhooks"]),
        ("traced", "vtrace-cc", ["-vt:mt"], []),
    ):
        build(compiler, *flags, "-O2", "-fPIC", "-shared", library, "-o", f"libtiny_{name}.so", *more, cwd=work)
        build(
            compiler, *flags, "-O2", program, "-o", name, "-L.", f"-ltiny_{name}", origin, *more, "-lpthread", cwd=work
        )


def _warm(work: Path, name: str, where: str, threads: int, **settings: str) -> float:
    """The ns of a call in the best of many short passes that use memory that was touched before."""
    return min(run(f"./{name}", SLICE, FILL + WARM, where, threads, cwd=work, **settings)[FILL:])


def measure(work: Path, repetitions: int) -> list[Row]:
    """Warm passes as in _warm. Long passes are of 2 million events in a buffer for 5.9 million: the first one touches
    new memory; from the third one on each event is written, and from the fourth one on memory is used again."""
    first: list[tuple[float, float]] = []
    warm: dict[str, list[tuple[float, float]]] = {case: [] for case in CASES}
    flush: list[float] = []
    ring: list[tuple[float, float]] = []
    counted: list[tuple[float, float]] = []
    filtered: dict[str, list[tuple[float, float]]] = {"executable": [], "shared library": []}
    (work / "none.filter").write_text("* -- 0\n")
    settings = {"VT_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        for case, (where, threads) in CASES.items():
            # Each thread has a buffer, as large as that of the first thread.
            each = settings if threads == 1 else settings | {"VT_BUFFER_SIZE": "45M", "VT_THREAD_BUFFER_SIZE": "45M"}
            plain = min(run("./plain", SLICE, FILL, where, threads, cwd=work))
            floor = _warm(work, "floor", where, threads) - plain
            recorded = _warm(work, "traced", where, threads, **each) - plain
            warm[case].append((floor / 2, recorded / 2))
            if case in filtered:
                alone, empty, left_out = (
                    min(run(f"./{name}", SLICE, SLICES, where, threads, cwd=work, VT_FILTER_SPEC="none.filter"))
                    for name in ("plain", "empty", "traced")
                )
                filtered[case].append((empty - alone, left_out - alone))
            if case == "executable":
                kept = _warm(work, "traced", where, threads, VT_MODE="RING", VT_BUFFER_SIZE="64M")
                ring.append((floor / 2, (kept - plain) / 2))
                new = run("./floor", CALLS, 1, where, threads, cwd=work)[0] - plain
                traced = [t - plain for t in run("./traced", CALLS, 5, where, threads, cwd=work, **settings)]
                first.append((new / 2, traced[0] / 2))
                flush.append((statistics.mean(traced[3:5]) - recorded) / 2)
                counts = run("./traced", CALLS, 5, where, threads, cwd=work, VT_MODE="PROFILE")
                counted.append((statistics.mean(traced[3:5]) / 2, (statistics.mean(counts[3:5]) - plain) / 2))
    return [
        against_floor("function event, first pass", first, 1.3),
        *(against_floor(f"function event, warm, {case}", pairs, 1.3) for case, pairs in warm.items()),
        against_floor("function event, flight recorder", ring, 1.3),
        *(
            at_most(f"filtered call, {case}: both hooks", "ns", [cost for _, cost in pairs], 0.7)
            for case, pairs in filtered.items()
        ),
        *(against_floor(f"filtered call, {case}, against empty hooks", pairs, 2) for case, pairs in filtered.items()),
        at_most("flush of a buffered event", "ns", flush, 10),
        against_floor("function event, profile, against an event that is written", counted, 1.2),
    ]
