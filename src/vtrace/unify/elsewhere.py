# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that processes left behind where they cannot be seen from here: on the disks of other nodes."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.unify.process import Process

_SHOWN = 20


def unseen(processes: Sequence[Process]) -> list[Process]:
    """Processes that did not complete their files and whose buffer cannot be seen; their definitions must be loaded."""
    return [p for p in processes if not (p.absent or p.buffer or p.complete) and p.head.buffer]


def tell(processes: Sequence[Process], say: Callable[[str], None]) -> None:
    """Says which buffers lie where, a line each, hosts together."""
    found = sorted(processes, key=lambda p: (p.head.host, p.rank is None, p.rank or 0, p.head.start))
    for process in found[:_SHOWN]:
        head = process.head
        where = "is gone" if head.host == platform.node() else f"lies on {head.host}"
        say(f"the buffer of {process.label} {where}: {head.buffer}")
    if len(found) > _SHOWN:
        hosts = len({process.head.host for process in found[_SHOWN:]})
        say(f"and {len(found) - _SHOWN} more on {hosts} {'host' if hosts == 1 else 'hosts'}")


def refuse(processes: Sequence[Process], prefix: Path, ranks: int) -> None:
    """Raises VtraceError when buffers lie on other hosts, with the command that reads them there."""
    others = [process for process in processes if process.head.host != platform.node()]
    if not others:
        return
    hosts = sorted({process.head.host for process in others})
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} other hosts"
    count = "a buffer" if len(others) == 1 else f"{len(others)} buffers"
    word = shlex.quote(str(prefix))
    mpi = any(process.world for process in others)
    there = (
        f"in the same allocation: mpiexec -n {ranks} vtunify-mpi {word}" if mpi else "copy them beside the other files"
    )
    raise VtraceError(
        f"{count} of processes that did not complete their files cannot be seen here, but on {where}",
        f"{there}; vtunify --partial {word} goes on without",
    )
