# SPDX-License-Identifier: BSD-3-Clause
"""The time of each location by activity class, from a profile and the extent of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, IO, RUNTIME
from vtrace.analysis.processor_waits import BlockedTimes
from vtrace.analysis.question import Part, Question
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch
from vtrace.io.archive.reader_abi import LATEST

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_COLUMNS = ("location", "first", "last", "runtime")


class _ExtentPart(Part):
    def __init__(self) -> None:
        self.found: tuple[int, int, int] | None = None

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        if replay.fields.events:
            self.found = replay.fields.first, replay.fields.last, replay.fields.runtime


class Extent(Question[_ExtentPart, Table]):
    """The first and the last event of each location, of a thread without calls its begin and end; sleep is an event,
    too."""

    replay = True
    kinds = frozenset({"ThreadBegin", "ThreadEnd"})

    def part(self, trace: Source, location: int) -> _ExtentPart:
        return _ExtentPart()

    def answer(self) -> Table:
        """Rows of the locations with events: location, first, last (ns), runtime (ns of I/O of the MPI
        library itself)."""
        found = {location: [*part.found] for location, part in self.parts.items() if part.found}
        asleep = BlockedTimes(self.trace)
        here = np.isin(asleep.location, [*self.parts]) & (asleep.begin < self.stop) & (asleep.end > self.start)
        low, high = max(self.start, -LATEST), min(self.stop, LATEST)  # damaged tables have any times
        begins, ends = (times[here].clip(low, high) for times in (asleep.begin, asleep.end))
        locations, member = np.unique(asleep.location[here], return_inverse=True)
        first, last = np.full(len(locations), NEVER), np.full(len(locations), ALWAYS)
        np.minimum.at(first, member, begins.astype(np.int64))
        np.maximum.at(last, member, ends.astype(np.int64))
        for location, begin, end in zip(locations.tolist(), first.tolist(), last.tolist(), strict=True):
            known = found.setdefault(location, [begin, end, 0])
            known[:2] = min(known[0], begin), max(known[1], end)
        rows = [(location, *found[location]) for location in sorted(found)]
        columns = np.array(rows, np.int64).reshape(len(rows), len(_COLUMNS)).T
        return Table(dict(zip(_COLUMNS, columns, strict=True)))


class _SpanPart(Part):
    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if len(batch.time):
            self.first = int(batch.time[0]) if self.first is None else self.first
            self.last = int(batch.time[-1])


class Spans(Question[_SpanPart, Array]):
    """The time from the first to the last Enter or Leave of each location: (locations,) ns, 0 without calls in the
    window."""

    replay = True

    def part(self, trace: Source, location: int) -> _SpanPart:
        return _SpanPart()

    def answer(self) -> Array:
        found = np.zeros(self.trace.locations.rows, np.int64)
        for location, part in self.parts.items():
            found[location] = 0 if part.first is None else part.last - part.first
        return found


def activity_times(trace: Source, profile: Table, extent: Table, selection: Selection) -> Array:
    """(locations, classes + 1) int64 ns: the exclusive time in calls of each class, and the time outside all regions.

    profile, extent: the answers of Profile and Extent for this selection.
    """
    outside = len(trace.regions.classes)
    class_of = np.append(trace.regions["class"], outside)
    found = np.zeros((trace.locations.rows, outside + 1), np.int64)
    np.add.at(found, (profile["location"], class_of[profile["region"]]), profile["exclusive"])
    first, last, runtime = np.zeros((3, trace.locations.rows), np.int64)
    for column, name in ((first, "first"), (last, "last"), (runtime, "runtime")):
        column[extent["location"]] = extent[name]
    first = first if selection.start is None else np.maximum(first, selection.start)
    last = last if selection.stop is None else np.minimum(last, selection.stop)
    rows = np.array(selection.rows(trace), np.int64)
    found[rows, outside] = np.maximum(0, (last - first)[rows] - found[rows].sum(axis=1))
    found[:, IO] -= runtime
    found[:, RUNTIME] += runtime
    helpers = trace.locations["helper"]
    found[helpers, RUNTIME], found[helpers, :RUNTIME], found[helpers, outside] = found[helpers].sum(axis=1), 0, 0
    return found


def init_and_finalize_times(trace: Source, profile: Table) -> Array:
    """(locations, 2) int64 ns: the exclusive time in the initialisation and in the finalisation of MPI."""
    found = np.zeros((trace.locations.rows, 2), np.int64)
    for column, end in enumerate(("init", "finalize")):
        rows = trace.regions["activity"][profile["region"]] == ACTIVITIES.index(f"mpi/management/{end}")
        np.add.at(found[:, column], profile["location"][rows], profile["exclusive"][rows])
    return found
