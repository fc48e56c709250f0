# SPDX-License-Identifier: BSD-3-Clause
"""The time from the first to the last Enter or Leave of each location."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


class _SpanPart(Part):
    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if len(batch.time):
            self.first = int(batch.time[0]) if self.first is None else self.first
            self.last = int(batch.time[-1])


class Spans(Question[_SpanPart, Array]):
    """Answers with (locations,) ns, 0 for a location without calls in the window."""

    replay = True

    def part(self, trace: Source, location: int) -> _SpanPart:
        return _SpanPart()

    def answer(self) -> Array:
        found = np.zeros(self.trace.locations.rows, np.int64)
        for location, part in self.parts.items():
            found[location] = 0 if part.first is None else part.last - part.first
        return found
