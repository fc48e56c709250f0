# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads: barriers, OpenMP's serial parts, threads that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.findings.culprits import BARRIERS, by_region, culprits_of, culprits_text, several_culprits
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import ESTIMATE, EXACT, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.late_partners import sleep_of_partners
from vtrace.analysis.findings.lock_waits import has_sites
from vtrace.analysis.findings.run_facts import CONSTRUCTS, OUTSIDE, TASKS, RunFacts, is_body, locations_text, ranks_text
from vtrace.analysis.findings.sleeping_calls import SleepingCall
from vtrace.analysis.findings.thread_waits import EARLY_END, IDLE, KINDS, THREAD_BARRIER
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up

_MUCH, _LONG = 0.1, 0.3
"""Idle threads are told with at least this part of the time of the one that is idle longest, processes whose threads
are idle meanwhile with the second part of the longest."""
_UNEVEN, _CLEARLY = 0.1, 1.5
"""A function explains waits in barriers if its times differ by this share of them, and without a culprit so many times
more than those of any other function."""


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
    threads that wait. Without culprits the function whose times differ most between threads, or that only some thread
    calls before each barrier. "": unknown."""
    construct = _construct(facts, waits, path)
    regions = facts.paths["region"]
    within = (
        outermost(facts.paths["parent"], regions == construct) > 0 if construct >= 0 else facts.paths["region"] >= 0
    )
    threads = np.union1d(waits["location"], waits["partner"][waits["partner"] >= 0])
    n = facts.numbers.take(
        (within & facts.working)[facts.numbers["path"]] & np.isin(facts.numbers["location"], threads)
    )
    times, calls = np.zeros((2, facts.trace.regions.rows, len(threads)), np.int64)
    at = regions[n["path"]], np.searchsorted(threads, n["location"])
    np.add.at(times, at, n["exclusive"])
    np.add.at(calls, at, n["calls"])
    here = np.isin(threads, culprits)
    if culprits and not here.all():
        more = times[:, here].mean(axis=1) - times[:, ~here].mean(axis=1)
    else:
        barrier = facts.numbers.take(regions[facts.numbers["path"]] == int(waits.paths["region"][path]))
        count, whole = calls.sum(axis=1), times.sum(axis=1)
        met = np.clip(count, 1, max(1, barrier["calls"].max(initial=1)))  # barriers before which it is called
        in_turns = whole * np.maximum(0, len(threads) * met / np.maximum(1, count) - 1)
        more = np.maximum((times.max(axis=1, keepdims=True) - times).sum(axis=1), in_turns) / len(threads)
    region = int(np.argmax(more))
    least = _UNEVEN * int(waits["time_ns"].sum()) / len(threads)
    if more[region] < max(least, 0 if culprits else _CLEARLY * float(np.sort(more)[-2:][0])):
        region = construct
    mine = n.take((regions[n["path"]] == region) & (np.isin(n["location"], culprits) if culprits else n["path"] >= 0))
    others = np.setdiff1d(threads, culprits).tolist() if culprits else []
    if not mine.rows:
        if slept := sleep_of_partners(facts, waits, path):
            return slept.text
        place = facts.function_at(0, culprits, others)[0] if construct < 0 and others else OUTSIDE
        return place if place != OUTSIDE else ""
    row = int(mine["path"][np.argmax(mine["exclusive"])])
    hidden = is_body(facts.trace, facts.paths, row)
    if hidden and (slept := sleep_of_partners(facts, waits, path) or _sleep_in_tasks(facts, threads)):
        return slept.text
    same = within & (regions == region)  # the first thread has more functions around it
    if others and (slept := facts.inner_sleep(facts.paths, row, culprits, others, inside=same)):
        return slept.text
    if facts.sampled and (sampled := facts.sampled.longer(facts.names(row), culprits or threads.tolist(), others)):
        return sampled.text
    if region != construct:
        return facts.call_text(facts.paths, row)
    asleep = facts.longer_sleep(within & (regions == construct), culprits, others) if others else None
    asleep = asleep or sleep_of_partners(facts, waits, path)
    return asleep.text if asleep else ""


def _sleep_in_tasks(facts: RunFacts, threads: Array) -> SleepingCall | None:
    """The call in which threads sleep for most of their tasks."""
    is_task = np.append(np.isin(facts.trace.regions["role"].astype(str), TASKS), False)
    inside = outermost(facts.paths["parent"], is_task[facts.paths["region"]]) > 0
    return facts.longer_sleep(inside, threads.tolist(), [])


def _barrier_text(facts: RunFacts, paths: Table, path: int) -> str:
    """The place of a barrier: at the end of a worksharing construct or of a parallel region, or in the barrier."""
    role, above = str(facts.trace.regions["role"][int(paths["region"][path])]), int(paths["parent"][path])
    ends = str(facts.trace.regions["role"][int(paths["region"][above])]) if above > 0 else ""
    if role == "IMPLICIT_BARRIER" and ends in CONSTRUCTS:
        return f"at the end of {facts.call_text(paths, above)}"
    return f"in {facts.call_text(paths, path)}"


@rule(
    FindingKind(
        "omp_imbalance",
        "waits in barriers of OpenMP ([waits of threads](#waits-of-threads))",
        about=("openmp",),
        action="distribute this work more evenly, in a loop by a smaller chunk or schedule(dynamic)",
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
    for waits, path, _ in by_region(diagnosis.thread_waits, *BARRIERS):
        culprits = culprits_of(facts, waits) or several_culprits(facts, waits)
        behind = int(waits["locks_ns"].sum())
        loss = span(int(waits["time_ns"].sum()) - behind)
        longer = _longer_text(facts, waits, path, culprits)
        work = f" in {longer}" * bool(longer)
        culprit, where = culprits_text(facts.trace, culprits), _barrier_text(facts, waits.paths, path)
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
        "omp_serial",
        "OpenMP threads without work outside of parallel regions",
        about=("openmp",),
        action="put this work into parallel regions, too",
    )
)
def idle_threads(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for all idle threads, with the serial call path that lasts longest, and the processes in which it
    does, if not in all. Waits in MPI are no such work."""
    facts, waits = diagnosis.facts, diagnosis.thread_waits
    in_mpi = facts.waits_in_mpi[waits.paths["region"][waits["path"]]]
    waits = waits.take((waits["kind"] == IDLE) & ~in_mpi)
    if not waits.rows:
        return
    path = int(np.argmax(add_up(waits["path"], waits["time_ns"], waits.paths.rows)))
    place = facts.call_text(waits.paths, path)
    serial, names = np.unique(waits["partner"][waits["path"] == path]).tolist(), facts.names(path, waits.paths)
    asleep = facts.inner_sleep(waits.paths, path, serial, [])
    sampled = facts.sampled.longer(names, serial, []) if facts.sampled and not asleep else None
    place = asleep.text if asleep else sampled.text if sampled else place
    idle, loss = add_up(waits["location"], waits["time_ns"], facts.trace.locations.rows), span(waits["time_ns"].sum())
    locations = np.flatnonzero(idle >= _MUCH * idle.max()).tolist()
    at_path = waits.take(waits["path"] == path)
    serial_ns = add_up(at_path["partner"], at_path["time_ns"], facts.trace.locations.rows)
    longest = np.flatnonzero(serial_ns >= _LONG * serial_ns.max()).tolist()
    who = ranks_text(facts.trace, longest) if len(longest) < len(facts.masters) else ""
    text = (
        f"{locations_text(facts.trace, locations)} {'are' if len(locations) > 1 else 'is'} idle for {loss} outside of "
        f"parallel regions, most of it while {place} runs on one thread" + f" of {who}" * bool(who)
    )
    yield _finding(facts, "omp_serial", waits, path, text=text, culprit=f"{who}, {place}" if who else "")


def _functions(facts: RunFacts) -> Array:
    """(locations,) the region of the outermost function of the program in which a location spends most time; -1: not
    recorded."""
    n = facts.numbers.take(((facts.paths["parent"] == 0) & (CLASS_OF[facts.activity] == USER))[facts.numbers["path"]])
    found = np.full(facts.trace.locations.rows, -1)
    order = np.argsort(n["inclusive"], kind="stable")
    found[n["location"][order]] = facts.paths["region"][n["path"][order]]
    return found


@rule()
def early_ends(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Threads that end before others with which they are joined. Threads that run another function do other work."""
    facts, known = diagnosis.facts, diagnosis.thread_waits
    runs = _functions(facts)
    own, theirs = runs[known["location"]], np.append(runs, -1)[known["partner"]]
    same = (own == theirs) | (own < 0) | (theirs < 0)
    known = known.take(same & (known["kind"] == EARLY_END))
    worked = Table({**known, "time_ns": known["time_ns"] - known["locks_ns"]}, **known.notes)
    for waits, path, loss in by_region(worked.take(worked["time_ns"] > 0), EARLY_END):
        culprits, early = culprits_of(facts, waits), sorted({*waits["location"].tolist()})
        culprit, until = culprits_text(facts.trace, culprits), facts.call_text(waits.paths, path)
        several, slept = len(early) > 1, sleep_of_partners(facts, waits, path)
        lead = f"{'together ' * several}{loss} before "
        who, processes = locations_text(facts.trace, early), facts.trace.places.process[early]
        who = f"threads of {who}" if len({*processes.tolist()}) > 1 else who
        text = f"{who} end{'s' * (not several)} early, {lead}"
        if culprits:
            others = [row for row in early if row not in culprits]
            longer = facts.longer_place(culprits, others) if others else ""  # later threads may have the location, too
            longer = longer or (slept.text if slept else "")
            work = f"more work in {longer}" if longer else "more work"
            text += f"{culprit}, which {'has' if len(culprits) == 1 else 'have'} {work}: {until} waits for all"
            culprit += f", {longer}" if longer else ""
        else:
            text += f"the last one for which {until} waits, a different thread each time"
            text += f", in {slept.text}" if slept else ""
        certainty = ESTIMATE if waits["locks_ns"].any() and not has_sites(facts.trace) else EXACT
        yield _finding(facts, "thread_imbalance", waits, path, text=text, culprit=culprit, certainty=certainty)
