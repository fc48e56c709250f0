# SPDX-License-Identifier: BSD-3-Clause
"""A counter of all rows over time: the lowest, mean and highest value in each column of a window."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.metrics import Metrics
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table
from vtrace.console import some
from vtrace.text import plain
from vtrace.timeline.answers import BadRequest, Content, pack
from vtrace.timeline.counter_bins import counter_bins, counter_level
from vtrace.timeline.rows import with_metrics
from vtrace.timeline.window_reader import WindowReader

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_VALUES = 4_000_000
"""The most values of a counter in memory. If there are more, equal intervals of time each keep the first, last, lowest
and highest value."""
_CELLS = 200_000
"""The most rows times columns of an answer."""
_COUNTERS = 2000
"""The most members of metric classes whose names the page gets."""


def counter_names(trace: Source) -> list[str]:
    """The names of the counters of the page, whose places are the page's numbers for counters."""
    return [*dict.fromkeys(trace.metric_members["name"].tolist()[:_COUNTERS])]


class Curves:
    """Answers about counters, and keeps all values of the last requested counter.

    is_large: reads the events of the window; locations with too many events have the values of bins (counter_bins.py).
    """

    def __init__(self, trace: Source, tiles: TileFile, is_large: bool) -> None:
        self._trace, self._tiles, self._is_large, self._lock = trace, tiles, is_large, Lock()
        self._reader = WindowReader(trace, tiles)
        self._kept: tuple[str, Table, bool] | None = None

    def described(self) -> list[dict[str, str]]:
        """The names and units of the counters."""
        metrics = self._trace.metric_members
        units = dict(zip(metrics["name"].tolist()[::-1], metrics["unit"].tolist()[::-1], strict=True))
        return [{"name": plain(str(name)), "unit": plain(str(units[name]))} for name in counter_names(self._trace)]

    def answer(self, counter: int, rows: Sequence[Array], window: tuple[int, int], bins: int) -> Content:
        """low, mean and high of a counter (its index in described) in each of at most `bins` columns of each row, row
        by row: of the values in the column, else the last value before; NaN: no value so far. The mean of a row with
        several locations is the mean of their means. A row has the values of its locations, else the values of the
        METRIC locations in its processes. Raises BadRequest, FormatError."""
        names = counter_names(self._trace)
        if not 0 <= counter < len(names):
            raise BadRequest(f"{counter} is not a counter")
        bins = max(1, min(bins, _CELLS // max(1, len(rows))))
        of_rows = [with_metrics(self._trace, locations) for locations in rows]
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

    def _values(self, name: str, locations: Array, window: tuple[int, int]) -> tuple[Table, list[str]]:
        """Values of the locations as bins, by location and time; lines about joined values."""
        metrics = np.flatnonzero(self._trace.metric_members["name"] == name)
        if self._is_large:
            found = self._reader.window(locations.tolist(), *window)
            near = _single(found.metrics.take(np.isin(found.metrics["metric"], metrics)))
            far = counter_bins(self._trace, self._tiles, metrics, np.array(found.skipped, np.int64))
            table = Table({column: np.concatenate([near[column], far[column]]) for column in near})
            count, width = len(found.skipped), (1 << counter_level(self._trace)) / 1e6
            lines = [f"{some(count, 'location')}: bins of {width:.3g} ms; zoom in for single values."]
            return table.take(np.lexsort((table["begin"], table["location"]))), lines * bool(far.rows)
        with self._lock:
            if self._kept is None or self._kept[0] != name:
                question = Metrics(metrics, max(1, _VALUES // max(1, self._trace.locations.rows)))
                ask(self._trace, [question])
                self._kept = name, _single(question.answer()), question.thinned
            _, table, thinned = self._kept
        return table, ["Many values: the lowest and highest are exact, means are approximate."] * thinned


def _single(table: Table) -> Table:
    """Single values as bins (counter_bins.py), by location and time."""
    table = table.take(np.lexsort((table["time"], table["location"])))
    value, begin = table["value"], table["time"]
    return Table(
        {"location": table["location"], "begin": begin, "end": begin + 1, "count": np.ones(table.rows, np.int64)}
        | dict.fromkeys(("low", "mean", "high", "last"), value)
    )


def _columns(values: Table, location: int, window: tuple[int, int], bins: int) -> Array | None:
    """(3, bins) low, mean, high of a location; None: no values. A bin wider than a column counts in each column that
    the bin touches."""
    first, last = np.searchsorted(values["location"], (location, location + 1))
    if first == last:
        return None
    start, stop = window
    mine = values.take(slice(first, last))
    begin, end = np.searchsorted(mine["end"], start, "right"), np.searchsorted(mine["begin"], stop)
    inside = mine.take(slice(begin, end))
    left, right = ((inside[name] - start - less) * bins // (stop - start) for name, less in (("begin", 0), ("end", 1)))
    left, right = np.maximum(left, 0), np.minimum(right, bins - 1)
    sizes = right - left + 1
    inside = inside.take(np.repeat(np.arange(inside.rows), sizes))
    step = np.arange(inside.rows) + np.repeat(left - (np.cumsum(sizes) - sizes), sizes)
    used, at, counts = np.unique(step, return_index=True, return_counts=True)
    carried = np.full(bins, np.nan)
    carried[used] = inside["last"][at + counts - 1] if inside.rows else 0
    known = np.maximum.accumulate(np.where(np.isnan(carried), -1, np.arange(bins)))
    before = mine["last"][begin - 1] if begin else np.nan
    found = np.tile(np.where(known >= 0, carried[np.maximum(known, 0)], before), (3, 1))
    if inside.rows:
        found[0, used], found[2, used] = np.minimum.reduceat(inside["low"], at), np.maximum.reduceat(inside["high"], at)
        weights = inside["count"]
        found[1, used] = np.add.reduceat(inside["mean"] * weights, at) / np.add.reduceat(weights, at)
    return found


def _joined(cells: Array) -> Array:
    """Low, mean and high of several locations. cells: (locations, 3, bins)."""
    known = ~np.isnan(cells[:, 1])
    mean = np.where(known, cells[:, 1], 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    found: Array = np.stack([
        np.fmin.reduce(cells[:, 0]), np.where(known.any(axis=0), mean, np.nan), np.fmax.reduce(cells[:, 2]),
    ])  # fmt: skip
    return found
