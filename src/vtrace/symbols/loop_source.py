# SPDX-License-Identifier: BSD-3-Clause
"""Loops of the machine code as loops of the source: function, lines, nest level and kind."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from vtrace.io.local.heads import open_file
from vtrace.symbols.lines import Position
from vtrace.symbols.machine_loops import FunctionLoops, MachineLoop

OTHER = "OTHER"
InlinedCalls = Sequence[tuple[str, str | None, int]]
"""Function, file and line, innermost first, as addr2line has them."""

_FORTRAN_FILE = re.compile(r"\.(f|for|ftn|f77|f90|f95|f03|f08|f18)$", re.IGNORECASE)
_C_LOOP = re.compile(r"\b(for|while|do)\b")
_C_SKIPPED = re.compile(r"\s*(\{|//.*|/\*.*\*/|#.*)?\s*")
_C_STRINGS = re.compile(r'"(\\.|[^"\\])*"|//.*|/\*.*?\*/')
_DO_WHILE = re.compile(r"\s*(\d+\s+)?(\w+\s*:\s*)?do\s*while\b", re.IGNORECASE)
_DO = re.compile(r"\s*(\d+\s+)?(\w+\s*:\s*)?do\b", re.IGNORECASE)
_FORTRAN_SKIPPED = re.compile(r"\s*(!.*)?|[cC*].*")
_ARRAY = re.compile(r"[^!'\"]*(\([^!'\"]*:[^!'\"]*\)\s*=|=[^!'\"]*\([^!'\"]*:)")
_NOWHERE: InlinedCalls = (("", None, 0),)
_LONGEST = 300
"""The number of characters of a line that are searched."""
_LOOK = 3
"""The most blank lines, comments and directives between the keyword of a loop and its code."""


class Loop(NamedTuple):
    """A loop of the source. level: 1 is the outermost of its function. outer: the loop around it in the function."""

    file: str
    first: int
    last: int
    level: int
    kind: str
    outer: Loop | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """File, first and last line."""
        return self.file, self.first, self.last


class _Owned(NamedTuple):
    """depth: the frame of the loop's function among those at its instructions, 0: outermost."""

    function: str
    depth: int
    file: str
    first: int
    last: int


class SourceLoops:
    """The loops of functions of a file.

    functions: by their start address; begins: the source code lines at these addresses; calls: by address, the
    inlined functions and lines.
    """

    def __init__(
        self, functions: Mapping[int, FunctionLoops], begins: Mapping[int, Position], calls: Mapping[int, InlinedCalls]
    ) -> None:
        self._calls, self._owned = calls, dict[int, _Owned]()
        self._ends: dict[tuple[str, str, int, int], int] = {}
        everything = [loop for function in functions.values() for loop in function.loops]
        for start, function in functions.items():
            for loop in function.loops:
                if owned := _owned(loop, calls, begins.get(start)):
                    self._owned[id(loop)] = owned
        for loop in everything:  # a loop that the compiler has split has the last line of all its parts
            if owned := self._owned.get(id(loop)):
                key = self._key(loop, owned)
                self._ends[key] = max(self._ends.get(key, 0), owned.last)

    def at(self, loop: MachineLoop | None, depth: int) -> Loop | None:
        """The innermost loop of the function at a depth of the frames, among a loop and those around it."""
        while loop is not None:
            owned = self._owned.get(id(loop))
            if owned and owned.depth == depth:
                return self._loop(loop, owned)
            loop = loop.outer
        return None

    def near(self, loop: MachineLoop | None, address: int) -> tuple[str, int] | None:
        """File and line of the instruction with a line nearest before an address in a loop, else of the first one.

        Compilers give no line to instructions that belong to several lines, for example of vectors.
        """
        owned = self._owned.get(id(loop)) if loop is not None else None
        if loop is None or owned is None or owned.depth:
            return None
        before = bisect_right(loop.addresses, address)
        for instruction in (*reversed(loop.addresses[:before]), *loop.addresses[before:]):
            _, file, line = self._calls.get(instruction, _NOWHERE)[-1]
            if file == owned.file and owned.first <= line <= owned.last:
                return file, line
        return None

    def _around(self, loop: MachineLoop, owned: _Owned) -> MachineLoop | None:
        """The next loop of the same function that encloses a loop."""
        outer = loop.outer
        while outer is not None:
            other = self._owned.get(id(outer))
            if other and (other.function, other.depth) == (owned.function, owned.depth):
                return outer
            outer = outer.outer
        return None

    def _level(self, loop: MachineLoop, owned: _Owned) -> int:
        level, outer = 1, self._around(loop, owned)
        while outer is not None:
            level, outer = level + 1, self._around(outer, owned)
        return level

    def _key(self, loop: MachineLoop, owned: _Owned) -> tuple[str, str, int, int]:
        return owned.function, owned.file, owned.first, self._level(loop, owned)

    def _loop(self, loop: MachineLoop, owned: _Owned) -> Loop:
        last = self._ends[self._key(loop, owned)]
        first, kind = source_kind(owned.file, owned.first, last)
        around = self._around(loop, owned)
        outer = self._loop(around, self._owned[id(around)]) if around else None
        return Loop(owned.file, first, last=last, level=outer.level + 1 if outer else 1, kind=kind, outer=outer)


def _owned(loop: MachineLoop, calls: Mapping[int, InlinedCalls], begin: Position | None) -> _Owned | None:
    """The function of a loop: the innermost one that all instructions belong to. None without lines.

    begin: of the outermost function. Optimised code has lines of inlined functions, but not always these functions:
    lines before begin do not count.
    """
    stacks = [tuple(reversed(calls[a])) for a in loop.addresses if calls.get(a)]
    if not stacks:
        return None
    depth, shortest = 0, min(map(len, stacks))
    first = stacks[0]
    while depth + 1 < shortest and all(
        stack[depth][1:] == first[depth][1:] and stack[depth + 1][0] == first[depth + 1][0] for stack in stacks
    ):
        depth += 1
    files: dict[str, list[int]] = {}
    for stack in stacks:
        _, file, line = stack[depth]
        early = depth == 0 and begin is not None and file == begin.file and line < begin.line
        if file and line and not early:
            files.setdefault(file, []).append(line)
    if not files:
        return None
    file = max(files, key=lambda name: (len(files[name]), name))
    return _Owned(first[depth][0], depth, file=file, first=min(files[file]), last=max(files[file]))


@lru_cache(maxsize=64)
def source_lines(file: str) -> tuple[str, ...]:
    """The start of each line of a file, from number 1 on. A relative name may be that of another file here."""
    if not os.path.isabs(file):
        return ()
    try:
        with open_file(Path(file)) as stream:
            text = stream.read(1 << 24).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ()
    return ("", *(line[:_LONGEST] for line in text.split("\n")))


def source_kind(file: str, first: int, last: int) -> tuple[int, str]:
    """The line at which a loop begins, and its kind: for, while, do, goto; DO, DO WHILE, ARRAY of Fortran; OTHER if the
    source is missing or unclear. first, last: lines of the loop's code, which may begin after the keyword."""
    lines = source_lines(file)
    if not 0 < first < len(lines):
        return first, OTHER
    fortran = _FORTRAN_FILE.search(file) is not None
    skipped, word = (_FORTRAN_SKIPPED, _fortran_word) if fortran else (_C_SKIPPED, _c_word)
    ahead = first
    while ahead < min(first + _LOOK, last, len(lines) - 1) and skipped.fullmatch(lines[ahead]):
        ahead += 1
    if kind := word(lines[ahead]):
        return first, kind
    behind = first - 1
    while behind > max(first - _LOOK, 1) and skipped.fullmatch(lines[behind]):
        behind -= 1
    if kind := word(lines[behind]):
        return behind, kind
    if fortran:
        return first, "ARRAY" if first == last and _ARRAY.match(lines[first]) else OTHER
    end, behind_end = (_C_STRINGS.sub("", line) for line in (*lines[last : last + 2], "", "")[:2])
    if re.search(r"\bwhile\b", end):
        return first, "do"
    return first, "goto" if re.search(r"\bgoto\b", f"{end} {behind_end}") else OTHER


def _c_word(line: str) -> str:
    found = _C_LOOP.search(_C_STRINGS.sub("", line))
    if not found or re.match(r"\s*\}\s*while\b", line):
        return ""
    return found[1]


def _fortran_word(line: str) -> str:
    return "DO WHILE" if _DO_WHILE.match(line) else "DO" if _DO.match(line) else ""
