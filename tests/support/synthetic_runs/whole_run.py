# SPDX-License-Identifier: BSD-3-Clause
"""The local files of a run with records and definitions of many kinds, as objects before their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from support.synthetic_runs import local_files as lf
from support.synthetic_runs.run_files import START, arrays, rank_head, rank_name, world
from vtrace.io.local import records as r

Files = dict[str, Any]
"""Name -> File, or bytes."""


@dataclass
class File:
    """A local file before its encoding. definitions, chunks: content; fields: override fields of heads."""

    content: int
    codec: int
    head: dict[str, Any]
    definitions: list[list[Any]] = field(default_factory=list)
    chunks: list[lf.Chunk] = field(default_factory=list)
    fields: list[tuple[int, str, int]] = field(default_factory=list)
    """(block, name in records.BLOCK or CHUNK, value)"""

    def data(self) -> bytes:
        """The bytes that the runtime would write."""
        chunks = list(self.chunks)
        if self.content == r.DEFINITION_DATA:
            chunks = _packed(self.definitions, self.head["location"])
        overrides: list[dict[str, int]] = [{} for _ in chunks]
        for number, name, value in self.fields if chunks else ():
            kind = (r.CHUNK if self.content == r.BUFFER else r.BLOCK).fields[name][0]
            overrides[number % len(chunks)][name] = value % (1 << 8 * kind.itemsize)
        head = lf.write_head(self.content, **self.head)
        if self.content == r.BUFFER:
            states = [{"state": r.CHUNK_FULL, **o} for o in overrides]
            parts = [lf.chunk_bytes(c, **o) for c, o in zip(chunks, states, strict=True)]
            return b"".join([head.ljust(r.CHUNK_SIZE, b"\0"), *parts])
        stored = [lf.encode(bytes(c.data), self.codec) for c in chunks]
        blocks = zip(chunks, stored, overrides, strict=True)
        return head + b"".join(lf.block(c, **{"codec": self.codec, "stored": s, **o}) for c, s, o in blocks)


def _packed(definitions: Sequence[list[Any]], location: int) -> list[lf.Chunk]:
    """The definitions in two blocks, so that tests can damage one and keep the other."""
    chunks = [lf.Chunk(location, n, content=r.DEFINITION_DATA) for n in range(2)]
    for number, definition in enumerate(definitions):
        data = msgpack.packb(definition, use_bin_type=True, unicode_errors="surrogateescape")
        chunk = chunks[number * 2 // len(definitions)]
        if len(chunk.data) + len(data) <= r.RAW_MAX:
            chunk.data += data
            chunk.records += 1
    return chunks


def make_run(
    directory: Path, *, run: bytes = b"R" * 16, ranks: int = 2, codecs: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """The files of a run with two threads in rank 0. The last rank was killed, and left its buffer.

    codecs: of definitions and of events.
    """
    files: Files = {}
    for rank in range(ranks):
        died = rank == ranks - 1
        head = rank_head(rank, ranks, "heat", run=run, pair=(1000, 1000, START), location=0, directory=str(directory))
        name = f"heat.xnode1-{100 + rank}-{START:x}.buffer"
        if died:
            head["buffer"] = str(directory / name)
            chunks = [_events(rank, 2), _events(rank, 3)]
            files[name] = File(r.BUFFER, 0, head, chunks=chunks, fields=[(1, "state", r.CHUNK_FILLING)])
        for location in (0, 1) if not rank else (0,):
            ident = rank_name(rank, location)
            own = {**head, "location": location}
            definitions = _shared(rank, ranks, directory) if not location else []
            definitions += [[r.DEFINITIONS["LOCATION"], location, 100, f"t{location}" if location else None, 1000]]
            if not died:
                definitions.append([r.DEFINITIONS["SUMMARY"], location, 4, 0, 0, 0, 0, 0, 9000, 0])
            files[f"heat.{ident}.def.z"] = File(r.DEFINITION_DATA, codecs[0], own, definitions=definitions)
            chunks = [_events(rank, n, location) for n in range(2)]
            files[f"heat.{ident}.events.z"] = File(r.EVENTS, codecs[1], own, chunks=chunks)
    files["heat.uctl"] = f"vtrace uctl 1\nrun {run.hex()}\nworld 7\nranks {ranks}\ntool vtrace 0.1.0\n".encode()
    return files


def _events(rank: int, sequence: int, location: int = 0) -> lf.Chunk:
    start = 1000 + 2000 * sequence
    chunk = lf.Chunk(
        location, sequence, start, pair=(start, start, START + start), open=[r.what("ENTER", 3)] * sequence
    )
    chunk.record("ENTER", 10, 3).enter(0x1010 + 16 * sequence, 5).record("ENTER", 5, 1 + rank)
    for comm in (1, 3, 4):
        chunk.record("RECV" if rank else "SEND", 5, comm, (rank + 1) % 2 | 77 << 32, 8)
    chunk.record("COLL_BEGIN").record("COLL_END", 5, 3, 11 | 0xFFFFFFFF << 32, 8, 8).record("METRIC", 1, 1, 42)
    chunk.record("ISEND", 1, 1, 0, 8, 5).record("ISEND_COMPLETE", 1, 0, 5).record("FLUSH", 1, 0, 20)
    chunk.record("RMA_PUT", 1, 1, 0, 8, 1).record("RMA_GROUP_SYNC", 1, 2, 1, 1).record("IO_BEGIN", 1, 2, 1, 8, 3)
    chunk.record("ENTER_ALLOC", 1, 3, 80).record("LEAVE_ALLOC", 1, 3, 0x900, 88, 1).record("HEAP", 1, 0, 90, 2)
    chunk.record("ENTER_FREE", 1, 3, 0x900, 88, 2, 1).record("LEAVE", 1, 3)
    chunk.record("ATTRIBUTE", 1, 1, 2).record("IO_COMPLETE", 0, 2, 8, 3).record("IO_DUPLICATE", 1, 1, 2)
    chunk.record("IO_DELETE", 1, 1, 3).record("LEAVE", 50, 1 + rank).leave(0x1010 + 16 * sequence, 5).record(
        "ENTER_ADDRESS", 1, 0, 0x405010
    )
    return chunk.record("LEAVE_ADDRESS", 1, 0, 0x405010).record("LEAVE", 10, 3)


def _shared(rank: int, ranks: int, directory: Path) -> list[list[Any]]:
    """The definitions of a process; its module does not exist."""
    members = np.arange(ranks, dtype="<u4").tobytes()
    named = [
        ["PROPERTY", "command", ["./heat", "100"]], ["PROPERTY", "setting.VT_MAX_FLUSHES", "1"],
        ["REGION", 1, "MPI_Send", 4, 28, None, 0], ["REGION", 2, "MPI_Recv", 4, 28, None, 0],
        ["REGION", 3, "work", 1, 1, "heat.c", 12],
        ["MODULE", 0x1000, 0x401000, 0x8000, 0x400000, str(directory / "no"), b"\1\2\3\4", 900],
        world(rank, ranks), ["COMM_MEMBERS", 1, 0, 0, 7, members],
        ["COMM", 2, r.COMM_KINDS["SELF"], None, 0, 0, 0, 1, 0, 0], ["COMM_NAME", 3, "grid"],
        ["COMM", 3, r.COMM_KINDS["DUP"], 1, 0, 9, 0, ranks, rank, 0], ["COMM_MEMBERS", 3, 0, 0, 7, members],
        ["COMM", 4, r.COMM_KINDS["INTER_CREATE"], 1, 5, 8, 0, 1, 0, 1],
        ["COMM_MEMBERS", 4, 0, 0, 7, members[:4]], ["COMM_MEMBERS", 4, 1, 0, 7, members[4:8]],
        ["RMA_WIN", 1, 1, 0], ["RMA_WIN", 2, 4, 1], ["RMA_WIN_NAME", 1, "halo"], ["GROUP", 1, 1, 0, members],
        ["IO_FILE", 1, "/home/x"], ["IO_HANDLE", 1, "fd", 1, 1, 1, None, None, 2, 0], ["ATTRIBUTE", 1, "of", "", 24],
        ["IO_HANDLE", 2, "result", 1, 3, 0, 1, 1, None, None],
        ["METRIC", 1, "heap", "B", "u", "p", True], ["CLOCK", 1000, 1000, START],
        ["CLOCK", 2_000_001_000, 2_000_001_000, START + 2_000_000_000],
    ]  # fmt: skip
    return arrays(named)
