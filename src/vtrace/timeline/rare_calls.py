# SPDX-License-Identifier: BSD-3-Clause
"""Calls that rows mark at any zoom: outliers, and long MPI waits."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Question, ReplayPart
from vtrace.analysis.questions.profile import Profile
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.reader_abi import SLICE
from vtrace.timeline.answers import Content, pack

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.analysis.trace import Trace
    from vtrace.timeline.prepared import Prepared

TIMES = 10
"""An outlier lasts at least TIMES the mean of all calls of its region."""
PARTS = 1000
"""A wait is marked if it lasts at least 1/PARTS of the trace's time."""
OUTLIER, WAIT = 0, 1
_MOST = 100_000
"""The most calls of each kind in memory: the outliers with the largest ratio to the mean, the longest waits."""
_NAMES = ("location", "begin", "end", "depth", "region")


class RareCalls:
    """The rare calls of the selected locations of a trace. Reads all events for the first answer, and keeps the calls.

    is_large: reads the events only if `every` asks for this.
    """

    def __init__(self, trace: Trace, prepared: Prepared, part: Selection, is_large: bool) -> None:
        self._trace, self._prepared, self._part, self._is_large = trace, prepared, part, is_large
        self._lock, self._found = Lock(), dict[bool, tuple[Table, list[str]]]()
        self._outliers: tuple[Table, bool] | None = None

    def answer(self, rows: Sequence[Array], window: tuple[int, int], bins: int, every: bool) -> Content:
        """The marks of rows (the locations of each) in a window: row, kind (OUTLIER, WAIT), location, begin, end, depth
        and region of the call, size (an outlier: times its region's mean; a wait: ns); ascending by row and time. Each
        bin of a row has only the largest call of each kind that starts in the bin.

        every: also reads the events of a large trace, and computes waits if no diagnosis is stored."""
        found, notes = self._calls(every)
        place = np.full(self._trace.locations.rows, -1, np.int64)
        for number, locations in enumerate(rows):
            place[locations] = number
        row, (start, stop) = place[found["location"]], window
        inside = (row >= 0) & (found["begin"] < stop) & ((found["end"] > start) | (found["begin"] >= start))
        found, row = found.take(inside), row[inside]
        step = np.maximum(found["begin"] - start, 0) * bins // (stop - start)
        keys = np.stack([row, step, found["kind"]])
        order = np.lexsort((-found["size"], *keys[::-1]))
        first = np.any(np.diff(keys[:, order], axis=1, prepend=-1), axis=0)
        chosen = order[first]
        columns: dict[str, Array] = {"row": row[chosen].astype(np.int32)}
        columns |= {
            name: found[name][chosen] for name in ("kind", "location", "begin", "end", "depth", "region", "size")
        }
        return pack(columns, lines=notes)

    def _calls(self, every: bool) -> tuple[Table, list[str]]:
        with self._lock:
            if every not in self._found:
                self._found[every] = self._read(every)
            return self._found[every]

    def _read(self, every: bool) -> tuple[Table, list[str]]:
        """All rare calls, and lines about calls that are left out."""
        if self._is_large and not every:
            return _table([], OUTLIER), ["In a large trace, Marks: all shows outliers and waits."]
        if self._outliers is None:
            self._outliers = outliers(self._prepared, self._part.rows(self._trace))
        found, dropped = self._outliers
        tables, notes = [found], [f"Only the {_MOST:,} largest outliers are marked."] * dropped
        if every or self._trace.has_stored_findings():
            tables.append(self._waits())
        elif self._trace.processes.rows > 1:
            notes.append("Marks: all shows waits; vtunify --also diagnose stores them for later.")
        return Table({name: np.concatenate([each[name] for each in tables]) for name in tables[0]}), notes

    def waits_of(self, location: int, begin: int, end: int) -> list[dict[str, Any]]:
        """The waits of a call: kind, time (ns), partner (location, -1: unknown). Empty for a large trace without a
        stored diagnosis."""
        if self._is_large and not self._trace.has_stored_findings():
            return []
        with self._lock:
            found = self._call_waits()
        same = (found["location"] == location) & (found["begin"] == begin) & (found["end"] == end)
        return [
            {"kind": found.kinds[row["kind"]], "time": row["time_ns"], "partner": row["partner"]}
            for row in found.take(same).records()
        ]

    def _call_waits(self) -> Table:
        return self._trace.call_waits(locations=self._part.rows(self._trace), most=_MOST)

    def _waits(self) -> Table:
        found = self._call_waits()
        found_rows = np.flatnonzero(found["time_ns"] * PARTS >= self._trace.duration)
        paths, path = found.paths, found["path"][found_rows]
        columns = {name: found[name][found_rows] for name in ("location", "begin", "end")}
        columns |= {"depth": paths["depth"][path] - 1, "region": paths["region"][path]}
        return _table([columns], WAIT, found["time_ns"][found_rows].astype(np.float64))


def _table(parts: Sequence[dict[str, Array]], kind: int, size: Array | None = None) -> Table:
    columns = {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in _NAMES}
    size = np.empty(0) if size is None else size
    return Table({name: column.astype(np.int64) for name, column in columns.items()}
                 | {"kind": np.full(len(size), kind), "size": size})  # fmt: skip


def outliers(prepared: Prepared, rows: Sequence[int]) -> tuple[Table, bool]:
    """The outliers among the calls of locations (rows), and True if some outliers were not kept."""
    trace = prepared.trace
    (found,) = prepared.answers([Profile()], Selection.of(locations=rows))
    size = trace.regions.rows
    calls, total = (np.bincount(found["region"], found[name].astype(float), size) for name in ("calls", "total"))
    longest = np.zeros(size)
    np.maximum.at(longest, found["region"], found["max"])
    mean = np.where(total > 0, total / np.maximum(calls, 1), np.inf)
    mean[longest < TIMES * mean] = np.inf
    if np.isinf(mean).all():
        return _table([], OUTLIER), False
    question = _Outliers(mean)
    ask(trace, [question], Selection.of(locations=rows))
    return question.answer(), question.dropped


class _OutlierPart(ReplayPart):
    def __init__(self, owner: _Outliers, location: int) -> None:
        self._owner, self._location = owner, location

    def add(self, replay: Replay) -> None:
        slices = replay.slices()
        times = (slices["end"] - slices["begin"]) / self._owner.mean[slices["region"]]
        chosen = np.flatnonzero(times >= TIMES)
        if len(chosen):
            self._owner.keep(self._location, slices[chosen], times[chosen])


class _Outliers(Question[_OutlierPart, Table]):
    """The outliers of all locations. mean: ns of a call of each region; infinite if the region has no outlier."""

    replay = True

    def __init__(self, mean: Array) -> None:
        super().__init__()
        self.mean, self.dropped, self._lock = mean, False, Lock()
        self._kept: list[tuple[Array, Array, Array]] = []
        self._count = 0

    def part(self, trace: Source, location: int) -> _OutlierPart:
        return _OutlierPart(self, location)

    def configure(self, replay: Replay) -> None:
        replay.fields.want_slices = 1
        replay.fields.shortest = int(TIMES * self.mean.min())

    def keep(self, location: int, slices: Array, times: Array) -> None:
        with self._lock:
            self._kept.append((np.full(len(slices), location), slices, times))
            self._count += len(slices)
            if self._count > 2 * _MOST:
                self._shorten()

    def _shorten(self) -> None:
        """Keeps the largest outliers. Outliers of one size stay or go together, so that the result does not depend on
        the order of threads."""
        location, slices, times = self._joined()
        bound = np.partition(times, len(times) - _MOST)[len(times) - _MOST]
        chosen = times > bound if np.count_nonzero(times >= bound) > _MOST else times >= bound
        self._kept, self._count, self.dropped = (
            [(location[chosen], slices[chosen], times[chosen])],
            int(chosen.sum()),
            True,
        )

    def _joined(self) -> tuple[Array, Array, Array]:
        return (
            joined([location for location, _, _ in self._kept], np.int64),
            joined([slices for _, slices, _ in self._kept], SLICE),
            joined([times for _, _, times in self._kept], np.float64),
        )

    def answer(self) -> Table:
        if self._count > _MOST:
            self._shorten()
        location, slices, times = self._joined()
        columns = {"location": location} | {name: slices[name] for name in _NAMES[1:]}
        return _table([columns], OUTLIER, times)
