# SPDX-License-Identifier: BSD-3-Clause
"""What devices do: the kernels and copies on their streams, with bytes and the time in the queue; and the calls in
which threads wait for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, number
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

BYTES, QUEUED, BLOCKING = "DEVICE_BYTES", "DEVICE_QUEUED", "DEVICE_BLOCKING"
"""The attributes of an activity with its bytes, and with the ns in the queue before it; and of a call that waits for
its activity (csrc/devices/names.c)."""
_TARGET_ROLES = ("KERNEL", "DATA_TRANSFER", "ALLOCATE", "DEALLOCATE")
"""The roles that OpenMP's regions have inside of target regions only."""
COLUMNS = ("location", "region", "begin", "end", "bytes", "queued", "blocking")


class _StreamPart(Part):
    """The activities of a stream, or the outermost calls of some regions. Those that are open at an end of the window
    are cut there."""

    def __init__(self, owner: DeviceActivities, location: int) -> None:
        self.owner, self.location = owner, location
        self.last = 0
        self.rows: list[Array] = []
        self.open: list[Array] = []
        """The begun activities, as rows of COLUMNS."""
        self.depth = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        calls = np.flatnonzero((batch.kind == number("Enter")) | (batch.kind == number("Leave")))
        calls = calls[np.isin(batch.ref[calls], self.owner.regions, invert=self.owner.is_stream)]
        if not len(calls):
            return
        steps = np.where(batch.kind[calls] == number("Enter"), 1, -1)
        depth = self.depth + np.cumsum(steps)
        is_cut = bool(depth.min() < 0)  # the first one began before the window
        depth -= min(0, int(depth.min()))
        self.last = int(batch.time[-1])
        if self.owner.is_stream and max(depth.max(), len(self.open)) > 1:
            self._overlapping(batch, calls, steps)
            return
        began, ended = calls[(depth == 1) & (steps == 1)], calls[(depth == 0) & (steps == -1)]
        self.depth = int(depth[-1])
        found = self._begun(batch, began)
        if self.open:
            found = np.concatenate([self.open[0][np.newaxis], found])
        elif is_cut:
            found = np.concatenate([self._cut(batch.ref[ended[0]])[np.newaxis], found])
        found[: len(ended), 3] = batch.time[ended]
        self.rows.append(found[: len(ended)])
        self.open = [*found[len(ended) :]]

    def _begun(self, batch: Batch, began: Array) -> Array:
        """(n, COLUMNS) rows of the activities that begin with these events."""
        found = np.zeros((len(began), len(COLUMNS)), np.int64)
        found[:, 0] = self.location
        found[:, 1] = batch.ref[began]
        found[:, 2] = batch.time[began]
        for column, attribute in enumerate(self.owner.attribute_ids, 4):
            values = batch.attributes[batch.attributes["attribute"] == attribute]
            at = np.searchsorted(began, values["row"])
            fits = (at < len(began)) & (np.append(began, -1)[at] == values["row"])
            found[at[fits], column] = known_bytes(values["value"][fits])[0]
        return found

    def _cut(self, region: int) -> Array:
        """An activity that began before the window."""
        return np.array([self.location, region, self.owner.start, *[0] * (len(COLUMNS) - 3)], np.int64)

    def _overlapping(self, batch: Batch, calls: Array, steps: Array) -> None:
        """Activities that overlap, as rocprofv3 writes them: an end belongs to the first begun one of its region."""
        begun = iter(self._begun(batch, calls[steps == 1]))
        ended = []
        for event, step in zip(calls.tolist(), steps.tolist(), strict=True):
            if step == 1:
                self.open.append(next(begun))
                continue
            region = batch.ref[event]
            place = next((n for n, row in enumerate(self.open) if row[1] == region), -1)
            row = self.open.pop(place) if place >= 0 else self._cut(region)
            row[3] = batch.time[event]
            ended.append(row)
        self.depth = len(self.open)
        self.rows += [row[np.newaxis] for row in ended]

    def end(self, replay: Replay | None) -> None:
        for row in self.open:
            row[3] = self.last if self.owner.stop == NEVER else self.owner.stop
            self.rows.append(row[np.newaxis])


class DeviceActivities(Question[_StreamPart, Table]):
    """The activities of streams, by stream and begin: location, region (row of regions), begin, end (ns), bytes,
    queued (ns), blocking (0 or 1). The same of other locations, with the calls of some regions."""

    replay = True  # it turns calls with calling contexts into plain ones
    attributes = True

    def __init__(self, wanted: tuple[int, ...] | None = None) -> None:
        """wanted: rows of regions; None: those of streams, without ranges that the program has named."""
        super().__init__()
        self._wanted, self.is_stream = wanted, wanted is None
        self.regions: Array = np.array(wanted or (), np.int64)
        """The regions that count; of streams, those that do not count."""

    def arguments(self) -> tuple[tuple[int, ...] | None]:
        return (self._wanted,)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, 0 if start == ALWAYS else start, stop)
        names = trace.attributes["name"].tolist()
        ids = trace.attributes["id"].tolist()
        known = dict(zip(names, ids, strict=True))
        if self.is_stream:
            self.regions = np.flatnonzero(trace.regions["paradigm"] == "USER")
        self.attribute_ids = [known.get(name, -1) for name in (BYTES, QUEUED, BLOCKING)]

    def part(self, trace: Source, location: int) -> _StreamPart:
        return _StreamPart(self, location)

    def answer(self) -> Table:
        parts = [rows for part in self.parts.values() for rows in part.rows]
        rows = np.concatenate([np.empty((0, len(COLUMNS)), np.int64), *parts])
        rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
        return Table(dict(zip(COLUMNS, rows.T, strict=True)))


def device_activities(trace: Source, window: Selection) -> Table:
    """The activities of the streams of the selected processes."""
    processes = np.unique(trace.places.process[window.threads(trace)])
    streams = np.flatnonzero(trace.locations["device"] & np.isin(trace.places.process, processes))
    question = DeviceActivities()
    if len(streams):
        ask(trace, [question], replace(window, locations=tuple(streams.tolist()), helpers=()))
    return question.answer()


def target_calls(trace: Source, window: Selection) -> Table:
    """The same for what target regions of OpenMP ask of devices: allocations, copies and kernels, as calls of the
    threads, with the host's times."""
    regions = trace.regions
    known = (regions["paradigm"].astype(str) == "OPENMP") & np.isin(regions["role"].astype(str), _TARGET_ROLES)
    question = DeviceActivities(tuple(np.flatnonzero(known).tolist()))
    if known.any():
        processes = np.unique(trace.places.process[window.threads(trace)])
        threads = np.flatnonzero(np.isin(trace.places.process, processes) & ~trace.locations["device"])
        ask(trace, [question], replace(window, locations=tuple(threads.tolist()), helpers=()))
    return question.answer()


def union(begin: Array, end: Array) -> Array:
    """The times in which any of some intervals is open, as intervals that do not touch: (n, 2), ascending."""
    if not len(begin):
        return np.empty((0, 2), np.int64)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.append(True, begin[1:] > end[:-1]))
    last = np.append(first[1:], len(begin)) - 1
    return np.column_stack([begin[first], end[last]])


def common(one: Array, other: Array) -> int:
    """The ns that two results of union() have in common."""
    alone = sum(int((part[:, 1] - part[:, 0]).sum()) for part in (one, other))
    both = union(*np.concatenate([one, other]).T)
    return alone - int((both[:, 1] - both[:, 0]).sum())
