# SPDX-License-Identifier: BSD-3-Clause
"""The definitions of the archive as they are expected before its events are written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vtrace.io.archive.overview import ANCHOR
from vtrace.io.archive.writer import Archive, Definitions
from vtrace.io.local.kernel import Kernel
from vtrace.unify.model.traced_run import Run

_FOLDER = "expected"


@contextmanager
def expected_archive(directory: Path, definitions: Definitions, run: Run, kernel: Kernel) -> Iterator[Path]:
    """Writes an archive without events inside a directory, gives its anchor file, and removes the archive.

    Its times, numbers of events and regions are those of the final archive, unless a record becomes no event, or gets
    another time than its own. Raises VtraceError.
    """
    place = directory / _FOLDER
    Archive(place).describe(_expected(definitions, run, kernel))
    try:
        yield place / ANCHOR
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _expected(definitions: Definitions, run: Run, kernel: Kernel) -> Definitions:
    """definitions: of rank 0, which has all processes."""
    times, locations = list[int](), [replace(location) for location in definitions.locations]
    for process in run.processes:
        if process.maps is None:
            continue
        for place, number in enumerate(process.locations):
            if (scan := process.scans.get(number)) is not None and scan.records:
                locations[process.first + place].events = scan.records
                times += kernel.times(process.maps, (scan.event_ticks, scan.last_ticks)).tolist()
    first = min(times, default=0)
    return replace(
        definitions, regions=definitions.regions[:-1], locations=locations, offset=first,
        length=max(times, default=0) - first, properties=dict(definitions.properties),
    )  # fmt: skip
