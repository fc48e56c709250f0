# SPDX-License-Identifier: BSD-3-Clause
"""The pass over an archive that builds its tiles and the tables beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from vtrace.analysis.question import AnyQuestion
from vtrace.io.sidecar import tile_file
from vtrace.timeline.bands import Bands, band_table
from vtrace.timeline.bundles import Bundles, bundle_table
from vtrace.timeline.counter_bins import CounterBins, are_few, counter_table
from vtrace.timeline.sample_store import all_samples, has_samples, sample_table
from vtrace.timeline.tiles import TileBuilder

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

LARGE = 50_000_000
"""A trace with more events is large: the page does not read all its messages."""


def is_large(trace: Source) -> bool:
    return int(trace.locations["events"].sum()) > LARGE


class TilePass:
    """questions: of the pass; builder: the question that builds the tiles."""

    def __init__(
        self, trace: Source, scratch: BinaryIO, progress: Callable[[int], None], sizes_known: bool = True
    ) -> None:
        """scratch, progress, sizes_known: see TileBuilder."""
        self.builder = TileBuilder(trace, scratch, progress, sizes_known)
        self._trace, self._scratch, self._bundles, self._bands = trace, scratch, Bundles(), Bands()
        large = is_large(trace)
        self._counters = CounterBins() if large and are_few(trace) else None
        self._samples = all_samples(trace) if large and has_samples(trace) else None
        optional: list[AnyQuestion] = [each for each in (self._counters, self._samples) if each]
        self.questions: list[AnyQuestion] = [self.builder, self._bundles, self._bands, *optional]

    def write(self, folder: Path, of: str, problems: Sequence[str], trace: Source | None = None) -> None:
        """Writes the files after the pass. folder: the archive's directory; of: its identity; problems: lines about
        damaged locations; trace: the finished archive, if the pass had its definitions only. Raises VtraceError."""
        if trace is not None and self._samples:
            self._samples.trace = trace
        tables = {
            "bundles": bundle_table(self._bundles.answer()), "bands": band_table(self._bands.answer()),
            "counters": counter_table(self._counters.answer() if self._counters else None),
            "samples": sample_table(self._samples),
        }  # fmt: skip
        index, classes = self.builder.answer(), self._trace.regions.classes
        tile_file.write(
            folder, of, index=index, scratch=self._scratch, classes=classes, problems=problems, beside=tables
        )
