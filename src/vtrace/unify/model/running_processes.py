# SPDX-License-Identifier: BSD-3-Clause
"""Finds processes of this machine that still run and record."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from vtrace.io.local.heads import FileHead
from vtrace.parallel.crew import pid_space


def is_process(pid: int) -> bool:
    """Returns True if this machine has a process with this pid that has not ended."""
    return _begin(pid) is not None


def _begin(pid: int) -> float | None:
    """Returns the start of a process in seconds since the epoch; None if there is no such process."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError):
        return None
    fields = status.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return time.time() - uptime + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def is_near(head: FileHead) -> bool:
    """Returns True if this process can find out whether the process that wrote a file still runs."""
    return head.host == platform.node() and head.pid_space in (0, pid_space())


def alive(head: FileHead) -> bool:
    """Returns True if the process that wrote a file still runs the same program on this machine."""
    began = _begin(head.pid) if is_near(head) else None
    if began is None or began > head.start / 1e9 + 2:  # another process has this pid now
        return False
    try:  # after an exec the buffer is not mapped; moving its directory keeps the name of the mapping
        maps = Path(f"/proc/{head.pid}/maps").read_bytes()
    except OSError:
        return True
    return not head.buffer or os.fsencode(Path(head.buffer).name) in maps
