# SPDX-License-Identifier: BSD-3-Clause
"""The sizes of messages over time."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, present
from vtrace.analysis.questions.messages import SENDS
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

POWERS = 49
"""The number of classes of sizes by powers of two: 0 bytes, 1, 2 to 3, 4 to 7 ..."""


class _SizesPart(Part):
    def __init__(self, owner: MessageSizes) -> None:
        self.owner = owner

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        begin, end = self.owner.ends
        for _, found in present(batch, *SENDS):
            column = (found["time"] - begin) * self.owner.bins // max(1, end - begin)
            power = np.frexp(known_bytes(found["bytes"])[0].astype(np.float64))[1]
            place = np.clip(power, 0, POWERS - 1) * self.owner.bins + np.clip(column, 0, self.owner.bins - 1)
            self.owner.add(place)


class MessageSizes(Question[_SizesPart, Array]):
    """Answers with the number of messages sent, by powers of two of their size and by bins of time."""

    kinds = frozenset(SENDS)

    def __init__(self, bins: int, ends: tuple[int, int]) -> None:
        super().__init__()
        self.bins, self.ends = bins, ends
        self._counts = np.zeros(POWERS * bins, np.int64)
        self._lock = Lock()

    def part(self, trace: Source, location: int) -> _SizesPart:
        return _SizesPart(self)

    def add(self, places: Array) -> None:
        """Counts messages at these places."""
        with self._lock:
            np.add.at(self._counts, places, 1)

    def answer(self) -> Array:
        """(POWERS, bins) int64."""
        return self._counts.reshape(POWERS, self.bins)
