# SPDX-License-Identifier: BSD-3-Clause
"""Creating a thread or a program and waiting for its end, traced against untraced; cost of a lock that is not
recorded, and of one that is."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run


def prepare(work: Path) -> None:
    """Builds the program untraced and with vtrace-cc, both without function events."""
    build("gcc", "-O2", "-pthread", HERE / "threads.c", "-o", "threads_plain", cwd=work)
    build("vtrace-cc", "-vt:mt", "-vt:inst", "manual", "-O2", HERE / "threads.c", "-o", "threads_traced", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The best of five passes: in its first pass a traced program creates its files."""
    pairs: dict[str, list[tuple[float, float]]] = {"create": [], "lock": [], "spawn": []}
    recorded: list[float] = []
    for _ in range(repetitions):
        for how, times in (("create", 5000), ("lock", 2_000_000), ("spawn", 200)):
            plain = min(run("./threads_plain", how, times, 5, cwd=work))
            pairs[how].append((plain, min(run("./threads_traced", how, times, 5, cwd=work, VT_BUFFER_SIZE="64M"))))
        off, on = (
            min(run("./threads_traced", "lock", 100_000, 5, cwd=work, VT_BUFFER_SIZE="64M", VT_PTHREAD=value))
            for value in ("yes", "locks")
        )
        recorded.append(on - off)
    locks = [(traced - plain) / 2 for plain, traced in pairs["lock"]]
    return [
        against_floor("thread created and waited for", pairs["create"], 1.3),
        against_floor("program started and waited for, which is not traced", pairs["spawn"], 1.3),
        at_most("lock or unlock without VT_PTHREAD=locks", "ns", locks, 2),
        at_most("what VT_PTHREAD=locks adds to a lock and its unlock without waits", "ns", recorded, 300),
    ]
