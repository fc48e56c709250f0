# SPDX-License-Identifier: BSD-3-Clause
"""A second user of the machine, who plants files in a directory that everybody may write to."""

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
"""The second user's number: nobody's."""
VICTIM = b"what the second user must not change\n"
_REST = [pytest.param(kind, marks=pytest.mark.full) for kind in ("dangling", "hard link", "file", "directory")]
KINDS = ["symlink", "fifo", *_REST]
"""What may stand at a name, as parameters of a test: see plant()."""


@contextmanager
def shared_directory(mode: int) -> Iterator[Path]:
    """A directory outside of tmp_path, which other users cannot enter. mode: 0o777, or 0o1777 for a sticky one."""
    if os.geteuid():
        pytest.skip("only root can work as a second user")
    place = Path(tempfile.mkdtemp(prefix="vtrace-shared-"))
    place.chmod(mode)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def victim(place: Path) -> Path:
    """A file of this user, that the second user may read but not write."""
    path = place / "victim"
    path.write_bytes(VICTIM)
    path.chmod(0o644)
    return path


def as_other(action: Callable[[], None]) -> None:
    """Does action as the second user, in a process of its own."""
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
    """Puts a thing of the second user at path. A hard link to the victim's file is made as where
    fs.protected_hardlinks is 0: there any user can make one."""
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
    """Whether the victim's file is as it was, and none was made through a symbolic link."""
    return victim.read_bytes() == VICTIM and not victim.with_name("made-by-the-second-user").exists()


def state(path: Path) -> tuple[int, int, int, int] | None:
    """What tells whether somebody has touched what stands at path; None: nothing does."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_uid, about.st_mode, about.st_size
