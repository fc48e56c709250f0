# SPDX-License-Identifier: BSD-3-Clause
"""Finds source lines in DWARF: of functions' declarations, and of the statements of machine instructions. Reads only
compilation units with wanted addresses."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vtrace.symbols.dwarf import DwarfFunction, Functions, Unit

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_FORTRAN = {0x07, 0x08, 0x0E, 0x22, 0x23, 0x2D, 0x2E}
"""Values of DW_AT_language."""
_AT_ADDRESS = b"\x09\x03"
"""The beginning of a variable's location: 9 bytes, DW_OP_addr."""


@dataclass(frozen=True)
class Position:
    """Position of a function's declaration. file None and line 0: unknown. program: name of a Fortran main program."""

    file: str | None = None
    line: int = 0
    fortran: bool = False
    program: str | None = None


def positions(elf: ELFFile, addresses: Sequence[int]) -> dict[int, Position]:
    """The known positions of the functions that begin at these addresses of the file."""
    found: dict[int, Position] = {}
    try:
        if not elf.has_dwarf_info():
            return found
        info = elf.get_dwarf_info(relocate_dwarf_sections=False)
        functions = Functions(debug_bytes(info.debug_info_sec), debug_bytes(info.debug_abbrev_sec))
        for unit, wanted in units_with(info, sorted(addresses)):
            try:
                found.update(_unit_positions(info, unit, functions, set(wanted)))
            except Exception:  # as below
                continue
    except Exception:  # pyelftools may raise anything for data that it does not know: no positions then
        pass
    return found


def variable_positions(elf: ELFFile, addresses: Sequence[int]) -> dict[int, Position]:
    """The known positions of the declarations of variables that begin at these addresses of the file."""
    found: dict[int, Position] = {}
    try:
        if not elf.has_dwarf_info():
            return found
        info = elf.get_dwarf_info(relocate_dwarf_sections=False)
        entries = debug_bytes(info.debug_info_sec)
        functions = Functions(entries, debug_bytes(info.debug_abbrev_sec))
        for address in addresses:
            location = entries.find(_AT_ADDRESS + address.to_bytes(8, "little")) + 1
            if not location:
                continue
            unit = info.get_CU_containing(location)
            offset = functions.variable(unit_layout(unit), location)
            if offset is None:
                continue
            attributes, declared_in = full_attributes(unit.get_DIE_from_refaddr(offset))
            line, index = attributes.get("DW_AT_decl_line"), attributes.get("DW_AT_decl_file")
            if line is not None and index is not None:
                found[address] = Position(_file(info, declared_in, index.value), line.value)
    except Exception:  # as in positions
        pass
    return found


def debug_bytes(section: Any) -> bytes:
    """The content of a section of debug information."""
    data: bytes = section.stream.getvalue()
    return data


def units_with(info: Any, addresses: list[int]) -> Iterator[tuple[Any, list[int]]]:
    """The compilation units that contain these addresses, each with its addresses. addresses: ascending. Uses
    .debug_aranges, and the ranges of the units for addresses that .debug_aranges lacks."""
    by_offset: dict[int, list[int]] = {}
    left: list[int] = []
    ranges = info.get_aranges()
    for address in addresses:
        offset = ranges.cu_offset_at_addr(address) if ranges else None
        if offset is None:
            left.append(address)
        else:
            by_offset.setdefault(offset, []).append(address)
    for offset, wanted in by_offset.items():
        yield info.get_CU_at(offset), wanted
    for unit in info.iter_CUs() if left else ():
        wanted = [a for low, high in _spans(info, unit) for a in left[bisect_left(left, low) : bisect_left(left, high)]]
        if wanted:
            yield unit, wanted


def _spans(info: Any, unit: Any) -> Iterator[tuple[int, int]]:
    attributes = unit.get_top_DIE().attributes
    if "DW_AT_high_pc" in attributes:
        base, high = _base(unit), attributes["DW_AT_high_pc"]
        yield base, high.value if high.form == "DW_FORM_addr" else base + high.value
    elif "DW_AT_ranges" in attributes:
        yield from _ranges(info, unit, attributes["DW_AT_ranges"].value)


def _base(unit: Any) -> int:
    low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    return low.value if low else 0


def _ranges(info: Any, unit: Any, offset: int) -> Iterator[tuple[int, int]]:
    lists, base = info.range_lists(), _base(unit)
    for entry in lists.get_range_list_at_offset(offset, cu=unit) if lists else ():
        if hasattr(entry, "base_address"):
            base = entry.base_address
        else:
            start = 0 if getattr(entry, "is_absolute", False) else base
            yield start + entry.begin_offset, start + entry.end_offset


def _unit_positions(info: Any, unit: Any, functions: Functions, wanted: set[int]) -> dict[int, Position]:
    fortran = _is_fortran(unit)
    found = {address: Position(None, 0, fortran) for address in wanted}
    missing = set(wanted)
    files: dict[tuple[int, int], str | None] = {}
    for function in functions.of(unit_layout(unit)):
        for address in missing & entries_of(info, unit, function):
            missing.discard(address)
            die = unit.get_DIE_from_refaddr(function.offset)
            attributes, declared_in = full_attributes(die)
            while "DW_AT_decl_line" not in attributes and (die := die.get_parent()):
                # g++ states no line for a lambda's body, only for its class; gfortran none for the body of a construct
                attributes, declared_in = dict(die.attributes), unit
            line, index = attributes.get("DW_AT_decl_line"), attributes.get("DW_AT_decl_file")
            file = None
            if index is not None:
                key = (declared_in.cu_offset, index.value)
                if key not in files:
                    files[key] = _file(info, declared_in, index.value)
                file = files[key]
            name = _text_of(attributes.get("DW_AT_name")) if fortran else ""
            found[address] = Position(file, line.value if line is not None else 0, fortran, name or None)
        if not missing:
            break
    return found


def _is_fortran(unit: Any) -> bool:
    language = unit.get_top_DIE().attributes.get("DW_AT_language")
    return language is not None and language.value in _FORTRAN


def unit_layout(unit: Any) -> Unit:
    """Where the entries of one of pyelftools' units are."""
    offset_size = 8 if unit.structs.dwarf_format == 64 else 4
    end = unit.cu_offset + unit["unit_length"] + (12 if offset_size == 8 else 4)
    return Unit(
        unit.cu_offset,
        unit.get_top_DIE().offset,
        end=end,
        abbreviations=unit["debug_abbrev_offset"],
        address_size=unit["address_size"],
        offset_size=offset_size,
    )


def entries_of(info: Any, unit: Any, function: DwarfFunction) -> set[int]:
    """The addresses at which a function may begin. The caller selects the address if there are hot and cold parts."""
    if function.address is not None:
        return {function.address}
    if function.slot is not None:
        return {info.get_addr(unit, function.slot)}
    die = unit.get_DIE_from_refaddr(function.offset)
    return {low for low, _ in _ranges(info, unit, die.attributes["DW_AT_ranges"].value)}


def full_attributes(die: Any) -> tuple[dict[str, Any], Any]:
    """A function's own attributes, then those of its declaration and of its abstract instance; and the compilation unit
    whose files DW_AT_decl_file counts. With -flto the abstract instance is in another unit than the code."""
    found: dict[str, Any] = {}
    declared_in = die.cu
    for _ in range(8):  # entries of a damaged file may refer to each other
        if "DW_AT_decl_file" in die.attributes and "DW_AT_decl_file" not in found:
            declared_in = die.cu
        found = dict(die.attributes) | found
        link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in die.attributes), None)
        if link is None:
            break
        die = die.get_DIE_from_attribute(link)
    return found, declared_in


def _file(info: Any, unit: Any, index: int) -> str | None:
    """The path of a file of a compilation unit's line table; None for an index out of range."""
    program = info.line_program_for_CU(unit)
    return _file_of(program.header, index, _directory(unit)) if program is not None else None


def _directory(unit: Any) -> str:
    return _text_of(unit.get_top_DIE().attributes.get("DW_AT_comp_dir"))


def _file_of(header: Any, index: int, comp_dir: str) -> str | None:
    """The path of a file of a line table; None for an index out of range. index counts from 1 before DWARF 5, from 0
    since; relative paths are relative to comp_dir."""
    old = header["version"] < 5
    entries, directories = header["file_entry"], header["include_directory"]
    number = index - 1 if old else index
    if not 0 <= number < len(entries):
        return None
    entry = entries[number]
    place = entry.dir_index - 1 if old else entry.dir_index
    directory = os.fsdecode(directories[place]) if 0 <= place < len(directories) else ""
    return os.path.normpath(os.path.join(comp_dir, directory, os.fsdecode(entry.name)))


def _text_of(attribute: Any) -> str:
    """The value of a string attribute; empty for None or another type."""
    return os.fsdecode(attribute.value) if attribute is not None and isinstance(attribute.value, bytes) else ""


def statements(elf: ELFFile, addresses: Sequence[int]) -> dict[int, Position]:
    """The known positions of the statements at these addresses of the file."""
    found: dict[int, Position] = {}
    try:
        if elf.has_dwarf_info():
            info = elf.get_dwarf_info(relocate_dwarf_sections=False)
            for unit, wanted in units_with(info, sorted(addresses)):
                found.update(_statements_of(info, unit, sorted(set(wanted))))
    except Exception:  # pyelftools may raise anything for data that it does not know: no positions then
        pass
    return found


def _statements_of(info: Any, unit: Any, wanted: list[int]) -> dict[int, Position]:
    fortran, directory = _is_fortran(unit), _directory(unit)
    program = info.line_program_for_CU(unit)
    found: dict[int, Position] = {}
    row = None
    for entry in program.get_entries() if program is not None else ():
        state = entry.state
        if state is None:
            continue
        if row is not None:
            for address in wanted[bisect_left(wanted, row[0]) : bisect_left(wanted, state.address)]:
                found[address] = Position(_file_of(program.header, row[1], directory), row[2], fortran)
        if state.end_sequence:
            row = None
        elif state.line or row is None:  # line 0: the code belongs to the line before
            row = (state.address, state.file, state.line)
        else:
            row = (state.address, *row[1:])
    return found
