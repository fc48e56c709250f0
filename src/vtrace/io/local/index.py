# SPDX-License-Identifier: BSD-3-Clause
"""Lists the blocks of a local file, or the chunks of a buffer: place and head of each."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from vtrace.io.common.schema import declare, library
from vtrace.io.local import records
from vtrace.io.local.heads import FileHead
from vtrace.io.local.thinned_chunks import Memory, joined, without_partner

_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

INDEX = records.SCHEMA.dtype("vt_row")
"""One block (form 0), chunk of a buffer (form 1) or block of a packed archive (form 2). address: of its head in this
process's memory. classes is CLASS_ALL and end_ticks 0 if unknown (a chunk that was being filled)."""
_INDEX = (_u32, [ctypes.c_int, _u64, _u64, ctypes.c_uint8, _pointer, _u32, _pointer])
declare(library(), {"vt_kernel_index": _INDEX, "vt_kernel_index_packed": _INDEX})

BLOCK_FORM, CHUNK_FORM, PACKED_FORM = 0, 1, 2
SHORTEST_HEAD = int(records.BLOCK.fields["open"][1])  # type: ignore[index]
"""Bytes of the head of a packed block without open regions."""
_BATCH = 4096
"""The number of rows that are made at a time."""


Rows = np.ndarray[Any, np.dtype[np.void]]
_COMMON = sorted(set(INDEX.names or ()) & set(records.CHUNK.names or ()))
"""The fields that a row and the head of a chunk have in common."""


def index_blocks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None]:
    """Rows for the blocks of an open file of size bytes that is mapped at base, up to the first place without a block;
    and the reason why there is none."""
    rows, problem = blocks_between(fd, records.FILE_HEAD, size, head.content, base=base)
    return rows, f"{head.path}: {problem}" if problem else None


def blocks_between(
    fd: int, at: int, size: int, content: int, *, base: int, is_packed: bool = False
) -> tuple[Rows, str | None]:
    """Rows for the blocks of an open file from byte `at` to byte `size`, as index_blocks. is_packed: the blocks are
    those of a packed archive.

    The kernel walks through the blocks without the GIL: else threads of vtunify would wait for each other here.
    """
    parts: list[Rows] = []
    count, shortest = _BATCH, SHORTEST_HEAD if is_packed else records.BLOCK.itemsize
    index = library().vt_kernel_index_packed if is_packed else library().vt_kernel_index
    while count == _BATCH:
        rows = np.empty(min(_BATCH, max(0, size - at) // shortest), INDEX)
        end = _u64(at)
        room = rows.ctypes.data, len(rows)
        count = index(fd, size, base, content, *room, ctypes.byref(end))
        at = end.value
        parts.append(rows[:count])
    cut = f"{_block_problem(fd, at, size, content)} at byte {at}" if at < size else None
    return np.concatenate(parts) if len(parts) > 1 else parts[0], cut


def _block_problem(fd: int, at: int, size: int, content: int) -> str:
    """The reason why there is no block at byte `at`."""
    data = os.pread(fd, min(records.BLOCK.itemsize, size - at), at)
    if len(data) < records.BLOCK.itemsize:
        return "cut within the head of the block"
    block = np.frombuffer(data, records.BLOCK, 1)[0]
    raw, version = int(block["raw_bytes"]), int(block["version"])
    odd = content == records.EVENTS and raw % 8
    impossible = raw > records.RAW_MAX or block["nopen"] > records.OPEN_MAX or odd
    if block["magic"] != records.BLOCK_MAGIC:
        return "no block"
    if version != records.FORMAT_VERSION:
        return f"a block of format {version} (this vtrace reads format {records.FORMAT_VERSION})"
    fits = block["content"] == content or (
        content == records.EVENTS and block["content"] in (records.SAMPLES, records.PROFILE)
    )
    if fits and block["codec"] <= records.CODEC_VARINT and not impossible:
        return "cut within the block"
    return "a damaged block"


def index_chunks(fd: int, size: int, head: FileHead, base: int) -> tuple[Rows, str | None, list[Memory]]:
    """Rows for the chunks of a buffer that are neither free nor damaged; the first damage; and memory to which rows
    refer."""
    heads: list[bytes] = []
    offsets: list[int] = []
    problem = f"{head.path}: cut at byte {size}" if size % records.CHUNK_SIZE else None
    last = [records.LAST_CHUNK] if size >= records.CHUNK_SIZE else []
    for at in (*last, *range(records.CHUNK_SIZE, size - records.CHUNK_SIZE + 1, records.CHUNK_SIZE)):
        data = os.pread(fd, records.CHUNK.itemsize, at)
        if len(data) < records.CHUNK.itemsize:
            problem = f"{head.path}: cut at byte {at}"
            break
        chunk = np.frombuffer(data, records.CHUNK, 1)[0]
        if chunk["state"] == records.CHUNK_FREE:
            continue
        room = records.CHUNK_SIZE - at % records.CHUNK_SIZE
        if _is_damaged(chunk, room):
            problem = problem or f"{head.path}: a damaged chunk at byte {at}"
            continue
        heads.append(data)
        offsets.append(at)
    chunks = np.frombuffer(b"".join(heads), records.CHUNK)
    taken: dict[int, Memory] = {}
    if not head.counts and (chunks["counted"].any() or (chunks["state"] == records.CHUNK_TAKING).any()):
        if problem is None and (lone := without_partner(chunks)) is not None:
            problem = f"{head.path}: a damaged chunk at byte {offsets[lone]}"
        whole, taken = joined(chunks, lambda at, count: os.pread(fd, count, at), offsets)
        taken = {whole.index(n): memory for n, memory in taken.items()}
        chunks, offsets = chunks[whole], [offsets[n] for n in whole]
    rows = np.zeros(len(chunks), INDEX)
    for name in _COMMON:
        rows[name] = chunks[name]
    rows["address"] = np.array(offsets, np.uint64) + np.uint64(base)
    rows["form"] = CHUNK_FORM
    filling = chunks["state"] == records.CHUNK_FILLING
    filling[list(taken)] = True  # a full chunk that was thinned has fewer records than its head states
    for name, unknown in (("records", 0), ("classes", records.CLASS_ALL), ("end_ticks", 0)):
        rows[name][filling] = unknown
    ends = chunks["head"].astype(np.uint32)
    ends[ends == 0] = records.CHUNK_SIZE
    rows["raw_bytes"] = rows["stored_bytes"] = ends - records.CHUNK_DATA
    for n, memory in taken.items():
        rows["address"][n] = memory.address
        rows["raw_bytes"][n] = rows["stored_bytes"][n] = memory.size
    return rows, problem, [*taken.values()]


def _is_damaged(chunk: Any, room: int) -> bool:
    """Returns True if the head of a chunk in use (a CHUNK scalar) of room bytes is impossible."""
    end = int(chunk["head"]) or records.CHUNK_SIZE
    words = chunk["content"] in (records.EVENTS, records.SAMPLES, records.PROFILE)
    return bool(
        chunk["state"] > records.CHUNK_TAKING
        or not (words or chunk["content"] == records.DEFINITION_DATA)
        or chunk["nopen"] > records.OPEN_MAX
        or not records.CHUNK_DATA <= end <= room
        or (words and end % 8)
    )
