# SPDX-License-Identifier: BSD-3-Clause
"""The large page information of the Advanced Profiler, as far as malloc and the memory shim show it: Tables 3.43 to
3.46 of the guide."""

from __future__ import annotations

from vtrace.analysis.questions.allocation_calls import AllocationNumbers
from vtrace.analysis.questions.section_sums import MEMORY, SectionValues

USAGE = (
    ("Memory_Total", False), ("Arena", False), ("Arena_Total", False), ("Arena_Inuse", False), ("Arena_Free", False),
    ("Arena_rate(S)", True), ("Arena_rate(E)", True), ("Mmapped", False), ("Mmapped_Total", False),
)  # fmt: skip
"""Heads of Figure 3.25, and whether the item is a rate."""
SHOWN = {"posix_memalign": "p_memalign"}
"""Function -> the guide's name, where it differs."""
FUNCTIONS = ("malloc", "calloc", "memalign", "valloc", "pvalloc", "p_memalign", "free")
STATS = ("Count", "TimeMin", "TimeMax", "TimeAvg", "SizeMin", "SizeMax", "SizeAvg")
UNKNOWN = (
    ("NewHeap", "DelHeap", "Expbrk", "Expmmap", "Newmmap", "Delmmap"),
    ("Fastbin", "AllMax", "AllAvg", "SuccMax", "SuccAvg", "FailMax", "FailAvg"),
)
"""Heads of the other tables of Figure 3.26. glibc's malloc does not count these items."""


def usage(memory: SectionValues) -> list[float | None]:
    """The items of USAGE. memory: of section_sums.memory_of."""
    percent = {"in_use_start", "in_use_end"}
    values = ((name, memory[name]) for name in MEMORY)
    return [100 * value if value is not None and name in percent else value for name, value in values]


def stats(numbers: AllocationNumbers | None, name: str) -> list[float | None]:
    """The items of STATS. Times in microseconds."""
    if numbers is None:
        return [0.0] * len(STATS)
    times = [ns / 1000 for ns in (numbers.least_ns, numbers.most_ns, numbers.ns / numbers.count)]
    sizes = [numbers.least, numbers.most, numbers.bytes / numbers.count] if name != "free" else [0, 0, 0]
    return [numbers.count, *times, *sizes]
