# SPDX-License-Identifier: BSD-3-Clause
"""Builds the tiles of locations with few events: a call of C for each kernel takes a whole location, since the steps of
a pass take longer than the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vtrace.analysis.replay import Replay
from vtrace.io.archive.batches import BatchBuffer
from vtrace.timeline.bands import Bands
from vtrace.timeline.bundles import Bundles
from vtrace.timeline.tiles import TileBuilder

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


class ShortLocations:
    """Takes locations in place of the parts of three questions (vtrace.analysis.scan.WholeLocations)."""

    def __init__(self, trace: Source, builder: TileBuilder, bundles: Bundles, bands: Bands) -> None:
        self._builder, self._bundles, self._bands = builder, bundles, bands
        self.fits = trace.definitions.ids["regions"].dense and not trace.contexts.rows
        """False if Python has to convert the calls of each batch."""

    def take(self, location: int, batch: BatchBuffer, replay: Replay) -> None:
        """Adds a location. batch: all its events. Raises MemoryError."""
        self._builder.take(location, batch, replay)
        self._bundles.take(location, batch)
        self._bands.take(location, batch)
