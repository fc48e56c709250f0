# SPDX-License-Identifier: BSD-3-Clause
"""Waits for the locks of windows: mpi_rma_lock_competition.

MPI does not say when a lock is held: MPI_Win_lock may return before, and then MPI_Win_unlock waits. But locks of one
target that exclude each other are held one after the other, and released in this order. Until the one before it begins
MPI_Win_unlock, a lock cannot be held, and its calls wait.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.table import Array
from vtrace.io.archive.reader_abi import CALL_WAIT, KINDS, WAIT

_KIND = KINDS.index("mpi_rma_lock_competition")
_ALL = 0xFFFFFFFF
_NEVER = np.iinfo(np.int64).max


def blockers(locks: Array) -> tuple[Array, Array]:
    """For each lock (LOCK_EPOCH): the time in ns at which the unlock of another lock began, and the place of that lock;
    -1, -1 without another lock."""
    until, by = np.full(len(locks), -1, np.int64), np.full(len(locks), -1, np.int64)
    for places in _competitors(locks):
        own = places[np.argsort(locks["unlock_enter"][places], kind="stable")]
        number, exclusive = np.arange(len(own)), locks["is_exclusive"][own] != 0
        released = locks["unlock_enter"][own] != _NEVER
        last_exclusive = np.maximum.accumulate(np.where(exclusive & released, number, -1))
        last = np.minimum(number, np.count_nonzero(released)) - 1
        before = np.where(exclusive, last, np.concatenate([[-1], last_exclusive[:-1]]))
        times = np.where(before >= 0, locks["unlock_enter"][own[before]], -1)
        later = times > until[own]
        until[own[later]], by[own[later]] = times[later], own[before[later]]
    return until, by


def _competitors(locks: Array) -> Iterator[Array]:
    """The places of the locks of each target with exclusive locks, with the locks of all targets."""
    order = np.lexsort((locks["target"], locks["window"]))
    windows = locks["window"][order]
    for of_window in np.split(order, np.flatnonzero(np.diff(windows)) + 1):
        targets = locks["target"][of_window]
        everywhere = of_window[targets == _ALL]
        for target in np.unique(targets[locks["is_exclusive"][of_window] != 0]):
            if target != _ALL:
                yield np.concatenate([of_window[targets == target], everywhere])


def lock_waits(locks: Array, bounds: tuple[int, int], wanted: Array) -> tuple[Array, Array]:
    """The waits for locks (LOCK_EPOCH, with joined call paths) in a window: records WAIT and CALL_WAIT. wanted:
    (locations,) bool: those that wait."""
    (start, stop), (until, by) = bounds, blockers(locks)
    waits, calls = [], []
    for what in ("lock", "unlock"):
        begin, end, node = (locks[f"{what}_{name}"] for name in ("enter", "leave", "node"))
        ns = np.minimum(np.minimum(end, until), stop) - np.maximum(begin, start)
        wait = np.flatnonzero((by >= 0) & (begin < until) & (ns > 0) & wanted[locks["location"]])
        rows = np.zeros(len(wait), WAIT)
        rows["ns"], rows["count"], rows["kind"], rows["node"] = ns[wait], 1, _KIND, node[wait]
        rows["location"], rows["partner"] = locks["location"][wait], locks["location"][by[wait]]
        rows["partner_node"] = locks["unlock_node"][by[wait]]
        waits.append(_summed(rows))
        calls.append(_calls(rows, begin[wait], end[wait]))
    return np.concatenate(waits), np.concatenate(calls)


def _summed(rows: Array) -> Array:
    keys = ["node", "location", "partner", "partner_node"]
    _, first, member = np.unique(rows[keys], return_index=True, return_inverse=True)
    sums = rows[first]
    sums["ns"] = sums["count"] = 0
    np.add.at(sums["ns"], member, rows["ns"])
    np.add.at(sums["count"], member, rows["count"])
    return sums


def _calls(rows: Array, begin: Array, end: Array) -> Array:
    calls = np.zeros(len(rows), CALL_WAIT)
    calls["begin"], calls["end"] = begin, end
    for name in ("ns", "location", "kind", "node", "partner"):
        calls[name] = rows[name]
    return calls
