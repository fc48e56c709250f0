# SPDX-License-Identifier: BSD-3-Clause
"""Injected failures: strace changes the results of system calls of a program.

The runtime makes its system calls without libc (csrc/core/sys.h), so a replaced libc function cannot make them fail.
strace can, and needs no special build. Limits of the kernel (ulimit, full and read-only file systems) are no injected
failures.
"""

from __future__ import annotations

from pathlib import Path

from support.tools import need


def inject(rule: str, log: Path) -> list[str]:
    """Words that start a program under strace with a rule of strace's -e inject. CALL:error=ERRNO:when=FIRST+ makes a
    system call fail from its FIRST call on. log: file for the calls, outside of the directories that the test reads.
    """
    return [need("strace"), "-f", "-o", str(log), "-e", f"inject={rule}"]


def injected(log: Path) -> int:
    """The number of calls that strace changed. A test asserts it: a rule for a call that the program does not make
    changes nothing."""
    return log.read_text(errors="replace").count("(INJECTED")
