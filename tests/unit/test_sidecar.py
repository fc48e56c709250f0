# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the sidecar are written and read back. Damaged, foreign and malicious tables are refused in one line."""

from __future__ import annotations

import json
import os
import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from vtrace.errors import FormatError, VtraceError
from vtrace.io.local.records import checksum
from vtrace.io.sidecar import sidecar

TABLE = sidecar.SidecarTable(
    {"time": np.arange(1000, dtype="<u8") ** 2, "kind": (np.arange(1000) % 3).astype("<u4")}, {"kind": ["a", "b", "c"]}
)
OF = "1234"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    sidecar.write(tmp_path, "some", version=1, of=OF, table=TABLE)
    return tmp_path / sidecar.FOLDER / "some"


def read(path: Path, name: str = "some", version: int = 1, of: str = OF) -> sidecar.SidecarTable | None:
    return sidecar.read(path.parent.parent, name, version, of)


def made(head: dict[str, Any], data: bytes) -> bytes:
    """A table with a correct checksum."""
    text = json.dumps(head).encode()
    return struct.pack("<8sQQ", sidecar.MAGIC, len(text), checksum(0, text + data)) + text + data


def head(**more: Any) -> dict[str, Any]:
    return {"name": "some", "version": 1, "identity": OF, "rows": 1, "columns": [], "names": {}, **more}


def test_written_and_read(written: Path) -> None:
    found = read(written)
    assert found is not None
    assert found.names == TABLE.names
    assert {name: values.tolist() for name, values in found.columns.items()} == {
        name: values.tolist() for name, values in TABLE.columns.items()
    }
    assert sidecar.read(written.parent.parent, "other", 1, OF) is None


def test_the_same_bytes(written: Path) -> None:
    before = written.read_bytes()
    sidecar.write(written.parent.parent, "some", version=1, of=OF, table=TABLE)
    assert written.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "version", "of", "text"),
    [("some", 2, OF, "version 1, not some 2"), ("some", 1, "other", "belongs to another archive")],
)
def test_stale(written: Path, name: str, version: int, of: str, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        read(written, name, version, of)


def test_flips_and_cuts(written: Path) -> None:
    """A change of any byte and a cut at any byte give FormatError."""
    whole = written.read_bytes()
    chance = random.Random(7)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << chance.randrange(8)
        written.write_bytes(damaged)
        with pytest.raises(FormatError):
            read(written)
    for size in range(len(whole)):
        written.write_bytes(whole[:size])
        with pytest.raises(FormatError):
            read(written)


BOMB = zstandard.ZstdCompressor().compress(bytes(1 << 26))


@pytest.mark.parametrize(
    ("about", "data"),
    [
        (head(rows=1 << 40, columns=[["a", "<u8", 0]]), b""),
        (head(rows=(1 << 27) - 1, columns=[["a", "<u8", 0]]), b""),
        (head(rows=-1), b""),
        (head(rows="x"), b""),
        (head(columns=[["a", "O", 0]]), b""),
        (head(columns=[["a", "<u8", 1 << 50]]), b""),
        (head(columns=[["a", "<u8", len(BOMB)]]), BOMB),
        (head(columns=[["a", "<u8", 3]]), b"abc"),
        (head(columns=3), b""),
        (head(columns=[[]]), b""),
        (head(names=[]), b""),
        (head(names={"a": "text"}), b""),
        ({"name": "some"}, b""),
        ({}, b""),
    ],
)
def test_hostile_heads(written: Path, about: dict[str, Any], data: bytes) -> None:
    """The checksums are correct. The reader must not allocate memory by a number from the file."""
    written.write_bytes(made(about, data))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as error:
            read(written)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert "\n" not in str(error.value)


def test_a_head_that_is_no_object(written: Path) -> None:
    for text in (b"[]", b"1", b"null", b"[" * 100_000, b"{"):
        written.write_bytes(struct.pack("<8sQQ", sidecar.MAGIC, len(text), checksum(0, text)) + text)
        with pytest.raises(FormatError):
            read(written)


def test_no_file(written: Path) -> None:
    written.unlink()
    written.mkdir()
    with pytest.raises(FormatError, match="cannot be read"):
        read(written)


def test_no_table_is_written_through_a_link(tmp_path: Path) -> None:
    """Another user who owns the archive's directory knows the names of new files, and the number of the process."""
    (tmp_path / sidecar.FOLDER).mkdir()
    private = tmp_path / "private"
    private.write_text("precious")
    for name in (f"some.{os.getpid()}", f".some.{os.getpid()}.part", "some"):
        (tmp_path / sidecar.FOLDER / name).symlink_to(private)
    sidecar.write(tmp_path, "some", version=1, of=OF, table=TABLE)
    assert private.read_text() == "precious"
    assert not (tmp_path / sidecar.FOLDER / "some").is_symlink()
    assert read(tmp_path / sidecar.FOLDER / "some") is not None


def test_no_table_is_written_into_a_linked_folder(tmp_path: Path) -> None:
    private, archive = tmp_path / "private", tmp_path / "a.trace"
    private.mkdir()
    archive.mkdir()
    (archive / sidecar.FOLDER).symlink_to(private)
    with pytest.raises(VtraceError, match="is a symbolic link"):
        sidecar.write(archive, "some", version=1, of=OF, table=TABLE)
    assert not [*private.iterdir()]


def test_a_small_file_with_many_rows(tmp_path: Path) -> None:
    """Zeros packed into a few bytes are refused before memory is allocated for them."""
    zeros = sidecar.SidecarTable({name: np.zeros(5_000_000, "<u8") for name in ("from", "to")})
    sidecar.write(tmp_path, "some", version=1, of=OF, table=zeros)
    path = tmp_path / sidecar.FOLDER / "some"
    assert path.stat().st_size < 20_000
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="is damaged"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
