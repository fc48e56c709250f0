# SPDX-License-Identifier: BSD-3-Clause
"""The definitions of the archive as they are expected before its events are written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from vtrace.io.archive.overview import ANCHOR
from vtrace.io.archive.writer import Archive, Definitions
from vtrace.io.local.kernel import Kernel
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.process import Run

_FOLDER = "expected"


@contextmanager
def expected_archive(
    directory: Path, definitions: Definitions, run: Run, kernel: Kernel, *, ranks: Ranks
) -> Iterator[Path]:
    """Writes an archive without events inside a directory, gives its anchor file, and removes the archive. All ranks
    see the archive; all must have read the archive before the context ends.

    The times, numbers of events and regions are those of the final archive, unless a record becomes no event, or gets
    another time than its own. Raises VtraceError.
    """
    place = directory / _FOLDER
    ends = ranks.gather(_ends(run, kernel))
    last = ranks.reduce(max((process.end_ns for process in run.processes), default=0), max)
    ranks.first(lambda: Archive(place).describe(_expected(definitions, ends, last)))
    try:
        yield place / ANCHOR
    finally:
        if ranks.root:
            shutil.rmtree(place, ignore_errors=True)


class _LocationEnds(NamedTuple):
    """The number of records of a location, and the times of its first and last event."""

    records: int
    first: int
    last: int


def _ends(run: Run, kernel: Kernel) -> dict[int, _LocationEnds]:
    """The ends of this rank's locations with records, by OTF2's id."""
    found = {}
    for process in run.processes:
        if process.maps is None:
            continue
        for number, id in process.locations.items():
            if (scan := process.contents.scans.get(number)) is not None and scan.records:
                first, last = kernel.times(process.maps.common, (scan.event_ticks, scan.last_ticks)).tolist()
                found[id] = _LocationEnds(scan.records, first, last)
    return found


def _expected(definitions: Definitions, ends: dict[int, _LocationEnds], last: int) -> Definitions:
    """definitions: of rank 0, which has all processes. last: the end of the last process, in ns; 0: unknown."""
    locations = [replace(location) for location in definitions.locations]
    for number, end in ends.items():
        locations[number].events = end.records
    times = [time for end in ends.values() for time in (end.first, end.last)]
    first = min(times, default=0)
    return replace(
        definitions, regions=definitions.regions[:-1], locations=locations, offset=first,
        length=max(*times, last) - first if times else 0, properties=dict(definitions.properties),
    )  # fmt: skip
