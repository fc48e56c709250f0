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
    CONDITION,
    CRITICAL,
    EARLY_END,
    EXPLICIT,
    IDLE,
    IMPLICIT,
    KINDS,
    MUTEX,
    THREAD_BARRIER,
)
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Table, add_up, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CONSTRUCTS = ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")
_MOST_OF, _SOME = 0.6, 0.02
"""A thread with at least this share of a loss is its culprit; the least share of one of several culprits."""
_UNEVEN, _CLEARLY, _ONLY = 0.1, 1.5, 0.98
"""A function explains waits in barriers if its times differ by this share of them, and without a culprit so many times
more than those of any other function. A thread that waits for conditions
for this share of its time does nothing else."""
_BARRIERS, _OF_LOCKS = (EXPLICIT, IMPLICIT, THREAD_BARRIER), (CRITICAL, API, MUTEX)


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


def _finding(facts: RunFacts, kind: str, waits: Table, path: int, *, more: int = 0, **values: Any) -> Finding:
    """A finding about all of these waits. more: ns of other waits that belong to the loss, or minus a part of these."""
    about = "openmp" if KINDS[waits["kind"][0]].startswith("omp_") else "waits"
    loss, waited = int(waits["time_ns"].sum()) + more, int(waits["processor_ns"].sum())
    return facts.finding(
        kind, loss, path, waits.paths, locations=waits["location"], processor_ns=min(loss, waited),
        evidence=("diagnose", "--about", about), **values,
    )  # fmt: skip


def _construct(facts: RunFacts, waits: Table, path: int) -> int:
    """The region (row) whose end a barrier is, or that calls the barrier; -1: none."""
    above = int(waits.paths["parent"][path])
    return int(waits.paths["region"][above]) if above > 0 else -1


def _longer_text(facts: RunFacts, waits: Table, path: int, culprits: list[int]) -> str:
    """The function below the construct of a barrier (the path of the waits) in which the culprits take longer than the
    threads that wait. Without culprits the function whose times differ most between threads. "": unknown."""
    construct = _construct(facts, waits, path)
    regions = facts.paths["region"]
    within = (
        outermost(facts.paths["parent"], regions == construct) > 0 if construct >= 0 else facts.paths["region"] >= 0
    )
    threads = np.union1d(waits["location"], waits["partner"][waits["partner"] >= 0])
    n = facts.numbers.take(
        (within & facts.working)[facts.numbers["path"]] & np.isin(facts.numbers["location"], threads)
    )
    times = np.zeros((facts.trace.regions.rows, len(threads)), np.int64)
    np.add.at(times, (regions[n["path"]], np.searchsorted(threads, n["location"])), n["exclusive"])
    here = np.isin(threads, culprits)
    if culprits and not here.all():
        more = times[:, here].mean(axis=1) - times[:, ~here].mean(axis=1)
    else:
        more = (times.max(axis=1, keepdims=True) - times).sum(axis=1) / len(threads)
    region = int(np.argmax(more))
    least = _UNEVEN * int(waits["time_ns"].sum()) / len(threads)
    if more[region] < max(least, 0 if culprits else _CLEARLY * float(np.sort(more)[-2:][0])):
        region = construct
    mine = n.take((regions[n["path"]] == region) & (np.isin(n["location"], culprits) if culprits else n["path"] >= 0))
    if not mine.rows:
        return ""
    row = mine["path"][np.argmax(mine["exclusive"])]
    others = np.setdiff1d(threads, culprits).tolist() if culprits else []
    if facts.sampled and (sampled := facts.sampled.longer(facts.names(int(row)), culprits or threads.tolist(), others)):
        return sampled.text
    return "" if region == construct else place_text(facts.trace, facts.paths, int(row))


def _behind_locks(waits: Table, barriers: Table, path: int, culprits: list[int]) -> tuple[int, Table]:
    """The ns that threads wait in barriers since others waited for locks before, and these waits for locks, in the same
    construct: with culprits as much as they waited longer for locks. path: of the barriers."""
    regions, above = waits.paths["region"], int(waits.paths["parent"][path])
    inside = outermost(waits.paths["parent"], regions == regions[above]) > 0 if above > 0 else regions >= 0
    locks = waits.take(np.isin(waits["kind"], _OF_LOCKS) & inside[waits["path"]])
    count = 1 + max([0, *locks["location"].tolist(), *barriers["location"].tolist(), *culprits])
    held, waited = (add_up(each["location"], each["time_ns"], count) for each in (locks, barriers))
    if not culprits:
        return min(int(held.sum()), int(waited.sum())), locks
    return int(np.minimum(waited, np.maximum(0, held[culprits].max() - held)).sum()), locks


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
    for waits, path, _ in _by_region(diagnosis.thread_waits, *_BARRIERS):
        culprits = _culprits(facts, waits)
        behind, _ = _behind_locks(diagnosis.thread_waits, waits, path, culprits)
        loss = span(int(waits["time_ns"].sum()) - behind)
        longer = _longer_text(facts, waits, path, culprits)
        work = f" in {longer}" * bool(longer)
        culprit, where = _culprits_text(facts.trace, culprits), _barrier_text(facts, waits.paths, path)
        if culprits:
            reason = f"most of it for {culprit}, which {'has' if len(culprits) == 1 else 'have'} more work{work}"
            culprit += f", {longer}" * bool(longer)
        else:
            reason = f"the work{work} is uneven, for a different thread each time"
        kind = "thread_imbalance" if waits["kind"][0] == THREAD_BARRIER else "omp_imbalance"
        text = f"threads wait {loss} {where}: {reason}"
        yield _finding(facts, kind, waits, path, more=-behind, text=text, culprit=culprit)


@rule(
    FindingKind(
        "lock",
        "waits for locks and critical regions ([waits of threads](#waits-of-threads)), and in barriers for threads "
        "that waited for them",
        about=("waits", "openmp"),
        action="hold the lock for a shorter time, or use several locks",
    )
)
def locks(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for locks, by region, with those in barriers for threads that waited for the locks."""
    facts, behind = diagnosis.facts, np.zeros(diagnosis.facts.trace.regions.rows)
    for barriers, path, _ in _by_region(diagnosis.thread_waits, *_BARRIERS):
        ns, locks = _behind_locks(diagnosis.thread_waits, barriers, path, _culprits(facts, barriers))
        regions = locks.paths["region"][locks["path"]]
        np.add.at(behind, regions, ns * locks["time_ns"] / max(1, int(locks["time_ns"].sum())))
    for waits, path, loss in _by_region(diagnosis.thread_waits, *_OF_LOCKS):
        more = round(behind[int(waits.paths["region"][path])])
        count = int(waits["count"].sum())
        locations = sorted({*waits["location"].tolist()})
        text = (
            f"{locations_text(facts.trace, locations)} wait{'s' * (len(locations) == 1)} {loss} for the lock "
            f"of {place_text(facts.trace, waits.paths, path)}, {'once' if count == 1 else f'{count:,} times'}"
        )
        text += f", and {span(more)} in barriers for each other" * (more > 0)
        culprit = _culprits_text(facts.trace, _culprits(facts, waits))
        yield _finding(facts, "lock", waits, path, more=more, text=text, culprit=culprit)


@rule(
    FindingKind(
        "starved_threads",
        "waits for a condition, of threads but a process's first one (with `VT_PTHREAD=locks`)",
        about=("waits",),
        action="give the threads work earlier, or use fewer of them",
    )
)
def conditions(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for conditions, by call path. A process's first thread often waits for the result of others, and a thread
    that only waits serves rare events: neither loses time."""
    facts, waits = diagnosis.facts, diagnosis.thread_waits
    waits = waits.take((waits["kind"] == CONDITION) & ~np.isin(waits["location"], [*facts.masters.values()]))
    waited = add_up(waits["location"], waits["time_ns"], facts.trace.locations.rows)
    waits = waits.take((waited < _ONLY * facts.times.sum(axis=1))[waits["location"]])
    for mine, path, loss in _by_region(waits, CONDITION):
        locations = sorted({*mine["location"].tolist()})
        text = (
            f"{locations_text(facts.trace, locations)} wait{'s' * (len(locations) == 1)} {loss} in "
            f"{place_text(facts.trace, waits.paths, path)} for work or a signal from others"
        )
        yield _finding(facts, "starved_threads", mine, path, text=text)


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
    place = place_text(facts.trace, waits.paths, path)
    if facts.sampled:
        serial = np.unique(waits["partner"][waits["path"] == path]).tolist()
        sampled = facts.sampled.longer(facts.names(path, waits.paths), serial, [])
        place = sampled.text if sampled else place
    locations, loss = sorted({*waits["location"].tolist()}), span(int(waits["time_ns"].sum()))
    text = (
        f"{locations_text(facts.trace, locations)} {'are' if len(locations) > 1 else 'is'} idle for {loss} outside of "
        f"parallel regions, most of it while {place} runs on one thread"
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
