# SPDX-License-Identifier: BSD-3-Clause
"""The profile of a run with VT_MODE=PROFILE, from the sidecar of its archive, which has no events."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from vtrace.analysis.table import Table
from vtrace.errors import FormatError
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.ids import IdRows
from vtrace.io.archive.reader_abi import LATEST
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.profile_columns import STORED, restored

_TIMES, _COUNTS = ("inclusive", "exclusive", "min", "max"), ("calls", "out", "in")


class RecordedProfile:
    """The call paths of the locations that counted in place of recording events."""

    def __init__(
        self, anchor: Path, properties: Mapping[str, str], ids: Mapping[str, IdRows], table: tuple[str, int]
    ) -> None:
        """properties: of the archive, by their full names. ids: those of the locations and of the regions. table: its
        name and version. Raises FormatError if the table is missing or damaged."""
        found = sidecar.read(anchor.parent, *table, sidecar.identity(anchor, properties))
        if found is None or not all(name in found.columns for name in STORED):
            raise FormatError(f"{anchor.parent}: the table of the profile is missing or damaged")
        given = restored(found.columns)
        columns = {name: given[name].astype(np.uint64) for name in (*_COUNTS, *_TIMES)}
        columns = {name: np.minimum(values, np.uint64(LATEST)).astype(np.int64) for name, values in columns.items()}
        columns["deviations"] = given["deviations"].astype(np.float64)
        for name in ("path", "parent"):
            columns[name] = given[name].astype(np.int64)
        region = given["region"].astype(np.uint64)
        columns["region"] = np.where(region == UNDEFINED, -1, ids["regions"].rows(region))
        rows = ids["locations"].rows(given["location"].astype(np.uint64))
        bounds = [*np.flatnonzero(np.diff(rows, prepend=-2)).tolist(), len(rows)]
        made = Table(columns)
        self.locations = {int(rows[a]): made.take(np.arange(a, b)) for a, b in pairwise(bounds)}
        """By row of trace.locations the call paths: path (row), parent (row, smaller), region (row, -1: row 0, which is
        outside all regions), calls, times (ns), deviations, out, in (bytes). In row 0: inclusive: time of the location;
        exclusive: outside all regions; min: its begin, ns of the archive; calls: those whose paths have no row; max:
        the largest heap of the thread in bytes."""
        for each in self.locations.values():
            path, parent, region = each["path"], each["parent"], each["region"]
            below = (parent[1:] < path[1:]).all() and (parent >= 0).all() and (region[1:] >= 0).all()
            if (path != np.arange(each.rows)).any() or not below or not np.isfinite(each["deviations"]).all():
                raise FormatError(f"{anchor.parent}: the table of the profile is damaged")
