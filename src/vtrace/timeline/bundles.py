# SPDX-License-Identifier: BSD-3-Clause
"""Messages as bundles: number and bytes by bin of time and pair of groups of processes, as csrc/kernels/bundles.c
sums them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.messages import SENDS
from vtrace.analysis.questions.sums import Sums
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.batches import Batch, BatchBuffer
from vtrace.io.archive.reader_abi import LATEST, BatchFields
from vtrace.io.common.arrays import view
from vtrace.io.common.schema import Schema
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.timeline.kernels import Spares, kernels

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_BINS, _GROUPS = 512, 64
"""The most bins, and the most groups of processes; with more processes, neighbours share a group."""
_ENOUGH = 1 << 16
"""A location's bundles are added to the sums of all locations when there are this many."""
_SCHEMA = Schema("vt_tiles_schema")
_BUNDLE = _SCHEMA.dtype("vt_bundle")
_Sends = _SCHEMA.structure("vt_bundles")
_pointer = ctypes.c_void_p
_library = kernels(
    vt_bundles_new=(ctypes.POINTER(_Sends), [ctypes.c_uint64, ctypes.c_int64]),
    vt_bundles_free=(None, [_pointer]),
    vt_bundles_batch=(ctypes.c_int, [_pointer, ctypes.POINTER(BatchFields)]),
    vt_bundles_clear=(None, [_pointer]),
)


def bundle_level(trace: Source) -> int:
    """The level of the bins. A bin is 2^level ns wide."""
    return max(0, (max(trace.duration, 1) // _BINS).bit_length())


def bundle_groups(trace: Source) -> Array:
    """(processes,) the group of each process (row of trace.processes), ascending."""
    processes = trace.processes.rows
    return np.arange(processes) * min(processes, _GROUPS) // max(processes, 1)


def bundle_table(found: Table) -> SidecarTable:
    """The bundles as a table of the sidecar."""
    kinds = {"bin": np.uint16, "sender": np.uint8, "receiver": np.uint8, "count": np.int64, "bytes": np.int64}
    return SidecarTable({name: found[name].astype(kind) for name, kind in kinds.items()})


def bundles_of(trace: Source, tiles: TileFile, start: int, stop: int) -> Table:
    """The bundles of the bins that touch [start, stop), ns: begin, end (of the bin), sender, receiver, count, bytes."""
    columns, level = tiles.tables["bundles"].columns, bundle_level(trace)
    first, last = np.searchsorted(columns["bin"], [max(start, 0) >> level, (max(stop - 1, 0) >> level) + 1])
    found = {name: column[first:last].astype(np.int64) for name, column in columns.items()}
    begin = found.pop("bin") << level
    return Table({"begin": begin, "end": begin + (1 << level)} | found)


class _BundlePart(Part):
    def __init__(self, owner: Bundles, location: int) -> None:
        self._owner, self._location, self._sends = owner, location, owner.sends.take()

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert isinstance(batch, BatchBuffer)
        self._owner.add(self._location, batch, self._sends)

    def end(self, replay: Replay | None) -> None:
        self._owner.hand_on(self._location, self._sends)
        self._owner.sends.give_back(self._sends)


class Bundles(Question[_BundlePart, Table]):
    """The sends of an archive: bin, sender, receiver (groups of bundle_groups), count, bytes; ascending by bin. Sends
    before the start count in bin 0, sends after the end in the last bin."""

    kinds = frozenset(SENDS)

    def __init__(self) -> None:
        super().__init__()
        self.sums = Sums(("bin", "sender", "receiver"), ("count", "bytes"), self._columns)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        level, end = bundle_level(trace), min(trace.duration, LATEST)
        self.sends = Spares(lambda: _library().vt_bundles_new(level, end), _library().vt_bundles_free)
        groups = np.append(bundle_groups(trace), -1)
        self._group = np.append(groups[trace.places.process], -1)  # of locations; -1: no process

    def part(self, trace: Source, location: int) -> _BundlePart:
        return _BundlePart(self, location)

    def take(self, location: int, batch: BatchBuffer) -> None:
        """Adds a location with all its events in a batch, in place of its part. Raises MemoryError."""
        if batch.fields.ndetails:
            sends = self.sends.take()
            self.add(location, batch, sends)
            self.hand_on(location, sends)
            self.sends.give_back(sends)

    def add(self, location: int, batch: BatchBuffer, sends: Any) -> None:
        """Adds the sends of a batch to those of its location. Raises MemoryError."""
        if batch.fields.ndetails and _library().vt_bundles_batch(sends, batch.fields):
            raise MemoryError
        if sends.contents.count > _ENOUGH:
            self.hand_on(location, sends)

    def hand_on(self, location: int, sends: Any) -> None:
        """Adds a location's bundles to the sums."""
        fields = sends.contents
        if fields.count:
            self.sums.add(int(fields.count), (location, view(fields.list, fields.count, _BUNDLE).copy()))
            _library().vt_bundles_clear(sends)

    def _columns(self, pieces: list[tuple[int, Array]]) -> dict[str, Array]:
        location = np.repeat([place for place, _ in pieces], [len(found) for _, found in pieces])
        found = joined([each for _, each in pieces], _BUNDLE)
        comm = self.trace.definitions.ids["comms"].rows(found["comm"])
        return {
            "bin": found["bin"], "sender": self._group[location],
            "receiver": self._group[self.trace.places.locate(comm, found["peer"], location)],
            "count": found["count"], "bytes": found["bytes"],
        }  # fmt: skip

    def answer(self) -> Table:
        self.sends.free()
        found = self.sums.table()
        return found.take((found["sender"] >= 0) & (found["receiver"] >= 0))
