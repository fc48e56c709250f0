# SPDX-License-Identifier: BSD-3-Clause
"""Protocol buffers (protobuf.dev/programming-guides/encoding) in bulk: columns of numbers become packets of one shape.

Python's protobuf classes write some 100 000 packets a second; a trace has millions. Tests read the output of this
module with the classes of the package perfetto.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.analysis.table import Array
from vtrace.text import plain

VARINT, FIXED64, LENGTH = 0, 1, 2
"""Wire types."""


def varint(value: int) -> bytes:
    """The varint of a number below 2**64."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def tag(number: int, wire: int) -> bytes:
    """The key of a field, which precedes its value."""
    return varint(number << 3 | wire)


def field(number: int, value: int | str | bytes) -> bytes:
    """A field with a number, a text to show or another message."""
    if isinstance(value, int):
        return tag(number, VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF)
    data = plain(value).encode() if isinstance(value, str) else value
    return tag(number, LENGTH) + varint(len(data)) + data


def width(most: int) -> int:
    """The bytes of the longest varint up to `most`."""
    return max(1, -(-int(most).bit_length() // 7))


def constant(data: bytes, rows: int) -> Array:
    """(rows, bytes) uint8: the same bytes in each row."""
    return np.broadcast_to(np.frombuffer(data, np.uint8), (rows, len(data)))


def varints(values: Array, size: int) -> Array:
    """(rows, size) uint8: numbers as varints of one size; readers accept zero groups at the end."""
    values = values.astype(np.uint64)
    shifts = np.arange(size, dtype=np.uint64) * np.uint64(7)
    found = ((values[:, None] >> shifts) & np.uint64(0x7F)).astype(np.uint8)
    found[:, :-1] |= 0x80
    return found  # type: ignore[no-any-return]


def fixed64(values: Array) -> Array:
    """(rows, 8) uint8: uint64, int64 or float64 as they are."""
    found: Array = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), 8)
    return found


def row_field(number: int, size: int, values: Array) -> Array:
    """(rows, bytes): a field with a varint of each row."""
    return np.hstack([constant(tag(number, VARINT), len(values)), varints(values, size)])


def message(number: int, parts: Sequence[Array], more: Array | None = None) -> Array:
    """(rows, bytes): a field with a message of these parts. more: (rows,) bytes of the message outside of the parts."""
    rows, inside = len(parts[0]), sum(part.shape[1] for part in parts)
    if more is None:
        head = constant(tag(number, LENGTH) + varint(inside), rows)
    else:
        head = np.hstack([constant(tag(number, LENGTH), rows), varints(inside + more, 4)])
    return np.hstack([head, *parts])


class Layout:
    """Rows of bytes of different sizes, one after the other."""

    def __init__(self, sizes: Array) -> None:
        self.at = np.cumsum(sizes) - sizes
        """(rows,) the offset of each row."""
        self.bytes = np.zeros(int(sizes.sum()), np.uint8)

    def put(self, rows: Array, data: Array, after: Array | int = 0) -> None:
        """Stores data (len(rows), bytes) at the offset `after` in these rows."""
        begin = self.at[rows] + after
        for column in range(data.shape[1]):
            self.bytes[begin + column] = data[:, column]
