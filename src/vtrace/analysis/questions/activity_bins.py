# SPDX-License-Identifier: BSD-3-Clause
"""Time by activity class in bins of equal width, for timelines."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.profile_replay import ProfileReplay
from vtrace.analysis.question import Part, Question
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["grouped"]


class _LinePart(Part):
    def __init__(self, owner: Timeline, row: int) -> None:
        self.owner, self.row = owner, row

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.owner.add(self.row, replay)


class Timeline(Question[_LinePart, Array]):
    """Answers Trace.timeline."""

    replay = True

    def __init__(self, bins: int, class_of: Array, classes: int, rows: Array, *, window: tuple[int, int]) -> None:
        super().__init__()
        self.bins, self.classes, self.rows, self.window = bins, classes, rows, window
        self.lock = Lock()
        self.class_of = np.ascontiguousarray(class_of, np.uint8)
        self.seconds = np.zeros((int(rows.max(initial=-1)) + 1, classes + 1, bins), np.float32)

    def part(self, trace: Source, location: int) -> _LinePart:
        return _LinePart(self, int(self.rows[location]))

    def configure(self, replay: Replay) -> None:
        replay.line = np.zeros((self.classes + 1, self.bins))
        fields = replay.fields
        fields.from_, fields.to = self.window
        fields.bins, fields.classes = self.bins, self.classes
        fields.class_of, fields.line = self.class_of.ctypes.data, replay.line.ctypes.data

    def add(self, row: int, replay: Replay) -> None:
        mean = (
            replay.mean_line(self.class_of, self.seconds.shape[1:], self.window)
            if isinstance(replay, ProfileReplay)
            else None
        )
        line = replay.line if mean is None else mean
        if row >= 0:
            with self.lock:  # locations may share a row
                self.seconds[row] += line * 1e-9
        line[:] = 0

    def answer(self) -> Array:
        return self.seconds


def grouped(locations: Sequence[int], rows: int) -> Array:
    """(locations,) the row of each location in a timeline with at most `rows` rows. If there are more locations,
    neighbours share a row."""
    return np.asarray(locations, np.int64) * rows // max(1, len(locations))
