# SPDX-License-Identifier: BSD-3-Clause
"""A region and a section of the user API against the floor of a function event, and the cost of a region in a program
linked without vtrace."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

CALLS, FILL, WARM = 5_000, 600, 400
"""Passes as in functions.py."""
HEADER = f"-I{LIB / 'user'}"


def prepare(work: Path) -> None:
    """Builds the program untraced, with the hooks of the floor (built by functions.py), linked without vtrace, and with
    vtrace-cc."""
    source = HERE / "user.c"
    hooks = ["-finstrument-functions", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-L.", "-lfloor"]
    build("gcc", "-O2", HEADER, source, "-o", "user_plain", cwd=work)
    build("gcc", "-O2", HEADER, source, "-o", "user_floor", *hooks, cwd=work)
    build("gcc", "-O2", HEADER, "-DVTRACE", source, "-o", "user_alone", cwd=work)
    flags = ["-vt:seq", "-vt:inst", "manual", "-DVTRACE"]
    build("vtrace-cc", *flags, "-O2", source, "-o", "user_traced", cwd=work)
    build("vtrace-cc", *flags, "-DSECTION", "-O2", source, "-o", "user_section", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """Differences to the untraced program, in the best pass that uses memory that was touched before."""
    pairs: list[tuple[float, float]] = []
    sections: list[tuple[float, float]] = []
    alone: list[float] = []
    settings = {"VT_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        best = {
            name: min(run(f"./user_{name}", CALLS, FILL + WARM, cwd=work, **settings)[FILL:])
            for name in ("plain", "alone", "floor", "traced", "section")
        }
        floor, traced, section, without = (
            (best[name] - best["plain"]) / 2 for name in ("floor", "traced", "section", "alone")
        )
        pairs.append((floor, traced))
        sections.append((floor, section))
        alone.append(without)
    return [
        against_floor("begin or end of a user region, warm", pairs, 1.3),
        against_floor("start or stop of a section, warm", sections, 5),
        at_most("a region's begin or end, linked without vtrace", "ns", alone, 2),
    ]
