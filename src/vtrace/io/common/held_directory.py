# SPDX-License-Identifier: BSD-3-Clause
"""A directory that a process writes into, whatever happens to the directory's name."""

from __future__ import annotations

import os
from pathlib import Path

from vtrace.errors import VtraceError

_PROBE = ".owner"


class HeldDirectory:
    """An open directory. inside: a path that leads into this directory, even if another user renames the directory or
    puts a symbolic link in its place (proc(5), /proc/PID/fd); where /proc is not mounted, its name."""

    def __init__(self, path: Path, inode: int | None = None) -> None:
        """inode: of the directory that another process has made; None: this process has. Raises VtraceError for another
        directory, and for the directory of another user."""
        self._descriptor = -1
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise VtraceError(f"cannot open the directory {path}: {error.strerror}") from error
        about = os.fstat(self._descriptor)
        self.identity = about.st_dev, about.st_ino
        if about.st_ino != inode if inode is not None else not self._is_own(about.st_uid):
            self.close()
            raise VtraceError(f"{path} is not the directory that vtrace has made", "another user may write beside it")
        inside = Path(f"/proc/self/fd/{self._descriptor}")
        self.inside = inside if inside.is_dir() else path

    def _is_own(self, owner: int) -> bool:
        """A new file has the directory's owner, who on a network file system may be another user than the process's."""
        try:
            probe = os.open(
                _PROBE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self._descriptor
            )
        except OSError:
            return False
        found = os.fstat(probe).st_uid
        os.close(probe)
        os.unlink(_PROBE, dir_fd=self._descriptor)
        return found == owner

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __del__(self) -> None:
        self.close()
