# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of checkpoints in tiles.data: moments of a location from which a replay continues without the events before
(csrc/otf2_reader/stack_replay.h).

A block is the number of its checkpoints and of their calls (4 bytes each), then columns. Numbers and times of
checkpoints are differences from the one before, those of calls differences to their checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from operator import gt, sub

import numpy as np

from vtrace.io.archive.reader_abi import CHECKPOINT_CALL
from vtrace.io.common.arrays import Array

_CHECKPOINT = {"number": np.uint64, "time": np.int64, "depth": np.uint32, "common": np.uint32}
_CALL = {"enter": np.int64, "number": np.uint64, "inside": np.int64, "flushed": np.int64, "region": np.uint32}
_ROW = [sum(np.dtype(kind).itemsize for kind in columns.values()) for columns in (_CHECKPOINT, _CALL)]
_OBJECTS = 80
"""Bytes of a checkpoint's objects besides those of the block's text."""
LARGEST = 1 << 28
"""The most bytes of a block."""


def pack(checkpoints: Array, calls: Array) -> bytes:
    """A block: CHECKPOINT, and CHECKPOINT_CALL for each of their calls that are not common."""
    checkpoint = np.repeat(np.arange(len(checkpoints)), checkpoints["depth"] - checkpoints["common"])
    columns = [_differences(checkpoints["number"]), _differences(checkpoints["time"])]
    columns += [checkpoints["depth"], checkpoints["common"]]
    columns += [checkpoints["time"][checkpoint] - calls["enter"], checkpoints["number"][checkpoint] - calls["number"]]
    columns += [calls["inside"], calls["flushed"], calls["region"]]
    return np.array([len(checkpoints), len(calls)], "<u4").tobytes() + b"".join(c.tobytes() for c in columns)


def _differences(values: Array) -> Array:
    return np.concatenate([values[:1], values[1:] - values[:-1]])


class CheckpointBlock:
    """A block. number: (checkpoints,) the number of the event after each checkpoint; time: of the event before, ns;
    nbytes: its memory, about. Calls that checkpoints have in common are kept once, since a window needs one stack of
    many."""

    def __init__(self, text: bytes) -> None:
        """text: of pack. Raises ValueError for damage."""
        counts = np.frombuffer(text, "<u4", 2).tolist()
        if len(text) != 8 + sum(count * row for count, row in zip(counts, _ROW, strict=True)):
            raise ValueError("length")
        checkpoints, at = _columns(text, _CHECKPOINT, counts[0], 8)
        calls, _ = _columns(text, _CALL, counts[1], at)
        depth, self._common = checkpoints["depth"].tolist(), checkpoints["common"].tolist()
        self._ends = [*accumulate(map(sub, depth, self._common))]  # lists: arrays of so few rows are slower
        if any(map(gt, self._common, depth)) or any(map(gt, self._common, [0, *depth])):
            raise ValueError("depths")
        if self._ends[-1:] != [counts[1]][: counts[0]] or (counts[1] and not counts[0]):
            raise ValueError("calls")
        self.number, self.time = (checkpoints[name].cumsum(dtype=_CHECKPOINT[name]) for name in ("number", "time"))
        self._calls = np.zeros(counts[1], CHECKPOINT_CALL)
        own = checkpoints["depth"].astype(np.int64) - checkpoints["common"]
        for name in ("inside", "flushed", "region"):
            self._calls[name] = calls[name]
        self._calls["enter"] = np.repeat(self.time, own) - calls["enter"]
        self._calls["number"] = np.repeat(self.number, own) - calls["number"]
        self.nbytes = self._calls.nbytes + self.number.nbytes + self.time.nbytes + counts[0] * _OBJECTS

    def __len__(self) -> int:
        return len(self.time)

    def stack(self, place: int) -> Array:
        """CHECKPOINT_CALL: the open calls of a checkpoint, the outermost first."""
        rows: list[int] = []  # of the calls, the innermost first
        wanted = self._ends[place] - (self._ends[place - 1] if place else 0) + self._common[place]
        for at in range(place, -1, -1):
            if not wanted:
                break
            if (common := self._common[at]) < wanted:
                first = self._ends[at - 1] if at else 0
                rows += range(first + wanted - common - 1, first - 1, -1)
                wanted = common
        found: Array = self._calls[rows[::-1]]
        return found


def _columns(text: bytes, kinds: Mapping[str, type], count: int, at: int) -> tuple[dict[str, Array], int]:
    """The columns that begin at a byte, as views, and the byte after them."""
    found: dict[str, Array] = {}
    for name, kind in kinds.items():
        found[name] = np.frombuffer(text, kind, count, at)
        at += found[name].nbytes
    return found, at
