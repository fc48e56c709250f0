# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a file without symbols, from the table of its unwind information (LSB Core, "Exception Frames")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_HEAD = bytes([1, 0x1B, 0x03, 0x3B])
"""Version 1; addresses relative to their place and to the header, as all linkers write them."""


def unwind_starts(elf: ELFFile, addresses: Iterable[int]) -> dict[int, int]:
    """Address -> the start of the entry that holds it in .eh_frame, usually a function; without other addresses."""
    header, frames = elf.get_section_by_name(".eh_frame_hdr"), elf.get_section_by_name(".eh_frame")
    content = header.data() if header and header["sh_type"] != "SHT_NOBITS" else b""
    if header is None or frames is None or not content.startswith(_HEAD) or len(content) < 12:
        return {}
    count = min(int.from_bytes(content[8:12], "little"), (len(content) - 12) // 8)
    table = np.frombuffer(content, "<i4", 2 * count, 12).reshape(-1, 2).astype(np.int64) + header["sh_addr"]
    entries = frames.data()
    found = {}
    for address in addresses:
        i = int(np.searchsorted(table[:, 0], address, "right")) - 1
        if i >= 0 and address - int(table[i, 0]) < _size(entries, int(table[i, 1]) - frames["sh_addr"]):
            found[address] = int(table[i, 0])
    return found


def _size(entries: bytes, at: int) -> int:
    """The bytes of code of the entry at a place: the word after its length, its CIE and its start."""
    return int.from_bytes(entries[at + 12 : at + 16], "little") if 0 <= at <= len(entries) - 16 else 0
