# SPDX-License-Identifier: BSD-3-Clause
"""The samples of each location in the order of time, with their calling contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import chosen
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SAMPLE = "CallingContextSample"


class SampleStacks(NamedTuple):
    """The samples of a location: times (ns), rows of contexts and rows of interrupt generators; (n,) int64."""

    times: Array
    contexts: Array
    generators: Array


class _CountPart(Part):
    def __init__(self) -> None:
        self.count = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if len(batch.details):
            self.count += len(chosen(batch, _SAMPLE)["ref"])


class SampleCount(Question[_CountPart, int]):
    """Answers with the number of samples."""

    kinds = frozenset({_SAMPLE})

    def part(self, trace: Source, location: int) -> _CountPart:
        return _CountPart()

    def answer(self) -> int:
        return sum(part.count for part in self.parts.values())


class _StackPart(Part):
    def __init__(self, owner: Stacks) -> None:
        self.owner, self.met = owner, 0
        self.found: list[SampleStacks] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if not len(batch.details):
            return
        found, ids = chosen(batch, _SAMPLE), self.owner.trace.definitions.ids
        rows = np.arange(-self.met % self.owner.step, len(found["ref"]), self.owner.step)
        self.met += len(found["ref"])
        contexts = ids["contexts"].rows(found["ref"][rows])
        generators = ids["interrupt_generators"].rows(found["generator"][rows])
        self.found.append(SampleStacks(found["time"][rows].astype(np.int64), contexts, generators))


class Stacks(Question[_StackPart, dict[int, SampleStacks]]):
    """Answers with the samples of each location."""

    kinds = frozenset({_SAMPLE})

    def __init__(self, step: int) -> None:
        """step: each step-th sample of a location is kept."""
        super().__init__()
        self.step = step

    def part(self, trace: Source, location: int) -> _StackPart:
        return _StackPart(self)

    def answer(self) -> dict[int, SampleStacks]:
        none = np.empty(0, np.int64)
        return {
            location: SampleStacks(*(np.concatenate([none, *columns]) for columns in zip(*part.found, strict=True)))
            for location, part in self.parts.items()
            if part.found
        }
