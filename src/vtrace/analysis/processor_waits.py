# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads could run but waited for a processor, from the sidecar of an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.common.arrays import Array
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SECOND = 10**9
_COLUMNS = ("location", "from", "to", "ns", "region", "count")


class ProcessorWaits:
    """The waits of all locations. Of an interval between two events of a location only the sum of its waits is known,
    which counts as spread over the interval."""

    def __init__(self, trace: Source) -> None:
        """Without the table there are no waits."""
        known = waits_of(trace)
        table = known.columns if known else {name: np.empty(0, np.uint64) for name in _COLUMNS}
        self._locations = trace.locations.rows
        self._location = trace.definitions.ids["locations"].rows(table["location"])
        self._region = trace.definitions.ids["regions"].rows(table["region"])
        scale = _SECOND / trace.resolution
        self._begin, self._end = ((table[name].astype(np.float64) - trace.offset) * scale for name in ("from", "to"))
        self._ns = np.clip(np.nan_to_num(table["ns"].astype(np.float64)), 0, np.maximum(0, self._end - self._begin))

    def by_location(self, begin: int | None = None, end: int | None = None, *, regions: Array) -> Array:
        """(locations,) ns that each location waited in a window (ns; None: open). regions: (regions + 1,) bool, those
        whose calls count if no call in them is open; the last one for the time outside of calls."""
        first = self._begin if begin is None else np.maximum(self._begin, begin)
        last = self._end if end is None else np.minimum(self._end, end)
        part = np.clip((last - first) / np.maximum(1, self._end - self._begin), 0, 1)
        counts = (self._location >= 0) & regions[self._region]
        found: Array = np.bincount(self._location[counts], (self._ns * part)[counts], self._locations)
        return found


def waits_of(trace: Source) -> sidecar.SidecarTable | None:
    """The table of waits (unify/account/account.py); None: there is none, or it is damaged."""
    try:
        of = sidecar.identity(trace.anchor, trace.properties)
        table = sidecar.read(trace.anchor.parent, *sidecar.WAITS, of)
    except FormatError:
        return None
    return table if table and all(name in table.columns for name in _COLUMNS) else None
