# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the compiler of a wrapper, and the flags of vtrace for that compiler."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vtrace import paths
from vtrace.errors import UsageError, VtraceError
from vtrace.wrappers.compile.command_line import Line
from vtrace.wrappers.compile.options import Language, Options

# gcc looks for these texts in the paths of source files: C library, compiler and C++ library, wherever installed. The
# version's digit keeps a program's own include/c++ apart from the C++ library's.
_SYSTEM_HEADERS = ",".join(
    ["/usr/include/", "/lib/gcc/", "/lib64/gcc/", *(f"/include/c++/{digit}" for digit in range(1, 10))]
)
_MPICC_OF = {
    "mpicxx": "mpicc", "mpic++": "mpicc", "mpiCC": "mpicc", "mpigxx": "mpigcc", "mpiicpc": "mpiicc",
    "mpiicpx": "mpiicx", "mpifort": "mpicc", "mpif90": "mpicc", "mpif77": "mpicc", "mpiifort": "mpiicc",
    "mpiifx": "mpiicx", "mpifc": "mpicc",
}  # fmt: skip


def choose(options: Options, language: Language) -> list[str]:
    """The words of the compiler's command: the user's choice, else MPI's compiler except in modes without MPI, else
    the plain compiler."""
    if options.compiler:
        return options.compiler
    if options.mode not in ("seq", "mt") and not _is_static_without_mpi(options.args):
        beside = os.path.dirname(sys.executable)
        for place in (None, beside):
            for name in language.mpi_compilers:
                found = shutil.which(name, path=place)
                if found:
                    return [found]
    return [language.compiler]


def _is_static_without_mpi(args: list[str]) -> bool:
    """True for a static link of inputs that do not mention MPI. MPI's compiler would add -lmpi, and most installations
    have no static MPI library."""
    line = Line(args)
    return bool(line.untraced or "-r" in line.words) and not any(map(_mentions_mpi, line.inputs))


def _mentions_mpi(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False
    return b"MPI_" in content or b"mpi.h" in content


def check(compiler: list[str], language: Language) -> None:
    """Raises VtraceError when the compiler does not exist."""
    if shutil.which(compiler[0]) is None:
        hint = f"install the compiler, or name another with -vt:{language.options[0]} CMD or {language.variable}"
        raise VtraceError(f"{compiler[0]}: no such compiler", hint)


def instrument_flags(compiler: list[str], args: list[str], language: Language) -> list[str]:
    """The flags that make the compiler call vtrace at each enter and leave, except for functions of system headers."""
    # With MPICH's mpicc -cc=clang, clang must answer, not the default compiler.
    inner = [arg for arg in args if arg.startswith(("-cc=", "-cxx=", "-fc="))]
    try:
        done = subprocess.run([*compiler, *inner, "--version"], capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise VtraceError(f"cannot run {compiler[0]}: {error.strerror}", "check its permissions") from None
    text = done.stdout.decode(errors="replace")
    if re.search(r"clang|Intel.*oneAPI DPC", text):
        # With -pg and -after-inlining, clang would call mcount instead of vtrace at each enter.
        return ["-finstrument-functions" if "-pg" in args else "-finstrument-functions-after-inlining"]
    if "Free Software Foundation" in text and language.name != "Fortran":
        return ["-finstrument-functions", f"-finstrument-functions-exclude-file-list={_SYSTEM_HEADERS}"]
    return ["-finstrument-functions"]


def library_directory(environ: Mapping[str, str] = os.environ) -> str:
    """The directory of libvtrace.so.1: below VT_PREFIX if set, else in the package. Raises VtraceError if the library
    is missing there."""
    prefix = environ.get("VT_PREFIX")
    if not prefix:
        if not (paths.LIB / "libvtrace.so.1").exists():
            raise VtraceError(f"{paths.LIB}: no libvtrace.so.1", "install vtrace again, or set VT_PREFIX")
        return str(paths.LIB)
    below = ("", "_lib", "vtrace/_lib", "lib/python3*/site-packages/vtrace/_lib")
    for place in below:
        for found in glob.glob(os.path.join(glob.escape(prefix), place, "libvtrace.so.1")):
            return os.path.dirname(os.path.abspath(found))
    raise UsageError(
        f"VT_PREFIX={prefix}: no vtrace installed there", "set VT_PREFIX to the directory of the installation"
    )


def include_flags(directory: str) -> list[str]:
    """The flag for the directory of the user API's headers."""
    return [f"-I{os.path.join(directory, 'user')}"]


def user_stubs(directory: str) -> list[str]:
    """Flags for Fortran that calls the user API and is linked without libvtrace.so.1; C uses weak references."""
    archive = os.path.join(directory, "libvtrace-user.a")
    return by_name(archive) if os.path.exists(archive) else []


_SHIMS = ("libvtrace-io.so", "libvtrace-mem.so")
"""Shims of libc's functions. Every program gets both, so that VT_IOTRACE and VT_MEMTRACE work without linking again.
The shims stand behind the program's own archives: a program's own malloc replaces libc's."""


OPENMP_SHIM = "libvtrace-omp.so"
"""Must stand before the OpenMP runtime, which the compiler adds at the end of the command."""


def openmp_position(args: Sequence[str]) -> int | None:
    """The index of libgomp if an argument names libgomp, as CMake does; else None."""
    for i, arg in enumerate(args):
        if arg == "-lgomp" or re.fullmatch(r"libgomp\.so(\.\d+)*", os.path.basename(arg)):
            return i
    return None


def uses_openmp(args: Sequence[str]) -> bool:
    """True if a link line has the compiler's option for OpenMP, or an OpenMP runtime."""
    return openmp_position(args) is not None or any(
        arg in ("-fopenmp", "-fiopenmp", "-qopenmp", "-lomp", "-liomp5") or arg.startswith("-fopenmp=") for arg in args
    )


def openmp_flags(directory: str) -> list[str]:
    """Flags that link the OpenMP shim, whatever the user's flags for static and unneeded libraries."""
    if not os.path.exists(os.path.join(directory, OPENMP_SHIM)):
        return []
    return ["-Wl,--push-state,-Bdynamic,--no-as-needed", f"-L{directory}", f"-l:{OPENMP_SHIM}", "-Wl,--pop-state"]


HOOKS = "libvtrace-inside.a"
"""The hooks that instrumented functions call; each program and library has a copy. The archive stands behind the
user's files, which may define hooks, and before libvtrace.so.1, whose hooks serve modules linked without vtrace."""


def hooks_flags(words: Sequence[str]) -> list[str]:
    """Flags for -flto: the linker meets calls of hooks in code generated at link time too late to load the hooks."""
    late = any(word.startswith("-flto") for word in words)
    return ["-Wl,-u,__cyg_profile_func_enter,-u,__cyg_profile_func_exit"] if late else []


def link_flags(directory: str, shims: bool = False) -> list[str]:
    """Flags that link libvtrace.so.1, whatever the user's flags for static, whole and unneeded libraries. shims: link
    the shims of libc's functions before libvtrace.so.1."""
    names = [*(_SHIMS if shims else ()), HOOKS, "libvtrace.so.1"]
    libraries = [f"-l:{name}" for name in names if os.path.exists(os.path.join(directory, name))]
    begin = "-Wl,--push-state,-Bdynamic,--no-as-needed,--no-whole-archive"
    return [begin, f"-L{directory}", *libraries, "-Wl,--pop-state", "-Xlinker", "-rpath", "-Xlinker", directory]


def if_needed(libraries: Sequence[Path]) -> list[str]:
    """Flags that link libraries only if earlier inputs need them. A library of the program may call MPI's Fortran
    bindings while the link line does not name these bindings.
    """
    if not libraries:
        return []
    words = [word for library in libraries for word in ("-Xlinker", str(library))]
    return ["-Wl,--push-state,--as-needed", *words, "-Wl,--pop-state"]


def by_name(library: str) -> list[str]:
    """Flags for a library's path: behind -x c the compiler would take the plain path for a source file."""
    directory, name = os.path.split(library)
    return [f"-L{directory}", f"-l:{name}"]


def mpi_compiler(compiler: list[str], args: list[str] = []) -> str | None:  # noqa: B006
    """The C compiler command of the MPI whose compiler stands in the command; None if no MPI compiler does."""
    for word in compiler:
        directory, name = os.path.split(word)
        if is_coarray_compiler([word]):
            return mpi_compiler(_wrapped_by(word), args)
        if not word.startswith("-") and "=" not in word and "mpi" in name:
            for other, c in _MPICC_OF.items():
                name = name.replace(other, c)
            if "-mpi-abi" in args:
                name += "_abi"
            return os.path.join(directory, name)
    return None


def is_coarray_compiler(compiler: list[str]) -> bool:
    """True for OpenCoarrays' caf (caf.openmpi), which calls the Fortran compiler of an MPI."""
    return any(os.path.basename(word).partition(".")[0] == "caf" for word in compiler)


def _wrapped_by(caf: str) -> list[str]:
    """The compiler that caf calls; caf --wraps prints "caf wraps /usr/bin/mpif90"."""
    try:
        done = subprocess.run([caf, "--wraps"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise VtraceError(f"cannot run {caf}: {error.strerror}", "check its permissions") from None
    return done.stdout.split()[-1:]


def mpicc_of_library(args: list[str]) -> str | None:
    """The mpicc of the MPI library on a link line, in bin/ beside a lib/ above the library; None if not found."""
    libraries = [arg for arg in args if os.path.basename(arg).startswith("libmpi")]
    directories = [arg[2:] for arg in args if arg.startswith("-L")] + [os.path.dirname(arg) for arg in libraries]
    mpich = any(os.path.basename(arg).startswith(("-lmpich", "libmpich")) for arg in args)
    for directory in directories:
        # Debian has several MPIs in one prefix: plain mpicc may be any of them.
        flavour = ".mpich" if mpich else ".openmpi" if "openmpi" in directory else ""
        parts = os.path.abspath(directory).split(os.sep)
        for i in reversed([i for i, part in enumerate(parts) if part in ("lib", "lib64")]):
            for name in dict.fromkeys(["mpicc" + flavour, "mpicc"]):
                found = os.path.join(os.sep, *parts[:i], "bin", name)
                if os.access(found, os.X_OK):
                    return found
    return None
