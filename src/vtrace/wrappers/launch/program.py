# SPDX-License-Identifier: BSD-3-Clause
"""Examines a program before its start: the executable (a script's interpreter) and the libraries that the loader would
load. Imports little, since each rank of a job runs this module.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress

from vtrace.errors import VtraceError

_SHEBANG = 256
"""The number of bytes of a script's first line that Linux reads."""
_NESTED = 5
"""Maximum depth of interpreters of interpreters in Linux."""
_INTERP, _NOTE = 3, 4


class NoProgramError(VtraceError):
    """A program cannot be started; with a shell's exit code: 126 or 127."""

    def __init__(self, message: str, code: int, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.exit_code = code


class Elf:
    """An executable. machine: ELF class and machine number; loader: path of its dynamic linker, None if linked
    statically; go: compiled by Go."""

    def __init__(self, machine: tuple[int, int], loader: str | None, go: bool) -> None:
        self.machine = machine
        self.loader = loader
        self.go = go


class Program:
    """words: the command; path: the file of words[0]; executable: the file that the kernel loads, a script's
    interpreter; script: the script's path, None if words[0] is not a script."""

    def __init__(self, words: list[str], path: str, executable: str, script: str | None) -> None:
        self.words = words
        self.path = path
        self.executable = executable
        self.script = script

    @property
    def name(self) -> str:
        """The file name of the executable."""
        return os.path.basename(self.executable)


def find(words: list[str], environ: Mapping[str, str], directory: str = ".") -> Program:
    """The program of a command. Replaces env in a script's first line by the interpreter, since vtrace would record env
    as the first program of the run. Raises NoProgramError.
    """
    path = locate(words[0], environ, directory)
    chain, now, script = list(words), path, None
    for _ in range(_NESTED):
        interpreter = _first_line(now)
        if not interpreter:
            return Program(chain, path, now, script)
        script = script or now
        behind = _behind_env(interpreter)
        if behind and now == path:
            chain = [*behind, words[0] if "/" in words[0] else path, *words[1:]]
            path = now = locate(behind[0], environ, directory)
        else:
            now = locate((behind or interpreter)[0], environ, directory)
    raise NoProgramError(f"{words[0]}: more than {_NESTED} nested interpreters", 126)


def locate(word: str, environ: Mapping[str, str], directory: str = ".") -> str:
    """The path of the executable that execvp would start for word in directory. Raises NoProgramError."""
    places = [""] if "/" in word else environ.get("PATH", os.defpath).split(":")
    problem: NoProgramError | None = None
    for place in places:
        path = os.path.join(place, word) if place else word
        try:
            mode = os.stat(os.path.join(directory, path)).st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            problem = problem or NoProgramError(f"cannot start {word}: {error.strerror}", 126)
            continue
        if stat.S_ISDIR(mode):
            problem = NoProgramError(f"{word} is a directory", 126, "name a program")
        elif not stat.S_ISREG(mode) or not os.access(os.path.join(directory, path), os.X_OK):
            problem = NoProgramError(f"{word} is not executable", 126, f"chmod +x {word}")
        else:
            return path if directory == "." else os.path.normpath(os.path.join(directory, path))
    if problem:
        raise problem
    if "/" in word:
        raise NoProgramError(f"{word}: no such program", 127)
    here = os.path.join(directory, word)
    hint = f"did you mean ./{word}?" if os.path.isfile(here) and os.access(here, os.X_OK) else None
    raise NoProgramError(f"{word}: no such program in PATH", 127, hint)


def _first_line(path: str) -> list[str]:
    """The interpreter and at most one argument of a script's first line; empty for other files."""
    try:
        with open(path, "rb") as file:
            head = file.read(_SHEBANG)
    except OSError:
        return []  # an unreadable file may be executable
    if not head.startswith(b"#!"):
        return []
    line = os.fsdecode(head[2:].partition(b"\n")[0]).strip(" \t\r")
    return line.split(None, 1)


def _behind_env(interpreter: list[str]) -> list[str]:
    """The command of env in a script's first line; empty if interpreter is not env, or env sets variables."""
    if os.path.basename(interpreter[0]) != "env" or len(interpreter) < 2:
        return []
    text = interpreter[1]
    if not text.startswith("-"):
        return [text]
    split = text.removeprefix("-S").removeprefix("--split-string").lstrip("= ")
    words = split.split()
    plain = (
        text.startswith(("-S", "--split-string")) and not set(split) & set("\\'\"$#") and "=" not in (words or "=")[0]
    )
    return words if plain and not words[0].startswith("-") else []


def read_elf(path: str) -> Elf | None:
    """Reads an executable's headers; None if the file is not ELF or cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 52 or head[:4] != b"\x7fELF" or head[4] not in (1, 2):
                return None
            wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
            (machine,) = struct.unpack_from(order + "H", head, 18)
            at, size, count = _places(head, wide, order)
            file.seek(at)
            table = file.read(size * count)
            loader, go = None, False
            for i in range(len(table) // size if size else 0):
                kind, offset, length = _segment(table, i * size, wide, order)
                if kind in (_INTERP, _NOTE):
                    file.seek(offset)
                    data = file.read(min(length, 4096))
                    loader = os.fsdecode(data.rstrip(b"\0")) if kind == _INTERP else loader
                    go = go or (kind == _NOTE and b"\4\0\0\0Go\0\0" in data)
    except (OSError, ValueError, struct.error):
        return None
    return Elf((head[4], machine), loader, go)


def _places(head: bytes, wide: bool, order: str) -> tuple[int, int, int]:
    """Offset of the program headers, bytes of each, and their number."""
    (at,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    return at, size, count


def _segment(table: bytes, at: int, wide: bool, order: str) -> tuple[int, int, int]:
    """Type, offset and bytes in the file of one segment."""
    if wide:
        kind, _, offset, _, _, length = struct.unpack_from(order + "IIQQQQ", table, at)
    else:
        kind, offset, _, _, length = struct.unpack_from(order + "IIIII", table, at)
    return kind, offset, length


def holds(path: str, *texts: bytes) -> bool:
    """True if a file contains all texts, such as names in an executable's string table."""
    import mmap

    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return all(view.find(text) >= 0 for text in texts)
    except (OSError, ValueError):
        return False


class Loaded:
    """The libraries that the loader would load: name or path -> path, None if not found; errors: its messages."""

    def __init__(self, libraries: dict[str, str | None], errors: list[str]) -> None:
        self.libraries = libraries
        self.errors = errors


def libraries(elf: Elf, executable: str, environ: Mapping[str, str]) -> Loaded:
    """Lists an executable's libraries without starting the program. The executable's own loader makes the list, so that
    RUNPATH, LD_LIBRARY_PATH and the like apply. $ORIGIN is the directory of the file to which symbolic links lead, as
    for a program that the kernel starts."""
    assert elf.loader
    out, err = ask([elf.loader, "--list", os.path.realpath(executable)], environ)
    found: dict[str, str | None] = {}
    for line in out.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        path = (place if arrow else name).rpartition(" (")[0]
        found[name if arrow else path] = path or None
    return Loaded(found, err.splitlines())


def ask(words: list[str], environ: Mapping[str, str]) -> tuple[str, str]:
    """The standard output and standard error of a short command; empty if the command cannot be started."""
    ends = [os.pipe(), os.pipe()]
    actions = (
        (os.POSIX_SPAWN_DUP2, ends[0][1], 1),
        (os.POSIX_SPAWN_DUP2, ends[1][1], 2),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    )
    try:
        pid = os.posix_spawn(words[0], words, dict(environ), file_actions=actions)
    except OSError:
        pid = 0
    for _, write in ends:
        os.close(write)
    # Reading one pipe after the other is safe: standard error is far smaller than a pipe.
    texts = [_read(read).decode(errors="replace") for read, _ in ends]
    if pid:
        with suppress(ChildProcessError):  # SIGCHLD is ignored
            os.waitpid(pid, 0)
    return texts[0], texts[1]


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()
