# SPDX-License-Identifier: BSD-3-Clause
"""Which rank of vtunify-mpi unifies which processes: files are read where they are, work is shared by their size."""

from __future__ import annotations

import heapq
import platform
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local.local_files import read_uctl
from vtrace.parallel.ranks import Ranks
from vtrace.unify.discover.list_files import Seen, look, names
from vtrace.unify.writing.output import sees_token
from vtrace.unify.discover.select_run import Run, assemble, refuse_bare
from vtrace.unify.model.process import Process

A_FILE = 10_000
"""What opening a file counts beside its bytes."""


class Crew:
    """What each rank sees: its host, and its view, the directory of the prefix as the ranks of one view all see it."""

    def __init__(self, directory: Path, ranks: Ranks) -> None:
        """A file that rank 0 makes there tells who sees the same directory; on one host its number does."""
        own = (sees_token(directory, ranks), platform.node(), _number(directory))
        gathered = ranks.gather({ranks.rank: own})
        everyone = ranks.first(lambda: [*gathered.values()])
        self.hosts = [host for _, host, _ in everyone]
        leaders: dict[object, int] = {}
        self.views = [
            leaders.setdefault("shared" if seen else (host, number), rank)
            for rank, (seen, host, number) in enumerate(everyone)
        ]
        self.view = self.views[ranks.rank]
        self.mates = ranks.split(self.view)


def _number(directory: Path) -> tuple[int, int] | None:
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def find_together(prefix: Path, salvage: bool, ranks: Ranks) -> tuple[Run, Crew]:
    """The newest run with all its processes at rank 0, without any elsewhere. Raises what find_run does."""
    crew = Crew(prefix.parent, ranks)
    seen = ranks.reduce(ranks.together(lambda: _look(prefix, salvage, crew)), Seen.join)
    run = ranks.together(lambda: assemble(prefix, seen) if ranks.root else Run(prefix, b"", [], [], 0, None))
    _find_buffers(run, crew, ranks)
    ranks.together(lambda: refuse_bare(run, salvage))
    return run, crew


def _look(prefix: Path, salvage: bool, crew: Crew) -> Seen:
    if not prefix.parent.is_dir() and crew.view:
        return Seen()
    listed = crew.mates.first(lambda: names(prefix.parent))
    return look(prefix, listed, salvage, crew.view, slice(crew.mates.rank, None, crew.mates.size))


def _find_buffers(run: Run, crew: Crew, ranks: Ranks) -> None:
    """Left-over buffers are looked for on the hosts of their processes, else where their files are."""
    tasks: list[list[Process]] = [[] for _ in range(ranks.size)]
    on_host = _by(crew.hosts)
    for process in run.processes:
        if process.head.buffer or process.buffer:
            near = on_host.get(process.head.host) or range(ranks.size)
            tasks[near[process.number % len(near)]].append(
                Process(process.head, buffer=process.buffer, number=process.number)
            )
    mine = ranks.scatter(tasks)
    for process in mine:
        process.find_buffer()
        process.seer = ranks.rank
    found = ranks.gather({process.number: process for process in mine if process.buffer})
    for number, process in found.items():
        own = run.processes[number]
        own.seer = None if own.buffer else process.seer
        own.buffer, own.running = process.buffer, process.running


def _by(names: Sequence[object]) -> dict[object, list[int]]:
    """The ranks of each name."""
    found = defaultdict(list)
    for rank, name in enumerate(names):
        found[name].append(rank)
    return dict(found)


def share_out(run: Run, crew: Crew, ranks: Ranks) -> Run:
    """Gives each process to one rank; returns the run with the own ones, and with what all must know."""
    shares = ranks.together(lambda: _shares(run, crew, ranks.size) if ranks.root else [])
    own = ranks.scatter(shares)
    known = ranks.first(lambda: replace(run, processes=[], problems=[], others=[]))
    control = run.prefix.with_name(run.prefix.name + ".uctl")
    with suppress(VtraceError):
        if crew.mates.rank == 0 and read_uctl(control).run == known.id:
            return replace(known, prefix=run.prefix, processes=own, uctl=control)
    return replace(known, prefix=run.prefix, processes=own, uctl=None)


def _shares(run: Run, crew: Crew, size: int) -> list[list[Process]]:
    """Families, the heaviest first, to those with the least so far, of the ranks that see all files."""
    shares: list[list[Process]] = [[] for _ in range(size)]
    loads = {view: [(0, rank) for rank in members] for view, members in _by(crew.views).items()}
    families = _families(run.processes)
    families.sort(key=_weight, reverse=True)
    for family in families:
        queue = min((loads[view] for view in _views(family, crew)), key=lambda queue: queue[0])
        near = {crew.hosts[process.seer] for process in family if process.seer is not None}
        load, rank = _take(queue, [one for one in queue if crew.hosts[one[1]] in near] if near else [])
        heapq.heappush(queue, (load + _weight(family), rank))
        shares[rank] += family
    for share in shares:
        share.sort(key=lambda process: process.number)
    return shares


Load = tuple[int, int]
"""Bytes, and the rank that has them."""


def _take(queue: list[Load], allowed: Sequence[Load]) -> Load:
    """The least loaded, of those that are allowed if there are any."""
    if not allowed or queue[0] in allowed:
        return heapq.heappop(queue)
    chosen = min(allowed)
    queue.remove(chosen)
    heapq.heapify(queue)
    return chosen


def _families(processes: Sequence[Process]) -> list[list[Process]]:
    """Forked processes stand with their parents, whose definitions they inherit."""
    by_id = {process.head.process: process for process in processes}
    families: dict[int, list[Process]] = {}
    heads: dict[int, int] = {}
    for process in sorted(processes, key=lambda p: p.head.start):
        parent = by_id.get((process.head.host, *process.head.parent)) if process.head.parent else None
        head = heads.get(parent.number, process.number) if process.head.forked and parent else process.number
        heads[process.number] = head
        families.setdefault(head, []).append(process)
    return [family for _, family in sorted(families.items())]


def _weight(family: Sequence[Process]) -> int:
    return sum(process.bytes + A_FILE * len(process.files) for process in family)


def _views(family: Sequence[Process], crew: Crew) -> frozenset[int]:
    known = [process.views for process in family if not process.absent]
    common = frozenset.intersection(*known) if known else frozenset(crew.views[:1])
    if not common:
        files = ", ".join(sorted(str(path) for process in family for path in process.all_files())[:4])
        raise VtraceError(
            f"no rank sees all files of {family[0].label} ({files} ...)", "they must lie together on one node"
        )
    return common
