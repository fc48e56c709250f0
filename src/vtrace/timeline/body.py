# SPDX-License-Identifier: BSD-3-Clause
"""The part of a run between MPI_Init and MPI_Finalize, which the page shows first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.table import Array
from vtrace.io.sidecar.tile_file import BINS, COLUMN

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_MOST = 64
"""The most locations that are looked at: of more, every n-th, since ranks leave MPI_Init together."""
_FINE = 3
"""Bins of 1/2048 to 1/1024 of the run."""
_PART = 10
"""The ends are left out if together they take more than 1/_PART of the run."""


def body(trace: Source, tiles: TileFile, locations: Array) -> tuple[int, int] | None:
    """From the end of the last MPI_Init to the begin of the first MPI_Finalize (ns), to about a thousandth of the run,
    by the tiles of locations (rows); None: both together are short, or there is nothing between them.

    Raises FormatError."""
    activity = trace.regions["activity"]
    inits, ends = (activity == trace.regions.activities.index(f"mpi/management/{end}") for end in ("init", "finalize"))
    if not inits.any() and not ends.any():
        return None
    begin, end, wanted = 0, trace.duration, max(0, trace.duration.bit_length() - BINS.bit_length() + 1 - _FINE)
    for row in locations[:: -(-len(locations) // _MOST) or 1].tolist():
        known = tiles.levels(row)
        level = next((each for each in known if each >= wanted), known[-1] if known else None)
        if level is None:
            continue
        bins = tiles.bins(row, level, 0, (trace.duration >> level) + 1)
        for regions in (bins[COLUMN["REGION"]], bins[COLUMN["SECOND"]]):
            region = regions.astype(np.int64) - 1
            first, last = (np.flatnonzero((region >= 0) & chosen[region]) for chosen in (ends, inits))
            begin = max(begin, (int(last[-1]) + 1) << level if len(last) else 0)
            end = min(end, int(first[0]) << level if len(first) else trace.duration)
    return (begin, end) if begin < end and (begin + trace.duration - end) * _PART > trace.duration else None
