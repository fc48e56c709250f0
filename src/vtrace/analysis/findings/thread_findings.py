# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads: barriers, OpenMP's serial parts, critical regions and locks, threads that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, location_text, locations_text, place_text
from vtrace.analysis.findings.thread_waits import (
    API,
    CRITICAL,
    EARLY_END,
    EXPLICIT,
    IDLE,
    IMPLICIT,
    KINDS,
    MUTEX,
    THREAD_BARRIER,
)
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Table, add_up, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CONSTRUCTS = ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")
_MOST_OF, _SOME = 0.6, 0.02
"""A thread with at least this share of a loss is its culprit; the least share of one of several culprits."""


def _by_region(waits: Table, *kinds: int) -> Iterator[tuple[Table, int, str]]:
    """The waits of some kinds in each region, the path with the most time, and the time in words."""
    waits = waits.take(np.isin(waits["kind"], kinds))
    first, member = group([waits.paths["region"][waits["path"]]])
    for number in range(len(first)):
        mine = waits.take(member == number)
        yield mine, int(mine["path"][np.argmax(mine["time_ns"])]), span(int(mine["time_ns"].sum()))


def _culprits(facts: RunFacts, waits: Table) -> list[int]:
    """The partner that most time is waited for. If no partner is, the partner of each process for which most time of
    this process is waited, if most time of all is waited for these partners together."""
    first, member = group([waits["partner"]])
    by, sums = waits["partner"][first], add_up(member, waits["time_ns"], len(first))
    process = facts.trace.places.process[by]
    whole, best = int(sums.sum()), int(np.argmax(sums))
    if sums[best] >= _MOST_OF * whole:
        return [int(by[best])] if by[best] >= 0 else []
    found = {}
    for number in np.unique(process[by >= 0]).tolist():
        mine = np.flatnonzero((process == number) & (by >= 0))
        most = int(mine[np.argmax(sums[mine])])
        if sums[most] >= max(_MOST_OF * int(sums[mine].sum()), _SOME * whole):
            found[int(by[most])] = int(sums[most])
    return [*found] if sum(found.values()) >= _MOST_OF * whole else []


def _culprits_text(trace: Source, locations: list[int]) -> str:
    """Locations of different processes in a sentence."""
    if len(locations) < 2:
        return location_text(trace, locations[0]) if locations else ""
    names = {*trace.locations["name"][locations].tolist()}
    return f"{names.pop() if len(names) == 1 else 'one thread each'} of {locations_text(trace, locations)}"


def _finding(facts: RunFacts, kind: str, waits: Table, path: int, **values: Any) -> Finding:
    """A finding about all of these waits."""
    about = "openmp" if KINDS[waits["kind"][0]].startswith("omp_") else "waits"
    return facts.finding(
        kind, int(waits["time_ns"].sum()), path, waits.paths, locations=waits["location"],
        processor_ns=int(waits["processor_ns"].sum()), evidence=("diagnose", "--about", about), **values,
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
    for waits, path, loss in _by_region(diagnosis.thread_waits, EXPLICIT, IMPLICIT, THREAD_BARRIER):
        culprits = _culprits(facts, waits)
        culprit, where = _culprits_text(facts.trace, culprits), _barrier_text(facts, waits.paths, path)
        if culprits:
            reason = f"most of it for {culprit}, which {'has' if len(culprits) == 1 else 'have'} more work"
        else:
            reason = "the work is uneven, for a different thread each time"
        kind = "thread_imbalance" if waits["kind"][0] == THREAD_BARRIER else "omp_imbalance"
        text = f"threads wait {loss} {where}: {reason}"
        yield _finding(facts, kind, waits, path, text=text, culprit=culprit)


@rule(
    FindingKind(
        "lock",
        "waits for locks and critical regions ([waits of threads](#waits-of-threads))",
        about=("waits", "openmp"),
        action="hold the lock for a shorter time, or use several locks",
    )
)
def locks(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for locks, by region."""
    facts = diagnosis.facts
    for waits, path, loss in _by_region(diagnosis.thread_waits, CRITICAL, API, MUTEX):
        count = int(waits["count"].sum())
        locations = sorted({*waits["location"].tolist()})
        text = (
            f"{locations_text(facts.trace, locations)} wait{'s' * (len(locations) == 1)} {loss} for the lock "
            f"of {place_text(facts.trace, waits.paths, path)}, {'once' if count == 1 else f'{count:,} times'}"
        )
        culprit = _culprits_text(facts.trace, _culprits(facts, waits))
        yield _finding(facts, "lock", waits, path, text=text, culprit=culprit)


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
    for waits, path, loss in _by_region(diagnosis.thread_waits, EARLY_END):
        culprits, early = _culprits(facts, waits), sorted({*waits["location"].tolist()})
        culprit, until = _culprits_text(facts.trace, culprits), place_text(facts.trace, waits.paths, path)
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
        yield _finding(facts, "thread_imbalance", waits, path, text=text, culprit=culprit)
