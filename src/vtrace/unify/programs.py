# SPDX-License-Identifier: BSD-3-Clause
"""Which program a process runs, and with which arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_TEXT_MAX = 16_384
"""Longest command line that is kept: OTF2 reads an anchor file of 256 KiB at most."""
_INTERPRETER = re.compile(r"python[\d.]*")


def shortened(words: Sequence[str]) -> list[str]:
    """The words of a command line, without those behind the first 16 KiB."""
    kept: list[str] = []
    size = 0
    for word in words:
        size += len(word) + 4
        if size > _TEXT_MAX:
            return [*kept, "..."]
        kept.append(word)
    return kept


def program_name(executable: str, command: Sequence[str]) -> str:
    """The name of the executable without its directory; of a Python interpreter that of the script or module it runs.
    "": it is not known."""
    name = os.path.basename(executable)
    if not _INTERPRETER.fullmatch(name):
        return name
    first = next((n for n, word in enumerate(command) if n and (word == "-c" or not word.startswith("-"))), None)
    return name if first is None or command[first] == "-c" else os.path.basename(command[first])
