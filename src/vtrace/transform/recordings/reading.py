# SPDX-License-Identifier: BSD-3-Clause
"""Finds out by the first bytes which tool recorded a file, and reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtrace.console import Console
from vtrace.errors import FormatError, VtraceError
from vtrace.transform.recordings.chrome_events import read_chrome
from vtrace.transform.recordings.database import MAGIC, read_database
from vtrace.transform.recordings.json_stream import GZIP
from vtrace.transform.recordings.recording import Recording

_REPORTS = (".nsys-rep", ".qdrep")
_HEAD = 64


def is_recording(path: Path) -> bool:
    """True for a file that read_recordings takes, by its first bytes or its ending; a text may still be no trace."""
    if not path.is_file() or path.suffix in (".csv", ".otf2", ".vtz"):
        return False
    head = _head(path)
    is_text = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    return is_text or path.suffix in _REPORTS or head.startswith((MAGIC, GZIP))


def read_recordings(paths: Sequence[Path], console: Console) -> list[Recording]:
    """Reads files of other tools. Raises VtraceError."""
    try:
        total = sum(path.stat().st_size for path in paths)
    except OSError as error:
        raise VtraceError(f"cannot read {error.filename}: {error.strerror}") from error
    found = []
    with console.steps("reading", total, "bytes") as advance:
        for path in paths:
            if path.suffix in _REPORTS:
                hint = f"nsys export --type sqlite {path.name}, and import its result"
                raise FormatError(f"{path}: reports of Nsight Systems are not documented", hint)
            if not is_recording(path):
                raise FormatError(f"{path}: neither JSON nor SQLite", "expected: a trace of another tool")
            read = read_database if _head(path).startswith(MAGIC) else read_chrome
            found.append(read(path, advance))
    return found


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
