# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations: sums for each location, and instances with all who took part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.io.readback import Rows
from vtrace.reports.details import chosen, number, present, region_rows
from vtrace.reports.scan import Part, Question, Replay
from vtrace.reports.table import Array, Table, add_up, group, stack

if TYPE_CHECKING:
    from vtrace.reports.base import TraceBase

_END = dict.fromkeys("location comm op root sent received begin end region".split(), np.int64)
_ENDS = ("MpiCollectiveEnd", "NonBlockingCollectiveComplete")
_KINDS = frozenset((*_ENDS, "MpiCollectiveBegin", "NonBlockingCollectiveRequest"))


def op_name(op: int) -> str:
    """OTF2's name of a collective operation, as in the column op: ALLREDUCE."""
    return str(_otf2.CollectiveOp._names.get(int(op), op))


class Begins:
    """When the blocking operations of a location began: they nest."""

    def __init__(self) -> None:
        self.open: list[int] = []

    def of(self, batch: Rows, ends: Array) -> Array:
        """The begin of each end (rows of the batch); the end itself where none is known."""
        begins = np.flatnonzero(batch.kind == number("MpiCollectiveBegin"))
        found = np.empty(len(ends), np.int64)
        if len(begins) == len(ends) and not self.open and np.all(begins < ends) and np.all(begins[1:] > ends[:-1]):
            return np.asarray(batch.time[begins])
        at = 0
        for i, end in enumerate(ends.tolist()):
            while at < len(begins) and begins[at] < end:
                self.open.append(int(batch.time[begins[at]]))
                at += 1
            found[i] = self.open.pop() if self.open else batch.time[end]
        self.open += batch.time[begins[at:]].tolist()
        return found


class _Ends(Part):
    """All collective operations that a location took part in, in the order in which it began them."""

    def __init__(self, trace: TraceBase, location: int) -> None:
        self.trace, self.location, self.begins = trace, location, Begins()
        self.started: dict[int, int] = {}

    def ends(self, batch: Rows) -> list[dict[str, Array]]:
        for _, found in present(batch, "NonBlockingCollectiveRequest"):
            self.started |= dict(zip(found["request"].tolist(), found["time"].tolist(), strict=True))
        blocking = chosen(batch, "MpiCollectiveEnd")
        blocking["begin"] = self.begins.of(batch, blocking["row"].astype(np.int64))
        result = [blocking]
        for _, found in present(batch, "NonBlockingCollectiveComplete"):
            pairs = zip(found["request"].tolist(), found["time"].tolist(), strict=True)
            found["begin"] = np.array([self.started.pop(request, time) for request, time in pairs], np.int64)
            result.append(found)
        return [self.plain(found) for found in result if len(found["time"])]

    def plain(self, found: dict[str, Array]) -> dict[str, Array]:
        columns = {name: found[name].astype(np.int64) for name in ("op", "root", "sent", "received", "begin")}
        columns["root"] = np.where(columns["root"] >= 0xFFFFFFFD, -1, columns["root"])
        rows = len(found["time"])
        return columns | {
            "location": np.full(rows, self.location), "comm": self.trace.definitions.ids["comms"].rows(found["ref"]),
            "end": found["time"].astype(np.int64), "region": region_rows(found["region"]),
        }  # fmt: skip


_TOTAL = dict.fromkeys("location op comm calls sent received ns".split(), np.int64)


class _TotalsPart(_Ends):
    def __init__(self, trace: TraceBase, location: int) -> None:
        super().__init__(trace, location)
        self.sums: dict[tuple[int, int], Array] = {}

    def batch(self, batch: Rows, replay: Replay | None) -> None:
        for found in self.ends(batch):
            first, member = group([found["op"], found["comm"]])
            sums = np.zeros((len(first), 4), np.int64)
            values = (np.ones_like(member), found["sent"], found["received"], found["end"] - found["begin"])
            np.add.at(sums, member, np.column_stack(values))
            for row, at in enumerate(first.tolist()):
                key = int(found["op"][at]), int(found["comm"][at])
                self.sums[key] = self.sums.get(key, 0) + sums[row]


class CollectiveTotals(Question):
    """Table of Trace.collective_totals."""

    kinds = _KINDS

    def part(self, trace: TraceBase, location: int) -> Part:
        return _TotalsPart(trace, location)

    def table(self) -> Table:
        rows = [
            (location, *key, *sums.tolist())
            for location, part in self.parts.items()
            if isinstance(part, _TotalsPart)
            for key, sums in sorted(part.sums.items())
        ]
        columns = np.array(rows, np.int64).reshape(len(rows), len(_TOTAL))
        return Table(dict(zip(_TOTAL, columns.T, strict=True)))


class _InstancePart(_Ends):
    def __init__(self, trace: TraceBase, location: int) -> None:
        super().__init__(trace, location)
        self.found: list[dict[str, Array]] = []

    def batch(self, batch: Rows, replay: Replay | None) -> None:
        self.found += self.ends(batch)


class Collectives(Question):
    """Tables of Trace.collectives."""

    kinds = _KINDS
    replay = early = True

    def part(self, trace: TraceBase, location: int) -> Part:
        return _InstancePart(trace, location)

    def tables(self, trace: TraceBase, start: int | None) -> tuple[Table, Table]:
        """Instances and who took part: the n-th operation of a location on a communicator is its part of the n-th
        there."""
        found = [each for p in self.parts.values() if isinstance(p, _InstancePart) for each in p.found]
        ends = stack([{name: each[name] for name in _END} for each in found], _END)
        ends = ends.take(np.lexsort((ends["end"], ends["begin"], ends["location"], ends["comm"])))
        alone = np.array([trace.places.is_self(comm) for comm in range(trace.comms.rows)] + [False], bool)
        apart = np.where(alone[ends["comm"]], ends["location"], -1)
        changed = np.ones(ends.rows, bool)
        changed[1:] = (np.diff(ends["comm"]) != 0) | (np.diff(ends["location"]) != 0)
        begins = np.flatnonzero(changed)
        turn = np.arange(ends.rows) - np.repeat(begins, np.diff([*begins, ends.rows]))
        first, member = group([ends["comm"], apart, turn])
        instances = _instances(ends, first, member)
        if start is not None:
            wanted = instances["end"] >= start
            renumbered = np.cumsum(wanted) - 1
            rows = wanted[member]
            ends, member, instances = ends.take(rows), renumbered[member[rows]], instances.take(wanted)
        parts: dict[str, Any] = {
            name: ends[name] for name in ("location", "begin", "end", "sent", "received", "region")
        }
        return instances, Table({"instance": member, **parts})


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
