# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads could run but waited for a processor, from the sidecar of an archive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.common.arrays import Array
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SECOND = 10**9


class ProcessorWaits:
    """The waits of each location. In an interval between two events only the sum of the waits is known: they count as
    spread over the interval."""

    def __init__(self, trace: Source) -> None:
        self._waits: dict[int, tuple[Array, Array]] = {}
        """By row of trace.locations: times (ns), and the ns waited up to these times."""
        table = _table(trace)
        if table is None:
            return
        rows = trace.definitions.ids["locations"].rows(table["location"])
        begin, end = ((table[name].astype(np.float64) - trace.offset) * (_SECOND / trace.resolution) for name in _ENDS)
        for row in np.unique(rows[rows >= 0]).tolist():
            mine = rows == row
            times = np.stack([begin[mine], end[mine]], 1).ravel()
            sums = np.cumsum(table["ns"][mine].astype(np.float64))
            waited = np.stack([sums - table["ns"][mine], sums], 1).ravel()
            self._waits[row] = np.maximum.accumulate(times), waited

    def waited(self, location: int, begin: int | None = None, end: int | None = None) -> float:
        """The ns that a location (row) waited in a window (ns; None: open)."""
        if location not in self._waits:
            return 0.0
        times, waited = self._waits[location]
        ends = times[0] if begin is None else begin, times[-1] if end is None else end
        first, last = np.interp(ends, times, waited).tolist()
        return max(0.0, last - first)

    def of_all(self, locations: Iterable[int], begin: int | None = None, end: int | None = None) -> float:
        """The sum of waited."""
        return sum(self.waited(row, begin, end) for row in locations)


_ENDS = ("from", "to")


def _table(trace: Source) -> dict[str, Array] | None:
    try:
        of = sidecar.identity(trace.anchor, trace.properties)
        columns = sidecar.read(trace.anchor.parent, *sidecar.WAITS, of).columns
        return {name: columns[name] for name in ("location", *_ENDS, "ns")}
    except (FormatError, KeyError):
        return None
