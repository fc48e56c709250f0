# SPDX-License-Identifier: BSD-3-Clause
"""Injected failures: strace changes the results of system calls of a program.

The runtime makes its system calls itself (csrc/core/sys.h), without libc, so strace reaches all of them and nothing
has to be built for a test. Limits of the kernel (ulimit, full and read-only file systems) are no injected failures.
"""

from __future__ import annotations

from support.tools import need


def inject(rule: str) -> list[str]:
    """Words that start a program under strace with a rule of strace's -e inject: CALL:error=ERRNO:when=FIRST+ lets a
    call fail from its FIRST time on."""
    return [need("strace"), "-f", "-o", "/dev/null", "-e", f"inject={rule}"]
