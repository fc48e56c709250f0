# SPDX-License-Identifier: BSD-3-Clause
"""The X macros of OTF2's callbacks in csrc/otf2_reader: names, arguments with their types, and their columns."""

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


def callbacks(header: str, *macros: str) -> list[Callback]:
    """The callbacks in these macros of csrc/otf2_reader/HEADER, without the leading arguments that all events share."""
    text = (ROOT / "csrc/otf2_reader" / header).read_text().replace("\\\n", " ")
    found = []
    for macro in macros:
        line = re.search(rf"^#define {macro}\(X\)(.*)$", text, re.MULTILINE)
        assert line is not None
        for name, arguments, shown in re.findall(r"X\((\w+),\s+\(([^()]*)\),\s+([^()]*)\)", line[1]):
            pairs = [re.match(r"^(.*?[ *])(\w+)$", " ".join(part.split())) for part in arguments.split(",")]
            split = [(pair[1].strip(), pair[2]) for pair in pairs if pair and pair[2] not in ("user",)]
            split = [pair for pair in split if pair[1] != "VT_READ_HEAD"]
            found.append(Callback(name, arguments, tuple(split), tuple(shown.replace(" ", "").split(","))))
    return found


EVENTS = callbacks("events.h", "VT_READ_BARE_EVENTS", "VT_READ_EVENTS")
LIST_EVENTS = callbacks("events.h", "VT_READ_LIST_EVENTS")
DEFINITIONS = callbacks("definitions.h", "VT_READ_DEFINITIONS")
LISTED_DEFINITIONS = callbacks("definitions.h", "VT_READ_LISTED_DEFINITIONS")
