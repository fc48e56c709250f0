# SPDX-License-Identifier: BSD-3-Clause
"""Where the blocks of a local file and the chunks of a buffer lie, and what their heads say."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from vtrace.io import records
from vtrace.io.heads import FileHead

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


Rows = np.ndarray[Any, np.dtype[np.void]]
_CHECKED = struct.Struct("<4sHBBII")
"""How a block's head begins: magic, version, codec, content, raw_bytes, stored_bytes."""
_NOPEN = struct.Struct("<I")
_NOPEN_AT = int(records.BLOCK.fields["nopen"][1])  # type: ignore[index]
_COMMON = {kind: sorted(set(INDEX.names or ()) & set(kind.names or ())) for kind in (records.BLOCK, records.CHUNK)}
"""What a row has in common with a block's or chunk's head."""


def _rows(heads: list[bytes], dtype: np.dtype[np.void], offsets: list[int], base: int, form: int) -> tuple[Rows, Any]:
    """Rows for the heads of blocks or chunks (of dtype), and the heads themselves."""
    found = np.frombuffer(b"".join(heads), dtype)
    rows = np.zeros(len(found), INDEX)
    for name in _COMMON[dtype]:
        rows[name] = found[name]
    rows["address"] = np.array(offsets, np.uint64) + np.uint64(base)
    rows["form"] = form
    return rows, found


def index_blocks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    """Rows for the blocks of an open file of size bytes that is mapped at base, up to the first that is no block; and
    why those behind it are none."""
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
        stored, wrong = _block_problem(data, head.content, size - at - records.BLOCK.itemsize)
        if wrong:
            cut = f"{head.path}: {wrong} at byte {at}"
            break
        heads.append(data)
        offsets.append(at)
        at += records.BLOCK.itemsize + stored
    parts.append(_rows(heads, records.BLOCK, offsets, base, BLOCK_FORM)[0])
    return np.concatenate(parts) if len(parts) > 1 else parts[0], cut


def _block_problem(data: bytes, content: int, rest: int) -> tuple[int, str | None]:
    """The bytes stored behind a block's head that has rest bytes behind it; what is wrong with the head, or None."""
    magic, version, codec, own, raw, stored = _CHECKED.unpack_from(data)
    nopen = _NOPEN.unpack_from(data, _NOPEN_AT)[0]
    impossible = raw > records.RAW_MAX or nopen > records.OPEN_MAX or (content == records.EVENTS and raw % 8)
    wrong = None
    if magic != records.BLOCK_MAGIC:
        wrong = "no block"
    elif version != records.FORMAT_VERSION:
        wrong = f"a block of format {version} (this vtrace reads format {records.FORMAT_VERSION})"
    elif own != content or codec > records.CODEC_VARINT or impossible:
        wrong = "a damaged block"
    elif stored > rest:
        wrong = "cut within the block"
    return stored, wrong


def index_chunks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    """The same for the chunks of a buffer, without those that are free or damaged; and what is damaged."""
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
