# SPDX-License-Identifier: BSD-3-Clause
"""The memory of glibc's malloc at the begins and ends of sections, from the counters of mallinfo2."""

from __future__ import annotations

import numpy as np

from vtrace.analysis.questions.section_sums import SectionValues
from vtrace.analysis.table import Table

LEVELS = ("malloc-arena", "malloc-in-use", "malloc-free", "malloc-mmapped", "malloc-mmapped-bytes")
"""The counters, values of the process."""
MEMORY = (
    "memory_bytes", "arena_bytes", "in_use_bytes", "free_bytes", "in_use_start", "in_use_end", "mmapped",
    "mmapped_bytes",
)  # fmt: skip
"""Changes from start to stop, added up, but for in_use_start and in_use_end: the part (0 to 1) of the arenas that is in
use at the first start and at the last stop."""


def memory_of(openings: Table, location: int, section: str) -> SectionValues:
    """The values of MEMORY of a section of a thread, None where a start or stop has no reading. openings: of the
    question Sections with LEVELS as levels."""
    place = openings.sections.index(section)
    mine = openings.take(np.flatnonzero((openings["location"] == location) & (openings["section"] == place)))
    if not mine.rows or any(f"@{name}" not in mine for name in LEVELS):
        return dict.fromkeys(MEMORY)
    arena, used, free, mmapped, mmapped_bytes = (float(mine[f"@{name}"].sum()) for name in LEVELS)
    if arena != arena:  # no reading at a start or stop
        return dict.fromkeys(MEMORY)
    parts = [_part_in_use(mine, "before", 0), _part_in_use(mine, "after", -1)]
    return dict(zip(MEMORY, (arena + mmapped_bytes, arena, used, free, *parts, mmapped, mmapped_bytes), strict=True))


def _part_in_use(openings: Table, when: str, row: int) -> float | None:
    arena, used = (float(openings[f"{when}@{name}"][row]) for name in LEVELS[:2])
    return used / arena if arena else None
