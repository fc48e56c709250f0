# SPDX-License-Identifier: BSD-3-Clause
"""Tables for people (terminal, pipe) and for programs (CSV, JSON). Names are data: control characters are escaped."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.analysis.questions.timeline_data import span
from vtrace.console import bold, say, some, terminal_width
from vtrace.short_names import folded, short_line
from vtrace.text import plain

Row = dict[str, Any]
_LAST, _NAMES = 30, 20
"""The least width of the last column if it has names, and of other columns with names."""
_AROUND, _LEAST = 4, 2
"""Lines of a table beside its rows; see fitting."""
_BETWEEN, _FURTHER = 2, 6
"""Blanks before each column, and before the further lines of a row that needs several."""


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
    "text": lambda value: plain(str(value)), "tree": lambda value: plain(str(value)), "path": _path,
    "mark": lambda value: "yes" if value else "",
    "count": _count, "ns": _seconds, "span": span, "ratio": _short,
    "share": lambda value: f"{value:.1f}", "fraction": lambda value: f"{100 * value:.1f}",
    "count difference": _signed(_count), "ns difference": _signed(_seconds),
    "percent": _signed(lambda value: f"{_short(value)} %"),
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column. key: of the values in rows, for programs. head: for people, "" for columns that text omits.

    kind: text, tree (text behind blanks), path (names from the outermost on), mark (yes or nothing), count, ns (shown
    in s), span (ns, shown in a unit that fits), ratio, share (percent), fraction (shown in percent), or a difference of
    these.
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
        return self.kind in ("text", "path", "tree")

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


def fitting(sheets: Sequence[Sheet], lines: int, where: str) -> list[Sheet]:
    """The first tables, with as many rows as fit into so many lines, but at least _LEAST tables and rows. where: as in
    Sheet.cut."""
    kept = list(sheets[: max(_LEAST, lines // (_AROUND + _LEAST))])
    rows = max(_LEAST, lines // max(1, len(kept)) - _AROUND)
    for each in kept:
        each.cut(rows, where, each.shown)
    if len(kept) < len(sheets):
        kept[-1].notes.append(f"{some(len(sheets) - len(kept), 'more table')}: --tables")
    return kept


def show(sheets: Sequence[Sheet]) -> None:
    """Prints tables in columns. On a terminal the tables fit into its width, and heads are bold."""
    width = terminal_width()
    for number, sheet in enumerate(sheets):
        if number:
            print()
        _print(sheet, width)


def _print(sheet: Sheet, width: int | None) -> None:
    heading = bold if sys.stdout.isatty() else str
    columns, rows = sheet.seen()
    if columns:
        print(heading(short_line(plain(sheet.title), width)))
        for number, line in enumerate(_lines(columns, [[column.head for column in columns], *rows], width)):
            print(heading(line) if not number else line)
    else:
        print(f"{heading(short_line(plain(sheet.title), width))}\n  no rows")
    for note in sheet.notes:
        say(note, "  ")


def _lines(columns: list[Column], rows: list[list[str]], width: int | None) -> Iterator[str]:
    """The rows, the heads first, in lines of a terminal's width."""
    places = _kept(columns, rows, width) if width else [*range(len(columns))]
    shown, rows = [columns[place] for place in places], [[row[place] for place in places] for row in rows]
    cells = [[[text] for text in texts] for texts in zip(*rows, strict=True)]
    widths = [max(map(len, texts)) for texts in zip(*rows, strict=True)]
    if width:
        for place, size in _narrowed(shown, widths, width).items():
            texts = [row[place] for row in rows]
            cells[place] = folded(texts, max(size, len(texts[0])), kind=shown[place].kind)
            widths[place] = max(len(line) for cell in cells[place] for line in cell)
    groups = _groups(widths, width)
    for number in range(len(rows)):
        for group in groups:
            indent = _BETWEEN if group is groups[0] else _FURTHER
            yield from _joined([(cells[p][number], widths[p], shown[p].left) for p in group], indent)


def _joined(cells: list[tuple[list[str], int, bool]], indent: int) -> Iterator[str]:
    """The lines of cells side by side. cells: lines, width, and whether these are aligned to the left."""
    for line in range(max(len(texts) for texts, _, _ in cells)):
        parts = []
        for texts, size, left in cells:
            text = texts[line] if line < len(texts) else ""
            parts.append(text.ljust(size) if left else text.rjust(size))
        yield (" " * indent + (" " * _BETWEEN).join(parts)).rstrip()


def _kept(columns: list[Column], rows: list[list[str]], width: int) -> list[int]:
    """The indices of the columns, without minor columns if a terminal has no room for them."""
    widths = [max(map(len, texts)) for texts in zip(*rows, strict=True)]
    least = [
        _least(column, size, place == len(widths) - 1)
        for place, (column, size) in enumerate(zip(columns, widths, strict=True))
    ]
    places = [*range(len(columns))]
    for place in reversed([place for place in places if columns[place].minor]):
        if sum(least[other] + _BETWEEN for other in places) > width:
            places.remove(place)
    return places


def _least(column: Column, width: int, is_last: bool) -> int:
    return min(width, _LAST if is_last else _NAMES) if column.left else width


def _narrowed(columns: list[Column], widths: list[int], width: int) -> dict[int, int]:
    """The widths of the columns with names that must be narrower, by place. A last column without room among the others
    gets a line of its own."""
    found: dict[int, int] = {}
    last = len(columns) - 1
    for place, least in [(last, _LAST), *((place, _NAMES) for place in reversed(range(last)))]:
        over = sum(found.get(other, size) + _BETWEEN for other, size in enumerate(widths)) - width
        if over > 0 and columns[place].left and widths[place] > least:
            found[place] = max(widths[place] - over, least)
    if last in found and sum(found.get(other, size) + _BETWEEN for other, size in enumerate(widths)) > width:
        found[last] = min(widths[last], max(width - _FURTHER, _LAST))
    return found


def _groups(widths: list[int], width: int | None) -> list[list[int]]:
    """The places of the columns that share a line: all of them, if these fit."""
    groups: list[list[int]] = [[]]
    used = 0
    for place, size in enumerate(widths):
        if width and groups[-1] and used + _BETWEEN + size > width:
            groups.append([])
            used = _FURTHER - _BETWEEN
        groups[-1].append(place)
        used += _BETWEEN + size
    return groups


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
