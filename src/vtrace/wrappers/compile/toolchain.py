# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the compiler of a wrapper, and the flags of vtrace for that compiler."""

from __future__ import annotations

import glob
import os
import re
import shutil
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from vtrace import paths
from vtrace.errors import UsageError, VtraceError
from vtrace.text import plain
from vtrace.wrappers.compile import gcc_plugin
from vtrace.wrappers.compile.command_line import Line
from vtrace.wrappers.compile.gcc_plugin import answer, is_clang, is_gcc
from vtrace.wrappers.compile.options import Language, Options

# gcc looks for these texts in the paths of source files: C library, compiler and C++ library, wherever installed. The
# version's digit distinguishes a program's own include/c++ from the C++ library's.
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
    content = _content(path)
    return b"MPI_" in content or b"mpi.h" in content


def check(compiler: list[str], language: Language) -> None:
    """Raises VtraceError when the compiler does not exist."""
    if shutil.which(compiler[0]) is None:
        hint = f"install the compiler, or name another with -vt:{language.options[0]} CMD or {language.variable}"
        raise VtraceError(f"{compiler[0]}: no such compiler", hint)


SPECS = "sleds.specs"
"""Adds the options for sleds to gcc's compilers proper, so that gcc itself links no profiling library."""
SLEDS = "sleds.s"
"""The functions that sleds call. The assembler appends the file to each object, so that gcc alone can link it."""

_XRAY = (
    "-Xclang -fxray-instrument -Xclang -fxray-instruction-threshold=1 "
    "-Dno_instrument_function=xray_never_instrument -D__no_instrument_function__=xray_never_instrument"
).split()
"""The flags for clang's sleds. After -Xclang the command that links adds no library of XRay. For clang the attribute
no_instrument_function concerns hooks only."""

_UNSLED = re.compile(
    "-pg?|-m(32|x32|16|asm=intel|cmodel=large|no-fentry|nop-mcount|record-mcount|fentry-(name|section)=.*|instrument-return=.*)|"
    "-fsplit-stack|-f(no-)?instrument-functions.*|-f(no-)?xray-.*"
)
"""Options of the user with which the compiler writes no sleds, or other code in their places, or that choose hooks."""


def instrument_flags(
    compiler: list[str], args: list[str], language: Language, way: str, *, functions: str
) -> list[str]:
    """The flags that make the compiler call vtrace at each enter and leave. way: "sleds"; "plugin": a plug-in of gcc;
    "hooks": -finstrument-functions; "compinst": the first of these that the compiler has. functions: "outlined" are
    those after inlining; "written" also those that are written to be called and work long (csrc/hooks/gcc_plugin.cc);
    "all" are all; "" are "written" where the compiler can, else "outlined". Raises UsageError for "sleds", "plugin" and
    "written" if the compiler does not have these."""
    # With MPICH's mpicc -cc=clang, clang must answer, not the default compiler.
    compiler = [*compiler, *(arg for arg in args if arg.startswith(("-cc=", "-cxx=", "-fc=")))]
    version = answer([*compiler, "--version"])
    wanted = way in ("sleds", "compinst")
    reason = _without_sleds(compiler, args, version) if wanted else ""
    if reason and way == "sleds":
        raise UsageError(f"-vt:inst sleds: {compiler[0]}: {reason}", "use -vt:inst compinst")
    asked = "-vt:inst plugin" if way == "plugin" else "-vt:inst-written" if functions == "written" else ""
    inlining, keep = ["-fno-inline"] * (functions == "all"), ["keep"] * (functions in ("", "written"))
    if wanted and not reason:
        # A tail call comes after the function's leave: the function's time would lack its last act.
        whole = "-fno-optimize-sibling-calls"
        if is_clang(version):
            if asked:
                raise UsageError(f"{asked}: {compiler[0]}: the plug-in is for gcc", "use -vt:inst-outlined")
            return [whole, *_XRAY, *inlining]
        directory = library_directory()
        kept = []
        if keep:
            kept = _plugin_flags(compiler, args, language=language, asked=asked, version=version, parts=keep)
        specs, sleds = (os.path.join(directory, name) for name in (SPECS, SLEDS))
        return [whole, f"-specs={specs}", f"-Wa,{sleds}", *inlining, *kept]
    if way == "plugin" or (way == "compinst" and is_gcc(version)):
        flags = _plugin_flags(compiler, args, language=language, asked=asked, version=version, parts=["hooks", *keep])
        if flags:
            return [*flags, *inlining]
    if is_clang(version):
        # With -pg and -after-inlining, clang would call mcount instead of vtrace at each enter.
        return ["-finstrument-functions" if "-pg" in args else "-finstrument-functions-after-inlining"]
    if is_gcc(version) and language.name != "Fortran":
        return ["-finstrument-functions", f"-finstrument-functions-exclude-file-list={_SYSTEM_HEADERS}"]
    return ["-finstrument-functions"]


def _plugin_flags(
    compiler: list[str], args: list[str], language: Language, asked: str, *, version: str, parts: list[str]
) -> list[str]:
    """The flags for parts of vtrace's plug-in for gcc; none if gcc cannot have it. asked: the option that needs the
    plug-in: raises UsageError if gcc cannot; "": none does."""
    directory = library_directory()
    reason = gcc_plugin.without_plugin(compiler, args, directory) if is_gcc(version) else "the plug-in is for gcc"
    if not reason and not asked and "hooks" not in parts:
        reason = gcc_plugin.without_cache(compiler, directory)
    if reason and asked:
        raise UsageError(f"{asked}: {compiler[0]}: {reason}", "use -vt:inst compinst and -vt:inst-outlined")
    try:
        return [] if reason else gcc_plugin.plugin_flags(compiler, language.name, directory, parts=parts)
    except VtraceError as error:
        if asked:
            raise
        print(f"{language.wrapper}: {plain(str(error))}", file=sys.stderr)
        return []


def late_flags(compiler: list[str], line: Line, language: Language, way: str) -> list[str]:
    """The flags for code that gcc generates at link time from objects of earlier commands. None if an object has the
    hooks of -finstrument-functions, which are part of the code before it is generated."""
    late = any(word.startswith("-flto") for word in line.words) and "-fno-lto" not in line.words
    objects = [path for path in line.inputs if path.endswith((".o", ".obj", ".lo", ".a"))]
    if way in ("hooks", "manual") or not (late or any(map(_is_late, objects))):
        return []
    if any(b"__cyg_profile_func_enter" in _content(path) for path in objects):
        return []
    flags = instrument_flags(compiler, line.words, language, way, functions="outlined")
    return [flag for flag in flags if flag.startswith(("-specs=", "-fplugin"))]


def _is_late(path: str) -> bool:
    """True for an object of -flto, with code to generate at link time."""
    with suppress(OSError, ValueError), open(path, "rb") as file:
        head = file.read(64)
        if not head.startswith(b"\x7fELF\2\1"):
            return False
        offset, (size, count, names) = struct.unpack_from("<Q", head, 40)[0], struct.unpack_from("<3H", head, 58)
        file.seek(offset + names * size)
        start, length = struct.unpack("<24x2Q", file.read(40))
        file.seek(start)
        return names < count and b".gnu.lto_" in file.read(length)
    return False


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def how_functions(compiler: list[str]) -> str:
    """Describes how vtrace-cc records functions with this compiler, and which install would improve it."""
    version = answer([*compiler, "--version"])
    no_sleds = _without_sleds(compiler, [], version)
    directory = library_directory()
    no_plugin = gcc_plugin.without_plugin(compiler, [], directory) if is_gcc(version) else ""
    if not no_sleds:
        no_plugin = no_plugin or (gcc_plugin.without_cache(compiler, directory) if is_gcc(version) else "")
        return "functions by sleds" + (f", without those that gcc inlines ({no_plugin})" if no_plugin else "")
    if not is_gcc(version):
        return f"functions by hooks ({no_sleds})"
    if not no_plugin:
        return f"functions by hooks of vtrace's plug-in ({no_sleds})"
    return f"functions by hooks before inlining, without those of system headers ({no_sleds}; {no_plugin})"


def _without_sleds(compiler: list[str], args: list[str], version: str) -> str:
    """version: the compiler's answer to --version."""
    own = next((arg for arg in args if _UNSLED.fullmatch(arg)), None)
    first = version.partition("\n")[0]
    number = re.search(r"clang version (\d+)\." if is_clang(version) else r" (\d+)\.\d+", first)
    if own:
        return f"{own} excludes sleds"
    if not (is_clang(version) or is_gcc(version)) or not number or int(number[1]) < (11 if is_clang(version) else 9):
        return "only gcc 9, clang 11 and newer ones write sleds"
    machine = answer([*compiler, "-dumpmachine"]).strip()
    directory = library_directory()
    if is_clang(version) and machine.startswith("aarch64-"):
        return "" if _has_sleds(directory) else f"{os.path.join(directory, HOOKS)} lacks sleds"
    if not machine.startswith("x86_64-") or machine.endswith("x32"):
        having = "x86-64 and aarch64" if is_clang(version) else "x86-64"
        return f"vtrace has sleds for {having}, not for {machine or 'this machine'}"
    missing = next((name for name in (SPECS, SLEDS) if not os.path.exists(os.path.join(directory, name))), None)
    return f"{directory} lacks {missing}" if missing else ""


def _has_sleds(directory: str) -> bool:
    return b"vt_module_sleds" in _content(os.path.join(directory, HOOKS))


def library_directory() -> str:
    """The directory of libvtrace.so.1: below VT_PREFIX if set, else in the package. Raises VtraceError if the library
    is missing there."""
    prefix = os.environ.get("VT_PREFIX")
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
The shims come after the program's own archives: a program's own malloc replaces libc's."""


OPENMP_SHIM, HDF5_SHIM = "libvtrace-omp.so", "libvtrace-hdf5.so"
"""Must come before the library whose functions they wrap; the compiler adds the OpenMP runtime at the end of the
command."""


def openmp_position(args: Sequence[str]) -> int | None:
    """The index of libgomp if an argument names libgomp, as CMake does; else None."""
    for i, arg in enumerate(args):
        if arg == "-lgomp" or re.fullmatch(r"libgomp\.so(\.\d+)*", os.path.basename(arg)):
            return i
    return None


def uses_openmp(args: Sequence[str]) -> bool:
    """True if a link line has the compiler's option for OpenMP, or an OpenMP runtime."""
    return openmp_position(args) is not None or any(
        arg in ("-fopenmp", "-fiopenmp", "-qopenmp", "-Kopenmp", "-lomp", "-liomp5") or arg.startswith("-fopenmp=")
        for arg in args
    )


def hdf5_position(args: Sequence[str]) -> int | None:
    """The index of the first library of HDF5 in a link line; None if there is none, or it is static: the program would
    lack what the shim defines, too."""
    places = [arg[2:] for arg in args if arg.startswith("-L")]
    for i, arg in enumerate(args):
        name = os.path.basename(arg)
        if re.fullmatch(r"libhdf5\w*\.so[.\d]*", name):
            return i
        if re.fullmatch(r"-lhdf5\w*", arg):
            name = f"lib{arg[2:]}"
            found = next((p for p in places if glob.glob(os.path.join(glob.escape(p), f"{name}.*"))), None)
            is_static = found is not None and not os.path.exists(os.path.join(found, f"{name}.so"))
            return None if is_static or "-static" in args or "-Wl,-Bstatic" in args[:i] else i
    return None


def early_shim(directory: str, name: str) -> list[str]:
    """Flags that link the shim of a library, before this library, whatever the user's flags for static and unneeded
    libraries."""
    if not os.path.exists(os.path.join(directory, name)):
        return []
    return ["-Wl,--push-state,-Bdynamic,--no-as-needed", f"-L{directory}", f"-l:{name}", "-Wl,--pop-state"]


HOOKS = "libvtrace-inside.a"
"""The hooks that instrumented functions call; each program and library has a copy. The archive comes after the
user's files, which may define hooks, and before libvtrace.so.1, whose hooks serve modules linked without vtrace."""


_PERSONALITIES = ("__gxx_personality_v0", "__gcc_personality_v0")
"""Routines that libvtrace-inside.a wraps, to learn when an exception is caught (csrc/hooks/personality.h)."""
_NO_LIBRARIES = frozenset("-nostdlib -nodefaultlibs -nostdlib++".split())
"""Options with which the compiler does not add the libraries of these routines at the end of the command."""


def hooks_flags(
    directory: str, words: Sequence[str], inputs: Sequence[str], language: Language, *, way: str
) -> list[str]:
    """Flags for the hooks and, with sleds, the personality routines of libvtrace-inside.a. With -flto the linker meets
    their uses in code generated at link time too late to load them; clang's sleds use nothing before they are on.
    Static libraries at the end of the compiler's command, after the archive, also use the personality routines."""
    late = any(word.startswith(("-flto", f"-specs={directory}", "-fplugin=")) for word in words)
    flags = ["-Wl,-u,__cyg_profile_func_enter,-u,__cyg_profile_func_exit"] if late else []
    if way in ("plugin", "hooks", "manual") or not _has_sleds(directory):
        return flags
    if late or not inputs or _XRAY[1] in words or any(b"xray_instr_map" in _content(path) for path in inputs):
        flags.append("-Wl,-u,vt_module_sleds")
    needed = [] if _NO_LIBRARIES & set(words) else _PERSONALITIES[language.name != "C++" :]
    flags += [f"-Wl,-u,__wrap_{name}" for name in needed]
    return [*flags, "-Wl," + ",".join(f"--wrap={name}" for name in _PERSONALITIES)]


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
    """Flags for a library's path: after -x c the compiler would take the plain path for a source file."""
    directory, name = os.path.split(library)
    return [f"-L{directory}", f"-l:{name}"]


def mpi_compiler(compiler: list[str], args: list[str] = []) -> str | None:  # noqa: B006
    """The C compiler command of the MPI whose compiler the command names; None if no MPI compiler does."""
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
    return answer([caf, "--wraps"]).split()[-1:]


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
