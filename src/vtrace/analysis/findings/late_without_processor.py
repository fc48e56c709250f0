# SPDX-License-Identifier: BSD-3-Clause
"""Waits in MPI for ranks that have no processor. One that has none in a call of MPI could go on, since what it waited
for is there: it is late for others, whatever it did before. One that has none at work is late wherever it works."""

from __future__ import annotations

import numpy as np

from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.table import Array, Table, group

_LONGEST_CHAIN = 16
"""A rank may wait for one that waits for another one; longer chains end there."""


def late_without_processor(facts: RunFacts, call_waits: Table, rows: Array) -> tuple[Array, Array, Array]:
    """(waits,) ns of each of some waits in which the rank that is waited for in the end has no processor, in MPI and at
    work; (locations,) ns of these waits for each such rank at work. call_waits: of Trace.call_waits."""
    chains = _ends_of_chains(call_waits, rows)
    return _in_mpi(facts, call_waits, chains), *_at_work(facts, call_waits, chains)


def _in_mpi(facts: RunFacts, call_waits: Table, chains: tuple[Array, Array, Array, Array]) -> Array:
    """A rank's waits for a processor are known as a sum from one reading to the next; all of this sum may be after the
    rank's own wait, so each other rank waits for all of it, if it waits as long."""
    row, location, begin, end = chains
    waits, found = facts.processor_waits, np.zeros(call_waits.rows)
    counted = np.flatnonzero(facts.waits_in_mpi[waits.region] & (waits.ns > 0))
    for one in np.intersect1d(location, waits.location[counted]).tolist():
        here, mine = location == one, counted[waits.location[counted] == one]
        of, before, since, until = _cut(_edges(waits.begin[mine], waits.end[mine]), begin[here], end[here])
        inside = before % 2 == 1
        at, reading, overlap = row[here][of[inside]], mine[before[inside] // 2], (until - since)[inside]
        first, member = group([reading, call_waits["location"][at]])
        together = np.bincount(member, overlap, len(first))
        part = np.minimum(1.0, waits.ns[reading[first]] / np.maximum(1, together))
        found += np.bincount(at, overlap * part[member], call_waits.rows)
    return found


def _at_work(facts: RunFacts, call_waits: Table, chains: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
    """What the late rank waited for a processor more than the waiting one since one of them waited before."""
    row, location, begin, end = chains
    waiting = call_waits["location"][row]
    since = np.maximum(_last_end(call_waits, waiting, begin), _last_end(call_waits, location, begin))
    late, own = (facts.waited_between(each, since, end) for each in (location, waiting))
    more = np.clip(late - own, 0, end - begin)
    by_wait: Array = np.bincount(row, more, call_waits.rows)
    by_rank: Array = np.bincount(location, more, facts.trace.locations.rows)
    return by_wait, by_rank


def _last_end(call_waits: Table, locations: Array, times: Array) -> Array:
    """(n,) ns: the end of the last wait of each location until a time; 0, if it has none."""
    ends, found = call_waits["begin"] + call_waits["time_ns"], np.zeros(len(times), np.int64)
    for one in np.unique(locations).tolist():
        here, mine = locations == one, np.append(0, np.sort(ends[call_waits["location"] == one]))
        found[here] = mine[np.maximum(1, np.searchsorted(mine, times[here], "right")) - 1]
    return found


def _ends_of_chains(call_waits: Table, rows: Array) -> tuple[Array, Array, Array, Array]:
    """The parts of waits (rows) by the location that is waited for and does not wait itself: the row of the wait, this
    location, begin and end (ns)."""
    known = np.flatnonzero((call_waits["partner"] >= 0) & (call_waits["time_ns"] > 0))
    begin, partner = call_waits["begin"], call_waits["partner"]
    end, waits_of = begin + call_waits["time_ns"], _by_location(call_waits, known)
    row = np.intersect1d(rows, known)
    location, since, until = partner[row], begin[row], end[row]
    found = [(row[:0], location[:0], since[:0], until[:0])]
    for _ in range(_LONGEST_CHAIN):
        links = []
        for one in np.unique(location).tolist():
            here, mine = location == one, waits_of.get(one, known[:0])
            of, before, *times = _cut(_edges(begin[mine], end[mine]), since[here], until[here])
            inside, at = before % 2 == 1, row[here][of]
            found.append((at[~inside], np.full(np.count_nonzero(~inside), one), *(t[~inside] for t in times)))
            links.append((at[inside], partner[mine[before[inside] // 2]], *(t[inside] for t in times)))
        if not links:
            break
        row, location, since, until = (np.concatenate(column) for column in zip(*links, strict=True))
    row, location, since, until = (np.concatenate(column) for column in zip(*found, strict=True))
    return row, location, since, until


def _by_location(call_waits: Table, rows: Array) -> dict[int, Array]:
    """The rows of waits by their location, in order of time."""
    order = rows[np.lexsort((call_waits["begin"][rows], call_waits["location"][rows]))]
    locations, first = np.unique(call_waits["location"][order], return_index=True)
    return dict(zip(locations.tolist(), np.split(order, first[1:]), strict=False))  # split makes a part of nothing


def _edges(begins: Array, ends: Array) -> Array:
    """(2 n,) ascending: the begin and the end of each of n intervals of one location, which are in order."""
    found: Array = np.maximum.accumulate(np.stack([begins, ends], 1).ravel())
    return found


def _cut(edges: Array, begins: Array, ends: Array) -> tuple[Array, Array, Array, Array]:
    """Intervals cut at ascending times: of each part the row of the interval, the number of times before, begin and
    end."""
    low, high = np.searchsorted(edges, begins, "right"), np.searchsorted(edges, ends, "left")
    count = np.maximum(0, high - low) + 1
    of = np.repeat(np.arange(len(begins)), count)
    before = low[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    since, until = begins[of].copy(), ends[of].copy()
    first, last = before == low[of], before == np.maximum(low, high)[of]
    since[~first], until[~last] = edges[before[~first] - 1], edges[before[~last]]
    return of, before, since, until
