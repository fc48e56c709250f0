# SPDX-License-Identifier: BSD-3-Clause
"""Waits for a processor in MPI, and those that may explain waits in MPI: each explains one finding only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.table import Array, Table, add_up


def waited_in_mpi(facts: RunFacts, waits: Table | None) -> tuple[Array, Array]:
    """(locations,) ns each that locations waited for a processor in calls of MPI that may wait: outside of the calls'
    waits for others, and in these waits, which findings about MPI tell. waits: of Trace.waits; None: unknown."""
    locations, regions = facts.trace.locations.rows, facts.trace.regions.rows
    mpi = facts.waits_in_mpi
    at, ns = facts.processor_waits, facts.processor_waits.within(facts.window.start, facts.window.stop)
    waited = np.bincount(at.location * (regions + 1) + at.region + 1, ns * mpi[at.region], locations * (regions + 1))
    n = facts.profile
    spent = add_up(n["location"] * (regions + 1) + n["region"] + 1, n["exclusive"], len(waited))
    if waits is not None:
        known = waits.take(~np.isin(waits["kind"], [k for k, name in enumerate(waits.kinds) if _is_own(str(name))]))
        region = waits.paths["region"][known["path"]]
        spent -= add_up(known["location"] * (regions + 1) + region + 1, known["time_ns"], len(waited))
    outside = np.minimum(waited, np.maximum(0, spent))
    found = outside.reshape(locations, -1).sum(axis=1), (waited - outside).reshape(locations, -1).sum(axis=1)
    return found


def _is_own(kind: str) -> bool:
    """True for a kind of waits that no finding tells: the end of a collective operation."""
    return kind.endswith("_completion")


class WaitPool:
    """The waits in a selection that no finding has taken."""

    def __init__(self, facts: RunFacts, mpi_waits: Table | None = None) -> None:
        """mpi_waits: of Trace.waits; None: unknown."""
        self._waits, self._path = facts.processor_waits, facts.path_of_wait
        self._left = self._waits.within(facts.window.start, facts.window.stop)
        self._locations = facts.trace.locations.rows
        self._in_mpi, _ = waited_in_mpi(facts, mpi_waits)

    def _inside(self, paths: Array) -> Array:
        found: Array = (self._path >= 0) & paths[self._path]
        return found

    def waited_in(self, paths: Array) -> Array:
        """(locations,) ns that each location waited in these call paths ((paths,) bool), without calls from there.
        Waits in an unknown path are in none."""
        found: Array = np.bincount(self._waits.location, self._left * self._inside(paths), self._locations)
        return found

    def take(self, paths: Array, locations: Sequence[int], ns: float) -> None:
        """Takes so many ns of the waits of these locations in these call paths."""
        mine = self._inside(paths) & np.isin(self._waits.location, locations)
        whole = float(self._left[mine].sum())
        self._left[mine] *= max(0.0, 1 - ns / whole) if whole > 0 else 0

    def take_of_mpi(self, location: int, ns: float) -> float:
        """Takes at most so many ns of the waits in calls of MPI outside of their waits for others. Returns the ns."""
        found = min(ns, float(self._in_mpi[location]))
        self._in_mpi[location] -= found
        return found
