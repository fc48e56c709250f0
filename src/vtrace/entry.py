# SPDX-License-Identifier: BSD-3-Clause
"""Starts and ends each command of vtrace: finds the command by its name, and gives it standard streams whose failure
does not stop its work. A command may begin with closed streams, as in daemons and jobs of cron."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import NoReturn, TextIO

COMMANDS = {
    "vtrace": ("vtrace.main", "main"),
    "vtrace-cc": ("vtrace.wrappers.cc", "main_c"),
    "vtrace-cxx": ("vtrace.wrappers.cc", "main_cxx"),
    "vtrace-fc": ("vtrace.wrappers.cc", "main_fc"),
    "vtunify": ("vtrace.commands.vtunify", "main"),
    "vtunify-mpi": ("vtrace.commands.vtunify_mpi", "main"),
}
"""Name of a command -> module and function, which returns the exit code."""


def run() -> NoReturn:
    """Runs the command that sys.argv[0] names, and ends the process."""
    name = os.path.basename(sys.argv[0])
    _open_streams()
    module, function = COMMANDS[name]
    _end(name, getattr(import_module(module), function)())


def python() -> NoReturn:
    """The command vtrace-python: the Python that vtrace was installed for. The other commands read the path of this
    Python from its script (csrc/command/command.c)."""
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


def _open_streams() -> None:
    """Replaces the standard streams. A closed descriptor gets a file that cannot be used either: otherwise the next
    file that the command opens would have its number, and would get the messages. Programs that the command starts do
    not inherit this file."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
    if not sys.stdin:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _stream(_NamedFile(1, "w", closefd=False), sys.stdout)
    sys.stderr = _stream(_LossyFile(2, "w", closefd=False), sys.stderr)


def _stream(file: io.FileIO, before: TextIO | None) -> io.TextIOWrapper:
    """A stream in place of Python's, which is None if it is closed."""
    lines = isinstance(file, _LossyFile) or file.isatty()
    encoding, errors = (before.encoding, before.errors) if before else (None, "backslashreplace")
    return io.TextIOWrapper(io.BufferedWriter(file), encoding, errors, line_buffering=lines)


class _NamedFile(io.FileIO):
    """Standard output. Its errors name it, as those of other files name these."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from None


class _LossyFile(io.FileIO):
    """Standard error. A message that cannot be written is lost, and the command goes on."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


def _end(name: str, code: int) -> NoReturn:
    """Ends the process with an exit code; with 1 instead of 0, and a message, if the last output cannot be written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if not code and not isinstance(error, BrokenPipeError):
            print(f"{name}: error: {error.filename}: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes the rest once more at the exit
        code = code or 1
    if name == "vtunify":  # without Python's cleanup of modules, a fifteenth of the time of a small run
        os._exit(code)
    sys.exit(code)
