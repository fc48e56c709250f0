# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of local files for synthetic.py: heads and blocks."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from synthetic_program import EPOCH, START, HostClocks, Program

from vtrace.io.local import records as r

RUN = b"S" * 16
WORLD = 7


@cache
def library() -> ctypes.CDLL:
    here = Path(__file__).resolve().parent
    sources = [here / "synthetic.c", here.parent / "csrc" / "core" / "columns.c"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "synthetic.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", *sources, "-o", path], check=True)
        made = ctypes.CDLL(str(path))
    u64, pointer = ctypes.c_uint64, ctypes.c_void_p
    made.columns.argtypes = [pointer, u64, pointer]
    made.checksum.argtypes = [ctypes.c_char_p, u64, ctypes.c_char_p, u64]
    made.head_checksum.argtypes = [ctypes.c_char_p, u64]
    made.checksum.restype = made.head_checksum.restype = made.columns.restype = u64
    return made


@dataclass
class Location:
    """One location while its files are written."""

    rank: int
    number: int
    path: Path
    sequence: int = 0
    ticks: int = 0
    paired: int = 0
    """Ticks of its latest clock pair."""

    @property
    def thread(self) -> int:
        return 1000 + self.number


def file_head(content: int, program: Program, clocks: HostClocks, rank: int, number: int, prefix: str) -> bytes:
    """The process that wrote a file."""
    host = rank // program.ranks_per_host
    mono = int(clocks.at(host, np.array([START - 1000]))[0])
    head = np.zeros(1, r.FILE)
    values: dict[str, Any] = {
        "magic": r.FILE_MAGIC, "version": r.FORMAT_VERSION, "content": content, "clock": r.CLOCK_TSC,
        "head_bytes": r.FILE_HEAD, "run": np.void(RUN), "world": WORLD, "rank": rank, "world_size": program.ranks,
        "location": number, "pid": 100 + rank, "start": EPOCH + START + rank, "ticks_per_second": 10**9,
        "pair": (mono, mono, EPOCH + mono), "tool": b"vtrace synthetic", "host": f"host{host}".encode(),
        "prefix": prefix.encode(), "directory": b"/",
    }  # fmt: skip
    for name, value in values.items():
        head[name] = value
    data = head.tobytes()
    at = int(r.FILE.fields["checksum"][1])
    data = data[:at] + int(library().head_checksum(data, len(data))).to_bytes(8, "little") + data[at + 8 :]
    return data.ljust(r.FILE_HEAD, b"\0")


def block(location: Location, content: int, raw: bytes, **fields: Any) -> bytes:
    """One block. Events are packed into columns and compressed, as in the runtime."""
    if content == r.EVENTS:
        columns = ctypes.create_string_buffer(2 * r.CHUNK_SIZE)
        size = library().columns(raw, len(raw) // 8, columns)
        stored = zstandard.ZstdCompressor(level=1).compress(columns[:size])
    else:
        stored = zstandard.ZstdCompressor(level=1).compress(raw)
    head = np.zeros(1, r.BLOCK)
    codec = r.CODEC_ZSTD_COLUMNS if content == r.EVENTS else r.CODEC_ZSTD
    values = {
        "magic": r.BLOCK_MAGIC, "version": r.FORMAT_VERSION, "codec": codec, "content": content,
        "raw_bytes": len(raw), "stored_bytes": len(stored), "location": location.number, "thread": location.thread,
        **fields,
    }  # fmt: skip
    for name, value in values.items():
        head[name] = value
    data = head.tobytes()
    at = int(r.BLOCK.fields["checksum"][1])
    data = (
        data[:at] + int(library().checksum(data, len(data), stored, len(stored))).to_bytes(8, "little") + data[at + 8 :]
    )
    return data + stored
