# SPDX-License-Identifier: BSD-3-Clause
"""Reading, the second phase of unifying: pass 1 over the local files, and the missing parts that they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import or_

from vtrace.console import few, some
from vtrace.parallel.crew import Crew
from vtrace.parallel.ranks import work_on
from vtrace.text import shell_path
from vtrace.unify.model.context import NONE, SIDECAR, Context
from vtrace.unify.model.process import Process, Run
from vtrace.unify.model.process_definitions import ENDED, inherit
from vtrace.unify.reading.incomplete_processes import (
    IncompleteProcess,
    incomplete_processes,
    is_near,
    labels,
    list_buffers,
    refuse_remote_buffers,
    refuse_separate_worlds,
    report_missing_parts,
    separate_worlds,
    signal_name,
)
from vtrace.unify.reading.process_reader import read_contents


@dataclass(frozen=True)
class Reading:
    """The missing parts of the run, on rank 0; the definitions themselves are in each rank's processes."""

    incomplete: list[IncompleteProcess]
    separate: str
    """The sentence of processes that were alone in their MPI_COMM_WORLD; empty if none was."""
    keep_reasons: list[str]
    """Reasons why the local files must stay; empty if they may be removed."""
    samples: int
    """Number of samples of all ranks, on each rank; 0 if the request leaves them out."""
    are_apart: bool
    """True if there are samples, and they are for an archive of their own in the sidecar."""


def read_definitions(run: Run, crew: Crew, context: Context) -> Reading:
    """Reads the definitions of this rank's processes, and facts about their events that several locations need. All
    ranks call read_definitions.

    Raises VtraceError for damage and for missing files or buffers, unless the request allows these.
    """
    ranks, request, warn = context.ranks, context.request, context.console.warn
    with context.salvageable():
        _load(run, context)
    sentences = ranks.gather(separate_worlds(run.processes))
    separate = next(iter(sentences.values()), "")
    ranks.first(lambda: refuse_separate_worlds(separate, request.incomplete, warn))
    incomplete = [*ranks.gather(incomplete_processes(run.processes)).values()]
    reasons = ranks.first(lambda: _check_damage(run, crew, incomplete, context))
    scans = [scan for process in run.processes for scan in process.contents.samples.values()]
    samples, within = ranks.total([sum(scan.samples for scan in scans), sum(map(_wants_events, run.processes))])
    apart = request.samples == SIDECAR or (request.samples is None and not within)
    return Reading(incomplete, separate, reasons, samples, are_apart=apart and samples > 0)


def _wants_events(process: Process) -> bool:
    """True if samples of a process are to be events of the archive."""
    return bool(process.contents.samples) and not any(one.sidecar for one in process.definitions.sampling)


def _load(run: Run, context: Context) -> None:
    """Loads this rank's processes in threads; forked processes then inherit their parents' definitions."""
    request, kernel = context.request, context.kernel

    def read(process: Process) -> None:
        process.contents = read_contents(process, kernel, request.salvage, request.samples != NONE)

    context.console.detail(f"reading the definitions of {some(run.count, 'process', 'processes')}")
    with context.console.steps("definitions", run.count, "processes") as advance:
        work_on(
            context.ranks, request.threads, items=run.processes,
            work=read, weigh=lambda p: 1, advance=advance,
        )  # fmt: skip
    _take_signals(run, context)
    by_name = {process.head.process: process for process in run.processes}
    for process in sorted(run.processes, key=lambda p: p.head.start):
        parent = by_name.get(process.parent) if process.parent else None
        if process.head.forked and parent:
            inherit(process.definitions, parent.definitions, process.head.pair[0])


def _take_signals(run: Run, context: Context) -> None:
    """Sets the signals that ended processes, from their parents' definitions, which another rank may have read."""
    notes = {
        (process.head.process, name): number
        for process in run.processes
        for name, number in process.definitions.properties.items()
        if name.startswith(ENDED)
    }
    everyone = context.ranks.reduce(notes, or_)
    notes = context.ranks.first(lambda: everyone)
    for process in run.processes:
        if process.parent:
            process.ended_by = signal_name(notes.get((process.parent, f"{ENDED}{process.head.pid}")))


def _check_damage(run: Run, crew: Crew, incomplete: Sequence[IncompleteProcess], context: Context) -> list[str]:
    """Warns of damage; raises VtraceError unless damage is allowed. Returns the reasons why local files must stay."""
    allowed, warn = context.request.incomplete, context.console.warn
    reasons = []
    hidden = [process for process in incomplete if process.buffer_unseen]
    if hidden:
        list_buffers(hidden, crew, warn)
        if not allowed:
            refuse_remote_buffers(hidden, crew, run.prefix, run.ranks)
        reasons.append("buffers that are not accessible here may hold more events")
    if remote := [
        process for process in incomplete if process.died and not process.buffer_unseen and not is_near(process, crew)
    ]:
        # Only their own hosts and containers show whether they have ended.
        hosts = few(sorted({process.head.host for process in remote}))
        removes = f"vtrace clean --all --other-hosts {shell_path(run.prefix)}"
        reasons.append(f"{labels(remote)} may still run on {hosts} (when they have ended: {removes})")
    if missing := [f"{process.label}: {text}" for process in incomplete for text in process.missing_files]:
        report_missing_parts(missing, allowed, warn)
        reasons.append("other files are missing")
    for process in incomplete:
        for problem in process.problems:
            warn(f"{problem}: only the records before it are used")
        if process.problems:
            reasons.append(f"damaged files of {process.label}")
    return reasons
