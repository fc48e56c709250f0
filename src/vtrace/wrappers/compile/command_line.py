# SPDX-License-Identifier: BSD-3-Clause
"""Reads a compiler's command line: source files, and whether the command compiles and links."""

from __future__ import annotations

import os
import re
import shlex

# Options with the next word as their value. The form with the value in the same word needs no entry.
_WITH_VALUE = frozenset(
    "-o -x -I -L -l -D -U -B -J -T -u -z -e -A -G -F -MF -MT -MQ -include -imacros -isystem -iquote -idirafter "
    "-iprefix -iwithprefix -iwithprefixbefore -isysroot -imultilib --sysroot --param -param -Xlinker -Xassembler "
    "-Xpreprocessor -Xclang -mllvm -arch -target -aux-info -dumpbase -dumpdir -dumpbase-ext -wrapper -specs -rpath "
    "-Xopenmp-target -framework".split()
)
_NOT_LINKED = frozenset("-c -S -E -M -MM -r -fsyntax-only -emit-ast --analyze --precompile".split())
_NOT_COMPILED = frozenset("-E -M -MM -fsyntax-only --analyze".split())
# With these options libvtrace.so.1 cannot be linked.
_UNTRACED = ("-static", "--static", "-static-pie", "-nostdlib")
_REPLACES_LIBC = re.compile("-fsanitize=.*(address|thread|memory|leak)")
_LINKED_AS_IS = (".o", ".obj", ".lo", ".a", ".so", ".lib", ".s", ".ld", ".lds", ".map", ".res")
_PREPROCESSED = (".i", ".ii", ".mi", ".mii")
_PREPROCESSED_LANGUAGES = ("cpp-output", "assembler")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".H", ".tcc")
_MPI_LIBRARIES = frozenset(
    "mpi mpich mpi_abi mpi_cxx mpicxx mpichcxx mpichfort mpifort mpichf90 fmpich mpi_f77 mpi_f90 mpi_mpifh mpi_usempi "
    "mpi_usempif08 mpi_usempi_ignore_tkr".split()
)


class Line:
    """A compiler's arguments, read.

    words: the arguments, with response files expanded. inputs: files and libraries to compile or link. sources: inputs
    to compile. compiles: there is a source that the compiler instruments. includes: there is a source to
    preprocess. links: the command links a program or shared library. shared: -shared is given. untraced: the option
    that excludes libvtrace.so.1 from the link, or None. sanitized: the option for a sanitizer that replaces functions
    of libc, or None. probe: a build system tests the compiler. debug: -g is given.
    """

    def __init__(self, args: list[str]) -> None:
        self.words = expand(args)
        self.inputs: list[str] = []
        self.sources: list[str] = []
        self.includes = False
        self.output = ""
        self._read()
        flags = set(self.words)
        self.compiles = bool(self.sources) and not flags & _NOT_COMPILED
        only_headers = bool(self.sources) and self.sources == self.inputs and all(map(_is_header, self.sources))
        self.links = bool(self.inputs) and not flags & _NOT_LINKED and not only_headers
        self.shared = "-shared" in flags or "--shared" in flags
        # libtool links C++ libraries with -nostdlib and names the standard libraries itself.
        options = _UNTRACED[:-1] if self.shared else _UNTRACED
        self.untraced = next((word for word in options if word in flags), None) if self.links else None
        self.sanitized = next((word for word in self.words if _REPLACES_LIBC.match(word)), None)
        self.probe = _is_probe([*self.inputs, self.output])
        self.debug = any(word.startswith("-g") for word in self.words)

    def _read(self) -> None:
        language = None
        words = iter(self.words)
        for word in words:
            if word in _WITH_VALUE:
                value = next(words, "")
                if word == "-x":
                    language = None if value == "none" else value
                elif word == "-l":
                    self.inputs.append("-l" + value)
                elif word == "-o":
                    self.output = value
            elif word.startswith("-x"):
                language = None if word == "-xnone" else word[2:]
            elif word.startswith("-l"):
                self.inputs.append(word)
            elif word == "-" or not word.startswith("-"):
                self.inputs.append(word)
                if language or _is_source(word):
                    self.sources.append(word)
                    self.includes |= not _is_preprocessed(word, language)


def _is_probe(files: list[str]) -> bool:
    """True if configure, CMake or Meson tests the compiler, by their names for the tests' files and directories."""
    if any(os.path.basename(file).partition(".")[0].rstrip("0123456789") == "conftest" for file in files):
        return True
    try:
        place = os.getcwd().split(os.sep)
    except OSError:
        return False
    # A project's own sources are compiled above these two directories.
    return "CMakeFiles" in place or "meson-private" in place


def expand(args: list[str], depth: int = 0) -> list[str]:
    """args with each response file @FILE replaced by its words. As in gcc, an unreadable @FILE stays."""
    words: list[str] = []
    for arg in args:
        text = _response(arg) if arg.startswith("@") and depth < 10 else None
        words += [arg] if text is None else expand(text, depth + 1)
    return words


def _response(arg: str) -> list[str] | None:
    try:
        with open(arg[1:], encoding="utf-8", errors="surrogateescape") as file:
            return shlex.split(file.read())
    except (OSError, ValueError):
        return None


def mpi_position(args: list[str]) -> int | None:
    """The index of the first word that is an MPI library (-lmpi, or a path of libmpi); None without MPI library."""
    for i, word in enumerate(args):
        name = args[i + 1] if word == "-l" and i + 1 < len(args) else word[2:] if word.startswith("-l") else None
        if name in _MPI_LIBRARIES or (name is None and not word.startswith("-") and _is_mpi_file(word)):
            return i
    return None


def _is_mpi_file(word: str) -> bool:
    stem, dot, ending = os.path.basename(word).partition(".")
    return bool(dot) and stem.removeprefix("lib") in _MPI_LIBRARIES and stem.startswith("lib") and ending[:1] in "sa"


def _is_source(word: str) -> bool:
    """True for a suffix that linkers do not know. Linkers also take lib.so.1 and files without suffix."""
    name = os.path.basename(word)
    return os.path.splitext(name)[1] not in ("", *_LINKED_AS_IS) and ".so." not in name


def _is_preprocessed(word: str, language: str | None) -> bool:
    return language.endswith(_PREPROCESSED_LANGUAGES) if language else word.endswith(_PREPROCESSED)


def _is_header(word: str) -> bool:
    return word.endswith(_HEADERS)
