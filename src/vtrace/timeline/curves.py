# SPDX-License-Identifier: BSD-3-Clause
"""A counter of all rows over time: lowest, mean and highest value in each column of a window."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.metrics import Metrics
from vtrace.analysis.table import Array, Table
from vtrace.text import plain
from vtrace.timeline.columns import pack
from vtrace.timeline.server import Content, Wrong
from vtrace.timeline.window import MOST, WindowReader

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.tile_file import TileFile

_VALUES = 4_000_000
"""Values of a counter in memory. Of more the first, last, lowest and highest of equal stretches of time are kept."""
_CELLS = 200_000
"""Rows times columns of an answer."""
_NAMES = 2000
"""Counters whose names the page gets."""


class Curves:
    """Answers for counters. All values of the counter that was asked for last are kept.

    is_large: the values are those of the events of the window, which are read, if these are not too many.
    """

    def __init__(self, trace: Source, tiles: TileFile, is_large: bool) -> None:
        self._trace, self._is_large, self._lock = trace, is_large, Lock()
        self._reader = WindowReader(trace, tiles)
        self._kept: tuple[str, Table, bool] | None = None

    def described(self) -> list[dict[str, str]]:
        """The names and units of the counters."""
        metrics = self._trace.metrics
        units = dict(zip(metrics["name"].tolist()[::-1], metrics["unit"].tolist()[::-1], strict=True))
        names = dict.fromkeys(metrics["name"].tolist()[:_NAMES])
        return [{"name": plain(str(name)), "unit": plain(str(units[name]))} for name in names]

    def answer(self, counter: int, rows: Sequence[Array], window: tuple[int, int], bins: int) -> Content:
        """Of a counter (its place in described) low, mean and high in each of at most `bins` columns of each row, row
        by row: of the values read there, else the last one before; NaN: none so far. Of a row of several locations the
        mean of their means. A row has the values of its locations, else those of the locations of type METRIC in its
        processes. Raises Wrong, FormatError."""
        names = [*dict.fromkeys(self._trace.metrics["name"].tolist()[:_NAMES])]
        if not 0 <= counter < len(names):
            raise Wrong(f"{counter} is not a counter")
        bins = max(1, min(bins, _CELLS // max(1, len(rows))))
        of_rows = [self._with_metrics(locations) for locations in rows]
        every = np.unique(np.concatenate([np.empty(0, np.int64), *of_rows]))
        values, lines = self._values(names[counter], every, window)
        cells = np.full((3, len(rows), bins), np.nan)
        for number, (own, more) in enumerate(zip(rows, of_rows, strict=True)):
            for locations in (own, np.setdiff1d(more, own)):
                found = [
                    each for row in locations.tolist() if (each := _columns(values, row, window, bins)) is not None
                ]
                if found:
                    cells[:, number] = _joined(np.stack(found))
                    break
        columns = dict(zip(("low", "mean", "high"), (cell.ravel() for cell in cells), strict=True))
        return pack(columns, bins=bins, lines=lines)

    def _with_metrics(self, locations: Array) -> Array:
        """The locations, and those of type METRIC in their processes."""
        places, kinds = self._trace.places.process, self._trace.locations["type"]
        processes = np.unique(places[locations])
        more = np.flatnonzero((kinds == "METRIC") & np.isin(places, processes[processes >= 0]))
        return np.union1d(locations, more)

    def _values(self, name: str, locations: Array, window: tuple[int, int]) -> tuple[Table, list[str]]:
        """Values of the locations, by location and time; lines about what is left out."""
        metrics = np.flatnonzero(self._trace.metrics["name"] == name)
        if self._is_large:
            found = self._reader.window(locations.tolist(), *window)
            table = found.metrics.take(np.isin(found.metrics["metric"], metrics))
            lines = [f"{len(found.skipped)} locations have no curve: of more than {MOST:,} events; zoom in."]
            return _ordered(table), lines * bool(found.skipped)
        with self._lock:
            if self._kept is None or self._kept[0] != name:
                question = Metrics(metrics, max(1, _VALUES // max(1, self._trace.locations.rows)))
                self._trace.scan([question])
                self._kept = name, _ordered(question.answer()), question.thinned
            _, table, thinned = self._kept
        return table, ["Of many values lowest and highest are exact, means are about."] * thinned


def _ordered(table: Table) -> Table:
    return table.take(np.lexsort((table["time"], table["location"])))


def _columns(values: Table, location: int, window: tuple[int, int], bins: int) -> Array | None:
    """(3, bins) low, mean, high of a location; None: it has no value."""
    first, last = np.searchsorted(values["location"], (location, location + 1))
    if first == last:
        return None
    start, stop = window
    time, value = values["time"][first:last], values["value"][first:last]
    begin, end = np.searchsorted(time, (start, stop))
    step = (time[begin:end] - start) * bins // (stop - start)
    used, at, counts = np.unique(step, return_index=True, return_counts=True)
    inside = value[begin:end]
    carried = np.full(bins, np.nan)
    carried[used] = inside[at + counts - 1] if len(inside) else 0
    known = np.maximum.accumulate(np.where(np.isnan(carried), -1, np.arange(bins)))
    before = value[begin - 1] if begin else np.nan
    found = np.tile(np.where(known >= 0, carried[np.maximum(known, 0)], before), (3, 1))
    if len(inside):
        found[0, used], found[2, used] = np.minimum.reduceat(inside, at), np.maximum.reduceat(inside, at)
        found[1, used] = np.add.reduceat(inside, at) / counts
    return found


def _joined(cells: Array) -> Array:
    """Low, mean and high of several locations. cells: (locations, 3, bins)."""
    known = ~np.isnan(cells[:, 1])
    mean = np.where(known, cells[:, 1], 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    found: Array = np.stack([
        np.fmin.reduce(cells[:, 0]), np.where(known.any(axis=0), mean, np.nan), np.fmax.reduce(cells[:, 2]),
    ])  # fmt: skip
    return found
