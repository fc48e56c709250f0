# SPDX-License-Identifier: BSD-3-Clause
"""The executables and libraries of a process; finds the module of an address, and the address in its file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

File = tuple[str, bytes]
"""A module's path and build id."""


class Module(NamedTuple):
    """An executable or library in memory. slot: its offset in the code space; start, size: its memory, in bytes; bias:
    load address minus linked address; ticks: time of loading."""

    slot: int
    start: int
    size: int
    bias: int
    path: str
    build_id: bytes
    ticks: int


class Place(NamedTuple):
    """An address in a file as linked; in memory if file is None."""

    file: File | None
    address: int


def places(
    modules: Sequence[Module],
    offsets: np.ndarray[Any, np.dtype[np.uint32]],
    addresses: np.ndarray[Any, np.dtype[np.uint64]],
) -> list[Place]:
    """The places of offsets in a process's code space, followed by the places of addresses in its memory."""
    slots = sorted({module.slot: module for module in modules}.items())
    starts = sorted({module.start: module for module in modules}.items())
    found = []
    for offset in offsets.tolist():
        module = _holding(slots, offset)
        address = 0 if module is None else module.start + offset - module.slot
        found.append(_place(module, address) if module else Place(None, offset))
    for address in addresses.tolist():
        found.append(_place(_holding(starts, address), address))
    return found


def _holding(table: list[tuple[int, Module]], value: int) -> Module | None:
    i = bisect_right(table, value, key=lambda entry: entry[0]) - 1
    return table[i][1] if i >= 0 and value < table[i][0] + table[i][1].size else None


def _place(module: Module | None, address: int) -> Place:
    if module is None:
        return Place(None, address)
    return Place((module.path, module.build_id), address - module.bias)
