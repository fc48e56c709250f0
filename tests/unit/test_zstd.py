# SPDX-License-Identifier: BSD-3-Clause
"""Compression by Python's module for zstd: what comes back, and which frames are refused."""

from __future__ import annotations

import sys

import pytest

from vtrace import zstd
from vtrace.errors import VtraceError

DATA = bytes(range(256)) * 1000


@pytest.mark.parametrize("data", [b"", b"x", DATA])
@pytest.mark.parametrize("level", [1, 3, 19])
def test_round_trip(data: bytes, level: int) -> None:
    """The bytes come back, also where they are as many as the caller allows, and with other bytes behind the frame."""
    frame = zstd.compress(memoryview(data), level)
    assert zstd.decompress(frame, len(data)) == data
    assert zstd.decompress(frame + b"behind", len(data) + 1) == data


@pytest.mark.parametrize(
    "frame",
    [b"", b"no frame", zstd.compress(DATA)[:-1], zstd.compress(DATA + b"x"), zstd.compress(bytes(1 << 30))],
    ids=["empty", "no frame", "cut", "a byte too many", "a gigabyte"],
)
def test_refused(frame: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        zstd.decompress(frame, len(DATA))


def test_checksum() -> None:
    """A frame with a changed checksum is refused."""
    frame = zstd.compress(DATA, checksum=True)
    assert len(frame) == len(zstd.compress(DATA)) + 4
    with pytest.raises(ValueError, match="checksum"):
        zstd.decompress(frame[:-1] + bytes([frame[-1] ^ 1]), len(DATA))


def test_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    name, hint = (
        ("compression", "built with libzstd") if sys.version_info >= (3, 14) else ("backports", "install backports")
    )
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(VtraceError, match=f"cannot load Python's module for zstd: .*{hint}"):
        zstd.compress(b"")
