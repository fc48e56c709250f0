# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of a packed archive: a head, the index, then parts of any bytes, which the index names by place.

The index is a frame of zstd with a map of msgpack. Parts are frames of zstd with a checksum, or blocks of local files,
which have their own. All numbers are little endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgpack
import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array
from vtrace.io.common.inflate import inflate
from vtrace.io.local.heads import open_descriptor
from vtrace.io.local.records import checksum

MAGIC, VERSION = b"VTPACKED", 1
_HEAD = struct.Struct("<8sIIQQQ")
"""MAGIC, VERSION, 0, bytes of the index, bytes of the file, checksum of the head (with 0 here) and the index."""
_MOST_INDEX = 1 << 30
_PACKED, _SMALL = 1000, 1 << 20
"""Limit on unpacked bytes: _PACKED per packed byte plus _SMALL."""
LOCATION = np.dtype(
    [("id", "<u8"), ("process", "<u4"), ("number", "<i4"), ("events", "<u8"), ("event_bytes", "<u8"),
     ("samples", "<u8"), ("sample_bytes", "<u8")]
)  # fmt: skip
"""A location: OTF2's id, its process (from 0), the process's number of it (HEAP: its heap), and its blocks. Places are
bytes from the end of the index on."""
HEAP = -1


class Part(NamedTuple):
    """A frame of zstd: its place, size and checksum."""

    at: int
    stored: int
    checksum: int


@dataclass
class Index:
    """The contents of a packed archive. files: small files of the archive by path; processes: ProcessPart of each."""

    files: dict[str, Part]
    processes: list[Part]
    locations: Array
    heap_class: int
    samples: bool
    """The events include samples."""


@dataclass
class NewPart:
    """Bytes for a part: those of a file from a place on, or data."""

    stored: int
    data: bytes = b""
    source: tuple[Path, int] | None = None


@dataclass
class Plan:
    """The parts of a new file, in their order."""

    parts: list[NewPart] = field(default_factory=list)
    end: int = 0

    def add(self, part: NewPart) -> int:
        """Adds a part; returns its place."""
        self.parts.append(part)
        self.end += part.stored
        return self.end - part.stored

    def pack(self, data: bytes) -> Part:
        """Adds a frame of zstd."""
        stored = packed(data)
        return Part(self.add(NewPart(len(stored), stored)), len(stored), checksum(0, stored))


def packed(data: bytes) -> bytes:
    """A frame of zstd."""
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)


def unpacked(data: bytes) -> bytes:
    """The content of a frame of zstd. Raises ValueError."""
    return inflate(data, _PACKED * len(data) + _SMALL)


def unpacked_map(data: bytes) -> dict[str, Any]:
    """The map of msgpack in a frame of zstd. Raises ValueError."""
    found = unpacked(data)
    size = len(found)
    try:
        value = msgpack.unpackb(
            found, max_str_len=size, max_bin_len=size, max_array_len=size, max_map_len=size, max_ext_len=0,
            unicode_errors="surrogateescape",
        )  # fmt: skip
    except Exception as error:  # msgpack raises any exception for damaged bytes
        raise ValueError("damaged") from error
    if not isinstance(value, dict):
        raise ValueError("not a map")
    return value


def write(file: IO[bytes], index: Index, plan: Plan) -> None:
    """Writes a packed archive. Raises OSError."""
    data = packed(
        msgpack.packb(
            {
                "files": [[name, *part] for name, part in index.files.items()],
                "processes": [list(part) for part in index.processes],
                "locations": index.locations.tobytes(),
                "heap_class": index.heap_class,
                "samples": index.samples,
            },
            unicode_errors="surrogateescape",
        )
    )
    head = MAGIC, VERSION, 0, len(data), _HEAD.size + len(data) + plan.end
    file.write(_HEAD.pack(*head, checksum(checksum(0, _HEAD.pack(*head, 0)), data)) + data)
    for part in plan.parts:
        for piece in _pieces(part):
            file.write(piece)


def _pieces(part: NewPart) -> Iterator[bytes]:
    if part.source is None:
        yield part.data
        return
    path, at = part.source
    with path.open("rb") as file:
        file.seek(at)
        left = part.stored
        while left > 0:
            piece = file.read(min(left, 1 << 22))
            if not piece:
                raise VtraceError(f"{path} became shorter while it was packed")
            left -= len(piece)
            yield piece


def is_packed(path: Path) -> bool:
    """Returns True if a file begins as a packed archive does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def has_file(path: Path, name: str) -> bool:
    """Returns True if path is a packed archive with this file."""
    if not is_packed(path):
        return False
    try:
        found = Container(path)
    except VtraceError:
        return False
    found.close()
    return name in found.index.files


class Container:
    """A packed archive that is open for reading; several threads may read it."""

    def __init__(self, path: Path) -> None:
        """Raises FormatError if the head or the index is damaged, VtraceError if the file cannot be read."""
        self.path = path
        try:
            self.descriptor, self.size = open_descriptor(path)
        except OSError as error:
            raise VtraceError(f"cannot read {path}: {error.strerror}") from error
        try:
            self.index = self._read_index()
        except BaseException:
            os.close(self.descriptor)
            raise

    def close(self) -> None:
        os.close(self.descriptor)

    def _read_index(self) -> Index:
        data = os.pread(self.descriptor, _HEAD.size, 0)
        if not data.startswith(MAGIC):
            raise FormatError(f"{self.path}: not a packed archive of vtrace")
        if len(data) < _HEAD.size:
            raise FormatError(f"{self.path}: cut at byte {len(data)}, within its head")
        _, version, _, stored, self.whole, written = _HEAD.unpack(data)
        if version != VERSION:
            raise FormatError(f"{self.path}: a packed archive of version {version}; this vtrace reads {VERSION}")
        self.begin = _HEAD.size + stored
        if self.begin > self.size or stored > _MOST_INDEX:
            raise FormatError(f"{self.path}: cut at byte {self.size}, within its index")
        packed_index = os.pread(self.descriptor, stored, _HEAD.size)
        if written != checksum(checksum(0, data[:-8] + bytes(8)), packed_index):
            raise FormatError(f"{self.path}: the head or the index is damaged (wrong checksum)")
        try:
            return _index(unpacked_map(packed_index))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.path}: the index is damaged ({type(error).__name__})") from error

    @property
    def is_cut(self) -> bool:
        """True if the end of the file is missing."""
        return self.size < int(self.whole)

    def part(self, part: Part) -> bytes:
        """The bytes of a frame. Raises ValueError if they are cut or damaged."""
        at = self.begin + part.at
        if at + part.stored > self.size:
            raise ValueError("cut")
        data = os.pread(self.descriptor, part.stored, at)
        if checksum(0, data) != part.checksum:
            raise ValueError("damaged")
        return data


def _index(found: dict[str, Any]) -> Index:
    """Raises ValueError, KeyError or TypeError for an impossible index."""
    files = {str(name): _part(rest) for name, *rest in found["files"]}
    locations = np.frombuffer(found["locations"], LOCATION)
    processes = [_part(numbers) for numbers in found["processes"]]
    if np.any(locations["process"] >= len(processes)) or len(np.unique(locations["id"])) != len(locations):
        raise ValueError("locations")
    if np.any(locations["number"] < HEAP):
        raise ValueError("locations")
    for at, size in (("events", "event_bytes"), ("samples", "sample_bytes")):
        if np.any(locations[at] >= 1 << 62) or np.any(locations[size] >= 1 << 62):
            raise ValueError("locations")
    return Index(files, processes, locations, int(found["heap_class"]), bool(found["samples"]))


def _part(numbers: Sequence[int]) -> Part:
    at, stored, written = numbers
    if not (0 <= at < 1 << 62 and 0 <= stored < 1 << 62 and 0 <= written < 1 << 64):
        raise ValueError("part")
    return Part(at, stored, written)
