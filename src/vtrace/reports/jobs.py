# SPDX-License-Identifier: BSD-3-Clause
"""The table of vtrace jobs: the runs in a directory of job files, each with its change against the run before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from vtrace.reports.sheet import Column, Row, Sheet

_LEAST = 0.01
"""Changes of a region of a smaller share of the run's time are not told."""
_OUTSIDE = "outside of recorded calls"


def add_changes(rows: Sequence[Row]) -> None:
    """Adds to each row the change against the last run before it of the same program and the same number of ranks:
    before (the row's file), wall_change (share), change_region, change_s (the region whose time per process has changed
    most, in seconds); None without such a run. rows: ascending by start."""
    last: dict[Any, Row] = {}
    for row in rows:
        key = row["program"], row["ranks"], row["processes"]
        row |= _change(last.get(key), row)
        last[key] = row


def _change(before: Row | None, row: Row) -> Row:
    found: Row = dict.fromkeys(("before", "wall_change", "change_region", "change_s"))
    if before is None:
        return found
    found["before"] = before["file"]
    if before["wall"] and row["wall"] is not None:
        found["wall_change"] = row["wall"] / before["wall"] - 1
    old, new = (dict(map(tuple, one["regions"])) for one in (before, row))
    changes = {name: new.get(name, 0.0) - old.get(name, 0.0) for name in [*new, *old]}
    largest = max(changes, key=lambda name: abs(changes[name]), default=None)
    if largest is not None and abs(changes[largest]) > _LEAST * (before["wall"] or 0):
        found |= {"change_region": largest or _OUTSIDE, "change_s": changes[largest]}
    return found


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table, the newest run first. rows: with changes, ascending by start."""
    columns = [
        Column("started", "started", "text"), Column("program", "program", "text"), Column("user", "user", "text"),
        Column("ranks", "ranks"), Column("wall_ns", "wall", "span"),
        Column("efficiency", "efficiency %", "fraction", missing="-"), Column("mpi", "MPI %", "fraction", missing="-"),
        Column("io", "I/O %", "fraction", missing="-"), Column("change", "against the run before", "text"),
        Column("file", "file", "text"),
    ]  # fmt: skip
    return Sheet(name="jobs", title="Jobs, the newest first", columns=columns, rows=[_shown(row) for row in rows[::-1]])


def _shown(row: Row) -> Row:
    start, wall = row["start"], row["wall"]
    return row | {
        "started": "" if start is None else _time(start), "change": _text(row), "ranks": row["ranks"] or None,
        "wall_ns": None if wall is None else wall * 1e9,
    }  # fmt: skip


def _time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # of a damaged file
        return "?"


def _text(row: Row) -> str:
    """+23 % wall: solve +1.2 s."""
    if row["wall_change"] is None:
        return ""
    text = f"{100 * row['wall_change']:+.3g} % wall"
    return f"{text}: {row['change_region']} {row['change_s']:+.3g} s" if row["change_region"] else text
