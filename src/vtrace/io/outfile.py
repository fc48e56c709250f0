# SPDX-License-Identifier: BSD-3-Clause
"""Files that commands write, in directories where other users may create files, too: nothing of theirs is written or
replaced, and no symbolic link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from vtrace.errors import VtraceError

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_foreign(path: Path) -> bool:
    """Whether something stands at path that belongs to another user; a symbolic link is not followed."""
    try:
        return path.lstat().st_uid != os.geteuid()
    except OSError:
        return False


def refuse_foreign(path: Path) -> None:
    """Raises VtraceError if something stands at path that belongs to another user."""
    if is_foreign(path):
        raise VtraceError(f"{path} belongs to another user", "-o writes to another place")


@contextmanager
def complete(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A new file, open for writing: it gets its name when the block ends, and goes when the block raises.

    mode: "w" for text in UTF-8 without changes of line ends, "wb" for bytes. Raises VtraceError if another user's file
    has the name, or if what has it is no regular file; OSError if the file cannot be written.
    """
    if path.exists() and not path.is_file():
        raise VtraceError(f"{path} is not a regular file", "-o takes a file")
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)
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
    """owner: of the new file, who may be another user than the process's on a network file system."""
    try:
        found = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if found.st_uid not in (owner, os.geteuid()):
        refuse_foreign(path)
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        raise VtraceError(f"{path} is not a regular file", "-o takes a file")
