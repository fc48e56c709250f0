# SPDX-License-Identifier: BSD-3-Clause
"""The calls of locations, in memory while they are in use: windows of them, and ways from one call to another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.calls import Calls
from vtrace.analysis.questions.profile import KeptSlices
from vtrace.analysis.table import Array
from vtrace.io.archive.reader_abi import SLICE

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_TOGETHER = 16
"""Locations that are read in one pass."""
_ROOM = 6_000_000
"""Calls in memory, at most, besides those of the location that was asked for last."""


class LocationCalls:
    """All calls of a location, in the order of their begins; a call has its place in this order.

    begin, end: ns; region: row; depth; parent: the call around, -1: none.
    """

    def __init__(self, slices: Array) -> None:
        order = np.argsort(Calls([(0, slices)]).step_of_begin, kind="stable")
        calls = slices[order]
        self.begin, self.end = calls["begin"].astype(np.int64), calls["end"].astype(np.int64)
        self.region, self.depth = calls["region"].astype(np.int32), calls["depth"].astype(np.int32)
        self.parent = np.full(len(calls), -1, np.int64)
        outer = np.empty(0, np.int64)
        by = np.argsort(self.depth, kind="stable")
        for mine in np.split(by, np.cumsum(np.bincount(self.depth))[:-1]) if len(by) else []:
            if len(outer):
                self.parent[mine] = outer[np.searchsorted(outer, mine) - 1]
            outer = mine
        inner = self.parent >= 0
        children = np.bincount(self.parent[inner], (self.end - self.begin)[inner].astype(float), len(calls))
        self.exclusive = self.end - self.begin - children.astype(np.int64)

    def __len__(self) -> int:
        return len(self.begin)

    def within(self, start: int, stop: int, shortest: int = 0) -> Array:
        """The calls with a part in [start, stop) that last at least shortest ns: places, ascending."""
        first, last = np.searchsorted(self.begin, (start, stop))
        found = np.arange(first, last)
        found = found[self.end[found] - self.begin[found] >= shortest]
        around, at = [], first - 1
        while at >= 0 and self.end[at] <= start:
            at = self.parent[at]
        while at >= 0:
            around.append(at)
            at = self.parent[at]
        return np.concatenate([np.array(around[::-1], np.int64), found])

    def innermost(self, time: int) -> int:
        """The innermost call at a time, -1: none."""
        at = int(np.searchsorted(self.begin, time, "right")) - 1
        while at >= 0 and self.end[at] <= time:
            at = int(self.parent[at])
        return at

    def find(self, begin: int, depth: int) -> int:
        """The call that begins at a time with a depth, -1: none."""
        first, last = np.searchsorted(self.begin, (begin, begin + 1))
        found = first + np.flatnonzero(self.depth[first:last] == depth)
        return int(found[-1]) if len(found) else -1


class _AllSlices(KeptSlices[dict[int, Array]]):
    """Answers with all calls of each location, in the order of their ends."""

    def answer(self) -> dict[int, Array]:
        return {
            location: np.concatenate([np.empty(0, SLICE), *parts])
            for location, parts in ((location, part.found) for location, part in self.parts.items())
        }


class CallStore:
    """Reads the calls of locations, and keeps those that were used last. Threads may share a store."""

    def __init__(self, trace: Source) -> None:
        self._trace, self._lock, self._held = trace, Lock(), 0
        self._kept: OrderedDict[int, LocationCalls] = OrderedDict()

    def of(self, locations: Sequence[int]) -> dict[int, LocationCalls]:
        """The calls of locations (rows). A damaged location has those before the damage."""
        with self._lock:
            missing = [row for row in dict.fromkeys(locations) if row not in self._kept]
            read: dict[int, LocationCalls] = {}
            if missing:
                question = _AllSlices(2**62)
                self._trace.scan([question], missing)
                read = {row: LocationCalls(slices) for row, slices in question.answer().items()}
                self._held += sum(map(len, read.values()))
                self._kept |= read
            found = {row: self._kept[row] for row in locations}
            for row in found:
                self._kept.move_to_end(row)
            while self._held > _ROOM and len(self._kept) > 1:
                self._held -= len(self._kept.popitem(last=False)[1])
            return found

    def each(self, locations: Sequence[int]) -> Iterator[tuple[int, LocationCalls]]:
        """The locations with their calls, some at a time, so that all need not be in memory together."""
        for first in range(0, len(locations), _TOGETHER):
            yield from self.of(locations[first : first + _TOGETHER]).items()
