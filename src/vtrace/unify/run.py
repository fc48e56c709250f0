# SPDX-License-Identifier: BSD-3-Clause
"""Unifying: from the local files of a run to one archive. The phases, in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from vtrace import __version__
from vtrace.console import Console, ranges
from vtrace.errors import FormatError, VtraceError
from vtrace.io import sidecar
from vtrace.io.archive.definitions import plain_text
from vtrace.io.archive.overview import ANCHOR
from vtrace.io.archive.writer import Archive, Definitions
from vtrace.io.local.kernel import Kernel
from vtrace.parallel.ranks import ALONE, Ranks, work_on
from vtrace.unify.account import account, ledger_intervals
from vtrace.unify.account.accuracy import accuracy
from vtrace.unify.clocks.offsets import Clock, align
from vtrace.unify.clocks.repair import clock_lines, repair
from vtrace.unify.account.coverage import CoverageRow, Fate, fates, location_properties
from vtrace.unify.reading.alone import find_alone, refuse_alone
from vtrace.unify.writing.output import Output, archive_path, check_free
from vtrace.unify.model.owners import mixed, of_others, told, users_of
from vtrace.unify.reading.remote_buffers import refuse, tell
from vtrace.unify.discover.select_run import Run, kin, several
from vtrace.unify.discover.share import Crew, find_together, share_out
from vtrace.unify.merge.system import System, add_system
from vtrace.unify.model.absent import tell_absent
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import inherit
from vtrace.unify.merge.merge import map_ids
from vtrace.unify.writing.writing import write_events

_NEVER = 1 << 64


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
    repair: bool = True
    """Clocks move where something would run backwards."""

    @property
    def incomplete(self) -> bool:
        """Whether ranks and buffers may be missing."""
        return self.partial or self.salvage

    @property
    def threads(self) -> int:
        """Threads to use."""
        return self.jobs or min(len(os.sched_getaffinity(0)), 8)


class WrittenArchive(NamedTuple):
    """What came of it. seconds: from the first to the last event."""

    archive: Path
    ranks: int
    processes: int
    locations: int
    events: int
    messages: int
    collectives: int
    seconds: float


def unify(request: Request, console: Console, ranks: Ranks = ALONE) -> WrittenArchive:
    """Unifies the newest run under a prefix, with all ranks; on any failure nothing is changed. Raises VtraceError.

    What is made once (definitions, warnings, what is returned) is rank 0's.
    """
    run, crew = find_together(request.prefix, request.salvage, ranks)
    output = ranks.first(lambda: archive_path(request.prefix, request.name, request.keep))
    keep_reasons = ranks.first(lambda: _check_run(run, crew, output, request, console))
    run = share_out(run, crew, ranks)
    kernel = Kernel()
    with _salvageable(request):
        _first_pass(run, kernel, request, ranks, console)
    run.alone = find_alone(run.processes, ranks)
    ranks.first(lambda: refuse_alone(run.alone, request.incomplete, console.warn))
    incomplete = fates(run.processes, ranks)
    keep_reasons += ranks.first(lambda: _damage(run, crew, incomplete, request, console))
    definitions = Definitions(creator=f"vtrace {__version__}")
    system = add_system(definitions, run.processes, ranks)
    zero, clocks = _map_times(run.processes, definitions, ranks, console)
    map_ids(run.processes, system, definitions, zero, ranks, console)
    first = account.first_facts(run.processes, ranks)
    with Output(output, ranks) as out:
        for text in out.others:
            console.warn(text)
        repaired = None
        if request.repair:
            near = out.archive.directory
            repaired = repair(run, clocks, definitions, kernel, near, request.threads, ranks, console)
        heap_class = len(definitions.metric_classes) - 1
        with _salvageable(request):
            rows = write_events(out.archive, run, crew, kernel, heap_class, request.threads, ranks, console)
        if ranks.root:
            _complete(definitions, rows)
            definitions.properties = account.properties(run, first, incomplete, rows, accuracy(clocks, repaired))
        out.archive.finish(definitions, account.markers(rows))
        ranks.first(lambda: _write_ledger(out.archive, definitions, rows))
        out.publish()
    for text in account.warnings(rows, incomplete):
        console.warn(text)
    _clean_up(run, ranks.first(lambda: users_of(out.path)), request.keep, keep_reasons, ranks, console)
    return _written(output, run, system, definitions, rows)


@contextmanager
def _salvageable(request: Request) -> Iterator[None]:
    """Says what helps against damage that is met within."""
    try:
        yield
    except FormatError as error:
        if not (error.hint or request.salvage):
            error.hint = "--salvage takes what comes before it"
        raise


def _check_run(run: Run, crew: Crew, output: Path, request: Request, console: Console) -> list[str]:
    """Refuses an incomplete run unless salvage is asked for; returns why local files must stay."""
    for text in run.problems:
        console.warn(text)
    check_free(output, request.force)
    if foreign := mixed(run.local_files()):
        console.warn(told(foreign))
    if run.others:
        console.note(f"files of other runs are left alone: {several(run.others)}")
    reasons = []
    if run.running:
        names = ", ".join(
            f"{p.label} (process {p.head.pid})" if p.main and p.world else p.label for p in run.running[:4]
        )
        if not request.salvage:
            raise VtraceError(f"{run.prefix.name} is still running: {names}", "--salvage takes what is recorded so far")
        reasons.append(f"{names} still running")
    if run.missing:
        what = f"{'rank' if len(run.missing) == 1 else 'ranks'} {ranges(run.missing)} of {run.ranks}"
        if not request.incomplete:
            raise _missing(run, crew, what)
        reasons.append(f"nothing of {what}")
        console.warn(f"there is nothing of {what}")
        known = run.processes[0].head
        for rank in run.missing:
            head = replace(known, rank=rank, host="missing", pid=0, start=0, buffer="", parent=None, forked=False)
            run.processes.append(Process(head, rank=rank, main=True, absent=True))
        run.processes.sort(key=lambda p: (not p.main, (p.main and p.rank) or 0))
        run.count = len(run.processes)
        for number, process in enumerate(run.processes):
            process.number = number
    return reasons


def _missing(run: Run, crew: Crew, what: str) -> VtraceError:
    where = str(run.prefix.parent.resolve())
    hint = "copy them there, or use --partial to go on without them"
    places = len(set(crew.views))
    if places > 1:
        where = f"all {places} directories that the ranks see"
        hint = "start a rank on each node of the run, or use --partial to go on without them"
    elif others := kin(run):
        hint = f"{', '.join(others)} ran with it: give all programs one VT_FILE_PREFIX, or use --partial"
    files = [f"{run.prefix.name}.{rank + 1 if rank < 0xFFFF else (rank + 1) << 16:x}.*" for rank in run.missing]
    more = f" and {len(files) - 8} more" if len(files) > 8 else ""
    return VtraceError(f"the local files of {what} ({', '.join(files[:8])}{more}) are missing in {where}", hint)


def _first_pass(run: Run, kernel: Kernel, request: Request, ranks: Ranks, console: Console) -> None:
    """Pass 1: all definitions, and of the events what crosses locations."""
    console.detail(f"reading the definitions of {run.count} processes")
    with console.steps("definitions", run.count, "processes") as advance:
        work_on(ranks, request.threads, run.processes, lambda p: p.load(kernel, request.salvage), lambda p: 1, advance)
    by_name = {process.head.process: process for process in run.processes}
    for process in sorted(run.processes, key=lambda p: p.head.start):
        parent = by_name.get((process.head.host, *process.head.parent)) if process.head.parent else None
        if process.head.forked and parent is not None:
            inherit(process.definitions, parent.definitions, process.head.pair[0])


def _damage(run: Run, crew: Crew, incomplete: Sequence[Fate], request: Request, console: Console) -> list[str]:
    """Tells what could not be read, refuses what could be on other hosts; returns why local files must stay."""
    reasons = []
    hidden = [fate for fate in incomplete if fate.hidden]
    if hidden:
        tell(hidden, crew.hosts, console.warn)
        if not request.incomplete:
            refuse(hidden, crew.hosts, run.prefix, run.ranks)
        reasons.append("there may be more in buffers that cannot be seen here")
    if lacks := [f"{fate.label}: {text}" for fate in incomplete for text in fate.lacks]:
        tell_absent(lacks, request.incomplete, console.warn)
        reasons.append("others are missing")
    for fate in incomplete:
        for problem in fate.problems:
            console.warn(f"{problem}: what comes before it is used")
        if fate.problems:
            reasons.append(f"damaged files of {fate.label}")
    return reasons


def _map_times(
    processes: Sequence[Process], definitions: Definitions, ranks: Ranks, console: Console
) -> tuple[int, list[Clock]]:
    """Makes each process's curve from ticks to ns since the epoch; returns the archive's zero, its first event, and the
    clocks that there are (at rank 0)."""
    sources = ranks.gather({process.number: process.source() for process in processes if not process.absent})
    clocks, doubts = ranks.together(lambda: align(sources) if ranks.root else ([], []))
    for text in doubts:
        console.warn(text)
    for text in clock_lines(clocks):
        console.detail(text)
    own = ranks.first(lambda: {number: clock.curve for clock in clocks for number in clock.members})
    starts = []
    for process in processes:
        if not process.absent:
            process.curve = own[process.number]
            starts.append(process.curve.at(process.source().first))
    earliest = ranks.reduce(min(starts, default=_NEVER), min)
    definitions.realtime = ranks.first(lambda: earliest)
    return definitions.realtime, clocks


def _complete(definitions: Definitions, rows: Sequence[CoverageRow]) -> None:
    times = [(row.result.first_ns, row.result.last_ns) for row in rows if row.result and row.result.events]
    definitions.offset = min((first for first, _ in times), default=0)
    definitions.length = max((last for _, last in times), default=0) - definitions.offset
    definitions.realtime += definitions.offset
    account.used_regions(definitions, rows)
    for row in rows:
        location = definitions.locations[row.id]
        location.events = row.result.events if row.result else 0
        location.properties |= location_properties(row)


def _write_ledger(archive: Archive, definitions: Definitions, rows: Sequence[CoverageRow]) -> None:
    """The table that says when each location did not record, and why."""
    properties = {name: plain_text(text) for name, text in definitions.properties.items()}
    of = sidecar.identity(archive.directory / ANCHOR, properties)
    sidecar.write(archive.directory, *sidecar.COVERAGE, of, ledger_intervals.table(definitions, rows))


def _clean_up(run: Run, users: set[int], keep: bool, reasons: Sequence[str], ranks: Ranks, console: Console) -> None:
    """The archive is complete: removes the local files of the run, unless the user keeps them, they hold more than the
    archive, or they belong to none of these users."""
    if keep:
        return
    if reasons:
        console.note(f"the local files stay: {'; '.join(reasons[:4])}")
        return
    left: list[Path] = []
    files = run.local_files()
    others = of_others(files, users)
    for path in files:
        if path in others:
            continue
        try:
            path.unlink(missing_ok=True)
            console.detail(f"removed {path}", level=3)
        except OSError:
            left.append(path)
    others = ranks.reduce(others, dict.__or__)
    if others:
        console.note(f"{told(others)}: not removed")
    left = ranks.reduce(left, list.__add__)
    if left:
        console.warn(f"no permission to remove {several(left)}")


def _written(
    output: Path, run: Run, system: System, definitions: Definitions, rows: Sequence[CoverageRow]
) -> WrittenArchive:
    counts = account.counts(rows)
    return WrittenArchive(
        archive=output,
        ranks=len(system.masters),
        processes=run.count,
        locations=len(rows),
        events=sum(counts.values()),
        messages=counts["MpiSend"] + counts["MpiIsend"],
        collectives=counts["MpiCollectiveEnd"] + counts["NonBlockingCollectiveComplete"],
        seconds=definitions.length / definitions.resolution,
    )
