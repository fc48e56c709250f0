# SPDX-License-Identifier: BSD-3-Clause
"""The wrappers' own options (-vt:X or --vt:X) and the environment variables with the same meaning."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from vtrace.errors import UsageError
from vtrace.settings_file import NO, YES


class Language(NamedTuple):
    """One of the three wrappers. options: names of -vt: options that choose the compiler; variable, flags_variable:
    environment variables for compiler and flags; mpi_compilers, compiler: defaults with and without MPI."""

    wrapper: str
    name: str
    options: tuple[str, ...]
    variable: str
    flags_variable: str
    mpi_compilers: tuple[str, ...]
    compiler: str


C = Language(
    "vtrace-cc",
    "C",
    options=("cc",),
    variable="VT_CC",
    flags_variable="VT_CFLAGS",
    mpi_compilers=("mpicc",),
    compiler="cc",
)
CXX = Language(
    "vtrace-cxx",
    "C++",
    options=("cxx",),
    variable="VT_CXX",
    flags_variable="VT_CXXFLAGS",
    mpi_compilers=("mpicxx", "mpic++"),
    compiler="c++",
)
FORTRAN = Language(
    "vtrace-fc",
    "Fortran",
    options=("fc", "f90", "f77"),
    variable="VT_FC",
    flags_variable="VT_FCFLAGS",
    mpi_compilers=("mpifort", "mpif90", "mpif77"),
    compiler="gfortran",
)

MODES = ("seq", "mpi", "mt", "hyb")
ACTIONS = ("show", "verbose", "showme-compile", "showme-link", "version", "help")
INSTRUMENTATIONS = ("compinst", "sleds", "plugin", "hooks", "manual")
_KNOWN = "compinst, sleds, plugin, hooks or manual"
FUNCTIONS = {"inst-outlined": "outlined", "inst-written": "written", "inst-all": "all"}
"""Options -> the functions that are recorded."""


class Options(NamedTuple):
    """The values of the options and variables.

    compiler: words of the command, None: choose a default. mode: of MODES, None: by the command line. instrument:
    record functions. action: of ACTIONS, None: run the compiler. args: the compiler's own arguments. flags, ldflags,
    libs: from VT_CFLAGS (VT_CXXFLAGS, VT_FCFLAGS), VT_LDFLAGS, VT_LIBS. off: call the compiler unchanged
    (VT_WRAPPER=off). way: of INSTRUMENTATIONS. functions: see toolchain.instrument_flags.
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
    way: str = "compinst"
    functions: str = ""


def parse(argv: list[str], language: Language, environ: Mapping[str, str] = os.environ) -> Options:
    """Separates the wrapper's options from the compiler's arguments. Raises UsageError for a wrong option or a wrong
    value of a variable."""
    command = environ.get(language.variable) or None
    named_by = language.variable
    inst = environ.get("VT_INST") or "compinst"
    if inst not in INSTRUMENTATIONS:
        raise UsageError(f"VT_INST={inst}: unknown instrumentation", f"set VT_INST to {_KNOWN}")
    mode = action = None
    functions = ""
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
            inst = _value(words, word, _KNOWN)
            if inst not in INSTRUMENTATIONS:
                raise UsageError(f"{word} {inst}: unknown instrumentation", f"use {_KNOWN}")
        elif option in FUNCTIONS:
            functions = FUNCTIONS[option]
        elif option in MODES:
            mode = option
        elif option in ACTIONS:
            action = option
        else:
            known = [*language.options, *MODES, "inst", *FUNCTIONS, *ACTIONS]
            raise UsageError(f"{word}: unknown option of {language.wrapper}", "known: " + ", ".join(known))
    return Options(
        compiler=_command(command, named_by) if command else None,
        mode=mode,
        instrument=inst != "manual",
        action=action,
        args=args,
        flags=_words(environ, language.flags_variable),
        ldflags=_words(environ, "VT_LDFLAGS"),
        libs=_words(environ, "VT_LIBS"),
        off=_is_off(environ),
        way=inst,
        functions=functions,
    )


def _value(words: object, option: str, what: str) -> str:
    value: str | None = next(words, None)  # type: ignore[call-overload]
    if not value:
        raise UsageError(f"{option}: value missing", f"give {what} as the next word")
    return value


def _command(text: str, named_by: str) -> list[str]:
    """A command may have arguments ("ccache gcc"), and the path of a compiler may have spaces."""
    if shutil.which(text):
        return [text]
    words = _split(text, named_by)
    if not words:
        raise UsageError(f"{named_by}: no compiler given", "give the compiler's command")
    return words


def _words(environ: Mapping[str, str], variable: str) -> list[str]:
    return _split(environ.get(variable, ""), variable)


def _split(text: str, named_by: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{named_by}={text}: {str(error).lower()}", "quote the value as for a shell") from None


def _is_off(environ: Mapping[str, str]) -> bool:
    value = environ.get("VT_WRAPPER", "").lower()
    if value not in ("", *YES, *NO):
        raise UsageError(f"VT_WRAPPER={value}: neither on nor off", "off calls the compiler without vtrace")
    return value in NO


def help_text(language: Language) -> str:
    """The text of -vt:help."""
    wrapper = language.wrapper
    compiler = ", ".join(f"-vt:{option}" for option in language.options) + " CMD"
    compiler = compiler.ljust(22) if len(compiler) <= 22 else compiler + "\n" + " " * 24
    default = f"{', '.join(language.mpi_compilers[:-1])}{' or ' * (len(language.mpi_compilers) > 1)}"
    default += f"{language.mpi_compilers[-1]} if found, else "
    source, build_variable = {"C": ("heat.c", "CC"), "C++": ("heat.cc", "CXX")}.get(language.name, ("heat.f90", "FC"))
    return f"""\
usage: {wrapper} [-vt:OPTION ...] COMPILER_ARGUMENTS

Compile and link like the {language.name} compiler, and let the program record its functions
and MPI calls. All other arguments go to the compiler unchanged.

  {compiler}  the compiler, with arguments if needed
                          [default: {default}{language.compiler}]
  -vt:seq, -vt:mt         no MPI: use {language.compiler}; mt also records OpenMP
  -vt:mpi, -vt:hyb        MPI; hyb also records OpenMP
                          [default of these four: by the arguments]
  -vt:inst compinst       record functions, adds -g (default): sleds with gcc 9, clang 11
                          and newer ones on x86-64, else plugin with gcc, else hooks
  -vt:inst sleds          functions that are left out at run time cost nearly nothing
  -vt:inst plugin         gcc: record functions by hooks; vtrace builds a plug-in if gcc's
                          headers for plug-ins are installed
  -vt:inst hooks          record functions by -finstrument-functions (gcc: before inlining)
  -vt:inst manual         do not record functions; adds no -g
  -vt:inst-written        also record functions that have a loop, or call such functions or
                          those of other files, but for templates and those marked inline
                          [default of gcc with its headers for plug-ins]
  -vt:inst-outlined       record the functions that exist after inlining [default of others]
  -vt:inst-all            all functions: the compiler inlines none, the program is slow
  -DVTRACE                enable vt_user.h and vt_user.inc (passed to the compiler)
  -vt:show                print the compiler's command and exit
  -vt:verbose             print the compiler's command on stderr, then run it
  -vt:showme-compile      print the flags for compiling, with the given arguments
  -vt:showme-link         print the flags for linking, with the given arguments
  -vt:version, -vt:help   print the version, or this text

Environment:
  {language.variable}, VT_INST: same as -vt:{language.options[0]}, -vt:inst; an option overrides its variable
  {language.flags_variable}, VT_LDFLAGS, VT_LIBS: passed to the compiler and the linker
  VT_WRAPPER=off: call the compiler without vtrace
  VT_PREFIX: directory of the installation, if vtrace was moved

Test programs of configure, CMake and Meson are compiled without tracing.

Examples:
  {wrapper} -O2 {source} -o heat
  {wrapper} -O2 -c {source} && {wrapper} heat.o -o heat
  {build_variable}={wrapper} cmake -S . -B build && cmake --build build
  ./configure {build_variable}={wrapper} && make
"""
