# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of the page's rows, from the tiles of locations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.activity import waits
from vtrace.analysis.table import Array
from vtrace.io.sidecar.tile_file import BINS, COLUMN, TileFile
from vtrace.timeline.answers import pack
from vtrace.timeline.tile_sums import TileSums

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.timeline.answers import Content

NO_LEVEL = 63
"""The finest level of a location without tiles, which has no events."""
_FEW = 8
"""With more candidates for the top region of a bin, the largest candidate is taken, not the largest sum."""
_TOGETHER = 128
"""Locations whose tiles are read at once, and candidates in tiles that become shares at once."""


class RowTiles:
    """Tiles of rows: 256 bins of 2^level ns, for any level from the finest one of a row's locations on.

    finest: (locations,) int64, NO_LEVEL without tiles. top: the level at which a tile holds the whole trace.
    """

    def __init__(self, trace: Source, tiles: TileFile) -> None:
        self._tiles = tiles
        levels = [tiles.levels(row) for row in range(trace.locations.rows)]
        self.finest = np.array([each[0] if each else NO_LEVEL for each in levels], np.int64)
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
        for first, last in _pieces([len(each) for each in rows]):
            if not wanted():
                break
            for cells, (level, number) in zip(found, tiles, strict=True):
                self._add(sums, cells, rows[first:last], first, level=level, number=number)
        sums.share_out()
        return [cells.columns() for cells in found]

    def _add(
        self, sums: _Sums, cells: _Cells, rows: list[Array], first: int, *, level: int, number: int
    ) -> None:  # fmt: skip
        """Sums the tiles of the locations of rows. first: the number of the first row in cells."""
        found = TileSums(self._tiles, rows, level, number)
        for row, (begin, end) in enumerate(pairwise(found.candidates)):
            if begin < end:
                candidates = found.regions[begin:end], found.times[begin:end]
                sums.add(cells, first + row, found.sums[row], candidates, len(rows[row]) * float(1 << level))


def _pieces(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Splits rows of some locations each into runs of about _TOGETHER locations."""
    first = size = 0
    for row, own in enumerate(sizes):
        size += own
        if size >= _TOGETHER or row + 1 == len(sizes):
            yield first, row + 1
            first, size = row + 1, 0


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

    def add(  # noqa: PLR0917
        self, cells: _Cells, at: int, total: Array, candidates: tuple[Array, Array], whole: float
    ) -> None:
        """Adds a tile of a row. total: the columns; candidates: regions and their times, (n, BINS) each; whole: ns of a
        bin."""
        count = len(candidates[0])
        self._waiting[count].append(_Sum(cells, at, total, candidates, whole))
        self._size += count
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
        total = np.stack([each.total for each in sums])
        whole = np.array([each.whole for each in sums]).reshape(-1, 1, 1)
        regions, times = (np.stack([each.candidates[n] for each in sums]) for n in range(2))
        classes = _shares(total[:, COLUMN["FIRST_CLASS"] :], whole)
        events, depth = (
            np.minimum(total[:, COLUMN[name]], most) for name, most in (("EVENTS", 2**32 - 1), ("DEPTH", 255))
        )
        region, top = _top(regions, times)
        share, waited = _shares(top, whole[:, 0]), np.zeros_like(classes)
        kinds = self._waits[regions]
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
    candidates: tuple[Array, Array]
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
