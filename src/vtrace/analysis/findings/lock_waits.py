# SPDX-License-Identifier: BSD-3-Clause
"""Single waits for locks and conditions, with the holder of the lock or the thread that signals: who, in which call,
how long. Calls have the places that vtrace records for threads that wait (csrc/threadwrap/lock_sites.c)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import NEVER

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

SITE, HOLDER, CONDITION_NUMBER = "lock call site", "holder call site", "condition"
READ, READ_CALLS = "read lock", "read lock calls"
LOCK = "lock"
ATTRIBUTES = (SITE, HOLDER, CONDITION_NUMBER, READ, READ_CALLS, LOCK)
"""Attributes of the Enter of calls about conditions and of readers that wait for a writer, and of the ThreadAcquireLock
that ends a wait: strings that name a stack, and the number of a condition. LOCK: a string, the name of the variable
that is the lock. Of the Enter by which a reader releases a lock for which a writer waits: the number of the lock, and
the reader's calls for reading since the one that got it, which SITE names."""
_PAUSE = 10_000_000
"""ns: with longer pauses between tries a thread does other work meanwhile."""
_HOLDS = 100
"""The most holders, or waits of the signaller, in one wait to compare."""
_COLUMNS = "kind path location partner partner_path begin time_ns site by_site hold hold_ns lock".split()


def has_sites(trace: Source) -> bool:
    """True if waits for locks have the places of calls."""
    return SITE in trace.attributes["name"].tolist()


@dataclass(kw_only=True)
class LockEvents:
    """What a pass keeps about locks. calls, reads: CALL, sorted by location and begin; reads: calls that get a lock for
    reading, all or none. acquired, released: (n, 5) process, location, lock, order, time. values: (n, 4) location,
    time, place in ATTRIBUTES, value. process: of each location."""

    calls: Array
    reads: Array
    acquired: Array
    released: Array
    values: Array
    process: Array

    def value(self, name: str) -> dict[tuple[int, int], int]:
        """The values of an attribute by location and time."""
        mine = self.values[self.values[:, 2] == ATTRIBUTES.index(name)]
        return {(int(row[0]), int(row[1])): int(row[3]) for row in mine}


class _Readers:
    """The releases of locks by readers for which a writer waits."""

    def __init__(self, events: LockEvents) -> None:
        self._events, self._sites = events, events.value(SITE)
        self._of: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        """By process and lock: time, location, calls for reading since."""
        since = events.value(READ_CALLS)
        for (location, time), lock in events.value(READ).items():
            key = int(events.process[location]), lock
            self._of.setdefault(key, []).append((time, location, since.get((location, time), 0)))
        for found in self._of.values():
            found.sort()

    def last(self, process: int, lock: int, *, begin: int, end: int) -> tuple[int, int, int, int] | None:
        """The last release in a wait: location, times of the acquisition (-1: unknown) and the release, call site."""
        found = self._of.get((process, lock), [])
        at = bisect_right(found, (end, NEVER, 0)) - 1
        if at < 0 or found[at][0] <= begin:
            return None
        time, location, calls = found[at]
        reads = self._events.reads
        low, high = np.searchsorted(reads["location"], [location, location + 1])
        row = low + int(np.searchsorted(reads["end"][low:high], time, "right")) - 1 - calls
        since = int(reads["end"][row]) if row >= low else -1
        return location, since, time, self._sites.get((location, time), -1)


def lock_waits(events: LockEvents, mine: Array) -> list[tuple[int, ...]]:
    """Rows of _COLUMNS for the calls of locks in which a thread waits: from its enter to the moment when it gets a lock
    that another thread released meanwhile; the holder is the one that held the lock longest meanwhile. hold: a number
    for each time that a lock was held."""
    acquired, released = events.acquired, events.released
    got = acquired[np.lexsort((acquired[:, 4], acquired[:, 1]))]
    times = (events.calls["end"], acquired[:, 4], released[:, 4])
    span = max([1, *(int(each.max()) + 1 for each in times if len(each))])
    at = np.searchsorted(got[:, 1] * span + got[:, 4], mine["location"] * span + mine["end"], "right") - 1
    given = {tuple(row[[0, 2, 3]].tolist()): row for row in released}
    taken = {tuple(row[[0, 2, 3]].tolist()): row for row in acquired}
    sites, by_sites, names = events.value(SITE), events.value(HOLDER), events.value(LOCK)
    numbers = {key: number for number, key in enumerate(taken)}
    readers, calls = _Readers(events), np.concatenate([events.calls, events.reads])
    calls = calls[np.lexsort((calls["begin"], calls["location"]))]
    found: list[tuple[int, ...]] = []
    for row, place in enumerate(at.tolist()):
        location, begin = (int(mine[name][row]) for name in ("location", "begin"))
        if place < 0 or got[place, 1] != location or got[place, 4] < begin:
            continue
        process, _, lock, order, when = got[place].tolist()
        hold = (process, lock, order - 1)
        if read := readers.last(process, lock, begin=begin, end=when):
            holder, since, left, by_site = read
            number = numbers.setdefault((-1, holder, left), len(numbers))
        elif hold not in given or given[hold][4] <= begin or given[hold][1] == location:
            continue
        else:
            hold = _longest_hold(hold, given, taken, location=location, begin=begin)
            holder, left = int(given[hold][1]), int(given[hold][4])
            after = taken.get((process, lock, hold[2] + 1))  # who waited for this holder knows its call
            by_site = -1 if after is None else by_sites.get((int(after[1]), int(after[4])), -1)
            since, number = int(taken[hold][4]) if hold in taken else -1, numbers.get(hold, -1)
        found.append((
            int(mine["kind"][row]), int(mine["path"][row]), location, holder, _path(calls, holder, since), begin,
            when - begin, sites.get((location, when), -1), by_site, number, left - since if since >= 0 else -1,
            names.get((location, when), -1),
        ))  # fmt: skip
    return found


_Hold = tuple[int, int, int]
"""A time that a lock was held for: process, lock, order."""


def _longest_hold(
    last: _Hold, given: dict[_Hold, Array], taken: dict[_Hold, Array], *, location: int, begin: int
) -> _Hold:
    """The hold that is longest from the begin of a location's wait to its end: the last one, or one before it. given,
    taken: rows of LockEvents."""
    process, lock, order = last
    most, found = 0, last
    while (hold := (process, lock, order)) in given and given[hold][4] > begin and last[2] - order < _HOLDS:
        since = int(taken[hold][4]) if hold in taken else begin
        length = int(given[hold][4]) - max(since, begin)
        if length > most and given[hold][1] != location:
            most, found = length, hold
        order -= 1
    return found


def read_waits(events: LockEvents, writes: Array, kind: int) -> list[tuple[int, ...]]:
    """Rows of _COLUMNS for the calls in which readers wait, up to the last moment at which another thread gives up a
    lock for writing; the archive has no number of the lock of readers. writes: (regions,) bool, calls that get such
    locks."""
    calls = events.calls[writes[events.calls["region"]]]
    got = {*zip(calls["location"].tolist(), calls["end"].tolist(), strict=True)}
    taken = {tuple(row[[0, 2, 3]].tolist()): row for row in events.acquired if (int(row[1]), int(row[4])) in got}
    given = [row for row in events.released.tolist() if (row[0], row[2], row[3]) in taken]
    given.sort(key=lambda row: (row[0], row[4]))
    keys, found = [(row[0], row[4]) for row in given], list[tuple[int, ...]]()
    sites, by_sites, names = (events.value(name) for name in (SITE, HOLDER, LOCK))
    for read in events.reads if given else ():
        process, location, begin = (int(read[name]) for name in ("process", "location", "begin"))
        last = bisect_right(keys, (process, int(read["end"]))) - 1
        if last < 0 or keys[last] <= (process, begin) or given[last][1] == location:
            continue
        _, holder, lock, order, left = given[last]
        since = int(taken[process, lock, order][4])
        enter = location, begin
        found.append((
            kind, int(read["path"]), location, holder, _path(calls, holder, since), begin, left - begin,
            sites.get(enter, -1), by_sites.get(enter, -1) if since <= begin else -1, last, left - since,
            names.get(enter, -1),
        ))  # fmt: skip
    return found


def retried(tries: Array, acquired: Array, kind: int) -> Array:
    """CALL of a kind for each lock that a thread gets at last after tries that failed, from the first try to the last
    one. tries: CALL, sorted by location and begin. acquired: as in LockEvents."""
    got: dict[int, list[int]] = {}
    for row in acquired[np.argsort(acquired[:, 4])].tolist():
        got.setdefault(row[1], []).append(row[4])
    found, first = [], 0
    for at, one in enumerate(tries):
        before, times = tries[at - 1], got.get(int(one["location"]), [])
        if any(one[name] != before[name] for name in ("location", "path")) or one["begin"] - before["end"] > _PAUSE:
            first = at
        if bisect_right(times, int(one["end"])) > bisect_right(times, int(one["begin"]) - 1):
            if first < at:
                found.append(at)
                tries[at]["begin"] = tries[first]["begin"]
            first = at + 1
    result: Array = tries[found]
    result["kind"] = kind
    return result


def _path(calls: Array, location: int, time: int) -> int:
    """The path of the call of a lock on a location at a time, -1 for none."""
    low, high = np.searchsorted(calls["location"], [location, location + 1])
    row = low + int(np.searchsorted(calls["begin"][low:high], time, "right")) - 1
    return int(calls["path"][row]) if row >= low and calls["end"][row] >= time >= 0 else -1


def condition_waits(events: LockEvents, mine: Array, signals: Array) -> list[tuple[int, ...]]:
    """Rows of _COLUMNS for the calls that wait for a condition or semaphore which another thread signals meanwhile; the
    last signal before the end ends the wait. Waits that time out are none: nobody is late."""
    numbers, sites = events.value(CONDITION_NUMBER), events.value(SITE)
    of: dict[tuple[int, int], list[int]] = {}
    for row in np.argsort(signals["begin"], kind="stable").tolist():
        number = numbers.get((int(signals["location"][row]), int(signals["begin"][row])))
        if number is not None:
            of.setdefault((int(signals["process"][row]), number), []).append(row)
    begins = {key: signals["begin"][rows] for key, rows in of.items()}
    found: list[tuple[int, ...]] = []
    for call in mine:
        location, begin = int(call["location"]), int(call["begin"])
        key = int(call["process"]), numbers.get((location, begin), -1)
        last = int(np.searchsorted(begins[key], call["end"], "right")) - 1 if key in begins else -1
        by = signals[of[key][last]] if last >= 0 else None
        if by is None or by["begin"] <= begin or by["location"] == location:
            continue
        where = sites.get((int(by["location"]), int(by["begin"])), -1)
        time = int(by["begin"]) - begin
        found.append((int(call["kind"]), int(call["path"]), location, int(by["location"]), int(by["path"]), begin, time,
                      sites.get((location, begin), -1), where, -1, -1, -1))  # fmt: skip
    return _by_first_signaller(found)


def _by_first_signaller(waits: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The rows of waits with those who let the signaller wait for a signal for most of a wait, and so on, as
    signallers: the first thread of a pool that hands out work when the last worker is ready is not late itself."""
    at = {name: _COLUMNS.index(name) for name in _COLUMNS}
    location, partner, begin, time = (at[name] for name in ("location", "partner", "begin", "time_ns"))
    of: dict[int, list[tuple[int, int]]] = {}
    for number, row in enumerate(waits):
        of.setdefault(row[location], []).append((row[begin] + row[time], number))
    for ends in of.values():
        ends.sort()
    found = []
    for row in waits:
        by, since, until = row, row[begin], row[begin] + row[time]
        for _ in range(len(of)):
            ends = of.get(by[partner], [])
            last = bisect_right(ends, (until, len(waits)))
            lengths = [
                (end - max(since, waits[number][begin]), end, number)
                for end, number in ends[max(0, last - _HOLDS) : last]
                if end > since
            ]
            length, end, number = max(lengths, default=(0, 0, 0))
            if 2 * length < row[time]:
                break
            by, until = waits[number], end
        taken = {at[name]: by[at[name]] for name in ("partner", "partner_path", "by_site")}
        same = by[partner] == row[location]
        found.append(row if same else tuple(taken.get(column, value) for column, value in enumerate(row)))
    return found


def table(rows: list[tuple[int, ...]], paths: Table) -> Table:
    """The table of single waits: kind, path, location, begin, time_ns; of the holder or signaller partner,
    partner_path; ids of strings site, by_site; hold, hold_ns: number and length of the time that the lock was held for;
    lock: id of the string with the lock's name. -1: unknown."""
    columns = np.array(rows, np.int64).reshape(len(rows), len(_COLUMNS)).T
    return Table(dict(zip(_COLUMNS, columns, strict=True)), paths=paths)
