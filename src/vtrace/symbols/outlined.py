# SPDX-License-Identifier: BSD-3-Clause
"""Finds the functions whose parallel regions clang has outlined.

Up to version 14, clang names all outlined functions .omp_outlined., without the name of the original function; their
order does not help either. But a function that forks a parallel region passes the address of the outlined function to
libomp, so its code contains the address: on x86-64 relative to the next instruction (lea), or absolute (mov) in
programs at a fixed address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

Holders = dict[int, tuple[int, str]]
"""Address -> start and symbol of the function that contains the address."""
_OUTLINED = re.compile(r"\.omp_(outlined|task_entry)\..*")
_SHF_EXECINSTR = 4
_BATCH = 1 << 20
"""Words of code to search at once: a program may have hundreds of megabytes of code."""


def with_outlined_names(elf: ELFFile, found: Holders, holders: Callable[[Any], Holders]) -> Holders:
    """found with outlined functions renamed: FUNCTION.omp_outlined.1, for example, if exactly one FUNCTION uses the
    outlined function. holders: computes Holders for other addresses."""
    begins = {begin for begin, name in found.values() if _OUTLINED.fullmatch(name)}
    if not begins or elf["e_machine"] != "EM_X86_64":
        return found
    users: dict[int, set[tuple[int, str]]] = {}
    asked: set[int] = set()
    while begins - asked:  # an outlined function may itself have outlined functions
        new, asked = begins - asked, asked | begins
        places = _uses(elf, new)
        around = holders(np.array(sorted(places), np.uint64))
        for place, body in places.items():
            if place in around and around[place][0] != body:
                users.setdefault(body, set()).add(around[place])
                if _OUTLINED.fullmatch(around[place][1]):
                    begins.add(around[place][0])
    of = {body: name for body in sorted(asked) if (name := _enclosing(body, users))}
    names: dict[int, str] = {}
    met: dict[str, int] = {}
    for body, function in of.items():
        number = met[function] = met.get(function, -1) + 1
        names[body] = f"{function}.omp_outlined" + (f".{number}" if number else "")
    return {address: (begin, names.get(begin, name)) for address, (begin, name) in found.items()}


def _enclosing(body: int, users: dict[int, set[tuple[int, str]]]) -> str:
    """The function at the end of the chain of users; empty for no user, several users or a cycle."""
    for _ in users:
        mine = users.get(body, set())
        if len(mine) != 1:
            return ""
        ((body, name),) = mine
        if not _OUTLINED.fullmatch(name):
            return name
    return ""


def _uses(elf: ELFFile, begins: Iterable[int]) -> dict[int, int]:
    """Address in the code -> start of the function whose address the code contains there. begins: functions to find."""
    wanted = np.array(sorted(begins), np.int64)
    found: dict[int, int] = {}
    for section in elf.iter_sections():
        if not section["sh_flags"] & _SHF_EXECINSTR or section["sh_type"] != "SHT_PROGBITS":
            continue
        data = section.data()
        for shift in range(4):
            every = np.frombuffer(data, "<i4", max(0, len(data) - shift) // 4, shift)
            for first in range(0, len(every), _BATCH):
                words = every[first : first + _BATCH].astype(np.int64)
                at = section["sh_addr"] + shift + 4 * (first + np.arange(len(words)))
                for values in (at + 4 + words, words):
                    rows = np.flatnonzero(np.isin(values, wanted))
                    found |= dict(zip(at[rows].tolist(), values[rows].tolist(), strict=True))
    return found
