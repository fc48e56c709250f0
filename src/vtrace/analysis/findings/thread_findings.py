# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads: barriers, OpenMP's serial parts, critical regions and locks, threads that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.finding import Finding
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

_BARRIERS, _LOCKS = (EXPLICIT, IMPLICIT, THREAD_BARRIER), (CRITICAL, API, MUTEX)
_CONSTRUCTS = ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")
_MOST_OF, _SOME = 0.6, 0.02
"""A thread with at least this share of a loss is its culprit; the least share of one of several culprits."""


def thread_findings(facts: RunFacts, waits: Table) -> Iterator[Finding]:
    """Findings of any size. waits: from Trace.thread_waits."""
    kind = waits["kind"]
    for kinds in (_BARRIERS, _LOCKS):
        mine = waits.take(np.isin(kind, kinds))
        for path, rows in _by_region(facts, mine):
            yield (_barrier if kinds is _BARRIERS else _lock)(facts, mine, path, rows)
    yield from _idle(facts, waits.take(kind == IDLE))
    yield from _early_ends(facts, waits.take(kind == EARLY_END))


def _by_region(facts: RunFacts, waits: Table) -> Iterator[tuple[int, Array]]:
    """The waits of each region: the path with the most time, and the rows."""
    regions = waits.paths["region"][waits["path"]]
    first, member = group([regions])
    for number in range(len(first)):
        rows = np.flatnonzero(member == number)
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
        "evidence": ("diagnose", "--about", "openmp" if kind in OPENMP_KINDS else "waits"),
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


def _barrier(facts: RunFacts, waits: Table, path: int, rows: Array) -> Finding:
    base = _base(facts, waits, path, rows)
    culprits = _culprits(facts, waits, rows)
    culprit, where = _names(facts.trace, culprits), _construct(facts, waits.paths, path)
    loss = span(int(waits["time_ns"][rows].sum()))
    if culprits:
        has = "has" if len(culprits) == 1 else "have"
        text = f"threads wait {loss} {where}: most of it for {culprit}, which {has} more work"
    else:
        text = f"threads wait {loss} {where}: the work is uneven, for a different thread each time"
    kind = "thread_imbalance" if waits["kind"][rows[0]] == THREAD_BARRIER else "omp_imbalance"
    return Finding(kind=kind, text=text, culprit=culprit, **base)


def _lock(facts: RunFacts, waits: Table, path: int, rows: Array) -> Finding:
    base = _base(facts, waits, path, rows)
    count = int(waits["count"][rows].sum())
    locations = sorted({*waits["location"][rows].tolist()})
    text = (
        f"{who_all(facts.trace, locations)} wait{'s' * (len(locations) == 1)} "
        f"{span(int(waits['time_ns'][rows].sum()))} for the lock of {place_text(facts.trace, waits.paths, path)}, "
        f"{'once' if count == 1 else f'{count:,} times'}"
    )
    culprit = _names(facts.trace, _culprits(facts, waits, rows))
    return Finding(kind="lock", text=text, culprit=culprit, **base)


def _idle(facts: RunFacts, waits: Table) -> Iterator[Finding]:
    """One finding for all idle threads, with the serial call path that lasts longest."""
    if not waits.rows:
        return
    rows = np.arange(waits.rows)
    sums = add_up(waits["path"], waits["time_ns"], waits.paths.rows)
    path = int(np.argmax(sums))
    base = _base(facts, waits, path, rows)
    locations = sorted({*waits["location"].tolist()})
    text = (
        f"{who_all(facts.trace, locations)} {'are' if len(locations) > 1 else 'is'} idle for "
        f"{span(int(waits['time_ns'].sum()))} outside of parallel regions, most of it while "
        f"{place_text(facts.trace, waits.paths, path)} runs on one thread"
    )
    yield Finding(kind="omp_serial", text=text, **base)


def _early_ends(facts: RunFacts, waits: Table) -> Iterator[Finding]:
    """Threads that end before others with which they are joined."""
    for path, rows in _by_region(facts, waits):
        base = _base(facts, waits, path, rows)
        culprits, early = _culprits(facts, waits, rows), sorted({*waits["location"][rows].tolist()})
        culprit, until = _names(facts.trace, culprits), place_text(facts.trace, waits.paths, path)
        several = len(early) > 1
        lead = f"{'together ' * several}{span(int(base['loss_ns']))} before "
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


OPENMP_KINDS = tuple(kind for kind in KINDS if kind.startswith("omp_"))
"""The kinds of waits in OpenMP."""
