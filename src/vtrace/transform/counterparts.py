# SPDX-License-Identifier: BSD-3-Clause
"""The events with counterparts that stay in a part of an archive.

An archive must not have the end of something that has not begun, nor half of a message. There are three rules:

- Halves: a message, a collective operation, an operation of RMA or I/O, a lock of a window and the start and end of a
  program stay if all of their events are in the part. A request that begins in the part stays without a completion
  that is later.
- Spans: a team of threads, a fork and a held lock, as well as a gap without recording, are cut at the edges of the
  window, as calls are: the event outside of the window moves to the edge.
- Lives: windows and files that exist when the window begins are created there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis import table
from vtrace.io.common.arrays import Array
from vtrace.transform.rewriter_abi import EVENT, copied_events

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_STARTS = ("MpiIsend", "MpiIrecvRequest", "MpiImrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETIONS = ("MpiIsendComplete", "MpiIrecv", "MpiImrecv", "NonBlockingCollectiveComplete", "MpiRequestCancelled")
_MESSAGES = ("MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv", "MpiProbe")
_RMA_STARTS = ("RmaPut", "RmaGet", "RmaAtomic")
_RMA_ENDS = ("RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking", "RmaOpTest", "RmaOpCompleteRemote")
_LOCKS = ("RmaRequestLock", "RmaTryLock", "RmaAcquireLock", "RmaReleaseLock")
_SPANS = (
    ("ThreadFork", "ThreadJoin"), ("ThreadTeamBegin", "ThreadTeamEnd"), ("OmpFork", "OmpJoin"),
    ("ThreadAcquireLock", "ThreadReleaseLock"), ("OmpAcquireLock", "OmpReleaseLock"),
)  # fmt: skip
_OFF = 2
"""OTF2_MEASUREMENT_OFF."""


def _numbers(names: Iterable[str]) -> list[int]:
    return [copied_events()[name].number for name in names]


def _groups(*keys: Array) -> Array:
    """A number for each distinct combination of keys."""
    return table.group(list(keys))[1]


def _turns(group: Array, order: Array) -> Array:
    """The number of each row among those of its group, in an order."""
    rows = np.lexsort((order, group))
    sorted_ = group[rows]
    first = np.append(True, sorted_[1:] != sorted_[:-1])[: len(rows)]
    begins = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0)) if len(rows) else rows
    found = np.empty(len(rows), np.int64)
    found[rows] = np.arange(len(rows)) - begins
    return found


def _all(group: Array, true: Array) -> Array:
    """For each row: true for all rows of its group."""
    bad = np.zeros(int(group.max(initial=-1)) + 1, bool)
    bad[group[~true]] = True
    return ~bad[group]


@dataclass(kw_only=True)
class PairedEvents:
    """The events with counterparts of all selected locations, in the order of time. location, process: rows of the
    trace's tables; window: start and stop in ticks."""

    trace: Source
    rows: Array
    location: Array
    window: tuple[int, int]
    selected: Array
    """(locations,) bool: the selected locations."""

    @classmethod
    def of(cls, trace: Source, found: dict[int, Array], window: tuple[int, int]) -> PairedEvents:
        """found: records EVENT by row of the location."""
        selected = np.zeros(trace.locations.rows + 1, bool)  # the last one stands for undefined locations
        selected[[*found]] = True
        location = np.repeat(np.array([*found], np.int64), [len(rows) for rows in found.values()])
        rows = np.concatenate([*found.values(), np.empty(0, EVENT)])
        order = np.lexsort((rows["ordinal"], location, rows["time"]))
        return cls(trace=trace, rows=rows[order], location=location[order], window=window, selected=selected)

    @cached_property
    def process(self) -> Array:
        """(events,) the process of each event."""
        return self.trace.locations["group"][self.location]

    def of_kinds(self, *names: str) -> Array:
        """Rows of events."""
        return np.flatnonzero(np.isin(self.rows["kind"], _numbers(names)))

    def are(self, at: Array, *names: str) -> Array:
        """(at,) bool: the events are of these kinds."""
        return np.isin(self.rows["kind"][at], _numbers(names))

    def partner(self, at: Array, windows: bool = False) -> Array:
        """(at,) the location of the rank that each event names; -1: undefined. windows: the events refer to windows."""
        ids, refs = self.trace.definitions.ids, self.rows["ref"][at]
        if windows:
            win = ids["windows"].rows(refs)
            comm = np.where(win >= 0, np.append(self.trace.windows["comm"], -1)[win], -1)
        else:
            comm = ids["comms"].rows(refs)
        return self.trace.places.locate(comm, self.rows["peer"][at], self.location[at])


class Verdicts:
    """Decides which events of PairedEvents stay; the result is kept."""

    def __init__(self, facts: PairedEvents) -> None:
        self.facts = facts
        self.kept = facts.rows["inside"].astype(bool)
        self.before = facts.rows["time"] < facts.window[0]
        self.after = facts.rows["time"] >= facts.window[1]
        self._requests()
        self._messages()
        self._collectives("MpiCollectiveBegin", "MpiCollectiveEnd")
        self._collectives("RmaCollectiveBegin", "RmaCollectiveEnd")
        self._rma()
        self._files()
        self._programs()
        self.halves = facts.rows["inside"].astype(bool) & ~self.kept
        """(events,) bool: the events in the window that do not stay."""
        for begin, end in _SPANS:
            self._span(begin, end)
        self._gaps()
        self._windows()
        self._handles()

    def _incarnations(self, at: Array, starts: Array, *keys: Array) -> tuple[Array, Array]:
        """Groups events by keys, and those of one key by the latest start. Returns the groups, and the row in `at` of
        the start of each event (-1: none)."""
        key = _groups(*keys)
        order = np.lexsort((np.arange(len(at)), key))
        number = np.cumsum(starts[order])
        first = np.append(True, key[order][1:] != key[order][:-1])[: len(at)]
        before = np.maximum.accumulate(np.where(first, number - starts[order], 0)) if len(at) else number
        latest = np.where(starts[order], np.arange(len(at)), -1)
        latest = np.maximum.accumulate(np.where(latest >= 0, latest, -1)) if len(at) else latest
        start = np.empty(len(at), np.int64)
        start[order] = np.where(number > before, order[latest], -1)
        group = np.where(start >= 0, start, len(at) + np.arange(len(at)))
        return group, start

    def _requests(self) -> None:
        """A completion stays if its start stays; a cancelled request stays as a whole."""
        f = self.facts
        at = f.of_kinds(*_STARTS, *_COMPLETIONS, "MpiRequestTest")
        group, start = self._incarnations(at, f.are(at, *_STARTS), f.process[at], f.rows["id"][at])
        fine = np.where(start >= 0, self.kept[at[start]], True)
        cancelled = np.zeros(2 * len(at) + 1, bool)
        cancelled[group[f.are(at, "MpiRequestCancelled")]] = True
        self.kept[at] &= fine & np.where(cancelled[group], _all(group, self.kept[at]), True)
        self._request = at, group, start
        self._cancelled = np.zeros(len(f.rows), bool)
        self._cancelled[at] = cancelled[group]
        self._start = np.full(len(f.rows), -1, np.int64)
        self._start[at] = np.where(start >= 0, at[start], -1)

    def _drop_requests(self, dropped: Array) -> None:
        """Drops whole requests. dropped: rows of events, of which each request has one."""
        at, group, _ = self._request
        bad = np.zeros(2 * len(at) + 1, bool)
        bad[group[np.isin(at, dropped)]] = True
        self.kept[at] &= ~bad[group]

    def _messages(self) -> None:
        f = self.facts
        at = f.of_kinds(*_MESSAGES)
        partner = f.partner(at)
        was = self.kept[at].copy()
        self.kept[at] &= f.selected[partner] | (partner < 0)
        real = ~f.are(at, "MpiProbe") & ~self._cancelled[at] & (partner >= 0)
        at, partner = at[real], partner[real]
        sends = f.are(at, "MpiSend", "MpiIsend")
        groups = f.trace.locations["group"]
        own, other = f.process[at], groups[partner]
        source, target = np.where(sends, own, other), np.where(sends, other, own)
        channel = _groups(f.rows["ref"][at], source, target, f.rows["tag"][at])
        # A receive has its turn when it is posted.
        posted = np.where((self._start[at] >= 0) & ~sends, self._start[at], at)
        turn = _turns(channel * 2 + sends, posted)
        pair = _groups(channel, turn)
        self.kept[at] &= _all(pair, self.kept[at])
        at = f.of_kinds(*_MESSAGES)
        self._drop_requests(at[was & ~self.kept[at]])

    def _nested(self, begins: Array, ends: Array, *keys: Array) -> tuple[Array, Array]:
        """Pairs of starts and ends that nest in each location (and by keys). Returns the events, and the row of each
        one's counterpart (-1: none)."""
        f = self.facts
        at = np.flatnonzero(begins | ends)
        key = _groups(f.location[at], *(key[at] for key in keys))
        order = np.lexsort((at, key))
        step = np.where(begins[at][order], 1, -1)
        depth = np.cumsum(step)
        first = np.append(True, key[order][1:] != key[order][:-1])[: len(at)]
        base = np.where(first, depth - step, 0)
        starts = np.maximum.accumulate(np.where(first, np.arange(len(at)), 0)) if len(at) else order
        level = depth - base[starts] - (step > 0)  # a start and its end have the same level
        by_level = np.lexsort((np.arange(len(at)), level, key[order]))
        one, next_ = by_level[:-1], by_level[1:]
        pairs = (
            (key[order][one] == key[order][next_]) & (level[one] == level[next_]) & (step[one] > 0) & (step[next_] < 0)
        )
        other = np.full(len(f.rows), -1, np.int64)
        a, b = at[order[one[pairs]]], at[order[next_[pairs]]]
        other[a], other[b] = b, a
        return at, other

    def _collectives(self, begin: str, end: str) -> None:
        """An operation stays if it begins and ends in the part on all selected members of its communicator."""
        f = self.facts
        kind = f.rows["kind"]
        at, other = self._nested(np.isin(kind, _numbers([begin])), np.isin(kind, _numbers([end])))
        start = np.where(other >= 0, other, self._start)
        ends = f.of_kinds(end, *(["NonBlockingCollectiveComplete"] if begin.startswith("Mpi") else []))
        ends = ends[start[ends] >= 0]
        rows = f.rows[ends]
        is_self = self._is_self(rows["ref"]) if begin.startswith("Mpi") else np.zeros(len(ends), bool)
        where = np.where(is_self, f.process[ends], -1).astype(np.int64)
        member = _groups(rows["ref"], rows["tag"], f.process[ends])
        turn = _turns(member, start[ends])
        instance = _groups(rows["ref"], rows["tag"], turn, where)
        stays = _all(instance, self.kept[ends] & self.kept[start[ends]])
        self.kept[ends] &= stays
        # A start without an end is a call that the program did not complete.
        blocking = other[ends] >= 0
        self.kept[other[ends[blocking]]] &= stays[blocking]
        self._drop_requests(ends[~stays & ~blocking])
        lone = at[(other[at] < 0) & f.are(at, end)]
        self.kept[lone] = False

    def _is_self(self, comms: Array) -> Array:
        """(comms,) bool: communicators such as MPI_COMM_SELF."""
        found = self.facts.trace.definitions.ids["comms"].rows(comms)
        places = self.facts.trace.places
        known = np.array([places.is_self(comm) for comm in range(self.facts.trace.comms.rows)] + [False], bool)
        return known[found]

    def _rma(self) -> None:
        f = self.facts
        at = f.of_kinds(*_RMA_STARTS, *_RMA_ENDS)
        starts = f.are(at, *_RMA_STARTS)
        here = np.ones(len(at), bool)
        here[starts] = f.selected[f.partner(at[starts], windows=True)]
        self.kept[at] &= here
        _, start = self._incarnations(at, starts, f.process[at], f.rows["ref"][at], f.rows["id"][at])
        self.kept[at] &= np.where(start >= 0, self.kept[at[start]], False)
        at = f.of_kinds(*_LOCKS, "RmaSync")
        self.kept[at] &= f.selected[f.partner(at, windows=True)]
        at = f.of_kinds(*_LOCKS)
        starts = f.are(at, "RmaRequestLock", "RmaTryLock")
        rows = f.rows[at]
        group, start = self._incarnations(at, starts, f.process[at], rows["ref"], rows["peer"], rows["id"])
        self.kept[at] &= _all(group, self.kept[at]) & (start >= 0)

    def _files(self) -> None:
        """Decides about operations on files."""
        f = self.facts
        at = f.of_kinds(
            "IoOperationBegin", "IoOperationTest", "IoOperationIssued", "IoOperationComplete", "IoOperationCancelled"
        )
        group, start = self._incarnations(at, f.are(at, "IoOperationBegin"), f.rows["ref"][at], f.rows["id"][at])
        self.kept[at] &= _all(group, self.kept[at]) & (start >= 0)

    def _programs(self) -> None:
        at = self.facts.of_kinds("ProgramBegin", "ProgramEnd")
        self.kept[at] &= _all(_groups(self.facts.process[at]), self.kept[at])

    def _span(self, begin: str, end: str) -> None:
        """Moves the start or end of a span to the edge of the window."""
        f = self.facts
        kind, keys = f.rows["kind"], [f.rows["id"]] if "Lock" in begin else []
        at, other = self._nested(np.isin(kind, _numbers([begin])), np.isin(kind, _numbers([end])), *keys)
        begins = at[f.are(at, begin) & (other[at] >= 0)]
        ends = other[begins]
        chosen = f.rows["selected"][begins].astype(bool) & f.rows["selected"][ends].astype(bool)
        overlaps = chosen & ~self.after[begins] & ~self.before[ends]
        self.kept[begins], self.kept[ends] = overlaps, overlaps
        lone = at[(other[at] < 0) & f.are(at, end)]
        self.kept[lone] = False

    def _gaps(self) -> None:
        """Moves a flush that lasts into the window, and the latest end of recording before it."""
        f = self.facts
        at = f.of_kinds("BufferFlush")
        rows = f.rows[at]
        self.kept[at] |= self.before[at] & (rows["id"] > f.window[0]) & rows["selected"].astype(bool)
        at = f.of_kinds("MeasurementOnOff")
        at = at[self.before[at]]
        last = dict(zip(f.location[at].tolist(), at.tolist(), strict=True))
        for row in last.values():
            self.kept[row] = f.rows["tag"][row] == _OFF

    def _windows(self) -> None:
        """Windows that exist when the part begins are created there."""
        f = self.facts
        at = f.of_kinds("RmaWinCreate", "RmaWinDestroy")
        self.kept[at] = ~self.before[at] & ~self.after[at]
        at = at[self.before[at]]
        keys = zip(f.location[at].tolist(), f.rows["ref"][at].tolist(), strict=True)
        for row in dict(zip(keys, at.tolist(), strict=True)).values():
            self.kept[row] = f.are(np.array([row]), "RmaWinCreate")[0]

    def _handles(self) -> None:
        """Files that are open when the part begins are opened there. A duplicate needs its original, too."""
        f = self.facts
        create, duplicate, change, destroy = _numbers(
            ("IoCreateHandle", "IoDuplicateHandle", "IoChangeStatusFlags", "IoDestroyHandle")
        )
        at = f.of_kinds("IoCreateHandle", "IoDuplicateHandle", "IoChangeStatusFlags", "IoDestroyHandle")
        self.kept[at] = ~self.before[at] & ~self.after[at]
        at = at[self.before[at]]
        opened: dict[int, int] = {}
        closed: dict[int, int] = {}
        changed: dict[int, int] = {}
        for row, kind, handle, other in zip(
            at.tolist(), f.rows["kind"][at].tolist(), f.rows["ref"][at].tolist(), f.rows["id"][at].tolist(), strict=True
        ):
            if kind in (create, duplicate):
                number = handle if kind == create else other
                opened[number] = row
                closed.pop(number, None)
                changed.pop(number, None)
            elif kind == change:
                changed[handle] = row
            elif kind == destroy:
                closed[handle] = row
        for handle in opened.keys() - closed.keys():
            self.kept[[row for row in (opened[handle], changed.get(handle)) if row is not None]] = True
            while f.rows["kind"][opened[handle]] == duplicate:
                handle = int(f.rows["ref"][opened[handle]])
                if handle not in opened or self.kept[opened[handle]]:
                    break
                self.kept[[row for row in (opened[handle], closed.get(handle)) if row is not None]] = True
