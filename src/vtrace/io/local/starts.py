# SPDX-License-Identifier: BSD-3-Clause
"""Starts: blocks from which the events of a location are read without the blocks before (csrc/otf2_writer/starts.c)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.io.common.arrays import Array, view
from vtrace.io.common.schema import declare, library
from vtrace.io.local.kernel import Error, Kernel, Listener, SampledStream, Transcoded
from vtrace.io.local.local_files import Stream
from vtrace.io.local.maps import Maps
from vtrace.io.local.records import SCHEMA

START, OPEN_REGION = SCHEMA.dtype("vt_start"), SCHEMA.dtype("vt_open_region")
STEP = 16
"""The least number of blocks between two starts: of functions, 130 000 events, which take a millisecond to read."""
_Found, _Result = SCHEMA.structure("vt_starts"), SCHEMA.structure("vt_transcoded")
_int, _u32, _pointer = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p
declare(
    library(),
    {
        "vt_kernel_count": (_int, [_pointer, _u32, *[_pointer] * 5]),
        "vt_kernel_starts_free": (None, [_pointer]),
        "vt_kernel_events_from": (_int, [_pointer, _pointer, _pointer, _u32, *[_pointer] * 5]),
    },
)


@dataclass
class Starts:
    """The starts of a location (START), ascending, and the open regions of all of them (OPEN_REGION)."""

    rows: Array = field(default_factory=lambda: np.empty(0, START))
    opens: Array = field(default_factory=lambda: np.empty(0, OPEN_REGION))

    def before(self, time: int, number: int) -> Any:
        """The last start with only events before a time (ns of the archive) and before the event `number` (from 1);
        None: only the beginning of the location."""
        last, events = self.rows["last"], self.rows["events"]
        found = min(int(np.searchsorted(last, np.uint64(max(0, time)))), int(np.searchsorted(events, number)))
        return self.rows[found - 1] if found else None


def count_events(
    kernel: Kernel, stream: Stream | None, maps: Maps, sampled: SampledStream | None
) -> tuple[Transcoded, Starts]:
    """The account of the events that Kernel.transcode would write, and the starts. Raises as transcode does."""
    error, result, found = Error(), _Result(), _Found(step=STEP)
    pointers, keep = maps.pointers()
    others, more = sampled.pointers() if sampled else (None, [])
    index = np.ascontiguousarray(stream.index) if stream else np.empty(0)
    code = kernel.library.vt_kernel_count(
        index.ctypes.data, len(index), ctypes.byref(pointers), None if others is None else ctypes.byref(others),
        ctypes.byref(found), ctypes.byref(result), ctypes.byref(error),
    )  # fmt: skip
    del keep, more
    try:
        if code:
            raise kernel.error_of(code, error, stream, sampled)
        starts = view(found.starts, found.nstarts, START).copy() if found.nstarts else np.empty(0, START)
        opens = view(found.opens, found.nopens, OPEN_REGION).copy() if found.nopens else np.empty(0, OPEN_REGION)
        return kernel.transcoded(result), Starts(starts, opens)
    finally:
        kernel.library.vt_kernel_starts_free(ctypes.byref(found))
        kernel.free(result)


def events_from(kernel: Kernel, start: Any, starts: Starts, stream: Stream, *, maps: Maps, listener: Listener) -> None:
    """Gives the events from a start on to a listener. start: one of starts; stream: the blocks from the start's on.
    Raises as Kernel.transcode does."""
    error, result = Error(), _Result()
    pointers, keep = maps.pointers()
    index = np.ascontiguousarray(stream.index)
    one = np.array([start], START)
    opens = np.ascontiguousarray(starts.opens[int(start["first"]) : int(start["first"]) + int(start["depth"])])
    if len(opens) != start["depth"]:
        raise ValueError("a start without its open regions")
    code = kernel.library.vt_kernel_events_from(
        one.ctypes.data, opens.ctypes.data, index.ctypes.data, len(index), ctypes.byref(pointers), listener.batch,
        listener.full, ctypes.byref(result), ctypes.byref(error),
    )  # fmt: skip
    del keep
    kernel.free(result)
    listener.events = int(start["events"]) + result.events
    listener.check()
    if code and not listener.is_done:
        raise kernel.error(code, error, stream)
