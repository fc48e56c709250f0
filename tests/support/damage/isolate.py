# SPDX-License-Identifier: BSD-3-Clause
"""Runs a function in a forked child with limited memory and time, so that a crash or a hang only fails the test."""

from __future__ import annotations

import gc
import os
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

MEMORY = 512 << 20
"""Bytes of address space that the function may map in addition to the process's own."""
SECONDS, WAITING = 20, 300
"""Limits of CPU time and of elapsed time in s. The second is larger, because the machine may be loaded."""


def isolated(function: Callable[[], None]) -> None:
    """Calls function in a child. An exception, a signal or a timeout in the child is an assertion error here."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        os._exit(_child(function, writer))
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status in (-signal.SIGALRM, -signal.SIGPROF):
        raise AssertionError(f"did not end within {SECONDS} s of work or {WAITING} s")
    assert status >= 0, f"ended by {signal.Signals(-status).name}"
    assert not status, text


def _child(function: Callable[[], None], writer: int) -> int:
    gc.disable()  # garbage collection would touch, and so copy, all memory
    try:
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        function()
    except BaseException:
        text = traceback.format_exc()
        os.write(writer, text[-30_000:].encode(errors="replace"))
        return 1
    return 0
