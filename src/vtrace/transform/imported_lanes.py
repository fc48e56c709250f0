# SPDX-License-Identifier: BSD-3-Clause
"""Intervals and values in the order and on the locations where an archive has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.common.arrays import Array
from vtrace.transform.rewriter_abi import rewriter

LANES_MOST = 1024
"""Most intervals of one owner that overlap without nesting."""


@dataclass
class ImportedLocation:
    """A new location. scope: property LANE; group: row of trace.groups; tid: -1 for none."""

    scope: str
    group: int
    tid: int
    title: str


@dataclass
class Lane(ImportedLocation):
    """A location with intervals that nest.

    begin, end: times of the archive, in the order of vt_lanes (csrc/otf2_rewriter/lanes.c); name: number in names."""

    begin: Array
    end: Array
    name: Array
    names: Sequence[str]


@dataclass
class ImportedValues:
    """Values of counters in the order of lines: an array for each counter. modes: COUNT or INST for each."""

    times: Array
    columns: list[Array]
    counters: Sequence[str]
    modes: Sequence[str]


@dataclass
class ValueLane(ImportedLocation):
    """A location of values."""

    values: ImportedValues


def assign_lanes(  # noqa: PLR0917
    owner: ImportedLocation, begin: Array, end: Array, name: Array, names: Sequence[str], origin: str
) -> Iterator[Lane]:
    """Yields the lanes of the intervals of one owner. Raises VtraceError, which names origin, if these are too many."""
    step = np.diff(begin)
    if not np.all((step > 0) | ((step == 0) & (np.diff(end) <= 0))):
        order = np.lexsort((-end, begin))
        begin, end, name = begin[order], end[order], name[order]
    columns = [np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)]
    lane = np.empty(len(begin), np.uint32)
    pointers = (column.ctypes.data for column in columns)
    count = rewriter().vt_lanes(*pointers, lane.ctypes.data, len(begin), LANES_MOST)
    if count > LANES_MOST:
        hint = f"at most {LANES_MOST} of a thread or process may overlap"
        raise VtraceError(f"{origin}: too many intervals overlap without nesting", hint)
    places: list[Any] = [slice(None)] * count
    if count > 1:
        places = np.split(np.argsort(lane, kind="stable"), np.cumsum(np.bincount(lane, minlength=count))[:-1])
    for number, mine in enumerate(places, 1):
        label = owner.title if number == 1 else f"{owner.title} {number}"
        yield Lane(
            owner.scope, owner.group, tid=owner.tid, title=label, begin=columns[0][mine], end=columns[1][mine],
            name=name[mine], names=names,
        )  # fmt: skip
