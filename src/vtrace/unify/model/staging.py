# SPDX-License-Identifier: BSD-3-Clause
"""Unfinished archives: a recent time stamp shows that a process is writing one; those of killed processes are
removed."""

from __future__ import annotations

import os
import platform
import re
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from vtrace.io.common.outfile import is_foreign
from vtrace.text import shell_path
from vtrace.unify.model.running_processes import is_process

BEAT = 60
"""Seconds between two touches of the directory of an archive that is being written."""
SILENT = 3600
"""Seconds without a touch after which no process of any host is writing the archive: a touch may hang for a while."""
_TOKEN = ".vtunify-*"


def temporary(output: Path, kind: str, mark: str) -> Path:
    """Returns the path of an unfinished archive (kind "tmp"), or of an archive that is being replaced ("old")."""
    return output.with_name(f".{output.name}.{kind}-{mark}")


def own_suffix() -> str:
    """Returns the suffix that names this process."""
    return f"{platform.node()}-{os.getpid()}"


class Heartbeat:
    """Touches a directory from time to time, in a thread."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._over = directory, Event()
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._over.wait(BEAT):
            with suppress(OSError):
                os.utime(self._directory)

    def end(self) -> None:
        """Ends the touches."""
        self._over.set()


def is_abandoned(path: Path, host: str, pid: int, now: float) -> bool:
    """Returns True if no process writes path, which a process of a host has made. now: on the file system's clock."""
    if host == platform.node() and not is_process(pid):
        return True
    try:
        return now - path.stat().st_mtime > SILENT
    except OSError:
        return False


def remove_abandoned(output: Path, own: Path) -> list[str]:
    """Removes unfinished archives of killed processes; returns a text for each that a process may still be writing.

    own: the unfinished archive of this process.
    """
    pattern = re.compile(rf"\.{re.escape(output.name)}\.(?P<kind>tmp|old)-(?P<host>.+)-(?P<pid>\d+)")
    now, texts = own.stat().st_mtime, []
    for path in sorted(output.parent.glob(".*")):
        match = pattern.fullmatch(path.name)
        if path == own or not match or is_foreign(path) or (match["kind"] == "old" and not output.exists()):
            continue
        host, pid = match["host"], int(match["pid"])
        if is_abandoned(path, host, pid, now):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                minutes = max(0, int((now - path.stat().st_mtime) / 60))
                word = shell_path(path)
                who = f"process {pid} of {host}"
                texts.append(
                    f"{who} wrote {output.name}, too, {minutes} min ago; if that process has ended: rm -r {word}"
                )
    for path in output.parent.glob(_TOKEN):
        with suppress(OSError):
            if not is_foreign(path) and now - path.lstat().st_mtime > SILENT:
                path.unlink()
    return texts
