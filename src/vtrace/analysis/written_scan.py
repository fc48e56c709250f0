# SPDX-License-Identifier: BSD-3-Clause
"""A pass over the events of an archive while they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.scan import LocationScan, Scanning
from vtrace.analysis.shared_scan import collect
from vtrace.errors import VtraceError
from vtrace.io.archive.batches import BatchBuffer
from vtrace.io.local.kernel import Listener
from vtrace.parallel.ranks import Ranks

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.analysis.table import Array

_BATCH = 1 << 14
"""Events in a batch: fewer than others have, since the writer's buffers share the processor's cache."""


class WrittenScan:
    """Passes the events to several questions, as vtrace.analysis.scan does, but nothing is read.

    Each location is written once, by any thread of any rank. After end() the questions can answer.
    """

    def __init__(self, trace: Source, questions: Sequence[AnyQuestion]) -> None:
        """trace: the definitions of the archive, which has no events yet."""
        self._trace, self._scanning = trace, Scanning(trace, questions, strict=True, order=iter(()))
        self._thread = local()
        self.failed = False
        """True if the questions could not take all events: the archive is whole, but they cannot answer."""

    @contextmanager
    def location(self, row: int) -> Iterator[Listener]:
        """Gives the listener for the events of a location (row of trace.locations), which are written in this block."""
        scanning = self._scanning
        if not hasattr(self._thread, "batch"):
            self._thread.batch, self._thread.replay = BatchBuffer(_BATCH), scanning.replay()
        batch: BatchBuffer = self._thread.batch
        batch.begin(
            (self._trace.offset, self._trace.resolution),
            scanning.kinds,
            attributes=scanning.attributes,
            calls_attribute=self._trace.calls_attribute,
        )
        scanned = LocationScan(scanning, self._thread.replay, row)
        events = 0

        def take() -> None:
            nonlocal events
            batch.refresh()
            events += len(batch)
            if len(batch):
                self._survive(scanned.take, batch)
            batch.clear()

        yield Listener(batch.address, take)
        take()
        self._survive(scanned.end, batch, events)

    def _survive(self, work: Callable[..., object], *arguments: Any) -> None:
        """A lack of disk or memory for the answers must not stop the writing of the archive."""
        try:
            work(*arguments)
        except (OSError, MemoryError, VtraceError):
            self.failed = True

    def fits(self, trace: Source) -> bool:
        """True if a finished archive has the expected times, locations and regions, to which the answers then
        belong."""
        old = self._trace
        if trace.offset != old.offset or not np.array_equal(trace.locations["id"], old.locations["id"]):
            return False
        if not np.array_equal(_known(trace.regions["id"]), _known(old.regions["id"])):
            return False
        # Regions that are unknown have other rows.
        return not np.any(trace.contexts["region"] >= len(_known(trace.regions["id"])))

    def end(self, ranks: Ranks) -> None:
        """Ends the pass after the last location. All ranks that share the locations call end; rank 0 gets all parts."""
        self._scanning.end()
        self.failed = ranks.total([self.failed])[0] > 0
        if ranks.size > 1 and not self.failed:
            collect(ranks, self._scanning.questions, [*self._scanning.met.events], self._scanning.met)


def _known(ids: Array) -> Array:
    found: Array = ids[ids >= 0]
    return found
