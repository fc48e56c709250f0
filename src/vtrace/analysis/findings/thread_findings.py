# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads: barriers, OpenMP's serial parts, threads that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.culprits import by_region, culprits_of, culprits_text
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, locations_text, place_text
from vtrace.analysis.findings.thread_waits import EARLY_END, EXPLICIT, IDLE, IMPLICIT, KINDS, THREAD_BARRIER
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Table, add_up

if TYPE_CHECKING:
    pass

_CONSTRUCTS = ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")


def _of_processor(facts: RunFacts, waits: Table, culprits: list[int]) -> int:
    """The part of the waits for others' work that their waits for a processor explain: of the culprits those that they
    have more than the threads that wait."""
    waiting = np.setdiff1d(waits["location"], culprits).tolist()
    waited = facts.without_processor(culprits or facts.rows)
    if culprits and waiting:
        more = waited / len(culprits) - facts.without_processor(waiting) / len(waiting)
        waited = max(0.0, more) * len(waiting)
    return min(int(waits["time_ns"].sum()), round(waited))


def _finding(facts: RunFacts, kind: str, waits: Table, path: int, **values: Any) -> Finding:
    """A finding about all of these waits."""
    about = "openmp" if KINDS[waits["kind"][0]].startswith("omp_") else "waits"
    return facts.finding(
        kind, int(waits["time_ns"].sum()), path, waits.paths, locations=waits["location"],
        evidence=("diagnose", "--about", about), **values,
    )  # fmt: skip


def _barrier_text(facts: RunFacts, paths: Table, path: int) -> str:
    """The place of a barrier: at the end of a worksharing construct or of a parallel region, or in the barrier."""
    role, above = str(facts.trace.regions["role"][int(paths["region"][path])]), int(paths["parent"][path])
    ends = str(facts.trace.regions["role"][int(paths["region"][above])]) if above > 0 else ""
    if role == "IMPLICIT_BARRIER" and ends in _CONSTRUCTS:
        return f"at the end of {place_text(facts.trace, paths, above)}"
    return f"in {place_text(facts.trace, paths, path)}"


@rule(
    FindingKind(
        "omp_imbalance",
        "waits in barriers of OpenMP ([waits of threads](#waits-of-threads))",
        about=("openmp",),
        action="distribute this work more evenly, for example schedule(dynamic)",
    ),
    FindingKind(
        "thread_imbalance",
        "waits in barriers of pthreads; threads that end before others with which they are joined",
        about=("waits",),
        action="distribute this work more evenly",
    ),
)
def barriers(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits in barriers, by region."""
    facts = diagnosis.facts
    for waits, path, loss in by_region(diagnosis.thread_waits, EXPLICIT, IMPLICIT, THREAD_BARRIER):
        culprits = culprits_of(facts, waits)
        culprit, where = culprits_text(facts.trace, culprits), _barrier_text(facts, waits.paths, path)
        if culprits:
            reason = f"most of it for {culprit}, which {'has' if len(culprits) == 1 else 'have'} more work"
        else:
            reason = "the work is uneven, for a different thread each time"
        kind = "thread_imbalance" if waits["kind"][0] == THREAD_BARRIER else "omp_imbalance"
        text = f"threads wait {loss} {where}: {reason}"
        ns = _of_processor(facts, waits, culprits)
        yield _finding(facts, kind, waits, path, text=text, culprit=culprit, processor_ns=ns)


@rule(
    FindingKind(
        "omp_serial",
        "OpenMP threads without work outside of parallel regions",
        about=("openmp",),
        action="put this work into parallel regions, too",
    )
)
def idle_threads(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for all idle threads, with the serial call path that lasts longest."""
    facts, waits = diagnosis.facts, diagnosis.thread_waits
    waits = waits.take(waits["kind"] == IDLE)
    if not waits.rows:
        return
    path = int(np.argmax(add_up(waits["path"], waits["time_ns"], waits.paths.rows)))
    locations, loss = sorted({*waits["location"].tolist()}), span(int(waits["time_ns"].sum()))
    text = (
        f"{locations_text(facts.trace, locations)} {'are' if len(locations) > 1 else 'is'} idle for {loss} outside of "
        f"parallel regions, most of it while {place_text(facts.trace, waits.paths, path)} runs on one thread"
    )
    yield _finding(facts, "omp_serial", waits, path, text=text)


@rule()
def early_ends(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Threads that end before others with which they are joined."""
    facts = diagnosis.facts
    for waits, path, loss in by_region(diagnosis.thread_waits, EARLY_END):
        culprits, early = culprits_of(facts, waits), sorted({*waits["location"].tolist()})
        culprit, until = culprits_text(facts.trace, culprits), place_text(facts.trace, waits.paths, path)
        several = len(early) > 1
        lead = f"{'together ' * several}{loss} before "
        text = f"{locations_text(facts.trace, early)} end{'s' * (not several)} early, {lead}"
        if culprits:
            others = [row for row in early if row not in culprits]
            longer = facts.longer_place(culprits, others) if others else ""
            work = f"more work in {longer}" if longer else "more work"
            text += f"{culprit}, which {'has' if len(culprits) == 1 else 'have'} {work}: {until} waits for all"
            culprit += f", {longer}" if longer else ""
        else:
            text += f"the last one for which {until} waits, a different thread each time"
        ns = _of_processor(facts, waits, culprits)
        yield _finding(facts, "thread_imbalance", waits, path, text=text, culprit=culprit, processor_ns=ns)
