# SPDX-License-Identifier: BSD-3-Clause
"""Assigns the processes of a run to ranks of vtunify-mpi that see all their files, balanced by bytes."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from vtrace.errors import VtraceError
from vtrace.parallel.crew import Crew, ranks_by
from vtrace.unify.model.process import OPENING_A_FILE, Process, Run


def share_buffers(run: Run, crew: Crew) -> list[list[Process]]:
    """Returns for each rank the processes whose left-over buffers it searches: a rank on the host of the process, else
    any rank, since the buffer may be with the other files."""
    shares: list[list[Process]] = [[] for _ in crew.hosts]
    on_host = ranks_by(crew.hosts)
    for process in run.processes:
        if process.head.buffer or process.buffer:
            near = on_host.get(process.head.host) or range(len(crew.hosts))
            shares[near[process.number % len(near)]].append(
                Process(process.head, buffer=process.buffer, number=process.number)
            )
    return shares


def find_buffers(share: Sequence[Process], rank: int) -> dict[int, Process]:
    """Searches the buffers of these processes on this rank's host; returns those found, by number of the process."""
    for process in share:
        process.find_buffer()
        process.buffer_rank = rank
    return {process.number: process for process in share if process.buffer}


def take_buffers(run: Run, found: Mapping[int, Process]) -> None:
    """Adds the buffers that the ranks have found to the run."""
    for number, process in found.items():
        own = run.processes[number]
        own.buffer_rank = None if own.buffer else process.buffer_rank
        own.buffer, own.running = process.buffer, process.running


def share_processes(run: Run, crew: Crew) -> list[list[Process]]:
    """Returns the processes of each rank. Raises VtraceError if no rank sees all files of a process.

    Families go to ranks that see all their files: the heaviest family first, to the rank with the smallest load so far.
    """
    shares: list[list[Process]] = [[] for _ in crew.views]
    loads = {view: [(0, rank) for rank in members] for view, members in ranks_by(crew.views).items()}
    for family in sorted(_families(run.processes), key=lambda family: (-_weight(family), family[0].number)):
        queue = min((loads[view] for view in _views(family, crew)), key=lambda queue: queue[0])
        near = {crew.hosts[process.buffer_rank] for process in family if process.buffer_rank is not None}
        load, rank = _take(queue, [one for one in queue if crew.hosts[one[1]] in near] if near else [])
        heapq.heappush(queue, (load + _weight(family), rank))
        shares[rank] += family
    for share in shares:
        share.sort(key=lambda process: process.number)
    return shares


Load = tuple[int, int]
"""The load of a rank in bytes, and the rank."""


def _take(queue: list[Load], allowed: Sequence[Load]) -> Load:
    """Takes the rank with the smallest load, of the allowed ones if there are any, from the queue."""
    if not allowed or queue[0] in allowed:
        return heapq.heappop(queue)
    chosen = min(allowed)
    queue.remove(chosen)
    heapq.heapify(queue)
    return chosen


def _families(processes: Sequence[Process]) -> list[list[Process]]:
    """Returns each process together with its forked children, which inherit its definitions."""
    families: list[list[Process]] = []
    by_process: dict[object, list[Process]] = {}
    for process in sorted(processes, key=lambda process: process.head.start):
        family = by_process.get(process.parent) if process.head.forked else None
        if family is None:
            families.append(family := [])
        family.append(process)
        by_process[process.head.process] = family
    return families


def _weight(family: Sequence[Process]) -> int:
    return sum(process.bytes + OPENING_A_FILE * len(process.files) for process in family)


def _views(family: Sequence[Process], crew: Crew) -> frozenset[int]:
    known = [process.views for process in family if not process.missing]
    common = frozenset.intersection(*known) if known else frozenset(crew.views[:1])
    if not common:
        files = ", ".join(sorted(str(path) for process in family for path in process.all_files())[:4])
        raise VtraceError(f"no rank sees all files of {family[0].label} ({files} ...)", "put them together on one node")
    return common
