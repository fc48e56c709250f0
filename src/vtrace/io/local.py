# SPDX-License-Identifier: BSD-3-Clause
"""The local files that traced processes write: their heads, and where each block and chunk lies."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io import records
from vtrace.io.heads import FileHead, Uctl, parse_head, read_head, read_uctl

__all__ = ["INDEX", "FileHead", "LocalFile", "Stream", "Uctl", "open_local", "read_head", "read_uctl", "streams"]

INDEX = np.dtype(
    [
        ("address", "<u8"), ("form", "u1"), ("content", "u1"), ("codec", "u1"), ("location", "<u4"),
        ("sequence", "<u4"), ("thread", "<u4"), ("records", "<u4"), ("classes", "<u4"), ("depth", "<u4"),
        ("raw_bytes", "<u4"), ("stored_bytes", "<u4"), ("ticks", "<u8"), ("end_ticks", "<u8"), ("lost", "<u8"),
        ("pair", records.CLOCK_PAIR),
    ],
    align=True,
)  # fmt: skip
"""One block (form 0) or chunk of a buffer (form 1). address: where its head lies in this process's memory.
classes is CLASS_ALL and end_ticks 0 where unknown (a chunk that was being filled). struct vt_row of the kernel."""

BLOCK_FORM, CHUNK_FORM = 0, 1


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


def open_local(path: Path) -> LocalFile:
    """Maps a def, events or buffer file and indexes its blocks (of a buffer: its chunks, as far as published).

    Raises FormatError for a bad head and VtraceError when the file cannot be read. A file that is cut or damaged
    further behind gives what stands before, and says so in cut.
    """
    try:
        with open(path, "rb") as file:
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
    return LocalFile(path, head, np.array(rows, INDEX), cut, base, size, mapped)


Rows = list[tuple[Any, ...]]


def _index_blocks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    rows: Rows = []
    at = records.FILE_HEAD
    while at < size:
        data = os.pread(fd, records.BLOCK.itemsize, at)
        if len(data) < records.BLOCK.itemsize:
            return rows, f"{head.path}: cut within the head of the block at byte {at}"
        block = np.frombuffer(data, records.BLOCK, 1)[0]
        wrong = block_problem(block, head.content, size - at - records.BLOCK.itemsize)
        if wrong:
            return rows, f"{head.path}: {wrong} at byte {at}"
        rows.append(
            (base + at, BLOCK_FORM, block["content"], block["codec"], block["location"], block["sequence"],
             block["thread"], block["records"], block["classes"], block["depth"], block["raw_bytes"],
             block["stored_bytes"], block["ticks"], block["end_ticks"], block["lost"], tuple(block["pair"]))
        )  # fmt: skip
        at += records.BLOCK.itemsize + int(block["stored_bytes"])
    return rows, None


def block_problem(block: Any, content: int, rest: int) -> str | None:
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
    rows: Rows = []
    problem = f"{head.path}: cut at byte {size}" if size % records.CHUNK_SIZE else None
    for at in range(records.CHUNK_SIZE, size - records.CHUNK_SIZE + 1, records.CHUNK_SIZE):
        data = os.pread(fd, records.CHUNK.itemsize, at)
        if len(data) < records.CHUNK.itemsize:
            return rows, f"{head.path}: cut at byte {at}"
        chunk = np.frombuffer(data, records.CHUNK, 1)[0]
        state = int(chunk["state"])
        if state == records.CHUNK_FREE:
            continue
        end = int(chunk["head"]) or records.CHUNK_SIZE
        content = int(chunk["content"])
        if (
            state > records.CHUNK_FULL
            or content not in (records.EVENTS, records.DEFINITION_DATA)
            or chunk["nopen"] > records.OPEN_MAX
            or end < records.CHUNK_DATA
            or (content == records.EVENTS and end % 8)
        ):
            problem = problem or f"{head.path}: a damaged chunk at byte {at}"
            continue
        full = state == records.CHUNK_FULL
        rows.append(
            (base + at, CHUNK_FORM, content, records.CODEC_RAW, chunk["location"], chunk["sequence"], chunk["thread"],
             chunk["records"] if full else 0, chunk["classes"] if full else records.CLASS_ALL, chunk["depth"],
             end - records.CHUNK_DATA, end - records.CHUNK_DATA, chunk["ticks"], chunk["end_ticks"] if full else 0,
             chunk["lost"], tuple(chunk["pair"]))
        )  # fmt: skip
    return rows, problem


@dataclass(eq=False)
class Stream:
    """What one location wrote of one content, in order. Rows point into files, which stay open while it is used."""

    location: int
    content: int
    index: np.ndarray[Any, np.dtype[np.void]] = field(repr=False)
    """Rows of INDEX, ascending sequence, each sequence once."""
    files: list[LocalFile] = field(repr=False)
    problems: list[str]
    """What is missing, each with path and offset: cut files that no chunk replaces, holes in the sequence."""

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
    found: dict[tuple[int, int], dict[int, list[tuple[LocalFile, Any]]]] = {}
    for file in files:
        if file.head.content != records.BUFFER:
            found.setdefault((file.head.content, file.head.location), {})
        for row in file.blocks:
            rows = found.setdefault((int(row["content"]), int(row["location"])), {})
            rows.setdefault(int(row["sequence"]), []).append((file, row))
    return {key: _stream(key, found[key], files) for key in sorted(found)}


def _stream(key: tuple[int, int], found: dict[int, list[tuple[LocalFile, Any]]], files: list[LocalFile]) -> Stream:
    content, location = key
    chosen = [_choose(found[sequence]) for sequence in sorted(found)]
    index = np.array([row for _, row in chosen], INDEX) if chosen else np.empty(0, INDEX)
    taken = {id(file) for file, _ in chosen}
    used = [file for file in files if id(file) in taken or (file.head.content, file.head.location) == key]
    problems = []
    for file in used:
        # What a cut events file lacks may still stand in the buffer.
        after = max((int(row["sequence"]) for row in file.blocks), default=-1) + 1
        if file.cut and (file.head.content == records.BUFFER or after not in found):
            problems.append(file.cut)
    stream = Stream(location, content, index, used, problems)
    expected = 0
    for number, row in enumerate(index):
        sequence = int(row["sequence"])
        if sequence != expected:
            path, offset = stream.where(number)
            missing = f"block {expected} is" if sequence == expected + 1 else f"blocks {expected} to {sequence - 1} are"
            problems.append(f"{path}: {missing} missing before byte {offset} (location {location})")
        expected = sequence + 1
    return stream


def _choose(candidates: list[tuple[LocalFile, Any]]) -> tuple[LocalFile, Any]:
    """The best of several copies of one chunk."""
    if len(candidates) == 1:
        return candidates[0]
    blocks = [c for c in candidates if c[1]["form"] == BLOCK_FORM]
    chunks = [c for c in candidates if c[1]["form"] == CHUNK_FORM]
    for file, row in blocks:
        if _intact(file, row):
            return file, row
    return max(chunks or blocks, key=lambda c: int(c[1]["raw_bytes"]))


def _intact(file: LocalFile, row: Any) -> bool:
    at = int(row["address"]) - file.base
    head = file.read(at, records.BLOCK.itemsize)
    stored = file.read(at + records.BLOCK.itemsize, int(row["stored_bytes"]))
    return bool(np.frombuffer(head, records.BLOCK, 1)[0]["checksum"] == records.block_checksum(head, stored))
