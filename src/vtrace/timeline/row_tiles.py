# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of the page's rows, from the tiles of locations, which csrc/kernels/tile_rows.c joins."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import waits
from vtrace.analysis.table import Array
from vtrace.io.common.schema import Schema
from vtrace.io.sidecar.tile_file import BINS, COLUMN, TileFile, damage
from vtrace.timeline.answers import pack
from vtrace.timeline.kernels import kernels

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.timeline.answers import Content

NO_LEVEL = 63
"""The finest level of a location without tiles, which has no events."""
_TOGETHER = 512
"""Locations whose tiles are read at once."""
_SCHEMA = Schema("vt_tiles_schema")
_PART, _Rows = _SCHEMA.dtype("vt_tile_part"), _SCHEMA.structure("vt_tile_rows")
_DAMAGED = _SCHEMA.constants["TILES_DAMAGED"]
_library = kernels(vt_tiles_rows=(ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(_Rows)]))


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
        self._waits = np.append(0, waiting).astype(np.uint8)
        """By 1 + region: 1 + class of a region that waits, 0 of others."""
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
        for first, last in _pieces([len(each) for each in rows]):
            if not wanted():
                break
            for cells, (level, number) in zip(found, tiles, strict=True):
                self._join(cells, rows[first:last], first, level=level, number=number)
        return [cells.columns() for cells in found]

    def _join(self, cells: _Cells, rows: list[Array], first: int, *, level: int, number: int) -> None:
        """Joins the tiles of the locations of rows. first: the number of the first row in cells. Of each location the
        next finer level that it has counts, so several of its tiles may be joined."""
        sizes = [len(each) for each in rows]
        locations, row = np.concatenate(rows), np.repeat(np.arange(len(rows)), sizes)
        finer = self._tiles.next_finer(locations, level)
        shift = level - np.maximum(finer, 0)
        joins = np.where(finer >= 0, 1 << shift, 0)
        of = np.repeat(np.arange(len(locations)), joins)
        part = np.arange(len(of)) - np.repeat(np.cumsum(joins) - joins, joins)
        places = self._tiles.find(locations[of], finer[of], number * joins[of] + part)
        of, part, places = (column[places >= 0] for column in (of, part, places))
        candidates = np.zeros(len(locations), np.int64)
        candidates[of] = 2 * joins[of]
        ends = np.append(0, np.cumsum(candidates))
        borders = ends[np.append(0, np.cumsum(sizes))]
        with self._tiles.texts(places) as (text, size):
            values = {"text": text, "bytes": size, "row": row[of], "place": ends[of] - borders[row[of]], "part": part,
                      "shift": shift[of]}  # fmt: skip
            parts = np.empty(len(of), _PART)
            for name, column in values.items():
                parts[name] = column
            whole, count = np.array(sizes) * float(1 << level), np.diff(borders).astype(np.uint64)
            to = _Rows(
                columns=COLUMN["FIRST_CLASS"] + len(self._tiles.classes), nregions=len(self._waits) - 1,
                waits=self._waits.ctypes.data, whole=whole.ctypes.data, candidates=count.ctypes.data,
                **cells.addresses(first),
            )  # fmt: skip
            code = _library().vt_tiles_rows(parts.ctypes.data, len(parts), ctypes.byref(to))
        if code:
            raise damage() if code == _DAMAGED else MemoryError


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

    def addresses(self, first: int) -> dict[str, int]:
        """The addresses of the arrays from a row on."""
        return {name: column[first:].ctypes.data for name, column in vars(self).items()}

    def columns(self) -> dict[str, Array]:
        """The columns of RowTiles.answer."""
        found = {name: getattr(self, name).ravel() for name in ("region", "share", "events", "depth")}
        for letter, each in (("c", self.classes), ("w", self.waited)):
            found |= {f"{letter}{c}": each[:, c].ravel() for c in range(each.shape[1]) if each[:, c].any()}
        return found
