# SPDX-License-Identifier: BSD-3-Clause
"""Processes that wait in MPI while one process reads or writes alone, or in operations of all on a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, CLASS_OF, IO
from vtrace.analysis.findings.run_facts import library_work
from vtrace.analysis.findings.sync_calls import SyncCalls, Waits
from vtrace.analysis.table import Array, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vtrace.analysis.source import Source

KINDS = ("io_wait_for_one_process", "io_wait_at_collective")
"""The kinds of waits; a kind's index is its number."""
ONE_PROCESS, COLLECTIVE = range(len(KINDS))
_COLLECTIVE = re.compile(
    r"MPI_File_(open|close|sync|set_(size|view)|preallocate|(read|write)\w*_all(_begin|_end)?)(_c)?$"
)
"""Regions of operations that all processes call that opened a file."""
_IO, _MPI = 1, 2
_SOME, _MOST = 1000, 32
"""The most processes with I/O to examine, and the most processes that others wait for, with the longest times."""
_MPI_WAITS = ("mpi/p2p", "mpi/collective")


def kinds_of(trace: Source) -> Array:
    """(regions,) the role of each region's calls, -1: no role. All are -1 in a trace without I/O."""
    activities = trace.regions["activity"]
    files = (CLASS_OF[activities] == IO) | (activities == ACTIVITIES.index("mpi/io"))
    waits = np.isin(activities, [ACTIVITIES.index(name) for name in _MPI_WAITS])
    if not files.any() or trace.processes.rows < 2:
        return np.full(len(activities), -1, np.int64)
    return np.where(files, _IO, np.where(waits, _MPI, -1)).astype(np.int64)


class IoWaits(SyncCalls[Table]):
    """The answer is a table like Trace.thread_waits. A process waits while the process is in a call of MPI and exactly
    one other process is in a call of I/O. The time is an upper bound, since the call need not depend on that
    process. It also waits in operations of all on a file, for the last one."""

    def region_kinds_of(self, trace: Source) -> Array:
        """The calls to keep."""
        return kinds_of(trace)

    def answer(self) -> Table:
        """Rows (kind, path, location, partner, partner_path): time_ns, count, the longest time first."""
        calls, paths, _ = self.calls()
        own = library_work(self.trace, paths)[calls["path"]]
        io = _only_io(calls[(calls["kind"] == _IO) & ~own])
        waits = calls[calls["kind"] == _MPI]
        waits = waits[waits["process"] >= 0]
        found = []
        processes = np.unique(io["process"])
        lengths = [int((io["end"] - io["begin"])[io["process"] == p].sum()) for p in processes[:_SOME]]
        for process in processes[:_SOME][np.argsort(lengths)[::-1][:_MOST]].tolist():
            own_io = io[io["process"] == process]
            edges = np.stack([own_io["begin"], own_io["end"]], 1).ravel()
            passed = np.concatenate([[0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))])

            def until(time: Array, edges: Array = edges, passed: Array = passed) -> Array:
                """The ns up to a time in which the process was alone in I/O."""
                at = np.clip(np.searchsorted(edges, time, "right") - 1, 0, len(edges) - 1)
                inside = (at % 2 == 0) & (time >= edges[0])
                more: Array = passed[at] + np.where(inside, time - edges[at], 0)
                return more

            others = waits[waits["process"] != process]
            time = until(others["end"]) - until(others["begin"])
            kept = time > 0
            count = int(np.count_nonzero(kept))
            busiest = own_io[np.argmax(own_io["end"] - own_io["begin"])]
            found.append(
                Waits(
                    kind=np.zeros(count, np.int64),
                    path=others["path"][kept],
                    location=others["location"][kept],
                    partner=np.full(count, busiest["location"]),
                    partner_path=np.full(count, busiest["path"]),
                    time=time[kept],
                )
            )
        return self.table([*found, *_collective(self.trace, calls)], KINDS, paths, bounds=(ONE_PROCESS,))


def _collective(trace: Source, calls: Array) -> Iterator[Waits]:
    """A process waits from its enter to the enter of the last process, if nobody leaves before. The n-th calls of a
    region are one operation, if each process has as many."""
    ranked = calls[calls["process"] >= 0]
    for region in np.unique(ranked["region"]).tolist():
        if not _COLLECTIVE.match(str(trace.regions["name"][region])):
            continue
        mine = ranked[ranked["region"] == region]
        processes, counts = np.unique(mine["process"], return_counts=True)
        if len(processes) < 2 or np.any(counts != counts[0]):
            continue
        mine = mine[np.lexsort((mine["begin"], mine["process"]))].reshape(len(processes), counts[0])
        last = mine[mine["begin"].argmax(axis=0), np.arange(counts[0])]
        together = last["begin"] <= mine["end"].min(axis=0)
        time = np.where(together, last["begin"] - mine["begin"], 0)
        by, kept = np.broadcast_to(last, mine.shape), time > 0
        yield Waits(
            kind=np.full(np.count_nonzero(kept), COLLECTIVE), path=mine["path"][kept], location=mine["location"][kept],
            partner=by["location"][kept], partner_path=by["path"][kept], time=time[kept],
        )  # fmt: skip


def _only_io(calls: Array) -> Array:
    """The parts of calls of I/O during which no other process was in I/O, in order of time."""
    if not len(calls):
        return calls
    merged = _merged(calls)
    opened, closed = (np.argsort(merged[name], kind="stable") for name in ("begin", "end"))
    begins, ends = merged["begin"][opened], merged["end"][closed]
    edges = np.unique(np.concatenate([begins, ends]))
    begun, ended = np.searchsorted(begins, edges, "right"), np.searchsorted(ends, edges, "right")
    free = np.flatnonzero(begun - ended == 1)
    # The sum of the numbers of started calls minus the sum of ended calls is the number of the only running call.
    passed = [np.concatenate([[0], np.cumsum(numbers)]) for numbers in (opened, closed)]
    pieces: Array = merged[(passed[0][begun] - passed[1][ended])[free]]
    pieces["begin"], pieces["end"] = edges[free], edges[free + 1]
    return pieces


def _merged(calls: Array) -> Array:
    """The calls of each process without calls that overlap an earlier call of the process."""
    found = []
    for process in np.unique(calls["process"]).tolist():
        mine = calls[calls["process"] == process]
        mine = mine[np.argsort(mine["begin"], kind="stable")]
        latest = np.maximum.accumulate(mine["end"])
        fresh = np.append(True, mine["begin"][1:] >= latest[:-1])
        kept = mine[fresh].copy()
        kept["end"] = np.maximum.reduceat(mine["end"], np.flatnonzero(fresh))
        found.append(kept)
    merged: Array = np.concatenate(found) if found else calls
    return merged
