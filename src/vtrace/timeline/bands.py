# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations as bands, from the first arrival to the last departure of their locations, as
csrc/kernels/bands.c finds them."""

from __future__ import annotations

import ctypes
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.collectives import CollectiveEnds
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Table
from vtrace.io.archive.batches import Batch, BatchBuffer
from vtrace.io.archive.reader_abi import BatchFields
from vtrace.io.common.arrays import view
from vtrace.io.common.schema import Schema
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.timeline.kernels import Spares, kernels

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

MOST = 1_000_000
"""The most bands to keep."""
_SCHEMA = Schema("vt_tiles_schema")
_OPERATION, _BAND = _SCHEMA.dtype("vt_operation"), _SCHEMA.dtype("vt_band")
COLUMNS = _BAND.names or ()
_Operations = _SCHEMA.structure("vt_operations")
_pointer, _code, _u64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
_library = kernels(
    vt_operations_new=(ctypes.POINTER(_Operations), []),
    vt_operations_free=(None, [_pointer]),
    vt_operations_batch=(_code, [_pointer, ctypes.POINTER(BatchFields)]),
    vt_operations_clear=(None, [_pointer]),
    vt_bands_new=(_pointer, [_pointer, _u64]),
    vt_bands_free=(None, [_pointer]),
    vt_bands_add=(_code, [_pointer, _pointer, ctypes.c_uint32]),
    vt_bands_count=(_u64, [_pointer]),
    vt_bands_copy=(None, [_pointer, _pointer]),
)


def band_table(found: Table) -> SidecarTable:
    """The bands as a table of the sidecar."""
    return SidecarTable({name: found[name] for name in COLUMNS}, {"left out": [str(found.left_out)]})


def bands_of(tiles: TileFile, start: int, stop: int) -> Table:
    """The bands that touch [start, stop) (ns): COLUMNS, ascending by begin. Empty if the archive has more than MOST
    operations; the note left_out then is their number."""
    columns = tiles.tables["bands"].columns
    last = int(np.searchsorted(columns["begin"], stop))
    rows = np.flatnonzero(columns["end"][:last] >= start)
    left_out = int(tiles.tables["bands"].names["left out"][0])
    return Table({name: columns[name][rows] for name in COLUMNS}, left_out=left_out)


class _BandPart(Part):
    def __init__(self, owner: Bands, location: int) -> None:
        self._owner, self._location, self._operations = owner, location, owner.operations.take()

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert isinstance(batch, BatchBuffer)
        if _library().vt_operations_batch(self._operations, batch.fields):
            raise MemoryError

    def end(self, replay: Replay | None) -> None:
        self._owner.add(self._location, self._operations)


class Bands(Question[_BandPart, Table]):
    """The collective operations: COLUMNS, ascending by begin. The n-th operations of all locations on a communicator
    are one. location: for a communicator of one process, else -1. With more than MOST operations the table is empty,
    and the note `left_out` is their number."""

    kinds = CollectiveEnds.kinds

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._bands: int | None = None

    def __del__(self) -> None:
        if self._bands:
            _library().vt_bands_free(self._bands)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.operations = Spares(_library().vt_operations_new, _library().vt_operations_free)
        self._alone = np.array([trace.places.is_self(comm) for comm in range(trace.comms.rows)], np.uint8)
        self._bands = _library().vt_bands_new(self._alone.ctypes.data, len(self._alone))
        if not self._bands:
            raise MemoryError

    def part(self, trace: Source, location: int) -> _BandPart:
        return _BandPart(self, location)

    def take(self, location: int, batch: BatchBuffer) -> None:
        """Adds a location with all its events in a batch, in place of its part. Raises MemoryError."""
        operations = self.operations.take()
        if _library().vt_operations_batch(operations, batch.fields):
            raise MemoryError
        self.add(location, operations)

    def add(self, location: int, operations: Any) -> None:
        """Adds all operations of a location, and returns their finder. Raises MemoryError."""
        fields, comms = operations.contents, self.trace.definitions.ids["comms"]
        if fields.count:
            if not comms.dense:
                comm = view(fields.list, fields.count, _OPERATION)["comm"]
                comm[:] = comms.rows(comm).astype(np.uint32)
            with self._lock:
                if _library().vt_bands_add(self._bands, operations, location):
                    raise MemoryError
        _library().vt_operations_clear(operations)
        self.operations.give_back(operations)

    def answer(self) -> Table:
        self.operations.free()
        total = int(_library().vt_bands_count(self._bands))
        found = np.empty(total if total <= MOST else 0, _BAND)
        if len(found):
            _library().vt_bands_copy(self._bands, found.ctypes.data)
        columns = {name: found[name].astype(np.int64) for name in COLUMNS}
        order = np.lexsort((found["location"], found["comm"], found["begin"]))
        return Table(columns, left_out=0 if total <= MOST else total).take(order)
