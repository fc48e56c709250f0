# SPDX-License-Identifier: BSD-3-Clause
"""The calls of malloc and the like in sections of the program, by function: times and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number
from vtrace.analysis.questions.metrics import SIZE
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
        mine = owner.sections["location"] == location
        self.owner, self.sections = owner, owner.sections.take(np.flatnonzero(mine))
        self.location = location
        self.open: tuple[int, int, int] | None = None
        """Region, begin and size of the outermost call that is open at the end of the batch."""
        self.sums: dict[tuple[int, int], AllocationNumbers] = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """Calls inside another one, such as malloc of calloc, do not count: the shim records no calls inside."""
        wanted = self.owner.wanted[np.minimum(batch.ref, len(self.owner.wanted) - 1)]
        enters = np.flatnonzero(wanted & (batch.kind == number("Enter")))
        leaves = np.flatnonzero(wanted & (batch.kind == number("Leave")))
        sizes = np.zeros(len(batch), np.int64)
        attributes = batch.attributes[batch.attributes["attribute"] == self.owner.size]
        sizes[attributes["row"]] = attributes["value"].view(np.int64)
        begun = [(int(batch.ref[row]), int(batch.time[row]), int(sizes[row])) for row in enters.tolist()]
        begun = [*([self.open] if self.open else []), *begun]
        regions, begins, bytes_ = np.array(begun, np.int64).reshape(len(begun), 3)[: len(leaves)].T
        self.open = begun[-1] if len(begun) > len(leaves) else None
        self.add(regions, begins, batch.time[leaves[: len(regions)]], bytes_)

    def add(self, regions: Array, begins: Array, ends: Array, sizes: Array) -> None:
        for section in np.unique(self.sections["section"]).tolist():
            of = self.sections.take(np.flatnonzero(self.sections["section"] == section))
            at = np.searchsorted(of["begin"], begins, "right") - 1
            inside = (at >= 0) & (ends <= np.append(of["end"], 0)[at])
            for region in np.unique(regions[inside]).tolist():
                here = inside & (regions == region)
                ns, bytes_ = (ends - begins)[here], sizes[here]
                values = (each(column) for column in (ns, bytes_) for each in (np.sum, np.min, np.max))
                made = AllocationNumbers(int(here.sum()), *map(int, values))
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
        self.wanted = np.append(trace.regions["activity"] == ACTIVITIES.index("memory"), False)
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
