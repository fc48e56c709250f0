# SPDX-License-Identifier: BSD-3-Clause
"""Counters of large traces in bins of time, as a table beside the tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.metrics import MetricMembers, doubles
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, stack
from vtrace.io.archive.batches import Batch
from vtrace.io.sidecar.sidecar import SidecarTable

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_ROWS, _PER_ROW = 4_000_000, 256
"""About the most rows of the table, and the number of the trace's events for each row."""
_FEWEST, _MOST = 65_536, 65_536
"""Rows that every trace may have; the most bins of a counter of a location."""
_KINDS = {
    "location": np.uint32, "metric": np.uint32, "bin": np.uint32, "count": np.uint32, "low": np.float64,
    "mean": np.float64, "high": np.float64, "last": np.float64,
}  # fmt: skip
_KEYS = ("metric", "bin")
_ONE_BIN = 62
"""The level of a bin with all times."""
_AT_ONCE = 64
"""The number of batches whose bins are joined at once."""


def counter_level(trace: Source) -> int:
    """The level of the bins. A bin is 2^level ns wide."""
    rows = min(_ROWS, max(_FEWEST, int(trace.locations["events"].sum()) // _PER_ROW))
    bins = min(_MOST, max(1, rows // max(1, trace.locations.rows * trace.metric_members.rows)))
    return max(0, (max(trace.duration, 1) // bins).bit_length())


def are_few(trace: Source) -> bool:
    """True if there are counters, and one bin for each of them is not too many rows."""
    return 0 < trace.locations.rows * trace.metric_members.rows <= _ROWS


def counter_table(found: Table | None) -> SidecarTable:
    """The bins as a table of the sidecar; None for a trace that is not large: its values are read from the events."""
    empty = np.empty(0)
    return SidecarTable({name: (found[name] if found else empty).astype(kind) for name, kind in _KINDS.items()})


def counter_bins(trace: Source, tiles: TileFile, metrics: Array, locations: Array) -> Table:
    """The bins of counters (rows of trace.metric_members) that have a value, of these locations: location, metric,
    begin, end (ns), count (of values), low, mean, high, last; ascending by location and begin."""
    columns, level = tiles.tables["counters"].columns, counter_level(trace)
    rows = np.flatnonzero(np.isin(columns["metric"], metrics) & np.isin(columns["location"], locations))
    found = {name: columns[name][rows] for name in _KINDS}
    begin = found.pop("bin").astype(np.int64) << level
    found |= {name: found[name].astype(np.int64) for name in ("location", "metric", "count")}
    table = Table({"begin": begin, "end": begin + (1 << level)} | found)
    return table.take(np.lexsort((table["begin"], table["location"])))


class _CounterPart(Part):
    def __init__(self, owner: CounterBins) -> None:
        self._owner = owner
        self._kept: list[dict[str, Array]] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, "Metric"):
            values = doubles(found["value"], found["type"])
            columns = {
                "metric": self._owner.members.rows(found["ref"], found["member"]),
                "bin": np.clip(found["time"], 0, self._owner.trace.duration) >> self._owner.level,
                "count": np.ones(len(values), np.int64),
            }  # fmt: skip
            self._kept.append(_binned(columns | dict.fromkeys(("low", "sum", "high", "last"), values)))
        if len(self._kept) > _AT_ONCE:
            self._kept = [self.bins()]

    def bins(self) -> dict[str, Array]:
        names = (*_KEYS, "count", "low", "sum", "high", "last")
        return _binned({name: np.concatenate([np.empty(0), *(each[name] for each in self._kept)]) for name in names})


def _binned(columns: dict[str, Array]) -> dict[str, Array]:
    """Joins the rows with the same metric and bin. columns: metric (-1: left out), bin, count, low, sum, high, last; in
    the order of time."""
    order = np.lexsort([columns[name] for name in reversed(_KEYS)])
    order = order[columns["metric"][order] >= 0]
    columns = {name: column[order] for name, column in columns.items()}
    if not len(order):
        return columns
    first = np.flatnonzero(np.any([np.diff(columns[name], prepend=-1) != 0 for name in _KEYS], axis=0))
    found = {name: columns[name][first] for name in _KEYS}
    for name, join in (("count", np.add), ("low", np.minimum), ("sum", np.add), ("high", np.maximum)):
        found[name] = join.reduceat(columns[name], first)
    return found | {"last": columns["last"][np.append(first[1:], len(order)) - 1]}


class CounterBins(Question[_CounterPart, Table]):
    """The values of all counters by location, metric and bin of time: count, low, mean, high, last."""

    kinds = frozenset({"Metric"})

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.members, self.level = MetricMembers(trace), counter_level(trace)

    def part(self, trace: Source, location: int) -> _CounterPart:
        return _CounterPart(self)

    def answer(self) -> Table:
        found = []
        for location, part in self.parts.items():
            bins = part.bins()
            mean = bins.pop("sum") / bins["count"]
            found.append(bins | {"mean": mean, "location": np.full(len(mean), location)})
        return stack(found, _KINDS)


class CounterSums(CounterBins):
    """The same in one bin of all times."""

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.level = _ONE_BIN
