# SPDX-License-Identifier: BSD-3-Clause
"""Finds an MPI installation through its compiler command, and collects the facts that the shim's generator needs."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vtrace import __version__, paths
from vtrace.errors import VtraceError
from vtrace.wrappers.compile.toolchain import library_directory

_VERSIONS = (
    ("Intel MPI", "I_MPI_VERSION"),
    ("MVAPICH", "MVAPICH_VERSION"),
    ("MVAPICH2", "MVAPICH2_VERSION"),
    ("MPICH", "MPICH_VERSION"),
)
"""Name of an MPI and the macro in its mpi.h with the version; derived MPIs come before their origin."""

_FORTRAN = ("libmpichfort", "libmpifort", "libmpi_mpifh", "libmpi_usempif08")
"""Libraries of Fortran bindings: one for all bindings in MPICH and derived MPIs, one for each binding in Open MPI."""

_STRTAB, _ALLOC = 3, 2
"""Type and flag of a section: a table of strings; in the memory of the program."""


class StaticMpi(VtraceError):
    """An MPI that has only a static library."""


@dataclass(frozen=True, kw_only=True)
class Mpi:
    """An MPI installation. compiler, include_flags, link_flags: from mpicc -show; fortran: libraries of its Fortran
    bindings; label: name and version; key: changes with everything that the shim depends on; preprocessed: its mpi.h
    after the preprocessor, with macros.
    """

    mpicc: str
    compiler: tuple[str, ...]
    include_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    library: Path
    fortran: tuple[Path, ...]
    header: Path
    label: str
    key: str
    preprocessed: str = field(repr=False)


def find_mpi(mpicc: str | None = None) -> Mpi | None:
    """The MPI of mpicc, else of the mpicc in PATH, else of the mpicc beside this Python; None if there is no mpicc.

    Raises VtraceError if mpicc does not exist or does not support -show, and for an MPI without PMPI_ functions.
    """
    path = _find_mpicc(mpicc)
    if path is None:
        return None
    command = _show(path)
    compiler, include_flags, link_flags = _split(command, path)
    preprocessed = _preprocess(path, compiler, include_flags)
    library = _find_library(compiler, link_flags)
    if library is None:
        raise VtraceError(
            f"{path}: no shared MPI library in {' '.join(link_flags)}", "install an MPI with a shared library"
        )
    if not _holds(library, b"PMPI_Init\0"):
        raise VtraceError(
            f"{library}: this MPI has no profiling interface (PMPI_ functions)", "use another MPI to record MPI calls"
        )
    fortran = fortran_libraries(library)
    return Mpi(
        mpicc=path,
        compiler=compiler,
        include_flags=include_flags,
        link_flags=link_flags,
        library=library,
        fortran=fortran,
        header=_find_header(include_flags),
        label=_label(preprocessed),
        key=_key((library, *fortran), preprocessed),
        preprocessed=preprocessed,
    )


def find_mpi_of(words: list[str], compiler: list[str], mpicc: str | None) -> Mpi | None:
    """The MPI whose library is on a link line; see find_mpi_with. Without a shared MPI library on the line, see
    find_mpi. words: the link line; compiler: the compiler's command.

    Raises VtraceError if no mpicc links the library, and StaticMpi if the library is static.
    """
    library = _find_library(tuple(compiler), tuple(words))
    return find_mpi_with(library, mpicc) if library else find_mpi(mpicc)


def find_mpi_with(library: Path, mpicc: str | None = None) -> Mpi:
    """The MPI of a library: of mpicc if mpicc links the library, else of the first mpicc* that does, in bin/ beside or
    above the library, in PATH, or beside this Python.

    Raises VtraceError if no mpicc links the library: a shim for another MPI would misread this MPI's handles.
    """
    places = [place / "bin" for place in library.parents[1:-1]] + [Path(place) for place in os.get_exec_path()]
    found = [path for place in (*places, Path(sys.executable).parent) for path in sorted(place.glob("mpicc*"))]
    others = [str(path) for path in dict.fromkeys(found) if os.access(path, os.X_OK)]
    for candidate in (mpicc, None, *others):
        with suppress(VtraceError):
            mpi = find_mpi(candidate)
            if mpi and mpi.library == library:
                return mpi
    hint = "install this MPI's development package, or name its mpicc: vtrace-cc -vt:cc CMD, vtrace run --mpicc CMD"
    raise VtraceError(f"{library}: no mpicc found that links this MPI", hint)


def fortran_flags(mpi: Mpi) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags of the MPI's Fortran compiler command, for compiling and for linking.

    Raises VtraceError for an MPI without Fortran compiler command, such as the MPIs of PyPI.
    """
    directory, name = os.path.split(mpi.mpicc)
    for c, fortran in (("mpicc", "mpifort"), ("mpicc", "mpif90"), ("mpiicc", "mpiifort"), ("mpiicx", "mpiifx")):
        command = os.path.join(directory, name.replace(c, fortran))
        if c in name and os.access(command, os.X_OK):
            return _split(_show(command), command)[1:]
    hint = "name the Fortran compiler of another MPI, such as -vt:fc mpifort.openmpi"
    raise VtraceError(f"{mpi.label} of {mpi.mpicc} has no Fortran compiler command", hint)


def _find_mpicc(mpicc: str | None) -> str | None:
    if mpicc is None:
        beside = Path(sys.executable).parent / "mpicc"
        return shutil.which("mpicc") or (str(beside) if os.access(beside, os.X_OK) else None)
    found = shutil.which(mpicc)
    if found is None:
        raise VtraceError(f"{mpicc}: no such MPI compiler command", "give the path of an mpicc")
    return found


def _show(mpicc: str) -> list[str]:
    """The command that mpicc runs. MPICH, derived MPIs and Open MPI support -show."""
    done = _run([mpicc, "-show"])
    words = shlex.split(done.stdout.strip().splitlines()[0]) if done.stdout.strip() else []
    if done.returncode != 0 or len(words) < 2:
        raise VtraceError(f"{mpicc} -show prints no compiler command", "name the mpicc of MPICH or Open MPI")
    return words


def _split(command: list[str], mpicc: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Compiler, flags for compiling, flags for linking."""
    first = next((i for i, word in enumerate(command) if word.startswith("-")), len(command))
    compiler = tuple(command[:first])
    if not compiler or shutil.which(compiler[0]) is None:
        raise VtraceError(f"{' '.join(compiler)}: compiler of {mpicc} not found", "install the compiler")
    compiling: list[str] = []
    linking: list[str] = []
    words = iter(command[first:])
    for word in words:
        if word in ("-I", "-isystem", "-D", "-include"):
            compiling += [word, next(words, "")]
        elif word.startswith(("-I", "-isystem", "-D")):
            compiling.append(word)
        elif word in ("-L", "-l", "-Xlinker"):
            linking += [word, next(words, "")]
        elif word.startswith(("-L", "-l", "-Wl,", "/")):
            linking.append(word)
        elif word == "-pthread":
            compiling.append(word)
            linking.append(word)
    return compiler, tuple(compiling), tuple(linking)


def _preprocess(mpicc: str, compiler: tuple[str, ...], include_flags: tuple[str, ...]) -> str:
    done = _run([*compiler, *include_flags, "-E", "-P", "-dD", "-x", "c", "-"], "#include <mpi.h>\n")
    if done.returncode != 0 and any(c.isspace() for c in mpicc):
        raise VtraceError(f"{mpicc}: an mpicc does not quote the blanks of its path", "install the MPI in another path")
    if done.returncode != 0:
        reason = next((line for line in done.stderr.splitlines() if "error" in line), "compiler failed")
        raise VtraceError(f"{mpicc}: cannot preprocess mpi.h: {reason.strip()}", "install the MPI's development files")
    return done.stdout


def _find_header(include_flags: tuple[str, ...]) -> Path:
    for flag in include_flags:
        path = Path(re.sub(r"^-(I|isystem)", "", flag)) / "mpi.h"
        if path.is_file():
            return path
    return Path("mpi.h")


def _find_library(compiler: tuple[str, ...], flags: tuple[str, ...]) -> Path | None:
    """The first library on the link line that contains the name MPI_Init; None without one. Raises StaticMpi if the
    library is an archive.
    """
    directories: list[Path] = []
    libraries: list[str] = []
    words = iter(flags)
    for word in words:
        word += next(words, "") if word in ("-L", "-l") else ""
        if word.startswith("-L"):
            directories.append(Path(word[2:]))
        elif "mpi" in os.path.basename(word) and (
            word.startswith("-l") or (word[0] != "-" and re.search(r"\.so|\.a\Z", word))
        ):
            # A Fortran binding also contains names of C functions, since it calls these.
            name = os.path.basename(word).removeprefix("-l:").partition(".")[0]
            if name.replace("-l", "lib", 1) not in _FORTRAN:
                libraries.append(word)
    for library in libraries:
        for path in _behind_script(_locate(library, directories, compiler)):
            if path.suffix == ".a" and path.is_file() and b"MPI_Init\0" in path.read_bytes():
                raise StaticMpi(f"{path} is a static MPI library", "link the shared library to record MPI calls")
            if path.is_file() and _holds(path, b"MPI_Init\0"):
                return path.resolve()
    return None


def _locate(library: str, directories: list[Path], compiler: tuple[str, ...]) -> Path:
    """The file that the linker would take for -lNAME, -l:FILE or a path."""
    if not library.startswith("-l"):
        return Path(library)
    names = [library[3:]] if library.startswith("-l:") else [f"lib{library[2:]}.so", f"lib{library[2:]}.a"]
    found = next((place / name for place in directories for name in names if (place / name).exists()), None)
    standard = (Path(_run([*compiler, f"-print-file-name={name}"]).stdout.strip()) for name in names)
    return found or next((path for path in standard if path.is_absolute()), Path(names[0]))


def _behind_script(path: Path) -> list[Path]:
    """The libraries in a linker script, such as a wheel's libmpi.so; the path itself if not a linker script."""
    if not path.is_file() or path.stat().st_size > 4096:
        return [path]
    script = path.read_bytes().decode(errors="replace")
    names = re.findall(r"[^\s,()]+", " ".join(re.findall(r"(?:INPUT|GROUP)\s*\(([^)]*)", script)))
    return [path.parent / name for name in names] or [path]


def fortran_libraries(library: Path) -> tuple[Path, ...]:
    """The shared libraries with Fortran bindings beside library; each must need library by its soname."""
    places = dict.fromkeys((library.parent, library.parent.parent))
    found = [path for place in places for lib in _FORTRAN for path in sorted(place.glob(f"{lib}.so*"))]
    regular = dict.fromkeys(path.resolve() for path in found if path.is_file())
    soname = _soname(library) if regular else None
    return tuple(path for path in regular if soname and _holds(path, soname))


def _soname(library: Path) -> bytes | None:
    """The soname in an ELF file's string table, with its zero byte: the first text that is the file's name or its start
    up to a dot."""
    name = library.name
    names = {name} | {name[:i] for i in range(len(name)) if name[i] == "." and ".so" in name[:i]}
    stem = re.escape(min(names, key=len).encode())
    texts = (found[0] for found in re.finditer(stem + rb"[^\0/]*\0", _strings(library)))
    return next((text for text in texts if text[:-1].decode(errors="replace") in names), None)


def _holds(path: Path, text: bytes) -> bool:
    """True if an ELF file's string table contains text, such as the end of a name. Reading symbols is slower."""
    return text in _strings(path)


def _strings(path: Path) -> bytes:
    """The string table of a shared library's symbols and needed libraries, .dynstr; empty for other files. Of all
    tables of strings only this one is in the memory of the program."""
    with suppress(struct.error, ValueError), path.open("rb") as file:  # cut off, or an empty file
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if view[:5] == b"\x7fELF\2":
            (start,), (size, count) = struct.unpack_from("<Q", view, 40), struct.unpack_from("<2H", view, 58)
            headers = struct.iter_unpack(f"<2I4Q{size - 40}x", view[start : start + size * count])
            for _, kind, flags, _, offset, length in headers:
                if kind == _STRTAB and flags & _ALLOC:
                    return view[offset : offset + length]
    return b""


def _label(preprocessed: str) -> str:
    macros = dict(re.findall(r'^#[ \t]*define[ \t]+(\w+)[ \t]+"?([^"\n]+?)"?[ \t]*$', preprocessed, re.MULTILINE))
    for name, macro in _VERSIONS:
        if macro in macros:
            return f"{name} {macros[macro]}"
    if "OMPI_MAJOR_VERSION" in macros:
        return "Open MPI " + ".".join(macros[f"OMPI_{part}_VERSION"] for part in ("MAJOR", "MINOR", "RELEASE"))
    return f"MPI {macros.get('MPI_VERSION', '?')}.{macros.get('MPI_SUBVERSION', '?')}"


def _key(libraries: tuple[Path, ...], preprocessed: str) -> str:
    """A hash of everything that the shim depends on: the libraries, mpi.h, vtrace's sources and vtrace's directory."""
    states = [(library, library.stat().st_size, library.stat().st_mtime_ns) for library in libraries]
    about = (__version__, *states, library_directory(), preprocessed)
    digest = hashlib.sha256("\0".join(map(str, about)).encode())
    here = Path(__file__).parent
    sources = [
        here / f"{name}.py" for name in ("fortran", "fortran_locals", "generate", "mpi_groups", "mpi_header", "shim")
    ]
    sources += (paths.LIB / "include").glob("*.h")
    sources += [path for path in (paths.LIB / "mpiwrap").rglob("*") if path.is_file()]
    for source in sorted(sources):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:24]


def _run(words: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise VtraceError(f"cannot run {words[0]}: {error.strerror}", "check its permissions") from None
