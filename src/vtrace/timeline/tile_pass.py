# SPDX-License-Identifier: BSD-3-Clause
"""The pass that builds the tiles of an archive and the tables beside them: over the archive, or while vtunify writes
it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, cast

from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.source import Source
from vtrace.analysis.written_scan import WrittenScan
from vtrace.io.local.kernel import Listener
from vtrace.io.sidecar import sidecar, tile_file
from vtrace.timeline.bands import Bands, band_table
from vtrace.timeline.bundles import Bundles, bundle_table
from vtrace.timeline.counter_bins import CounterBins, are_few, counter_level, counter_table
from vtrace.timeline.sample_store import all_samples, has_samples, sample_table
from vtrace.timeline.short_locations import ShortLocations
from vtrace.timeline.tiles import TileBuilder, finest_level
from vtrace.timeline.time_sums import TimeSums, has_sums, sum_tables

LARGE = 50_000_000
"""A trace with more events is large: the page does not read all its messages."""

_BUFFER = 1 << 20
"""Bytes of the buffer of the temporary file: a short location has a few KB."""


def scratch_file() -> BinaryIO:
    """A temporary file for the frames of a pass. Raises OSError."""
    return cast("BinaryIO", tempfile.TemporaryFile(buffering=_BUFFER))


def is_large(trace: Source) -> bool:
    return int(trace.locations["events"].sum()) > LARGE


class TilePass:
    """questions: of the pass; builder: the question that builds the tiles; whole: takes locations with few events in
    their place."""

    def __init__(
        self, trace: Source, scratch: BinaryIO, progress: Callable[[int], None], sizes_known: bool = True
    ) -> None:
        """scratch, progress, sizes_known: see TileBuilder."""
        self.builder = TileBuilder(trace, scratch, progress, sizes_known)
        self._trace, self._scratch, self._bundles, self._bands = trace, scratch, Bundles(), Bands()
        large = is_large(trace)
        self._counters = CounterBins() if large and are_few(trace) else None
        self._samples = all_samples(trace) if large and has_samples(trace) else None
        self._sums = TimeSums() if large and has_sums(trace) else None
        optional: list[AnyQuestion] = [each for each in (self._counters, self._samples, self._sums) if each]
        self.whole = None if optional else ShortLocations(trace, self.builder, self._bundles, self._bands)
        self.questions: list[AnyQuestion] = [self.builder, self._bundles, self._bands, *optional]

    def write(self, folder: Path, of: str, problems: Sequence[str], trace: Source | None = None) -> None:
        """Writes the files after the pass. folder: the archive's directory; of: its identity; problems: lines about
        damaged locations; trace: the finished archive, if the pass had its definitions only. Raises VtraceError."""
        if trace is not None and self._samples:
            self._samples.trace = trace
        tables = {
            "bundles": bundle_table(self._bundles.answer()), "bands": band_table(self._bands.answer()),
            "counters": counter_table(self._counters.answer() if self._counters else None),
            "samples": sample_table(self._samples), **sum_tables(self._sums),
        }  # fmt: skip
        index, classes = self.builder.answer(), self._trace.regions.classes
        tile_file.write(
            folder, of, index=index, scratch=self._scratch, classes=classes, problems=problems, beside=tables
        )


class WrittenTiles:
    """A listener of vtunify. The levels of the tiles depend on the length of the run and the numbers of events, which
    are estimates before the end. If an estimate was wrong, the first command that reads the archive builds the
    tiles."""

    def __init__(self, anchor: Path) -> None:
        """anchor: of an archive with the expected definitions. Raises FormatError."""
        self._expected = Source(anchor)
        self._scratch = scratch_file()
        self._tiles = TilePass(self._expected, self._scratch, lambda events: None, sizes_known=False)
        self._scan = WrittenScan(self._expected, self._tiles.questions)
        self.end = self._scan.end
        self.order: Sequence[int] = self._tiles.builder.groups.order

    def location(self, id: int) -> AbstractContextManager[Listener]:
        """The listener for a location. id: of vtunify, equal to the location's row."""
        return self._scan.location(id)

    def write(self, trace: Source) -> bool:
        """Writes the tiles beside the finished archive. Returns False if they do not fit, or if the temporary file has
        no room. Raises VtraceError."""
        try:
            with self._scratch:
                if self._scan.failed or not self._scan.fits(trace) or not self._fit(trace):
                    return False
                of = sidecar.identity(trace.anchor, trace.properties)
                self._tiles.write(trace.anchor.parent, of, [], trace)
                return True
        except OSError:  # of the last bytes, also while an exception closes the file
            return False

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
