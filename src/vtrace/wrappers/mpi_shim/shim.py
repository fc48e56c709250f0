# SPDX-License-Identifier: BSD-3-Clause
"""Builds the MPI shim for an MPI and keeps the shim in a cache."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace import __version__, paths
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.text import plain
from vtrace.wrappers.compile.cache import cache_directory, check_trusted, is_trusted, make_cache_directory
from vtrace.wrappers.compile.toolchain import library_directory, link_flags
from vtrace.wrappers.mpi_shim.installation import Mpi

if TYPE_CHECKING:
    from vtrace.wrappers.mpi_shim.fortran import Binding
    from vtrace.wrappers.mpi_shim.mpi_header import MpiFunction

ARCHIVE = "libvtrace-mpi.a"
LIBRARY = "libvtrace-mpi.so"
_INFO = "shim.json"
_PREFIX = "mpi-"
_BUILDING = "building-"


@dataclass(frozen=True, kw_only=True)
class Shim:
    """A shim in the cache. label, library, mpicc: of its MPI, mpicc "" if not needed; version: vtrace's; functions:
    number of wrapped C functions."""

    directory: str
    label: str
    library: str
    mpicc: str
    version: str
    functions: int


def cache_dir() -> Path:
    """The directory of the cache."""
    return Path(cache_directory())


def shim_archive(mpi: Mpi) -> Path:
    """The archive with the shim, for linking. Builds the shim if the cache has none for this MPI.

    Raises VtraceError if the cache cannot be written or the shim does not compile.
    """
    return _cached(mpi) / ARCHIVE


def shim_library(mpi: Mpi) -> Path:
    """The shim as a shared library, for LD_PRELOAD with programs that were linked without vtrace. The library needs the
    MPI library and libvtrace.so.1. In a program that is linked with a shim, the preloaded shim records nothing.

    Raises VtraceError like shim_archive.
    """
    return _cached(mpi) / LIBRARY


def is_built(mpi: Mpi) -> bool:
    """True if shim_library builds nothing. Raises VtraceError if the cache cannot be written."""
    return (cache_dir() / f"{_PREFIX}{mpi.key}" / LIBRARY).is_file()


def _cached(mpi: Mpi) -> Path:
    directory = cache_dir() / f"{_PREFIX}{mpi.key}"
    with _missing(directory, ARCHIVE, LIBRARY) as missing:
        if missing:
            _build(mpi, directory)
    return directory


def prebuilt_library(library: Path) -> Path | None:
    """The shim as a shared library, as from shim_library, but made from a prebuilt shim. None if vtrace has no prebuilt
    shim that fits the MPI library.

    Raises VtraceError if the cache cannot be written.
    """
    # Imported here: vtrace-cc links built shims only.
    from vtrace.wrappers.mpi_shim import prebuilt

    found = prebuilt.find(library)
    if found is None:
        return None
    directory = cache_dir() / f"{_PREFIX}{found.key}"
    with _missing(directory, LIBRARY) as missing:
        fitted = prebuilt.fit(found) if missing else None
        if missing and fitted is None:
            return None
        if fitted:
            with _new_directory(directory) as place:
                (place / LIBRARY).write_bytes(fitted[0])
                (place / LIBRARY).chmod(0o755)
                label = f"{found.abi} (prebuilt)"
                _publish(
                    place,
                    Shim(
                        directory=str(directory),
                        label=label,
                        library=str(library),
                        mpicc="",
                        version=__version__,
                        functions=fitted[1],
                    ),
                    LIBRARY,
                )
    return directory / LIBRARY


@contextmanager
def _missing(directory: Path, *names: str) -> Iterator[bool]:
    """True, with the shim's lock, if a shim's directory lacks a file."""
    for name in ("", *names):
        check_trusted(str(directory / name))
    if _is_whole(directory, names):
        yield False
        return
    with _cache_errors(), _lock(directory):
        _remove_remains(cache_dir())
        yield not _is_whole(directory, names)


def _is_whole(directory: Path, names: Sequence[str]) -> bool:
    return all((directory / name).exists() for name in names)


def list_shims() -> list[Shim]:
    """The shims in the cache, sorted by label. Raises VtraceError if another user can change the cache."""
    shims = []
    check_trusted(str(cache_dir()))
    for path in cache_dir().glob(f"{_PREFIX}*/{_INFO}"):
        try:
            if is_trusted(str(path)):
                known = json.loads(path.read_text())
                # In a copy of a cache the file names the original, which clean_shims must not remove.
                shims.append(Shim(**(known | {"directory": str(path.parent)})))
        except (OSError, ValueError, TypeError):
            continue
    return sorted(shims, key=lambda shim: (shim.label, shim.directory))


def clean_shims(library: Path | None = None) -> list[Shim]:
    """Removes all shims, or the shims of one MPI library; returns the removed shims. Raises VtraceError if a shim
    cannot be removed."""
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
            f"{error.filename or cache_dir()}: cannot change the cache of MPI shims: {error.strerror}",
            "set VT_SHIM_CACHE to a writable directory",
        ) from None


@contextmanager
def _lock(shim: Path) -> Iterator[None]:
    """Locks one shim, so that concurrent builds, as by make -j, wait for the first build and use its result. Builds for
    other MPIs have other locks."""
    make_cache_directory()
    with shim.with_name(f"lock-{shim.name}").open("w") as file:
        # Some network file systems have no locks. Two builds may then run, and the first result stays.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_remains(directory: Path) -> None:
    """Removes directories of killed builds. A directory younger than an hour may belong to a running build on another
    machine, where this lock may have no effect."""
    for path in directory.glob(f"{_BUILDING}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 3600:
                shutil.rmtree(path)


def _build(mpi: Mpi, directory: Path) -> None:
    with _new_directory(directory) as place:
        console = Console("vtrace")
        console.note(f"building the MPI shim for {mpi.label}, once per MPI; this takes some seconds")
        count = write_source(mpi, place / "shim.c")
        objects = _compile_all(mpi, sorted(place.glob("*.c")), console)
        objcopy = _objcopy(mpi)
        for path in objects:
            _call([objcopy, f"--rename-section=.text={paths.PROGRAM_SECTION}", str(path)], mpi)
        _call(["ar", "rcs", str(place / ARCHIVE), *map(str, objects)], mpi)
        link_library(mpi, objects, place / LIBRARY)
        for path in objects:
            path.unlink()
        shim = Shim(
            directory=str(directory),
            label=mpi.label,
            library=str(mpi.library),
            mpicc=mpi.mpicc,
            version=__version__,
            functions=count,
        )
        _publish(place, shim, ARCHIVE, LIBRARY)


@contextmanager
def _new_directory(directory: Path) -> Iterator[Path]:
    """A temporary directory beside a shim's directory, to be published under its name."""
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=_BUILDING) as temporary:
        place = Path(temporary) / "shim"
        place.mkdir(0o755)
        yield place


def _publish(place: Path, shim: Shim, *names: str) -> None:
    """Gives a finished directory with the files names the shim's name, unless another process was faster."""
    directory = Path(shim.directory)
    (place / _INFO).write_text(json.dumps(asdict(shim), indent=1) + "\n")
    for path in place.iterdir():  # independent of the umask: check_trusted refuses files that others can write
        path.chmod(path.stat().st_mode & ~0o022)
    try:
        if not _is_whole(directory, names):
            shutil.rmtree(directory, ignore_errors=True)
        place.rename(directory)
    except OSError:
        if not _is_whole(directory, names):
            raise


def _compile_all(mpi: Mpi, sources: list[Path], console: Console) -> list[Path]:
    """Compiles all sources, at most one per core at a time; returns the objects."""
    objects = []
    with console.steps("MPI shim", len(sources), "parts") as advance, ThreadPoolExecutor(os.cpu_count()) as pool:
        for made in pool.map(partial(_compile, mpi), sources):
            objects += [made] if made else []
            advance(1)
    return objects


def _compile(mpi: Mpi, source: Path) -> Path | None:
    """Compiles one source. Returns None if a Fortran binding's wrappers do not compile: the shim then lacks these
    wrappers. Raises VtraceError if shim.c does not compile."""
    made = source.with_suffix(".o")
    try:
        compile_shim(mpi, source, made)
    except VtraceError as error:
        if source.name == "shim.c":
            raise
        print(
            f"vtrace: MPI calls in Fortran ({source.stem}) will not be recorded: {plain(str(error))}", file=sys.stderr
        )
        return None
    return made


def write_source(mpi: Mpi, path: Path, bindings: Callable[[list[MpiFunction]], list[Binding]] | None = None) -> int:
    """Writes the shim's source for an MPI, and the sources of its Fortran bindings (mpif.c, f08.c) beside path. Returns
    the number of wrapped C functions. bindings: makes the Fortran bindings from the C functions; None: the MPI's own.
    """
    # Imported here: reading the Forum's data is slow, and most links find the shim in the cache.
    from vtrace.wrappers.mpi_shim import fortran, generate, mpi_header

    functions = generate.wrapped(mpi_header.functions(mpi.preprocessed, mpi.library))
    head = generate.head(functions, mpi_header.hidden(mpi.preprocessed), mpi.label, __version__)
    place = paths.LIB / "mpiwrap" / "templates"
    path.write_text(generate.generate(functions, head, generate.read_templates(place)))
    for binding in bindings(functions) if bindings else fortran.bindings(mpi.fortran):
        templates = generate.read_templates(place, place / "fortran")
        entries = fortran.entries(binding, functions)
        path.with_name(f"{binding.key}.c").write_text(fortran.generate(binding, entries, head, templates))
    return len(functions)


def compile_shim(mpi: Mpi, source: Path, target: Path, flags: tuple[str, ...] = ()) -> None:
    """Compiles a source of the shim into an object for executables and shared libraries. Raises VtraceError.

    -O2 would take nearly twice the time for wrappers that are no faster: the clock is most of them.
    """
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-fvisibility=hidden", *flags]
    options.append("-Wno-deprecated-declarations")
    places = [f"-I{paths.LIB / 'mpiwrap'}", f"-I{paths.LIB / 'include'}", *mpi.include_flags]
    _call([*mpi.compiler, *options, *places, "-c", str(source), "-o", str(target)], mpi)


def link_library(mpi: Mpi, objects: list[Path], target: Path) -> None:
    """Links the shim's objects into a shared library. Raises VtraceError.

    The library has an rpath to all libraries that it needs: the loader only warns about a preloaded library that it
    cannot load, and runs the program. link_library makes the references to Fortran's PMPI twins in the objects weak,
    since a C program does not load the Fortran bindings that define these twins.
    """
    objcopy = _objcopy(mpi)
    for path in objects:
        _call([objcopy, "--wildcard", "--weaken-symbol=pmpi*", str(path)], mpi)
    needed = ["-Wl,--no-as-needed", str(mpi.library), "-Wl,--as-needed", "-ldl", "-Wl,-z,defs"]
    found = ["-Xlinker", "-rpath", "-Xlinker", str(mpi.library.parent), "-Wl,--enable-new-dtags"]
    vtrace = link_flags(library_directory())
    _call([*mpi.compiler, "-shared", "-o", str(target), *map(str, objects), *needed, *vtrace, *found], mpi)


def _objcopy(mpi: Mpi) -> str:
    """The objcopy of the MPI's compiler: a cross compiler's objcopy knows the processor. gcc and clang print its
    name."""
    words = [*mpi.compiler, "-print-prog-name=objcopy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return shutil.which(done.stdout.strip()) or "objcopy" if done.returncode == 0 else "objcopy"


def _call(words: list[str], mpi: Mpi) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise VtraceError(f"{words[0]}: not found", "install this program: building the MPI shim needs it") from None
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        reason = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        raise VtraceError(f"cannot build the MPI shim for {mpi.label} with {words[0]}: {reason}", f"check {mpi.mpicc}")
