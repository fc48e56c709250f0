# SPDX-License-Identifier: BSD-3-Clause
"""Compression by zstd: the module of Python 3.14 and newer, for older versions the same module from backports.zstd."""

from __future__ import annotations

import sys
from typing import Any

from vtrace.errors import VtraceError


def compress(data: Any, level: int = 3, checksum: bool = False) -> bytes:
    """Returns a frame with the data, an object with a buffer. checksum: the frame gets one, which decompress checks."""
    zstd = _module()
    options = {zstd.CompressionParameter.compression_level: level, zstd.CompressionParameter.checksum_flag: checksum}
    frame: bytes = zstd.compress(data, options=options)
    return frame


def decompress(data: Any, most: int) -> bytes:
    """Unpacks the first frame of data. Memory grows with the unpacked bytes, not with the sizes in the frame.

    Raises ValueError if the frame is damaged or has more than most bytes.
    """
    zstd = _module()
    unpacker = zstd.ZstdDecompressor()
    try:
        found: bytes = unpacker.decompress(data, most + 1)  # with a byte to spare: the last one ends the frame
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof or len(found) > most:
        raise ValueError(f"a frame that is cut, or has more than {most} bytes")
    return found


def _module() -> Any:
    """Loaded at the first use: many commands unpack nothing."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        hint = "use a Python that was built with libzstd" if sys.version_info >= (3, 14) else "install backports.zstd"
        raise VtraceError(f"cannot load Python's module for zstd: {error}", hint) from error
    return zstd
