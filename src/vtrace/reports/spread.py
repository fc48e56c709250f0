# SPDX-License-Identifier: BSD-3-Clause
"""The sampled times of functions, loops and lines by process and thread, for the charts of the report."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.table import Array
from vtrace.reports.profile_sheets import ProfileNumbers, row_name

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

UNITS = ("function", "loop", "line")
_MOST, _LEAST = 40, 3
"""Rows of each unit."""
_CELLS = 400_000
"""Numbers of a unit: of more threads, fewer rows are drawn."""


def chart(trace: Trace, window: Selection, costs: Costs | None) -> dict[str, Any] | None:
    """The data of the charts, for report.js; None without samples.

    items: [unit, name] of the largest rows of each unit. threads: names of the locations with time in them; rank: the
    place of each thread's process in ranks, the processes' names; process: their rows. seconds: float32 (items,
    threads) in base64.
    """
    if costs is None or not costs.samples.rows:
        return None
    locations = np.unique(costs.samples["location"])
    most = int(np.clip(_CELLS // len(locations), _LEAST, _MOST))
    items: list[tuple[str, str]] = []
    parts: list[Array] = [np.zeros((0, len(locations)))]
    for by in UNITS:
        numbers = ProfileNumbers(trace, window, Patterns(), costs, by, [])
        rows = _largest(numbers, most)
        items += [(by, str(row_name(numbers, int(numbers.found.table["key"][row])))) for row in rows.tolist()]
        parts.append(_seconds(numbers, rows, locations))
    process = trace.places.process[locations]
    processes, rank = np.unique(process, return_inverse=True)
    names, known = location_names(trace), [*process_names(trace), "no process"]
    return {
        "items": items, "threads": [names[row] for row in locations.tolist()], "rank": rank.tolist(),
        "ranks": [known[row] for row in processes.tolist()], "process": processes.tolist(),
        "seconds": base64.b64encode(np.concatenate(parts).astype("<f4").tobytes()).decode(),
    }  # fmt: skip


def _largest(numbers: ProfileNumbers, most: int) -> Array:
    """Rows of the table with samples, the largest exclusive time first; of loops those that are loops."""
    table = numbers.found.table
    shown = table["estimated"] & (table["samples"] > 0) & (table["exclusive"] > 0)
    if numbers.by == "loop":
        shown &= table["key"] >= numbers.trace.regions.rows
    rows = np.flatnonzero(shown)
    return rows[np.lexsort((rows, -table["exclusive"][rows]))][:most]


def _seconds(numbers: ProfileNumbers, rows: Array, locations: Array) -> Array:
    """(rows, locations) exclusive time in s."""
    place = np.full(numbers.found.table.rows, -1)
    place[rows] = np.arange(len(rows))
    found = np.zeros((len(rows), len(locations)))
    cells = numbers.found.by_location
    wanted = (place[cells["row"]] >= 0) & np.isin(cells["location"], locations)
    at = place[cells["row"][wanted]], np.searchsorted(locations, cells["location"][wanted])
    np.add.at(found, at, cells["ns"][wanted] / 1e9)
    return found
