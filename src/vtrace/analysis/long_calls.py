# SPDX-License-Identifier: BSD-3-Clause
"""Where programs make the calls in which threads wait long (csrc/core/long_calls.c), from the sidecar of an archive."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.call_sites import OF_INTERPRETER, Site, sites_of
from vtrace.errors import FormatError
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

BODY = re.compile(r"\._omp_fn\.\d+$|\.?omp_outlined.*$")
"""The end of the name of the function that a compiler makes of the body of a construct of OpenMP."""
_COLUMNS = ("location", "region", "site", "ns")
_MOST = 0.5
"""The least part of the time of long calls that a place has if its line is told."""


def long_calls_of(trace: Source) -> sidecar.SidecarTable | None:
    """The table (unify/account/account.py); None: there is none, or it is damaged."""
    try:
        table = sidecar.read(trace.anchor.parent, *sidecar.LONG_CALLS, sidecar.identity(trace.anchor, trace.properties))
    except FormatError:
        return None
    if not table or "site" not in table.names:
        return None
    return table if all(name in table.columns and table.columns[name].dtype.kind == "u" for name in _COLUMNS) else None


class LongCalls:
    """The times of long calls by location, region and place, of the whole run."""

    def __init__(self, trace: Source) -> None:
        self._table = long_calls_of(trace)
        if self._table:
            columns = self._table.columns
            self._location = trace.definitions.ids["locations"].rows(columns["location"])
            self._region = trace.definitions.ids["regions"].rows(columns["region"])
            self._names = {*trace.regions["name"].tolist()}

    def source(self, region: int, locations: Sequence[int], caller: str = "") -> str:
        """file:line of the program's own code that makes most long calls of a region (a row) on some locations; "" if
        unknown. caller: the function around the calls, "" if unknown; functions that are not recorded may be inlined
        into it. Places in such functions without the recorded one around them count if there is no other."""
        if not self._table:
            return ""
        columns, texts = self._table.columns, self._table.names["site"]
        chosen = np.flatnonzero((self._region == region) & np.isin(self._location, locations))
        callers = ("", caller, BODY.sub("", caller))  # debug information has a body's code in the function around it
        recorded = {*callers, *self._names}
        sums, inside = defaultdict[Site | None, int](int), defaultdict[Site | None, int](int)
        for text, ns in zip(columns["site"][chosen].tolist(), columns["ns"][chosen].tolist(), strict=True):
            stack = sites_of(texts[text]) if text < len(texts) else []
            site = stack[0] if stack and stack[0].source and not OF_INTERPRETER.search(f"{stack[0].source}:") else None
            around = next((each.function for each in stack if each.function in recorded), "")
            if not caller or around in callers:
                sums[site] += ns
                inside[site] += ns if caller and around else 0
        found = inside if any(inside.values()) else sums
        best = max(found, key=found.__getitem__, default=None)
        return best.source if best and found[best] >= _MOST * sum(found.values()) else ""
