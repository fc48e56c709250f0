# SPDX-License-Identifier: BSD-3-Clause
"""Finds the separate debug file of a stripped program or library: by build id below /usr/lib/debug, or by the name and
checksum that the file states (GDB's manual, Separate Debug Files)."""

from __future__ import annotations

import mmap
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.elf.elffile import ELFFile

SYSTEM = Path("/usr/lib/debug")
"""Debug files of the system's packages."""


def debug_file(elf: ELFFile, path: str) -> tuple[str, ELFFile]:
    """The path and the content of the file with the symbols and debug information of a module: the debug file, or the
    module itself if it has both, or there is no debug file that belongs to it."""
    if elf.get_section_by_name(".symtab") is None or not has_debug_info(elf):
        with suppress(Exception):  # pyelftools may raise anything for a damaged file
            for place, checksum in _places(elf, Path(path)):
                found = _opened(place, elf, checksum)
                if found is not None:
                    return str(place), found
    return path, elf


def has_debug_info(elf: ELFFile) -> bool:
    """True if a file has DWARF's description of functions and lines; has_dwarf_info is also true for unwind tables."""
    return any(elf.get_section_by_name(name) is not None for name in (".debug_info", ".zdebug_info"))


def _places(elf: ELFFile, path: Path) -> Iterator[tuple[Path, int | None]]:
    """Paths of debug files, with the checksum that each must have; None: the file must have the build id."""
    number = build_id_of(elf).hex()
    if number:
        yield SYSTEM / ".build-id" / number[:2] / f"{number[2:]}.debug", None
    link = elf.get_section_by_name(".gnu_debuglink")
    if link is not None:
        data = link.data()
        name = data.split(b"\0")[0].decode(errors="surrogateescape")
        checksum = int.from_bytes(data[-4:], "little")
        real = path.resolve()
        if name and "/" not in name:
            for directory in (real.parent, real.parent / ".debug", SYSTEM / real.parent.relative_to("/")):
                yield directory / name, checksum


def _opened(path: Path, elf: ELFFile, checksum: int | None) -> ELFFile | None:
    from elftools.elf.elffile import ELFFile

    if not path.is_file():
        return None
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = ELFFile(content)  # type: ignore[arg-type]  # mmap reads as a file
    belongs = build_id_of(found) == build_id_of(elf) if checksum is None else zlib.crc32(content) == checksum
    return found if belongs else None


def build_id_of(elf: ELFFile) -> bytes:
    """The build id of a file; empty for none."""
    from elftools.elf.sections import NoteSection

    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return bytes.fromhex(note["n_desc"])
    return b""
