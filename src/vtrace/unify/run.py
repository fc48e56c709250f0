# SPDX-License-Identifier: BSD-3-Clause
"""Unifying: from the local files of a run to one archive. The phases, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from vtrace import __version__
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.io.archive import Definitions
from vtrace.io.kernel import Kernel
from vtrace.unify import account
from vtrace.unify.clocks import curves
from vtrace.unify.coverage import HEAP, Row, location_properties
from vtrace.unify.definitions import inherit
from vtrace.unify.elsewhere import refuse, tell, unseen
from vtrace.unify.find import Run, find_run, kin, ranges, several
from vtrace.unify.merge import add_system
from vtrace.unify.output import Output, archive_path, check_free
from vtrace.unify.process import Process
from vtrace.unify.tables import map_ids

Item = TypeVar("Item")


@dataclass(frozen=True)
class Request:
    """What the user asks for. jobs: threads; 0 takes the cores there are, eight at most."""

    prefix: Path
    name: str | None = None
    keep: bool = False
    force: bool = False
    salvage: bool = False
    jobs: int = 0
    partial: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether ranks and buffers may be missing."""
        return self.partial or self.salvage

    @property
    def threads(self) -> int:
        """Threads to use."""
        return self.jobs or min(len(os.sched_getaffinity(0)), 8)


@dataclass(frozen=True)
class Written:
    """What came of it. seconds: from the first to the last event."""

    archive: Path
    ranks: int
    processes: int
    locations: int
    events: int
    messages: int
    collectives: int
    seconds: float


def unify(request: Request, console: Console) -> Written:
    """Unifies the newest run under a prefix; on any failure nothing is changed. Raises VtraceError."""
    run = find_run(request.prefix, request.salvage, console.warn)
    output = archive_path(request.prefix, request.name, request.keep)
    check_free(output, request.force)
    keep_reasons = _check_run(run, request, console)
    kernel = Kernel()
    _first_pass(run, kernel, request, console)
    keep_reasons += _damage(run, request, console)
    definitions = Definitions(creator=f"vtrace {__version__}")
    add_system(definitions, run.processes)
    zero = _map_times(run.processes, definitions, console)
    map_ids(run.processes, definitions, zero, console)
    with Output(output) as out:
        rows = _second_pass(out, run, kernel, len(definitions.metric_classes) - 1, request, console)
        _complete(definitions, run, rows)
        out.archive.finish(definitions, account.markers(rows, run))
        out.publish()
    for text in account.warnings(rows, run):
        console.warn(text)
    _clean_up(run, request.keep, keep_reasons, console)
    return _written(output, run, definitions, rows)


def _check_run(run: Run, request: Request, console: Console) -> list[str]:
    """Refuses an incomplete run unless salvage is asked for; returns why local files must stay."""
    if run.others:
        console.note(f"files of other runs are left alone: {several(run.others)}")
    reasons = []
    if run.running:
        names = ", ".join(f"{p.label} (process {p.head.pid})" for p in run.running[:4])
        if not request.salvage:
            raise VtraceError(f"{run.prefix.name} is still running: {names}", "--salvage takes what is recorded so far")
        reasons.append(f"{names} still running")
    if run.missing:
        what = f"{'rank' if len(run.missing) == 1 else 'ranks'} {ranges(run.missing)} of {run.ranks}"
        if not request.incomplete:
            place = run.prefix.parent.resolve()
            hint = "copy them there, or use --partial to go on without them"
            if others := kin(run):
                hint = f"{', '.join(others)} ran with it: give all programs one VT_FILE_PREFIX, or use --partial"
            raise VtraceError(f"the local files of {what} are missing in {place}", hint)
        reasons.append(f"nothing of {what}")
        console.warn(f"there is nothing of {what}")
        known = run.processes[0].head
        for rank in run.missing:
            head = replace(known, rank=rank, host="missing", pid=0, start=0, buffer="", parent=None, forked=False)
            run.processes.append(Process(head, rank=rank, main=True, absent=True))
        run.processes.sort(key=lambda p: (not p.main, (p.main and p.rank) or 0))
    return reasons


def _first_pass(run: Run, kernel: Kernel, request: Request, console: Console) -> None:
    """Pass 1: all definitions, and of the events what crosses locations."""
    console.detail(f"reading the definitions of {len(run.processes)} processes")
    with console.steps("definitions", len(run.processes)) as advance:
        _in_threads(request.threads, run.processes, lambda p: p.load(kernel, request.salvage), lambda p: advance(1))
    by_name = {process.head.process: process for process in run.processes}
    for process in sorted(run.processes, key=lambda p: p.head.start):
        parent = by_name.get((process.head.host, *process.head.parent)) if process.head.parent else None
        if process.head.forked and parent is not None:
            inherit(process.definitions, parent.definitions, process.head.pair[0])


def _damage(run: Run, request: Request, console: Console) -> list[str]:
    """Tells what could not be read, refuses what could be on other hosts; returns why local files must stay."""
    reasons = []
    hidden = unseen(run.processes)
    if hidden:
        tell(hidden, console.warn)
        if not request.incomplete:
            refuse(hidden, run.prefix, run.ranks)
        reasons.append("there may be more in buffers that cannot be seen here")
    for process in run.processes:
        for problem in process.problems:
            console.warn(f"{problem}: what comes before it is used")
        if process.problems:
            reasons.append(f"damaged files of {process.label}")
    return reasons


def _map_times(processes: Sequence[Process], definitions: Definitions, console: Console) -> int:
    """Makes each process's curve from ticks to ns since the epoch; returns the archive's zero, its first event."""
    present = [process for process in processes if not process.absent]
    found, doubts = curves([process.source() for process in present])
    for process, curve in zip(present, found, strict=True):
        process.curve = curve
    for doubt in doubts:
        console.warn(doubt)
    zero = min(curve.at(process.source().first) for process, curve in zip(present, found, strict=True))
    definitions.realtime = zero
    return zero


def _second_pass(
    out: Output, run: Run, kernel: Kernel, heap_class: int, request: Request, console: Console
) -> list[Row]:
    """Pass 2: each location by itself, the largest first; heap_class: the metrics of what a process has in use."""
    rows = [Row(process.first + i, process, n) for process in run.processes for i, n in enumerate(process.locations)]
    rows += [Row(process.heap, process, HEAP) for process in run.processes if process.heap is not None]
    done: list[Row] = []

    def write(row: Row) -> None:
        maps = row.process.maps_of(row.number)
        with out.archive.event_writer(row.id) as writer, ExitStack() as stack:
            result = None
            if row.number == HEAP and maps is not None:
                streams = stack.enter_context(row.process.all_events())
                result = kernel.heap(writer, streams, maps, heap_class)
            elif (stream := stack.enter_context(row.process.events(row.number))) is not None and maps is not None:
                result = kernel.transcode(writer, stream, maps)
            done.append(replace(row, result=result))

    console.detail(f"writing the events of {len(rows)} locations with {request.threads} threads")
    with console.steps("events", sum(map(_stored, rows))) as advance:
        _in_threads(request.threads, sorted(rows, key=_stored, reverse=True), write, lambda row: advance(_stored(row)))
    return sorted(done, key=lambda row: row.id)


def _stored(row: Row) -> int:
    stored = row.process.stored
    return sum(stored.values()) if row.number == HEAP else stored.get(row.number, 0)


def _in_threads(
    threads: int, items: Iterable[Item], work: Callable[[Item], None], done: Callable[[Item], None]
) -> None:
    """Works on all items; the first failure is raised when no thread works any more, an interrupt at once."""
    pool = ThreadPoolExecutor(threads)
    try:
        futures = {pool.submit(work, item): item for item in items}
        for future in as_completed(futures):
            future.result()
            done(futures[future])
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _complete(definitions: Definitions, run: Run, rows: Sequence[Row]) -> None:
    times = [(row.result.first_ns, row.result.last_ns) for row in rows if row.result and row.result.events]
    definitions.offset = min((first for first, _ in times), default=0)
    definitions.length = max((last for _, last in times), default=0) - definitions.offset
    definitions.realtime += definitions.offset
    account.used_regions(definitions, rows)
    for row in rows:
        location = definitions.locations[row.id]
        location.events = row.result.events if row.result else 0
        location.properties = location_properties(row)
    definitions.properties = account.properties(run, rows)


def _clean_up(run: Run, keep: bool, reasons: Sequence[str], console: Console) -> None:
    """The archive is complete: the local files of the run go, unless they are asked for or hold more than it."""
    if keep:
        return
    if reasons:
        console.note(f"the local files stay: {'; '.join(reasons[:4])}")
        return
    left = []
    for path in run.local_files():
        try:
            path.unlink(missing_ok=True)
            console.detail(f"removed {path}", level=3)
        except OSError:
            left.append(path)
    if left:
        console.warn(f"no permission to remove {several(left)}")


def _written(output: Path, run: Run, definitions: Definitions, rows: Sequence[Row]) -> Written:
    counts = account.counts(rows)
    return Written(
        archive=output,
        ranks=sum(process.index is not None for process in run.processes),
        processes=len(run.processes),
        locations=len(rows),
        events=sum(counts.values()),
        messages=counts["MpiSend"] + counts["MpiIsend"],
        collectives=counts["MpiCollectiveEnd"] + counts["NonBlockingCollectiveComplete"],
        seconds=definitions.length / definitions.resolution,
    )
