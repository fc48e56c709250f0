# SPDX-License-Identifier: BSD-3-Clause
"""The MPI calls in sections of the program, by function: times, waits, and lengths of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, number, present
from vtrace.analysis.questions.message_lengths import CLASSES, FORMULAS, POSTED, POSTED_ATTRIBUTE, CommSizes
from vtrace.analysis.questions.sections import OutermostClock
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

COLUMNS = (
    "location", "section", "region", "calls", "time_ns", "wait_ns", "bytes", "sized",
    *(f"class_{place}" for place in range(len(CLASSES))),
)  # fmt: skip
_SENDS, _RECEIVES = ("MpiSend", "MpiIsend", "RmaPut", "RmaGet"), ("MpiRecv", "MpiMrecv")
_REQUESTS = ("MpiIrecvRequest", "MpiImrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETIONS = ("MpiIrecv", "MpiImrecv", "NonBlockingCollectiveComplete")


class _CallsPart(Part):
    """The outermost calls of MPI of a location, kept until its last event: the length of a non-blocking receive is
    known when it is complete."""

    def __init__(self, owner: SectionCalls, location: int) -> None:
        self.owner, self.location = owner, location
        self.clock = OutermostClock(owner.is_mpi)
        self.begun = self.events = 0
        self.regions: list[Array] = []
        self.begins: list[Array] = []
        self.ends: list[Array] = []
        self.counts: list[Array] = []
        """(n,): 1, more for failing polls in a row."""
        self.amounts: list[Array] = []
        """(n, 4): call, bytes sent and received, processes of the communicator."""
        self.requests: list[Array] = []
        """(n, 6): request, number of the event, call (-1: completed here), bytes sent and received, processes."""
        self.posted: list[Array] = []
        """(n, 2): call, size of its buffers."""
        self.rows = np.empty((0, len(COLUMNS)), np.int64)

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if not len(batch):
            return
        clock = self.clock
        clock.read(batch, not self.events)
        began, ended = clock.ends()
        self.regions.append(batch.ref[began].astype(np.int64))
        self.begins.append(batch.time[began].astype(np.int64))
        self.ends.append(batch.time[ended].astype(np.int64))
        self.counts.append(1 + clock.further[ended])
        self.details(batch, began)
        self.posts(batch, began)
        self.begun += len(began)
        self.events += len(batch)

    def details(self, batch: Batch, began: Array) -> None:
        def calls(rows: Array) -> Array:
            """The open call at each row, -1 for none."""
            found = self.begun + np.searchsorted(began, rows, "right") - 1
            return np.where(self.clock.inside[rows + 1], found, -1)

        for kind, found in present(batch, *_SENDS, *_RECEIVES, "RmaAtomic", "MpiCollectiveEnd"):
            call = calls(found["row"].astype(np.int64))
            amounts = np.stack([call, *self.bytes(kind, found)], axis=1)
            self.amounts.append(amounts[call >= 0])
        for kind, found in present(batch, *_REQUESTS, *_COMPLETIONS):
            rows = found["row"].astype(np.int64)
            begins = kind in _REQUESTS
            call = calls(rows) if begins else np.full(len(rows), -1)
            sizes = np.zeros((3, len(rows)), np.int64) if begins else self.bytes(kind, found)
            head = found["request"].astype(np.int64), self.events + rows, call
            self.requests.append(np.stack([*head, *sizes], axis=1))

    def posts(self, batch: Batch, began: Array) -> None:
        found = batch.attributes[batch.attributes["attribute"] == self.owner.attribute]
        enters = batch.kind[found["row"]] == number("Enter")
        found = found[~enters | np.isin(found["row"], began)]  # not of calls inside these calls
        calls = self.begun + np.searchsorted(began, found["row"], "right") - 1
        self.posted.append(np.column_stack([calls, known_bytes(found["value"])[0]]))

    def bytes(self, kind: str, found: dict[str, Array]) -> tuple[Array, Array, Array]:
        """Bytes sent and received, and the processes of the communicator."""
        none = np.zeros(len(found["row"]), np.int64)
        if "sent" in found:
            peers = self.owner.comms.of(found["ref"])[1] if kind != "RmaAtomic" else none + 1
            return known_bytes(found["sent"])[0], known_bytes(found["received"])[0], peers
        size = known_bytes(found["bytes"])[0]
        return (size, none, none + 1) if kind in _SENDS else (none, size, none + 1)

    def end(self, replay: Replay | None) -> None:
        ends = _joined(self.ends)
        begins, regions = _joined(self.begins)[: len(ends)], _joined(self.regions)[: len(ends)]
        self.rows = self.owner.in_sections(
            self.location, regions, counts=_joined(self.counts), begins=begins, ends=ends, lengths=self.lengths(regions)
        )
        for kept in (self.regions, self.begins, self.ends, self.counts, self.amounts, self.requests, self.posted):
            kept.clear()

    def lengths(self, regions: Array) -> Array:
        """The length of each call by Table 3.24, 0 for functions without one, -1 for a call whose length is unknown.
        regions: of the calls that have ended."""
        amounts = np.concatenate([np.empty((0, 4), np.int64), *self.amounts, self.completed()])
        posted = np.concatenate([np.empty((0, 2), np.int64), *self.posted])
        amounts, posted = (of[(of[:, 0] >= 0) & (of[:, 0] < len(regions))] for of in (amounts, posted))
        lengths = np.where(np.isin(regions, [*self.owner.only_posted]), -1, 0)
        functions = regions[amounts[:, 0]]
        for region in np.unique(functions).tolist():
            call, *sizes = amounts[functions == region].T
            if region in self.owner.formulas:
                np.add.at(lengths, call, self.owner.formulas[region](*sizes))
        sent = add_up(amounts[:, 0], amounts[:, 1], len(regions))
        functions = regions[posted[:, 0]]
        for region in np.unique(functions).tolist():
            call, size = posted[functions == region].T
            if region in self.owner.posted:
                lengths[call] = self.owner.posted[region](sent[call], size)
        return lengths

    def completed(self) -> Array:
        """The amounts of requests, of the call that has made each request."""
        found = np.concatenate([np.empty((0, 6), np.int64), *self.requests])
        found = found[np.lexsort((found[:, 1], found[:, 0]))]
        ends = np.flatnonzero((found[1:, 0] == found[:-1, 0]) & (found[1:, 2] < 0) & (found[:-1, 2] >= 0)) + 1
        return np.column_stack([found[ends - 1, 2], found[ends, 3:]])


def calls_in_sections(sections: Table, begins: Array, ends: Array) -> Iterator[tuple[int, Array]]:
    """The sections of a location, each with its calls (places in begins). sections: of the question
    Sections; begins, ends: of calls that do not nest, ascending, ns."""
    for section in np.unique(sections["section"]).tolist():
        of = sections.take(np.flatnonzero(sections["section"] == section))
        first, last = np.searchsorted(begins, [of["begin"][0], of["end"][-1]])
        calls = np.arange(first, last)
        at = np.searchsorted(of["begin"], begins[calls], "right") - 1
        yield section, calls[ends[calls] <= of["end"][at]]


def by_function(trace: Source, table: Table, places: Array) -> dict[tuple[int, str], dict[str, dict[str, int]]]:
    """The answer of SectionCalls by place and section, then by name of the function: the sums of COLUMNS from calls on.
    places: (locations,) such as the process of each location."""
    names, columns = trace.regions["name"].tolist(), COLUMNS[3:]
    found: dict[tuple[int, str], dict[str, dict[str, int]]] = {}
    for row in table.records():
        key = int(places[row["location"]]), table.sections[row["section"]]
        of = found.setdefault(key, {}).setdefault(names[row["region"]], dict.fromkeys(columns, 0))
        for column in columns:
            of[column] += int(row[column])
    return found


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([np.empty(0, np.int64), *parts])


class SectionCalls(Question[_CallsPart, Table]):
    """Answers with rows of COLUMNS: sums over the MPI calls of a function in a section of a location. sized: calls of
    functions with a length of messages; class_0 to class_3: calls by CLASSES."""

    kinds = frozenset({*_SENDS, *_RECEIVES, *_REQUESTS, *_COMPLETIONS, "RmaAtomic", "MpiCollectiveEnd"})
    replay = True

    def __init__(self, trace: Source, sections: Table, waits: Table | None = None) -> None:
        """sections: of Trace.sections; waits: of Trace.call_waits."""
        super().__init__()
        self.sections, self.waits, self.comms = sections, waits, CommSizes(trace)
        self.is_mpi = trace.regions["class"] == MPI
        names = [str(name).removeprefix("MPI_").removesuffix("_c") for name in trace.regions["name"].tolist()]
        mine = np.flatnonzero(self.is_mpi).tolist()
        self.formulas = {row: FORMULAS[names[row]] for row in mine if names[row] in FORMULAS}
        self.posted = {row: POSTED[names[row]] for row in mine if names[row] in POSTED}
        self.only_posted = {*self.posted} - {*self.formulas}
        self.has_length = {*self.posted, *self.formulas}
        ids = trace.attributes["id"][trace.attributes["name"] == POSTED_ATTRIBUTE].tolist()
        self.attributes = bool(ids)
        self.attribute = ids[0] if ids else -1

    def part(self, trace: Source, location: int) -> _CallsPart:
        return _CallsPart(self, location)

    def in_sections(
        self, location: int, regions: Array, counts: Array, begins: Array, *, ends: Array, lengths: Array
    ) -> Array:
        """The sums of a location. counts: of the calls that each call stands for."""
        waits = self._waits(location, begins)
        sized = np.isin(regions, [*self.has_length]) & (lengths >= 0)
        places = np.searchsorted(CLASSES, lengths, "right") - 1
        columns = [counts, ends - begins, waits, lengths * sized, sized]
        values = np.stack([*columns, *(sized & (places == one) for one in range(len(CLASSES)))], axis=1)
        mine = self.sections.take(np.flatnonzero(self.sections["location"] == location))
        found = [np.empty((0, len(COLUMNS)), np.int64)]
        for section, calls in calls_in_sections(mine, begins, ends):
            functions, member = np.unique(regions[calls], return_inverse=True)
            sums = np.zeros((len(functions), values.shape[1]), np.int64)
            np.add.at(sums, member, values[calls])
            head = [np.full(len(functions), location), np.full(len(functions), section), functions]
            found.append(np.column_stack([*head, sums]))
        return np.concatenate(found)

    def _waits(self, location: int, begins: Array) -> Array:
        found = np.zeros(len(begins), np.int64)
        if self.waits is None or not len(begins):
            return found
        bounds = [place for place, kind in enumerate(self.waits.kinds) if kind in self.waits.bounds]
        mine = (self.waits["location"] == location) & ~np.isin(self.waits["kind"], bounds)
        begin, ns = self.waits["begin"][mine], self.waits["time_ns"][mine]
        at = np.minimum(np.searchsorted(begins, begin), len(begins) - 1)
        known = begins[at] == begin
        np.add.at(found, at[known], ns[known])
        return found

    def answer(self) -> Table:
        rows = np.concatenate([np.empty((0, len(COLUMNS)), np.int64), *(part.rows for part in self.parts.values())])
        return Table(dict(zip(COLUMNS, rows.T, strict=True)), sections=self.sections.sections)
