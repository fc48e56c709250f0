# SPDX-License-Identifier: BSD-3-Clause
"""A second reader of local files, in Python without the C kernel, for uncompressed files only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from vtrace.io.local import records
from vtrace.io.local.local_files import LocalFile, open_local

NAMES = {number: name for name, (number, _, _) in records.KINDS.items()}


@dataclass
class Record:
    kind: str
    """"FUNCTION_ENTER", "FUNCTION_LEAVE" or a name of records.KINDS."""
    id: int
    """For a function: its offset in the code space."""
    ticks: int
    """The clock's ticks, not a difference."""
    payload: list[int]


def blocks(file: LocalFile) -> Iterator[tuple[np.void, bytes]]:
    """Head and raw content of each block."""
    for row in file.blocks:
        at = int(row["address"]) - file.base
        head = np.frombuffer(file.read(at, records.BLOCK.itemsize), records.BLOCK)[0]
        assert head["codec"] == records.CODEC_RAW, "run with VT_COMPRESSION=no"
        yield head, file.read(at + records.BLOCK.itemsize, int(head["raw_bytes"]))


def events(path: Path) -> list[Record]:
    """All records of an events file."""
    found: list[Record] = []
    with open_local(path) as file:
        assert file.cut is None
        for head, data in blocks(file):
            found += read(data, int(head["ticks"]))
    return found


def read(data: bytes, now: int) -> Iterator[Record]:
    """The records of a block. now: ticks from which the first difference counts."""
    words = np.frombuffer(data, "<u8").tolist()
    at = 0
    while at < len(words):
        what, now = words[at] & 0xFFFFFFFF, now + (words[at] >> 32)
        if what & records.FUNCTION:
            kind = "FUNCTION_LEAVE" if what & records.FUNCTION_LEAVE else "FUNCTION_ENTER"
            yield Record(kind, what & records.CODE_MASK, now, [])
            at += 1
            continue
        count = what >> 21 & 7
        record = Record(NAMES[what >> 24 & 0x7F], what & records.ID_MAX, now, words[at + 1 : at + 1 + count])
        if record.kind == "TIME":
            now += record.payload[0]
        yield record
        at += 1 + count


def definitions(path: Path) -> list[list[Any]]:
    """All definitions of a def file."""
    with open_local(path) as file:
        assert file.cut is None
        unpacker = msgpack.Unpacker(raw=False)
        for _, data in blocks(file):
            unpacker.feed(data)
        return list(unpacker)
