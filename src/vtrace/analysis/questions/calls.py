# SPDX-License-Identifier: BSD-3-Clause
"""Calls in the order in which they begin and end, and the call that is open at a given time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from vtrace.analysis.questions.profile import KeptSlices
from vtrace.analysis.table import Array
from vtrace.io.archive.reader_abi import SLICE


def nesting(depth: Array) -> tuple[Array, Array, Array]:
    """From the depths of calls in the order of their ends, as a replay gives them: (steps,) 1 for each step that is the
    end of a call; (steps,) the depth of each step's call; (steps,) the steps by depth, so that the start and the end of
    a call follow each other. See Calls."""
    n = len(depth)
    is_end = np.zeros(2 * n, bool)
    is_end[2 * np.arange(n) + 1 + depth] = True
    own = np.cumsum(np.where(is_end, -1, 1)).astype(np.int64) - ~is_end
    by = np.argsort(own.astype(np.uint16) if n and own.max() < 2**16 else own, kind="stable")
    return is_end, own, by


def by_start(depth: Array) -> Array:
    """The order in which calls start. depth: in the order of their ends."""
    is_end, _, by = nesting(depth)
    call = np.empty(len(is_end), np.int64)
    call[by[::2]] = np.cumsum(is_end)[by[1::2]] - 1  # at one depth starts and ends alternate
    found: Array = call[~is_end]
    return found


class Calls:
    """Calls of several tracks as steps: the start and the end of each call, in order of time, track by track.

    The calls of a track come in the order of their ends, as a replay gives them, and nest: a call at depth d is inside
    d other calls. So the end of the n-th call is step 2 n + 1 + d of its track, and the starts are the steps between.
    Calls that begin or end at the same time keep their order.
    """

    def __init__(self, parts: Sequence[tuple[int, Array]]) -> None:
        """parts: tracks (numbers) with their calls (SLICE)."""
        self.track = np.concatenate([[], *(np.full(len(calls), track) for track, calls in parts)]).astype(np.int64)
        calls = np.concatenate([np.empty(0, SLICE), *(calls for _, calls in parts)])
        self.begin, self.end = calls["begin"], calls["end"]
        self.region = calls["region"].astype(np.int64)
        self.count = calls["calls"].astype(np.int64)
        counts = np.array([len(calls) for _, calls in parts], np.int64)
        n = len(calls)
        ends = 2 * np.arange(n) + 1 + calls["depth"]
        self.is_end, own, by = nesting(calls["depth"])
        """is_end: (steps,)"""
        self._level = own + ~self.is_end
        mate = np.empty(2 * n, np.int64)
        mate[by[1::2]] = by[::2]
        begins = mate[ends]
        self.call = np.empty(2 * n, np.int64)
        """(steps,) the call that begins or ends."""
        self.call[ends] = self.call[begins] = np.arange(n)
        self.step_of_begin = begins
        self.time = np.where(self.is_end, self.end[self.call], self.begin[self.call])
        """(steps,) ns."""
        starts = 2 * (np.cumsum(counts) - counts)
        self._range = {
            track: (int(at), int(at + 2 * len(calls))) for (track, calls), at in zip(parts, starts, strict=True)
        }
        self._keys = by[~self.is_end[by]] + own[by[~self.is_end[by]]] * (2 * n)

    def __len__(self) -> int:
        return len(self.track)

    def around(self, tracks: Array, times: Array, regions: Array | None = None) -> Array:
        """(n,) the innermost call that is open on a track at a time, else the nearest call before or after; -1 for a
        track without calls.

        tracks, times (ns): (n,). regions: (n,) the region of the wanted call, for times at which one call ends and
        another begins.
        """
        found = np.full(len(tracks), -1, np.int64)
        order = np.argsort(tracks, kind="stable")
        bounds = np.flatnonzero(np.diff(tracks[order], prepend=-1, append=-1))
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[first:last]
            begin, end = self._range.get(int(tracks[rows[0]]), (0, 0))
            if begin < end:
                found[rows] = self._innermost(begin, end, times[rows], "right")
                if regions is not None:
                    before = self._innermost(begin, end, times[rows], "left")
                    fits = (self.region[before] == regions[rows]) & (self.region[found[rows]] != regions[rows])
                    found[rows[fits]] = before[fits]
        return found

    def _innermost(self, begin: int, end: int, times: Array, side: Literal["left", "right"]) -> Array:
        step = begin + np.maximum(np.searchsorted(self.time[begin:end], times, side) - 1, 0)
        depth = self._level[step] - 1  # of the call that is open then, -1: none
        keys = np.maximum(depth, 0) * len(self.time) + step
        inside = self.call[self._keys[np.searchsorted(self._keys, keys, "right") - 1] % max(1, len(self.time))]
        after = self.call[np.minimum(step + 1, end - 1)]
        before = self.call[step]
        nearer = np.where(np.abs(self.begin[after] - times) < np.abs(times - self.end[before]), after, before)
        found: Array = np.where(depth >= 0, inside, nearer)
        return found


class CallSteps(KeptSlices[Calls]):
    """Answers with calls as steps. shortest: ns of the shortest call that is kept; dropped: number of dropped calls."""

    def answer(self) -> Calls:
        found = []
        for location, parts in self.left():
            kept = [calls[calls["end"] - calls["begin"] >= self.shortest] for calls in parts]
            found.append((location, np.concatenate([np.empty(0, SLICE), *kept])))
        return Calls(found)


def lanes(begin: Array, end: Array) -> Array:
    """Distributes intervals to lanes, so that the intervals of a lane do not overlap: (n,) lanes.

    begin, end: (n,) ns, ascending by begin.
    """
    import heapq

    free: list[tuple[int, int]] = []
    found = np.zeros(len(begin), np.int64)
    used = 0
    for row, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        if free and free[0][0] <= first:
            lane = heapq.heappop(free)[1]
        else:
            lane, used = used, used + 1
        found[row] = lane
        heapq.heappush(free, (last, lane))
    return found
