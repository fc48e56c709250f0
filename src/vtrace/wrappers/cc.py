# SPDX-License-Identifier: BSD-3-Clause
"""vtrace-cc, vtrace-cxx, vtrace-fc: add vtrace's flags to a compiler's command line and execute the compiler."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, NoReturn

from vtrace import __version__, settings_file
from vtrace.errors import VtraceError
from vtrace.text import plain
from vtrace.wrappers.compile import options as opt
from vtrace.wrappers.compile import toolchain
from vtrace.wrappers.compile.command_line import Line, mpi_position
from vtrace.wrappers.compile.options import Language, Options

if TYPE_CHECKING:
    from vtrace.wrappers.mpi_shim.installation import Mpi


def main_c() -> int:
    """The command vtrace-cc."""
    return _main(opt.C)


def main_cxx() -> int:
    """The command vtrace-cxx."""
    return _main(opt.CXX)


def main_fc() -> int:
    """The command vtrace-fc."""
    return _main(opt.FORTRAN)


def _main(language: Language) -> int:
    try:
        return _run(sys.argv[1:], language)
    except VtraceError as error:
        _say(language, " ".join(str(error).split()))
        return error.exit_code


def _run(argv: list[str], language: Language) -> int:
    settings_file.apply(os.environ)
    options = opt.parse(argv, language)
    if options.action == "version":
        print(f"{language.wrapper} (vtrace) {__version__}")
        return 0
    if options.action == "help":
        print(opt.help_text(language), end="")
        return 0
    compiler = toolchain.choose(options, language)
    toolchain.check(compiler, language)
    if options.action in ("showme-compile", "showme-link"):
        print(shlex.join(_showme(compiler, options, language)))
        return 0
    words = [*compiler, *options.args] if options.off else command(compiler, options, language)
    if options.action == "show":
        print(shlex.join(words))
        return 0
    if options.args in ([], ["--help"]) and not options.off:
        _say(language, "for the options of vtrace: -vt:help; the compiler's options:")
    if options.action == "verbose":
        print(shlex.join(words), file=sys.stderr)
    _execute(words)


def _execute(words: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise VtraceError(f"cannot run {words[0]}: {error.strerror}", "check the compiler's command") from None


def command(compiler: list[str], options: Options, language: Language) -> list[str]:
    """The compiler's command with vtrace's flags; unchanged if the command has no input files. Raises VtraceError."""
    given = [*options.flags, *options.args, *options.ldflags, *options.libs]
    line = Line(given)
    if not Line(options.args).inputs:
        return [*compiler, *options.args]
    if line.untraced and not line.probe:
        if "static" in line.untraced:
            _say(language, f"{line.untraced}: linking without vtrace; the program will not be traced")
        untraced = toolchain.user_stubs(toolchain.library_directory()) if line.links and language is opt.FORTRAN else []
        return [*compiler, *_include_flags(line), *given, *untraced]
    added = _compile_flags(compiler, options, language, line) if line.compiles else []
    if not line.links:
        return [*compiler, *added, *options.flags, *options.args]
    return [*compiler, *added, *_link(given, compiler, options=options, language=language, line=line, added=added)]


def _include_flags(line: Line) -> list[str]:
    """The flags with which the compiler finds vt_user.h and vt_user.inc. None for sources after preprocessing: clang
    warns of flags that it does not use."""
    return toolchain.include_flags(toolchain.library_directory()) if line.compiles and line.includes else []


def _compile_flags(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    flags = _include_flags(line)
    if options.instrument and not line.probe:
        # With kept files clang 14 warns of the checksums of DWARF 5.
        kept = any(word.startswith(("-save-temps", "--save-temps")) for word in line.words)
        flags += [] if line.debug else ["-gdwarf-4" if kept else "-g"]
        flags += toolchain.instrument_flags(compiler, options.args, language, options.way, functions=options.functions)
    elif language is opt.FORTRAN and not line.probe and not line.debug:
        flags += ["-g"] if "-DVTRACE" in line.words else []  # gives the user API's regions their lines
    if _adds_mpi(compiler, options, line):
        flags += _flags(_find(compiler, options.args), language)[0]
    return flags


def _link(
    args: list[str], compiler: list[str], options: Options, language: Language, *, line: Line, added: list[str]
) -> list[str]:
    """args with vtrace's libraries. added: vtrace's flags for compiling in the same command. The MPI shim comes before
    the first MPI library: after that library no MPI call is undefined, and the linker would not use the
    shim."""
    if line.probe:
        mpi = _flags(_find(compiler, args), language)[1] if _adds_mpi(compiler, options, line) else ()
        return [*args, *mpi]
    at, shim = len(args), []
    if _wants_mpi(compiler, options, line) and not line.shared:
        if mpi_position(args) != mpi_position(line.words):
            args = line.words
        found = mpi_position(args)
        at = len(args) if found is None else found
        shim = _shim_or_none(compiler, options, language, line)
    if line.sanitized and not line.shared:
        effect = "VT_IOTRACE and VT_MEMTRACE will have no effect: the sanitizer replaces the same functions"
        _say(language, f"{line.sanitized}: {effect}")
    directory = toolchain.library_directory()
    late = [] if line.compiles else toolchain.late_flags(compiler, line, language, options.way)
    vtrace = [
        *late,
        *toolchain.hooks_flags(
            directory, [*line.words, *added, *late], inputs=line.inputs, language=language, way=options.way
        ),
    ]
    vtrace += toolchain.link_flags(directory, shims=not line.shared and not line.sanitized)
    linked = [*args[:at], *shim, *args[at:]]
    if _wants_openmp(options, line):
        found = toolchain.openmp_position(linked)
        place = len(linked) if found is None else found
        linked[place:place] = toolchain.early_shim(directory, toolchain.OPENMP_SHIM)
    if not line.shared and (found := toolchain.hdf5_position(linked)) is not None:
        linked[found:found] = toolchain.early_shim(directory, toolchain.HDF5_SHIM)
    return [*linked, *vtrace]


def _wants_openmp(options: Options, line: Line) -> bool:
    """-vt:mt and -vt:hyb choose OpenMP, -vt:seq and -vt:mpi do not; otherwise the compiler's options decide."""
    if line.shared or options.mode in ("seq", "mpi"):
        return False
    return options.mode in ("mt", "hyb") or toolchain.uses_openmp(line.words)


def _wants_mpi(compiler: list[str], options: Options, line: Line) -> bool:
    """True if the link line has an MPI library; the linker then takes the shim only if the program calls MPI."""
    if options.mode in ("seq", "mt"):
        return False
    named = options.mode in ("mpi", "hyb") or toolchain.mpi_compiler(compiler) is not None
    return named or mpi_position(line.words) is not None


def _adds_mpi(compiler: list[str], options: Options, line: Line) -> bool:
    """True for -vt:mpi with a compiler that is not MPI's: the wrapper adds the flags of MPI's compiler."""
    named = options.mode in ("mpi", "hyb") and toolchain.mpi_compiler(compiler) is None
    return named and mpi_position(line.words) is None


def _shim_or_none(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    """The shim's flags; none for a static MPI library, whose calls no shim can intercept."""
    from vtrace.wrappers.mpi_shim.installation import StaticMpi

    try:
        return _shim(compiler, options, language, line)
    except StaticMpi as error:
        _say(language, f"{error}: MPI calls will not be recorded")
        return []


def _shim(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    from vtrace.wrappers.mpi_shim.shim import shim_archive

    mpi = _find(compiler, line.words)
    added = _flags(mpi, language)[1] if _adds_mpi(compiler, options, line) else ()
    # caf puts the library that calls MPI last: without an undefined MPI_Init the linker would skip the shim before it.
    undefined = ["-Xlinker", "-u", "-Xlinker", "MPI_Init"] if toolchain.is_coarray_compiler(compiler) else []
    # The shim calls dlsym, which is in libc only since glibc 2.34.
    return [*undefined, *toolchain.by_name(str(shim_archive(mpi))), "-ldl", *toolchain.if_needed(mpi.fortran), *added]


def _find(compiler: list[str], args: list[str]) -> Mpi:
    from vtrace.wrappers.mpi_shim.installation import find_mpi, find_mpi_of

    mpicc = toolchain.mpi_compiler(compiler, args)
    mpi = find_mpi(mpicc) if mpicc else find_mpi_of(args, compiler, toolchain.mpicc_of_library(args))
    if mpi is None:
        raise VtraceError("no mpicc found, needed to record MPI calls", "put mpicc in PATH, or use -vt:seq or -vt:mt")
    return mpi


def _flags(mpi: Mpi, language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags of MPI's compiler command for this language: for compiling, and for linking."""
    from vtrace.wrappers.mpi_shim.installation import fortran_flags

    return fortran_flags(mpi) if language is opt.FORTRAN else (mpi.include_flags, mpi.link_flags)


def _showme(compiler: list[str], options: Options, language: Language) -> list[str]:
    """The given arguments with vtrace's flags for compiling, or for linking; without the compiler."""
    if options.action == "showme-compile":
        line = Line([*options.flags, *options.args, "source.c"])
        return [*_compile_flags(compiler, options, language, line), *options.flags, *options.args]
    given = [*options.args, *options.ldflags, *options.libs]
    return _link(given, compiler, options=options, language=language, line=Line(given), added=[])


def _say(language: Language, message: str) -> None:
    print(f"{language.wrapper}: {plain(message)}", file=sys.stderr)
