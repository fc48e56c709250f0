# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations: sums for each location, and instances with their participants."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, number, present, region_rows
from vtrace.analysis.questions.sums import Sums
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up, group, joined, stack
from vtrace.io.archive.batches import ALWAYS, Batch
from vtrace.io.archive.reader_abi import DETAIL
from vtrace.io.common.enumerations import names_of

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["op_name"]

_END = dict.fromkeys("location comm op root sent received begin end region".split(), np.int64)
_ENDS = ("MpiCollectiveEnd", "NonBlockingCollectiveComplete")
_KINDS = frozenset((*_ENDS, "MpiCollectiveBegin", "NonBlockingCollectiveRequest"))


def op_name(op: int) -> str:
    """OTF2's name of a collective operation, as in the column op: ALLREDUCE."""
    return str(names_of(_otf2.CollectiveOp).get(int(op), op))


class Begins:
    """The starts of the blocking operations of a location, which nest."""

    def __init__(self) -> None:
        self.open: list[int] = []

    def of(self, batch: Batch, ends: Array) -> Array:
        """The start (ns) for each end (rows of the batch); if the start is unknown, the time of the end itself."""
        begins = np.flatnonzero(batch.kind == number("MpiCollectiveBegin"))
        if len(begins) == len(ends) and not self.open and (begins < ends).all() and (begins[1:] > ends[:-1]).all():
            found: Array = batch.time[begins]
            return found
        at, found = 0, np.empty(len(ends), np.int64)
        for i, end in enumerate(ends.tolist()):
            while at < len(begins) and begins[at] < end:
                self.open.append(int(batch.time[begins[at]]))
                at += 1
            found[i] = self.open.pop() if self.open else batch.time[end]
        self.open += batch.time[begins[at:]].tolist()
        return found


Piece = tuple[int, Array, Array, Array]
"""Operations by their ends: location, details, start and end (ns)."""


class CollectiveEnds(Part):
    """The collective operations of a location."""

    kinds = _KINDS

    def __init__(self, location: int) -> None:
        self.location, self.begins = location, Begins()
        self.started: dict[int, int] = {}

    def ends(self, batch: Batch) -> list[Piece]:
        """The ends in a batch. Ends of both kinds begin with op, root, sent, received; the non-blocking kind has a
        request next."""
        kinds, there = batch.details["kind"], batch.detailed()
        for _, found in present(batch, "NonBlockingCollectiveRequest"):
            self.started |= dict(zip(found["request"].tolist(), found["time"].tolist(), strict=True))
        result = []
        if there[number(_ENDS[0])] or (batch.kind == number("MpiCollectiveBegin")).any():
            blocking = batch.details.compress(kinds == number(_ENDS[0]))
            begin = self.begins.of(batch, blocking["row"].astype(np.int64))
            if len(blocking):
                result.append((self.location, blocking, begin, batch.time[blocking["row"]]))
        if there[number(_ENDS[1])]:
            other = batch.details.compress(kinds == number(_ENDS[1]))
            times = batch.time[other["row"]]
            pairs = zip(other["words"][:, 4].tolist(), times.tolist(), strict=True)
            begin = np.array([self.started.pop(request, time) for request, time in pairs], np.int64)
            result.append((self.location, other, begin, times))
        return result


def end_columns(trace: Source, pieces: Sequence[Piece]) -> dict[str, Array]:
    """Columns of CollectiveEnds.ends: op, root (-1: none), sent, received, location, comm, region, begin, end."""
    rows = joined([found for _, found, _, _ in pieces], DETAIL)
    columns = {name: rows["words"][:, place].astype(np.int64) for place, name in enumerate(_WORDS)}
    columns |= {name: known_bytes(rows["words"][:, _WORDS.index(name)])[0] for name in ("sent", "received")}
    columns["root"] = np.where(columns["root"] >= 0xFFFFFFFD, -1, columns["root"])
    return columns | {
        "location": np.repeat([piece[0] for piece in pieces], [len(piece[1]) for piece in pieces]),
        "comm": trace.definitions.ids["comms"].rows(rows["ref"]), "region": region_rows(rows["region"]),
        "begin": np.concatenate([piece[2] for piece in pieces]), "end": np.concatenate([piece[3] for piece in pieces]),
    }  # fmt: skip


_WORDS = ("op", "root", "sent", "received")
_KEYS, _SUMS = ("location", "op", "comm"), ("calls", "sent", "received", "ns")


class _TotalsPart(CollectiveEnds):
    def __init__(self, sums: Sums, location: int) -> None:
        super().__init__(location)
        self.sums = sums

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for piece in self.ends(batch):
            self.sums.add(len(piece[1]), piece)


class CollectiveTotals(Question[_TotalsPart, Table]):
    """Answers Trace.collective_totals."""

    kinds = _KINDS

    def __init__(self) -> None:
        super().__init__()
        self._sums = Sums(_KEYS, _SUMS, self._columns)

    def part(self, trace: Source, location: int) -> _TotalsPart:
        return _TotalsPart(self._sums, location)

    def _columns(self, pieces: list[Piece]) -> dict[str, Array]:
        found = end_columns(self.trace, pieces)
        return found | {"calls": np.ones_like(found["op"]), "ns": found["end"] - found["begin"]}

    def answer(self) -> Table:
        return self._sums.table()


class _InstancePart(CollectiveEnds):
    def __init__(self, owner: Collectives, location: int) -> None:
        super().__init__(location)
        self._owner = owner
        self.found: list[Piece] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        found = self.ends(batch)
        if self._owner.has_room(sum(len(rows) for _, rows, _, _ in found)):
            self.found += found


class Collectives(Question[_InstancePart, tuple[Table, Table]]):
    """Answers Trace.collectives."""

    kinds = _KINDS
    replay = early = True

    def __init__(self, most: int | None = None) -> None:
        """most: with more calls than these, the answer has no operation."""
        super().__init__()
        self._most, self._calls, self._lock = most, 0, Lock()

    def part(self, trace: Source, location: int) -> _InstancePart:
        return _InstancePart(self, location)

    def has_room(self, calls: int) -> bool:
        """Counts further calls. False if there are too many."""
        with self._lock:
            self._calls += calls
            return self._most is None or self._calls <= self._most

    def answer(self) -> tuple[Table, Table]:
        """Instances and participants: the n-th operation of a location on a communicator belongs to the n-th instance
        there."""
        trace, start = self.trace, self.start
        found = [each for part in self.parts.values() for each in part.found if self.has_room(0)]
        ends = stack([end_columns(trace, found)] if found else [], _END)
        ends = ends.take(np.lexsort((ends["end"], ends["begin"], ends["location"], ends["comm"])))
        is_self = np.array([trace.places.is_self(comm) for comm in range(trace.comms.rows)] + [False], bool)
        apart = np.where(is_self[ends["comm"]], ends["location"], -1)
        changed = np.ones(ends.rows, bool)
        changed[1:] = (np.diff(ends["comm"]) != 0) | (np.diff(ends["location"]) != 0)
        begins = np.flatnonzero(changed)
        turn = np.arange(ends.rows) - np.repeat(begins, np.diff([*begins, ends.rows]))
        first, member = group([ends["comm"], apart, turn])
        instances = _instances(ends, first, member)
        if start > ALWAYS:
            wanted = instances["end"] >= start
            renumbered = np.cumsum(wanted) - 1
            rows = wanted[member]
            ends, member, instances = ends.take(rows), renumbered[member[rows]], instances.take(wanted)
        parts: dict[str, Any] = {
            name: ends[name] for name in ("location", "begin", "end", "sent", "received", "region")
        }
        return instances, Table({"instance": member, **parts})


def by_operation(totals: Table) -> Table:
    """The rows of CollectiveTotals joined over locations: op, comm, calls, sent, received, ns; the largest ns first."""
    first, member = group([totals["op"], totals["comm"]])
    columns = {name: totals[name][first] for name in ("op", "comm")}
    sums = {name: add_up(member, totals[name], len(first)) for name in _SUMS}
    return Table(columns | sums).order("ns")


def operation_text(op: int) -> str:
    """The name of a collective operation in tables for people: Reduce scatter block."""
    return op_name(op).capitalize().replace("_", " ")


def _instances(ends: Table, first: Array, member: Array) -> Table:
    n = len(first)
    columns: dict[str, Array] = {name: ends[name][first] for name in ("comm", "op", "root")}
    for name, source, join, initial in (
        ("begin", "begin", np.minimum, np.iinfo(np.int64).max), ("last_begin", "begin", np.maximum, -(2**63)),
        ("first_end", "end", np.minimum, np.iinfo(np.int64).max), ("end", "end", np.maximum, -(2**63)),
    ):  # fmt: skip
        columns[name] = np.full(n, initial, np.int64)
        join.at(columns[name], member, ends[source])
    columns["locations"] = np.bincount(member, minlength=n)
    for name in ("sent", "received"):
        columns[name] = add_up(member, ends[name], n)
    return Table(columns)
