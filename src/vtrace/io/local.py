# SPDX-License-Identifier: BSD-3-Clause
"""The local files that traced processes write: their heads, and where each block and chunk lies."""

from __future__ import annotations

import mmap
import os
import resource
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io import records
from vtrace.io.heads import FileHead, Uctl, open_file, parse_head, read_head, read_uctl

__all__ = [
    "INDEX",
    "FileHead",
    "LocalFile",
    "Stream",
    "Uctl",
    "allow_many_files",
    "by_location",
    "open_local",
    "read_head",
    "read_uctl",
    "streams",
]

INDEX = np.dtype(
    [
        ("address", "<u8"), ("form", "u1"), ("content", "u1"), ("codec", "u1"), ("location", "<u4"),
        ("sequence", "<u4"), ("thread", "<u4"), ("records", "<u4"), ("classes", "<u4"), ("depth", "<u4"),
        ("raw_bytes", "<u4"), ("stored_bytes", "<u4"), ("ticks", "<u8"), ("end_ticks", "<u8"), ("lost", "<u8"),
        ("dropped", "<u8"), ("pair", records.CLOCK_PAIR),
    ],
    align=True,
)  # fmt: skip
"""One block (form 0) or chunk of a buffer (form 1). address: where its head lies in this process's memory.
classes is CLASS_ALL and end_ticks 0 where unknown (a chunk that was being filled). struct vt_row of the kernel."""

BLOCK_FORM, CHUNK_FORM = 0, 1
_BATCH = 4096
"""Heads that are kept in memory at a time: a row takes a fifth of a head."""


@dataclass(eq=False)
class LocalFile:
    """One open file: its head, and blocks (rows of INDEX). Rows point into it, so it stays open while they are used."""

    path: Path
    head: FileHead
    blocks: np.ndarray[Any, np.dtype[np.void]] = field(repr=False)
    cut: str | None
    """Why the rest of the file (of a buffer: a chunk of it) could not be indexed, with path and offset."""
    base: int
    """Where the file begins in memory."""
    size: int
    _map: mmap.mmap = field(repr=False)

    def read(self, at: int, count: int) -> bytes:
        """count bytes from offset at."""
        return self._map[at : at + count]

    def close(self) -> None:
        """Unmaps the file: no row of it may be used after this."""
        self._map.close()

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def allow_many_files() -> None:
    """Lets this process have as many files open as its administrator allows."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_local(path: Path) -> LocalFile:
    """Maps a def, events or buffer file and indexes its blocks (of a buffer: its chunks, as far as published).

    Raises FormatError for a bad head and VtraceError when the file cannot be read. A file that is cut or damaged
    further behind gives what stands before, and says so in cut.
    """
    try:
        with open_file(path) as file:
            head = parse_head(path, os.pread(file.fileno(), records.FILE_HEAD, 0))
            size = os.fstat(file.fileno()).st_size
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
            view = np.frombuffer(mapped, np.uint8)
            base = int(view.ctypes.data)
            del view  # or the map could not be closed
            # Heads are read with pread: touching the map for them would make the whole file resident.
            index = _index_chunks if head.content == records.BUFFER else _index_blocks
            rows, cut = index(file.fileno(), size, head, base)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
    return LocalFile(path, head, rows, cut, base, size, mapped)


Rows = np.ndarray[Any, np.dtype[np.void]]


def _rows(heads: list[bytes], dtype: np.dtype[np.void], offsets: list[int], base: int, form: int) -> tuple[Rows, Any]:
    """Rows with all that blocks' or chunks' heads (of dtype) have in common with them, and the heads themselves."""
    found = np.frombuffer(b"".join(heads), dtype)
    rows = np.zeros(len(found), INDEX)
    for name in set(INDEX.names or ()) & set(dtype.names or ()):
        rows[name] = found[name]
    rows["address"] = np.array(offsets, np.uint64) + np.uint64(base)
    rows["form"] = form
    return rows, found


def _index_blocks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    parts: list[Rows] = []
    heads: list[bytes] = []
    offsets: list[int] = []
    at, cut = records.FILE_HEAD, None
    while at < size:
        if len(heads) == _BATCH:
            parts.append(_rows(heads, records.BLOCK, offsets, base, BLOCK_FORM)[0])
            heads, offsets = [], []
        data = os.pread(fd, records.BLOCK.itemsize, at)
        if len(data) < records.BLOCK.itemsize:
            cut = f"{head.path}: cut within the head of the block at byte {at}"
            break
        block = np.frombuffer(data, records.BLOCK, 1)[0]
        wrong = _block_problem(block, head.content, size - at - records.BLOCK.itemsize)
        if wrong:
            cut = f"{head.path}: {wrong} at byte {at}"
            break
        heads.append(data)
        offsets.append(at)
        at += records.BLOCK.itemsize + int(block["stored_bytes"])
    parts.append(_rows(heads, records.BLOCK, offsets, base, BLOCK_FORM)[0])
    return np.concatenate(parts), cut


def _block_problem(block: Any, content: int, rest: int) -> str | None:
    """What is wrong with a block's head (a BLOCK scalar) that has rest bytes behind it, or None."""
    if block["magic"] != records.BLOCK_MAGIC:
        return "no block"
    if block["version"] != records.FORMAT_VERSION:
        return f"a block of format {block['version']} (this vtrace reads format {records.FORMAT_VERSION})"
    if block["content"] != content or block["codec"] > records.CODEC_VARINT:
        return "a damaged block"
    if block["raw_bytes"] > records.RAW_MAX or block["nopen"] > records.OPEN_MAX:
        return "a damaged block"
    if content == records.EVENTS and block["raw_bytes"] % 8:
        return "a damaged block"
    if block["stored_bytes"] > rest:
        return "cut within the block"
    return None


def _index_chunks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    heads: list[bytes] = []
    offsets: list[int] = []
    problem = f"{head.path}: cut at byte {size}" if size % records.CHUNK_SIZE else None
    for at in range(records.CHUNK_SIZE, size - records.CHUNK_SIZE + 1, records.CHUNK_SIZE):
        data = os.pread(fd, records.CHUNK.itemsize, at)
        if len(data) < records.CHUNK.itemsize:
            problem = f"{head.path}: cut at byte {at}"
            break
        chunk = np.frombuffer(data, records.CHUNK, 1)[0]
        if chunk["state"] == records.CHUNK_FREE:
            continue
        if _is_damaged(chunk):
            problem = problem or f"{head.path}: a damaged chunk at byte {at}"
            continue
        heads.append(data)
        offsets.append(at)
    rows, chunks = _rows(heads, records.CHUNK, offsets, base, CHUNK_FORM)
    filling = chunks["state"] == records.CHUNK_FILLING
    for name, unknown in (("records", 0), ("classes", records.CLASS_ALL), ("end_ticks", 0)):
        rows[name][filling] = unknown
    ends = chunks["head"].astype(np.uint32)
    ends[ends == 0] = records.CHUNK_SIZE
    rows["raw_bytes"] = rows["stored_bytes"] = ends - records.CHUNK_DATA
    return rows, problem


def _is_damaged(chunk: Any) -> bool:
    """Whether the head of a chunk in use (a CHUNK scalar) is impossible."""
    end = int(chunk["head"]) or records.CHUNK_SIZE
    events = chunk["content"] == records.EVENTS
    return bool(
        chunk["state"] > records.CHUNK_FULL
        or not (events or chunk["content"] == records.DEFINITION_DATA)
        or chunk["nopen"] > records.OPEN_MAX
        or end < records.CHUNK_DATA
        or (events and end % 8)
    )


def by_location(buffer: LocalFile) -> dict[int, LocalFile]:
    """The same open buffer for each location with the rows of that location."""
    order = np.argsort(buffer.blocks["location"], kind="stable")
    numbers, begins = np.unique(buffer.blocks["location"][order], return_index=True)
    parts = np.split(order, begins[1:]) if len(numbers) else []
    return {int(n): replace(buffer, blocks=buffer.blocks[part]) for n, part in zip(numbers, parts, strict=True)}


@dataclass(eq=False)
class Stream:
    """What one location wrote of one content, in order. Rows point into files, which stay open while it is used."""

    location: int
    content: int
    index: np.ndarray[Any, np.dtype[np.void]] = field(repr=False)
    """Rows of INDEX, ascending sequence, each sequence once."""
    files: list[LocalFile] = field(repr=False)
    problems: list[str]
    """What is missing, each with path and offset: cut files that no chunk replaces, and holes in the sequence but those
    that a flight recorder made."""

    def where(self, row: int) -> tuple[Path, int]:
        """The file of a row, and the offset of its block or chunk in it."""
        address = int(self.index[row]["address"])
        for file in self.files:
            if file.base <= address < file.base + file.size:
                return file.path, address - file.base
        raise ValueError(f"row {row} lies in none of the files")


def streams(files: list[LocalFile]) -> dict[tuple[int, int], Stream]:
    """Joins the files of ONE process into streams by (content, location).

    Each sequence number is taken once: an intact block before the chunk it was made from, that before a damaged one.
    """
    rows = np.concatenate([np.empty(0, INDEX), *(file.blocks for file in files)])
    owners = np.repeat(np.arange(len(files)), [len(file.blocks) for file in files])
    order = np.lexsort((rows["sequence"], rows["location"], rows["content"]))
    rows, owners = rows[order], owners[order]
    named = rows["content"].astype(np.uint64) << np.uint64(32) | rows["location"]
    keys, begins = np.unique(named, return_index=True)
    ends = [*begins[1:], len(rows)]
    parts = {(int(k) >> 32, int(k) & 0xFFFFFFFF): slice(b, e) for k, b, e in zip(keys, begins, ends, strict=False)}
    own = {(f.head.content, f.head.location): [f] for f in files if f.head.content != records.BUFFER}
    found = {}
    for key in sorted(parts.keys() | own.keys()):
        part = parts.get(key, slice(0, 0))
        chosen = _choose(rows[part], owners[part], files)
        used = own.get(key, [])
        used = used + [files[n] for n in np.unique(owners[part][chosen]) if files[n] not in used]
        found[key] = _stream(key, rows[part][chosen], used)
    return found


def _choose(rows: Rows, owners: np.ndarray[Any, Any], files: list[LocalFile]) -> list[int]:
    """Which rows (ascending sequence) to take, so that each sequence number comes once."""
    begins = np.flatnonzero(np.diff(rows["sequence"].astype(np.int64), prepend=-1))
    if len(begins) == len(rows):
        return begins.tolist()
    chosen = []
    for begin, end in pairwise([*begins.tolist(), len(rows)]):
        copies = list(range(begin, end))
        if len(copies) > 1:
            good = [n for n in copies if rows[n]["form"] == BLOCK_FORM and _intact(files[owners[n]], rows[n])]
            chunks = [n for n in copies if rows[n]["form"] == CHUNK_FORM]
            copies = good or sorted(chunks or copies, key=lambda n: -int(rows[n]["raw_bytes"]))
        chosen.append(copies[0])
    return chosen


def _stream(key: tuple[int, int], index: Rows, files: list[LocalFile]) -> Stream:
    sequences = index["sequence"].astype(np.int64)
    problems = []
    for file in files:
        # What a cut events file lacks may still stand in the buffer.
        after = int(file.blocks["sequence"].max(initial=0)) + 1 if len(file.blocks) else 0
        if file.cut and (file.head.content == records.BUFFER or after not in sequences):
            problems.append(file.cut)
    stream = Stream(key[1], key[0], index, files, problems)
    expected = np.concatenate([[0], sequences[:-1] + 1])
    for number in np.flatnonzero((sequences != expected[: len(sequences)]) & (index["dropped"] == 0)):
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
