# SPDX-License-Identifier: BSD-3-Clause
"""The structures of csrc/otf2_reader for ctypes, and the functions of libotf2 that reading needs."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import _otf2
import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.local.kernel import Kernel
from vtrace.paths import LIB

_u8, _u32, _u64, _i64, _f64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_double
_pointer, _text = ctypes.c_void_p, ctypes.c_char_p

DETAIL = np.dtype(
    [("row", np.uint32), ("kind", np.uint16), ("marks", np.uint16)]
    + [(name, np.uint32) for name in "ref region caller node".split()]
    + [("words", np.uint64, 5)]
)
"""struct vt_detail"""
ATTRIBUTE = np.dtype(
    [(name, np.uint32) for name in "row attribute region caller node type".split()] + [("value", np.uint64)]
)
"""struct vt_read_attribute"""
STATS = np.dtype(
    [("calls", np.uint64)]
    + [(name, np.int64) for name in "inclusive exclusive total min max".split()]
    + [("squares", np.uint64, 2), ("deviations", np.float64)]
)
"""struct vt_stats"""
PATH = np.dtype([("parent", np.uint32), ("region", np.uint32)])
"""struct vt_path"""
SLICE = np.dtype([("begin", np.int64), ("end", np.int64), ("region", np.uint32), ("depth", np.uint32)])
"""struct vt_slice"""


SITE_CALL, SITE_BEGIN, SITE_END = 1, 2, 3
"""enum vt_site_kind"""
SITE_NAMED = 0x80000000
"""VT_SITE_NAMED"""


class BatchFields(ctypes.Structure):
    """struct vt_batch"""

    _fields_ = [
        ("time", _pointer), ("ref", _pointer), ("kind", _pointer), ("details", _pointer), ("attributes", _pointer),
        ("count", _u64), ("ndetails", _u64), ("nattributes", _u64), ("details_max", _u64), ("attributes_max", _u64),
        ("capacity", _u64), ("from_", _i64), ("to", _i64), ("clock_offset", _u64), ("resolution", _u64),
        ("want_attributes", _u64), ("unknown", _u64), ("ended", _u64), ("early", _u64), ("last", _i64),
        ("out_of_room", _u64), ("wanted", _u8 * 128),
    ]  # fmt: skip


class TableFields(ctypes.Structure):
    """struct vt_table"""

    _fields_ = [("rows", _pointer), ("count", _u64), ("capacity", _u64), ("width", _u64)]


class ReplayFields(ctypes.Structure):
    """struct vt_replay"""

    _fields_ = [
        ("from_", _i64), ("to", _i64), ("nregions", _u64), ("want_paths", _u64), ("paths_max", _u64),
        ("want_slices", _u64), ("shortest", _i64), ("site_of", _pointer), ("site_attribute", _u64),
        ("begun", _i64), ("ended", _i64), ("mark_of", _pointer), ("bins", _u64), ("classes", _u64),
        ("class_of", _pointer), ("runtime_of", _pointer), ("runtime_class", _u64),
        ("line", _pointer), ("flush_region", _u64), ("regions", _pointer),
        ("path_stats", _pointer),
        ("paths", _pointer), ("touched", _pointer), ("touched_paths", _pointer), ("slices", _pointer),
        ("ntouched", _u64), ("ntouched_paths", _u64), ("npaths", _u64), ("nslices", _u64), ("stray", _u64),
        ("closed", _u64), ("first", _i64), ("last", _i64), ("events", _u64), ("deepest", _u64),
        ("runtime", _i64),
    ]  # fmt: skip


_OTF2: dict[str, tuple[Any, list[Any]]] = {
    "Reader_Open": (_pointer, [_text]),
    "Reader_Close": (_u32, [_pointer]),
    "Reader_SetSerialCollectiveCallbacks": (_u32, [_pointer]),
    "Reader_SelectLocation": (_u32, [_pointer, _u64]),
    "Reader_OpenDefFiles": (_u32, [_pointer]),
    "Reader_CloseDefFiles": (_u32, [_pointer]),
    "Reader_GetDefReader": (_pointer, [_pointer, _u64]),
    "Reader_ReadAllLocalDefinitions": (_u32, [_pointer, _pointer, _pointer]),
    "Reader_CloseDefReader": (_u32, [_pointer, _pointer]),
    "Reader_OpenEvtFiles": (_u32, [_pointer]),
    "Reader_CloseEvtFiles": (_u32, [_pointer]),
    "Reader_GetEvtReader": (_pointer, [_pointer, _u64]),
    "Reader_RegisterEvtCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadLocalEvents": (_u32, [_pointer, _pointer, _u64, _pointer]),
    "Reader_CloseEvtReader": (_u32, [_pointer, _pointer]),
    "Reader_GetGlobalDefReader": (_pointer, [_pointer]),
    "Reader_RegisterGlobalDefCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadAllGlobalDefinitions": (_u32, [_pointer] * 3),
    "Reader_CloseGlobalDefReader": (_u32, [_pointer] * 2),
    "MarkerReaderCallbacks_New": (_pointer, []),
    "MarkerReaderCallbacks_Delete": (None, [_pointer]),
    "MarkerReaderCallbacks_SetDefMarkerCallback": (_u32, [_pointer] * 2),
    "MarkerReaderCallbacks_SetMarkerCallback": (_u32, [_pointer] * 2),
    "Reader_GetMarkerReader": (_pointer, [_pointer]),
    "Reader_RegisterMarkerCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadAllMarkers": (_u32, [_pointer] * 3),
    "Reader_CloseMarkerReader": (_u32, [_pointer] * 2),
}
"""Result and arguments, after OTF2_."""

_OWN: dict[str, tuple[Any, list[Any]]] = {
    "vt_readback_event": (_text, [_u32]),
    "vt_readback_find": (ctypes.c_int, [_text, _text, ctypes.c_size_t]),
    "vt_readback_batch": (ctypes.POINTER(BatchFields), [_u64]),
    "vt_readback_batch_free": (None, [_pointer]),
    "vt_readback_callbacks": (_pointer, []),
    "vt_readback_callbacks_free": (None, [_pointer]),
    "vt_definitions_find": (ctypes.c_int, [_text, _text, ctypes.c_size_t]),
    "vt_definitions_new": (_pointer, []),
    "vt_definitions_free": (None, [_pointer]),
    "vt_definitions_callbacks": (_pointer, []),
    "vt_definitions_callbacks_free": (None, [_pointer]),
    "vt_definitions_kind": (_text, [_u32]),
    "vt_definitions_table": (ctypes.POINTER(TableFields), [_pointer, _u32]),
    "vt_definitions_failed": (ctypes.c_int, [_pointer]),
    "vt_replay_new": (ctypes.POINTER(ReplayFields), [_u64, _u64]),
    "vt_replay_free": (None, [_pointer]),
    "vt_replay_begin": (None, [_pointer]),
    "vt_replay_batch": (ctypes.c_int, [_pointer, _pointer]),
    "vt_replay_end": (ctypes.c_int, [_pointer, _i64]),
}


@cache
def libotf2() -> ctypes.CDLL:
    """The libotf2 inside the otf2 package, with the prototypes of the functions that reading calls."""
    library = ctypes.CDLL(_otf2.Config.lib_path())
    for name, (result, arguments) in _OTF2.items():
        function = library[f"OTF2_{name}"]  # by index: an object of its own, whose prototype nobody changes
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


@cache
def readback() -> ctypes.CDLL:
    """The reader's own library, with its prototypes. Raises VtraceError."""
    Kernel()  # loads the library, and keeps libotf2 from printing what becomes an exception here
    library = ctypes.CDLL(str(LIB / "libvtrace-transcode.so"))
    for name, (result, arguments) in _OWN.items():
        function = library[name]
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    text = ctypes.create_string_buffer(256)
    path = _otf2.Config.lib_path().encode()
    if library.vt_readback_find(path, text, len(text)) or library.vt_definitions_find(path, text, len(text)):
        raise VtraceError(f"cannot use OTF2: {text.value.decode('utf-8', 'replace')}", "reinstall the otf2 package")
    return library


@cache
def event_kinds() -> dict[str, tuple[int, str, tuple[str, ...]]]:
    """Of each kind of event, by OTF2's name: its number, the name of what `ref` refers to, those of its details."""
    library, found, number = readback(), {}, 0
    while text := library.vt_readback_event(number):
        name, _, fields = text.decode().partition(":")
        ref, *words = fields.split(", ")
        found[name] = (number, "" if ref == "NONE" else ref, tuple(words))
        number += 1
    return found
