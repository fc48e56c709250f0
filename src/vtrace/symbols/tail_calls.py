# SPDX-License-Identifier: BSD-3-Clause
"""Finds functions that a call stack lacks, since their last act was a call and the compiler made that call a jump: the
call sites in debug information (DWARF 5, section 3.4) say which function a call enters, and which of its calls are
jumps. Only what is certain is found, as in GDB ("Tail Call Frames")."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.symbols.debug_files import debug_file, has_debug_info
from vtrace.symbols.dwarf import Functions
from vtrace.symbols.lines import debug_bytes, entries_of, full_attributes, statements, unit_layout, units_with
from vtrace.symbols.symbols import FunctionStarts, function_holders

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SITES = ("DW_TAG_call_site", "DW_TAG_GNU_call_site")
_RETURNS = ("DW_AT_call_return_pc", "DW_AT_low_pc")
_IS_JUMP = ("DW_AT_call_tail_call", "DW_AT_GNU_tail_call")
_ORIGIN = ("DW_AT_call_origin", "DW_AT_abstract_origin")
"""The names of DWARF 5, then those of GNU's extension of DWARF 4."""
_DEEPEST = 4
"""The most functions between two frames."""


class _CallSite(NamedTuple):
    """A call. address: of its instruction, or the one before that to which it returns. entered: the start of the
    function that it enters, None if that is unknown or has no code in this file. outside: that
    function is in another file."""

    address: int
    jump: bool
    entered: int | None
    outside: bool


def jumps_between(
    elf: ELFFile, path: str, calls: Iterable[tuple[int, int | None]]
) -> dict[tuple[int, int | None], list[int]]:
    """For each pair of a call's address and an address in the code that ran below it (None: code of another file) the
    places of the jumps between them, outermost first. Pairs with nothing between are left out."""
    elf = debug_file(elf, path)[1]
    if not has_debug_info(elf):
        return {}
    sites, pairs = _CallSites(elf), [*calls]
    addresses = {address for pair in pairs for address in pair if address is not None}
    holders = function_holders(elf, np.array(sorted(addresses), np.uint64))
    starts = {address: start for address, (start, _) in holders.items()}
    found: dict[tuple[int, int | None], list[int]] = {}
    for call, below in pairs:
        if call in starts and (below is None or below in starts):
            jumps = sites.between(starts[call], call, None if below is None else starts[below])
            found |= {(call, below): jumps} if jumps else {}
    return found


class _CallSites:
    """The call sites of functions in one file."""

    def __init__(self, elf: ELFFile) -> None:
        self._elf, self._named = elf, FunctionStarts(elf)
        self._info = elf.get_dwarf_info(relocate_dwarf_sections=False)
        entries, abbreviations = self._info.debug_info_sec, self._info.debug_abbrev_sec
        self._functions = Functions(debug_bytes(entries), debug_bytes(abbreviations))
        self._known: dict[int, list[_CallSite]] = {}

    def between(self, start: int, call: int, target: int | None) -> list[int]:
        """The jumps between a call in the function at start and the function at target, None: one of another file. Of
        several ways the functions that all have; of jumps of one function in different lines, that function's start."""
        entered = next((site.entered for site in self._of(start) if site.address == call), None)
        if entered is None or entered == target:
            return []
        found = []
        for step in zip(*self._ways(entered, target, ()), strict=False):
            functions, jumps = {function for function, _ in step}, {jump for _, jump in step}
            if len(functions) > 1:
                break
            lines = {*statements(self._elf, sorted(jumps)).values()} if len(jumps) > 1 else ()
            found.append(min(jumps) if len(lines) < 2 else functions.pop())
        return found

    def _ways(
        self, start: int, target: int | None, before: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        """All rows of jumps from a function to the target, each with the function that makes the jump."""
        for site in self._of(start):
            jumps = (*before, (start, site.address))
            if not site.jump:
                continue
            if site.outside if target is None else site.entered == target:
                yield jumps
            elif site.entered is not None and len(jumps) < _DEEPEST:
                yield from self._ways(site.entered, target, jumps)

    def _of(self, start: int) -> list[_CallSite]:
        if start not in self._known:
            self._known[start] = [*self._read(start)]
        return self._known[start]

    def _read(self, start: int) -> Iterator[_CallSite]:
        for unit, _ in units_with(self._info, [start]):
            for function in self._functions.of(unit_layout(unit)):
                if start in entries_of(self._info, unit, function):
                    for entry in _call_sites(unit.get_DIE_from_refaddr(function.offset)):
                        if site := self._site(entry):
                            yield site
                    return

    def _site(self, entry: Any) -> _CallSite | None:
        back = next((name for name in _RETURNS if name in entry.attributes), None)
        if back is None and "DW_AT_call_pc" not in entry.attributes:
            return None
        address = entry.attributes[back].value - 1 if back else entry.attributes["DW_AT_call_pc"].value
        jump = any(name in entry.attributes for name in _IS_JUMP)
        origin = next((name for name in _ORIGIN if name in entry.attributes), None)
        if origin is None:
            return _CallSite(address, jump, None, outside=False)
        attributes, _ = full_attributes(entry.get_DIE_from_attribute(origin))
        name = next((attributes[n].value for n in ("DW_AT_linkage_name", "DW_AT_name") if n in attributes), b"")
        # static functions of C++ and internal procedures of Fortran have no name of a symbol, but their start
        start = attributes.get("DW_AT_low_pc")
        starts = [start.value] if start else self._named.named(os.fsdecode(name))
        outside = not starts and "DW_AT_external" in attributes
        return _CallSite(address, jump, starts[0] if len(starts) == 1 else None, outside)


def _call_sites(entry: Any) -> Iterator[Any]:
    """The entries of all calls in a function, without those in functions that it contains."""
    for child in entry.iter_children():
        if child.tag in _SITES:
            yield child
        elif child.tag != "DW_TAG_subprogram" and child.has_children:
            yield from _call_sites(child)
