# SPDX-License-Identifier: BSD-3-Clause
"""Reads the markers of an archive through the bindings: there are few markers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import _otf2

from vtrace.io.archive.reader import Reader
from vtrace.io.archive.reader_abi import libotf2
from vtrace.io.common.enumerations import constant_names
from vtrace.io.local import kernel


@dataclass(frozen=True)
class MarkerLine:
    """A remark; time and duration in the archive's ticks, scope: OTF2's name; id: of the scope."""

    time: int
    duration: int
    group: str
    category: str
    severity: str
    scope: str
    scope_id: int
    text: str


_SEVERITIES, _SCOPES = constant_names("SEVERITY_"), constant_names("MARKER_SCOPE_")

_pointer, _u32, _u64, _text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
_Define = ctypes.CFUNCTYPE(_u32, _pointer, _u32, _text, _text, ctypes.c_uint8)
_Mark = ctypes.CFUNCTYPE(_u32, _pointer, _u64, _u64, _u32, ctypes.c_uint8, _u64, _text)
"""OTF2_MarkerReaderCallback_DefMarker, OTF2_MarkerReaderCallback_Marker: the bindings' own do not work for the
second."""


class _Markers:
    """The results of the callbacks."""

    def __init__(self) -> None:
        self.kinds: dict[int, tuple[str, str, str]] = {}
        self.found: list[MarkerLine] = []
        self.define, self.mark = _Define(self._define), _Mark(self._mark)

    def _define(self, _: Any, number: int, group: bytes, category: bytes, severity: int) -> int:
        self.kinds[number] = (_string(group), _string(category), _SEVERITIES.get(severity, ""))
        return 0

    def _mark(  # noqa: PLR0917 (libotf2 calls it)
        self, _: Any, time: int, duration: int, number: int, scope: int, scope_id: int, text: bytes
    ) -> int:  # the arguments are OTF2's
        kind = self.kinds.get(number, ("", "", ""))
        name = _SCOPES.get(scope, "")
        self.found.append(MarkerLine(time, duration, *kind, name, scope_id, _string(text)))
        return 0


def _string(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")


def read_markers(reader: Reader) -> list[MarkerLine]:
    """All markers in the order of the file; none if there is no such file. Raises FormatError."""
    path = reader.anchor.with_suffix(".marker")
    if not path.exists():
        return []
    otf2, markers, count = libotf2(), _Markers(), ctypes.c_uint64()
    kernel.complaint()
    callbacks = otf2.MarkerReaderCallbacks_New()
    try:
        source = otf2.Reader_GetMarkerReader(reader.address)
        code = 0 if source else _otf2.ERROR_INVALID.value
        code = code or otf2.MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, markers.define)
        code = code or otf2.MarkerReaderCallbacks_SetMarkerCallback(callbacks, markers.mark)
        code = code or otf2.Reader_RegisterMarkerCallbacks(reader.address, source, callbacks, None)
        code = code or otf2.Reader_ReadAllMarkers(reader.address, source, ctypes.byref(count))
        reader.check(code, path)
        otf2.Reader_CloseMarkerReader(reader.address, source)
    finally:
        otf2.MarkerReaderCallbacks_Delete(callbacks)
    return markers.found
