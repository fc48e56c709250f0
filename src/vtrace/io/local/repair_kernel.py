# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's part of the causality repair: the ends of messages and collectives, and the corrections of clocks."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.common.arrays import view
from vtrace.io.common.schema import declare, library
from vtrace.io.local.kernel import RESULTS, Error, IndexRows, Kernel
from vtrace.io.local.local_files import Stream
from vtrace.io.local.maps import U1, U4, U8, Maps
from vtrace.io.local.records import SCHEMA

_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_NO_SPACE = RESULTS["NO_SPACE"]
_Parts = SCHEMA.structure("vt_parts")
_EndsOfProcess = SCHEMA.structure("vt_ends")
_Repaired = SCHEMA.structure("vt_repaired")
_KNOT = SCHEMA.dtype("vt_knot")
declare(library(), {
    "vt_kernel_ends": (ctypes.c_int, [_pointer, _u32, *[_pointer] * 5]),
    "vt_kernel_ends_free": (None, [_pointer]),
    "vt_kernel_repair": (ctypes.c_int, [_pointer, _pointer, _u64, _pointer]),
    "vt_kernel_repair_free": (None, [_pointer]),
})  # fmt: skip

PIECE = SCHEMA.dtype("vt_piece")
"""A part of the file with ends of one location. file: a number of the caller; for replay a descriptor."""
Pieces = np.ndarray[Any, np.dtype[np.void]]


@dataclass(kw_only=True)
class Parts:
    """The processes and communicators that take part: struct vt_parts. clocks, doubtful: of each process; comm_first:
    one more than communicators and, from first_window on, windows; firsts: first OTF2 location of each process."""

    clocks: U4
    doubtful: U1
    comm_first: U4
    comm_members: U4
    comm_repaired: U1
    nclocks: int
    first_window: int
    limit: int
    firsts: U4

    def pointers(self) -> ctypes.Structure:
        """struct vt_parts; valid as long as this object lives."""
        arrays = (self.clocks, self.doubtful, self.comm_first, self.comm_members, self.comm_repaired)
        sizes = (len(self.clocks), len(self.comm_repaired), len(self.comm_members), self.nclocks)
        return _Parts(*(array.ctypes.data for array in arrays), *sizes, self.first_window, self.limit)


@dataclass(kw_only=True)
class Repaired:
    """The results of the repair between clocks, by the names of struct vt_repaired: numbers of messages and of calls of
    collectives; times in ns."""

    messages: int
    reversed_messages: int
    collectives: int
    reversed_collectives: int
    most: int
    """The largest time by which a message or collective ran backwards."""
    largest: int
    """The largest time by which a clock is put forward."""
    ignored: int
    """Ends without a partner, or impossible ones."""
    left: int
    """Messages and collectives that may still run backwards."""
    knots: list[tuple[U8, U8]]
    """For each clock: times (ns), and the ns by which the clock is put forward from each time on."""


class Ends:
    """Collects the ends of processes in a file (its descriptor). Several threads may do so at once."""

    def __init__(self, kernel: Kernel, parts: Parts, file: int) -> None:
        self._kernel, self._parts, self._file = kernel, parts, file
        self._top = ctypes.c_uint64(0)

    def find(self, streams: Sequence[Stream], maps: Maps, process: int, number: int) -> Pieces:
        """Writes the ends of a process; returns their places, in file number.

        Raises FormatError for damage, VtraceError if the file cannot be written.
        """
        error, which = Error(), ctypes.c_uint32()
        indices = [np.ascontiguousarray(stream.index) for stream in streams]
        rows = (IndexRows * len(streams))(*(IndexRows(index.ctypes.data, len(index), 0) for index in indices))
        pointers, keep = maps.pointers()
        parts = self._parts.pointers()
        ends = _EndsOfProcess(ctypes.addressof(self._top), None, 0, self._file, process)
        call = self._kernel.library.vt_kernel_ends
        code = call(rows, len(streams), ctypes.byref(pointers), ctypes.byref(parts), ctypes.byref(ends),
                    ctypes.byref(which), ctypes.byref(error))  # fmt: skip
        del keep
        try:
            if code == _NO_SPACE:
                raise VtraceError("cannot write a temporary file", "is the disk full? --no-repair needs no such file")
            if code:
                raise self._kernel.error(code, error, streams[which.value])
            found = view(ends.pieces, ends.npieces, PIECE).copy()
            found["file"] = number
            return found
        finally:
            self._kernel.library.vt_kernel_ends_free(ctypes.byref(ends))


def replay(kernel: Kernel, parts: Parts, pieces: Pieces) -> Repaired:
    """Replays the ends of all processes. pieces: those of one location in order. Raises VtraceError."""
    found, pointers, pieces = _Repaired(), parts.pointers(), np.ascontiguousarray(pieces)
    code = kernel.library.vt_kernel_repair(ctypes.byref(pointers), pieces.ctypes.data, len(pieces), ctypes.byref(found))
    if code == _NO_SPACE:
        raise VtraceError("cannot read a temporary file", "--no-repair needs no such file")
    if code:
        raise VtraceError("not enough memory to repair the times", "--no-repair skips the repair")
    try:
        first = view(found.first, parts.nclocks + 1, np.uint64).copy()
        knots = view(found.knots, int(first[-1]), _KNOT).copy()
    finally:
        kernel.library.vt_kernel_repair_free(ctypes.byref(found))
    by_clock = np.split(knots, first[1:-1].astype(np.int64))
    values = {name: getattr(found, name) for name in Repaired.__dataclass_fields__ if name != "knots"}
    return Repaired(**values, knots=[(k["ns"].copy(), k["shift"].copy()) for k in by_clock])
