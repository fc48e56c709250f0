# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads: barriers, OpenMP's serial parts, critical regions and locks, threads that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, place_text, who, who_all
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
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CONSTRUCTS = ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")
_MOST_OF, _SOME = 0.6, 0.02
"""A thread with at least this share of a loss is its culprit; the least share of one of several culprits."""


def _by_region(waits: Table, *kinds: int) -> Iterator[tuple[int, Array]]:
    """The waits of some kinds in each region: the path with the most time, and the rows."""
    mine = np.flatnonzero(np.isin(waits["kind"], kinds))
    first, member = group([waits.paths["region"][waits["path"][mine]]])
    for number in range(len(first)):
        rows = mine[member == number]
        yield int(waits["path"][rows[np.argmax(waits["time_ns"][rows])]]), rows


def _culprits(facts: RunFacts, waits: Table, rows: Array) -> list[int]:
    """The partner that most time is waited for. If no partner is, the partner of each process for which most time of
    this process is waited, if most time of all is waited for these partners together."""
    partner, time = waits["partner"][rows], waits["time_ns"][rows]
    first, member = group([partner])
    by, sums = partner[first], add_up(member, time, len(first))
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


def _names(trace: Source, locations: list[int]) -> str:
    """Locations of different processes in a sentence."""
    if len(locations) < 2:
        return who(trace, locations[0]) if locations else ""
    names = {*trace.locations["name"][locations].tolist()}
    return f"{names.pop() if len(names) == 1 else 'one thread each'} of {who_all(trace, locations)}"


def _base(facts: RunFacts, waits: Table, path: int, rows: Array) -> dict[str, Any]:
    trace = facts.trace
    loss, kind = int(waits["time_ns"][rows].sum()), KINDS[waits["kind"][rows[0]]]
    return {
        "loss_ns": loss, "share": loss / facts.whole,
        "evidence": ("diagnose", "--about", "openmp" if kind.startswith("omp_") else "waits"),
        "callpath": tuple(path_names(waits.paths, trace.regions["name"], path)),
        "region": facts.region_name(waits.paths, path), "source": facts.region_source(waits.paths, path),
        "ranks": facts.ranks_of(waits["location"][rows]), "start": facts.window.start, "stop": facts.window.stop,
    }  # fmt: skip


def _construct(facts: RunFacts, paths: Table, path: int) -> str:
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
def barriers(found: Diagnosis) -> Iterator[Finding]:
    """Waits in barriers, by region."""
    facts, waits = found.facts, found.thread_waits
    for path, rows in _by_region(waits, EXPLICIT, IMPLICIT, THREAD_BARRIER):
        base = _base(facts, waits, path, rows)
        culprits = _culprits(facts, waits, rows)
        culprit, where = _names(facts.trace, culprits), _construct(facts, waits.paths, path)
        if culprits:
            reason = f"most of it for {culprit}, which {'has' if len(culprits) == 1 else 'have'} more work"
        else:
            reason = "the work is uneven, for a different thread each time"
        kind = "thread_imbalance" if waits["kind"][rows[0]] == THREAD_BARRIER else "omp_imbalance"
        text = f"threads wait {span(base['loss_ns'])} {where}: {reason}"
        yield Finding(kind=kind, text=text, culprit=culprit, **base)


@rule(
    FindingKind(
        "lock",
        "waits for locks and critical regions ([waits of threads](#waits-of-threads))",
        about=("waits", "openmp"),
        action="hold the lock for a shorter time, or use several locks",
    )
)
def locks(found: Diagnosis) -> Iterator[Finding]:
    """Waits for locks, by region."""
    facts, waits = found.facts, found.thread_waits
    for path, rows in _by_region(waits, CRITICAL, API, MUTEX):
        base = _base(facts, waits, path, rows)
        count = int(waits["count"][rows].sum())
        locations = sorted({*waits["location"][rows].tolist()})
        text = (
            f"{who_all(facts.trace, locations)} wait{'s' * (len(locations) == 1)} {span(base['loss_ns'])} for the lock "
            f"of {place_text(facts.trace, waits.paths, path)}, {'once' if count == 1 else f'{count:,} times'}"
        )
        culprit = _names(facts.trace, _culprits(facts, waits, rows))
        yield Finding(kind="lock", text=text, culprit=culprit, **base)


@rule(
    FindingKind(
        "omp_serial",
        "OpenMP threads without work outside of parallel regions",
        about=("openmp",),
        action="put this work into parallel regions, too",
    )
)
def idle_threads(found: Diagnosis) -> Iterator[Finding]:
    """One finding for all idle threads, with the serial call path that lasts longest."""
    facts, waits = found.facts, found.thread_waits.take(found.thread_waits["kind"] == IDLE)
    if not waits.rows:
        return
    path = int(np.argmax(add_up(waits["path"], waits["time_ns"], waits.paths.rows)))
    base = _base(facts, waits, path, np.arange(waits.rows))
    locations = sorted({*waits["location"].tolist()})
    text = (
        f"{who_all(facts.trace, locations)} {'are' if len(locations) > 1 else 'is'} idle for {span(base['loss_ns'])} "
        f"outside of parallel regions, most of it while {place_text(facts.trace, waits.paths, path)} runs on one thread"
    )
    yield Finding(kind="omp_serial", text=text, **base)


@rule()
def early_ends(found: Diagnosis) -> Iterator[Finding]:
    """Threads that end before others with which they are joined."""
    facts, waits = found.facts, found.thread_waits
    for path, rows in _by_region(waits, EARLY_END):
        base = _base(facts, waits, path, rows)
        culprits, early = _culprits(facts, waits, rows), sorted({*waits["location"][rows].tolist()})
        culprit, until = _names(facts.trace, culprits), place_text(facts.trace, waits.paths, path)
        several = len(early) > 1
        lead = f"{'together ' * several}{span(base['loss_ns'])} before "
        text = f"{who_all(facts.trace, early)} end{'s' * (not several)} early, {lead}"
        if culprits:
            others = [row for row in early if row not in culprits]
            longer = facts.longer_place(culprits, others) if others else ""
            work = f"more work in {longer}" if longer else "more work"
            text += f"{culprit}, which {'has' if len(culprits) == 1 else 'have'} {work}: {until} waits for all"
            culprit += f", {longer}" if longer else ""
        else:
            text += f"the last one for which {until} waits, a different thread each time"
        yield Finding(kind="thread_imbalance", text=text, culprit=culprit, **base)
