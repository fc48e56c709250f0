# SPDX-License-Identifier: BSD-3-Clause
"""Reading, the second phase of unifying: pass 1 over the local files, and the missing parts that they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtrace.console import few, some
from vtrace.parallel.crew import Crew
from vtrace.parallel.ranks import work_on
from vtrace.text import shell_path
from vtrace.unify.model.absent import report_absent
from vtrace.unify.model.context import NONE, Context
from vtrace.unify.model.fates import Fate, find_fates, labels
from vtrace.unify.model.process_definitions import inherit
from vtrace.unify.model.traced_run import Run
from vtrace.unify.reading.alone import find_alone, refuse_alone
from vtrace.unify.reading.remote_buffers import is_near, list_buffers, refuse


@dataclass(frozen=True)
class Reading:
    """The missing parts of the run, on rank 0; the definitions themselves are in each rank's processes."""

    incomplete: list[Fate]
    alone: str
    """The sentence of processes that were alone in their MPI_COMM_WORLD; empty if none was."""
    keep_reasons: list[str]
    """Reasons why the local files must stay; empty if they may be removed."""
    samples: int
    """Number of samples of all ranks, on each rank; 0 if the request leaves them out."""


def read_definitions(run: Run, crew: Crew, context: Context) -> Reading:
    """Reads the definitions of this rank's processes, and facts about their events that several locations need. All
    ranks call read_definitions.

    Raises VtraceError for damage and for missing files or buffers, unless the request allows these.
    """
    ranks, request, warn = context.ranks, context.request, context.console.warn
    with context.salvageable():
        _load(run, context)
    sentences = ranks.gather(find_alone(run.processes))
    alone = next(iter(sentences.values()), "")
    ranks.first(lambda: refuse_alone(alone, request.incomplete, warn))
    incomplete = [*ranks.gather(find_fates(run.processes)).values()]
    reasons = ranks.first(lambda: _check_damage(run, crew, incomplete, context))
    (samples,) = ranks.total([sum(scan.samples for process in run.processes for scan in process.samples.values())])
    return Reading(incomplete, alone, reasons, samples)


def _load(run: Run, context: Context) -> None:
    """Loads this rank's processes in threads; forked processes then inherit their parents' definitions."""
    request, kernel = context.request, context.kernel
    context.console.detail(f"reading the definitions of {some(run.count, 'process', 'processes')}")
    with context.console.steps("definitions", run.count, "processes") as advance:
        work_on(
            context.ranks, request.threads, items=run.processes,
            work=lambda p: p.load(kernel, request.salvage, request.samples != NONE), weigh=lambda p: 1, advance=advance,
        )  # fmt: skip
    by_name = {process.head.process: process for process in run.processes}
    for process in sorted(run.processes, key=lambda p: p.head.start):
        parent = by_name.get((process.head.host, *process.head.parent)) if process.head.parent else None
        if process.head.forked and parent is not None:
            inherit(process.definitions, parent.definitions, process.head.pair[0])


def _check_damage(run: Run, crew: Crew, incomplete: Sequence[Fate], context: Context) -> list[str]:
    """Warns of damage; raises VtraceError unless damage is allowed. Returns the reasons why local files must stay."""
    allowed, warn = context.request.incomplete, context.console.warn
    reasons = []
    hidden = [fate for fate in incomplete if fate.hidden]
    if hidden:
        list_buffers(hidden, crew, warn)
        if not allowed:
            refuse(hidden, crew, run.prefix, run.ranks)
        reasons.append("buffers that are not accessible here may hold more events")
    if remote := [fate for fate in incomplete if fate.died and not fate.hidden and not is_near(fate, crew)]:
        # Only their own hosts and containers show whether they have ended.
        hosts = few(sorted({fate.head.host for fate in remote}))
        removes = f"vtrace clean --all --other-hosts {shell_path(run.prefix)}"
        reasons.append(f"{labels(remote)} may still run on {hosts} (when they have ended: {removes})")
    if lacks := [f"{fate.label}: {text}" for fate in incomplete for text in fate.lacks]:
        report_absent(lacks, allowed, warn)
        reasons.append("other files are missing")
    for fate in incomplete:
        for problem in fate.problems:
            warn(f"{problem}: only the records before it are used")
        if fate.problems:
            reasons.append(f"damaged files of {fate.label}")
    return reasons
