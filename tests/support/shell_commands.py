# SPDX-License-Identifier: BSD-3-Clause
"""The commands of vtrace for a shell or make: scripts that let pytest run the command in a forked process (forked.py).
A script starts in a tenth of the time of a command."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from support.fork_server import receive
from support.forked import BIN, code_of_forked
from support.tools import environment

NAMES = ("vtrace", "vtrace-cc", "vtrace-cxx", "vtrace-fc", "vtunify")
_NEW = 1 << 20
"""The answer for a command that needs a new process; not a possible exit code."""

# Only modules that are parts of Python: each other module would take as long as the start. -S: without site-packages.
_SCRIPT = """#!{python} -IS
import marshal, os, _socket, sys
words = [{real!r}, *sys.argv[1:]]
connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect({address!r})
text = marshal.dumps((words, os.getcwd(), dict(os.environ)))
files = b"".join(file.to_bytes(4, sys.byteorder) for file in range(3))
connection.sendmsg([len(text).to_bytes(4, sys.byteorder)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
connection.sendall(text)
answer = connection.recv(4, _socket.MSG_WAITALL)
if not answer:
    sys.exit("no answer from pytest")
code = int.from_bytes(answer, sys.byteorder, signed=True)
if code == {new}:
    os.execv(words[0], words)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@contextmanager
def shell_commands(place: Path) -> Iterator[Path]:
    """A new directory below place, for the first place in PATH, with a script for each command of NAMES."""
    scripts, address = place / "bin", str(place / "socket")
    scripts.mkdir()
    for name in NAMES:
        script = scripts / name
        script.write_text(_SCRIPT.format(python=sys.executable, real=str(BIN / name), address=address, new=_NEW))
        script.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        Thread(target=_serve, args=(listener,), daemon=True).start()
        try:
            yield scripts
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):  # the end of shell_commands
        while True:
            Thread(target=_answer, args=(listener.accept()[0],), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection, suppress(OSError, EOFError):  # a script that is killed
        request, files = receive(connection)
        try:
            code = code_of_forked(request, environment(), files)
        finally:
            for file in files:
                os.close(file)
        connection.sendall((_NEW if code is None else code).to_bytes(4, sys.byteorder, signed=True))
