# SPDX-License-Identifier: BSD-3-Clause
"""Builds the MPI shim for the MPI at hand and keeps it in a cache."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from vtrace import __version__, paths
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.text import plain
from vtrace.wrappers.compile.toolchain import library_directory, link_flags
from vtrace.wrappers.mpi_shim.cache import cache_directory, check_trusted, is_trusted, make_cache_directory
from vtrace.wrappers.mpi_shim.installation import Mpi

ARCHIVE = "libvtrace-mpi.a"
LIBRARY = "libvtrace-mpi.so"
_INFO = "shim.json"
_PREFIX = "mpi-"
_BUILDING = "building-"


@dataclass(frozen=True)
class Shim:
    """A shim in the cache: directory, label of its MPI, library it was made for, vtrace version, wrapped functions."""

    directory: str
    label: str
    library: str
    mpicc: str
    version: str
    functions: int


def cache_dir() -> Path:
    """Where the shims are kept."""
    return Path(cache_directory())


def shim_archive(mpi: Mpi) -> Path:
    """The archive with the MPI shim, for programs that are linked with it; built when the cache has none for this MPI.

    Raises VtraceError when the cache cannot be written or the shim does not compile.
    """
    return _cached(mpi) / ARCHIVE


def shim_library(mpi: Mpi) -> Path:
    """The same shim as a shared library, for LD_PRELOAD with programs that were linked without vtrace. It brings the
    MPI library and libvtrace.so.1 along; before a program that is linked with a shim it records nothing.

    Raises VtraceError as shim_archive.
    """
    return _cached(mpi) / LIBRARY


def _cached(mpi: Mpi) -> Path:
    directory = cache_dir() / f"{_PREFIX}{mpi.key}"
    for name in ("", ARCHIVE, LIBRARY):
        check_trusted(str(directory / name))
    if not _is_whole(directory):
        with _cache_errors(), _lock(directory):
            _remove_remains(cache_dir())
            if not _is_whole(directory):
                _build(mpi, directory)
    return directory


def _is_whole(directory: Path) -> bool:
    return (directory / ARCHIVE).exists() and (directory / LIBRARY).exists()


def list_shims() -> list[Shim]:
    """What the cache holds, by label."""
    shims = []
    check_trusted(str(cache_dir()))
    for path in cache_dir().glob(f"{_PREFIX}*/{_INFO}"):
        try:
            if is_trusted(str(path)):
                known = json.loads(path.read_text())
                # The cache may be a copy: clean_shims must not remove what the file names elsewhere.
                shims.append(Shim(**(known | {"directory": str(path.parent)})))
        except (OSError, ValueError, TypeError):
            continue
    return sorted(shims, key=lambda shim: (shim.label, shim.directory))


def clean_shims(library: Path | None = None) -> list[Shim]:
    """Removes all shims, or those of one MPI library, and says which. Raises VtraceError if that is not allowed."""
    if not cache_dir().is_dir():
        return []
    shims = [shim for shim in list_shims() if library is None or shim.library == str(library)]
    with _cache_errors():
        for directory in (Path(shim.directory) for shim in shims):
            with _lock(directory):
                if directory.exists():
                    shutil.rmtree(directory)
    return shims


@contextmanager
def _cache_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VtraceError(
            f"{error.filename or cache_dir()}: cannot keep the MPI shim there: {error.strerror}",
            "set VT_SHIM_CACHE to a directory that can be written",
        ) from None


@contextmanager
def _lock(shim: Path) -> Iterator[None]:
    """Several builds of a shim at once, as by make -j, wait for the first one and then use its result. Each shim has a
    lock of its own: nobody waits for the build of another MPI's."""
    make_cache_directory()
    with shim.with_name(f"lock-{shim.name}").open("w") as file:
        # Some network file systems have no locks: then two may build, and the first one's result stays.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_remains(directory: Path) -> None:
    """What builds left that were killed. Where locks do not reach other machines, a young one may be at work there."""
    for path in directory.glob(f"{_BUILDING}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 3600:
                shutil.rmtree(path)


def _build(mpi: Mpi, directory: Path) -> None:
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=_BUILDING) as temporary:
        place = Path(temporary) / "shim"
        place.mkdir(0o755)
        console = Console("vtrace")
        console.note(f"building the MPI shim for {mpi.label}, once for this MPI: takes some seconds")
        count = write_source(mpi, place / "shim.c")
        objects = _compile_all(mpi, sorted(place.glob("*.c")), console)
        _call(["ar", "rcs", str(place / ARCHIVE), *map(str, objects)], mpi)
        link_library(mpi, objects, place / LIBRARY)
        for path in objects:
            path.unlink()
        shim = Shim(str(directory), mpi.label, str(mpi.library), mpi.mpicc, __version__, count)
        (place / _INFO).write_text(json.dumps(asdict(shim), indent=1) + "\n")
        for path in place.iterdir():  # whatever the umask: see check_trusted
            path.chmod(path.stat().st_mode & ~0o022)
        try:
            if not _is_whole(directory):
                shutil.rmtree(directory, ignore_errors=True)
            place.rename(directory)
        except OSError:
            if not _is_whole(directory):
                raise


def _compile_all(mpi: Mpi, sources: list[Path], console: Console) -> list[Path]:
    """The objects of all units that compile, at most one compiler a core at once."""
    objects = []
    with console.steps("MPI shim", len(sources), "parts") as advance, ThreadPoolExecutor(os.cpu_count()) as pool:
        for made in pool.map(partial(_compile, mpi), sources):
            objects += [made] if made else []
            advance(1)
    return objects


def _compile(mpi: Mpi, source: Path) -> Path | None:
    """The object of one unit; None for a Fortran binding whose wrappers do not compile: the others serve without."""
    made = source.with_suffix(".o")
    try:
        compile_shim(mpi, source, made, () if source.name == "shim.c" else ("-O1",))
    except VtraceError as error:
        if source.name == "shim.c":
            raise
        print(
            f"vtrace: MPI calls in Fortran ({source.stem}) will not be recorded: {plain(str(error))}", file=sys.stderr
        )
        return None
    return made


def write_source(mpi: Mpi, path: Path) -> int:
    """Writes the shim's source for an MPI, and beside it those of its Fortran bindings (mpif.c, f08.c). Returns the
    number of C functions that it wraps.
    """
    # Reading the MPI data takes a while, and most links find the shim in the cache.
    from vtrace.wrappers.mpi_shim import fortran, generate, mpi_header

    functions = generate.wrapped(mpi_header.functions(mpi.preprocessed, mpi.library))
    head = generate.head(functions, mpi_header.hidden(mpi.preprocessed), mpi.label, __version__)
    place = paths.LIB / "mpiwrap" / "templates"
    path.write_text(generate.generate(functions, head, generate.read_templates(place)))
    for binding in fortran.bindings(mpi.fortran):
        templates = generate.read_templates(place, place / "fortran")
        entries = fortran.entries(binding, functions)
        path.with_name(f"{binding.key}.c").write_text(fortran.generate(binding, entries, head, templates))
    return len(functions)


def compile_shim(mpi: Mpi, source: Path, target: Path, flags: tuple[str, ...] = ()) -> None:
    """Compiles the shim's source into an object that fits into executables and shared libraries."""
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", *flags]
    options.append("-Wno-deprecated-declarations")
    places = [f"-I{paths.LIB / 'mpiwrap'}", f"-I{paths.LIB / 'include'}", *mpi.include_flags]
    _call([*mpi.compiler, *options, *places, "-c", str(source), "-o", str(target)], mpi)


def link_library(mpi: Mpi, objects: list[Path], target: Path) -> None:
    """Links the shim's objects into a shared library. The loader finds what it needs by itself: the dynamic linker
    only says on standard error that it leaves out a preloaded library that it cannot load, and runs the program.
    The objects are changed: a program in C does not load the Fortran bindings, which keep their profiling twins.
    """
    for path in objects:
        _call(["objcopy", "--wildcard", "--weaken-symbol=pmpi*", str(path)], mpi)
    needed = ["-Wl,--no-as-needed", str(mpi.library), "-Wl,--as-needed", "-ldl", "-Wl,-z,defs"]
    found = ["-Xlinker", "-rpath", "-Xlinker", str(mpi.library.parent), "-Wl,--enable-new-dtags"]
    vtrace = link_flags(library_directory())
    _call([*mpi.compiler, "-shared", "-o", str(target), *map(str, objects), *needed, *vtrace, *found], mpi)


def _call(words: list[str], mpi: Mpi) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise VtraceError(f"{words[0]}: not found", "building the MPI shim needs it once") from None
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        reason = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        raise VtraceError(f"cannot build the MPI shim for {mpi.label} with {words[0]}: {reason}", f"{mpi.mpicc}")
