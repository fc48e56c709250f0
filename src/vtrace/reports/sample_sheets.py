# SPDX-License-Identifier: BSD-3-Clause
"""The functions with samples: a table of vtrace summary, and the line at the summary's head."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import CLASSES, TRACING, USER
from vtrace.analysis.own_code import OwnCode
from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.selection import Patterns, Selection
from vtrace.console import some, terminal_width
from vtrace.reports.profile_sheets import ProfileNumbers
from vtrace.reports.profile_sheets import sheet as profile_sheet
from vtrace.reports.sheet import Column, Row, Sheet
from vtrace.short_names import shortened

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.analysis.trace import Trace

_COLUMNS = (
    Column("exclusive_ns", "exclusive s", "ns"), Column("inclusive_ns", "inclusive s", "ns"),
    Column("share", "%", "fraction"), Column("share_error", "± %", "fraction"), Column("samples", "samples"),
    Column("mpi_ns", "MPI s", "ns", minor=True), Column("barrier_ns", "barriers s", "ns", minor=True),
    Column("function", "function", "text"), Column("class", kind="text"), Column("defined", kind="text"),
)  # fmt: skip
_FIRST = 3
"""The most functions that the line names."""


def samples(trace: Trace, window: Selection, costs: Costs | None, *, whole: float = 0) -> Sheet:
    """The functions of the program's own code like `vtrace profile`, the largest exclusive time first. costs: None for
    an archive without samples. whole: the ns that shares are of, 0: of all rows of the profile."""
    made = Sheet(name="samples", title="Time inside the program, by samples", columns=[*_COLUMNS], rows=[])
    if costs is None or not costs.samples.rows:
        return made
    numbers = ProfileNumbers(trace=trace, window=window, patterns=Patterns(), costs=costs, by="function", notes=[])
    everything, scale = profile_sheet(numbers), numbers.found.whole / whole if whole else 1.0
    made.rows = [
        _row(row, scale) for row in everything.rows
        if row["source"] == "samples" and row["samples"] and row["class"] != CLASSES[TRACING]
    ]  # fmt: skip
    made.notes = ["100 % are the time of all locations; ± is the standard error"] if whole else everything.notes[:1]
    made.columns = [_shown(column, made.rows) for column in _COLUMNS]
    return made


def _shown(column: Column, rows: list[Row]) -> Column:
    """Text leaves out times in MPI and in barriers if there are none."""
    is_empty = column.key in ("mpi_ns", "barrier_ns") and not any(row[column.key] for row in rows)
    return replace(column, head="") if is_empty else column


def _row(row: Row, scale: float) -> Row:
    shares = {key: row[key] * scale for key in ("share", "share_error")}
    return {column.key: row[column.key] for column in _COLUMNS} | shares


def line(made: Sheet, trace: Source, costs: Costs | None) -> str:
    """The program's own functions with the largest shares, which have the time of the libraries' functions that they
    call; empty without samples."""
    if not made.rows or costs is None:
        return ""
    samples, regions = costs.samples, trace.regions
    recorded = np.append(regions["class"], USER)[costs.tree["region"][samples["inside"]]] != USER
    own = samples.take(~recorded & (samples["context"] >= 0))
    of = OwnCode(trace).above(own["context"])
    names = regions["name"][trace.contexts["region"][of]]
    sums = Counter[str]()
    for name, at, ns in zip(names.tolist(), of.tolist(), (own["count"] * own["ns"]).tolist(), strict=True):
        sums[str(name)] += round(ns) if at >= 0 else 0
    whole = next((row["exclusive_ns"] / row["share"] for row in made.rows if row["share"]), 1.0)
    first = [(name, ns) for name, ns in sums.most_common(_FIRST) if ns]
    width = terminal_width()
    short = shortened([name for name, _ in first], width // 2) if width else {}
    named = [f"{100 * ns / whole:.3g} % {short.get(name, name)}" for name, ns in first]
    count = some(int(own["count"].sum()), "sample")
    return f"{count} in the program's own code" + (f": {', '.join(named)}" if named else "")
