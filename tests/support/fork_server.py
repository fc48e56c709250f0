# SPDX-License-Identifier: BSD-3-Clause
"""A process with the loaded modules of one vtrace command, which forks a process for each call of the command.

Only support/forked.py runs this file: python -P fork_server.py COMMAND [SUB-COMMAND]. It reads requests from the socket
that is its standard input (receive): the words of the command line, the working directory, the environment, and three
files for standard input, output and error. It writes two integers of four bytes to the socket: the id of the new
process, and its wait status.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

WRAPPERS = ("vtrace-cc", "vtrace-cxx", "vtrace-fc")
Request = tuple[list[str], str, dict[str, str]]


def send(connection: socket.socket, request: Request, files: Sequence[int]) -> None:
    """Sends a request and files; the receiver gets its own descriptors of the files."""
    text = marshal.dumps(request)
    socket.send_fds(connection, [len(text).to_bytes(4, sys.byteorder)], files)
    connection.sendall(text)


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """Receives a request and files from send. Raises EOFError at the end of the connection."""
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    if not head:
        raise EOFError
    text = connection.recv(int.from_bytes(head, sys.byteorder), socket.MSG_WAITALL)
    return marshal.loads(text), files


def load(command: str, name: str) -> Callable[[], int]:
    """Loads the modules that a command loads at each start, and no others. Returns its entry point."""
    if command == "vtunify":
        from vtrace.commands import vtunify

        vtunify.reduce_overhead()
        import_module("vtrace.unify.run")
        import_module("elftools.elf.elffile")
        return vtunify.main
    if command in WRAPPERS:
        from vtrace.wrappers import cc

        return {"vtrace-cc": cc.main_c, "vtrace-cxx": cc.main_cxx, "vtrace-fc": cc.main_fc}[command]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import click

    from vtrace import cli, main

    assert cli.command.get_command(click.Context(cli.command), name)
    return main.main


def serve(connection: socket.socket) -> tuple[Request, list[int]]:
    """Handles all requests. Returns only in a forked process, which becomes the command. Loads the modules that a
    forked process has loaded, for the next process."""
    while True:
        gc.freeze()
        try:
            request, files = receive(connection)
        except EOFError:
            os._exit(0)
        loaded = os.memfd_create("modules")
        pid = os.fork()
        if pid == 0:
            atexit.register(_tell_modules, loaded)
            connection.close()
            return request, files
        for file in files:
            os.close(file)
        connection.sendall(pid.to_bytes(4, sys.byteorder))
        connection.sendall(os.waitpid(pid, 0)[1].to_bytes(4, sys.byteorder))
        for module in os.pread(loaded, os.fstat(loaded).st_size, 0).decode().splitlines():
            if module not in sys.modules:
                with suppress(ImportError):  # a module's name for a part of the module
                    import_module(module)
        os.close(loaded)


def _tell_modules(file: int) -> None:
    os.pwrite(file, "\n".join(sys.modules).encode(), 0)


def become(request: Request, files: Sequence[int]) -> None:
    """Gives this process the words, files, directory and environment of a new process."""
    sys.argv, cwd, environ = request
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    escape, replace = "surrogateescape", "backslashreplace"
    sys.stdin = open(0, encoding="utf-8", errors=escape, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors=escape, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors=replace, buffering=1, closefd=False)  # noqa: SIM115


def end_of(entry: Callable[[], int]) -> NoReturn:
    """Calls the entry point and ends the process as Python does, but without freeing each object, which takes longer
    than many commands."""
    try:
        code: object = entry()
    except SystemExit as ended:
        code = ended.code
    if code is None or isinstance(code, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)  # type: ignore[arg-type]


if __name__ == "__main__":
    entry = load(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    become(*serve(socket.socket(fileno=os.dup(0))))
    end_of(entry)
