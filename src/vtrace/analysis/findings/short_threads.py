# SPDX-License-Identifier: BSD-3-Clause
"""Delays by threads that live for a moment, such as those of std::async: one location has one thread after the other.
Between two of them nobody works there, but the first thread of the process, which starts them late."""

from __future__ import annotations

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.table import Table
from vtrace.io.archive.properties import TID


def short_threads(facts: RunFacts) -> list[int]:
    """The locations that have had several threads."""
    properties = facts.trace.location_properties
    found: list[int] = properties["location"][properties["name"] == f"{TID}.2"].tolist()
    return found


def with_first_threads(facts: RunFacts, delays: Table) -> Table:
    """The delays; those outside of recorded calls on locations of short threads are of the process's first thread, in
    the call path where it takes longer than those of other processes."""
    short = short_threads(facts)
    mine = np.isin(delays["location"], short) & (delays["path"] == 0)
    location, path = delays["location"].copy(), delays["path"].copy()
    for row in np.unique(location[mine]).tolist():
        first, here = facts.masters.get(int(facts.trace.places.process[row]), row), mine & (delays["location"] == row)
        others = [each for each in facts.masters.values() if each != first]
        if first == row or not others:
            continue
        names = facts.names(max(0, facts.longer_path([first], others)))
        alike = (at for at in range(delays.paths.rows) if facts.names(at, delays.paths) == names)
        location[here], path[here] = first, next(alike, 0)
    return Table({**delays, "location": location, "path": path}, **delays.notes)
