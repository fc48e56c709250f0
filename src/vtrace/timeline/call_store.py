# SPDX-License-Identifier: BSD-3-Clause
"""The calls of locations: all calls of a small location, kept while in use; windows of a large location."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.calls import by_start
from vtrace.analysis.questions.profile import KeptSlices
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table, add_up, group, joined
from vtrace.io.archive.reader_abi import SLICE
from vtrace.timeline.tiles import event_count
from vtrace.timeline.window_events import OPEN
from vtrace.timeline.window_reader import WindowReader

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.io.sidecar.tile_file import TileFile
    from vtrace.timeline.prepared import Prepared

_TOGETHER = 1_000_000
"""Events of small locations to read in one pass, about."""
_ROOM = 6_000_000
"""The most calls in memory, besides the calls of the last requested location."""
LARGE = 2_000_000
"""The calls of a location with more events than this are read by windows."""
_COLUMNS = ("begin", "end", "region", "depth", "exclusive")
_NEAR = 200_000
"""Events of a large location to read at once."""


class LocationCalls:
    """All calls of a location, in the order of their starts; places are indices in this order.

    begin, end: ns; region: row; depth: 0 for outermost calls; parent: the place of the caller, -1: none; calls: 1, more
    for failing polls in a row.
    """

    is_cut = False
    """True if calls are missing, since the window has too many."""

    def __init__(self, calls: Mapping[str, Array], exclusive: Array | None = None) -> None:
        """calls: begin, end, region, depth, calls, in the order of their starts, a caller before its callees.
        exclusive: of each call; needed if callees may be missing."""
        self.begin, self.end = calls["begin"].astype(np.int64), calls["end"].astype(np.int64)
        self.region, self.depth = calls["region"].astype(np.int32), calls["depth"].astype(np.int32)
        self.calls = calls["calls"].astype(np.int32)
        self.parent = np.full(len(self.begin), -1, np.int64)
        outer = np.empty(0, np.int64)
        by = np.argsort(self.depth, kind="stable")
        for mine in np.split(by, np.cumsum(np.bincount(self.depth))[:-1]) if len(by) else []:
            if len(outer):
                before = np.searchsorted(outer, mine)
                self.parent[mine] = np.where(before > 0, outer[before - 1], -1)
            outer = mine
        inner = self.parent >= 0
        children = np.bincount(self.parent[inner], (self.end - self.begin)[inner].astype(float), len(self.begin))
        self.exclusive = self.end - self.begin - children.astype(np.int64) if exclusive is None else exclusive

    @classmethod
    def of_slices(cls, slices: Array) -> LocationCalls:
        """Made from all calls of a location in the order of their ends (SLICE), or from those of several locations, one
        after the other: a call and its caller are of one location."""
        order = by_start(slices["depth"])
        return cls({name: slices[name][order] for name in ("begin", "end", "region", "depth", "calls")})

    def __len__(self) -> int:
        return len(self.begin)

    def within(self, start: int, stop: int, shortest: int = 0) -> Array:
        """The places, ascending, of the calls with a part in [start, stop) that last at least `shortest` ns."""
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

    def drawn(self, start: int, stop: int, most: int, shortest: int) -> dict[str, Array]:
        """The calls with a part in [start, stop), in the order of their begins: begin, end, region, depth, exclusive,
        calls. Of more than `most` calls, those shorter than shortest ns are joined."""
        chosen = self.within(start, stop)
        columns = {name: getattr(self, name)[chosen] for name in (*_COLUMNS, "calls")}
        return columns if len(chosen) <= most else _joined(columns, start, shortest)

    def innermost(self, time: int) -> int:
        """The place of the innermost call at a time, -1: none."""
        at = int(np.searchsorted(self.begin, time, "right")) - 1
        while at >= 0 and self.end[at] <= time:
            at = int(self.parent[at])
        return at

    def find(self, begin: int, depth: int) -> int:
        """The place of the call that starts at a time with a depth, -1: none."""
        first, last = np.searchsorted(self.begin, (begin, begin + 1))
        found = first + np.flatnonzero(self.depth[first:last] == depth)
        return int(found[-1]) if len(found) else -1


def _joined(calls: dict[str, Array], start: int, shortest: int) -> dict[str, Array]:
    """Joins the calls shorter than shortest ns: those of a depth that begin in the same 2 * shortest ns, a pixel, are
    one piece from the first begin to the last end, with the region that takes most of the time."""
    time = calls["end"] - calls["begin"]
    is_short = (time < shortest) & (calls["begin"] >= start)
    short, long = ({name: column[mask] for name, column in calls.items()} for mask in (is_short, ~is_short))
    first, piece = group([short["depth"], (short["begin"] - start) // max(1, 2 * shortest)])
    pieces = {name: short[name][first] for name in ("begin", "end", "region", "depth")}
    np.maximum.at(pieces["end"], piece, short["end"])
    sums = {"exclusive": short["exclusive"], "calls": short["calls"]}
    pieces |= {name: add_up(piece, column, len(first)) for name, column in sums.items()}
    each, member = group([piece, short["region"]])
    by_time = each[np.argsort(add_up(member, time[is_short], len(each)), kind="stable")]
    pieces["region"][piece[by_time]] = short["region"][by_time]  # the last one written has the most time
    found = {name: np.concatenate([column, pieces[name]]) for name, column in long.items()}
    order = np.lexsort((found["depth"], found["begin"]))
    return {name: column[order] for name, column in found.items()}


class _AllSlices(KeptSlices[dict[int, Array]]):
    """The answer is all calls of each location, in the order of their ends."""

    def answer(self) -> dict[int, Array]:
        return {
            location: part.found[0] if len(part.found) == 1 else joined(part.found, SLICE)
            for location, part in self.parts.items()
        }


class CallStore:
    """Reads the calls of locations, and keeps the most recently used. Threads may share a store."""

    def __init__(self, prepared: Prepared, tiles: TileFile) -> None:
        self._trace, self._prepared, self._lock, self._held = prepared.trace, prepared, Lock(), 0
        self._kept: OrderedDict[int, LocationCalls] = OrderedDict()
        self._reader = WindowReader(prepared.trace, tiles)

    @staticmethod
    def question() -> AnyQuestion:
        """The question about all calls of locations."""
        return _AllSlices(2**62)

    def is_large(self, location: int) -> bool:
        """True if the calls of a location do not fit into memory."""
        return event_count(self._trace, location) > LARGE

    def window(self, locations: Sequence[int], start: int, stop: int) -> dict[int, LocationCalls]:
        """The calls of locations with a part in [start, stop), and maybe others. Open calls of large locations end at
        stop; a large location with too many calls in the window has none. Raises FormatError."""
        large = [row for row in locations if self.is_large(row)]
        found = self.of([row for row in locations if row not in large])
        near = self._reader.window(large, start, stop) if large else None
        for row in large:
            assert near is not None
            calls = near.calls
            first, last = np.searchsorted(calls["location"], (row, row + 1))
            part = {name: calls[name][first:last] for name in (*_COLUMNS, "calls")}
            found[row] = LocationCalls(part, part["exclusive"])
            found[row].is_cut = row in near.skipped
        return found

    def together(self, locations: Sequence[int], start: int, stop: int) -> Table:
        """The calls of small locations with a part in [start, stop), by location and begin: place (in locations),
        begin, end, region, depth, exclusive; not kept. Raises FormatError."""
        (slices,) = self._prepared.answers([self.question()], Selection.of(locations=sorted(locations)))
        parts = [slices[row] for row in locations]
        calls = LocationCalls.of_slices(joined(parts, SLICE))
        place = np.repeat(np.arange(len(parts)), [*map(len, parts)])
        inside = (calls.begin < stop) & ((calls.begin >= start) | (calls.end > start))
        return Table({"place": place[inside]} | {name: getattr(calls, name)[inside] for name in _COLUMNS})

    def near(self, location: int, begin: int) -> LocationCalls:
        """Calls of a location, among them all calls that contain the time begin, with their true ends."""
        if not self.is_large(location):
            return self.of([location])[location]
        # From 1 ns before: the caller of a call of 0 ns may end when the call starts.
        return self._whole(location, self._reader.window([location], begin - 1, begin + 1).calls)

    def _whole(self, location: int, calls: Table) -> LocationCalls:
        """Calls of a window; calls that are open at its end get their true ends."""
        columns = {name: calls[name].copy() for name in (*_COLUMNS, "calls")}
        for at in np.flatnonzero(calls["flags"] & OPEN).tolist():
            whole = self._reader.whole(location, int(calls["number"][at]))
            if whole is not None:
                for name in ("end", "exclusive", "calls"):
                    columns[name][at] = whole[name]
        return LocationCalls(columns, columns["exclusive"])

    def of(self, locations: Sequence[int]) -> dict[int, LocationCalls]:
        """All calls of small locations (rows). A damaged location has the calls before the damage."""
        with self._lock:
            missing = [row for row in dict.fromkeys(locations) if row not in self._kept]
            read: dict[int, LocationCalls] = {}
            if missing:
                (found_slices,) = self._prepared.answers([self.question()], Selection.of(locations=missing))
                read = {row: LocationCalls.of_slices(slices) for row, slices in found_slices.items()}
                self._held += sum(map(len, read.values()))
                self._kept |= read
            found = {row: self._kept[row] for row in locations}
            for row in found:
                self._kept.move_to_end(row)
            while self._held > _ROOM and len(self._kept) > 1:
                self._held -= len(self._kept.popitem(last=False)[1])
            return found

    def each(self, locations: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, LocationCalls]]:
        """Yields locations with their calls in [start, stop), a few at a time to save memory. A large location comes in
        several parts, each with the calls that end in a part of the time."""
        small = np.array([row for row in locations if not self.is_large(row)], np.int64)
        passes = np.cumsum([event_count(self._trace, row) for row in small.tolist()]) // _TOGETHER
        for some in np.split(small, np.flatnonzero(np.diff(passes)) + 1):
            yield from self.of(some.tolist()).items()
        for row in (row for row in locations if self.is_large(row)):
            for part in self.parts(row, start, stop):
                yield row, part

    def parts(self, location: int, start: int, stop: int) -> Iterator[LocationCalls]:
        """Yields the calls of a large location with a part in [start, stop), in several parts ascending by end."""
        for first, last in self.steps(location, start, stop):
            calls = self._reader.window([location], first, last).calls
            yield self._whole(location, calls.take((calls["flags"] & OPEN == 0) | (last >= stop)))

    def steps(self, location: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Parts of [start, stop) with about equal numbers of events, by the location's mean density."""
        events = max(1, int(self._trace.locations["events"][location]))
        wide = max(1, self._trace.duration * _NEAR // events)
        for first in range(start, stop, wide):
            yield first, min(first + wide, stop)
