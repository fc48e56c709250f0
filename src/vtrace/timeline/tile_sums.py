# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of rows of several locations, as csrc/kernels/tiles.c sums the tiles of the locations."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.table import Array
from vtrace.io.common.schema import Schema
from vtrace.io.sidecar.tile_file import BINS, COLUMN, damage
from vtrace.timeline.kernels import kernels

if TYPE_CHECKING:
    from vtrace.io.sidecar.tile_file import TileFile

_SCHEMA = Schema("vt_tiles_schema")
_PART, _Sums = _SCHEMA.dtype("vt_tile_part"), _SCHEMA.structure("vt_tile_sums")
_library = kernels(
    vt_tiles_sum=(ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(_Sums)])
)


class TileSums:
    """A tile of rows of some locations. Row n has its candidates, location by location, from candidates[n] on, before
    candidates[n + 1].

    sums: (rows, columns, BINS) uint64, for the columns from EVENTS on; the deepest stack for DEPTH. regions, times:
    (candidates, BINS), 1 + the number of a region (0: none) and its ns.
    """

    def __init__(self, tiles: TileFile, rows: Sequence[Array], level: int, number: int) -> None:
        """rows: the locations of each row; of each location the next finer level that it has counts, so several tiles
        may be joined. Raises FormatError."""
        sizes = [len(each) for each in rows]
        locations, owner = np.concatenate(rows), np.repeat(np.arange(len(rows)), sizes)
        finer = tiles.next_finer(locations, level)
        joins = np.where(finer >= 0, 1 << (level - np.maximum(finer, 0)), 0)
        of = np.repeat(np.arange(len(locations)), joins)
        part = np.arange(len(of)) - np.repeat(np.cumsum(joins) - joins, joins)
        places = tiles.find(locations[of], finer[of], number * joins[of] + part)
        of, part, places = (column[places >= 0] for column in (of, part, places))
        own = np.where(np.isin(np.arange(len(locations)), of), 2 * joins, 0)
        ends = np.append(0, np.cumsum(own))
        self.candidates: list[int] = ends[np.append(0, np.cumsum(sizes))].tolist()
        columns = COLUMN["FIRST_CLASS"] + len(tiles.classes)
        self.sums = np.zeros((len(rows), columns, BINS), np.uint64)
        self.regions, self.times = np.zeros((ends[-1], BINS), np.int64), np.zeros((ends[-1], BINS))
        with tiles.texts(places) as (text, size):
            parts = np.empty(len(of), _PART)
            values = (text, size, owner[of], ends[of], part, joins[of])
            for name, column in zip(("text", "bytes", "sum", "row", "part", "joins"), values, strict=True):
                parts[name] = column
            to = _Sums(*(column.ctypes.data for column in (self.sums, self.regions, self.times)))
            if not _library().vt_tiles_sum(parts.ctypes.data, len(parts), columns, ctypes.byref(to)):
                raise damage()
