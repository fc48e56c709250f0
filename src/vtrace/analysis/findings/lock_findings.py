# SPDX-License-Identifier: BSD-3-Clause
"""Findings about locks and conditions: which call waits, who holds the lock or signals, in which call, for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vtrace.analysis.call_sites import Site, calls_of, site_of
from vtrace.analysis.findings.culprits import LOCKS, by_region, culprits_of, culprits_text
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, EXACT, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.late_partners import explains, slept_meanwhile
from vtrace.analysis.findings.lock_waits import has_sites
from vtrace.analysis.findings.mpi_wait_times import waited_in_mpi_between
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.sleeping_calls import (
    INTERPRETER_LOCK,
    LOCK_OF_PYTHON,
    is_for_interpreter,
    lock_call,
    with_python,
)
from vtrace.analysis.findings.thread_waits import API, CONDITION, CRITICAL, MUTEX, ORDERED, TRIES
from vtrace.analysis.own_code import module_of_python
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up
from vtrace.io.sidecar.sidecar import PYTHON

_MOST_OF, _ONLY = 0.6, 0.98
"""A call with at least this share of a loss is named as its cause. A thread that waits for conditions for this share of
its time does nothing else."""


class _Calls:
    """The calls of locks in single waits, as places in the program: by vtrace's record, else by the call path."""

    def __init__(self, facts: RunFacts, waits: Table) -> None:
        self.facts, self.waits, self.strings = facts, waits, facts.trace.definitions.strings
        self.known: dict[tuple[int, int], tuple[str, Site | None]] = {}

    def call(self, site: int, path: int) -> tuple[str, Site | None]:
        """A call in a sentence, "" if unknown: pthread_mutex_lock in take (pool.cpp:20); and its place."""
        if (site, path) not in self.known:
            self.known[site, path] = self._call(self.strings.get(site, "") if site >= 0 else "", path)
        return self.known[site, path]

    def _call(self, text: str, path: int) -> tuple[str, Site | None]:
        name = self.facts.region(path, self.waits.paths) if path >= 0 else ""
        stack = calls_of(text)
        if stack and is_for_interpreter((f"{name}@", *stack)):
            return f"{name} for {INTERPRETER_LOCK}", None
        python = lock_call(name, with_python(stack, self._python(path)))
        place = Site(python.function, python.source) if python else site_of(text)
        if place and path >= 0:
            return f"{python.sleeps if python else name} in {place}", place
        return self.facts.call_text(self.waits.paths, path) if path >= 0 else str(place or ""), place

    def _python(self, path: int) -> list[str]:
        """The recorded functions of Python in a call path, innermost first, as calls of stacks; without any of the
        program's own files only the innermost one."""
        found, has_own, known, paths = [], False, self.facts.blocked.python_regions, self.waits.paths
        while path > 0:
            if call := known.get(int(paths["region"][path])):
                name, _, place = call.removeprefix(PYTHON).rpartition("@")
                module = module_of_python(place.rpartition(":")[0])
                has_own |= not module
                found.append(f"{PYTHON}{name.removeprefix(f'{module}.')}@{place}")
            path = int(paths["parent"][path])
        return found if has_own else found[:1]

    def lock(self, mine: Table) -> str:
        """The name and place of the lock of these waits, and a space; "" if they are several or if it has no name."""
        names = {self.strings.get(number, "") for number in mine["lock"].tolist()}
        name, _, place = names.pop().partition("@") if len(names) == 1 else ("", "", "")
        known = Site(name, place)
        return f"{known} " * bool(name)

    def groups(self) -> Iterator[Table]:
        """The waits by the place of the call that waits."""
        texts = np.array([self.call(*pair)[0] for pair in zip(*self._pairs(self.waits, "site", "path"), strict=True)])
        for text in np.unique(texts).tolist():
            yield self.waits.take(texts == text)

    def cause(self, mine: Table) -> tuple[str, Site | None]:
        """The call that held the lock or signalled for most of the time of some waits, and its place; "", None for
        none. Holders before the first wait may be known by a line in a header only: these count if no other does."""
        pairs = zip(*self._pairs(mine, "by_site", "partner_path"), strict=True)
        known = np.array([self.call(*pair)[1] is not None for pair in pairs], bool)
        mine = mine.take(known) if known.any() else mine
        of: dict[str, int] = {}
        sites: dict[str, Site | None] = {}
        for site, path, time in zip(*self._pairs(mine, "by_site", "partner_path", "time_ns"), strict=True):
            text, place = self.call(site, path)
            of[text], sites[text] = of.get(text, 0) + time, place
        best = max(of, key=lambda text: of[text])
        return (best, sites[best]) if best and of[best] >= _MOST_OF * sum(of.values()) else ("", None)

    def holds(self, mine: Table, culprits: Sequence[int], cause: str) -> Array:
        """The ns of each time for which the lock was held: by one of the culprits and after the call that is the cause,
        if there are such."""
        if culprits:
            mine = mine.take(np.isin(mine["partner"], culprits))
        if cause:
            pairs = zip(*self._pairs(mine, "by_site", "partner_path"), strict=True)
            mine = mine.take(np.array([self.call(*pair)[0] == cause for pair in pairs], bool))
        held: Array = mine["hold_ns"][np.unique(mine["hold"], return_index=True)[1]]
        return held[held >= 0]

    @staticmethod
    def _pairs(waits: Table, *names: str) -> list[list[int]]:
        return [waits[name].tolist() for name in names]


def _waiting(facts: RunFacts, waits: Table, at: str) -> str:
    """Who waits how long, and how often."""
    count, locations = int(waits["count"].sum()), sorted({*waits["location"].tolist()})
    loss = span(int(waits["time_ns"].sum()))
    times = "once" if count == 1 else f"{count:,} times"
    return f"{locations_text(facts.trace, locations)} wait{'s' * (len(locations) == 1)} {loss} {at}, {times}"


def _finding(facts: RunFacts, kind: str, waits: Table, path: int, *, more: int = 0, **values: Any) -> Finding:
    """A finding about all of these waits. more: ns of other waits that belong to the loss. Between tries of a lock a
    thread may work: their time is a bound."""
    about = "openmp" if waits["kind"][0] in (CRITICAL, API, ORDERED) else "waits"
    certainty = BOUND if facts.region(path, waits.paths) in TRIES else EXACT
    return facts.finding(
        kind, int(waits["time_ns"].sum()) + more, path, waits.paths, locations=waits["location"],
        processor_ns=int(waits["processor_ns"].sum()), evidence=("diagnose", "--about", about),
        **{"certainty": certainty, **values},
    )  # fmt: skip


def _behind(waits: Table) -> tuple[int, str]:
    """The ns in barriers that belong to waits for locks, and words about these waits."""
    more = int(waits["behind_ns"].sum())
    return more, f", and {span(more)} in barriers for each other" * (more > 0)


@rule(
    FindingKind(
        "lock",
        "waits for locks and critical regions, with the holder if the locks were recorded, and in barriers for threads "
        "that waited for them ([waits of threads](#waits-of-threads))",
        about=("waits", "openmp"),
        action="hold the lock for a shorter time, or use several locks",
    )
)
def locks(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for locks: by region; of pthreads with known calls or holders, by the call that waits."""
    facts, single, waits = diagnosis.facts, diagnosis.lock_waits, diagnosis.thread_waits
    known = single.take(single["kind"] == MUTEX)
    if np.any((known["site"] >= 0) | (known["hold_ns"] >= 0)):
        waits = waits.take(waits["kind"] != MUTEX)
        for mine in _Calls(facts, known).groups():
            yield _of_holder(facts, mine, _Calls(facts, mine))
    for mine, path, _ in by_region(waits, *LOCKS):
        more, words = _behind(mine)
        text = _waiting(facts, mine, f"for the lock of {facts.call_text(mine.paths, path)}") + words
        culprit = culprits_text(facts.trace, culprits_of(facts, mine))
        yield _finding(facts, "lock", mine, path, more=more, text=text, culprit=culprit)


@rule(
    FindingKind(
        "omp_ordered",
        "waits of OpenMP threads for their turn in `ordered`, and in barriers for threads that waited for it",
        about=("openmp",),
        action="move work out of this block, or use chunks of one iteration",
    )
)
def turns(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for the iterations before, by region."""
    facts = diagnosis.facts
    for mine, path, _ in by_region(diagnosis.thread_waits, ORDERED):
        more, words = _behind(mine)
        text = _waiting(facts, mine, f"for their turn in {facts.call_text(mine.paths, path)}") + words
        yield _finding(facts, "omp_ordered", mine, path, more=more, text=text)


def _of_holder(facts: RunFacts, mine: Table, calls: _Calls) -> Finding:
    """The finding about the waits in one call."""
    mine = Table({**mine, "count": np.ones(mine.rows, np.int64)}, paths=mine.paths)
    longest = int(np.argmax(mine["time_ns"]))
    path = int(mine["path"][longest])
    at, site = calls.call(int(mine["site"][longest]), path)
    more, words = _behind(mine)
    text = _waiting(facts, mine, f"for the lock {calls.lock(mine)}of {at}") + words
    culprits = culprits_of(facts, mine)
    thread = culprits_text(facts.trace, culprits)
    cause, where = calls.cause(mine)
    holds = calls.holds(mine, culprits, cause)
    if len(holds) and (thread or cause):
        held = f"for {span(int(holds.mean()))}, at most {span(int(holds.max()))}"
        since = "this call" if cause == at else cause
        text += f"; {thread or 'a different thread each time'} holds it {held}" + f", after {since}" * bool(since)
    culprit = ", ".join(filter(None, (thread, str(where or ""))))
    values: dict[str, Any] = {"source": site.source} if site and site.source else {}
    return _finding(facts, "lock", mine, path, more=more, text=text, culprit=culprit, **values)


@rule(
    FindingKind(
        "condition",
        "waits for a condition or semaphore until another thread signals it, of threads but a process's first one and "
        "those that only wait",
        about=("waits",),
        action="signal earlier, or give the waiting threads other work, or use fewer of them",
    )
)
def conditions(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for a signal, by the call that waits; without recorded signals, all waits for conditions. A process's first
    thread often waits for the result of others, and a thread that only waits serves rare events: neither loses time,
    unless the threads wait for a Lock of Python."""
    facts, single, waits = diagnosis.facts, diagnosis.lock_waits, diagnosis.thread_waits
    waits = waits.take(waits["kind"] == CONDITION)
    waited = add_up(waits["location"], waits["time_ns"], facts.trace.locations.rows)
    counts = waited < _ONLY * facts.times.sum(axis=1)
    counts[np.array([*facts.masters.values()], np.int64)] = False
    if has_sites(facts.trace):
        single = _without_mpi(diagnosis, single.take(single["kind"] == CONDITION))
        calls = _Calls(facts, single)
        for mine in calls.groups() if single.rows else ():
            is_lock = _is_lock(calls, mine)
            if (mine := mine if is_lock else mine.take(counts[mine["location"]])).rows:
                yield _of_signal(facts, mine, calls, is_lock=is_lock)
        return
    for mine, path, _ in by_region(waits.take(counts[waits["location"]]), CONDITION):
        text = _waiting(facts, mine, f"in {facts.call_text(mine.paths, path)}") + ", for a signal from others"
        yield _finding(facts, "condition", mine, path, text=text, certainty=BOUND)


def _without_mpi(diagnosis: Diagnosis, single: Table) -> Table:
    """Single waits without the time in which the signaller waits in MPI: other findings tell for whom."""
    if not diagnosis.mpi or not single.rows:
        return single
    begin, until = single["begin"], single["begin"] + single["time_ns"]
    in_mpi = waited_in_mpi_between(diagnosis.mpi.call_waits(), single["partner"], begin, until)
    left = single["time_ns"] - np.rint(in_mpi).astype(np.int64)
    return Table({**single, "time_ns": left}, **single.notes).take(left > 0)


def _is_lock(calls: _Calls, mine: Table) -> bool:
    """True if the waits in one call are for a Lock of Python that the program's own code gets: in a module it is part
    of a queue, a condition, a pool."""
    at, site = calls.call(int(mine["site"][0]), int(mine["path"][0]))
    return bool(site and at.startswith(LOCK_OF_PYTHON) and not module_of_python(site.source.rpartition(":")[0]))


def _of_signal(facts: RunFacts, mine: Table, calls: _Calls, *, is_lock: bool) -> Finding:
    """The finding about the waits in one call."""
    mine = Table({**mine, "count": np.ones(mine.rows, np.int64)}, paths=mine.paths)
    longest = int(np.argmax(mine["time_ns"]))
    path = int(mine["path"][longest])
    at, site = calls.call(int(mine["site"][longest]), path)
    text = _waiting(facts, mine, f"for the lock of {at}" if is_lock else f"in {at}")
    thread, (cause, where) = culprits_text(facts.trace, culprits_of(facts, mine)), calls.cause(mine)
    late = f"{span(int(mine['time_ns'].mean()))} later, at most {span(int(mine['time_ns'].max()))}"
    does = "releases it" if is_lock else "posts" if cause.startswith("sem_") else "signals"
    text += f"; {thread or 'a different thread each time'} {does} {late}" + f", in {cause}" * bool(cause)
    slept = slept_meanwhile(facts, mine["partner"], mine["begin"], mine["begin"] + mine["time_ns"])
    if asleep := explains(facts, slept, int(mine["time_ns"].sum())):
        text += f", after {asleep.text}"
    culprit = ", ".join(filter(None, (thread, str(where or ""))))
    values: dict[str, Any] = {"source": site.source} if site and site.source else {}
    kind = "lock" if is_lock else "condition"
    return _finding(facts, kind, mine, path, text=text, culprit=culprit, certainty=BOUND, **values)
