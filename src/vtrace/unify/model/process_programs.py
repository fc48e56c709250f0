# SPDX-License-Identifier: BSD-3-Clause
"""The program that a process runs, and its arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence

from vtrace.python_command import is_python, python_script

_TEXT_MAX = 16_384
"""Maximum number of characters of a command line, since OTF2 reads an anchor file of 256 KiB at most."""


def shortened(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line that fit into _TEXT_MAX characters; "..." replaces the other words."""
    kept: list[str] = []
    size = 0
    for word in words:
        size += len(word) + 4
        if size > _TEXT_MAX:
            return [*kept, "..."]
        kept.append(word)
    return kept


def program_name(executable: str, command: Sequence[str]) -> str:
    """Returns the name of the executable without its directory; for a Python interpreter, the name of its script or
    module. Empty if it is unknown."""
    name = os.path.basename(executable)
    script = python_script([*command[1:]]) if is_python(name) else None
    return os.path.basename(script) if script else name
