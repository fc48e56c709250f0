# SPDX-License-Identifier: BSD-3-Clause
"""The answers of a site, and the format in which the page of vtrace view gets tables. page/net/client.js reads it.

MAGIC with the version; the length of the head (uint32); the head as JSON, filled with spaces up to a multiple of 8; the
columns, each at a multiple of 8 bytes after the head, little endian. The head has the columns as [name, type, rows,
offset] and the table's notes. int64 becomes float64: times in ns since the trace's start are exact below 2^53, which
is 104 days.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from vtrace.analysis.table import Array
from vtrace.errors import VtraceError

MAGIC = b"VTW1"
_TYPES = {"i8": "f8", "u8": "f8", "f8": "f8", "f4": "f4", "i4": "i4", "u4": "u4", "u2": "u2", "u1": "u1", "b1": "u1"}


class Content(NamedTuple):
    """An answer from memory. suffix: names the type, as that of a file."""

    suffix: str
    data: bytes


class BadRequest(Exception):
    """A request that the site does not understand: the server answers 400."""


class Outdated(VtraceError):
    """The page shows an archive that was replaced: the server answers 409."""


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


def unpack(content: Content) -> dict[str, Array]:
    """The columns of a table that pack has made."""
    begin = 8 + int.from_bytes(content.data[4:8], "little")
    head = json.loads(content.data[8:begin])
    return {name: np.frombuffer(content.data, f"<{kind}", rows, begin + at) for name, kind, rows, at in head["columns"]}


def plain_json(value: Any) -> Content:
    """A value as JSON."""
    return Content(".json", json.dumps(value, separators=(",", ":")).encode())
