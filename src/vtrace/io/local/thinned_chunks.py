# SPDX-License-Identifier: BSD-3-Clause
"""The chunks that a process was thinning when it was killed (VT_BUDGET; csrc/core/thin.c): the records that it had kept
already are in another chunk."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from vtrace.io.common.arrays import Array
from vtrace.io.local import records as r

_TIME = r.what("TIME")


_ROOM = (r.CHUNK_SIZE - r.CHUNK_DATA) // 8


def without_partner(heads: Iterable[Any]) -> int | None:
    """The number of a chunk that takes records of another one which does not exist; None: there is none."""
    heads = list(heads)
    others = {_key(head) for head in heads if head["state"] != r.CHUNK_TAKING}
    taking = (n for n, head in enumerate(heads) if head["state"] == r.CHUNK_TAKING)
    return next((n for n in taking if _key(heads[n]) not in others), None)


def joined(
    heads: Iterable[Any], read: Callable[[int, int], bytes], offsets: Sequence[int]
) -> tuple[list[int], dict[int, Memory]]:
    """The numbers of the chunks that hold records, and memory that replaces some of them, by number: head and records.

    heads: CHUNK scalars. read: gets an offset in the buffer and a number of bytes. offsets: of the chunks.
    """
    heads = list(heads)
    taking = {_key(head): n for n, head in enumerate(heads) if head["state"] == r.CHUNK_TAKING}
    kept, made = list[int](), dict[int, Memory]()
    for n, head in enumerate(heads):
        if head["state"] == r.CHUNK_TAKING:
            continue
        partner = taking.get(_key(head))
        counted = 8 * int(head["counted"]) if head["content"] == r.EVENTS else 0
        end = int(head["head"]) or r.CHUNK_SIZE
        if counted and partner is None and r.CHUNK_DATA + counted >= end:
            continue  # the other chunk has taken its place
        kept.append(n)
        if counted and partner is not None:
            words = np.frombuffer(read(offsets[n] + r.CHUNK_DATA, end - r.CHUNK_DATA), np.uint64)
            other = np.frombuffer(read(offsets[partner] + r.CHUNK_DATA, 8 * min(int(head["kept"]), _ROOM)), np.uint64)
            made[n] = Memory(read(offsets[n], r.CHUNK_DATA), _join(other, words, counted // 8))
    return kept, made


def _key(head: Any) -> tuple[int, int]:
    return int(head["location"]), int(head["sequence"])


def _length(words: Sequence[int]) -> int:
    """The ticks that records last."""
    at = ticks = 0
    while at < len(words):
        what = words[at] & 0xFFFFFFFF
        ticks += words[at] >> 32
        if what == _TIME and at + 1 < len(words):
            ticks += words[at + 1]
        at += 1 if what & r.FUNCTION else 1 + (what >> 21 & 7)
    return ticks


def _join(kept: Array, words: Array, counted: int) -> Array:
    """The words that are kept, and those after the first `counted` ones, at their times."""
    gap = _length(words[:counted].tolist()) - _length(kept.tolist())
    time = np.array([_TIME, gap] if gap > 0 else [], np.uint64)
    return np.concatenate([kept, time, words[counted:]])


class Memory:
    """A chunk in a file of its own, since the kernel drops the pages of chunks that it has read. address: of its head;
    size: bytes of the records."""

    def __init__(self, head: bytes, words: Array) -> None:
        data = head + words.tobytes()
        file = os.memfd_create("chunk")
        try:
            os.truncate(file, 2 * r.CHUNK_SIZE)
            self._map = mmap.mmap(file, 2 * r.CHUNK_SIZE)
        finally:
            os.close(file)
        self._map[: len(data)] = data
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.size = len(data) - len(head)
