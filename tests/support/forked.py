# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command of vtrace in a process that is forked from one with the command's modules: most of the time of a short
command is the start of Python and of these modules (fork_server.py)."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.fork_server import Request, send

BIN = Path(sys.executable).parent
"""The directory of the installed commands."""
_SUB_COMMANDS = (
    "anonymise", "clean", "counters", "cut", "diagnose", "diff", "dump", "export", "filter", "help", "import", "info",
    "jobs", "mpip", "pack", "profile", "report", "score", "settings", "summary", "timers", "unpack", "view",
)  # fmt: skip
"""Sub-commands of vtrace that start no programs with vtrace's libraries."""
_OF_START = ("COVERAGE_", "LANG", "LC_", "LD_", "MALLOC_", "OMP_", "OPENBLAS_", "PYTHON")
"""Prefixes of variables that take effect at the start of Python or of its libraries."""

Ended = tuple[int, bytes, bytes]
"""The exit code of a process, its standard output and its standard error."""


class _Server:
    """A running fork_server.py, which ends at the end of its standard input."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        script = str(Path(__file__).with_name("fork_server.py"))
        words = [sys.executable, "-P", script, *command]
        self._socket, end = socket.socketpair()
        with end:
            self._process = subprocess.Popen(words, stdin=end, stdout=subprocess.DEVNULL, env=environ)

    def run(self, request: Request, files: Sequence[int], timeout: float | None) -> int:
        """Runs a command with these files as standard input, output and error; returns its exit code."""
        send(self._socket, request, files)
        pid = self._number()
        late = not select.select([self._socket], [], [], timeout)[0]
        if late:
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(self._number())
        if late:
            raise subprocess.TimeoutExpired(request[0], timeout or 0)
        return code

    def _number(self) -> int:
        number = self._socket.recv(4, socket.MSG_WAITALL)
        assert number, f"{self._process.args} has ended"
        return int.from_bytes(number, sys.byteorder)


_idle: defaultdict[tuple[int, tuple[str, ...]], list[_Server]] = defaultdict(list)
"""The servers that wait for a request, by process of pytest and by command."""


def run_forked(
    words: Sequence[str], cwd: Path, environ: Mapping[str, str], usual: Mapping[str, str], timeout: float, stdin: bytes
) -> Ended | None:
    """Runs a command in a forked process. usual: the environment of a command without variables of its own. Returns
    None for a command that needs a new process (code_of_forked)."""
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.pwrite(files[0], stdin, 0)
        code = code_of_forked(([*words], str(cwd), dict(environ)), usual, files, timeout)
        if code is None:
            return None
        out, err = (os.pread(file, os.fstat(file).st_size, 0) for file in files[1:])
        return code, out, err
    finally:
        for file in files:
            os.close(file)


def code_of_forked(
    request: Request, usual: Mapping[str, str], files: Sequence[int], timeout: float | None = None
) -> int | None:
    """Runs a command in a forked process with these files as standard input, output and error; returns its exit code.
    Returns None for a command that needs a new process: another program, a command with other variables at its start,
    or any command if NEW_PROCESSES is set, as in make test-full."""
    words, cwd, environ = request
    command = _command(words)
    if not command or "NEW_PROCESSES" in os.environ or _of_start(environ) != _of_start(usual) or not Path(cwd).is_dir():
        return None
    idle = _idle[os.getpid(), command]
    server = idle.pop() if idle else _Server(command, usual)
    code = server.run(request, files, timeout)
    idle.append(server)
    return code


def _command(words: Sequence[str]) -> tuple[str, ...]:
    """The command and its sub-command; empty for other programs."""
    place = Path(words[0])
    if place.parent != BIN:
        return ()
    if place.name == "vtrace" and len(words) > 1 and words[1] in _SUB_COMMANDS:
        return ("vtrace", words[1])
    return (place.name,) if place.name in ("vtunify", "vtrace-cc", "vtrace-cxx", "vtrace-fc") else ()


def _of_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_OF_START)}
