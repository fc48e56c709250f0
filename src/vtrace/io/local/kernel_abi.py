# SPDX-License-Identifier: BSD-3-Clause
"""The structures of csrc/otf2_writer/transcode.h for ctypes, and loading the library."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.local.records import LOST_MOST
from vtrace.paths import LIB

if TYPE_CHECKING:
    from vtrace.io.local.kernel import Maps

_u8, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64
_pointer = ctypes.c_void_p
_pu64 = ctypes.POINTER(ctypes.c_uint64)
EVENT_KINDS = 63


class Error(ctypes.Structure):
    """struct vt_error"""

    _fields_ = [("otf2", ctypes.c_int32), ("row", _u32), ("offset", _u64), ("text", ctypes.c_char * 256)]


class Found(ctypes.Structure):
    """struct vt_scan"""

    _fields_ = [
        ("functions", _pu64), ("addresses", _pu64), ("regions", _pu64), ("comms", _pu64), ("handles", _pu64),
        ("messages", _pu64),
        ("nfunctions", _u64), ("naddresses", _u64), ("nregions", _u64), ("ncomms", _u64), ("nhandles", _u64),
        ("nmessages", _u64),
        ("first_ticks", _u64), ("last_ticks", _u64), ("memory", _u64),
        ("threads", _u64),
    ]  # fmt: skip


class IndexRows(ctypes.Structure):
    """struct vt_stream"""

    _fields_ = [("rows", _pointer), ("count", _u32), ("unused", _u32)]


class Result(ctypes.Structure):
    """struct vt_transcoded"""

    _fields_ = [
        ("counts", _u64 * EVENT_KINDS), ("first_ns", _u64), ("last_ns", _u64), ("events", _u64), ("lost", _u64),
        ("clamped", _u64), ("unmapped", _u64), ("closed", _u64), ("stray_leaves", _u64), ("flush_ns", _u64),
        ("off_ns", _u64), ("flushes", _u64), ("limit_ns", _u64), ("limit_why", _u64), ("limit_classes", _u64),
        ("lost_by", _u64 * LOST_MOST), ("dropped", _u64), ("dropped_ns", _u64), ("unended", _u64), ("unbegun", _u64),
        ("unmatched", _u64), ("nnotes", _u64), ("notes", _pointer),
        ("ngaps", _u64), ("gaps", _pointer),
    ]  # fmt: skip


NOTE = np.dtype([("ns", "<u8"), ("marker", "<u4"), ("text", "<u4")])
"""struct vt_note"""
GAP = np.dtype([("from", "<u8"), ("to", "<u8"), ("ns", "<u8"), ("count", "<u8"), ("classes", "<u4"), ("reason", "<u4")])
"""struct vt_gap"""


class MapPointers(ctypes.Structure):
    """struct vt_maps"""

    _fields_ = [
        ("function_offsets", _pointer), ("function_regions", _pointer), ("addresses", _pointer),
        ("address_regions", _pointer), ("regions", _pointer), ("user_regions", _pointer),
        ("comms", _pointer), ("comm_peer_offset", _pointer), ("comm_ranks", _pointer),
        ("metrics", _pointer), ("metric_types", _pointer), ("windows", _pointer), ("window_peer_offset", _pointer),
        ("rank_groups", _pointer), ("files", _pointer), ("handles", _pointer), ("strings", _pointer),
        ("teams", _pointer), ("team_first", _pointer), ("team_members", _pointer), ("team_joined", _pointer),
        ("attributes", _pointer),
        ("attribute_types", _pointer), ("user_comms", _pointer), ("user_peers", _pointer),
        ("knot_ticks", _pointer), ("knot_ns", _pointer), ("shift_ns", _pointer), ("shifts", _pointer),
        ("nfunctions", _u64), ("naddresses", _u64), ("nregions", _u64), ("ncomms", _u64), ("nmetrics", _u64),
        ("nwindows", _u64), ("nrank_groups", _u64), ("nfiles", _u64), ("nhandles", _u64), ("nstrings", _u64),
        ("nattributes", _u64), ("nuser_comms", _u64), ("nuser_peers", _u64), ("ncomm_ranks", _u64),
        ("nknots", _u64), ("nteams", _u64), ("nteam_members", _u64), ("nshifts", _u64),
        ("unknown_region", _u32), ("heap_attributes", _u32), ("thread_comm", _u32),
    ]  # fmt: skip

    def fill(self, maps: Maps) -> list[np.ndarray[Any, Any]]:
        """Points at the arrays of maps; returns what must stay alive meanwhile. Raises ValueError for bad lengths."""
        keep = []
        for first, count, second in _TABLES:
            values = getattr(maps, first)
            size = len(values)
            if not size:  # as most are, of most processes
                continue
            setattr(self, count, size)
            keep.append(self._point(first, values))
            if second:
                others = getattr(maps, second)
                if not len(others) and second in _MAY_LACK:
                    others = np.zeros(size, np.uint32)
                if len(others) != size:
                    raise ValueError(f"{second} has {len(others)} entries, {first} {size}")
                keep.append(self._point(second, others))
        for name in ("unknown_region", "heap_attributes", "thread_comm"):
            setattr(self, name, getattr(maps, name))
        return keep

    def _point(self, name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array = np.ascontiguousarray(values, _TYPES.get(name, np.uint32))
        setattr(self, name, array.__array_interface__["data"][0])
        return array


_TABLES = (
    ("function_offsets", "nfunctions", "function_regions"), ("addresses", "naddresses", "address_regions"),
    ("comms", "ncomms", "comm_peer_offset"), ("regions", "nregions", "user_regions"),
    ("metrics", "nmetrics", "metric_types"), ("windows", "nwindows", "window_peer_offset"),
    ("attributes", "nattributes", "attribute_types"), ("teams", "nteams", "team_first"),
    ("team_members", "nteam_members", "team_joined"), ("knot_ticks", "nknots", "knot_ns"),
    ("shift_ns", "nshifts", "shifts"), ("rank_groups", "nrank_groups", ""), ("files", "nfiles", ""),
    ("handles", "nhandles", ""), ("strings", "nstrings", ""), ("user_comms", "nuser_comms", ""),
    ("user_peers", "nuser_peers", ""), ("comm_ranks", "ncomm_ranks", ""),
)  # fmt: skip
"""An array of struct vt_maps, its length, and another one of this length."""
_MAY_LACK = {"comm_peer_offset", "window_peer_offset", "user_regions"}
"""None at all stands for 0."""
_TYPES: dict[str, Any] = dict.fromkeys(
    ("addresses", "knot_ticks", "knot_ns", "shift_ns", "shifts", "team_joined"), np.uint64
) | dict.fromkeys(("metric_types", "attribute_types", "user_regions"), np.uint8)


@cache
def _library() -> ctypes.CDLL:
    path = LIB / "libvtrace-transcode.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise VtraceError(f"cannot load {path}: {error}", "reinstall vtrace") from error
    library.vt_kernel_checksum.argtypes = [ctypes.c_char_p, _u64]
    library.vt_kernel_checksum.restype = _u64
    library.vt_kernel_index.argtypes = [ctypes.c_int, _u64, _u64, _u8, _pointer, _u32, _pointer]
    library.vt_kernel_index.restype = _u32
    return library


def checksum(data: bytes) -> int:
    """vt_checksum of format.h, from 0 on. Raises VtraceError when the library cannot be loaded."""
    return int(_library().vt_kernel_checksum(data, len(data)))


def fill_index(fd: int, size: int, base: int, content: int, rows: np.ndarray[Any, Any], at: int) -> tuple[int, int]:
    """Fills rows of local.py's INDEX with the blocks from byte at of an open file of size bytes, which is mapped at
    base, as far as they are blocks of that content; returns how many, and the byte behind them."""
    end = _u64(at)
    count = _library().vt_kernel_index(fd, size, base, content, rows.ctypes.data, len(rows), ctypes.byref(end))
    return count, end.value


def load(otf2: str) -> ctypes.CDLL:
    """The kernel library, with the prototypes of its functions; otf2: path of the libotf2 that it is to call.

    Raises VtraceError when one of the two cannot be loaded.
    """
    library = _library()
    library.vt_kernel_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.vt_kernel_zstd.argtypes = [_pointer]
    library.vt_kernel_event.argtypes = [_u32]
    library.vt_kernel_event.restype = ctypes.c_char_p
    library.vt_kernel_prepare.argtypes = [_pointer]
    library.vt_kernel_complaint.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.vt_kernel_decode.argtypes = [_pointer, ctypes.c_char_p, _pointer]
    library.vt_kernel_scan.argtypes = [_pointer, _u32, _u32, _pointer, _pointer]
    library.vt_kernel_scan_free.argtypes = [_pointer]
    library.vt_kernel_scan_free.restype = None
    library.vt_kernel_transcode.argtypes = [_pointer, _pointer, _u32, _pointer, _pointer, _pointer]
    library.vt_kernel_notes_free.argtypes = [_pointer]
    library.vt_kernel_notes_free.restype = None
    library.vt_kernel_gaps_free.argtypes = [_pointer]
    library.vt_kernel_gaps_free.restype = None
    library.vt_kernel_heap.argtypes = [_pointer, _pointer, _u32, _pointer, _u32, _pointer, _pointer, _pointer]
    library.vt_kernel_ends.argtypes = [_pointer, _u32, _pointer, _pointer, _pointer, _pointer, _pointer]
    library.vt_kernel_ends_free.argtypes = [_pointer]
    library.vt_kernel_ends_free.restype = None
    library.vt_kernel_repair.argtypes = [_pointer, _pointer, _u64, _pointer]
    library.vt_kernel_repair_free.argtypes = [_pointer]
    library.vt_kernel_repair_free.restype = None
    text = ctypes.create_string_buffer(256)
    if library.vt_kernel_open(otf2.encode(), text, len(text)):
        raise VtraceError(f"cannot use OTF2: {text.value.decode('utf-8', 'replace')}", "reinstall the otf2 package")
    return library
