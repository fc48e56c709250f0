# SPDX-License-Identifier: BSD-3-Clause
"""Tables for people (terminal, pipe) and for programs (CSV, JSON). Names are data: control characters are escaped."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.analysis.questions.timeline_data import span
from vtrace.text import plain

Row = dict[str, Any]
_FOLDED, _BETWEEN = 24, 3
"""The least width of the last column if it has names; blanks and lines between two columns."""


def _count(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.6g}"


def _signed(show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: f"{'+' if value > 0 else ''}{show(value)}"


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:,.6f}"


def _path(names: Sequence[str]) -> str:
    return " > ".join(map(plain, names))


def _short(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


_SHOW: dict[str, Callable[[Any], str]] = {
    "text": lambda value: plain(str(value)), "path": _path, "mark": lambda value: "yes" if value else "",
    "count": _count, "ns": _seconds, "span": span, "ratio": _short,
    "share": lambda value: f"{value:.1f}", "fraction": lambda value: f"{100 * value:.1f}",
    "count difference": _signed(_count), "ns difference": _signed(_seconds),
    "percent": _signed(lambda value: f"{_short(value)} %"),
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column. key: of the values in rows, for programs. head: for people, "" for columns that people do not see.

    kind: text, path (names from the outermost on), mark (yes or nothing), count, ns (shown in s), span (ns, shown in a
    unit that fits), ratio, share (percent), fraction (shown in percent), or a difference of these.
    """

    key: str
    head: str = ""
    kind: str = "count"
    minor: bool = False
    """A narrow terminal leaves the column out."""
    missing: str = ""
    """What people see if the value is unknown."""

    @property
    def left(self) -> bool:
        """True for columns that are aligned to the left."""
        return self.kind in ("text", "path")

    def show(self, value: Any) -> str:
        """The text of a value for people; `missing` for None, NaN and infinity."""
        if value is None or (isinstance(value, float) and not np.isfinite(value)):
            return self.missing
        return _SHOW[self.kind](value)


@dataclass
class Sheet:
    """A table. rows: all rows, by the columns' keys. shown: the places of the rows that people see, None: all. totals:
    a row below, for people. marks: (row, key) -> a mark behind the value. notes: lines below."""

    name: str
    title: str
    columns: list[Column]
    rows: list[Row]
    shown: list[int] | None = None
    totals: Row = field(default_factory=dict)
    marks: dict[tuple[int, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def seen(self) -> tuple[list[Column], list[list[str]]]:
        """The columns with values and the texts of the rows, as people see them."""
        columns = [column for column in self.columns if column.head]
        marked = {key for _, key in self.marks}
        rows = []
        for place in [*(range(len(self.rows)) if self.shown is None else self.shown), *[-1] * bool(self.totals)]:
            row = self.rows[place] if place >= 0 else self.totals
            marks = (self.marks.get((place, c.key), " " * (c.key in marked)) for c in columns)
            rows.append([c.show(row.get(c.key)) + mark for c, mark in zip(columns, marks, strict=True)])
        used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
        return [columns[place] for place in used], [[row[place] for place in used] for row in rows]

    def cut(self, most: int, where: str, places: Sequence[int] | None = None) -> Sheet:
        """Shows people the first rows only, and adds a note if there are more. places: of these rows, None: of all.
        where: text on how to get all rows."""
        of = range(len(self.rows)) if places is None else places
        if places is not None or len(of) > most:
            self.shown = list(of[:most])
        if len(of) > most:
            self.notes.append(f"the first {most:,} of {len(of):,}: {where}")
        return self


def show(sheets: Sequence[Sheet]) -> None:
    """Prints tables: rich tables on a terminal, else text in columns."""
    one = _rich if sys.stdout.isatty() else _text
    for number, sheet in enumerate(sheets):
        if number:
            print()
        one(sheet)


def _text(sheet: Sheet) -> None:
    print(plain(sheet.title))
    columns, rows = sheet.seen()
    rows.insert(0, [column.head for column in columns])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, columns, strict=True)
        print("  " + "  ".join(t.ljust(w) if c.left else t.rjust(w) for t, w, c in cells).rstrip())
    for note in sheet.notes:
        print(f"  {plain(note)}")


def _rich(sheet: Sheet) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    columns, rows = sheet.seen()
    fitting = _fitting(columns, rows, console.width)
    if not fitting:
        _text(sheet)  # the terminal breaks its lines, but no number
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place in fitting:
        left = columns[place].left
        folds = left and place == fitting[-1]
        table.add_column(columns[place].head, justify="left" if left else "right", no_wrap=not folds, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in fitting))
    console.print(Text(plain(sheet.title), style="bold"))
    console.print(table)
    for note in sheet.notes:
        console.print(Text(f"  {plain(note)}", style="dim"))


def _fitting(columns: list[Column], rows: list[list[str]], width: int) -> list[int]:
    """Places of the columns that fit a terminal, minor ones left out if necessary; empty if no set of columns fits."""
    widths = [max(map(len, texts)) for texts in zip([c.head for c in columns], *rows, strict=True)]
    if columns[-1].left:
        widths[-1] = min(widths[-1], _FOLDED)
    places = list(range(len(columns)))
    for place in [None, *(place for place in reversed(places) if columns[place].minor)]:
        places = [other for other in places if other != place]
        if sum(widths[other] + _BETWEEN for other in places) <= width:
            return places
    return []


def csv_text(sheets: Sequence[Sheet]) -> str:
    """The tables as CSV with all rows; several tables have a line with the name before each."""
    out = io.StringIO()
    for number, sheet in enumerate(sheets):
        if len(sheets) > 1:
            out.write(f"{chr(10) if number else ''}# {sheet.name}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column.key for column in sheet.columns])
        for row in sheet.rows:
            writer.writerow([_cell(row.get(column.key)) for column in sheet.columns])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """The value of a cell; control characters are escaped, since CSV may be shown on a terminal."""
    if isinstance(value, list):
        return _path(value)
    return plain(value) if isinstance(value, str) else "" if _plain(value) is None else value


def data(sheets: Sequence[Sheet]) -> dict[str, list[Row]]:
    """The tables for JSON: all rows, by the names of the tables; None for NaN and infinity."""
    return {
        sheet.name: [{column.key: _plain(row.get(column.key)) for column in sheet.columns} for row in sheet.rows]
        for sheet in sheets
    }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
