# SPDX-License-Identifier: BSD-3-Clause
"""The wrappers' own options (-vt:X or --vt:X) and the environment variables that stand for them."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from vtrace.errors import UsageError


class Language(NamedTuple):
    """One of the three wrappers. defaults: compilers with MPI and without, in order of preference."""

    wrapper: str
    name: str
    options: tuple[str, ...]
    variable: str
    flags_variable: str
    mpi_compilers: tuple[str, ...]
    compiler: str


C = Language("vtrace-cc", "C", ("cc",), "VT_CC", "VT_CFLAGS", ("mpicc",), "cc")
CXX = Language("vtrace-cxx", "C++", ("cxx",), "VT_CXX", "VT_CXXFLAGS", ("mpicxx", "mpic++"), "c++")
FORTRAN = Language(
    "vtrace-fc", "Fortran", ("fc", "f90", "f77"), "VT_FC", "VT_FCFLAGS", ("mpifort", "mpif90", "mpif77"), "gfortran"
)

MODES = ("seq", "mpi", "mt", "hyb")
ACTIONS = ("show", "verbose", "showme-compile", "showme-link", "version", "help")
_INST = ("compinst", "manual")


class Options(NamedTuple):
    """What the options and variables say.

    compiler: words of the command, None: find one. mode: of MODES, None: find out. action: of ACTIONS, None: run.
    args: the compiler's own arguments. flags, ldflags, libs: from VT_CFLAGS (VT_CXXFLAGS, VT_FCFLAGS), VT_LDFLAGS,
    VT_LIBS. off: call the compiler as if there were no wrapper (VT_WRAPPER=off).
    """

    compiler: list[str] | None
    mode: str | None
    instrument: bool
    action: str | None
    args: list[str]
    flags: list[str]
    ldflags: list[str]
    libs: list[str]
    off: bool


def parse(argv: list[str], language: Language, environ: Mapping[str, str] = os.environ) -> Options:
    """Takes the wrapper's options out of argv. Raises UsageError for one that is wrong or a variable's bad value."""
    command = environ.get(language.variable) or None
    named_by = language.variable
    inst = environ.get("VT_INST") or "compinst"
    if inst not in _INST:
        raise UsageError(f"VT_INST={inst}: not a kind of instrumentation", "set it to compinst or manual")
    mode = action = None
    args: list[str] = []
    words = iter(argv)
    for word in words:
        if not word.startswith(("-vt:", "--vt:")):
            args.append(word)
            continue
        option = word.partition(":")[2]
        if option in language.options:
            command, named_by = _value(words, word, "the compiler's command"), word
        elif option == "inst":
            inst = _value(words, word, "compinst or manual")
            if inst not in _INST:
                raise UsageError(f"{word} {inst}: not a kind of instrumentation", "use compinst or manual")
        elif option in MODES:
            mode = option
        elif option in ACTIONS:
            action = option
        else:
            known = [*language.options, *MODES, "inst", *ACTIONS]
            raise UsageError(f"{word}: no such option of {language.wrapper}", "it has " + ", ".join(known))
    return Options(
        compiler=_command(command, named_by) if command else None,
        mode=mode,
        instrument=inst == "compinst",
        action=action,
        args=args,
        flags=_words(environ, language.flags_variable),
        ldflags=_words(environ, "VT_LDFLAGS"),
        libs=_words(environ, "VT_LIBS"),
        off=_is_off(environ),
    )


def _value(words: object, option: str, what: str) -> str:
    value: str | None = next(words, None)  # type: ignore[call-overload]
    if not value:
        raise UsageError(f"{option}: its value is missing", f"give {what} as the next word")
    return value


def _command(text: str, named_by: str) -> list[str]:
    """A command may have arguments ("ccache gcc"), and the path of a compiler may have spaces."""
    if shutil.which(text):
        return [text]
    words = _split(text, named_by)
    if not words:
        raise UsageError(f"{named_by}: names no compiler", "give the compiler's command")
    return words


def _words(environ: Mapping[str, str], variable: str) -> list[str]:
    return _split(environ.get(variable, ""), variable)


def _split(text: str, named_by: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{named_by}={text}: {str(error).lower()}", "quote it as for the shell") from None


def _is_off(environ: Mapping[str, str]) -> bool:
    value = environ.get("VT_WRAPPER", "").lower()
    if value not in ("", "on", "yes", "true", "1", "off", "no", "false", "0"):
        raise UsageError(f"VT_WRAPPER={value}: neither on nor off", "set it to off to call the compiler untouched")
    return value in ("off", "no", "false", "0")


def help_text(language: Language) -> str:
    """What -vt:help prints."""
    wrapper = language.wrapper
    compiler = ", ".join(f"-vt:{option}" for option in language.options) + " CMD"
    compiler = compiler.ljust(22) if len(compiler) <= 22 else compiler + "\n" + " " * 24
    default = f"{', '.join(language.mpi_compilers[:-1])}{' or ' * (len(language.mpi_compilers) > 1)}"
    default += f"{language.mpi_compilers[-1]} where found, else "
    source, build_variable = {"C": ("heat.c", "CC"), "C++": ("heat.cc", "CXX")}.get(language.name, ("heat.f90", "FC"))
    return f"""\
usage: {wrapper} [-vt:OPTION ...] COMPILER_ARGUMENTS

Compiles and links as the {language.name} compiler does, so that the program records its
functions and its MPI calls. All other arguments go to the compiler as they are.

  {compiler}  the compiler ({default}{language.compiler}); may have arguments
  -vt:seq, -vt:mt         a program without MPI: takes {language.compiler}; mt records OpenMP, too
  -vt:mpi, -vt:hyb        an MPI program; hyb records OpenMP, too
                          (without these four {wrapper} finds out by itself)
  -vt:inst compinst       record functions (default); adds -g
  -vt:inst manual         do not; adds no -g
  -DVTRACE                the compiler's own: vt_user.h and vt_user.inc record
  -vt:show                print the compiler's command, do nothing
  -vt:verbose             print it on stderr, and do it
  -vt:showme-compile      print the options for compiling only, with the arguments given
  -vt:showme-link         print the options for linking only, with the arguments given
  -vt:version, -vt:help   print the version, this text

Environment: {language.variable} and VT_INST stand for -vt:{language.options[0]} and -vt:inst; an option wins.
{language.flags_variable}, VT_LDFLAGS, VT_LIBS are passed to the compiler and the linker.
VT_WRAPPER=off calls the compiler as if {wrapper} were not there. VT_PREFIX: where vtrace is installed, if moved.
What configure, CMake and Meson only try is compiled without tracing.

Examples:
  {wrapper} -O2 {source} -o heat
  {wrapper} -O2 -c {source} && {wrapper} heat.o -o heat
  {build_variable}={wrapper} cmake -S . -B build && cmake --build build
  ./configure {build_variable}={wrapper} && make
"""
