# SPDX-License-Identifier: BSD-3-Clause
"""Unpacks frames of zstd from files that may be damaged."""

from __future__ import annotations


def inflate(data: bytes, most: int) -> bytes:
    """The content of a frame of zstd, piece by piece: memory grows with the data, not with a size in the frame. Raises
    ValueError if the frame is damaged, or has more than `most` bytes."""
    import zstandard

    found = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data) as reader:
            while len(found) <= most and (piece := reader.read(1 << 20)):
                found += piece
    except zstandard.ZstdError as error:
        raise ValueError("damaged") from error
    if len(found) > most:
        raise ValueError("too large")
    return bytes(found)
