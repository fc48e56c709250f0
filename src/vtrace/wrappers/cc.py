# SPDX-License-Identifier: BSD-3-Clause
"""vtrace-cc, vtrace-cxx, vtrace-fc: stand in for the compiler, add what tracing needs, and become the compiler."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, NoReturn

from vtrace import __version__
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
        return _do(sys.argv[1:], language)
    except VtraceError as error:
        _say(language, " ".join(str(error).split()))
        return error.exit_code


def _do(argv: list[str], language: Language) -> int:
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
        _say(language, "-vt:help shows the options of vtrace; these are the compiler's:")
    if options.action == "verbose":
        print(shlex.join(words), file=sys.stderr)
    _become(words)


def _become(words: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise VtraceError(f"{words[0]}: cannot be run: {error.strerror}", "check the compiler's command") from None


def command(compiler: list[str], options: Options, language: Language) -> list[str]:
    """The words of the compiler's command with all that vtrace adds; without inputs they stay as they are."""
    given = [*options.flags, *options.args, *options.ldflags, *options.libs]
    line = Line(given)
    if not Line(options.args).inputs:
        return [*compiler, *options.args]
    if line.untraced and not line.probe:
        if "static" in line.untraced:
            _say(language, f"{line.untraced}: links without vtrace, the program will not be traced")
        untraced = toolchain.user_stubs(toolchain.library_directory()) if line.links and language is opt.FORTRAN else []
        return [*compiler, *_include_flags(line), *given, *untraced]
    added = _compile_flags(compiler, options, language, line) if line.compiles else []
    if not line.links:
        return [*compiler, *added, *options.flags, *options.args]
    return [*compiler, *added, *_link(given, compiler, options, language, line)]


def _include_flags(line: Line) -> list[str]:
    """Where vt_user.h and vt_user.inc are."""
    return toolchain.include_flags(toolchain.library_directory()) if line.compiles else []


def _compile_flags(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    flags = _include_flags(line)
    if options.instrument and not line.probe:
        flags += [] if line.debug else ["-g"]
        flags += toolchain.instrument_flags(compiler, options.args, language)
    elif language is opt.FORTRAN and not line.probe and not line.debug:
        flags += ["-g"] if "-DVTRACE" in line.words else []  # the lines of the user API's regions
    if _brings_mpi(compiler, options, line):
        flags += _flags(_find(compiler, options.args), language)[0]
    return flags


def _link(args: list[str], compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    """args with the MPI shim before the first MPI library, for the linker takes it only for calls still undefined."""
    if line.probe:
        brings = _brings_mpi(compiler, options, line)
        return [*args, *(_flags(_find(compiler, args), language)[1] if brings else ())]
    at, shim = len(args), []
    if _wants_mpi(compiler, options, line) and not line.shared:
        if mpi_position(args) != mpi_position(line.words):
            args = line.words
        found = mpi_position(args)
        at = len(args) if found is None else found
        shim = _shim_or_none(compiler, options, language, line)
    if line.sanitized and not line.shared:
        nothing = "VT_IOTRACE and VT_MEMTRACE will do nothing: the sanitizer replaces the same functions"
        _say(language, f"{line.sanitized}: {nothing}")
    directory = toolchain.library_directory()
    vtrace = toolchain.hooks_flags(line.words)
    vtrace += toolchain.link_flags(directory, shims=not line.shared and not line.sanitized)
    linked = [*args[:at], *shim, *args[at:]]
    if _wants_openmp(options, line):
        found = toolchain.openmp_position(linked)
        place = len(linked) if found is None else found
        linked[place:place] = toolchain.openmp_flags(directory)
    return [*linked, *vtrace]


def _wants_openmp(options: Options, line: Line) -> bool:
    """-vt:mt and -vt:hyb ask for it, -vt:seq and -vt:mpi for none; without them the compiler's options tell."""
    if line.shared or options.mode in ("seq", "mpi"):
        return False
    return options.mode in ("mt", "hyb") or toolchain.uses_openmp(line.words)


def _wants_mpi(compiler: list[str], options: Options, line: Line) -> bool:
    """Whether the link line offers MPI; whether the program uses it, the linker finds out."""
    if options.mode in ("seq", "mt"):
        return False
    named = options.mode in ("mpi", "hyb") or toolchain.mpi_compiler(compiler) is not None
    return named or mpi_position(line.words) is not None


def _brings_mpi(compiler: list[str], options: Options, line: Line) -> bool:
    """-vt:mpi with a compiler that knows no MPI: the flags of MPI's own compiler are added."""
    named = options.mode in ("mpi", "hyb") and toolchain.mpi_compiler(compiler) is None
    return named and mpi_position(line.words) is None


def _shim_or_none(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    """Nothing for an MPI that is linked statically: the linker decides there whose functions are called."""
    from vtrace.wrappers.mpi_shim.installation import StaticMpi

    try:
        return _shim(compiler, options, language, line)
    except StaticMpi as error:
        _say(language, f"{error}: MPI calls will not be recorded")
        return []


def _shim(compiler: list[str], options: Options, language: Language, line: Line) -> list[str]:
    from vtrace.wrappers.mpi_shim.shim import shim_archive

    mpi = _find(compiler, line.words)
    brought = _flags(mpi, language)[1] if _brings_mpi(compiler, options, line) else ()
    # caf puts the library that calls MPI behind all others, where the linker would not look for a shim any more.
    wanted = ["-Xlinker", "-u", "-Xlinker", "MPI_Init"] if toolchain.is_coarray_compiler(compiler) else []
    # The shim calls dlsym, which the C library holds only from glibc 2.34 on.
    return [*wanted, *toolchain.by_name(str(shim_archive(mpi))), "-ldl", *toolchain.if_needed(mpi.fortran), *brought]


def _find(compiler: list[str], args: list[str]) -> Mpi:
    from vtrace.wrappers.mpi_shim.installation import find_mpi, find_mpi_of

    mpicc = toolchain.mpi_compiler(compiler, args)
    mpi = find_mpi(mpicc) if mpicc else find_mpi_of(args, compiler, toolchain.mpicc_of_library(args))
    if mpi is None:
        raise VtraceError("finds no MPI whose calls it could record", "put mpicc in PATH, or use -vt:seq or -vt:mt")
    return mpi


def _flags(mpi: Mpi, language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What MPI's compiler command of this language adds, for compiling and for linking."""
    from vtrace.wrappers.mpi_shim.installation import fortran_flags

    return fortran_flags(mpi) if language is opt.FORTRAN else (mpi.include_flags, mpi.link_flags)


def _showme(compiler: list[str], options: Options, language: Language) -> list[str]:
    """Only the flags that vtrace adds and the arguments given: for compiling, or for linking."""
    if options.action == "showme-compile":
        line = Line([*options.flags, *options.args, "source.c"])
        return [*_compile_flags(compiler, options, language, line), *options.flags, *options.args]
    given = [*options.args, *options.ldflags, *options.libs]
    return _link(given, compiler, options, language, Line(given))


def _say(language: Language, message: str) -> None:
    print(f"{language.wrapper}: {plain(message)}", file=sys.stderr)
