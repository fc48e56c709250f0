# SPDX-License-Identifier: BSD-3-Clause
"""Files that commands write. Other users may create files in the same directory: a command never writes or replaces
their files, and follows no symbolic link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from vtrace.errors import VtraceError

MARKS = {
    "html": b'<meta name="generator" content="vtrace ',
    "pftrace": b"written by vtrace",
    "json": b'"otherData":{"creator": "vtrace ',
    "csv": b"time,process,thread,event",
    "parquet": b"vtrace.caveats",
}
"""By the ending of a file's name: a mark in the first bytes of a file that vtrace wrote; for Parquet, in its footer."""
_HEAD = 512
"""Number of first bytes that may hold the mark."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_foreign(path: Path) -> bool:
    """Returns True if path belongs to another user; a symbolic link is not followed."""
    try:
        return path.lstat().st_uid != os.geteuid()
    except OSError:
        return False


def refuse_foreign(path: Path) -> None:
    """Raises VtraceError if path belongs to another user."""
    if is_foreign(path):
        raise VtraceError(f"{path} belongs to another user", "-o writes to another place")


def refuse_unmarked(path: Path, hint: str) -> None:
    """For a name that the command has chosen: raises VtraceError if a file that vtrace did not write has that name.
    hint: how the user replaces the file.
    """
    refuse_foreign(path)
    if (path.is_file() or path.is_symlink()) and not is_ours(path):
        raise VtraceError(f"{path} exists, and vtrace has not written it", hint)


def is_ours(path: Path) -> bool:
    """Returns True if a regular file has the mark of the files that vtrace writes. Its name has an ending of MARKS."""
    kind = path.suffix[1:]
    try:
        with path.open("rb") as file:
            text = _parquet_footer(file) if kind == "parquet" else file.read(_HEAD)
    except OSError:
        return False
    return text.startswith(MARKS[kind]) if kind == "csv" else MARKS[kind] in text


def _parquet_footer(file: IO[bytes]) -> bytes:
    """The last 8 bytes are the footer's size and PAR1 (parquet.apache.org/docs/file-format)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read()
    footer = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or footer > size - 8:
        return b""
    file.seek(size - 8 - footer)
    return file.read(footer)


@contextmanager
def complete(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A new file, open for writing. The file gets its name when the block ends, and is removed if the block raises.

    mode: "w" for text in UTF-8 without changes of line ends, "wb" for bytes. Raises VtraceError if another user's file
    has the name, or a file that is not regular; OSError with the file's name if it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise VtraceError(f"{path} is not a regular file", "-o takes a file")
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        hint = "give -o a file name in an existing directory"
        raise VtraceError(f"cannot write {path}: {error.strerror}", hint) from None
    name = f".{path.name}.{os.getpid()}.part"
    try:
        descriptor = _create(path.with_name(name), name, directory)
        try:
            text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
            with open(descriptor, mode, **text) as file:  # type: ignore[call-overload]
                _check(path, directory, os.fstat(descriptor).st_uid)
                yield file
                file.flush()
                _check(path, directory, os.fstat(descriptor).st_uid)
                os.replace(name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)  # write(2) does not name its file
            raise
    finally:
        os.close(directory)


def _create(path: Path, name: str, directory: int) -> int:
    try:
        return os.open(name, _NEW, 0o666, dir_fd=directory)
    except FileExistsError:  # a killed process had the same number
        refuse_foreign(path)
        os.unlink(name, dir_fd=directory)
        return os.open(name, _NEW, 0o666, dir_fd=directory)


def _check(path: Path, directory: int, owner: int) -> None:
    """owner: of the new file; on a network file system this may be another user than the process's."""
    try:
        found = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if found.st_uid not in (owner, os.geteuid()):
        refuse_foreign(path)
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        raise VtraceError(f"{path} is not a regular file", "-o takes a file")
