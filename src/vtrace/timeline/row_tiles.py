# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of the page's rows, from the tiles of locations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
_TOGETHER = 128
"""Candidates in tiles that become shares at once."""
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
        found, sums = [_Cells(len(rows), len(self._tiles.classes)) for _ in tiles], _Sums(self._waits)
        for at, locations in enumerate(rows):
            if not wanted():
                break
            for cells, (level, number) in zip(found, tiles, strict=True):
                self._add(sums, cells, at, locations, level=level, number=number)
        sums.share_out()
        return [cells.columns() for cells in found]

    def _add(self, sums: _Sums, cells: _Cells, at: int, locations: Array, *, level: int, number: int) -> None:
        """Sums the tiles of a row's locations."""
        total: Array | None = None
        candidates = list[Array]()
        for row in locations.tolist():
            if (bins := self._bins(row, level, number)) is None:
                continue
            candidates.append(bins[_CANDIDATES].reshape(4, BINS, -1).transpose(0, 2, 1).reshape(2, -1, BINS))
            depth, joined = bins[COLUMN["DEPTH"]], bins
            while joined.shape[1] > BINS:
                joined, depth = joined[:, ::2] + joined[:, 1::2], np.maximum(depth[::2], depth[1::2])
            if total is not None:
                joined, depth = total + joined, np.maximum(total[COLUMN["DEPTH"]], depth)
            joined[COLUMN["DEPTH"]] = depth
            total = joined
        if total is not None:
            shared = candidates[0] if len(candidates) == 1 else np.concatenate(candidates, axis=1)
            sums.add(cells, at, total, shared, len(locations) * float(1 << level))

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


class _Sums:
    """The sums of some tiles of rows, many of which become shares at once, since a call of numpy takes as long as
    hundreds of bins. waits: as RowTiles has it."""

    def __init__(self, waits: Array) -> None:
        self._waits, self._waiting, self._size = waits, defaultdict[int, list[_Sum]](list), 0

    def add(self, cells: _Cells, at: int, total: Array, candidates: Array, whole: float) -> None:  # noqa: PLR0917
        """Adds a tile of a row. total: the columns; candidates: (2, n, BINS) regions and their times; whole: ns of a
        bin."""
        self._waiting[candidates.shape[1]].append(_Sum(cells, at, total, candidates, whole))
        self._size += candidates.shape[1]
        if self._size >= _TOGETHER:
            self.share_out()

    def share_out(self) -> None:
        """Gives the cells their shares."""
        for sums in self._waiting.values():
            self._share(sums)
        self._waiting.clear()
        self._size = 0

    def _share(self, sums: list[_Sum]) -> None:
        """Sums with the same number of candidates."""
        total, candidates = np.stack([each.total for each in sums]), np.stack([each.candidates for each in sums])
        whole = np.array([each.whole for each in sums]).reshape(-1, 1, 1)
        regions, times = candidates[:, 0], candidates[:, 1].astype(np.float64)
        classes = _shares(total[:, COLUMN["FIRST_CLASS"] :], whole)
        events, depth = (
            np.minimum(total[:, COLUMN[name]], most) for name, most in (("EVENTS", 2**32 - 1), ("DEPTH", 255))
        )
        region, top = _top(regions, times)
        share, waited = _shares(top, whole[:, 0]), np.zeros_like(classes)
        kinds = self._waits[regions.astype(np.int64)]
        for kind in np.flatnonzero(np.bincount(kinds[kinds > 0])).tolist():
            own = _shares(np.where(kinds == kind, times, 0).sum(axis=1), whole[:, 0])
            waited[:, kind - 1] = np.minimum(own, classes[:, kind - 1])  # less where a helper thread of MPI waits
        for at, (cells, row, *_) in enumerate(sums):
            cells.region[row], cells.share[row], cells.events[row] = region[at], share[at], events[at]
            cells.depth[row], cells.classes[row], cells.waited[row] = depth[at], classes[at], waited[at]


class _Sum(NamedTuple):
    """See _Sums.add."""

    cells: _Cells
    row: int
    total: Array
    candidates: Array
    whole: float


def _shares(times: Array, whole: Array) -> Array:
    found: Array = np.minimum(np.ceil(255 * (times / whole)), 255).astype(np.uint8)
    return found


def _top(regions: Array, times: Array) -> tuple[Array, Array]:
    """The region with the most time in each bin of each row, and its time. regions, times: (rows, candidates, bins)."""
    if (count := regions.shape[1]) <= _FEW:
        same = (np.where(regions == regions[:, [mine]], times, 0).sum(axis=1) for mine in range(count))
        times = np.stack([*same], axis=1)
    best = times.argmax(axis=1)[:, np.newaxis]
    return np.take_along_axis(regions, best, 1)[:, 0], np.take_along_axis(times, best, 1)[:, 0]
