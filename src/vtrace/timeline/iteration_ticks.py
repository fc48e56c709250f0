# SPDX-License-Identifier: BSD-3-Clause
"""The iterations that the strip above the chart has room to mark."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

import numpy as np

from vtrace.analysis.table import Array


def apart(begin: Array, wanted: Array, gap: float) -> Array:
    """The rows of iterations of which no two begin closer than gap ns, ascending.

    begin: ascending, ns; wanted: rows that come first, in this order; the others fill the room that is left, from the
    start on."""
    kept: list[int] = []
    for row in wanted.tolist():
        at = bisect_left(kept, row)
        near = kept[max(0, at - 1) : at + 1]
        if all(abs(int(begin[row]) - int(begin[each])) >= gap for each in near):
            kept.insert(at, row)
    found = [*kept]
    ends = [-np.inf, *(float(begin[row]) for row in kept), np.inf]
    for low, high in pairwise(ends):
        row = int(np.searchsorted(begin, low + gap))
        while row < len(begin) and begin[row] <= high - gap:
            found.append(row)
            row = max(row + 1, int(np.searchsorted(begin, begin[row] + gap)))
    return np.array(sorted(found), np.int64)
