# SPDX-License-Identifier: BSD-3-Clause
"""Writes local files in the runtime's format, for tests that choose every byte."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import zstandard

from vtrace.io.local import records as r

PAIR = (0, 0, 0)


def write_head(
    content: int,
    *,
    rank: int | None = 0,
    world_size: int = 1,
    location: int = 0,
    host: str = "node1",
    pid: int = 100,
    start: int = 1_700_000_000_000_000_000,
    pair: tuple[int, int, int] = (1000, 1000, 1_700_000_000_000_000_000),
    **fields: Any,
) -> bytes:
    """A file head of FILE_HEAD bytes with its checksum. fields: further fields by their name in records.FILE."""
    head = np.zeros(1, r.FILE)
    head["magic"] = r.FILE_MAGIC
    head["version"] = r.FORMAT_VERSION
    head["head_bytes"] = r.FILE_HEAD
    head["content"] = content
    values = {
        "clock": r.CLOCK_TSC, "run": b"R" * 16, "world": 7, "ticks_per_second": 10**9, "tool": "vtrace 0.1.0",
        "prefix": "a", "directory": "/work", **fields,
        "rank": r.NO_RANK if rank is None else rank, "world_size": world_size, "location": location, "host": host,
        "pid": pid, "start": start, "pair": pair,
    }  # fmt: skip
    for name, value in values.items():
        if isinstance(value, str):
            value = os.fsencode(value)
        head[name] = np.void(value) if name == "run" else value
    data = head.tobytes().ljust(r.FILE_HEAD, b"\0")
    if content == r.BUFFER:
        return data
    at = r.FILE.fields["checksum"][1]
    unsigned = data[:at] + bytes(8) + data[at + 8 : r.FILE.itemsize]
    return data[:at] + r.checksum(0, unsigned).to_bytes(8, "little") + data[at + 8 :]


class Chunk:
    """Builds one chunk of records or of definitions, with the values for its head."""

    def __init__(
        self,
        location: int = 0,
        sequence: int = 0,
        ticks: int = 1000,
        *,
        content: int = r.EVENTS,
        thread: int = 100,
        pair: tuple[int, int, int] = PAIR,
        lost: int = 0,
        open: Sequence[int] = (),
        depth: int | None = None,
    ) -> None:
        """ticks: start of the first delta. open: lower halves of the open regions' enters, outermost first."""
        self.location, self.sequence, self.ticks, self.content = location, sequence, ticks, content
        self.thread, self.pair, self.lost, self.open = thread, pair, lost, list(open)
        self.depth = len(self.open) if depth is None else depth
        self.end_ticks, self.records, self.classes = ticks, 0, 0
        self.data = bytearray()

    def word(self, value: int) -> Chunk:
        """Appends a raw word that does not count as a record."""
        self.data += value.to_bytes(8, "little")
        return self

    def record(self, kind: str, dt: int = 0, identifier: int = 0, *payload: int) -> Chunk:
        """Appends a record of KINDS, dt ticks after the previous record."""
        self._count(r.KINDS[kind][2], dt + (payload[0] if kind == "TIME" else 0))
        self.word(dt << 32 | r.what(kind, identifier))
        for value in payload:
            self.word(value)
        return self

    def enter(self, offset: int, dt: int = 0) -> Chunk:
        """Appends the enter of the function at an offset of the code space."""
        self._count(r.CLASS_FUNCTION | r.CLASS_NEW_CODE, dt)
        return self.word(dt << 32 | r.FUNCTION | offset)

    def leave(self, offset: int, dt: int = 0) -> Chunk:
        self._count(r.CLASS_FUNCTION | r.CLASS_NEW_CODE, dt)
        return self.word(dt << 32 | r.FUNCTION | r.FUNCTION_LEAVE | offset)

    def define(self, name: str, *values: Any) -> Chunk:
        """Appends a definition; the chunk's content must be DEFINITION_DATA."""
        self.data += msgpack.packb([r.DEFINITIONS[name], *values], use_bin_type=True)
        self.records += 1
        return self

    def _count(self, classes: int, dt: int) -> None:
        self.records += 1
        self.classes |= classes
        self.end_ticks += dt


def encode(data: bytes, codec: int) -> bytes:
    """The stored bytes of a block. Data with an incomplete record cannot be columns."""
    if codec == r.CODEC_RAW:
        return data
    if codec == r.CODEC_VARINT:
        return varint(data)
    if codec == r.CODEC_ZSTD_COLUMNS and is_whole(data):
        data = columns(data)
    return zstandard.ZstdCompressor(level=1).compress(data)


def columns(data: bytes, step: int = 0) -> bytes:
    """Complete records as columns. step: as in struct vt_columns. Raises IndexError for an incomplete record."""
    words = np.frombuffer(data, "<u8").tolist()
    whats: list[int] = []
    times: list[int] = []
    payloads: dict[int, list[list[int]]] = {}
    at = 0
    while at < len(words):
        what = words[at] & 0xFFFFFFFF
        size = 0 if what & r.FUNCTION else what >> 21 & 7
        if at + size >= len(words):
            raise IndexError("a cut record")
        whats.append(what)
        times.append(words[at] >> 32)
        payloads.setdefault(what, []).append(words[at + 1 : at + 1 + size])
        at += 1 + size
    if step:
        near = [int(ticks * (65536 / step) + 0.5) for ticks in times]
        times = [n << 8 | t - (n * step >> 16) + r.STEP_ZERO for n, t in zip(near, times, strict=True)]
    payload = [word for same in payloads.values() for column in zip(*same, strict=True) for word in column]
    signed = [(b - a + (1 << 63)) % (1 << 64) - (1 << 63) for a, b in pairwise([0, *payload])]
    payload = [2 * d if d >= 0 else -2 * d - 1 for d in signed]
    head = np.zeros(1, r.COLUMNS)
    sizes = [(max(numbers, default=0).bit_length() + 7) // 8 for numbers in (times, payload)]
    head[0] = (len(whats), len(payloads), step, *sizes, 0)
    counted = [what | len(same) << 32 for what, same in payloads.items()]
    number = {what: i for i, what in enumerate(payloads)}
    index = [number[what] for what in whats]
    parts = [(counted, r.WHAT_BYTES), (index, 1 + (len(payloads) > 256)), (times, sizes[0]), (payload, sizes[1])]
    return head.tobytes() + b"".join(planes(numbers, size) for numbers, size in parts)


def planes(numbers: Sequence[int], size: int) -> bytes:
    """Byte planes of the numbers: all lowest bytes, then all second bytes, up to size."""
    return np.array(numbers, "<u8").view(np.uint8).reshape(-1, 8)[:, :size].T.tobytes()


def is_whole(data: bytes) -> bool:
    """True if all records are complete, so that data can be columns."""
    try:
        return len(columns(data)) > 0
    except IndexError:
        return False


def varint(data: bytes) -> bytes:
    out = bytearray()
    for word in np.frombuffer(data, "<u8").tolist():
        low = word & 0xFFFFFFFF
        for half in (word >> 32, (low << 2 | low >> 30) & 0xFFFFFFFF):
            while half >= 128:
                out.append(half & 127 | 128)
                half >>= 7
            out.append(half)
    return bytes(out)


def block(chunk: Chunk, codec: int | None = None, **fields: Any) -> bytes:
    """A chunk as a block. Default codecs: ZSTD for definitions, ZSTD_COLUMNS for events, RAW for incomplete events.

    fields: override fields of the head, by their name in records.BLOCK; "stored" overrides the stored bytes.
    """
    if codec is None:
        codec = r.CODEC_ZSTD
        if chunk.content == r.EVENTS:
            codec = r.CODEC_ZSTD_COLUMNS if is_whole(bytes(chunk.data)) else r.CODEC_RAW
    stored = fields.pop("stored", None)
    if stored is None:
        stored = encode(bytes(chunk.data), codec)
    head = np.zeros(1, r.BLOCK)
    values = {
        "magic": r.BLOCK_MAGIC, "version": r.FORMAT_VERSION, "codec": codec, "content": chunk.content,
        "raw_bytes": len(chunk.data), "stored_bytes": len(stored), "location": chunk.location,
        "sequence": chunk.sequence, "thread": chunk.thread, "records": chunk.records, "classes": chunk.classes,
        "depth": chunk.depth, "nopen": len(chunk.open), "ticks": chunk.ticks, "end_ticks": chunk.end_ticks,
        "lost": chunk.lost, "pair": chunk.pair, **fields,
    }  # fmt: skip
    for name, value in values.items():
        head[name] = value
    head["open"][0][: len(chunk.open)] = chunk.open
    if "checksum" not in fields:
        head["checksum"] = r.block_checksum(head.tobytes(), stored)
    return head.tobytes() + stored


def write_events(path: Path, chunks: Sequence[Chunk], *, codec: int | None = None, **head: Any) -> Path:
    """Writes an events file of one location, with a block for each chunk. head: arguments of write_head."""
    head.setdefault("location", chunks[0].location if chunks else 0)
    path.write_bytes(write_head(r.EVENTS, **head) + b"".join(block(c, codec) for c in chunks))
    return path


def write_defs(path: Path, definitions: Sequence[list[Any]], *, codec: int | None = None, **head: Any) -> Path:
    """Writes a def file. definitions: MessagePack arrays [number, ...]; each block holds as many as fit."""
    location = head.setdefault("location", 0)
    chunks = [Chunk(location, 0, content=r.DEFINITION_DATA)]
    for definition in definitions:
        data = msgpack.packb(definition, use_bin_type=True)
        if len(chunks[-1].data) + len(data) > r.RAW_MAX:
            chunks.append(Chunk(location, len(chunks), content=r.DEFINITION_DATA))
        chunks[-1].data += data
        chunks[-1].records += 1
    blocks = b"".join(block(c, codec) for c in chunks if c.data)
    path.write_bytes(write_head(r.DEFINITION_DATA, **head) + blocks)
    return path


def chunk_bytes(chunk: Chunk, state: int = r.CHUNK_FULL, **fields: Any) -> bytes:
    """A chunk of a buffer file. fields: override fields of its head, by their name in records.CHUNK."""
    head = np.zeros(1, r.CHUNK)
    full = state == r.CHUNK_FULL
    values = {
        "head": (r.CHUNK_DATA + len(chunk.data)) % r.CHUNK_SIZE, "state": state, "content": chunk.content,
        "location": chunk.location, "sequence": chunk.sequence, "thread": chunk.thread, "ticks": chunk.ticks,
        "pair": chunk.pair, "lost": chunk.lost, "depth": chunk.depth, "nopen": len(chunk.open),
        "records": chunk.records if full else 0, "classes": chunk.classes if full else 0,
        "end_ticks": chunk.end_ticks if full else 0, **fields,
    }  # fmt: skip
    for name, value in values.items():
        head[name] = value
    head["open"][0][: len(chunk.open)] = chunk.open
    return (head.tobytes().ljust(r.CHUNK_DATA, b"\0") + bytes(chunk.data)).ljust(r.CHUNK_SIZE, b"\0")


def write_buffer(path: Path, chunks: Sequence[Chunk | bytes], *, filling: Sequence[int] = (), **head: Any) -> Path:
    """Writes a buffer file. filling: numbers of chunks in the state filling; the others are full. Bytes are copied."""
    data = write_head(r.BUFFER, **head).ljust(r.CHUNK_SIZE, b"\0")
    for number, chunk in enumerate(chunks):
        state = r.CHUNK_FILLING if number in filling else r.CHUNK_FULL
        data += chunk if isinstance(chunk, bytes) else chunk_bytes(chunk, state)
    path.write_bytes(data)
    return path
