# SPDX-License-Identifier: BSD-3-Clause
"""A second user of the machine, who creates files in a directory with write access for all."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

OTHER = 65534
"""The second user's uid, that of nobody."""
VICTIM = b"what the second user must not change\n"
_REST = [pytest.param(kind, marks=pytest.mark.full) for kind in ("dangling", "hard link", "file", "directory")]
KINDS = ["symlink", "fifo", *_REST]
"""Kinds of files that the second user creates, as parameters of a test: see plant()."""


@contextmanager
def shared_directory(mode: int) -> Iterator[Path]:
    """A directory outside of tmp_path, since other users cannot enter tmp_path. mode: 0o777, or 0o1777 (sticky)."""
    if os.geteuid():
        pytest.skip("only root can work as a second user")
    place = Path(tempfile.mkdtemp(prefix="vtrace-shared-"))
    place.chmod(mode)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def victim(place: Path) -> Path:
    """Creates a file of this user that the second user may read but not write."""
    path = place / "victim"
    path.write_bytes(VICTIM)
    path.chmod(0o644)
    return path


def as_other(action: Callable[[], None]) -> None:
    """Calls action as the second user, in a child process."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def plant(path: Path, kind: str, victim: Path) -> None:
    """Creates a file of the second user at path, by kind. A hard link to the victim's file is created as this user:
    with fs.protected_hardlinks = 0 any user can do so.
    """
    if kind == "hard link":
        os.link(victim, path)
        return
    actions: dict[str, Callable[[], None]] = {
        "symlink": lambda: path.symlink_to(victim),
        "dangling": lambda: path.symlink_to(victim.with_name("made-by-the-second-user")),
        "fifo": lambda: os.mkfifo(path, 0o666),
        "file": lambda: path.touch(0o666),
        "directory": lambda: path.mkdir(0o777),
    }
    as_other(actions[kind])


def unharmed(victim: Path) -> bool:
    """True if the victim's file is unchanged, and no file was created through a symbolic link."""
    return victim.read_bytes() == VICTIM and not victim.with_name("made-by-the-second-user").exists()


def state(path: Path) -> tuple[int, int, int, int] | None:
    """Attributes that show a change of the file at path; None if there is none."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_uid, about.st_mode, about.st_size
