# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of checkpoints in tiles.data: moments of a location from which a replay continues without the events before
(csrc/otf2_reader/stack_replay.h).

A block is the number of its checkpoints and of their calls (4 bytes each), then columns. Numbers and times of
checkpoints are differences from the one before, those of calls differences to their checkpoint.
"""

from __future__ import annotations

import numpy as np

from vtrace.io.archive.reader_abi import CHECKPOINT, CHECKPOINT_CALL
from vtrace.io.common.arrays import Array

_CHECKPOINT = {"number": np.uint64, "time": np.int64, "depth": np.uint32, "common": np.uint32}
_CALL = {"enter": np.int64, "number": np.uint64, "inside": np.int64, "flushed": np.int64, "region": np.uint32}
_ROW = [sum(np.dtype(kind).itemsize for kind in columns.values()) for columns in (_CHECKPOINT, _CALL)]
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


def unpack(text: bytes) -> tuple[Array, Array]:
    """The arrays of pack. Raises ValueError for damage."""
    counts = np.frombuffer(text, "<u4", 2).astype(np.int64).tolist()
    if len(text) != 8 + sum(count * row for count, row in zip(counts, _ROW, strict=True)):
        raise ValueError("length")
    checkpoints, calls = np.zeros(counts[0], CHECKPOINT), np.zeros(counts[1], CHECKPOINT_CALL)
    at = 8
    for found, columns in ((checkpoints, _CHECKPOINT), (calls, _CALL)):
        for name, kind in columns.items():
            found[name] = np.frombuffer(text, kind, len(found), at)
            at += found[name].nbytes
    fresh = checkpoints["depth"].astype(np.int64) - checkpoints["common"]
    deepest = np.concatenate([[0], checkpoints["depth"][:-1]])
    if np.any(fresh < 0) or int(fresh.sum()) != len(calls) or np.any(checkpoints["common"] > deepest):
        raise ValueError("depths")
    for name in ("number", "time"):
        checkpoints[name] = np.cumsum(checkpoints[name], dtype=checkpoints[name].dtype)
    checkpoint = np.repeat(np.arange(len(checkpoints)), fresh)
    calls["enter"] = checkpoints["time"][checkpoint] - calls["enter"]
    calls["number"] = checkpoints["number"][checkpoint] - calls["number"]
    return checkpoints, calls


def stack_of(checkpoints: Array, calls: Array, place: int) -> Array:
    """The open calls of a checkpoint of a block, the outermost first."""
    fresh = checkpoints["depth"].astype(np.int64) - checkpoints["common"]
    ends = np.cumsum(fresh)
    parts: list[Array] = []
    wanted = int(checkpoints["depth"][place])
    for at in range(place, -1, -1):
        common = int(checkpoints["common"][at])
        if common < wanted:
            first = int(ends[at] - fresh[at])
            parts.append(calls[first : first + wanted - common])
            wanted = common
        if not wanted:
            break
    return np.concatenate([np.empty(0, CHECKPOINT_CALL), *reversed(parts)])
