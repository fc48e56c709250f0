# SPDX-License-Identifier: BSD-3-Clause
"""Builds the tiles of an archive while vtunify writes its events."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from vtrace.analysis.source import Source
from vtrace.analysis.written_scan import WrittenScan
from vtrace.io.local.kernel import Listener
from vtrace.io.sidecar import sidecar
from vtrace.timeline.counter_bins import counter_level
from vtrace.timeline.tile_pass import TilePass, is_large
from vtrace.timeline.tiles import finest_level


class WrittenTiles:
    """A listener of vtunify. The levels of the tiles depend on the length of the run and the numbers of events, which
    are estimates before the end. If an estimate was wrong, the first command that reads the archive builds the
    tiles."""

    def __init__(self, anchor: Path) -> None:
        """anchor: of an archive with the expected definitions. Raises FormatError."""
        self._expected = Source(anchor)
        self._scratch = tempfile.TemporaryFile()  # noqa: SIM115
        self._tiles = TilePass(self._expected, self._scratch, lambda events: None, sizes_known=False)
        self._scan = WrittenScan(self._expected, self._tiles.questions)
        self.end = self._scan.end
        self.order: Sequence[int] = self._tiles.builder.groups.order

    def location(self, id: int) -> AbstractContextManager[Listener]:
        """The listener for a location. id: of vtunify, equal to the location's row."""
        return self._scan.location(id)

    def write(self, trace: Source) -> bool:
        """Writes the tiles beside the finished archive. Returns False if they do not fit. Raises VtraceError."""
        with self._scratch:
            if self._scan.failed or not self._scan.fits(trace) or not self._fit(trace):
                return False
            of = sidecar.identity(trace.anchor, trace.properties)
            self._tiles.write(trace.anchor.parent, of, [], trace)
            return True

    def _fit(self, trace: Source) -> bool:
        old = self._expected
        if (trace.duration, is_large(trace)) != (old.duration, is_large(old)):
            return False
        if self._levels(trace) != self._levels(old):
            return False
        return not is_large(trace) or counter_level(trace) == counter_level(old)

    @staticmethod
    def _levels(trace: Source) -> list[int]:
        return [finest_level(events, trace.duration) for events in trace.locations["events"].tolist()]
