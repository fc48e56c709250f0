# SPDX-License-Identifier: BSD-3-Clause
"""Lines of CPython's instructions, by the table of a code object (3.11 and newer: Objects/locations.md of CPython)."""

from __future__ import annotations

from bisect import bisect_right

_NO_LINE, _LONG, _NO_COLUMNS, _ONE_LINE = 15, 14, 13, 10
"""Codes of an entry's form; _ONE_LINE to _NO_COLUMNS - 1: one-line forms, which state the difference in lines."""


class PythonLines:
    """The lines of a code object. table: its co_linetable; first: its co_firstlineno."""

    def __init__(self, table: bytes, first: int) -> None:
        self._starts: list[int] = []
        self._lines: list[int] = []
        unit, line, at = 0, first, 0
        while at < len(table):
            form, units = table[at] >> 3 & 15, (table[at] & 7) + 1
            at += 1
            if form in (_LONG, _NO_COLUMNS):
                line += _signed(_varint(table, at))
            elif _ONE_LINE <= form < _NO_COLUMNS:
                line += form - _ONE_LINE
            self._starts.append(unit)
            self._lines.append(0 if form == _NO_LINE else line)
            unit += units
            while at < len(table) and not table[at] & 128:  # the first byte of an entry has bit 7
                at += 1
        self._end = unit

    def of(self, unit: int) -> int:
        """The line of an instruction, by its number in code units of 2 bytes; 0: unknown."""
        return self._lines[bisect_right(self._starts, unit) - 1] if 0 <= unit < self._end else 0


def _varint(table: bytes, at: int) -> int:
    """A number in groups of 6 bits, the lowest first; bit 6: another group follows."""
    value = shift = 0
    while at < len(table) and not table[at] & 128:
        value |= (table[at] & 63) << shift
        if not table[at] & 64:
            break
        shift += 6
        at += 1
    return value


def _signed(value: int) -> int:
    return -(value >> 1) if value & 1 else value >> 1
