# SPDX-License-Identifier: BSD-3-Clause
"""Finds functions in DWARF's tree by address, and skips all other entries.

pyelftools decodes each entry, which is fifty times slower; one C++ compilation unit has a hundred thousand entries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_SUBPROGRAM, _VARIABLE = 0x2E, 0x34
_WITHOUT_FUNCTIONS = {0x04, 0x1D, 0x48, 0x4109}
"""Tags to skip with DW_AT_sibling: enumerations, inlined subroutines, call sites. Not classes: these contain local
functions."""
_SIBLING, _LOCATION, _LOW_PC, _RANGES = 0x01, 0x02, 0x11, 0x55
_INDIRECT, _IMPLICIT_CONST, _ADDR = 0x16, 0x21, 0x01
_ADDRESS_INDEX = {0x1B, 0x29, 0x2A, 0x2B, 0x2C, 0x1F01}
"""Forms that are an index into .debug_addr."""
_LEB = {0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02}
_COUNTED = {0x03: 2, 0x04: 4, 0x0A: 1}
_BLOCK = 0x18
_LEB_COUNTED = {0x09, _BLOCK}
_LONGEST = 64
"""Bytes of a variable's entry before its location."""
_STRING = 0x08
_SIZES = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1C: 4, 0x1E: 16,
    0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
_OFFSETS = (0x0E, 0x10, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21)
"""Forms with the size of the unit's offsets."""


class _Abbreviation(NamedTuple):
    """One abbreviation: tag and attributes (name, form) of its entries. size: bytes of an entry after the code, -1 if
    variable."""

    tag: int
    size: int
    has_sibling: bool
    attributes: list[tuple[int, int]]


class DwarfFunction(NamedTuple):
    """A function's entry: offset in .debug_info, and the function's address or its index in .debug_addr. Both are None
    if the code has several ranges."""

    offset: int
    address: int | None = None
    slot: int | None = None


class Unit(NamedTuple):
    """A compilation unit in .debug_info: offsets of the unit, its entries, its end and its abbreviations; sizes of
    addresses and offsets, all in bytes."""

    offset: int
    entries: int
    end: int
    abbreviations: int
    address_size: int
    offset_size: int


class Functions:
    """Reads the functions and variables of units. info, abbreviations: the bytes of .debug_info and .debug_abbrev."""

    def __init__(self, info: bytes, abbreviations: bytes) -> None:
        self._info = info
        self._abbreviations = abbreviations
        self._tables: dict[tuple[int, int, int], dict[int, _Abbreviation]] = {}

    def variable(self, unit: Unit, location: int) -> int | None:
        """The offset of the entry of the variable whose location (a block) is at this offset; None: no variable's."""
        sizes = self._sizes(unit)
        kinds = self._kinds(unit, sizes)
        for begin in range(location - 1, max(unit.entries, location - _LONGEST), -1):
            code, at = _leb(self._info, begin)
            if code in kinds and kinds[code].tag == _VARIABLE:
                with suppress(KeyError, IndexError, ValueError):  # no entry begins here
                    if self._values(at, kinds[code], sizes, (_LOCATION,))[0].get(_LOCATION) == (_BLOCK, location):
                        return begin
        return None

    def _sizes(self, unit: Unit) -> dict[int, int]:
        return _SIZES | dict.fromkeys(_OFFSETS, unit.offset_size) | {_ADDR: unit.address_size}

    def of(self, unit: Unit) -> Iterator[DwarfFunction]:
        """All functions of a unit that have code. Raises IndexError or KeyError for a damaged unit."""
        data, at = self._info, unit.entries
        sizes = self._sizes(unit)
        kinds = self._kinds(unit, sizes)
        while at < unit.end:
            begin = at
            code = data[at]
            at += 1
            if code >= 0x80:
                code, at = _leb(data, begin)
            if not code:
                continue
            kind = kinds[code]
            if kind.tag == _SUBPROGRAM:
                values, at = self._values(at, kind, sizes, (_LOW_PC, _RANGES))
                yield from _function(begin, values)
            elif kind.has_sibling:
                values, at = self._values(at, kind, sizes, (_SIBLING,))
                target = unit.offset + values[_SIBLING][1]
                at = target if at < target <= unit.end else at
            elif kind.size >= 0:
                at += kind.size
            else:
                at = self._values(at, kind, sizes, ())[1]

    def _kinds(self, unit: Unit, sizes: dict[int, int]) -> dict[int, _Abbreviation]:
        key = (unit.abbreviations, unit.address_size, unit.offset_size)
        if key not in self._tables:
            self._tables[key] = dict(self._read_kinds(unit.abbreviations, sizes))
        return self._tables[key]

    def _read_kinds(self, at: int, sizes: dict[int, int]) -> Iterator[tuple[int, _Abbreviation]]:
        data = self._abbreviations
        code, at = _leb(data, at)
        while code:
            tag, at = _leb(data, at)
            at += 1
            attributes = []
            while True:
                name, at = _leb(data, at)
                form, at = _leb(data, at)
                if form == _IMPLICIT_CONST:
                    at = _leb(data, at)[1]
                if not name and not form:
                    break
                attributes.append((name, form))
            fixed = [sizes.get(form, -1) for _, form in attributes]
            sibling = tag in _WITHOUT_FUNCTIONS and any(name == _SIBLING for name, _ in attributes)
            yield code, _Abbreviation(tag, -1 if -1 in fixed else sum(fixed), sibling, attributes)
            code, at = _leb(data, at)

    def _values(
        self, at: int, kind: _Abbreviation, sizes: dict[int, int], wanted: tuple[int, ...]
    ) -> tuple[dict[int, tuple[int, int]], int]:
        """The wanted numeric attributes as name -> (form, value; of a block its offset), and the offset of the entry's
        end."""
        data = self._info
        found = {}
        for name, form in kind.attributes:
            if form == _INDIRECT:
                form, at = _leb(data, at)
            begin = at
            if form in sizes:
                at += sizes[form]
                value = int.from_bytes(data[begin:at], "little") if name in wanted else 0
            elif form in _LEB:
                value, at = _leb(data, at)
            elif form in _COUNTED:
                at += _COUNTED[form]
                value = int.from_bytes(data[begin:at], "little")
                at += value
            elif form in _LEB_COUNTED:
                size, value = _leb(data, at)
                at = value + size
            elif form == _STRING:
                value, at = 0, data.index(0, at) + 1
            else:
                raise KeyError(form)
            if name in wanted:
                found[name] = (form, value)
        return found, at


def _function(offset: int, values: dict[int, tuple[int, int]]) -> Iterator[DwarfFunction]:
    if _LOW_PC in values:
        form, value = values[_LOW_PC]
        yield DwarfFunction(offset, slot=value) if form in _ADDRESS_INDEX else DwarfFunction(offset, address=value)
    elif _RANGES in values:
        yield DwarfFunction(offset)


def _leb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
