# SPDX-License-Identifier: BSD-3-Clause
"""Asks a compiler for its kind: gcc or clang."""

from __future__ import annotations

import re
import subprocess

from vtrace.errors import VtraceError


def answer(words: list[str]) -> str:
    """The text that a command prints on standard output. Raises VtraceError if it cannot run."""
    try:
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise VtraceError(f"cannot run {words[0]}: {error.strerror}", "check its permissions") from None
    return done.stdout.decode(errors="replace")


def is_clang(version: str) -> bool:
    """True for clang's answer to --version, and for those of compilers made from it."""
    return re.search(r"clang|Intel.*oneAPI DPC", version) is not None


def is_gcc(version: str) -> bool:
    """True for the answer to --version of a compiler of gcc."""
    return "Free Software Foundation" in version and not is_clang(version)
