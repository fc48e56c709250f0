# SPDX-License-Identifier: BSD-3-Clause
"""A region and a section of the user API against the floor of a function event, and the cost of a region in a program
linked without vtrace."""

from __future__ import annotations

import statistics
from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

from vtrace.paths import LIB

CALLS = 1_000_000
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
    """Passes as in functions.py: the fourth and fifth use memory that was touched before."""
    pairs: list[tuple[float, float]] = []
    sections: list[tuple[float, float]] = []
    alone: list[float] = []
    settings = {"VT_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}
    for _ in range(repetitions):
        plain = min(run("./user_plain", CALLS, 5, cwd=work))
        floor = [t - plain for t in run("./user_floor", CALLS, 6, cwd=work)]
        traced = [t - plain for t in run("./user_traced", CALLS, 5, cwd=work, **settings)]
        pairs.append((statistics.mean(floor[3:6]) / 2, statistics.mean(traced[3:5]) / 2))
        section = [t - plain for t in run("./user_section", CALLS, 5, cwd=work, **settings)]
        sections.append((pairs[-1][0], statistics.mean(section[3:5]) / 2))
        alone.append((min(run("./user_alone", CALLS, 5, cwd=work)) - plain) / 2)
    return [
        against_floor("begin or end of a user region, warm", pairs, 1.3),
        against_floor("start or stop of a section, warm", sections, 5),
        at_most("a region's begin or end, linked without vtrace", "ns", alone, 2),
    ]
