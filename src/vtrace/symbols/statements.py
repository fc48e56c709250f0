# SPDX-License-Identifier: BSD-3-Clause
"""Finds the source line of a machine instruction in DWARF's line tables."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vtrace.symbols.lines import FORTRAN, Position, file_of, text_of, units

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


def statements(elf: ELFFile, addresses: Sequence[int]) -> dict[int, Position]:
    """The known positions of the statements at these addresses of the file."""
    found: dict[int, Position] = {}
    try:
        if elf.has_dwarf_info():
            info = elf.get_dwarf_info(relocate_dwarf_sections=False)
            for unit, wanted in units(info, sorted(addresses)):
                found.update(_of_unit(info, unit, sorted(set(wanted))))
    except Exception:  # pyelftools may raise anything for data that it does not know: no positions then
        pass
    return found


def _of_unit(info: Any, unit: Any, wanted: list[int]) -> dict[int, Position]:
    top = unit.get_top_DIE()
    language = top.attributes.get("DW_AT_language")
    fortran = language is not None and language.value in FORTRAN
    directory = text_of(top.attributes.get("DW_AT_comp_dir"))
    program = info.line_program_for_CU(unit)
    found: dict[int, Position] = {}
    row = None
    for entry in program.get_entries() if program is not None else ():
        state = entry.state
        if state is None:
            continue
        if row is not None:
            for address in wanted[bisect_left(wanted, row[0]) : bisect_left(wanted, state.address)]:
                found[address] = Position(file_of(program.header, row[1], directory), row[2], fortran)
        if state.end_sequence:
            row = None
        elif state.line or row is None:  # line 0: the code belongs to the line before
            row = (state.address, state.file, state.line)
        else:
            row = (state.address, *row[1:])
    return found
