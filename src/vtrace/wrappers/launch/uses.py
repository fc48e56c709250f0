# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPI that a program uses, and its shim. The cache keeps answers, so that no compiler runs each time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise

from vtrace.errors import VtraceError
from vtrace.python_command import is_python, python_script
from vtrace.wrappers.compile.cache import cache_directory, is_trusted
from vtrace.wrappers.launch import program as programs
from vtrace.wrappers.launch.program import Loaded, NoProgramError, Program

_NAMES = ("libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_ibm.so")
"""Names of MPI libraries, without version: Open MPI and MPICH, Debian's MPICH, MPI 5's ABI, IBM."""
_OPENMP = ("libgomp.so", "libomp.so", "libomp5.so", "libiomp5.so")
_FEW = 24
"""Number of a program's arguments to examine: the program that a wrapper script starts is among the first ones."""
_SEPARATORS = dict.fromkeys(map(ord, ";&|()"), " ")
"""A translation of a shell's separators of commands to blanks."""
_QUESTION = """import mpi4py
mpi4py.rc.initialize = mpi4py.rc.finalize = False
import mpi4py.MPI
print(mpi4py.__file__)
for line in open("/proc/self/maps"):
    if "/" in line: print(line[line.index("/"):].rstrip())
"""


def mpi_library(loaded: Loaded) -> str | None:
    """The path of the MPI library among the libraries of a program, or None."""
    for name, path in loaded.libraries.items():
        if path and os.path.basename(name).startswith(_NAMES):
            return os.path.realpath(path)
    return None


def openmp(loaded: Loaded) -> bool:
    """True if one of the libraries is an OpenMP runtime."""
    return any(os.path.basename(name).startswith(_OPENMP) for name in loaded.libraries)


def unseen_targets(loaded: Loaded, environ: Mapping[str, str]) -> str | None:
    """The directory that LD_LIBRARY_PATH lacks for LLVM's libomptarget to report target regions, else None: it opens
    libomp.so, by that name, to find its tool, and no RUNPATH of the program holds for it."""
    paths = {os.path.basename(name): path for name, path in loaded.libraries.items() if path}
    target = next((path for name, path in paths.items() if name.startswith("libomptarget.so")), None)
    searched = [*environ.get("LD_LIBRARY_PATH", "").split(":"), os.path.dirname(paths.get("libc.so.6", ""))]
    if not target or any(place and os.path.exists(os.path.join(place, "libomp.so")) for place in searched):
        return None
    return os.path.dirname(os.path.realpath(target))


FOREIGN_OPTIONS = (
    ("-pg -mfentry", "-fpatchable-function-entry=5", "-fxray-instrument") if os.uname().machine == "x86_64" else ()
)
"""The options besides vtrace-cc that leave room for calls of vtrace; csrc/funwrap/foreign.c is for x86-64."""


def functions(program: Program, loaded: Loaded, foreign: bool) -> bool:
    """True if the program or one of its libraries was compiled by vtrace-cc or with -finstrument-functions. foreign: or
    with other options that leave room for calls of vtrace (csrc/funwrap/foreign.c)."""
    paths = (
        path for name, path in loaded.libraries.items() if path and not os.path.basename(name).startswith("libc.so")
    )
    marks = [b"\0__cyg_profile_func_enter\0", b"\0vt_sleds_attach\0"]
    if foreign and FOREIGN_OPTIONS:
        marks += [b"\0__fentry__\0", b"\0__patchable_function_entries\0", b"\0xray_instr_map\0"]
    return any(programs.holds(path, mark) for path in (program.executable, *paths) for mark in marks)


def mpi_behind(program: Program, environ: Mapping[str, str], directory: str, launched: bool) -> tuple[str, str | None]:
    """The program that uses MPI and its MPI library, for a program that does not link MPI; None without library.

    Python uses mpi4py's library. For other programs, such as scripts that bind each rank to cores, the result is the
    first program among the arguments that links MPI."""
    if is_python(program.name):
        return program.words[0], _mpi_of_python(program, environ, launched)
    words = _arguments(program.words)[:_FEW]
    for at, word in enumerate(words):
        if word.startswith("-"):
            continue
        try:
            inner = programs.find(words[at:], environ, directory)
        except NoProgramError:
            continue
        if is_python(inner.name):
            return word, _mpi_of_python(inner, environ, launched)
        elf = programs.read_elf(inner.executable)
        library = mpi_library(programs.libraries(elf, inner.executable, environ)) if elf and elf.loader else None
        if library:
            return word, library
    return program.words[0], None


def _arguments(words: list[str]) -> list[str]:
    """The arguments of a program, with a shell's command split into words: sh -c 'prepare; ./heat'."""
    found: list[str] = []
    for before, word in pairwise(words):
        found += word.translate(_SEPARATORS).split() if before == "-c" else [word]
    return found


def _mpi_of_python(program: Program, environ: Mapping[str, str], launched: bool) -> str | None:
    """The library that mpi4py loads; None if the program neither runs under a launcher nor names mpi4py."""
    if not launched and not names_module(program, "mpi4py"):
        return None
    about = sorted(f"{key}={value}" for key, value in environ.items() if key.startswith(("MPI4PY_", "PYTHON")))
    interpreter = os.path.abspath(program.executable)
    key = "\n".join([interpreter, environ.get("LD_LIBRARY_PATH", ""), *about])
    note = _Note("python", key)
    known = note.read()
    if known and os.path.exists(known[0]) and _state(known[0]) == known[1]:
        return known[0]
    bare = {name: value for name, value in environ.items() if name != "LD_PRELOAD"}
    out, _ = programs.ask([interpreter, "-c", _QUESTION], bare)
    found = next((line for line in out.splitlines()[1:] if os.path.basename(line).startswith(_NAMES)), None)
    if found:
        found = os.path.realpath(found)
        note.write(found, _state(found))
    return found


def names_module(program: Program, module: str) -> bool:
    """True if a Python program's arguments or script contain the name of a module."""
    if any(module in word for word in program.words[1:_FEW]):
        return True
    script = program.script or python_script(program.words[1:])
    return script is not None and programs.holds(script, module.encode())


def library_of(mpicc: str) -> str:
    """The library of an MPI, from its compiler command or its library. Raises VtraceError."""
    if ".so" in os.path.basename(mpicc):
        if not os.path.isfile(mpicc):
            raise VtraceError(f"{mpicc}: no such library", "give the path of an MPI library or an mpicc")
        return os.path.realpath(mpicc)
    try:
        command = programs.locate(mpicc, os.environ)
    except NoProgramError:
        command = mpicc  # find_mpi raises the error
    note = _Note("mpicc", command)
    known = note.read()
    if known and os.path.exists(known[0]) and known[1] == f"{_state(command)} {_state(known[0])}":
        return known[0]
    from vtrace.wrappers.mpi_shim.installation import find_mpi

    mpi = find_mpi(command)
    assert mpi
    library = str(mpi.library)
    note.write(library, f"{_state(command)} {_state(library)}")
    return library


def launchers_library(mpicc: str | None) -> str | None:
    """The library of the MPI of mpicc, else of the first mpicc in PATH; None without any."""
    if mpicc:
        return library_of(mpicc)
    from vtrace.wrappers.mpi_shim.installation import find_mpi

    mpi = find_mpi()
    return str(mpi.library) if mpi else None


class MissingShimError(VtraceError):
    """The shim of an MPI library must be built first."""

    def __init__(self, library: str) -> None:
        super().__init__(f"no shim for {library} yet")
        self.library = library


def shim_of(library: str, *, builds: bool = True) -> str:
    """The path of the shim to preload for an MPI library: from the cache, or a prebuilt one, or built now. Ranks that
    need the same shim at the same time wait for the first one.

    Raises VtraceError if no mpicc links the library, or the shim cannot be built; MissingShimError instead of building.
    """
    note = _Note("shim", library)
    state = "\n".join([_state(library), *(_state(path) for path in _own_files())])
    known = note.read()
    if known and known[1] == state and os.path.exists(known[0]) and is_trusted(known[0]):
        return known[0]
    from pathlib import Path

    from vtrace.wrappers.mpi_shim.installation import find_mpi_with
    from vtrace.wrappers.mpi_shim.shim import is_built, prebuilt_library, shim_library

    path = Path(library)
    prebuilt = prebuilt_library(path)
    mpi = None if prebuilt else find_mpi_with(path)
    if mpi and not (builds or is_built(mpi)):
        raise MissingShimError(library)
    found = str(shim_library(mpi) if mpi else prebuilt)
    note.write(found, state)
    return found


def _own_files() -> list[str]:
    """Files that change with each installation of vtrace."""
    wrappers = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = os.path.dirname(wrappers)
    return [os.path.join(wrappers, "mpi_shim", "generate.py"), os.path.join(package, "_lib", "libvtrace.so.1")]


def _state(path: str) -> str:
    about = os.stat(path)
    return f"{path} {about.st_size} {about.st_mtime_ns}"


class _Note:
    """A small file in the cache of shims: a path found for a key, valid while the state is the same."""

    def __init__(self, kind: str, key: str) -> None:
        from binascii import crc32

        self._key = key
        self._path = os.path.join(cache_directory(), f"{kind}-{crc32(os.fsencode(key)):08x}")

    def read(self) -> tuple[str, str] | None:
        if not is_trusted(self._path):
            return None
        try:
            with open(self._path, errors="surrogateescape") as file:
                key, path, state = file.read().split("\0")
        except (OSError, ValueError):
            return None
        return (path, state) if key == self._key else None

    def write(self, path: str, state: str) -> None:
        """Saves a path and its state. Other ranks may write the same file now. Ignores failures: the next run then
        searches again."""
        own = f"{self._path}.{os.getpid()}"
        if not is_trusted(self._path):
            return
        try:
            descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", errors="surrogateescape") as file:
                file.write("\0".join([self._key, path, state]))
            os.replace(own, self._path)
        except OSError:
            return
