# SPDX-License-Identifier: BSD-3-Clause
"""Prints results as a table of directories and as lists of failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.ways import PLAIN, PRELOADED, TRACED, Result

HEAD = ("directory", "tests", "pass untraced", "traced", "preloaded", "archives consistent", "events")


def table(results: Sequence[Result]) -> str:
    """A table in Markdown: for each directory the numbers of tests, of passed tests in each way, of archives."""
    rows = [list(HEAD), ["---", *["---:"] * (len(HEAD) - 1)]]
    for directory in [*sorted({result.directory for result in results}), ""]:
        rows.append(_row(directory or "all", [r for r in results if directory in ("", r.directory)]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _row(name: str, results: Sequence[Result]) -> list[str]:
    done = Counter(result.way for result in results)
    passed = Counter(result.way for result in results if not result.reason)
    judged = [result for result in results if result.archive is not None]
    good = sum(not result.archive for result in judged)
    return [
        name,
        str(done[PLAIN]),
        str(passed[PLAIN]),
        f"{passed[TRACED]}/{done[TRACED]}",
        f"{passed[PRELOADED]}/{done[PRELOADED]}",
        f"{good}/{len(judged)}",
        f"{sum(result.events for result in results):,}".replace(",", " "),
    ]


def failures(results: Iterable[Result]) -> list[str]:
    """A line for each test that vtrace changed or misrecorded, except known ones."""
    return [f"{r.test} ({r.way}): {r.reason or r.archive}" for r in results if r.failed and not r.known]


def known_failures(results: Iterable[Result]) -> list[str]:
    """A line for each test that is known to fail with vtrace."""
    return [f"{r.test} ({r.way}): {r.known}" for r in results if r.failed and r.known]


def untraced_failures(results: Iterable[Result]) -> list[str]:
    """A line for each test that fails without vtrace."""
    return [f"{r.test}: {r.reason}" for r in results if r.way == PLAIN and r.reason]
