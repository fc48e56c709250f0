# SPDX-License-Identifier: BSD-3-Clause
"""The memory of glibc's malloc at the starts and stops of sections, from the counters of mallinfo2."""

from __future__ import annotations

import numpy as np

from vtrace.analysis.questions.section_sums import SectionValues
from vtrace.analysis.table import Table

_ARENAS = "malloc-arenas"
LEVELS = ("malloc-arena", "malloc-in-use", "malloc-free", "malloc-mmapped", "malloc-mmapped-bytes", _ARENAS)
"""The counters, values for the whole process."""
MEMORY = (
    "memory_bytes", "arenas", "arena_bytes", "in_use_bytes", "free_bytes", "in_use_start", "in_use_end", "mmapped",
    "mmapped_bytes",
)  # fmt: skip
"""Sums of the changes from start to stop, but for in_use_start and in_use_end: the part (0 to 1) of the arenas in
use at the first start and at the last stop."""


def memory_of(openings: Table, location: int, section: str) -> SectionValues:
    """The values of MEMORY of a section of a thread, None without a reading at a start or stop. openings: of the
    question Sections with LEVELS as levels."""
    place = openings.sections.index(section)
    mine = openings.take(np.flatnonzero((openings["location"] == location) & (openings["section"] == place)))
    values = dict.fromkeys(LEVELS, np.nan) | {name: _change(mine, name) for name in LEVELS if f"@{name}" in mine}
    arena, used, free, mmapped, mmapped_bytes, arenas = values.values()
    parts = [_part_in_use(mine, "before", 0), _part_in_use(mine, "after", -1)]
    found = (arena + mmapped_bytes, arenas, arena, used, free, *parts, mmapped, mmapped_bytes)
    return {name: None if np.isnan(value) else value for name, value in zip(MEMORY, found, strict=True)}


def _change(openings: Table, name: str) -> float:
    """NaN if a start or stop has no reading."""
    return float(openings[f"@{name}"].sum()) if openings.rows else np.nan


def _part_in_use(openings: Table, when: str, row: int) -> float:
    columns = [openings.get(f"{when}@{name}") for name in LEVELS[:2]]
    arena, used = (np.nan if column is None or not len(column) else float(column[row]) for column in columns)
    return used / arena if arena else np.nan
