# SPDX-License-Identifier: BSD-3-Clause
"""Finds indirect functions (STT_GNU_IFUNC: target_clones, ifunc) by the stub that stands for their address.

A compiler's hooks pass the address of the function as the program sees it: the stub of the procedure linkage table in
a program, which jumps by an entry of the global offset table. The loader fills the entry by a relocation
R_X86_64_IRELATIVE, whose addend is the resolver, which has the function's name (System V ABI, AMD64 supplement)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_STUB = 16
_JUMP = b"\xff\x25"
"""jmp *displacement(%rip)"""
_IRELATIVE = 37
_RELOCATION = struct.Struct("<QQq")
"""Elf64_Rela"""


def resolvers(elf: ELFFile, addresses: Iterable[int]) -> dict[int, int]:
    """Address of a stub -> address of the resolver of its indirect function; without other addresses."""
    if elf["e_machine"] != "EM_X86_64":
        return {}
    stubs = [(s["sh_addr"], s.data()) for s in elf.iter_sections() if s.name.startswith((".plt", ".iplt"))]
    found = {}
    for address in addresses:
        for start, code in stubs:
            stub = code[address - start : address - start + _STUB] if start <= address < start + len(code) else b""
            at = stub.find(_JUMP)
            if 0 <= at <= len(stub) - 6:
                found[address] = address + at + 6 + int.from_bytes(stub[at + 2 : at + 6], "little", signed=True)
    entries = _entries(elf) if found else {}
    return {address: entries[entry] for address, entry in found.items() if entry in entries}


def _entries(elf: ELFFile) -> dict[int, int]:
    """Address of an entry of the global offset table -> address of its resolver."""
    tables = (section.data() for section in elf.iter_sections() if section["sh_type"] == "SHT_RELA")
    rows = (row for table in tables for row in _RELOCATION.iter_unpack(table[: len(table) // 24 * 24]))
    return {offset: addend for offset, info, addend in rows if info & 0xFFFFFFFF == _IRELATIVE}
