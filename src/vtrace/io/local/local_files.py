# SPDX-License-Identifier: BSD-3-Clause
"""Opens the local files that traced processes write, and joins their blocks and chunks to streams."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.common.arrays import Array
from vtrace.io.local import records
from vtrace.io.local.heads import FileHead, Uctl, open_descriptor, parse_head, read_head, read_uctl
from vtrace.io.local.index import BLOCK_FORM, CHUNK_FORM, INDEX, Rows, index_blocks, index_chunks
from vtrace.io.local.thinned_chunks import Memory

__all__ = [
    "INDEX",
    "FileHead",
    "LocalFile",
    "Stream",
    "Uctl",
    "by_location",
    "open_local",
    "read_head",
    "read_uctl",
    "streams",
]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mmap.restype = ctypes.c_void_p
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


@dataclass(eq=False, kw_only=True)
class MappedFile:
    """A file in memory at the address base."""

    path: Path
    base: int
    size: int
    _closed: bool = False

    def read(self, at: int, count: int) -> bytes:
        """count bytes from offset at."""
        if self._closed:
            raise ValueError(f"{self.path} is closed")
        return ctypes.string_at(self.base + at, max(0, min(count, self.size - at)))

    def close(self) -> None:
        """Unmaps the file: its rows are invalid afterwards."""
        if not self._closed:
            self._closed = True
            _libc.munmap(self.base, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


@dataclass(eq=False, kw_only=True)
class LocalFile(MappedFile):
    """One open file: its head, and blocks (rows of INDEX). Rows point into the file, which must stay open meanwhile."""

    head: FileHead
    blocks: np.ndarray[Any, np.dtype[np.void]] = field(repr=False)
    cut: str | None
    """The reason why the rest of the file (of a buffer: a chunk) could not be indexed, with path and offset."""
    made: Sequence[Memory] = field(default=(), repr=False)
    """Chunks in memory that rows refer to (thinned_chunks.py)."""


def map_file(descriptor: int, size: int) -> int:
    """Maps a file and returns its address. Python's own mmap would keep a descriptor of each file: a process may have
    more threads than open files."""
    base = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if base == _FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(base)


def open_local(path: Path, known: FileHead | None = None) -> LocalFile:
    """Maps a def, events or buffer file and indexes its blocks (of a buffer: its chunks, as far as published).

    known: the head, if it was read before. Raises FormatError for a bad head and VtraceError if the file cannot be
    read. A file that is cut or damaged after its head has the blocks before the damage, and the reason in cut.
    """
    try:
        descriptor, size = open_descriptor(path)
        try:
            head = known or parse_head(path, os.pread(descriptor, records.FILE_HEAD, 0))
            base = map_file(descriptor, size)
            # Heads are read with pread: reading them through the map would make the whole file resident.
            made: list[Memory] = []
            if head.content == records.BUFFER:
                rows, cut, made = index_chunks(descriptor, size, head, base)
            else:
                rows, cut = index_blocks(descriptor, size, head, base)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
    return LocalFile(path=path, head=head, blocks=rows, cut=cut, base=base, size=size, made=made)


def by_location(buffer: LocalFile) -> dict[int, LocalFile]:
    """Splits an open buffer into one LocalFile for each location, with the rows of that location."""
    order = np.argsort(buffer.blocks["location"], kind="stable")
    numbers, begins = np.unique(buffer.blocks["location"][order], return_index=True)
    parts = np.split(order, begins[1:]) if len(numbers) else []
    return {int(n): replace(buffer, blocks=buffer.blocks[part]) for n, part in zip(numbers, parts, strict=True)}


@dataclass(eq=False, kw_only=True)
class Stream:
    """All rows of one location and one content, in order. Rows point into files, which must stay open meanwhile."""

    location: int
    content: int
    index: np.ndarray[Any, np.dtype[np.void]] = field(repr=False)
    """Rows of INDEX, ascending sequence, each sequence once."""
    files: Sequence[MappedFile] = field(repr=False)
    problems: list[str]
    """Missing parts, each with path and offset: cut files that no chunk replaces, and holes in the sequence except
    those that a flight recorder made. If a part of the buffer was in memory, the stream ends at its first hole."""

    def where(self, row: int) -> tuple[Path, int]:
        """The file of a row, and the offset of the row's block or chunk in the file."""
        address = int(self.index[row]["address"])
        for file in self.files:
            if file.base <= address < file.base + file.size:
                return file.path, address - file.base
            if isinstance(file, LocalFile) and any(address == memory.address for memory in file.made):
                return file.path, 0
        raise ValueError(f"row {row} lies in none of the files")


def streams(files: list[LocalFile]) -> dict[tuple[int, int], Stream]:
    """Joins the files of ONE process into streams by (content, location).

    Each sequence number is taken once: an intact block, else the chunk that it was made from, else a damaged block.
    """
    whole = {(file.head.content, file.head.location): _whole(file) for file in files}
    if len(whole) == len(files) and None not in whole.values():
        return {key: stream for key, stream in sorted(whole.items()) if stream}
    rows = np.concatenate([np.empty(0, INDEX), *(file.blocks for file in files)])
    file_of_row = np.repeat(np.arange(len(files)), [len(file.blocks) for file in files])
    order = np.lexsort((rows["sequence"], rows["location"], rows["content"]))
    rows, file_of_row = rows[order], file_of_row[order]
    named = rows["content"].astype(np.uint64) << np.uint64(32) | rows["location"]
    keys, begins = np.unique(named, return_index=True)
    ends = [*begins[1:], len(rows)]
    parts = {(int(k) >> 32, int(k) & 0xFFFFFFFF): slice(b, e) for k, b, e in zip(keys, begins, ends, strict=False)}
    own = {(f.head.content, f.head.location): [f] for f in files if f.head.content != records.BUFFER}
    found = {}
    for key in sorted(parts.keys() | own.keys()):
        part = parts.get(key, slice(0, 0))
        chosen = _choose(rows[part], file_of_row[part], files)
        used = own.get(key, [])
        used = used + [files[n] for n in np.unique(file_of_row[part][chosen]) if files[n] not in used]
        found[key] = _stream(key, rows[part][chosen], used)
    return found


def _whole(file: LocalFile) -> Stream | None:
    """The stream of a file that has all blocks of its location in order and no samples, as most files have."""
    rows, head = file.blocks, file.head
    if file.cut or head.content == records.BUFFER or rows["location"].tolist() != [head.location] * len(rows):
        return None
    if rows["sequence"].tolist() != list(range(len(rows))) or (rows["content"] != head.content).any():
        return None
    return Stream(location=head.location, content=head.content, index=rows, files=[file], problems=[])


def _choose(rows: Rows, file_of_row: Array, files: list[LocalFile]) -> list[int]:
    """Chooses rows (ascending sequence), so that each sequence number comes once."""
    begins = np.flatnonzero(np.diff(rows["sequence"].astype(np.int64), prepend=-1))
    if len(begins) == len(rows):
        return begins.tolist()
    chosen = []
    for begin, end in pairwise([*begins.tolist(), len(rows)]):
        copies = list(range(begin, end))
        if rows[begin]["content"] == records.PROFILE:
            chosen.append(_newest(rows, copies, [files[number] for number in file_of_row]))
            continue
        if len(copies) > 1:
            good = [n for n in copies if rows[n]["form"] == BLOCK_FORM and _intact(files[file_of_row[n]], rows[n])]
            chunks = [n for n in copies if rows[n]["form"] == CHUNK_FORM]
            copies = good or sorted(chunks or copies, key=lambda n: -int(rows[n]["raw_bytes"]))
        chosen.append(copies[0])
    return chosen


def _newest(rows: Rows, copies: list[int], files: list[LocalFile]) -> int:
    """The chunk among copies of rows of a profile, else the last intact block, else the last one."""
    chunks = [n for n in copies if rows[n]["form"] == CHUNK_FORM]
    good = [n for n in copies if rows[n]["form"] == BLOCK_FORM and _intact(files[n], rows[n])]
    return [*copies, *good, *chunks][-1]


def _stream(key: tuple[int, int], index: Rows, files: list[LocalFile]) -> Stream:
    sequences = index["sequence"].astype(np.int64)
    problems = []
    for file in files:
        # The buffer may still have the part that a cut events file lacks.
        blocks = file.blocks[file.blocks["content"] == key[0]]
        after = int(blocks["sequence"].max(initial=0)) + 1 if len(blocks) else 0
        if file.cut and (file.head.content == records.BUFFER or after not in sequences):
            problems.append(file.cut)
    expected = np.concatenate([[0], sequences[:-1] + 1])
    holes = np.flatnonzero((sequences != expected[: len(sequences)]) & (index["dropped"] == 0))
    if any(file.head.in_memory for file in files):
        end = int(holes[0]) if len(holes) and key[0] != records.DEFINITION_DATA else len(index)
        return Stream(location=key[1], content=key[0], index=index[:end], files=files, problems=problems)
    stream = Stream(location=key[1], content=key[0], index=index, files=files, problems=problems)
    for number in holes:
        path, offset = stream.where(int(number))
        first, last = expected[number], sequences[number] - 1
        missing = f"block {first} is" if first == last else f"blocks {first} to {last} are"
        problems.append(f"{path}: {missing} missing before byte {offset} (location {key[1]})")
    return stream


def _intact(file: LocalFile, row: Any) -> bool:
    at = int(row["address"]) - file.base
    head = file.read(at, records.BLOCK.itemsize)
    stored = file.read(at + records.BLOCK.itemsize, int(row["stored_bytes"]))
    return bool(np.frombuffer(head, records.BLOCK, 1)[0]["checksum"] == records.block_checksum(head, stored))
