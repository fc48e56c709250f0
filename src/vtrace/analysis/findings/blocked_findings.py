# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads that sleep outside of recorded waits and I/O while nothing else of the program runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.run_notes import UNKNOWN_CALL
from vtrace.analysis.findings.sleeping_calls import SleepingCall, is_event_loop, sleeping_call
from vtrace.analysis.processor_waits import BlockedTimes
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array

_WAITS = 0.9
"""A thread waits for another one if it sleeps in recorded waits for this share of the time."""
_MOST_THREADS = 256
"""With more threads the rule is not worth its time: rarely do all of them wait for one."""
_MOST_OTHERS = 8
"""Threads that are asked, without the first ones of processes."""
_MOST = 3
_NEARLY_ALL = 0.9


@dataclass
class _Sleep:
    """The sleep of threads in one call, or in a call path if the call is unknown. slept: ns, and by the caller of the
    function that calls; lost: ns of all that wait."""

    call: SleepingCall | None
    path: int
    rows: set[int]
    slept: float = 0.0
    lost: float = 0.0
    callers: Counter[str] = field(default_factory=Counter)

    @property
    def place(self) -> str:
        """The call in a sentence, with the caller of nearly all of the sleep; "" if the call is unknown."""
        caller = max(self.callers, key=self.callers.__getitem__, default="")
        around = f" in {caller}" if caller and self.callers[caller] >= _NEARLY_ALL * self.slept else ""
        return f"{self.call}{around}" if self.call else ""


@rule(
    FindingKind(
        "blocked",
        "a thread sleeps in a call that is no wait for another thread and no recorded I/O, while all other threads "
        "wait or are not there; without MPI, or where waits in MPI are unknown",
        about=("waits", "processor"),
        action="let this call wait less, or work meanwhile",
        explained_by=(
            "omp_serial", "omp_imbalance", "omp_ordered", "thread_imbalance", "lock", "condition", "imbalance",
            "serialisation", "io_time", "io_by_few_ranks", "device_wait",
        ),
    )
)  # fmt: skip
def blocked(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The calls with the longest such sleep, of threads other than a process's first one if the call is known. In a run
    of MPI the findings about its waits tell who is late. Processes without records may run meanwhile."""
    facts = diagnosis.facts
    if diagnosis.mpi or facts.unrecorded or len(facts.rows) > _MOST_THREADS:
        return
    sums: dict[tuple[int, str, int], _Sleep] = {}
    asleep, is_started = facts.blocked, _is_started(facts)
    ns = asleep.within(facts.window.start, facts.window.stop)
    for row, sleeps, waits in _candidates(facts, ns):
        mine = np.flatnonzero((asleep.location == row) & sleeps & (ns > 0))
        if not len(mine):
            continue
        parts, threads = _waiting(facts, row, asleep.begin[mine], asleep.end[mine], waits=waits)
        parts[(parts < 1) & facts.asleep_until_time[mine]] = 0  # others that do not run for moments do not wait for it
        parts[((parts < 1) | (threads == 0)) & _may_be_for_child(facts)[mine]] = 0
        if row not in facts.masters.values():
            parts[threads < _WAITS] = 0  # the first thread may end the process without a further record
        for at, part, others in zip(mine.tolist(), parts.tolist(), threads.tolist(), strict=True):
            if part > 0:
                path, call = max(0, int(facts.path_of_blocked[at])), sleeping_call(asleep.sites[at])
                if is_started[row] and not path and (call is None or call.is_of_start):
                    continue
                one = sums.setdefault((row, str(call), -1 if call else path), _Sleep(call, path, {row}))
                one.slept += part * ns[at]
                one.lost += part * ns[at] * max(1, others)
                one.callers[call.caller if call else ""] += part * ns[at]
    for one in sorted(_by_place(sums.values()), key=lambda one: -one.lost)[:_MOST]:
        yield _finding(facts, one)


def _by_place(found: Iterable[_Sleep]) -> list[_Sleep]:
    """The sleep of all threads in a known call as one."""
    places: dict[str | int, _Sleep] = {}
    for one in found:
        same = places.setdefault(one.place or id(one), one)
        if same is not one:
            same.rows |= one.rows
            same.slept, same.lost = same.slept + one.slept, same.lost + one.lost
            same.callers += one.callers
    return [*places.values()]


def _candidates(facts: RunFacts, ns: Array) -> Iterator[tuple[int, Array, Array]]:
    """The threads that others may wait for, each with its sleep that counts and the sleep in which others wait
    ((times,) bool). ns: (times,) of sleep. A wait that may be for a time only does not show that a thread is waited
    for. It is itself such a sleep of a first thread if all others wait for threads. A thread that waits for a
    socket waits for one that sleeps otherwise; pipes are those of pipelines and pools, whose stages may differ."""
    work, alarm = facts.asleep_at_work, facts.asleep_until_time
    sleeps = work & ~facts.blocked.is_for_process & ~_in_event_loop(facts)
    for_answer = facts.blocked.is_for_answer
    waits = ~work & ~(facts.asleep_for_child & facts.starts_unrecorded[facts.blocked.location])
    for row in facts.masters.values():
        yield row, sleeps & ~for_answer, waits | for_answer
        yield row, sleeps & for_answer, waits
        yield row, alarm, facts.asleep_for_thread & ~alarm
    for row in _sleepers(facts, ns * sleeps):
        yield row, sleeps, waits & ~alarm


def _is_started(facts: RunFacts) -> Array:
    """(locations,) bool: another process of the run has started the thread's process. If nothing tells in which
    function of a program without names such a process sleeps, the sleep may be its task: the command sleep."""
    creators = np.append(facts.trace.groups["creator"], -1)
    started: Array = creators[facts.trace.locations["group"]] >= 0
    return started


def _may_be_for_child(facts: RunFacts) -> Array:
    """(times,) bool: a thread may wait for data of another process. The records of a process begin after its start,
    and may end before the process."""
    others = facts.starts_unrecorded[facts.blocked.location] | (len(facts.masters) > 1)
    found: Array = facts.blocked.is_for_data & others
    return found


def _in_event_loop(facts: RunFacts) -> Array:
    """(times,) bool: an event loop has nothing to do. How many of its tasks wait, and for what, is unknown."""
    known, paths, sites = facts.blocked.python_regions, facts.paths, facts.blocked.sites
    above = paths["region"][paths["parent"][np.maximum(0, facts.path_of_blocked)]].tolist()
    found = [is_event_loop((*site, known.get(row, ""))) for site, row in zip(sites, above, strict=True)]
    return np.array(found, bool)


def _sleepers(facts: RunFacts, ns: Array) -> list[int]:
    """The threads that sleep longest in known calls, without the first ones of processes. ns: (times,) that count."""
    sums = np.bincount(facts.blocked.location, ns * facts.blocked.is_known, facts.trace.locations.rows)
    first = {*facts.masters.values()}
    others = sorted((row for row in facts.rows if row not in first and sums[row] > 0), key=lambda row: -sums[row])
    return others[:_MOST_OTHERS]


def _waiting(facts: RunFacts, row: int, begins: Array, ends: Array, *, waits: Array) -> tuple[Array, Array]:
    """Of each time (ns) in which a thread sleeps: (n,) the part in which all other threads wait (waits: (times,) bool)
    or are not there, and (n,) the mean number of those that are there."""
    waiting, threads, runs = np.ones(len(begins), bool), np.zeros(len(begins)), [np.empty((0, 2))]
    first, last = np.zeros((2, facts.trace.locations.rows))
    first[facts.extent["location"]], last[facts.extent["location"]] = facts.extent["first"], facts.extent["last"]
    for other in facts.rows:
        if other == row:
            continue
        since, until = np.maximum(begins, first[other]), np.minimum(ends, last[other])
        lives = np.maximum(0, until - since)
        here = lives > 0
        waited = np.zeros(len(begins))
        waited[here] = facts.blocked.between(
            np.full(np.count_nonzero(here), other), since[here], until[here], counts=waits
        )
        waiting &= waited >= _WAITS * lives
        threads += lives / np.maximum(1, ends - begins)
        runs.append(_runs(facts.blocked, waits & (facts.blocked.location == other), first[other], last[other]))
    common = 1 - _covered(np.concatenate(runs), begins, ends) / np.maximum(1, ends - begins)
    return np.where(waiting, 1.0, np.clip(common, 0, 1)), threads


def _runs(asleep: BlockedTimes, waits: Array, first: float, last: float) -> Array:
    """(runs, 2) the times (ns) between two times in which a thread does not wait. waits: (times,) bool, those of the
    thread. A time with a part of sleep is no wait, since nothing tells where in it the thread sleeps."""
    whole = waits & (asleep.ns >= _WAITS * (asleep.end - asleep.begin))
    ends = np.stack([asleep.begin[whole], asleep.end[whole]], 1).ravel()
    found: Array = np.maximum.accumulate(np.concatenate([[first], ends, [last]])).reshape(-1, 2)
    return found


def _covered(intervals: Array, begins: Array, ends: Array) -> Array:
    """(n,) the ns between times that are in any of the intervals ((intervals, 2))."""
    if not len(intervals):
        return np.zeros(len(begins))
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    times = np.maximum.accumulate(ordered.ravel())
    sums = np.cumsum(np.diff(times, prepend=times[0]) * (np.arange(len(times)) % 2))
    found: Array = np.interp(ends, times, sums) - np.interp(begins, times, sums)
    return found


def _finding(facts: RunFacts, one: _Sleep) -> Finding:
    rows, call, path, loss = sorted(one.rows), one.call, one.path, round(one.lost)
    who, turns = locations_text(facts.trace, rows), ", one at a time" * (len(rows) > 1)
    inside = f"in {facts.call_text(facts.paths, path)}" if path > 0 else ""
    where = f"in {one.place}" if call else inside or f"in {UNKNOWN_CALL}"
    alone = "nothing else runs" if call else "nothing else that was recorded runs"
    text = f"{who} sleep{'s' * (len(rows) == 1)} {span(round(one.slept))} {where}{turns}, and {alone} meanwhile"
    return facts.finding(
        "blocked", loss, path, share=min(1.0, loss / facts.whole), locations=rows, text=text,
        culprit=f"{who}, {one.place or inside}", region=call.function if call else facts.region(path),
        source=call.source if call else "", certainty=ESTIMATE, evidence=("diagnose", "--about", "processor"),
    )  # fmt: skip
