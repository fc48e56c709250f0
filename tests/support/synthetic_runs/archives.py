# SPDX-License-Identifier: BSD-3-Clause
"""Archives with arbitrary content, written with libotf2 directly."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _otf2

from support.readers.otf2_headers import DEFINITIONS, EVENTS
from vtrace.io.local.kernel import Kernel, prepare_archive

UNDEFINED = 0xFFFFFFFF
_LISTS = {
    "String": [ctypes.c_uint32, ctypes.c_char_p],
    "Group": [ctypes.c_uint32] * 2 + [ctypes.c_uint8] * 2 + [ctypes.c_uint32] * 2 + [ctypes.c_void_p],
    "MetricClass": [ctypes.c_uint32, ctypes.c_uint8, ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint8],
    "IoParadigm": [
        ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint8,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ],
}  # fmt: skip


class Foreign:
    """Writes an archive: first events, location by location, then definitions, then close()."""

    def __init__(self, directory: Path, name: str = "traces") -> None:
        Kernel()
        self.library = ctypes.CDLL(_otf2.Config.lib_path())
        self.anchor = directory / f"{name}.otf2"
        self.archive = _otf2.Archive_Open(
            str(directory), name, _otf2.FILEMODE_WRITE, 1 << 20, 4 << 20, _otf2.SUBSTRATE_POSIX, _otf2.COMPRESSION_NONE
        )
        assert not prepare_archive(ctypes.cast(self.archive, ctypes.c_void_p).value or 0)
        _otf2.Archive_SetSerialCollectiveCallbacks(self.archive)
        _otf2.Archive_OpenEvtFiles(self.archive)
        self.types = {f"EvtWriter_{c.name}": c.ctypes for c in EVENTS}
        self.types |= {f"GlobalDefWriter_Write{c.name}": c.ctypes for c in DEFINITIONS}
        self.types |= {f"GlobalDefWriter_Write{name}": kinds for name, kinds in _LISTS.items()}
        self.strings: dict[str, int] = {}
        self.definitions: Any = None
        self.locations: list[int] = []

    def _call(self, name: str, head: Sequence[Any], values: Sequence[Any]) -> None:
        function = self.library[f"OTF2_{name}"]
        kinds = [ctypes.c_void_p if value is None or not isinstance(value, int) else ctypes.c_uint64 for value in head]
        function.argtypes = [*kinds, *self.types[name]]
        assert function(*head, *values) == 0, f"OTF2_{name}{tuple(values)}"

    def events(self, location: int, events: Sequence[tuple[Any, ...]]) -> None:
        """Writes all events of a location: (time, name, values in OTF2's order ...). A dict id -> uint64 as the last
        value holds attributes.
        """
        writer = _otf2.Archive_GetEvtWriter(self.archive, location)
        self.locations.append(location)
        for time, name, *values in events:
            attributes = None
            if values and isinstance(values[-1], dict):
                attributes = _otf2.AttributeList_New()
                for number, value in values.pop().items():
                    _otf2.AttributeList_AddUint64(attributes, number, value)
            if name in ("Metric", "ProgramBegin"):
                getattr(_otf2, f"EvtWriter_{name}")(writer, attributes, time, *values)
            else:
                self._call(f"EvtWriter_{name}", (writer, attributes, time), values)
        _otf2.Archive_CloseEvtWriter(self.archive, writer)

    def begin_definitions(self, late: dict[int, int] | None = None) -> None:
        """Starts the global definitions. Each location gets a local file. late: clock offsets (ns) by location."""
        _otf2.Archive_CloseEvtFiles(self.archive)
        _otf2.Archive_OpenDefFiles(self.archive)
        for location in self.locations:
            writer = _otf2.Archive_GetDefWriter(self.archive, location)
            if late and location in late:
                for time in (0, 10**6):  # OTF2 needs two offsets
                    _otf2.DefWriter_WriteClockOffset(writer, time, late[location], 0.0)
            _otf2.Archive_CloseDefWriter(self.archive, writer)
        _otf2.Archive_CloseDefFiles(self.archive)
        self.definitions = _otf2.Archive_GetGlobalDefWriter(self.archive)

    def text(self, text: str) -> int:
        """The id of a string; defines a new string. Surrogates stand for bytes that are not UTF-8."""
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.define("String", self.strings[text], text.encode(errors="surrogateescape"))
        return self.strings[text]

    def define(self, name: str, *values: Any) -> None:
        """Writes a definition with values in OTF2's order. Texts become strings; a list becomes count and members."""
        plain: list[Any] = []
        for value in values:
            if isinstance(value, str):
                value = self.text(value)
            if isinstance(value, list):
                kind = ctypes.c_uint64 if name == "Group" else ctypes.c_uint32
                plain += [len(value), (kind * len(value))(*value)]
            else:
                plain.append(value)
        self._call(f"GlobalDefWriter_Write{name}", (self.definitions,), plain)

    def machine(self, groups: int = 1, resolution: int = 10**9, offset: int = 0, length: int = 10**6) -> None:
        """Defines the clock, a host and its processes 0, 1 ..."""
        self.define("ClockProperties", resolution, offset, length, 2**64 - 1)
        self.define("SystemTreeNode", 0, "host", "node", UNDEFINED)
        for group in range(groups):
            self.define("LocationGroup", group, f"process {group}", 1, 0, UNDEFINED)

    def location(self, number: int, group: int = 0, kind: int = 1) -> None:
        self.define("Location", number, f"thread {number}", kind, 0, group)

    def region(self, number: int, name: str, role: int = 1, paradigm: int = 1) -> None:
        self.define("Region", number, name, name, "", role, paradigm, 0, UNDEFINED, 0, 0)

    def markers(self, *markers: tuple[int, str]) -> None:
        """Writes the markers: times and texts."""
        writer = _otf2.Archive_GetMarkerWriter(self.archive)
        _otf2.MarkerWriter_WriteDefMarker(writer, 0, "user", "note", _otf2.SEVERITY_LOW)
        for time, text in markers:
            everywhere = _otf2.MARKER_SCOPE_GLOBAL, _otf2.UNDEFINED_UINT64.value
            _otf2.MarkerWriter_WriteMarker(writer, time, 0, 0, *everywhere, text)
        _otf2.Archive_CloseMarkerWriter(self.archive, writer)

    def close(self) -> Path:
        """Completes the archive; returns its anchor file."""
        _otf2.Archive_CloseGlobalDefWriter(self.archive, self.definitions)
        _otf2.Archive_Close(self.archive)
        return self.anchor


def calls(count: int, step: int = 2) -> list[tuple[Any, ...]]:
    """Events of main, which calls f count times, with a message in each call."""
    inner = [
        event
        for i in range(count)
        for event in (
            (step * 2 * i + 1, "Enter", 1), (step * 2 * i + 1, "MpiSend", 0, 0, i, i),
            (step * (2 * i + 1) + 1, "Leave", 1),
        )
    ]  # fmt: skip
    return [(0, "Enter", 0), *inner, (step * 2 * count, "Leave", 0)]


def simple(where: Path, events: dict[int, list[tuple[Any, ...]]], **clock: int) -> Path:
    archive = Foreign(where)
    for location, each in events.items():
        archive.events(location, each)
    archive.begin_definitions()
    archive.machine(**clock)
    for location in events:
        archive.location(location)
    archive.region(0, "main")
    archive.region(1, "f")
    return archive.close()
