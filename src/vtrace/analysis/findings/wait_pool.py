# SPDX-License-Identifier: BSD-3-Clause
"""Waits for a processor that may explain waits in MPI. A wait explains one finding only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.table import Array


class WaitPool:
    """The waits in a selection that no finding has taken."""

    def __init__(self, facts: RunFacts) -> None:
        self._waits, self._path = facts.processor_waits, facts.path_of_wait
        self._left = self._waits.within(facts.window.start, facts.window.stop)
        self._locations = facts.trace.locations.rows

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
