# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in its own process group and ends all its processes afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = -1000
"""Exit code for a command that exceeded its time."""

_KEPT = 200_000
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Ended:
    """Result of a command. code: exit code, minus the signal's number, or TIMEOUT; out, err: its output, at most _KEPT
    bytes each; seconds: elapsed time."""

    code: int
    out: str
    err: str
    seconds: float


def become_worker() -> None:
    """Makes this process the parent of processes that a killed launcher leaves, and thereby able to end them. Ignores
    SIGINT, which the parent process handles."""
    signal.signal(signal.SIGINT, lambda *_: None)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(words: Sequence[str | Path], cwd: Path, env: Mapping[str, str], limit: float) -> Ended:
    """Runs a command for at most limit seconds, then ends all processes that the command has started."""
    out, err = cwd / ".stdout", cwd / ".stderr"
    begin = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        child = subprocess.Popen(
            [str(word) for word in words],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            code = TIMEOUT
            _end(child)
        _end_left_over()
    seconds = time.monotonic() - begin
    texts = [path.read_bytes()[:_KEPT].decode(errors="replace") for path in (out, err)]
    out.unlink()
    err.unlink()
    return Ended(code, texts[0], texts[1], seconds)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM first, so that a launcher ends its ranks, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5)


def _end_left_over() -> None:
    """Ends processes of the command outside of its process group. This process has no other children."""
    for _ in range(100):
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            for left in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            time.sleep(0.01)


def _children() -> list[int]:
    tasks = Path("/proc/self/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
