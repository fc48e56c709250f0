# SPDX-License-Identifier: BSD-3-Clause
"""Finds the functions that the compiler has inlined into recorded functions of the user, by debug information."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.symbols.debug_files import debug_file
from vtrace.symbols.demangle import is_outlined, readable
from vtrace.symbols.machine_loops import FunctionLoops
from vtrace.symbols.modules import Place
from vtrace.symbols.stack_frames import CallsOfAddress, addr2line
from vtrace.symbols.symbols import Function, Symbols, by_file, function_holders, function_sizes

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_OF_OTHERS = re.compile(r"/usr/(?!src/|local/src/)|/opt/.*/include/|.*/(c\+\+|lib/gcc|lib/clang)/|.*/(vt_user|perf)\.h")
"""Files of compilers, libraries and vtrace."""
_MOST_CODE, _MOST_DEBUG = 1 << 18, 1 << 27
"""The most bytes of code of a module that are searched, and of debug information that addr2line reads."""
_MOST_ASKED = 1000
"""The most places in a module for which addr2line is asked, evenly spread, and the most loops: in large compilation
units of C++ addr2line takes half a ms for each."""
_LEAST = 48
"""Functions with fewer bytes of code and without a loop are left out: they would be too short to record."""


class Inlined(NamedTuple):
    """A function that was inlined into a recorded one: the names of both, bytes of its code there, and whether that has
    a loop."""

    into: str
    name: str
    loop: bool
    bytes: int


def inlined_functions(symbols: Symbols, places: Iterable[Place]) -> list[Inlined]:
    """The functions that are inlined into the functions at these places. symbols: has resolved the places. Nothing for
    functions without debug information, and for those of libraries."""
    found: list[Inlined] = []
    for file, addresses in by_file(place for place in places if _is_of_user(symbols.functions[place].file)):
        functions = {address: symbols.functions[Place(file, address)] for address in addresses}
        work = partial(_of_file, path=file[0], functions=functions)
        try:
            found += symbols.with_file(file, work) or []
        except Exception:  # as for other debug information: pyelftools and capstone may raise anything
            continue
    return found


def _is_of_user(file: str | None) -> bool:
    return file is not None and not _OF_OTHERS.match(file)


def _of_file(elf: ELFFile, path: str, functions: dict[int, Function]) -> list[Inlined]:
    debug_path, debug = debug_file(elf, path)
    section = debug.get_section_by_name(".debug_info")
    if section is None or section["sh_size"] > _MOST_DEBUG:
        return []
    holders = function_holders(debug, np.array([*functions], np.int64).astype(np.uint64))
    of_start = {start: functions[address] for address, (start, _) in holders.items()}
    code = _code(elf, function_sizes(debug, of_start))
    every = sorted(address for one in code.values() for address in one.instructions)
    headers = sorted(loop.header for one in code.values() for loop in one.loops)
    asked = {*every[:: len(every) // _MOST_ASKED + 1], *headers[:: len(headers) // _MOST_ASKED + 1]}
    calls = addr2line(debug, debug_path, sorted(asked)) or {}
    return [found for start, one in code.items() for found in _of_function(of_start[start], one, calls)]


def _code(elf: ELFFile, sizes: dict[int, int]) -> dict[int, FunctionLoops]:
    """The code of functions by their starts, the smallest functions first, until the limit."""
    found: dict[int, FunctionLoops] = {}
    left = _MOST_CODE
    for start, size in sorted(sizes.items(), key=lambda one: (one[1], one[0])):
        left -= size
        if left < 0:
            break
        found[start] = FunctionLoops(elf, start, size)
    return found


def _of_function(into: Function, code: FunctionLoops, calls: dict[int, CallsOfAddress]) -> Iterator[Inlined]:
    fortran = into.canonical in ("MAIN__", f"{into.name}_")
    sizes: Counter[str] = Counter()
    known = [address for address in code.instructions if address in calls]
    for address, end in pairwise([*known, *code.instructions[-1:]]):
        for symbol, file, _ in calls[address][:-1]:
            if _is_of_user(file) and not is_outlined(symbol):
                sizes[symbol] += end - address
    with_loop = {symbol for loop in code.loops for symbol in _function_of(loop.addresses, calls)}
    for symbol, size in sizes.items():
        name = readable(symbol, fortran)
        if name != into.name and (symbol in with_loop or size >= _LEAST):
            yield Inlined(into.name, name, symbol in with_loop, size)


def _function_of(addresses: Sequence[int], calls: dict[int, CallsOfAddress]) -> list[str]:
    """The inlined function that has a loop: the innermost one of all addresses; empty for none."""
    common: list[str] | None = None
    for address in addresses:
        if address not in calls:
            continue
        chain = [symbol for symbol, _, _ in reversed(calls[address])][1:]
        if common is None:
            common = chain
        same = next((n for n, (a, b) in enumerate(zip(common, chain, strict=False)) if a != b), None)
        common = common[: min(len(common), len(chain)) if same is None else same]
    return common[-1:] if common else []
