# SPDX-License-Identifier: BSD-3-Clause
"""The format in which the page of vtrace view gets tables; page/net/wire.js reads the format.

MAGIC with the version; the length of the head (uint32); the head as JSON, filled with spaces up to a multiple of 8; the
columns, each at a multiple of 8 bytes after the head, little endian. The head has the columns as [name, type, rows,
offset] and the table's notes. int64 becomes float64: times in ns since the trace's start are exact below 2^53, which
is 104 days.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from vtrace.analysis.table import Array
from vtrace.timeline.server import Content

MAGIC = b"VTW1"
_TYPES = {"i8": "f8", "u8": "f8", "f8": "f8", "f4": "f4", "i4": "i4", "u4": "u4", "u2": "u2", "u1": "u1", "b1": "u1"}


def pack(columns: Mapping[str, Array], **notes: Any) -> Content:
    """A table as bytes: arrays of one dimension and any lengths, and notes for JSON."""
    rows, parts, at = [], [], 0
    for name, column in columns.items():
        kind = _TYPES[column.dtype.str[1:]]
        data = np.ascontiguousarray(column, f"<{kind}").tobytes()
        rows.append([name, kind, len(column), at])
        parts += [data, bytes(-len(data) % 8)]
        at += len(data) + -len(data) % 8
    head = json.dumps({"columns": rows, "notes": notes}, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return Content(".bin", b"".join([MAGIC, len(head).to_bytes(4, "little"), head, *parts]))


def plain_json(value: Any) -> Content:
    """A value as JSON."""
    return Content(".json", json.dumps(value, separators=(",", ":")).encode())
