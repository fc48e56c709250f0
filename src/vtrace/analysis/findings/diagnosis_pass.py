# SPDX-License-Identifier: BSD-3-Clause
"""Makes the diagnosis of a selection from one pass over the events, of an archive or while vtunify writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.findings.diagnosis import Diagnosis, MpiAnswers
from vtrace.analysis.findings.finding import LEAST, Finding, archive_word, largest_first
from vtrace.analysis.findings.io_waits import IoWaits
from vtrace.analysis.findings.iterations import iterations_of, repeated_calls
from vtrace.analysis.findings.kinds import kind_of, rules
from vtrace.analysis.findings.lock_waits import has_sites
from vtrace.analysis.findings.one_cause import explains, joined
from vtrace.analysis.findings.processor_findings import with_processor_waits
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.findings.run_notes import limits, oversubscribed, recorded_apart, to_record, without_partners
from vtrace.analysis.findings.thread_waits import ThreadWaits
from vtrace.analysis.processor_waits import BlockedTimes
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.activity_times import Extent
from vtrace.analysis.questions.allocation_blocks import AllocationBlocks, HeapBlocks, has_blocks
from vtrace.analysis.questions.costs import CostQuestion
from vtrace.analysis.questions.mpi_replay import MpiReplay
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.source import Source
from vtrace.analysis.written_scan import WrittenScan

_MOST = 7
"""The most findings."""
_POLLS = 0.01
"""If a larger part of the time is between polls, the archive's record of sleep decides how much of it is waiting."""
_MAIN = 0.02
"""If the largest finding has a smaller share, the computation becomes a finding, too."""


class DiagnosisPass:
    """The questions that a diagnosis of a selection asks in one pass."""

    def __init__(
        self,
        trace: Source,
        window: Selection,
        iteration: str | None = None,
        *,
        alone: bool = True,
        with_mpi: bool = True,
    ) -> None:
        """iteration: see iterations_of. alone: False if several ranks share the events. with_mpi: False if the waits of
        MPI are known. Raises UsageError."""
        self.tree, self.extent, self.files = CallTree(), Extent(), IoWaits()
        self.threads = ThreadWaits(attributes=has_sites(trace))
        self.calls = repeated_calls(trace, window, iteration)
        has_waits = with_mpi and trace.processes.rows > 1 and bool(np.any(trace.regions["class"] == MPI))
        self.mpi = MpiReplay(times=True, alone=alone) if has_waits and window == Selection() else None
        """The waits of MPI need all events of the trace, whatever the selection."""
        self.blocks = AllocationBlocks() if has_blocks(trace) and window == Selection() else None
        """A block may be freed by any thread, so the blocks need all events, too."""
        self.costs = CostQuestion() if trace.contexts.rows else None

    @property
    def questions(self) -> list[AnyQuestion]:
        """All questions."""
        sometimes = [each for each in (self.mpi, self.blocks, self.costs) if each]
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
        question, selection = replay(), Selection.of(window.start, window.stop, window.locations)
        mpi = MpiAnswers.of(question, selection, facts.profile)
        facts.call_waits = mpi.call_waits
        if window == Selection():
            facts.take_naps(question.of(selection).naps, question.of(selection).paths)
    iterations = iterations_of(facts, iteration, asked.calls)
    diagnosis = Diagnosis(
        facts=facts,
        thread_waits=asked.threads.with_idle_threads(facts, mpi.call_waits if mpi else None),
        lock_waits=asked.threads.lock_waits,
        io_waits=asked.files.answer(),
        mpi=mpi,
        blocks=_blocks(trace, window, asked),
        iterations=iterations,
    )
    diagnosis.notes = [*limits(facts)]
    for table in (mpi.waits, mpi.delays, mpi.efficiencies) if mpi else ():
        diagnosis.notes += [line for line in table.notes["caveats"] if line not in diagnosis.notes]
    if mpi and (silent := without_partners(facts, mpi.waits)):
        diagnosis.notes.append(silent)
    if mpi and (silent or mpi.waits.notes["doubt"]):
        diagnosis.mpi = None
    if not diagnosis.mpi and (apart := recorded_apart(facts)):
        diagnosis.notes.append(apart)
    if diagnosis.blocks and diagnosis.blocks.is_full:
        diagnosis.notes.append(diagnosis.blocks.full_text)
    diagnosis.notes += [*diagnosis.thread_waits.lines, *diagnosis.io_waits.lines, *asked.calls.lines]
    diagnosis.findings = _largest_losses(diagnosis)
    diagnosis.to_record = to_record(facts, diagnosis.findings)
    return diagnosis


def _blocks(trace: Source, window: Selection, asked: DiagnosisPass) -> HeapBlocks | None:
    """The blocks of malloc; None in a part of a run, since blocks may be freed outside of it."""
    question = asked.blocks
    if not question and has_blocks(trace) and window.is_whole(trace):
        question = AllocationBlocks()
        ask(trace, [question])
    return question.answer() if question else None


def _largest_losses(diagnosis: Diagnosis) -> list[Finding]:
    """The findings with the largest losses, and those about bytes; without a large loss also those that stand in for
    losses."""
    facts, trace = diagnosis.facts, diagnosis.facts.trace
    findings = [*with_processor_waits(diagnosis, joined([finding for rule in rules() for finding in rule(diagnosis)]))]
    losses = [finding for finding in findings if kind_of(finding.kind).is_loss]
    losses = [finding for finding in losses if not any(explains(other, finding) for other in findings)]
    kept = [finding for finding in largest_first(losses) if finding.share >= LEAST][:_MOST]
    has_main = bool(kept) and kept[0].share >= _MAIN
    kept += [finding for finding in findings if kind_of(finding.kind).always]
    if not has_main:
        kept += [finding for finding in findings if not (kind_of(finding.kind).is_loss or kind_of(finding.kind).always)]
    doubt = (crowded,) if (crowded := oversubscribed(facts)) else ()
    archive, options = archive_word(trace.path), facts.window.options
    for row, finding in enumerate(kept):
        caveats = (*finding.caveats, *(doubt if kind_of(finding.kind).of_ranks else ()))
        kept[row] = replace(finding, caveats=caveats).of_archive(archive).of_part(options)
    return kept


class WrittenDiagnosis(WrittenScan):
    """A listener of vtunify. The diagnosis must read the archive if an estimate about the archive was wrong, and if the
    archive has samples, to which no listener listens."""

    def __init__(self, anchor: Path, alone: bool = True) -> None:
        """anchor: of an archive with the expected definitions. alone: False if several ranks share the events. Raises
        FormatError."""
        expected = Source(anchor)
        self._asked = DiagnosisPass(expected, Selection(), alone=alone)
        super().__init__(expected, [] if self._asked.costs else self._asked.questions)
        self.order: Sequence[int] = () if self._asked.costs else self._asked.calls.order()

    def known(self, trace: Source) -> DiagnosisPass | None:
        """The pass, with the finished archive; None: the archive differs from the estimates, or must tell more."""
        if self.failed or self._asked.costs or not self.fits(trace):
            return None
        if self._asked.mpi and len(BlockedTimes(trace).location) and self._asked.mpi.between_polls() > _POLLS:
            return None
        for question in self._asked.questions:
            question.trace = trace
        return self._asked
