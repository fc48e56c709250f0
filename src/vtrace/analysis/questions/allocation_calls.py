# SPDX-License-Identifier: BSD-3-Clause
"""The calls of malloc and the like in sections of the program, by function: times and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.metrics import SIZE
from vtrace.analysis.questions.section_calls import calls_in_sections
from vtrace.analysis.questions.sections import OutermostClock
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


@dataclass
class AllocationNumbers:
    """The calls of a function in a section: times in ns, sizes in bytes (0 without a size, as those of free)."""

    count: int
    ns: int
    least_ns: int
    most_ns: int
    bytes: int
    least: int
    most: int

    def plus(self, other: AllocationNumbers) -> AllocationNumbers:
        """The numbers of both."""
        return AllocationNumbers(
            self.count + other.count, self.ns + other.ns, min(self.least_ns, other.least_ns),
            max(self.most_ns, other.most_ns), self.bytes + other.bytes, min(self.least, other.least),
            max(self.most, other.most),
        )  # fmt: skip


class _AllocationCallsPart(Part):
    def __init__(self, owner: AllocationCalls, location: int) -> None:
        self.owner, self.clock = owner, OutermostClock(owner.wanted)
        self.sections = owner.sections.take(np.flatnonzero(owner.sections["location"] == location))
        self.open = np.empty((0, 3), np.int64)
        """Region, begin and size of the call that is open at the end of the batch."""
        self.count = 0
        self.sums: dict[tuple[int, int], AllocationNumbers] = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """Calls inside another one, such as malloc of calloc, do not count."""
        if not len(batch):
            return
        self.clock.read(batch, not self.count)
        self.count += len(batch)
        began, ended = self.clock.ends()
        sizes = np.zeros(len(batch), np.int64)
        attributes = batch.attributes[batch.attributes["attribute"] == self.owner.size]
        sizes[attributes["row"]] = attributes["value"].view(np.int64)
        new = np.column_stack([batch.ref[began].astype(np.int64), batch.time[began], sizes[began]])
        begun = np.concatenate([self.open, new])
        self.open = begun[len(ended) :]
        regions, begins, sizes = begun[: len(ended)].T
        self.add(regions, begins, sizes, batch.time[ended].astype(np.int64))

    def add(self, regions: Array, begins: Array, sizes: Array, ends: Array) -> None:
        for section, calls in calls_in_sections(self.sections, begins, ends):
            for region in np.unique(regions[calls]).tolist():
                here = calls[regions[calls] == region]
                values = ((ends - begins)[here], sizes[here])
                numbers = (int(join(column)) for column in values for join in (np.sum, np.min, np.max))
                made = AllocationNumbers(len(here), *numbers)
                known = self.sums.get((section, region))
                self.sums[section, region] = known.plus(made) if known else made


class AllocationCalls(Question[_AllocationCallsPart, dict[tuple[int, int, str], AllocationNumbers]]):
    """Answers with the numbers by location, section (place in the table's sections) and name of the function."""

    replay = attributes = True

    def __init__(self, trace: Source, sections: Table) -> None:
        """sections: of Trace.sections."""
        super().__init__()
        self.sections = sections
        self.names = trace.regions["name"].tolist()
        self.wanted = trace.regions["activity"] == ACTIVITIES.index("memory")
        ids = trace.attributes["id"][trace.attributes["name"] == SIZE].tolist()
        self.size = ids[0] if ids else -1

    def part(self, trace: Source, location: int) -> _AllocationCallsPart:
        return _AllocationCallsPart(self, location)

    def answer(self) -> dict[tuple[int, int, str], AllocationNumbers]:
        return {
            (location, section, self.names[region]): numbers
            for location, part in self.parts.items()
            for (section, region), numbers in part.sums.items()
        }
