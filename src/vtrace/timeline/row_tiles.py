# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of the page's rows, from the tiles of locations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import waits
from vtrace.analysis.table import Array
from vtrace.io.sidecar.tile_file import BINS, COLUMN, TileFile
from vtrace.timeline.answers import pack

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.timeline.answers import Content

NO_LEVEL = 63
"""The finest level of a location without tiles, which has no events."""
_FEW = 8
"""With more candidates for the top region of a bin, the largest candidate is taken, not the largest sum."""
_TIMES = slice(COLUMN["FIRST_CLASS"], None)


class RowTiles:
    """Tiles of rows: 256 bins of 2^level ns, for any level from the finest one of a row's locations on.

    finest: (locations,) int64, NO_LEVEL without tiles. top: the level at which a tile holds the whole trace.
    """

    def __init__(self, trace: Source, tiles: TileFile) -> None:
        self._tiles = tiles
        self._levels = [tiles.levels(row) for row in range(trace.locations.rows)]
        self.finest = np.array([levels[0] if levels else NO_LEVEL for levels in self._levels], np.int64)
        regions = trace.regions
        waiting = np.where(waits(regions["name"].tolist(), regions["activity"]), regions["class"].astype(int) + 1, 0)
        self._waits = np.append(0, waiting)  # by 1 + region: 1 + class of a region that waits, 0 of others
        self.top = max(0, (max(trace.duration, 1) - 1).bit_length() - BINS.bit_length() + 1)

    def answer(self, rows: list[Array], level: int, number: int, wanted: Callable[[], bool]) -> Content:
        """A tile of each row, row by row: the region with about the most exclusive time (1 + row of trace.regions, 0:
        none); its share of the time; events; depth; in c0, c1 ... the shares of the classes with any time, and in w0,
        w1 ... the parts of these in calls that wait, at least. Shares are 255ths of the time of the row's locations; a
        share above 0 is at least 1.

        rows: the locations of each row. Raises FormatError."""
        return pack(self.columns(rows, level, number, wanted))

    def columns(self, rows: list[Array], level: int, number: int, wanted: Callable[[], bool]) -> dict[str, Array]:
        """The columns of answer."""
        n = len(rows)
        region, events = np.zeros((n, BINS), np.uint32), np.zeros((n, BINS), np.uint32)
        share, depth = np.zeros((n, BINS), np.uint8), np.zeros((n, BINS), np.uint8)
        classes, waited = np.zeros((2, n, len(self._tiles.classes), BINS), np.uint8)
        for at, locations in enumerate(rows):
            if not wanted():
                break
            found = [each for row in locations.tolist() if (each := self._bins(row, level, number)) is not None]
            if not found:
                continue
            whole = len(locations) * float(1 << level)
            classes[at] = _shares(np.sum([each[_TIMES] for each, _, _ in found], axis=0), whole)
            events[at] = np.minimum(np.sum([each[COLUMN["EVENTS"]] for each, _, _ in found], axis=0), 2**32 - 1)
            depth[at] = np.minimum(np.max([each[COLUMN["DEPTH"]] for each, _, _ in found], axis=0), 255)
            regions, times = (np.concatenate(side) for side in list(zip(*found, strict=True))[1:])
            region[at], top = _top(regions, times)
            share[at] = _shares(top, whole)
            kinds = self._waits[regions.astype(np.int64)]
            for kind in np.unique(kinds[kinds > 0]).tolist():
                own = _shares(np.where(kinds == kind, times, 0).sum(axis=0), whole)
                waited[at, kind - 1] = np.minimum(own, classes[at, kind - 1])  # less where a helper thread of MPI waits
        both = {"c": classes, "w": waited}
        used = {
            f"{k}{c}": each[:, c].ravel() for k, each in both.items() for c in range(each.shape[1]) if each[:, c].any()
        }
        fixed: dict[str, Array] = {
            "region": region.ravel(),
            "share": share.ravel(),
            "events": events.ravel(),
            "depth": depth.ravel(),
        }
        return fixed | used

    def _bins(self, row: int, level: int, number: int) -> tuple[Array, Array, Array] | None:
        """The columns of a location's tile, its candidates for top regions and their times (k, 256); None: no tile."""
        known = [each for each in self._levels[row] if each <= level]
        if not known:
            return None
        joins = 1 << (level - known[-1])
        bins = self._tiles.bins(row, known[-1], number * BINS * joins, (number + 1) * BINS * joins)
        if not bins.shape[1]:
            return None
        padded = np.zeros((bins.shape[0], BINS * joins))
        padded[:, : bins.shape[1]] = bins
        cells = padded.reshape(bins.shape[0], BINS, joins)
        joined = cells.sum(axis=2)
        joined[COLUMN["DEPTH"]] = cells[COLUMN["DEPTH"]].max(axis=1)
        pairs = (("REGION", "TIME"), ("SECOND", "SECOND_TIME"))
        regions, times = (np.concatenate([cells[COLUMN[pair[i]]].T for pair in pairs]) for i in (0, 1))
        return joined, regions, times


def _shares(times: Array, whole: float) -> Array:
    found: Array = np.minimum(np.ceil(255 * (times / whole)), 255).astype(np.uint8)
    return found


def _top(regions: Array, times: Array) -> tuple[Array, Array]:
    """The region with the most time in each bin, and its time. regions, times: (candidates, bins)."""
    if len(regions) <= _FEW:
        times = np.array([np.where(regions == mine, times, 0).sum(axis=0) for mine in regions])
    best = times.argmax(axis=0)[np.newaxis]
    return np.take_along_axis(regions, best, 0)[0], np.take_along_axis(times, best, 0)[0]
