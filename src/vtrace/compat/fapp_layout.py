# SPDX-License-Identifier: BSD-3-Clause
"""The text and CSV layouts of the Advanced Profiler, Figures 3.13 to 3.26 of its guide."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from vtrace.compat.fapp import PA_HEAD, FappReport, FappTable

_RULE = "-" * 105
_STARS = "*" * 105
_KIND = 6


def text(report: FappReport, version: str) -> Iterator[str]:
    """The lines of the report. version: of vtrace."""
    yield _RULE
    yield f"Advanced Performance Profiler (layout; written by vtrace {version})"
    for name, value in report.environment:
        yield f"{name:<24}: {value}"
    yield _RULE
    for part in report.parts:
        yield from ("", part.title)
        for level in part.levels:
            yield from ("", _STARS, level.title, _STARS)
            for table in level.tables:
                yield from _table(table)


def _table(table: FappTable) -> Iterator[str]:
    rows = [row for group in table.groups for row in group]
    skipped = len(PA_HEAD) if table.names else 0
    columns = list(zip(table.head, *(row.cells for row in rows), strict=True))[skipped:]
    widths = [max(map(len, column)) + 2 for column in columns]
    kind = _KIND if table.has_kinds else 0
    yield ""
    if table.title:
        yield from (table.title, _RULE)
    for head, name in zip(table.head, table.names, strict=False):
        if head != name:
            yield f"{head} = {name}"
    if table.names:
        yield ""
    heads = "".join(f"{column[0]:>{width}}" for column, width in zip(columns, widths, strict=True))
    yield f"{'Kind' if kind else '':<{kind}}{heads}"
    yield _RULE
    before = ""
    for place, group in enumerate(table.groups):
        if place:
            yield _RULE
        for row in group:
            cells = "".join(f"{cell:>{width}}" for cell, width in zip(row.cells[skipped:], widths, strict=True))
            name = " ".join(row.section.rpartition("/")[::2]) if row.section != before else ""
            before, shown = row.section, [row.function, name] if row.kind in ("", "AVG") else []
            yield f"{row.kind:<{kind}}{cells}  {' '.join(filter(None, shown))}".rstrip()


def csv_text(report: FappReport, version: str) -> str:
    """The report as CSV: tables with a title line and a head, and an empty line before each."""
    into = io.StringIO()
    writer = csv.writer(into, lineterminator="\n")
    writer.writerow(["Advanced Performance Profiler", f"layout; written by vtrace {version}"])
    writer.writerows(report.environment)
    for part in report.parts:
        for level in part.levels:
            for table in level.tables:
                rows = [row for group in table.groups for row in group]
                has_functions = any(row.function for row in rows)
                kind = ["Kind"] if table.has_kinds else []
                title = f"{part.title} - {level.title}" + (f" - {table.title}" if table.title else "")
                head = [*kind, *(table.names or table.head), "Name", "Number", *(["Function"] if has_functions else [])]
                writer.writerows([[], [title], head])
                for row in rows:
                    name, _, number = row.section.rpartition("/")
                    cells = [row.kind, *row.cells] if table.has_kinds else row.cells
                    writer.writerow([*cells, name, number, *([row.function] if has_functions else [])])
    return into.getvalue()
