# SPDX-License-Identifier: BSD-3-Clause
"""The samples of all locations in memory: all samples, or each second, fourth ... sample if all do not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.costs import SAMPLES, Intervals, nominal_periods
from vtrace.analysis.questions.details import present, region_rows
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import Batch
from vtrace.io.sidecar.sidecar import SidecarTable

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_SAMPLE = "CallingContextSample"
_ROW = np.dtype([("time", "i8"), ("context", "i4"), ("generator", "i4"), ("inside", "i4")])
MOST = 2_000_000
"""The most samples in memory."""
_LEAST, _ALL = 2_000, 16_000_000
"""Samples in memory that each location may have in any case; the most samples of all locations in any case."""
_WINDOW = 20_000
"""The most samples of a window."""
ASLEEP = 1.5
"""A thread was asleep if it has no sample for this many weights; more than 1, since timers are not exact."""


@dataclass(kw_only=True)
class LocationSamples:
    """Samples of a location in the order of time.

    time: ns; weight: ns for which a sample stands; end: the time of the next sample, or time + weight if the thread was
    asleep between; context, generator: rows, -1: unknown; inside: the region of the innermost enclosing recorded call,
    -1: none. step: only each step-th sample is here, with the weight of step samples.
    """

    time: Array
    end: Array
    weight: Array
    context: Array
    generator: Array
    inside: Array
    step: int

    def take(self, rows: Array | slice) -> LocationSamples:
        names = ("time", "end", "weight", "context", "generator", "inside")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def within(self, start: int, stop: int) -> LocationSamples:
        """The samples with a part in [start, stop)."""
        return self.take((self.time < stop) & (self.end > start))

    def at(self, time: int, slack: int) -> int:
        """The place of the sample that contains a time, else of the nearest sample within slack ns; -1: none."""
        at = int(np.searchsorted(self.time, time, "right")) - 1
        if at >= 0 and time < self.end[at]:
            return at
        near = [row for row in (at, at + 1) if 0 <= row < len(self.time)]
        apart = {row: abs(int(self.time[row] if row > at else self.end[row]) - time) for row in near}
        best = min(near, key=apart.__getitem__, default=-1)
        return best if best >= 0 and apart[best] <= slack else -1


class _SamplePart(Part):
    def __init__(self, owner: Samples) -> None:
        self._owner, self._met = owner, 0
        self.step, self.intervals = 1, dict[int, Intervals]()
        self._kept: list[Array] = []
        self._count = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, _SAMPLE):
            ids, count = self._owner.trace.definitions.ids, len(found["ref"])
            generators = ids["interrupt_generators"].rows(found["generator"])
            for number in np.unique(generators).tolist():
                times = found["time"][generators == number]
                self.intervals.setdefault(number, Intervals()).add(times)
            rows = np.arange(-self._met % self.step, count, self.step)
            self._met += count
            kept = np.empty(len(rows), _ROW)
            kept["time"], kept["generator"] = found["time"][rows], generators[rows]
            kept["context"] = ids["contexts"].rows(found["ref"][rows])
            kept["inside"] = region_rows(found["region"][rows]) if replay else -1
            self._kept.append(kept)
            self._count += len(kept)
            while self._count > self._owner.most:
                self._kept = [self.rows()[::2].copy()]
                self._count, self.step = len(self._kept[0]), 2 * self.step

    def rows(self) -> Array:
        """The samples (_ROW)."""
        found: Array = np.concatenate([np.empty(0, _ROW), *self._kept])
        return found


class Samples(Question[_SamplePart, dict[int, _SamplePart]]):
    """Reads the samples of locations, at most `most` of each. inside: True to find the enclosing recorded calls, which
    also needs the events before the window."""

    kinds = frozenset({_SAMPLE})

    def __init__(self, most: int, inside: bool) -> None:
        super().__init__()
        self.most, self.replay = most, inside

    def part(self, trace: Source, location: int) -> _SamplePart:
        return _SamplePart(self)

    def answer(self) -> dict[int, _SamplePart]:
        return self.parts


def has_samples(trace: Source) -> bool:
    """False if the trace cannot have samples."""
    return trace.contexts.rows > 0 and trace.interrupt_generators.rows > 0


def all_samples(trace: Source) -> Samples:
    """The question for the samples of a whole trace."""
    count = max(1, trace.locations.rows)
    return Samples(max(1, min(_ALL // count, max(_LEAST, MOST // count))), inside=True)


_STORED = np.dtype([("location", "u4"), *_ROW.descr, ("step", "u4"), ("ns", "f8")])
"""A sample in the sidecar's table. ns: the time that one sample of the sample's generator stands for."""


def sample_table(question: Samples | None) -> SidecarTable:
    """The samples as a table of the sidecar; None for a trace that is not large: its samples are read from the
    events."""
    parts = question.answer() if question else {}
    ns = _periods(question.trace, parts) if question else {}
    found = [np.empty(0, _STORED)]
    for location, part in parts.items():
        rows = part.rows()
        each = np.empty(len(rows), _STORED)
        for name in _ROW.names or ():
            each[name] = rows[name]
        each["location"], each["step"] = location, part.step
        each["ns"] = [ns[location][number] for number in rows["generator"].tolist()]
        found.append(each)
    table = np.concatenate(found)
    return SidecarTable({name: table[name] for name in _STORED.names or ()})


def _periods(trace: Source, parts: dict[int, _SamplePart]) -> dict[int, dict[int, float]]:
    """The ns that one sample stands for, by location and generator."""
    nominal, exact = [*nominal_periods(trace), 0.0], SAMPLES in trace.vtrace
    return {
        location: {
            number: each.period(nominal[number], exact and nominal[number] > 0)
            for number, each in part.intervals.items()
        }
        for location, part in parts.items()
    }  # fmt: skip


_OfLocation = tuple[LocationSamples, dict[int, float]]
"""The samples of a location, and the ns that one sample of each generator stands for."""


class SampleStore:
    """The samples of a trace, from the sidecar, else read from all events at the first request. Threads may share a
    store."""

    def __init__(self, trace: Source, tiles: TileFile) -> None:
        self._trace, self._tiles, self._lock = trace, tiles, Lock()
        self.known = has_samples(trace)
        """True if the trace may have samples."""

    @cached_property
    def _all(self) -> dict[int, _OfLocation]:
        with self._lock:
            if "_all" in self.__dict__:  # another thread has read them meanwhile
                return self.__dict__["_all"]  # type: ignore[no-any-return]
            found = self._stored() if self._tiles.tables["samples"].columns["time"].size else self._scanned()
            self.__dict__["_all"] = found
            return found

    def _scanned(self) -> dict[int, _OfLocation]:
        question = all_samples(self._trace)
        ask(self._trace, [question], Selection(locations=None if self.known else ()))
        parts = question.answer()
        ns = _periods(self._trace, parts)
        return {
            location: (_located(part.rows(), ns[location], part.step), ns[location]) for location, part in parts.items()
        }

    def _stored(self) -> dict[int, _OfLocation]:
        columns, names = self._tiles.tables["samples"].columns, _ROW.names or ()
        every, first = np.unique(columns["location"], return_index=True)
        found = {}
        for location, begin, end in zip(every.tolist(), first, [*first[1:], len(columns["location"])], strict=True):
            rows = np.empty(end - begin, _ROW)
            for name in names:
                rows[name] = columns[name][begin:end]
            ns = dict(zip(rows["generator"].tolist(), columns["ns"][begin:end].tolist(), strict=True))
            found[location] = _located(rows, ns, int(columns["step"][begin])), ns
        return found

    def of(self, location: int) -> LocationSamples:
        """The samples of a location in memory."""
        return self._known(location)[0]

    def _known(self, location: int) -> _OfLocation:
        nothing = _located(np.empty(0, _ROW), {}, 1), dict[int, float]()
        return self._all.get(location, nothing) if self.known else nothing

    def near(self, location: int, start: int, stop: int) -> LocationSamples:
        """The samples of a location with a part in [start, stop), all of them in a window with few samples; `inside` is
        -1 if unknown. Raises FormatError."""
        found = self.of(location)
        if found.step == 1:
            return found.within(start, stop)
        ns, before = self._known(location)[1], int(ASLEEP * max(found.weight, default=0)) + 1
        question = Samples(_WINDOW, inside=False)
        ask(self._trace, [question], Selection(start - before, stop, (location,)))
        part = question.answer()[location]
        return _located(part.rows(), ns, part.step).within(start, stop)


def _located(rows: Array, ns: dict[int, float], step: int) -> LocationSamples:
    """Samples with weights and ends. rows: _ROW; ns: the time that one sample of each generator stands for."""
    number, member = np.unique(rows["generator"], return_inverse=True)
    weight = np.array([ns[each] * step for each in number.tolist()], np.float64)[member.ravel()]
    time = rows["time"]
    end = time + np.maximum(weight, 1).astype(np.int64)
    awake = np.diff(time) <= ASLEEP * np.maximum(weight[1:], weight[:-1])
    end[:-1] = np.where(awake, time[1:], np.minimum(end[:-1], time[1:]))
    return LocationSamples(
        time=time,
        end=end,
        weight=weight,
        context=rows["context"],
        generator=rows["generator"],
        inside=rows["inside"],
        step=step,
    )
