# SPDX-License-Identifier: BSD-3-Clause
"""Builds the tiles of an archive: for each location a pyramid of time bins (csrc/kernels/tiles.c)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import string_at
from threading import Lock, local
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, joined
from vtrace.io.archive.batches import Batch, BatchBuffer
from vtrace.io.archive.reader_abi import CHECKPOINT_BLOCK, BatchFields, ReplayFields, event_kinds
from vtrace.io.common.arrays import view
from vtrace.io.common.schema import Schema
from vtrace.io.sidecar.checkpoints import pack
from vtrace.io.sidecar.tile_file import BLOCK_TIMES, BLOCKS, FRAME, TileIndex
from vtrace.timeline.group_tiles import GroupTiles, fill
from vtrace.timeline.kernels import Spares, kernels

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SCHEMA = Schema("vt_tiles_schema")
_TILE = _SCHEMA.dtype("vt_tile")
_Pyramid = _SCHEMA.structure("vt_pyramid")
_pointer, _u64, _i64 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64
_library = kernels(
    vt_tiles_new=(ctypes.POINTER(_Pyramid), [_u64, _u64]),
    vt_tiles_free=(None, [_pointer]),
    vt_tiles_begin=(None, [_pointer, _u64, _i64]),
    vt_tiles_batch=(ctypes.c_int, [_pointer, ctypes.POINTER(ReplayFields), ctypes.POINTER(BatchFields)]),
    vt_tiles_end=(ctypes.c_int, [_pointer, ctypes.POINTER(ReplayFields)]),
    vt_tiles_whole=(ctypes.c_int, [_pointer, ctypes.POINTER(ReplayFields), ctypes.POINTER(BatchFields), _u64, _i64]),
    vt_tiles_drop=(None, [_pointer, _u64]),
    vt_tiles_level=(_u64, [_u64, _pointer]),
)
_ENOUGH = 1 << 20
"""Bytes of finished tiles that a location packs at once."""


class _Frame(NamedTuple):
    """A frame in scratch. rows, texts: the row and the _TILE of each of its entries, also for checkpoints."""

    rows: Array
    texts: Array
    offset: int
    bytes: int


class _Small(NamedTuple):
    """The tiles of a row with few tiles, in scratch without compression. texts: the bytes of their _TILE, since arrays
    for each of thousands of rows take longer."""

    row: int
    texts: bytes
    offset: int
    bytes: int


def finest_level(events: int, end: int) -> int:
    """The finest level of a location with this number of events; end: ns from the start to the end of the trace."""
    return int(_library().vt_tiles_level(events, ctypes.byref(_i64(end))))


def event_count(trace: Source, location: int) -> int:
    """About the number of events of a location. The number in the definitions may be wrong, or 0, as other tools write
    it: the location's file has at least one byte for each event, and about ten."""
    return _count(int(trace.locations["events"][location]), trace.bytes_of(location))


def _count(known: int, size: int) -> int:
    return min(known or size // 10, size)


class _LocationTiles(Part):
    def __init__(self, owner: TileBuilder, location: int) -> None:
        self._owner, self._location, self._pyramid = owner, location, owner.pyramid(location)
        self._times: list[int] = []  # the time of each block's first checkpoint

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert replay is not None
        assert isinstance(batch, BatchBuffer)
        if _library().vt_tiles_batch(self._pyramid, replay.fields, batch.fields):
            raise MemoryError
        if self._pyramid.contents.nbytes > _ENOUGH:
            self._owner.pack(self._location, self._pyramid, whole=False)
        self._owner.keep_checkpoints(self._location, self._times, replay, whole=True)

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        if _library().vt_tiles_end(self._pyramid, replay.fields):
            raise MemoryError
        self._owner.end_location(self._location, self._pyramid, self._times, replay)


class TileBuilder(Question[_LocationTiles, TileIndex]):
    """Packs the tiles of all locations into the file scratch.

    progress: called with the number of events of each finished location. The answer is the index of the tiles, sorted
    by location, level and number.
    """

    replay = True
    early = True

    def __init__(
        self, trace: Source, scratch: BinaryIO, progress: Callable[[int], None], sizes_known: bool = True
    ) -> None:
        """sizes_known: False for an archive that is being written: its files do not have their final sizes."""
        super().__init__()
        self.kinds = frozenset(event_kinds())  # tiles count all events
        self._scratch, self._progress, self._classes = scratch, progress, len(trace.regions.classes)
        self._class_of = np.ascontiguousarray(trace.regions["class"], np.uint8)
        self._lock, self._local = Lock(), local()
        new = lambda: _library().vt_tiles_new(trace.regions.rows, self._classes)  # noqa: E731
        self._spares = Spares(new, _library().vt_tiles_free)
        self._frames: list[_Frame] = []
        self._small: list[_Small] = []
        self._source, self._used = trace, 0
        self._known: list[int] = trace.locations["events"].tolist()
        rows = range(trace.locations.rows)
        sizes = [trace.bytes_of(row) for row in rows] if sizes_known else self._known
        self._events = [*map(_count, self._known, sizes)] if sizes_known else self._known
        self.groups = GroupTiles(trace, sizes, self._keep_group)

    def part(self, trace: Source, location: int) -> _LocationTiles:
        return _LocationTiles(self, location)

    def configure(self, replay: Replay) -> None:
        replay.fields.want_spans = replay.fields.want_checkpoints = 1
        replay.fields.class_of = self._class_of.ctypes.data

    def pyramid(self, location: int) -> Any:
        """A struct vt_pyramid for a location."""
        found = self._spares.take()
        found.contents.want_overview = self.groups.has(location)
        _library().vt_tiles_begin(found, self._events[location], self._source.duration)
        return found

    def take(self, location: int, batch: BatchBuffer, replay: Replay) -> None:
        """Adds a location with all its events in a batch, in place of its part. Raises MemoryError."""
        pyramid = self._spares.take()
        fields, events = pyramid.contents, self._events[location]
        fields.want_overview = self.groups.has(location)
        if _library().vt_tiles_whole(pyramid, replay.fields, batch.fields, events, self._source.duration):
            raise MemoryError
        self.end_location(location, pyramid, [], replay)

    def end_location(self, location: int, pyramid: Any, times: list[int], replay: Replay) -> None:
        """Stores the rest of a finished location, and returns its pyramid. times: of its blocks of checkpoints."""
        self.pack(location, pyramid)
        self.keep_checkpoints(location, times, replay, whole=False)
        if times:
            self.keep_block(location, BLOCK_TIMES, 0, np.array(times, "<i8").tobytes())
        self.groups.add(location, pyramid)
        self._spares.give_back(pyramid)
        with self._lock:
            self._progress(self._known[location])

    def keep_checkpoints(self, location: int, times: list[int], replay: Replay, whole: bool) -> None:
        """Stores the blocks of checkpoints so far, and adds their times. whole: stores full blocks only."""
        while count := replay.checkpoints_count:
            if whole and count < CHECKPOINT_BLOCK:
                return
            count = min(count, CHECKPOINT_BLOCK)
            checkpoints, calls = replay.checkpoints()
            checkpoints = checkpoints[:count]
            calls = calls[: int((checkpoints["depth"] - checkpoints["common"]).sum())]
            self.keep_block(location, BLOCKS, len(times), pack(checkpoints, calls))
            times.append(int(checkpoints["time"][0]))
            replay.drop_checkpoints(count, len(calls))

    def _keep_group(self, row: int, sums: Any) -> None:
        pyramid = self._spares.take()
        fill(sums, pyramid)
        self.pack(row, pyramid)
        self._spares.give_back(pyramid)

    def pack(self, location: int, pyramid: Any, whole: bool = True) -> None:
        """Stores the finished tiles of a location as frames of about FRAME bytes. Each _ENOUGH bytes of tiles are
        sorted by level, since a picture needs tiles of one level. whole: False leaves the tiles after the last _ENOUGH
        bytes to the next call, so that frames do not depend on the calls."""
        fields = pyramid.contents
        if whole and 0 < fields.nbytes <= FRAME:  # most locations have few events
            count, size = fields.ntiles, fields.nbytes
            texts, offset = string_at(fields.tiles, count * _TILE.itemsize), self._store(string_at(fields.bytes, size))
            self._small.append(_Small(location, texts, offset, size))
            _library().vt_tiles_drop(pyramid, count)
            return
        tiles = view(fields.tiles, fields.ntiles, _TILE)
        data = view(fields.bytes, fields.nbytes, np.uint8).data
        ends = tiles["offset"] + tiles["bytes"]
        first = begin = 0
        while first < len(tiles):
            last = int(np.searchsorted(ends, begin + _ENOUGH)) + 1
            if last > len(tiles) and not whole:
                break
            self._pack_levels(location, _by_level(tiles[first:last]), data)
            first, begin = last, int(ends[min(last, len(tiles)) - 1])
        _library().vt_tiles_drop(pyramid, min(first, len(tiles)))

    def _pack_levels(self, location: int, tiles: Array, data: memoryview) -> None:
        """Stores tiles in their order. Their offsets are positions in data."""
        ends = np.cumsum(tiles["bytes"], dtype=np.int64)
        first = begin = 0
        while first < len(tiles):
            last = int(np.searchsorted(ends, begin + FRAME)) + 1
            self._keep_tiles(location, tiles[first:last], data)
            first, begin = last, int(ends[min(last, len(tiles)) - 1])

    def _keep_tiles(self, location: int, tiles: Array, data: memoryview) -> None:
        """Stores a frame of tiles."""
        places = zip(tiles["offset"].tolist(), tiles["bytes"].tolist(), strict=True)
        self._keep(np.full(len(tiles), location), tiles, b"".join([data[at : at + size] for at, size in places]))

    def keep_block(self, location: int, level: int, number: int, text: bytes) -> None:
        """Stores a frame with one block of checkpoints."""
        self._keep(np.array([location]), np.array([(0, len(text), level, number)], _TILE), text)

    def _keep(self, rows: Array, texts: Array, data: bytes) -> None:
        """Stores a frame. texts: its entries, of type _TILE; rows: the row of each."""
        import zstandard

        if (packer := getattr(self._local, "packer", None)) is None:
            packer = self._local.packer = zstandard.ZstdCompressor(level=1, write_checksum=True)
        packed = packer.compress(data)
        self._frames.append(_Frame(rows, texts, self._store(packed), len(packed)))

    def _store(self, data: bytes) -> int:
        """Appends to scratch. Returns the offset."""
        with self._lock:
            begin = self._used
            self._scratch.write(data)
            self._used += len(data)
        return begin

    def _pack_small(self) -> None:
        """Stores the texts of rows with few tiles: those that follow each other share frames of about FRAME bytes."""
        self._scratch.flush()
        left, size = list[_Small](), 0
        for each in sorted(self._small, key=lambda each: each.row):
            left.append(each)
            size += each.bytes
            if size >= FRAME:
                self._share_frame(left)
                left, size = [], 0
        if left:
            self._share_frame(left)
        self._small.clear()  # a second answer finds the frames

    def _share_frame(self, parts: list[_Small]) -> None:
        data = b"".join([os.pread(self._scratch.fileno(), each.bytes, each.offset) for each in parts])
        texts = np.frombuffer(b"".join([each.texts for each in parts]), _TILE)
        rows = np.repeat([each.row for each in parts], [len(each.texts) // _TILE.itemsize for each in parts])
        self._keep(rows, texts, data)

    def answer(self) -> TileIndex:
        self._spares.free()
        self._pack_small()
        frames = self._frames
        counts = np.array([len(each.texts) for each in frames], np.int64)
        places = np.array([(each.offset, each.bytes) for each in frames], np.uint64).reshape(-1, 2)
        offset, size = np.repeat(places, counts, axis=0).T
        row = np.concatenate([*(each.rows for each in frames), np.empty(0, np.int64)]).astype(np.uint64)
        texts = joined([each.texts for each in frames], _TILE)
        level, number = (texts[name].astype(np.uint64) for name in ("level", "number"))
        ends = np.append(0, np.cumsum(texts["bytes"], dtype=np.uint64)).astype(np.uint64)
        at = ends[:-1] - np.repeat(ends[np.cumsum(counts) - counts], counts)
        order = np.lexsort((number, level, row))
        return TileIndex(*(column[order] for column in (row, level, number, offset, size, at, texts["bytes"])))


def _by_level(tiles: Array) -> Array:
    """A copy of the tiles in the order of their levels."""
    found: Array = tiles[np.argsort(tiles["level"], kind="stable")]
    return found
