# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.tools import environment


def on_terminal(words: Sequence[str | Path], cwd: Path, columns: int = 160) -> str:
    """The output of a command on a terminal of this width. The exit code must be 0."""
    ours, theirs = pty.openpty()
    env = environment({"COLUMNS": str(columns), "TERM": "xterm"})
    with subprocess.Popen([*map(str, words)], cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # on Linux: all writers have closed the terminal
                piece = b""
            if not piece:
                break
            found += piece
    os.close(ours)
    assert process.returncode == 0, found.decode()
    return found.decode()
