# SPDX-License-Identifier: BSD-3-Clause
"""The X macros of OTF2's events and definitions in csrc: names, arguments with their types, and their columns."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

from support.tools import ROOT

NUMBERS = {
    "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
    "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
    "float": ctypes.c_float, "double": ctypes.c_double,
}  # fmt: skip


@dataclass(frozen=True)
class Callback:
    """A line of an X macro. arguments: C types and names; shown: the columns."""

    name: str
    text: str
    arguments: tuple[tuple[str, str], ...]
    shown: tuple[str, ...]

    @property
    def ctypes(self) -> list[type]:
        """The types of the arguments; vt_attribute_value is passed like a number."""
        kinds = {**NUMBERS, "vt_attribute_value": ctypes.c_uint64}
        return [ctypes.c_void_p if "*" in kind else kinds[kind] for kind, _ in self.arguments]


def joined(header: str) -> str:
    """The text of csrc/HEADER with each macro on one line."""
    return (ROOT / "csrc" / header).read_text().replace("\\\n", " ")


def values(header: str, prefix: str) -> dict[str, list[list[str]]]:
    """Use, type, kind and name of each value in the X macros of csrc/HEADER whose names begin with a prefix."""
    found: dict[str, list[list[str]]] = {}
    for name, line in re.findall(rf"^#define {prefix}(\w+)\(X\)(.*)$", joined(header), re.MULTILINE):
        same = re.fullmatch(rf" {prefix}(\w+)\(X\)", line)
        rows = re.findall(r"X\(([^()]*)\)", line)
        found[name] = found[same[1]] if same else [[word.strip() for word in row.split(",")] for row in rows]
    return found


def listed(header: str, macro: str) -> list[list[str]]:
    """The name, and further words, of each row of an X macro of csrc/HEADER."""
    line = re.search(rf"^#define {macro}\(X\)(.*)$", joined(header), re.MULTILINE)
    assert line is not None
    return [[word.strip() for word in row.split(",")] for row in re.findall(r"X\(([^()]*)\)", line[1])]


def callback(name: str, head: str, rows: list[list[str]], shown: list[str]) -> Callback:
    """The callback of a macro's values. head: the leading arguments."""
    text = ", ".join([head, *(f"{row[1]} {row[3]}" for row in rows)])
    return Callback(name, text, tuple((row[1], row[3]) for row in rows), tuple(shown))


def written_by_hand() -> list[Callback]:
    """The callbacks of definitions with texts and lists, whose arguments the macro has."""
    line = re.search(r"^#define VT_READ_LISTED_DEFINITIONS\(X\)(.*)$", joined(_DEFINITIONS), re.MULTILINE)
    assert line is not None
    found = []
    for name, arguments, shown in re.findall(r"X\((\w+),\s+\(([^()]*)\),\s+([^()]*)\)", line[1]):
        pairs = [re.match(r"^(.*?[ *])(\w+)$", " ".join(part.split())) for part in arguments.split(",")]
        split = [(pair[1].strip(), pair[2]) for pair in pairs if pair and pair[2] != "user"]
        found.append(Callback(name, arguments, tuple(split), tuple(shown.replace(" ", "").split(","))))
    return found


_EVENTS, _DEFINITIONS = "otf2_writer/otf2_events.h", "otf2_reader/definitions.h"
_VALUES = values(_EVENTS, "VT_E_")
_DEFINED = values(_DEFINITIONS, "VT_D_")


def _shown(name: str, *, bare: bool) -> list[str]:
    """The columns of an event: its reference, and the other values, which bare events do not keep."""
    refs = [row[3] for row in _VALUES[name] if row[0] in ("REF", "ALSO")]
    words = [row[3] for row in _VALUES[name] if row[0] not in ("REF", "ALSO")]
    return [*(refs or ["NONE"]), *([] if bare else words)]


EVENTS = [
    callback(name, "VT_READ_HEAD", _VALUES[name], _shown(name, bare=macro == "VT_READ_BARE_EVENTS"))
    for macro in ("VT_READ_BARE_EVENTS", "VT_READ_EVENTS")
    for name, *_ in listed(_EVENTS, macro)
]
LIST_EVENTS = [
    callback(name, "VT_READ_HEAD", _VALUES[name], shown) for name, *shown in listed(_EVENTS, "VT_READ_LIST_EVENTS")
]
DEFINITIONS = [
    callback(name, "void *user", _DEFINED[name], [row[3] for row in _DEFINED[name]])
    for name, *_ in listed(_DEFINITIONS, "VT_READ_DEFINITIONS")
]
LISTED_DEFINITIONS = written_by_hand()
