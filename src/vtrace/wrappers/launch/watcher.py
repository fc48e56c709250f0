# SPDX-License-Identifier: BSD-3-Clause
"""A process that waits for the end of this one, which becomes a program: the program has no vtrace around it, so exit
code, signals and job control are its own."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

_POLL = 1.0
"""Seconds between two looks at the process, before Linux 5.3."""
_NICE = 19
_PROCESSOR = 600
"""Seconds of a processor after which the act ends: CPython 3.11 loops for ever where a MemoryError finds no memory."""


def watch(act: Callable[[], object], kept: int = -1) -> None:
    """Starts a process of a session of its own that calls act after the end of this process. kept: the only
    descriptor that it keeps. Raises OSError."""
    pid, ended = os.getpid(), _pidfd(os.getpid())
    begun = _begin(pid)
    child = os.fork()
    if child:
        with suppress(ChildProcessError):  # SIGCHLD is ignored
            os.waitpid(child, 0)
        if ended >= 0:
            os.close(ended)
        return
    try:
        os.setsid()
        if os.fork():  # the program has no child that it does not know
            return
        _let_go({kept, ended})
        if ended >= 0:
            watched = select.poll()
            watched.register(ended, select.POLLIN)
            watched.poll()
        else:
            while begun and _begin(pid) == begun:
                time.sleep(_POLL)
        os.nice(_NICE)
        _bound()
        act()
    finally:
        os._exit(0)


def _bound() -> None:
    """Lets the kernel end this process after _PROCESSOR seconds of a processor."""
    import resource

    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        most = _PROCESSOR if most == resource.RLIM_INFINITY else min(most, _PROCESSOR)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def _let_go(kept: set[int]) -> None:
    """Keeps neither files nor directories of the program open, and outlives its session."""
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(ending, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.chdir("/")
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))
    for number in range(3):
        if number not in kept:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def _begin(pid: int) -> str:
    """The time at which a process began, as the kernel writes it; "" for a process that has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state, *rest = file.read().rpartition(") ")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else rest[18]
