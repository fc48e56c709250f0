# SPDX-License-Identifier: BSD-3-Clause
"""The calls of malloc and the like in sections of the program, by function and calling library: times and sizes."""

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
from vtrace.analysis.table import Array, Table, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


LIBRARY = "source library"
"""The attribute of the Enter that names the calling library (VT_MEMTRACE_LIBRARIES)."""
_NO_LIBRARY = -1
_REFERENCE = 0xFFFFFFFF
"""The bits of a reference in an attribute's value; libotf2 leaves the others undefined."""


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
        """Joins the numbers of both."""
        return AllocationNumbers(
            self.count + other.count,
            self.ns + other.ns,
            least_ns=min(self.least_ns, other.least_ns),
            most_ns=max(self.most_ns, other.most_ns),
            bytes=self.bytes + other.bytes,
            least=min(self.least, other.least),
            most=max(self.most, other.most),
        )


def _exact_sum(column: Array) -> int:
    """The sum, which may exceed 2**64."""
    return (int((column >> 32).sum()) << 32) + int((column & 0xFFFFFFFF).sum())


def _least(column: Array) -> int:
    return int(column.min())


def _most(column: Array) -> int:
    return int(column.max())


class _AllocationCallsPart(Part):
    def __init__(self, owner: AllocationCalls, location: int) -> None:
        self.owner, self.clock = owner, OutermostClock(owner.wanted)
        self.sections = owner.sections.take(np.flatnonzero(owner.sections["location"] == location))
        self.open = np.empty((0, 4), np.int64)
        """Region, start, size and library of the call that is open at the end of the batch."""
        self.count = 0
        self.sums: dict[tuple[int, int, int], AllocationNumbers] = {}
        """By section, region and library (OTF2's id of the string)."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """Calls inside another one, such as malloc of calloc, do not count."""
        if not len(batch):
            return
        self.clock.read(batch, not self.count)
        self.count += len(batch)
        began, ended = self.clock.ends()
        sizes = self.attributes(batch, self.owner.size, 0)[began]
        libraries = self.attributes(batch, self.owner.library, _NO_LIBRARY)[began]
        libraries = np.where(libraries == _NO_LIBRARY, libraries, libraries & _REFERENCE)
        new = np.column_stack([batch.ref[began].astype(np.int64), batch.time[began], sizes, libraries])
        begun = np.concatenate([self.open, new])
        self.open = begun[len(ended) :]
        self.add(begun[: len(ended)], batch.time[ended].astype(np.int64))

    @staticmethod
    def attributes(batch: Batch, attribute: int, missing: int) -> Array:
        """The values of an attribute by event of the batch."""
        found = np.full(len(batch), missing, np.int64)
        rows = batch.attributes[batch.attributes["attribute"] == attribute]
        found[rows["row"]] = rows["value"].view(np.int64)
        return found

    def add(self, begun: Array, ends: Array) -> None:
        regions, begins, sizes, libraries = begun.T
        for section, calls in calls_in_sections(self.sections, begins, ends):
            first, member = group([regions[calls], libraries[calls]])
            for place, at in enumerate(first.tolist()):
                here = calls[member == place]
                values = ((ends - begins)[here], sizes[here].view(np.uint64))  # a failed call may ask for any size
                numbers = (join(column) for column in values for join in (_exact_sum, _least, _most))
                made = AllocationNumbers(len(here), *numbers)
                key = section, int(regions[calls[at]]), int(libraries[calls[at]])
                self.sums[key] = self.sums[key].plus(made) if key in self.sums else made


AllocationsBySection = dict[tuple[int, int, str], AllocationNumbers]
"""By location, section (place in the table's sections) and name of the function."""


class AllocationCalls(Question[_AllocationCallsPart, AllocationsBySection]):
    """Answers with the numbers of all calls."""

    replay = attributes = True

    def __init__(self, trace: Source, sections: Table) -> None:
        """sections: of Trace.sections."""
        super().__init__()
        self.sections = sections
        self.names = trace.regions["name"].tolist()
        self.wanted = trace.regions["activity"] == ACTIVITIES.index("memory")
        ids = dict(zip(trace.attributes["name"].tolist(), trace.attributes["id"].tolist(), strict=True))
        self.size, self.library = ids.get(SIZE, -1), ids.get(LIBRARY, -1)
        self._strings = trace.definitions.strings

    def part(self, trace: Source, location: int) -> _AllocationCallsPart:
        return _AllocationCallsPart(self, location)

    def answer(self) -> AllocationsBySection:
        found: AllocationsBySection = {}
        for calls in self.by_library().values():
            for key, numbers in calls.items():
                found[key] = found[key].plus(numbers) if key in found else numbers
        return found

    def by_library(self) -> dict[str, AllocationsBySection]:
        """The numbers by the name of the calling library; "": not recorded."""
        found: dict[str, AllocationsBySection] = {}
        for location, part in self.parts.items():
            for (section, region, library), numbers in part.sums.items():
                calls = found.setdefault(self._strings.get(library, ""), {})
                calls[location, section, self.names[region]] = numbers
        return dict(sorted(found.items()))
