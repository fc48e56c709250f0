# SPDX-License-Identifier: BSD-3-Clause
"""Tables beside an archive, in its folder vtrace/. Each table is a file with columns of numbers and belongs to one
archive.

A file is: MAGIC; the length of a head of JSON (8 bytes); the checksum (vt_checksum) of all that follows; the head; the
columns, each a frame of zstd. The head has name, version, identity (of the archive), rows, columns (name, numpy's type,
stored bytes) and names (lists of texts that columns refer to by number). All numbers are little endian.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array
from vtrace.io.common.inflate import inflate
from vtrace.io.common.outfile import complete
from vtrace.io.local.heads import open_file
from vtrace.io.local.records import checksum

try:  # hashlib loads OpenSSL for its other algorithms
    from _blake2 import blake2b as blake2b
except ImportError:  # Python may be built without its own module
    from hashlib import blake2b as blake2b

FOLDER = "vtrace"
COVERAGE = "coverage", 1
"""Name and version of the table of intervals without recording (unify/account/ledger_intervals.py,
analysis/ledger.py)."""
FINDINGS = "findings", 1
"""Name and version of the table of findings (analysis/findings/finding.py)."""
CLOCKS = "clocks", 1
"""Name and version of the table of the clocks of hosts (unify/account/clock_facts.py, analysis/host_clocks.py)."""
WAITS = "processor_waits", 1
"""Name and version of the table of waits for a processor (unify/account/account.py, analysis/processor_waits.py)."""
BLOCKED = "blocked", 1
"""Name and version of the table of times in which threads slept (unify/account/account.py,
analysis/processor_waits.py)."""
LONG_CALLS = "long_calls", 1
"""Name and version of the table of the places of long calls (unify/account/account.py, analysis/long_calls.py)."""
PROFILE = "profile", 2
"""Name and version of the table of call paths of a run with VT_MODE=PROFILE (profile_columns.py,
analysis/recorded_profile.py)."""
COUNTED = "counted", 2
"""Name and version of the table of the calls that are not among the events (VT_BUDGET), in the same form."""
PYTHON = "python "
"""The beginning of a call in the sites of this table that is a function of Python, whose file may have any name."""
SHARED, TIMED = " for another process", " until a time"
"""The ends of the name of the function that sleeps, where its arguments tell this."""
MAGIC = b"VTTABLE\n"
_HEAD = struct.Struct("<8sQQ")
_TYPES = ("<u8", "<i8", "<u4", "<i4", "<u2", "<u1", "|u1", "<f8")
_MOST = 1 << 30
"""Most bytes of a file, and of its unpacked columns."""
_PACKED, _SMALL = 1000, 1 << 20
"""Limit on unpacked bytes: _PACKED per packed byte plus _SMALL. A million rows that differ only in the location have
46 bytes per packed byte."""


@dataclass
class SidecarTable:
    """Columns of one length; names: texts that some columns refer to by number."""

    columns: dict[str, Array]
    names: dict[str, list[str]] = field(default_factory=dict)


def identity(anchor: Path, properties: Mapping[str, str]) -> str:
    """The identity of an archive: a hash of its properties (name: text, as the anchor file has them) and its global
    definitions. (The rest of an anchor file is a number that OTF2 draws at random.) Raises VtraceError."""
    found = blake2b(digest_size=16)
    for name, text in sorted(properties.items()):
        found.update(json.dumps([name, text]).encode())
    try:
        with open_file(anchor.with_suffix(".def")) as file:
            while data := file.read(1 << 20):
                found.update(data)
    except OSError as error:
        raise VtraceError(f"cannot read {anchor.with_suffix('.def')}: {error.strerror}") from error
    return found.hexdigest()


def write(archive: Path, name: str, version: int, of: str, table: SidecarTable) -> None:  # noqa: PLR0917
    """Writes a table into the folder of an archive's directory; of: the archive's identity. Raises VtraceError."""
    import zstandard

    packer = zstandard.ZstdCompressor(level=3)
    stored, about = [], []
    for column, values in table.columns.items():
        data = packer.compress(np.ascontiguousarray(values).tobytes())
        stored.append(data)
        about.append([column, values.dtype.str, len(data)])
    rows = len(next(iter(table.columns.values()), ()))
    head = json.dumps(
        {"name": name, "version": version, "identity": of, "rows": rows, "columns": about, "names": table.names}
    ).encode()
    body = head + b"".join(stored)
    with new_file(archive, name) as file:
        file.write(_HEAD.pack(MAGIC, len(head), checksum(0, body)) + body)


@contextmanager
def new_file(archive: Path, name: str) -> Iterator[IO[Any]]:
    """A new file in the folder of an archive's directory, which gets its name when the block ends. Raises VtraceError,
    also if the folder is a symbolic link: the archive may be another user's."""
    path = archive / FOLDER / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.is_symlink():
            raise VtraceError(f"{path.parent} is a symbolic link: no table is written there")
        if path.exists() and not path.is_file():
            raise VtraceError(f"{path} is not a regular file")
        with complete(path, "wb") as file:
            yield file
    except OSError as error:
        raise VtraceError(f"{path} cannot be written: {error.strerror}") from error


def write_for(path: Path, archive: Path, identities: tuple[str, str]) -> None:
    """Copies a file of another archive's folder into the folder of an archive. identities: the other's, and that of the
    archive, which the copy gets. Raises VtraceError."""
    old, new = (one.encode() for one in identities)
    data = path.read_bytes()
    if data.startswith(MAGIC) and len(data) >= _HEAD.size:
        _, size, _ = _HEAD.unpack_from(data)
        body = data[_HEAD.size :][:size].replace(old, new) + data[_HEAD.size + size :]
        data = _HEAD.pack(MAGIC, size, checksum(0, body)) + body
    else:
        data = data[: _HEAD.size + len(old)].replace(old, new) + data[_HEAD.size + len(old) :]
    with new_file(archive, path.name) as file:
        file.write(data)


def read(archive: Path, name: str, version: int, of: str) -> SidecarTable | None:
    """Reads a table of an archive's directory; None: there is none.

    Raises FormatError if the table is damaged, of another version, or of an archive with another identity than of.
    """
    path = archive / FOLDER / name
    try:
        with open_file(path) as file:
            data = b"".join(_pieces(file))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) < _HEAD.size or len(data) > _MOST or not data.startswith(MAGIC):
        raise FormatError(f"{path} is not a table of vtrace")
    _, size, written = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if written != checksum(0, body) or size > len(body):
        raise FormatError(f"{path} is damaged or cut")
    try:
        head = json.loads(body[:size])
        if head["name"] != name or head["version"] != version:
            raise FormatError(f"{path} is table {head['name']!r} of version {head['version']!r}, not {name} {version}")
        if head["identity"] != of:
            raise FormatError(f"{path} belongs to another archive")
        return _unpacked(body[size:], head)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{path} is damaged: {type(error).__name__}") from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Reads a file up to the most bytes, piece by piece: one read would take memory for all bytes at once."""
    left = _MOST + 1
    while left > 0 and (piece := file.read(min(left, 1 << 20))):
        left -= len(piece)
        yield piece


def _unpacked(data: bytes, head: Mapping[str, Any]) -> SidecarTable:
    """Raises ValueError, KeyError or TypeError for a head that does not fit the data."""
    rows, left = head["rows"], min(_MOST, _PACKED * len(data) + _SMALL)
    if not isinstance(rows, int) or not 0 <= rows <= _MOST:
        raise ValueError("rows")
    columns: dict[str, Array] = {}
    at = 0
    for name, kind, stored in head["columns"]:
        if kind not in _TYPES or not isinstance(stored, int) or not 0 <= stored <= len(data) - at:
            raise ValueError("column")
        size = rows * np.dtype(kind).itemsize
        left -= size
        if left < 0:
            raise ValueError("too large")
        columns[str(name)] = np.frombuffer(_inflate(data[at : at + stored], size), kind)
        at += stored
    return SidecarTable(columns, {str(key): _texts(texts) for key, texts in head["names"].items()})


def _texts(texts: Sequence[object]) -> list[str]:
    if not isinstance(texts, list):
        raise TypeError("names")
    return [str(text) for text in texts]


def _inflate(data: bytes, size: int) -> bytes:
    found = inflate(data, size)
    if len(found) != size:
        raise ValueError("length")
    return found
