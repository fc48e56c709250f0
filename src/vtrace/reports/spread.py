# SPDX-License-Identifier: BSD-3-Clause
"""The sampled times of functions, loops and lines, and of their calls of MPI and barriers, by process and thread, for
the charts of the report."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.table import Array, Table
from vtrace.reports.profile_sheets import ProfileNumbers, row_name

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

UNITS = ("function", "loop", "line")
_MEASURES = ("own", "mpi", "barrier")
"""Exclusive time, time in MPI, time in barriers."""
_MOST, _LEAST = 40, 3
"""The most and the least rows of each unit."""
_CELLS = 400_000
"""The most values of a unit; with more threads, fewer rows are drawn."""


def chart(trace: Trace, window: Selection, costs: Costs | None) -> dict[str, Any] | None:
    """The data of the charts, for report.js; None without samples.

    items: [unit, name] of the largest rows of each unit. threads: names of the locations with samples or with time in
    items; rank: the place of each thread's process in ranks, the processes' names; process: their rows. seconds: by
    each of _MEASURES that has any, float32 (items, threads) in base64.
    """
    if costs is None or not costs.samples.rows:
        return None
    sampled = np.unique(costs.samples["location"])
    most = int(np.clip(_CELLS // len(sampled), _LEAST, _MOST))
    items: list[tuple[str, str]] = []
    each: list[tuple[int, list[Table]]] = []
    for by in UNITS:
        numbers = ProfileNumbers(trace=trace, window=window, patterns=Patterns(), costs=costs, by=by, notes=[])
        rows = _largest(numbers, most)
        items += [(by, str(row_name(numbers, int(numbers.found.table["key"][row])))) for row in rows.tolist()]
        each.append((len(rows), _cells(numbers, rows)))
    # A thread without samples may wait in calls from the program's functions.
    waiting = [cells["location"] for _, measures in each for cells in measures]
    locations = np.unique(np.concatenate([sampled, *waiting]))
    parts = [_seconds(count, measures, locations) for count, measures in each]
    process = trace.places.process[locations]
    processes, rank = np.unique(process, return_inverse=True)
    names, known = location_names(trace), [*process_names(trace), "no process"]
    return {
        "items": items, "threads": [names[row] for row in locations.tolist()], "rank": rank.tolist(),
        "ranks": [known[row] for row in processes.tolist()], "process": processes.tolist(),
        "seconds": _packed(np.concatenate(parts, axis=1)),
    }  # fmt: skip


def _packed(seconds: Array) -> dict[str, str]:
    each = zip(_MEASURES, seconds.astype("<f4"), strict=True)
    return {name: base64.b64encode(values.tobytes()).decode() for name, values in each if values.any()}


def _largest(numbers: ProfileNumbers, most: int) -> Array:
    """The rows of the program's code with the most time, including calls of MPI and barriers; the largest exclusive
    time first. For loops, without rows outside of loops."""
    table = numbers.found.table
    time = table["exclusive"] + table["mpi"] + table["barrier"]
    shown = table["estimated"] & (time > 0)
    if numbers.by == "loop":
        shown &= table["key"] >= numbers.trace.regions.rows
    rows = np.flatnonzero(shown)
    rows = rows[np.lexsort((rows, -time[rows]))][:most]
    return rows[np.lexsort((rows, -time[rows], -table["exclusive"][rows]))]


def _cells(numbers: ProfileNumbers, rows: Array) -> list[Table]:
    """For each of _MEASURES a table: row (index in rows), location, ns."""
    place = np.full(numbers.found.table.rows, -1)
    place[rows] = np.arange(len(rows))
    found = []
    for cells in (numbers.found.by_location, *numbers.found.parts_by_location()):
        wanted = place[cells["row"]] >= 0
        columns = {"row": place[cells["row"]], "location": cells["location"], "ns": cells["ns"]}
        found.append(Table({name: values[wanted] for name, values in columns.items()}))
    return found


def _seconds(count: int, measures: list[Table], locations: Array) -> Array:
    """(measures, count rows, locations) s."""
    found = np.zeros((len(_MEASURES), count, len(locations)))
    for one, cells in zip(found, measures, strict=True):
        np.add.at(one, (cells["row"], np.searchsorted(locations, cells["location"])), cells["ns"] / 1e9)
    return found
