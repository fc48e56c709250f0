# SPDX-License-Identifier: BSD-3-Clause
"""The functions with samples: a table of vtrace summary, and the line at the summary's head."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vtrace.analysis.activity import CLASSES, TRACING
from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.selection import Patterns, Selection
from vtrace.console import some, terminal_width
from vtrace.reports.profile_sheets import ProfileNumbers
from vtrace.reports.profile_sheets import sheet as profile_sheet
from vtrace.reports.sheet import Column, Row, Sheet
from vtrace.short_names import shortened

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_COLUMNS = (
    Column("exclusive_ns", "exclusive s", "ns"), Column("inclusive_ns", "inclusive s", "ns"),
    Column("share", "%", "fraction"), Column("share_error", "± %", "fraction"), Column("samples", "samples"),
    Column("mpi_ns", "MPI s", "ns", minor=True), Column("barrier_ns", "barriers s", "ns", minor=True),
    Column("function", "function", "text"), Column("class", kind="text"), Column("defined", kind="text"),
)  # fmt: skip
_FIRST = 3
"""The most functions that the line names."""


def samples(trace: Trace, window: Selection, costs: Costs | None) -> Sheet:
    """The functions of the program's own code like `vtrace profile`, the largest exclusive time first. costs: None for
    an archive without samples."""
    made = Sheet(name="samples", title="Time inside the program, by samples", columns=[*_COLUMNS], rows=[])
    if costs is None or not costs.samples.rows:
        return made
    everything = profile_sheet(
        ProfileNumbers(trace=trace, window=window, patterns=Patterns(), costs=costs, by="function", notes=[])
    )
    made.rows = [
        _row(row) for row in everything.rows
        if row["source"] == "samples" and row["samples"] and row["class"] != CLASSES[TRACING]
    ]  # fmt: skip
    made.notes = everything.notes[:1]
    made.columns = [_shown(column, made.rows) for column in _COLUMNS]
    return made


def _shown(column: Column, rows: list[Row]) -> Column:
    """Text leaves out times in MPI and in barriers if there are none."""
    is_empty = column.key in ("mpi_ns", "barrier_ns") and not any(row[column.key] for row in rows)
    return replace(column, head="") if is_empty else column


def _row(row: Row) -> Row:
    return {column.key: row[column.key] for column in _COLUMNS}


def line(made: Sheet) -> str:
    """The functions with the largest shares; empty without samples."""
    if not made.rows:
        return ""
    count = some(sum(row["samples"] for row in made.rows), "sample")
    width, rows = terminal_width(), made.rows[:_FIRST]
    short = shortened([row["function"] for row in made.rows], width // 2) if width else {}
    named = (f"{100 * row['share']:.3g} % {short.get(row['function'], row['function'])}" for row in rows)
    return f"{count} in the program's own code: {', '.join(named)}"
