# SPDX-License-Identifier: BSD-3-Clause
"""From which functions clang has outlined the bodies of their parallel regions.

Up to version 14, clang calls all these pieces .omp_outlined., whatever function they come from, and their order does
not tell either. But a function that forks a parallel region hands the address of its piece to libomp, so this address
stands in the function's code: on x86-64 relative to the next instruction (lea) or, in programs at a fixed address, as
it is (mov).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

Holders = dict[int, tuple[int, str]]
_PIECE = re.compile(r"\.omp_(outlined|task_entry)\..*")
_CODE = 4  # SHF_EXECINSTR
_AT_ONCE = 1 << 20
"""Words of code that are looked at together: a program may have hundreds of megabytes."""


def with_owners(elf: ELFFile, found: Holders, holders: Callable[[Any], Holders]) -> Holders:
    """found (address -> begin and linker's name of the function that holds it), where a piece that only one function
    uses is called FUNCTION.omp_outlined.1, for example. holders: finds the same for other addresses."""
    begins = {begin for begin, name in found.values() if _PIECE.fullmatch(name)}
    if not begins or elf["e_machine"] != "EM_X86_64":
        return found
    owners: dict[int, set[tuple[int, str]]] = {}
    asked: set[int] = set()
    while begins - asked:  # a piece may have pieces
        new, asked = begins - asked, asked | begins
        places = _uses(elf, new)
        around = holders(np.array(sorted(places), np.uint64))
        for place, piece in places.items():
            if place in around and around[place][0] != piece:
                owners.setdefault(piece, set()).add(around[place])
                if _PIECE.fullmatch(around[place][1]):
                    begins.add(around[place][0])
    of = {piece: name for piece in sorted(asked) if (name := _owner(piece, owners))}
    names: dict[int, str] = {}
    met: dict[str, int] = {}
    for piece, owner in of.items():
        number = met[owner] = met.get(owner, -1) + 1
        names[piece] = f"{owner}.omp_outlined" + (f".{number}" if number else "")
    return {address: (begin, names.get(begin, name)) for address, (begin, name) in found.items()}


def _owner(piece: int, owners: dict[int, set[tuple[int, str]]]) -> str:
    """The function at the end of the chain of users; empty: there are none or several, or the chain has no end."""
    for _ in owners:
        mine = owners.get(piece, set())
        if len(mine) != 1:
            return ""
        ((piece, name),) = mine
        if not _PIECE.fullmatch(name):
            return name
    return ""


def _uses(elf: ELFFile, begins: Iterable[int]) -> dict[int, int]:
    """Address in the code -> function whose address stands there, of these functions."""
    wanted = np.array(sorted(begins), np.int64)
    found: dict[int, int] = {}
    for section in elf.iter_sections():
        if not section["sh_flags"] & _CODE or section["sh_type"] != "SHT_PROGBITS":
            continue
        data = section.data()
        for shift in range(4):
            every = np.frombuffer(data, "<i4", max(0, len(data) - shift) // 4, shift)
            for first in range(0, len(every), _AT_ONCE):
                words = every[first : first + _AT_ONCE].astype(np.int64)
                at = section["sh_addr"] + shift + 4 * (first + np.arange(len(words)))
                for values in (at + 4 + words, words):
                    rows = np.flatnonzero(np.isin(values, wanted))
                    found |= dict(zip(at[rows].tolist(), values[rows].tolist(), strict=True))
    return found
