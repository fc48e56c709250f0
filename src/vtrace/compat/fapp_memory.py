# SPDX-License-Identifier: BSD-3-Clause
"""The large page information of the Advanced Profiler, as far as malloc and the memory shim show it: Tables 3.43 to
3.46 of the guide."""

from __future__ import annotations

from vtrace.analysis.questions.allocation_calls import AllocationNumbers
from vtrace.analysis.table import Table

LEVELS = ("malloc-arena", "malloc-in-use", "malloc-free", "malloc-mmapped", "malloc-mmapped-bytes")
"""The counters of -Ilpgusage."""
USAGE = (
    ("Memory_Total", False), ("Arena", False), ("Arena_Total", False), ("Arena_Inuse", False), ("Arena_Free", False),
    ("Arena_rate(S)", True), ("Arena_rate(E)", True), ("Mmapped", False), ("Mmapped_Total", False),
)  # fmt: skip
"""Heads of Figure 3.25, and whether the item is a rate."""
SHOWN = {"posix_memalign": "p_memalign"}
"""Function -> the guide's name, where it is another one."""
FUNCTIONS = ("malloc", "calloc", "memalign", "valloc", "pvalloc", "p_memalign", "free")
STATS = ("Count", "TimeMin", "TimeMax", "TimeAvg", "SizeMin", "SizeMax", "SizeAvg")
UNKNOWN = (
    ("NewHeap", "DelHeap", "Expbrk", "Expmmap", "Newmmap", "Delmmap"),
    ("Fastbin", "AllMax", "AllAvg", "SuccMax", "SuccAvg", "FailMax", "FailAvg"),
)
"""Heads of the other tables of Figure 3.26. glibc's malloc does not count these items."""


def usage(openings: Table) -> list[float | None]:
    """The items of USAGE of a section of a thread: the change from start to stop, added up. openings: of the question
    Sections, in the order of time."""
    if not openings.rows or any(f"@{name}" not in openings for name in LEVELS):
        return [None] * len(USAGE)
    arena, used, free, mmapped, mmapped_bytes = (float(openings[f"@{name}"].sum()) for name in LEVELS)
    if arena != arena:  # no reading at a start or stop
        return [None] * len(USAGE)
    rates = [_rate(openings, "before", 0), _rate(openings, "after", -1)]
    return [arena + mmapped_bytes, None, arena, used, free, *rates, mmapped, mmapped_bytes]


def _rate(openings: Table, when: str, row: int) -> float | None:
    arena, used = (float(openings[f"{when}@{name}"][row]) for name in LEVELS[:2])
    return 100 * used / arena if arena else None


def stats(numbers: AllocationNumbers | None, name: str) -> list[float | None]:
    """The items of STATS. Times in microseconds."""
    if numbers is None:
        return [0.0] * len(STATS)
    times = [ns / 1000 for ns in (numbers.least_ns, numbers.most_ns, numbers.ns / numbers.count)]
    sizes = [numbers.least, numbers.most, numbers.bytes / numbers.count] if name != "free" else [0, 0, 0]
    return [numbers.count, *times, *sizes]
