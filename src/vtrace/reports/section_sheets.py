# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace profile --by section: the sections of the application, of processes and of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.section_sums import SectionNumbers, SectionValues
from vtrace.analysis.questions.sections import ALL
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_KINDS: dict[str, Callable[[Any], Any]] = {"average": np.mean, "maximum": np.max, "minimum": np.min}
_VALUES = (
    Column("elapsed_ns", "elapsed s", "ns"), Column("user_ns", "user s", "ns"), Column("system_ns", "system s", "ns"),
    Column("calls", "calls"), Column("mpi_ns", "MPI s", "ns"), Column("mpi_calls", "MPI calls", minor=True),
    Column("share", "%", "fraction"),
)  # fmt: skip
_SECTION = Column("section", "section", "text")


def sheets(trace: Trace, numbers: SectionNumbers, most: int | None) -> list[Sheet]:
    """The tables of the application, of the processes and of the threads, the sections that take longest first. most:
    sections, processes and threads to show, None: all."""
    by_section: dict[str, list[SectionValues]] = {}
    for (_, name), one in numbers.processes.items():
        by_section.setdefault(name, []).append(one)
    totals = {name: sum(one["elapsed_ns"] or 0 for one in of) for name, of in by_section.items()}
    order = sorted(by_section, key=lambda name: (name != ALL, -totals[name], name))
    application = [_spread(name, kind, by_section[name]) for name in order for kind in _KINDS]
    made = Sheet(
        "sections", "Sections of the application: average, maximum and minimum of the processes",
        [Column("kind", "kind", "text"), *_VALUES, Column("processes", "processes"), _SECTION], application,
    )  # fmt: skip
    found = [made.cut(len(_KINDS) * (len(order) if most is None else most), "--top shows more")]
    for unit, labels, of in (
        ("process", process_names(trace), numbers.processes), ("thread", location_names(trace), numbers.threads),
    ):  # fmt: skip
        rows = [
            {unit: labels[place], "section": name, **{column.key: of[place, name][column.key] for column in _VALUES}}
            for place, name in sorted(of, key=lambda key: (key[0], order.index(key[1])))
        ]
        columns = [Column(unit, unit, "text"), *_VALUES, _SECTION]
        sheet = Sheet(f"sections_by_{unit}", f"Sections by {unit}", columns, rows)
        found.append(sheet.cut(len(rows) if most is None else most, "--top shows more, all with --json or --csv"))
    return found


def _spread(name: str, kind: str, of: list[SectionValues]) -> Row:
    """A row of the application: each value by itself is the average, maximum or minimum of the processes."""
    row: dict[str, Any] = {"kind": kind, "section": name, "processes": len(of)}
    for column in _VALUES:
        values = [one[column.key] for one in of]
        known = [value for value in values if value is not None]
        value = float(_KINDS[kind](known)) if known and len(known) == len(values) else None
        row[column.key] = int(value) if value is not None and column.kind == "count" and value == int(value) else value
    return row
