# SPDX-License-Identifier: BSD-3-Clause
"""Tables about sections at three levels: the application, its processes, their threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.section_sums import SectionNumbers, SectionValues
from vtrace.analysis.questions.sections import ALL
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_KINDS: dict[str, Callable[[Any], Any]] = {"average": np.mean, "maximum": np.max, "minimum": np.min}
_SECTION = Column("section", "section", "text")
BySection = Mapping[tuple[int, str], Mapping[str, SectionValues]]
"""By row of processes or locations and section, then by function ("" where a table has none)."""


@dataclass(frozen=True, kw_only=True)
class SectionTable:
    """The values of a table. name, title: of its sheets. function: True if a section has rows for functions. nothing:
    the values for a function that a process with the section did not call."""

    name: str
    title: str
    columns: list[Column]
    processes: BySection
    threads: BySection
    function: bool = False
    nothing: Callable[[str], SectionValues] = lambda function: {}


def order_of(numbers: SectionNumbers) -> list[str]:
    """The whole run, then the sections, the longest time over all processes first."""
    totals: dict[str, float] = {}
    for (_, name), one in numbers.processes.items():
        totals[name] = totals.get(name, 0) + (one["elapsed_ns"] or 0)
    return sorted(totals, key=lambda name: (name != ALL, -totals[name], name))


def levels(trace: Trace, numbers: SectionNumbers, table: SectionTable, most: int | None) -> list[Sheet]:
    """The sheets NAME, NAME_by_process and NAME_by_thread. most: the most sections or functions in the first sheet, and
    the most rows in the others, to show; None: all."""
    order = order_of(numbers)
    last = [Column("function", "function", "text")] * table.function + [_SECTION]
    columns = [Column("kind", "kind", "text"), *table.columns, Column("processes", "processes"), *last]
    title = f"{table.title} of the application: average, maximum and minimum of the processes"
    made = Sheet(name=table.name, title=title, columns=columns, rows=_application(numbers, table, order))
    found = [made.cut(len(_KINDS) * (len(made.rows) if most is None else most), "--top shows more")]
    for unit, labels, of in (
        ("process", process_names(trace), table.processes), ("thread", location_names(trace), table.threads),
    ):  # fmt: skip
        names = {-1: f"no {unit}", **dict(enumerate(labels))}
        rows = [
            {unit: names[place], "section": name, **_named(table, function), **_values(table, values)}
            for place, name in sorted(of, key=lambda key: (key[0], order.index(key[1])))
            for function in _functions(table, [of[place, name]])
            for values in [of[place, name][function]]
        ]
        columns = [Column(unit, unit, "text"), *table.columns, *last]
        sheet = Sheet(name=f"{table.name}_by_{unit}", title=f"{table.title} by {unit}", columns=columns, rows=rows)
        found.append(sheet.cut(len(rows) if most is None else most, "--top shows more, all with --json or --csv"))
    return found


def _named(table: SectionTable, function: str) -> Row:
    return {"function": function} if table.function else {}


def _values(table: SectionTable, values: SectionValues) -> Row:
    return {column.key: _whole(column, values.get(column.key)) for column in table.columns}


def _whole(column: Column, value: float | None) -> float | None:
    return int(value) if value is not None and column.kind == "count" and value == int(value) else value


def _application(numbers: SectionNumbers, table: SectionTable, order: list[str]) -> list[Row]:
    rows: list[Row] = []
    places: dict[str, list[int]] = {}
    for place, name in numbers.processes:
        places.setdefault(name, []).append(place)
    for name in order:
        having = [table.processes.get((place, name), {}) for place in places[name]]
        for function in _functions(table, having):
            each = [of.get(function, table.nothing(function)) for of in having]
            head = {"section": name, "processes": len(having), **_named(table, function)}
            rows += [{"kind": kind, **head, **_spread(table, kind, each)} for kind in _KINDS]
    return rows


def _functions(table: SectionTable, having: Sequence[Mapping[str, SectionValues]]) -> list[str]:
    """The functions of all processes, the largest value of the first column first."""
    totals: dict[str, float] = {}
    for of in having:
        for function, values in of.items():
            totals[function] = totals.get(function, 0) + (values.get(table.columns[0].key) or 0)
    return sorted(totals, key=lambda function: (-totals[function], function))


def _spread(table: SectionTable, kind: str, of: list[SectionValues]) -> Row:
    """A row in which each value separately is the average, maximum or minimum of the processes; None if a process lacks
    the value."""
    row: Row = {}
    for column in table.columns:
        known = [value for one in of if (value := one.get(column.key)) is not None]
        row[column.key] = _whole(column, float(_KINDS[kind](known)) if len(known) == len(of) else None)
    return row
