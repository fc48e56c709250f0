# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of the page's rows, from the tiles of locations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
_CANDIDATES = [COLUMN[name] for name in ("REGION", "SECOND", "TIME", "SECOND_TIME")]


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
        return pack(self.columns(rows, [(level, number)], wanted)[0])

    def columns(
        self, rows: list[Array], tiles: Sequence[tuple[int, int]], wanted: Callable[[], bool]
    ) -> list[dict[str, Array]]:
        """The columns of answer for several tiles (level, number). Small locations have all their tiles in a frame of
        the file, so all tiles of a row are made together."""
        found = [_Cells(len(rows), len(self._tiles.classes)) for _ in tiles]
        for at, locations in enumerate(rows):
            if not wanted():
                break
            for cells, (level, number) in zip(found, tiles, strict=True):
                self._fill(cells, at, locations, level=level, number=number)
        return [cells.columns() for cells in found]

    def _fill(self, cells: _Cells, at: int, locations: Array, *, level: int, number: int) -> None:
        """Sums the tiles of a row's locations."""
        sums, deepest = np.zeros((COLUMN["FIRST_CLASS"] + len(self._tiles.classes), BINS), np.uint64), cells.depth[at]
        candidates = list[Array]()
        for row in locations.tolist():
            if (bins := self._bins(row, level, number)) is None:
                continue
            candidates.append(bins[_CANDIDATES].reshape(4, BINS, -1))
            depth, joined = bins[COLUMN["DEPTH"]], bins
            while joined.shape[1] > BINS:
                joined, depth = joined[:, ::2] + joined[:, 1::2], np.maximum(depth[::2], depth[1::2])
            sums += joined
            np.maximum(deepest, np.minimum(depth, 255), out=deepest, casting="unsafe")
        if not candidates:
            return
        whole = len(locations) * float(1 << level)
        cells.classes[at] = _shares(sums[COLUMN["FIRST_CLASS"] :], whole)
        cells.events[at] = np.minimum(sums[COLUMN["EVENTS"]], 2**32 - 1)
        regions, times = (
            np.concatenate([each[pair].transpose(0, 2, 1).reshape(-1, BINS) for each in candidates])
            for pair in (slice(0, 2), slice(2, 4))
        )
        times = times.astype(np.float64)
        cells.region[at], top = _top(regions, times)
        cells.share[at] = _shares(top, whole)
        kinds = self._waits[regions.astype(np.int64)]
        for kind in np.flatnonzero(np.bincount(kinds[kinds > 0])).tolist():
            own = _shares(np.where(kinds == kind, times, 0).sum(axis=0), whole)
            # less where a helper thread of MPI waits
            cells.waited[at, kind - 1] = np.minimum(own, cells.classes[at, kind - 1])

    def _bins(self, row: int, level: int, number: int) -> Array | None:
        """The bins of a location's tile, from the next finer level that the location has, so each may be several; None:
        no tile."""
        known = next((each for each in reversed(self._levels[row]) if each <= level), None)
        if known is None:
            return None
        joins = 1 << (level - known)
        return self._tiles.whole_tiles(row, known, number * joins, joins)


class _Cells:
    """A tile of each row: arrays by row and bin; classes, waited: by row, class and bin."""

    def __init__(self, rows: int, classes: int) -> None:
        self.region, self.events = np.zeros((2, rows, BINS), np.uint32)
        self.share, self.depth = np.zeros((2, rows, BINS), np.uint8)
        self.classes, self.waited = np.zeros((2, rows, classes, BINS), np.uint8)

    def columns(self) -> dict[str, Array]:
        """The columns of RowTiles.answer."""
        found = {name: getattr(self, name).ravel() for name in ("region", "share", "events", "depth")}
        for letter, each in (("c", self.classes), ("w", self.waited)):
            found |= {f"{letter}{c}": each[:, c].ravel() for c in range(each.shape[1]) if each[:, c].any()}
        return found


def _shares(times: Array, whole: float) -> Array:
    found: Array = np.minimum(np.ceil(255 * (times / whole)), 255).astype(np.uint8)
    return found


def _top(regions: Array, times: Array) -> tuple[Array, Array]:
    """The region with the most time in each bin, and its time. regions, times: (candidates, bins)."""
    if len(regions) <= _FEW:
        times = np.array([np.where(regions == mine, times, 0).sum(axis=0) for mine in regions])
    best = times.argmax(axis=0)[np.newaxis]
    return np.take_along_axis(regions, best, 0)[0], np.take_along_axis(times, best, 0)[0]
