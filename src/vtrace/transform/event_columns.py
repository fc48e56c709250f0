# SPDX-License-Identifier: BSD-3-Clause
"""Writes the events of a location from columns, by csrc/otf2_rewriter/lanes.c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import _otf2
import numpy as np

from vtrace.io.archive.writer import Archive
from vtrace.io.common.arrays import Array
from vtrace.io.local import kernel
from vtrace.transform.rewriter_abi import rewriter


def value_type(values: Array) -> str:
    """OTF2's name of the type of a column of values."""
    return "DOUBLE" if values.dtype.kind == "f" else "INT64"


def write_calls(
    archive: Archive, location: int, begin: Array, end: Array, *, refs: Array, contexts: bool = False,
    values: Mapping[int, Array] | None = None,
) -> None:  # fmt: skip
    """Writes intervals that nest, in the order of vt_lanes, as Enter and Leave. refs: (n,) OTF2's ids of regions; of
    calling contexts if contexts. values: attribute of Enter -> (n,) its values; 0: none. Raises VtraceError."""
    columns = [np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)]
    columns.append(np.ascontiguousarray(refs, np.uint32))
    given = {attribute: np.ascontiguousarray(each, np.uint64) for attribute, each in (values or {}).items()}
    attributes = np.array([*given], np.uint32)
    addresses = np.array([each.ctypes.data for each in given.values()], np.uint64)
    with archive.event_writer(location) as writer:
        pointers = [column.ctypes.data for column in columns]
        about = addresses.ctypes.data, attributes.ctypes.data, len(given)
        _check(location, rewriter().vt_write_calls(writer, *pointers, len(refs), int(contexts), *about))


def write_values(archive: Archive, location: int, times: Array, columns: Sequence[Array], *, metric: int) -> None:
    """Writes the values of a metric class, a column a member, in the order of times. metric: the id of the class.
    Raises VtraceError."""
    order = np.argsort(times, kind="stable")
    times = np.ascontiguousarray(times[order], np.int64)
    bits = np.ascontiguousarray(np.stack([column[order].view(np.uint64) for column in columns], axis=1))
    types = np.array([getattr(_otf2, f"TYPE_{value_type(column)}").value for column in columns], np.uint8)
    with archive.event_writer(location) as writer:
        arrays = times.ctypes.data, bits.ctypes.data, types.ctypes.data
        _check(location, rewriter().vt_write_values(writer, *arrays, len(times), len(columns), metric))


def _check(location: int, code: int) -> None:
    if code < 0:
        raise MemoryError
    if code:
        raise kernel.otf2_error(f"{location}.evt", "write an event", code, kernel.complaint()[1])
