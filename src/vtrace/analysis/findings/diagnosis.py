# SPDX-License-Identifier: BSD-3-Clause
"""The diagnosis of a selection: findings, waits, efficiencies and iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.findings.finding import Finding, archive_word, largest_first
from vtrace.analysis.findings.general_findings import computation, io_time, tracing_time
from vtrace.analysis.findings.io_waits import IoWaits
from vtrace.analysis.findings.iteration_findings import iteration_findings
from vtrace.analysis.findings.iterations import Iterations, iterations_of, repeated_calls
from vtrace.analysis.findings.kinds import KINDS
from vtrace.analysis.findings.mpi_findings import MpiAnswers, mpi_findings
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.findings.run_notes import limits, oversubscribed, to_record, without_partners
from vtrace.analysis.findings.thread_findings import thread_findings
from vtrace.analysis.findings.thread_waits import ThreadWaits
from vtrace.analysis.findings.uneven_work import recorded_apart, uneven_work
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.activity_times import Extent
from vtrace.analysis.questions.costs import CostQuestion
from vtrace.analysis.questions.mpi_replay import MpiReplay
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

LEAST, MOST = 0.01, 7
"""The least share of the time of all threads that a finding has, and the most findings."""
_MOSTLY = 0.5
"""Slow iterations explain an imbalance with the same culprit if they lose at least this part of its loss."""
_MAIN = 0.02
"""If the largest finding has a smaller share, the computation becomes a finding, too."""


@dataclass(kw_only=True)
class Diagnosis:
    """facts: times of the selection. thread_waits, io_waits: tables like Trace.thread_waits. mpi: None if the program
    has no calls of MPI. findings: the largest loss first. notes: limits of the numbers, one line each. to_record: a
    line about recordings that the place of a loss needs, "" if none."""

    facts: RunFacts
    thread_waits: Table
    io_waits: Table
    mpi: MpiAnswers | None
    iterations: Iterations | None
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    to_record: str = ""

    @property
    def iteration_table(self) -> Table:
        """The table of Trace.iterations."""
        found = self.iterations
        if found is None:
            none = dict.fromkeys(("iteration", "begin", "end", "time_ns", "mean_ns", "location"), np.empty(0, np.int64))
            return Table(none, region="", source="", basis="", slow=[], drift=1.0)
        about = {"region": found.region, "source": found.source, "basis": found.basis}
        return Table({**found.table}, **about, slow=found.slow, drift=found.drift)


class DiagnosisPass:
    """The questions that a diagnosis of a selection asks in one pass."""

    def __init__(
        self,
        trace: Source,
        window: Selection,
        iteration: str | None = None,
        *,
        root: bool = True,
        with_mpi: bool = True,
        with_samples: bool = True,
    ) -> None:
        """iteration: see iterations_of. root: False on ranks that send their parts to the root. with_mpi: False if the
        waits of MPI are known. with_samples: False while vtunify writes events. Raises UsageError."""
        self.tree, self.extent, self.threads, self.files = CallTree(), Extent(), ThreadWaits(), IoWaits()
        self.calls = repeated_calls(trace, window, iteration)
        has_waits = with_mpi and trace.processes.rows > 1 and bool(np.any(trace.regions["class"] == MPI))
        self.mpi = MpiReplay(times=True, root=root) if has_waits and window == Selection() else None
        """The waits of MPI need all events of the trace, whatever the selection."""
        self.costs = CostQuestion() if with_samples and len(trace.contexts) else None

    @property
    def questions(self) -> list[AnyQuestion]:
        """All questions."""
        sometimes = [each for each in (self.mpi, self.costs) if each]
        return [self.tree, self.extent, self.threads, self.files, self.calls, *sometimes]


def diagnose(
    trace: Source, window: Selection, iteration: str | None, *, asked: DiagnosisPass, replay: Callable[[], MpiReplay]
) -> Diagnosis:
    """Finds losses in a selection. iteration: see iterations_of. asked: the completed pass. replay: gives the waits of
    the trace, with times."""
    facts = RunFacts.of(trace, window, asked.tree, asked.extent)
    if asked.costs:
        facts.costs = asked.costs.answer()
    mpi = None
    if facts.has_mpi and trace.processes.rows > 1:
        mpi = MpiAnswers.of(replay().of(Selection.of(window.start, window.stop, window.locations)), facts.profile)
    iterations = iterations_of(facts, iteration, asked.calls)
    found = Diagnosis(
        facts=facts,
        thread_waits=asked.threads.with_idle_threads(facts),
        io_waits=asked.files.answer(),
        mpi=mpi,
        iterations=iterations,
    )
    found.notes = [*limits(facts)]
    for table in (mpi.waits, mpi.delays, mpi.efficiencies) if mpi else ():
        found.notes += [line for line in table.notes["caveats"] if line not in found.notes]
    if mpi and (silent := without_partners(facts, mpi.waits)):
        found.notes.append(silent)
    if mpi and (silent or mpi.waits.notes["doubt"]):
        found.mpi = None
    if not found.mpi and (apart := recorded_apart(facts)):
        found.notes.append(apart)
    found.notes += [*found.thread_waits.lines, *found.io_waits.lines, *asked.calls.lines]
    found.findings = _chosen(found)
    found.to_record = to_record(facts, found.findings)
    return found


def _chosen(found: Diagnosis) -> list[Finding]:
    """The findings with the largest losses. The finding io_time is left out if another finding names the processes that
    wait for the I/O."""
    facts = found.facts
    made = [*thread_findings(facts, found.thread_waits), *tracing_time(facts)]
    made += mpi_findings(facts, found.mpi) if found.mpi else uneven_work(facts)
    if not any(one.kind == "io_by_few_ranks" and one.share >= LEAST for one in made):
        made += io_time(facts)
    slow = [*iteration_findings(facts, found.iterations, LEAST)]
    made = [one for one in made if not any(_has_cause_of(each, one) for each in slow)] + slow
    kept = [one for one in largest_first(made) if one.share >= LEAST][:MOST]
    if not kept or kept[0].share < _MAIN:
        kept += [one for one in [computation(facts)] if one]
    doubt = (oversubscribed(facts.trace),) if oversubscribed(facts.trace) else ()
    archive = archive_word(facts.trace.path)
    told = [one.of_archive(archive).of_part(facts.window.options) for one in kept]
    return [replace(one, caveats=(*one.caveats, *doubt)) if KINDS[one.kind].of_ranks else one for one in told]


def _has_cause_of(slow: Finding, other: Finding) -> bool:
    """True if slow iterations have the cause of another finding, so that both are one loss."""
    same = slow.kind == "slow_iterations" and other.kind == "imbalance" and slow.culprit == other.culprit
    return same and slow.loss_ns >= _MOSTLY * other.loss_ns
