# SPDX-License-Identifier: BSD-3-Clause
"""Resolves the addresses of call stacks to functions, those that are inlined there, and lines."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace import paths
from vtrace.symbols.debug_files import SYSTEM, debug_file, has_debug_info
from vtrace.symbols.demangle import construct, is_outlined, readable
from vtrace.symbols.lines import Position, positions, statements
from vtrace.symbols.loop_source import Loop, SourceLoops, source_lines
from vtrace.symbols.machine_loops import FunctionLoops
from vtrace.symbols.modules import File, Place
from vtrace.symbols.symbols import Function, Symbols, by_file, function_holders, function_sizes

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_AT = re.compile(r"(?P<file>.*):(?P<line>\d+|\?)(?: \(discriminator \d+\))?")
_NOWHERE = "??"
_LIBRARIES = "libvtrace"
"""The start of the names of vtrace's libraries."""
_DIRECTIVE = re.compile(r"^\s*(#\s*pragma\s+omp|[!c*]\$omp)\b", re.IGNORECASE)
_PATIENCE = 600
"""Time limit of addr2line in seconds."""
_UNWIND_HEAD = bytes([1, 0x1B, 0x03, 0x3B])
"""Version 1; addresses relative to their place and to the header, as all linkers write them."""


class CallFrame(NamedTuple):
    """A function in a call stack, and the place in it (None, 0: unknown). loop: the innermost of the function there.
    own: code of vtrace, in its libraries or paths.PROGRAM_SECTION."""

    function: Function
    file: str | None = None
    line: int = 0
    loop: Loop | None = None
    own: bool = False


CallsOfAddress = list[tuple[str, str | None, int]]
"""Function, file and line, innermost first."""
PlaceFrames = dict[Place, tuple[CallFrame, ...]]
"""For each place: the function that has the code, then the functions that are inlined there, each into the one
before."""


def find_frames(symbols: Symbols, places: Iterable[Place], *, with_loops: bool = True) -> PlaceFrames:
    """The frames of places. Code without a known function is named by its file in brackets, with the start of its entry
    in the unwind information if there is one: a row for each address of a stripped library would show nothing."""
    wanted = set(places)
    found: PlaceFrames = {place: (CallFrame(_without_name(place.file)),) for place in wanted}
    for file, addresses in by_file(wanted):
        known = symbols.with_file(file, partial(_of_file, file=file, addresses=addresses, with_loops=with_loops))
        listed = symbols.listed(file, addresses)
        found |= {Place(file, address): (CallFrame(function),) for address, function in listed.items()}
        found |= {Place(file, address): frames for address, frames in (known or {}).items()}
        if _is_own(file):
            found |= {place: (found[place][0]._replace(own=True),) for place in (Place(file, a) for a in addresses)}
    return found


def _is_own(file: File) -> bool:
    return os.path.basename(file[0]).startswith(_LIBRARIES)


def _without_name(file: File | None, start: int | None = None) -> Function:
    place = "" if start is None else f"+{start:#x}"
    name = f"[{os.path.basename(file[0])}{place}]" if file else "[unknown code]"
    return Function(name, name)


def _of_file(
    elf: ELFFile, file: File, addresses: Sequence[int], *, with_loops: bool
) -> dict[int, tuple[CallFrame, ...]]:
    debug_path, debug = debug_file(elf, file[0])
    holders = function_holders(debug, np.array(addresses, np.int64).astype(np.uint64))
    begins = positions(debug, sorted({start for start, _ in holders.values()}))
    of_system = Path(debug_path).is_relative_to(SYSTEM)  # libraries of the system: their loops do not help the user
    loops = {} if of_system or not with_loops else _loops(elf, debug, holders)
    inside = {a for function in loops.values() for a in function.instructions}
    of_holders = {symbol for _, symbol in holders.values()}
    inlined = addr2line(debug, debug_path, sorted(inside | holders.keys()), symbols=of_holders)
    of_source = SourceLoops(loops, begins, inlined or {})
    lines = statements(debug, sorted(holders)) if inlined is None else {}
    of_vtrace = _own_code(elf)
    functions = _functions(debug, holders, begins)
    for start, of_function in loops.items():
        functions[start] = functions[start]._replace(end=_last_line(of_function, inlined or {}))
    nameless = () if _is_own(file) else (address for address in addresses if address not in holders)
    starts = _unwind_starts(elf, nameless)
    found: dict[int, tuple[CallFrame, ...]]
    found = {address: (CallFrame(_without_name(file, start)),) for address, start in starts.items()}
    for address, (start, _) in holders.items():
        function, declared = functions[start], begins.get(start, Position())
        if address in of_vtrace:
            found[address] = (CallFrame(function, own=True),)
            continue
        if inlined is None:
            at = lines.get(address, Position())
            found[address] = (CallFrame(function, at.file, at.line if at.file else 0),)
            continue
        calls = inlined.get(address) or [("", None, 0)]
        if len(calls) > 1 and calls[0][0] == holders[address][1] and calls[0][1] != calls[-1][1]:
            calls = calls[1:]  # addr2line has the symbol in place of the name of an inlined static function of C++
        if len(calls) > 1 and is_outlined(calls[-2][0]):
            calls = calls[:-1]  # clang's function around the body of a construct
        loop = loops[start].innermost(address) if start in loops else None
        position = calls[-1][1:] if calls[-1][1] else of_source.near(loop, address) or (None, 0)
        outer = CallFrame(function, *position, of_source.at(loop, 0))
        inner = [
            CallFrame(Function(readable(name, declared.fortran), name), file_of, line, of_source.at(loop, depth))
            for depth, (name, file_of, line) in enumerate(reversed(calls[:-1]), 1)
        ]
        found[address] = (outer, *inner)
    return found


def _functions(elf: ELFFile, holders: dict[int, tuple[int, str]], begins: dict[int, Position]) -> dict[int, Function]:
    """The functions by their start addresses. Bodies of OpenMP's constructs are named by the construct, if its line is
    known."""
    symbols = dict(holders.values())
    main = next((begins[s].program for s, symbol in symbols.items() if symbol == "MAIN__" and s in begins), None)
    lines = statements(elf, sorted(start for start, symbol in symbols.items() if is_outlined(symbol)))
    found = {}
    for start, symbol in symbols.items():
        declared, at = begins.get(start, Position()), lines.get(start, Position())
        if at.file and at.line:
            place = f"{os.path.basename(at.file)}:{at.line}"
            name = construct(
                symbol, declared.fortran or at.fortran, program=main, place=place, is_task=_is_task(at.file, at.line)
            )
            found[start] = Function(name, symbol, at.file, at.line)
            continue
        name = declared.program if declared.program and symbol == "MAIN__" else readable(symbol, declared.fortran)
        found[start] = Function(name, symbol, declared.file, declared.line)
    return found


def _last_line(function: FunctionLoops, calls: dict[int, CallsOfAddress]) -> int:
    """The last line of a function's own code, without inlined functions; 0: unknown."""
    places = [calls[address][-1][1:] for address in function.instructions if calls.get(address)]
    file = places[0][0] if places else None
    return max((line for of, line in places if of == file), default=0) if file else 0


def _is_task(file: str, line: int) -> bool:
    """True if a construct is a task by its directive, in its line or the line before; the symbol does not distinguish
    tasks."""
    lines = source_lines(file)
    texts = [lines[at] for at in (line, line - 1) if 0 < at < len(lines)]
    directive = next((text for text in texts if _DIRECTIVE.search(text)), "")
    return "task" in directive.lower()


def _own_code(elf: ELFFile) -> range:
    section = elf.get_section_by_name(paths.PROGRAM_SECTION)
    return range(section["sh_addr"], section["sh_addr"] + section["sh_size"]) if section else range(0)


def _loops(elf: ELFFile, debug: ELFFile, holders: dict[int, tuple[int, str]]) -> dict[int, FunctionLoops]:
    """The loops of functions by their start addresses; none without debug information, since loops are named by lines.
    elf: the file with the code; debug: with the symbols."""
    if not has_debug_info(debug):
        return {}
    try:
        sizes = function_sizes(debug, {start for start, _ in holders.values()})
        return {start: FunctionLoops(elf, start, size) for start, size in sorted(sizes.items())}
    except Exception:  # pyelftools and capstone may raise anything for a damaged file
        return {}


def addr2line(
    elf: ELFFile, path: str, addresses: Sequence[int], *, symbols: Collection[str] = ()
) -> dict[int, CallsOfAddress] | None:
    """The inlined functions and lines of addresses, from addr2line of binutils; None without it. The tool knows all
    forms of debug information, and is faster than any package of Python. symbols: of the functions with the addresses.
    Of an inlined function without a linkage name (static in C++, internal in Fortran) the tool's first answer has such
    a symbol in place of the function's name, and only the next answers have the name."""
    if not has_debug_info(elf):
        return {}
    found = _answers(path, addresses)
    doubtful = [a for a, calls in (found or {}).items() if len(calls) > 1 and calls[0][0] in symbols]
    again = _answers(path, [address for address in doubtful for _ in range(2)]) if doubtful else {}
    return None if found is None else found | (again or {})


def _answers(path: str, addresses: Sequence[int]) -> dict[int, CallsOfAddress] | None:
    """The last answer of addr2line for each address."""
    words = ["addr2line", "--addresses", "--functions", "--inlines", f"--exe={path}"]
    asked = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(words, input=asked, capture_output=True, text=True, timeout=_PATIENCE, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(_parsed(done.stdout.splitlines())) if done.returncode == 0 else None


def _parsed(lines: Sequence[str]) -> Iterator[tuple[int, CallsOfAddress]]:
    calls: CallsOfAddress = []
    row = 0
    while row < len(lines):
        if lines[row].startswith("0x"):
            calls = []
            yield int(lines[row], 16), calls
            row += 1
            continue
        at = _AT.fullmatch(lines[row + 1]) if row + 1 < len(lines) else None
        if at and at["file"] != _NOWHERE and at["line"] not in ("?", "0"):
            calls.append((lines[row], os.path.normpath(at["file"]), int(at["line"])))
        else:
            calls.append((lines[row], None, 0))
        row += 2


def _unwind_starts(elf: ELFFile, addresses: Iterable[int]) -> dict[int, int]:
    """Address -> the start of the entry that holds it in .eh_frame (LSB Core, "Exception Frames"), usually a function;
    without other addresses. Files without symbols have this table, too."""
    header, frames = elf.get_section_by_name(".eh_frame_hdr"), elf.get_section_by_name(".eh_frame")
    content = header.data() if header and header["sh_type"] != "SHT_NOBITS" else b""
    if header is None or frames is None or not content.startswith(_UNWIND_HEAD) or len(content) < 12:
        return {}
    count = min(int.from_bytes(content[8:12], "little"), (len(content) - 12) // 8)
    table = np.frombuffer(content, "<i4", 2 * count, 12).reshape(-1, 2).astype(np.int64) + header["sh_addr"]
    entries = frames.data()
    found = {}
    for address in addresses:
        i = int(np.searchsorted(table[:, 0], address, "right")) - 1
        if i >= 0 and address - int(table[i, 0]) < _code_size(entries, int(table[i, 1]) - frames["sh_addr"]):
            found[address] = int(table[i, 0])
    return found


def _code_size(entries: bytes, at: int) -> int:
    """The bytes of code of the entry at a place: the word after its length, its CIE and its start."""
    return int.from_bytes(entries[at + 12 : at + 16], "little") if 0 <= at <= len(entries) - 16 else 0
