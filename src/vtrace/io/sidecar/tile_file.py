# SPDX-License-Identifier: BSD-3-Clause
"""The tiles of an archive in its folder vtrace/: a table `tiles` (sidecar.py) with a row for each tile, and a file
tiles.data with the tiles.

tiles.data is: MAGIC; the archive's identity (32 characters); frames of zstd with checksums. The text of a frame has
tiles one after the other, up to about FRAME bytes: of one row, mostly of one level, which a picture needs together; or
all tiles of rows with few tiles.
csrc/kernels/tiles.h describes the bytes of a tile.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock, local
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np

from vtrace.errors import FormatError, TileDamageError
from vtrace.io.archive.reader_abi import CHECKPOINT_BLOCK
from vtrace.io.common.arrays import Array, distinct
from vtrace.io.common.schema import Prototypes, Schema, declare, library
from vtrace.io.local.heads import open_file
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.checkpoints import LARGEST, CheckpointBlock

TILES = "tiles", 3
"""Name and version of the table."""
BESIDE = {
    "bundles": ("tiles.bundles", 1), "bands": ("tiles.bands", 1), "counters": ("tiles.counters", 1),
    "samples": ("tiles.samples", 1), "paths": ("tiles.paths", 1), "sums": ("tiles.sums", 1),
    "crossings": ("tiles.crossings", 1),
}  # fmt: skip
"""Names and versions of the tables of messages (timeline/bundles.py), collective operations (timeline/bands.py),
counters (timeline/counter_bins.py), samples (timeline/sample_store.py), and calls (timeline/time_sums.py)."""
DATA = "tiles.data"
MAGIC = b"VTTILES\n"
_SCHEMA = Schema("vt_tiles_schema")
COLUMN = _SCHEMA.enumerations["vt_tile_column"]
"""The columns of a tile by name; from FIRST_CLASS on the time of each class."""
BINS = _SCHEMA.constants["TILE_BINS"]
BLOCKS, BLOCK_TIMES = 254, 255
"""Levels of the index that have no tiles: blocks of a location's checkpoints (checkpoints.py), and the times of the
first checkpoint of each block (int64, ns)."""
_OWN: Prototypes = {
    "vt_tiles_unpack": (ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p])
}
_LEVEL, _ROW = 1 << 32, 1 << 40
"""A tile's key is row * _ROW + level * _LEVEL + number."""
_LEVELS = _ROW // _LEVEL
_KEPT_FRAMES = 4096
"""Frames in memory, 128 MB: those of 10 000 locations, which a picture needs at once."""
_KEPT_BLOCKS = 48 << 20
"""Bytes of the blocks of checkpoints in memory: enough for those of about 1000 M events."""
FRAME = 1 << 15
"""Bytes of tiles after which the next tile starts a new frame."""
Unpacked = TypeVar("Unpacked")
_REMEDY = "remove the file; vtrace rebuilds the tiles"
_LARGEST = 3 + 256 + 256 * 8 * BINS
"""The most bytes of a tile."""


class TileIndex(NamedTuple):
    """Columns with an item for each tile, ascending by row (of trace.locations), level and number; offset and bytes: of
    its frame; at and size: the place of the tile in the frame's text."""

    row: Array
    level: Array
    number: Array
    offset: Array
    bytes: Array
    at: Array
    size: Array


def write(
    archive: Path, of: str, index: TileIndex, scratch: BinaryIO, *, classes: Sequence[str], problems: Sequence[str],
    beside: Mapping[str, sidecar.SidecarTable],
) -> None:  # fmt: skip
    """Writes the files; the table `tiles` comes last, so that it has all others beside it.

    archive: the archive's directory; of: its identity; scratch: a file with the frames at their offsets; classes: names
    of the classes in their order; problems: lines about damaged locations; beside: the tables of BESIDE by their
    names. Raises VtraceError. After an error no file of tiles is left.
    """
    written: list[str] = []
    try:
        begins = _write_frames(archive, of, index, scratch)
        written.append(DATA)
        for name, what in BESIDE.items():
            sidecar.write(archive, *what, of, beside[name])
            written.append(what[0])
        columns = {"row": np.uint32, "level": np.uint8, "number": np.uint32}
        columns |= dict.fromkeys(("bytes", "at", "size"), np.uint32)
        table = {name: getattr(index, name).astype(kind) for name, kind in columns.items()} | {"offset": begins}
        names = {"classes": list(classes), "problems": list(problems)}
        sidecar.write(archive, *TILES, of, sidecar.SidecarTable(table, names))
    except BaseException:
        paths = [archive / sidecar.FOLDER / name for name in [*written, *([TILES[0]] if written else [])]]
        for path in paths:
            if path.is_file():  # a directory or a FIFO of this name is not vtrace's
                path.unlink()
        raise


def _write_frames(archive: Path, of: str, index: TileIndex, scratch: BinaryIO) -> Array:
    """Writes tiles.data; returns the offset in the file of the frame of each tile."""
    _, first, frame = np.unique(index.offset, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by the first tile in the index, so that the order does not depend on threads
    sizes, begins = index.bytes[first], np.empty(len(first), np.uint64)
    begins[order] = len(MAGIC) + len(of) + np.cumsum(sizes[order], dtype=np.uint64) - sizes[order]
    with sidecar.new_file(archive, DATA) as file:
        file.write(MAGIC + of.encode())
        scratch.flush()
        for offset, size in zip(index.offset[first][order].tolist(), sizes[order].tolist(), strict=True):
            file.write(os.pread(scratch.fileno(), size, offset))
    found: Array = begins[frame]
    return found


class TileFile:
    """The tiles of an archive. classes: names of the classes of regions, in the order of the columns. problems: lines
    about locations that were damaged when the tiles were built. tables: those of BESIDE,
    by their names."""

    def __init__(self, data: BinaryIO, index: TileIndex, classes: list[str], problems: list[str]) -> None:
        self._data, self._index, self.classes, self.problems = data, index, classes, problems
        self.tables: dict[str, sidecar.SidecarTable] = {}
        self._keys = index.row * _ROW + index.level * _LEVEL + index.number
        self._levels = distinct(self._keys[index.level < BLOCKS] // _LEVEL)  # row * _ROW / _LEVEL + level
        self._times: dict[int, Array] = {}
        self._blocks: dict[tuple[int, int], CheckpointBlock] = {}
        self._bytes_of_blocks = 0
        self._frames: dict[int, bytes] = {}
        self._lock = Lock()
        self._thread = local()

    @classmethod
    def open(cls, archive: Path, of: str) -> TileFile | None:
        """The tiles in the folder of an archive's directory; None: there are none.

        Raises FormatError if they are damaged, of another version, or of an archive with another identity than of.
        """
        table = sidecar.read(archive, *TILES, of)
        if table is None:
            return None
        path = archive / sidecar.FOLDER / DATA
        try:
            data = open_file(path)
        except OSError as error:
            raise FormatError(f"{path} cannot be read: {error.strerror}") from error
        try:
            index = TileIndex(*(table.columns[name].astype(np.int64) for name in TileIndex._fields))
            order = np.lexsort((index.number, index.level, index.row))
            if data.read(len(MAGIC) + len(of)) != MAGIC + of.encode():
                raise FormatError(f"{path} belongs to another archive")
            if not np.array_equal(order, np.arange(len(order))) or int(index.row.max(initial=0)) > len(order):
                raise FormatError(f"{archive / sidecar.FOLDER / TILES[0]} is damaged: order")
            found = cls(data, index, table.names["classes"], table.names["problems"])
            found.tables = {name: _beside(archive, of, what) for name, what in BESIDE.items()}
            return found
        except (KeyError, FormatError) as error:
            data.close()
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{archive / sidecar.FOLDER / TILES[0]} is damaged: no {error}") from error

    @property
    def _columns(self) -> int:
        return COLUMN["FIRST_CLASS"] + len(self.classes)

    def close(self) -> None:
        self._data.close()

    def levels(self, row: int) -> list[int]:
        """The levels of a location's tiles, the finest first; none for a location without tiles."""
        first, last = self._levels.searchsorted([row * _LEVELS, (row + 1) * _LEVELS]).tolist()
        found: list[int] = (self._levels[first:last] % _LEVELS).tolist()
        return found

    def next_finer(self, rows: Array, level: int) -> Array:
        """The coarsest of the levels of each location that is not coarser than a level, -1: none."""
        places = self._levels.searchsorted(rows * _LEVELS + level, "right") - 1
        found = np.append(self._levels, -1)[places]
        known: Array = np.where(found // _LEVELS == rows, found % _LEVELS, -1)
        return known

    def bins(self, row: int, level: int, first: int, stop: int) -> Array:
        """(columns, n) uint64: the bins of a location from first on, before stop, as far as there are any.

        columns: those of COLUMN. Raises FormatError."""
        places = self._places(row, level, max(first, 0) // BINS, -(-stop // BINS))
        parts = [np.empty((self._columns, 0), np.uint64)]
        for place, base in places:
            whole, bins = self._tile(place)
            parts.append(whole[:, :bins][:, max(0, first - base) : max(0, stop - base)])
        return np.concatenate(parts, axis=1)

    def find(self, rows: Array, levels: Array, numbers: Array) -> Array:
        """The places in the index of tiles of locations, -1: there is no such tile."""
        is_number = numbers < _LEVEL
        wanted = rows * _ROW + levels * _LEVEL + np.where(is_number, numbers, 0)
        places = self._keys.searchsorted(wanted)
        known: Array = np.where(is_number & (np.append(self._keys, -1)[places] == wanted), places, -1)
        return known

    @contextmanager
    def texts(self, places: Array) -> Iterator[tuple[Array, Array]]:
        """The addresses and lengths of the bytes of tiles, which stay in memory inside. Raises FormatError."""
        at, size, offset = (column[places] for column in (self._index.at, self._index.size, self._index.offset))
        firsts = np.flatnonzero(np.append(True, offset[1:] != offset[:-1])[: len(offset)])
        texts = [self._text(place) for place in places[firsts].tolist()]
        counts = np.diff(firsts, append=len(places))
        if np.any(at + size > np.repeat([*map(len, texts)], counts)):
            raise damage()
        begins = [ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value for text in texts]
        yield np.repeat(np.array(begins, np.uint64), counts) + at.astype(np.uint64), size.astype(np.uint64)

    def _places(self, row: int, level: int, first: int, stop: int) -> list[tuple[int, int]]:
        """The tiles of a location with numbers from first on, before stop: places in the index, and first bins."""
        keys = [row * _ROW + level * _LEVEL + min(number, _LEVEL) for number in (first, stop)]
        places = range(*self._keys.searchsorted(keys).tolist())
        return [(place, int(self._index.number[place]) * BINS) for place in places]

    def _tile(self, place: int) -> tuple[Array, int]:
        """(columns, BINS) the bins of a tile, and their number; those beyond are 0."""
        return self._unpacked(place, self._text(place), lambda text: _columns(text, self._columns))

    def _text(self, place: int) -> bytes:
        """The text of a tile's frame. Raises FormatError."""
        offset = int(self._index.offset[place])
        with self._lock:
            frame = self._frames.get(offset)
        if frame is None:
            frame = self._frame(place, FRAME + _LARGEST)
            with self._lock:
                self._frames[offset] = frame
                if len(self._frames) > _KEPT_FRAMES:
                    del self._frames[next(iter(self._frames))]
        return frame

    def _read(self, place: int, unpack: Callable[[bytes], Unpacked]) -> Unpacked:
        """Unpacks a frame of checkpoints. Raises FormatError."""
        return self._unpacked(place, self._frame(place, LARGEST), unpack)

    def _frame(self, place: int, most: int) -> bytes:
        """The text, of most bytes at most, of the frame of a place of the index. Raises FormatError."""
        import zstandard

        if (unpacker := getattr(self._thread, "unpacker", None)) is None:
            unpacker = self._thread.unpacker = zstandard.ZstdDecompressor()
        size, offset = int(self._index.bytes[place]), int(self._index.offset[place])
        found = os.pread(self._data.fileno(), min(size, 2 * most), offset)
        try:
            text: bytes = unpacker.decompress(found, max_output_size=most)
        except zstandard.ZstdError as error:
            raise damage() from error
        return text

    def _unpacked(self, place: int, frame: bytes, unpack: Callable[[bytes], Unpacked]) -> Unpacked:
        at, size = int(self._index.at[place]), int(self._index.size[place])
        try:
            return unpack(frame[at : at + size])
        except (ValueError, IndexError) as error:
            raise damage() from error

    def _find(self, row: int, level: int, number: int) -> int | None:
        """The place in the index."""
        key = row * _ROW + level * _LEVEL + number
        at = int(self._keys.searchsorted(key))
        return at if at < len(self._keys) and self._keys[at] == key else None

    def block_times(self, row: int) -> Array:
        """The times (ns) of the first checkpoint of each block of a location. Raises FormatError."""
        if row not in self._times:
            place = self._find(row, BLOCK_TIMES, 0)
            self._times[row] = (
                np.empty(0, np.int64) if place is None
                else self._read(place, lambda text: np.frombuffer(text, "<i8"))
            )  # fmt: skip
        return self._times[row]

    def block(self, row: int, number: int) -> CheckpointBlock:
        """A block of a location's checkpoints. Raises FormatError."""
        with self._lock:
            found = self._blocks.get((row, number))
        if found is None:
            place = self._find(row, BLOCKS, number)
            if place is None:
                raise TileDamageError(f"a block of checkpoints is missing in {DATA}", _REMEDY)
            found = self._read(place, CheckpointBlock)
            if len(found) < CHECKPOINT_BLOCK and number + 1 < len(self.block_times(row)):
                raise damage()
            self._keep_block((row, number), found)
        return found

    def _keep_block(self, key: tuple[int, int], block: CheckpointBlock) -> None:
        """Keeps a block, and drops the oldest ones if there are too many bytes."""
        with self._lock:
            if key in self._blocks:  # another thread has read the block meanwhile
                return
            self._blocks[key] = block
            self._bytes_of_blocks += block.nbytes
            while self._bytes_of_blocks > _KEPT_BLOCKS and len(self._blocks) > 1:
                self._bytes_of_blocks -= self._blocks.pop(next(iter(self._blocks))).nbytes


def damage() -> TileDamageError:
    return TileDamageError(f"a tile of {DATA} is damaged", _REMEDY)


def _beside(archive: Path, of: str, what: tuple[str, int]) -> sidecar.SidecarTable:
    """A table that belongs to the tiles. Raises FormatError."""
    if (found := sidecar.read(archive, *what, of)) is None:
        raise FormatError(f"{archive / sidecar.FOLDER / what[0]} is missing")
    return found


def _columns(text: bytes, expected: int) -> tuple[Array, int]:
    """This number of columns of a tile, (columns, BINS), and the number of bins. Raises ValueError for damage."""
    found = np.empty((expected, BINS), np.uint64)
    n = _library().vt_tiles_unpack(text, len(text), expected, found.ctypes.data)
    if not n:
        raise ValueError("columns")
    return found, int(n)


@cache
def _library() -> ctypes.CDLL:
    declare(library(), _OWN)
    return library()
