# SPDX-License-Identifier: BSD-3-Clause
"""Tables for people (terminal, pipe) and for programs (CSV, JSON). Names are data: control characters are escaped."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.analysis.questions.timeline_data import span
from vtrace.console import bold, terminal_width
from vtrace.text import plain

Row = dict[str, Any]
_FOLDED, _BETWEEN = 24, 2
"""The least width of the last column if it has names; blanks before each column."""


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
    """A column. key: of the values in rows, for programs. head: for people, "" for columns that text omits.

    kind: text, path (names from the outermost on), mark (yes or nothing), count, ns (shown in s), span (ns, shown in a
    unit that fits), ratio, share (percent), fraction (shown in percent), or a difference of these.
    """

    key: str
    head: str = ""
    kind: str = "count"
    minor: bool = False
    """A narrow terminal leaves the column out."""
    missing: str = ""
    """Text shown for an unknown value."""

    @property
    def left(self) -> bool:
        """True for columns that are aligned to the left."""
        return self.kind in ("text", "path")

    def show(self, value: Any) -> str:
        """The text of a value for people; `missing` for None, NaN and infinity."""
        if value is None or (isinstance(value, float) and not np.isfinite(value)):
            return self.missing
        return _SHOW[self.kind](value)


@dataclass(kw_only=True)
class Sheet:
    """A table. rows: all rows, by the columns' keys. shown: the indices of the rows in text, None: all. totals: a row
    below the others, in text only. marks: (row, key) -> a mark after the value. notes: lines below the table."""

    name: str
    title: str
    columns: list[Column]
    rows: list[Row]
    shown: list[int] | None = None
    totals: Row = field(default_factory=dict)
    marks: dict[tuple[int, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def seen(self) -> tuple[list[Column], list[list[str]]]:
        """The columns with values and the texts of the rows, as text shows them."""
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
        """Shows only the first rows in text, and adds a note if there are more. places: the indices of the rows to
        choose from, None: all. where: text on how to get all rows."""
        of = range(len(self.rows)) if places is None else places
        if places is not None or len(of) > most:
            self.shown = list(of[:most])
        if len(of) > most:
            self.notes.append(f"the first {most:,} of {len(of):,}: {where}")
        return self


def show(sheets: Sequence[Sheet]) -> None:
    """Prints tables in columns. On a terminal the tables fit into its width if possible, and heads are bold."""
    width = terminal_width()
    for number, sheet in enumerate(sheets):
        if number:
            print()
        _print(sheet, width)


def _print(sheet: Sheet, width: int | None) -> None:
    heading = bold if width else str
    columns, rows = sheet.seen()
    if columns:
        _print_rows(sheet.title, columns, rows=rows, width=width, heading=heading)
    else:
        print(f"{heading(plain(sheet.title))}\n  no rows")
    for note in sheet.notes:
        print(f"  {plain(note)}")


def _print_rows(
    title: str, columns: list[Column], rows: list[list[str]], width: int | None, *, heading: Callable[[str], str]
) -> None:
    fitting = _fitting(columns, rows, width) if width else []
    # If no set of columns fits, lines are longer than the terminal's width.
    places = fitting or list(range(len(columns)))
    rows = [[columns[place].head for place in places], *([row[place] for place in places] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(heading(plain(title)))
    for number, row in enumerate(rows):
        cells = zip(row, widths, places, strict=True)
        *before, last = [t.ljust(w) if columns[p].left else t.rjust(w) for t, w, p in cells]
        begin = "".join(f"  {text}" for text in before) + "  "
        room = width - len(begin) if width and fitting and columns[places[-1]].left else len(last)
        folded = textwrap.wrap(last, room) or [""] if room < len(last.rstrip()) else [last.rstrip()]
        line = f"\n{' ' * len(begin)}".join(folded)
        print(heading(f"{begin}{line}".rstrip()) if not number else f"{begin}{line}".rstrip())


def _fitting(columns: list[Column], rows: list[list[str]], width: int) -> list[int]:
    """The indices of the columns that fit a terminal, without minor columns if necessary; empty if no set fits."""
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
    """The tables as CSV with all rows; if there are several, a line with its name is before each table."""
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
