# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of threads: barriers, idle threads, critical and ordered regions, locks, joins. Times come from the
recorded events; kinds have Scalasca's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.findings.late_partners import by_region
from vtrace.analysis.findings.lock_waits import (
    ATTRIBUTES,
    LockEvents,
    condition_waits,
    lock_waits,
    read_waits,
    retried,
    table,
)
from vtrace.analysis.findings.mpi_wait_times import waited_in_mpi_between
from vtrace.analysis.findings.sync_calls import CALL, SyncCalls, Waits, outermost_calls
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import ALWAYS, NEVER

if TYPE_CHECKING:
    from vtrace.analysis.findings.run_facts import RunFacts
    from vtrace.analysis.source import Source

KINDS = (
    "omp_ebarrier_wait", "omp_ibarrier_wait", "omp_lock_contention_critical", "omp_lock_contention_api",
    "omp_idle_threads", "pthread_lock_contention_mutex_lock", "pthread_lock_contention_conditional",
    "pthread_join_wait", "pthread_barrier_wait", "pthread_early_end",
    "omp_lock_contention_ordered",
)  # fmt: skip
"""The kinds of waits; a kind's index is its number."""
EXPLICIT, IMPLICIT, CRITICAL, API, IDLE, MUTEX, CONDITION, JOIN, THREAD_BARRIER, EARLY_END, ORDERED = range(len(KINDS))
_TASK, _INSIDE, _IN_ORDER, _PARALLEL, _SIGNAL, _READ, _TRY, _TASKWAIT = range(100, 108)
"""Calls that are not waits of an own kind: tasks, bodies of critical and ordered sections and signals (sem_post, too)
end a wait, in parallel regions work begins, a reader gets a lock, a thread may get one, a taskwait waits as in a
barrier."""
_ROLES = {"BARRIER": EXPLICIT, "IMPLICIT_BARRIER": IMPLICIT, "CRITICAL": CRITICAL, "CRITICAL_SBLOCK": _INSIDE,
          "ORDERED": ORDERED, "ORDERED_SBLOCK": _IN_ORDER, "TASK": _TASK,
          "TASK_UNTIED": _TASK, "TASK_WAIT": _TASKWAIT, "PARALLEL": _PARALLEL, "THREAD_WAIT": JOIN}  # fmt: skip
_LOCKS = {"omp_set_lock": API, "omp_set_nest_lock": API, "pthread_mutex_lock": MUTEX, "pthread_spin_lock": MUTEX,
          "pthread_mutex_timedlock": MUTEX, "pthread_rwlock_wrlock": MUTEX, "mtx_lock": MUTEX,
          "pthread_mutex_clocklock": MUTEX, "mtx_timedlock": MUTEX, "pthread_rwlock_timedwrlock": MUTEX,
          "pthread_rwlock_clockwrlock": MUTEX, "pthread_cond_clockwait": CONDITION, "cnd_timedwait": CONDITION,
          "pthread_cond_wait": CONDITION, "pthread_cond_timedwait": CONDITION, "cnd_wait": CONDITION,
          "pthread_cond_signal": _SIGNAL, "pthread_cond_broadcast": _SIGNAL, "cnd_signal": _SIGNAL,
          "cnd_broadcast": _SIGNAL, "pthread_rwlock_rdlock": _READ, "pthread_rwlock_tryrdlock": _READ,
          "pthread_rwlock_timedrdlock": _READ, "pthread_rwlock_clockrdlock": _READ, "sem_wait": CONDITION,
          "sem_timedwait": CONDITION, "sem_clockwait": CONDITION, "sem_post": _SIGNAL,
          "pthread_mutex_trylock": _TRY, "pthread_spin_trylock": _TRY, "pthread_rwlock_trywrlock": _TRY,
          "mtx_trylock": _TRY}  # fmt: skip
TRIES = tuple(name for name, kind in _LOCKS.items() if kind == _TRY)
"""Calls that get a lock or return at once."""
_WRITES = tuple(name for name, kind in _LOCKS.items() if kind == MUTEX and name.endswith("wrlock"))
"""Calls that get a lock for writing."""
_FOR_ALL = (EXPLICIT, IMPLICIT, THREAD_BARRIER, EARLY_END)
"""Waits for the last one of several threads."""
_SHARED = ("LOOP", "SECTIONS", "WORKSHARE")
"""Roles of worksharing constructs around the barrier at their end."""
_EVENTS = ("ThreadAcquireLock", "ThreadReleaseLock", "ThreadWait", "ThreadBegin", "ThreadEnd")


def kinds_of(trace: Source) -> Array:
    """(regions,) the kind of wait of each region's calls, -1 for none."""
    found = np.full(trace.regions.rows, -1, np.int64)
    activities = trace.regions["activity"]
    threaded = np.isin(activities, [ACTIVITIES.index(name) for name in
                                    ("openmp/region", "openmp/sync", "openmp/task", "threads")])  # fmt: skip
    for row in np.flatnonzero(threaded).tolist():
        kind = _ROLES.get(str(trace.regions["role"][row]), _LOCKS.get(str(trace.regions["name"][row]), -1))
        of_threads = kind in (EXPLICIT, IMPLICIT) and activities[row] == ACTIVITIES.index("threads")
        found[row] = THREAD_BARRIER if of_threads else kind
    return found


def _waits(calls: Array, kind: int, partner: Array, partner_path: Array, time: Array) -> Waits:  # noqa: PLR0917
    kept = time > 0
    return Waits(
        kind=np.full(np.count_nonzero(kept), kind),
        path=calls["path"][kept],
        location=calls["location"][kept],
        partner=partner[kept],
        partner_path=partner_path[kept],
        time=time[kept],
    )


class ThreadWaits(SyncCalls[Table]):
    """Answers Trace.thread_waits for the waits of threads. lock_waits: the single waits for locks and conditions
    (lock_waits.table), with behind_ns, after the answer; with processor_ns after with_idle_threads."""

    kinds = frozenset(_EVENTS)
    events = _EVENTS
    attribute_names = ATTRIBUTES
    lock_waits: Table

    def region_kinds_of(self, trace: Source) -> Array:
        """The calls to keep."""
        return kinds_of(trace)

    def answer(self) -> Table:
        """Rows (kind, path, location, partner, partner_path): time_ns, count, the longest time first; without waits of
        idle threads."""
        return self.table(*self.waits())

    def waits(self) -> tuple[list[Waits], tuple[str, ...], Table]:
        """The single waits, their kinds and call paths."""
        calls, paths, events = self.calls()
        calls, paths = _with_one_barrier(calls, paths, self.trace)
        of_locks = LockEvents(
            calls=_of(calls, API, MUTEX, CONDITION, _TRY), reads=_of(calls, *() if self.dropped else (_READ,)),
            acquired=events["ThreadAcquireLock"], released=events["ThreadReleaseLock"], values=self.values(),
            process=self.trace.places.process,
        )  # fmt: skip
        writes = np.isin(self.trace.regions["name"].astype(str), _WRITES)
        gets = np.concatenate([_of(calls, API, MUTEX), retried(_of(calls, _TRY), events["ThreadAcquireLock"], MUTEX)])
        locked = [*lock_waits(of_locks, gets), *read_waits(of_locks, writes, MUTEX)]
        signalled = condition_waits(of_locks, _of(calls, CONDITION), _of(calls, _SIGNAL))
        regions = self._parallel_regions(paths)
        barriers, of_single = _with_taskwaits(_barriers(calls, regions), calls), _of_single(table(locked, paths))
        of_blocks = _blocks(calls, CRITICAL, _INSIDE), _blocks(calls, ORDERED, _IN_ORDER)
        behind = _explain_by_locks(barriers, *of_blocks, of_single)
        for each, explained in zip((*of_blocks, of_single), behind, strict=True):
            each.behind_ns = explained
        behind_ns = np.append(behind[-1], np.zeros(len(signalled), np.int64))
        self.lock_waits = Table({**table([*locked, *signalled], paths), "behind_ns": behind_ns}, paths=paths)
        conditions = _conditions(calls)
        joins, early = _joins(calls, events["ThreadWait"], begun=events["ThreadBegin"], ended=events["ThreadEnd"])
        _explain_by_locks(early, *of_blocks, of_single, conditions)
        found = [barriers, *of_blocks, joins, early, of_single, conditions]
        return found, KINDS, paths

    def _parallel_regions(self, paths: Table) -> Array:
        """(paths,) the row of the innermost parallel region around each call, 0 without one."""
        is_parallel = np.append(self.region_kinds == _PARALLEL, False)[paths["region"]]
        found = np.zeros(paths.rows, np.int64)
        for row in range(1, paths.rows):
            above = int(paths["parent"][row])
            found[row] = above if is_parallel[above] else found[above]
        return found

    def with_idle_threads(self, facts: RunFacts, call_waits: Callable[[], Table] | None = None) -> Table:
        """answer() with the waits of idle threads, and of each wait the part that waits for a processor explain; its
        note `meanwhile` has the sleep of late partners (late_partners.by_region). facts: from the same pass.
        call_waits: gives the waits in MPI; waits in barriers are without the time in which the partner waits there."""
        found, kinds, paths = self.waits()
        if call_waits and np.any(facts.parallel & facts.waits_in_mpi[facts.paths["region"]]):
            between = partial(waited_in_mpi_between, call_waits())
            for waits in found:
                if np.isin(waits.kind, _FOR_ALL).all():
                    waits.time -= _explained(facts, waits, between)
        for waits in found:
            waits.processor_ns = _explained(facts, waits, facts.waited_between)
            if np.isin(waits.kind, _FOR_ALL).all():
                waits.processor_ns = np.minimum(waits.time, waits.processor_ns + _began_late(facts, waits))
                of_inner_team = _explained(facts, waits, partial(_explained_between, waits))
                waits.processor_ns = np.minimum(waits.time, waits.processor_ns + of_inner_team)
            if waits.locks_ns is not None and np.any(waits.kind == EARLY_END):  # locks may not be recorded
                slept = _explained(facts, waits, facts.slept_for_threads_between)
                waits.locks_ns = np.maximum(waits.locks_ns, slept)
        explained = _explained(facts, _of_single(self.lock_waits), facts.waited_between)
        self.lock_waits = Table({**self.lock_waits, "processor_ns": explained}, paths=paths)
        meanwhile = by_region(facts, [each for each in found if np.isin(each.kind, _FOR_ALL).all()], paths)
        table = self.table([*found, idle_threads(facts)], kinds, paths)
        return Table({**table}, **table.notes, meanwhile=meanwhile)


def _explained(facts: RunFacts, waits: Waits, between: Callable[[Array, Array, Array], Array]) -> Array:
    """(waits,) ns of each wait that the partner's times without work explain, above those of the location, in the time
    in which their work is compared. between: (n,) ns of such times of locations between begins and ends."""
    if waits.since is None or waits.partner_since is None or waits.until is None:
        return np.zeros(len(waits.time), np.int64)
    start = facts.window.bounds[0]
    theirs, own = (
        between(at, np.maximum(since, start), waits.until)
        for at, since in ((waits.partner, waits.partner_since), (waits.location, waits.since))
    )
    found: Array = np.clip(theirs - own, 0, waits.time).astype(np.int64)
    return found


def _began_late(facts: RunFacts, waits: Waits) -> Array:
    """(waits,) ns in which the partner, after the location went on from the barrier or fork before, had no processor in
    a call that waits for threads, such as this barrier: it could go on, too."""
    if waits.since is None or waits.partner_since is None or waits.until is None:
        return np.zeros(len(waits.time), np.int64)
    since = np.maximum(waits.since, facts.window.bounds[0])
    found: Array = facts.waited_for_threads_between(waits.partner, since, np.maximum(since, waits.until)).astype(
        np.int64
    )
    return found


def _explained_between(waits: Waits, locations: Array, begins: Array, ends: Array) -> Array:
    """(n,) ns of the waits of each location that ended between two times (ns) and that waits of others for a processor
    explain. Before a barrier, these are waits for the threads of an inner team."""
    assert waits.until is not None
    assert waits.processor_ns is not None
    found = np.zeros(len(locations))
    for location in np.unique(locations).tolist():
        rows, mine = np.flatnonzero(locations == location), np.flatnonzero(waits.location == location)
        mine = mine[np.argsort(waits.until[mine], kind="stable")]
        sums = np.append(0, np.cumsum(waits.processor_ns[mine]))
        first = np.searchsorted(waits.until[mine], begins[rows], "right")
        last = np.searchsorted(waits.until[mine], ends[rows], "left")
        found[rows] = sums[np.maximum(first, last)] - sums[first]
    return found


def _explain_by_locks(barriers: Waits, *locks: Waits) -> list[Array]:
    """Sets locks_ns of the waits in barriers, or of early ends: what the partner waited for locks since the barrier
    before, above what the location did. Returns behind_ns of the waits for locks: the parts of the waits in
    barriers."""
    location, time = (np.concatenate([getattr(each, name) for each in locks]) for name in ("location", "time"))
    begin = np.concatenate([np.empty(0, np.int64) if each.since is None else each.since for each in locks])
    begin = np.maximum(begin, 0)
    order = np.lexsort((begin, location))
    behind, barriers.locks_ns = np.zeros(len(time)), np.zeros(len(barriers.time), np.int64)
    if barriers.since is not None and barriers.partner_since is not None and barriers.until is not None:
        until = np.maximum(barriers.until, 0)
        width = 1 + max(int(begin.max(initial=0)), int(until.max(initial=0)))
        axis = location[order] * width + begin[order]  # times of all locations as disjoint ranges of one axis
        sums = np.append(0, np.cumsum(time[order]))
        own, theirs = (
            [np.searchsorted(axis, at * width + when) for when in (np.clip(since, 0, until), until)]
            for at, since in ((barriers.location, barriers.since), (barriers.partner, barriers.partner_since))
        )
        waited = sums[theirs[1]] - sums[theirs[0]]
        barriers.locks_ns = np.clip(waited - (sums[own[1]] - sums[own[0]]), 0, barriers.time)
        rate = np.zeros(len(time) + 1)  # of the ns of each wait for a lock
        for edge, sign in zip(theirs, (1, -1), strict=True):
            np.add.at(rate, edge, sign * barriers.locks_ns / np.maximum(1, waited))
        behind[order] = np.rint(np.cumsum(rate)[:-1] * time[order])
    ends = np.cumsum([len(each.time) for each in locks])[:-1]
    return np.split(behind.astype(np.int64), ends)


def _with_one_barrier(calls: Array, paths: Table, trace: Source) -> tuple[Array, Table]:
    """The calls with one region for all barriers at the end of a worksharing construct. gcc may copy the end of a loop
    for threads that get no part of it, with another line."""
    roles, regions = np.append(trace.regions["role"].astype(str), ""), paths["region"].copy()
    constructs = regions[paths["parent"]]
    ends = (roles[regions] == "IMPLICIT_BARRIER") & np.isin(roles[constructs], _SHARED)
    count = np.bincount(calls["path"], minlength=paths.rows)
    for construct in np.unique(constructs[ends]).tolist():
        mine = np.flatnonzero(ends & (constructs == construct))
        regions[mine] = regions[mine[np.argmax(np.bincount(regions[mine], count[mine])[regions[mine]])]]
    calls = calls.copy()
    calls["region"] = regions[calls["path"]]
    return calls, Table({**paths, "region": regions}, **paths.notes)


def _barriers(calls: Array, parallel_regions: Array) -> Waits:
    """A thread waits from its enter to the enter of the last thread. Tasks that the thread runs meanwhile are not part
    of the wait, and the last end of a task ends the wait. parallel_regions: by call path, as _parallel_regions."""
    mine = _of(calls, EXPLICIT, IMPLICIT, THREAD_BARRIER)
    if not len(mine):
        return _waits(mine, 0, *np.empty((3, 0), np.int64))
    tasks = _of(calls, _TASK)
    instance = _instances(mine)
    count = int(instance.max()) + 1
    worked, last_task = _tasks_within(mine, tasks)
    release = np.full(count, np.iinfo(np.int64).min)
    reached = np.maximum(mine["begin"], last_task)
    np.maximum.at(release, instance, reached)
    culprit = np.zeros(count, np.int64)
    at = np.flatnonzero(reached == release[instance])
    culprit[instance[at]] = at
    time = np.minimum(release[instance], mine["end"]) - mine["begin"] - worked
    time[np.bincount(instance, minlength=count)[instance] < 2] = 0
    by = mine[culprit[instance]]
    found = _waits(mine, 0, partner=by["location"], partner_path=by["path"], time=time)
    kept = time > 0
    around = parallel_regions[mine["path"]]
    since = np.maximum(_ends_before(mine, around), _forks(mine, _of(calls, _PARALLEL), instance, around=around))
    found.since, found.partner_since, found.until = since[kept], since[culprit[instance]][kept], release[instance][kept]
    found.kind = mine["kind"][kept]
    return found


def _with_taskwaits(barriers: Waits, calls: Array) -> Waits:
    """The waits in barriers, and those in taskwait: until the last end of a task on another thread, without the tasks
    that the thread runs meanwhile. Threads in a barrier wait for the same task then, so that such a wait has the path
    of their barrier."""
    mine, tasks, met = _of(calls, _TASKWAIT), _of(calls, _TASK), _of(calls, EXPLICIT, IMPLICIT)
    if not len(mine) or not len(tasks):
        return barriers
    span, worked = int(calls["end"].max()) + 1, _tasks_within(mine, tasks)[0]
    tasks = tasks[np.lexsort((tasks["end"], tasks["process"]))]
    at = np.searchsorted(tasks["process"] * span + tasks["end"], mine["process"] * span + mine["end"], "right") - 1
    last = tasks[np.maximum(0, at)]
    late = (at >= 0) & (last["process"] == mine["process"]) & (last["end"] > mine["begin"])
    late &= last["location"] != mine["location"]
    time = np.where(late, last["end"] - mine["begin"] - worked, 0)
    path, kind = mine["path"].copy(), np.full(len(mine), IMPLICIT)
    if len(met):
        met = met[np.lexsort((met["begin"], met["process"]))]
        open_at = np.searchsorted(met["process"] * span + met["begin"], mine["process"] * span + last["end"]) - 1
        around = met[np.maximum(0, open_at)]
        here = (open_at >= 0) & (around["process"] == mine["process"]) & (around["end"] >= last["end"])
        path[here], kind[here] = around["path"][here], around["kind"][here]
    kept = time > 0
    found = _waits(mine, IMPLICIT, partner=last["location"], partner_path=last["path"], time=time)
    found.path, found.kind = path[kept], kind[kept]
    found.since = found.partner_since = mine["begin"][kept]
    found.until = last["end"][kept]
    columns = "kind path location partner partner_path time since partner_since until".split()
    if barriers.since is None:
        return found
    return Waits(**{name: np.concatenate([getattr(each, name) for each in (barriers, found)]) for name in columns})


def _ends_before(barriers: Array, around: Array) -> Array:
    """(n,) ns: the end of the barrier before on the same location and in the same parallel region; ALWAYS without one.
    The barriers of an inner team are part of the work. barriers: sorted by location and begin. around: the call path of
    the parallel region of each."""
    found = np.full(len(barriers), ALWAYS)
    order = np.lexsort((barriers["begin"], around, barriers["location"]))
    before, after = order[:-1], order[1:]
    same = (barriers["location"][before] == barriers["location"][after]) & (around[before] == around[after])
    found[after[same]] = barriers["end"][before[same]]
    return found


def _forks(barriers: Array, parallel: Array, instance: Array, *, around: Array) -> Array:
    """(n,) ns: the begin of the parallel region of each barrier, on its first thread; ALWAYS without one. Threads of
    OpenMP have no work before. parallel: the calls of parallel regions. around: the call path of the parallel region of
    each barrier."""
    begin = np.full(len(barriers), NEVER)
    if len(parallel):
        location, path, time, last = (
            np.append(parallel[name], values)
            for name, values in (("location", barriers["location"]), ("path", around), ("begin", barriers["begin"]),
                                 ("kind", np.full(len(barriers), NEVER)))
        )  # fmt: skip
        at = np.lexsort((last, time, path, location))
        newest = np.maximum.accumulate(np.where(at < len(parallel), np.arange(len(at)), -1))
        here, newest = at[at >= len(parallel)] - len(parallel), newest[at >= len(parallel)]
        before = parallel[np.where(newest >= 0, at[newest], 0)]
        there = (newest >= 0) & (before["location"] == barriers["location"][here]) & (before["path"] == around[here])
        begin[here[there]] = before["begin"][there]
    first = np.full(int(instance.max()) + 1, NEVER)
    np.minimum.at(first, instance, begin)
    found: Array = np.where(first == NEVER, ALWAYS, first)[instance]
    return found


def _instances(calls: Array) -> Array:
    """(n,) the instance of each call of a barrier: calls of one region and process that are open at the same time, one
    for each location. Of two nested teams that meet in one region, one may leave while the other one waits for a thread
    of its own. calls: sorted by location and begin."""
    order = np.lexsort((calls["begin"], calls["region"], calls["process"]))
    found = np.zeros(len(calls), np.int64)
    number, key, first_end, members = -1, (-1, -1), 0, dict[int, tuple[int, int]]()
    columns = (calls[name][order].tolist() for name in ("process", "region", "begin", "end", "location"))
    for row, process, region, begin, end, location in zip(order.tolist(), *columns, strict=True):
        if (process, region) != key or begin > first_end or location in members:
            is_new = (process, region) != key or location in members
            members = {} if is_new else {at: one for at, one in members.items() if one[0] >= begin}
            number, key, first_end = number + 1, (process, region), min([end, *(one[0] for one in members.values())])
            found[[at for _, at in members.values()]] = number
        first_end = min(first_end, end)
        members[location] = end, row
        found[row] = number
    return found


def _tasks_within(calls: Array, tasks: Array) -> tuple[Array, Array]:
    """For each call: the ns of tasks inside (on the same location), and the end of the last task, or a time before all
    calls."""
    worked, last = np.zeros(len(calls), np.int64), np.full(len(calls), np.iinfo(np.int64).min)
    if not len(tasks):
        return worked, last
    key = {int(location): number for number, location in enumerate(np.unique(calls["location"]))}
    span = int(max(calls["end"].max(), tasks["end"].max())) + 1

    def line(location: Array, time: Array) -> Array:
        """Times of all locations as disjoint ranges of one axis."""
        place: Array = np.array([key.get(int(one), -1) for one in location.tolist()], np.int64)
        return place * span + time

    tasks = tasks[np.isin(tasks["location"], list(key))]
    outer = outermost_calls(tasks)
    sums = np.concatenate([[0], np.cumsum(outer["end"] - outer["begin"])])
    begins = line(outer["location"], outer["begin"])
    low = np.searchsorted(begins, line(calls["location"], calls["begin"]), "left")
    high = np.searchsorted(begins, line(calls["location"], calls["end"]), "left")
    some = high > low
    worked[some] = sums[high[some]] - sums[low[some]]
    last[some] = outer["end"][high[some] - 1]
    return worked, last


def _blocks(calls: Array, kind: int, inside: int) -> Waits:
    """A thread waits from the start of the directive (kind) to the start of the block inside; without a block there is
    no wait."""
    mine, bodies = _of(calls, kind), _of(calls, inside)
    span = int(calls["end"].max()) + 1 if len(calls) else 1
    begins = bodies["location"] * span + bodies["begin"]
    at = np.searchsorted(begins, mine["location"] * span + mine["begin"], "left")
    there = at < len(bodies)
    body = bodies[np.minimum(at, len(bodies) - 1)] if len(bodies) else np.zeros(len(mine), CALL)
    there &= (body["location"] == mine["location"]) & (body["begin"] < mine["end"])
    time = np.where(there, body["begin"] - mine["begin"], 0)
    partner, partner_path = np.full((2, len(mine)), -1)
    order = np.lexsort((mine["end"], mine["process"]))
    ends = (mine["process"] * span + mine["end"])[order]
    after = np.searchsorted(ends, mine["process"] * span + body["begin"], "right")
    got = mine["begin"] + time
    for row in np.flatnonzero(time > 0).tolist():
        holder = _holder(mine, got, row, order=order, after=int(after[row]))
        if holder >= 0:
            partner[row], partner_path[row] = mine["location"][holder], mine["path"][holder]
    found = _waits(mine, kind, partner=partner, partner_path=partner_path, time=time)
    found.since = mine["begin"][time > 0]
    return found


def _holder(calls: Array, got: Array, row: int, *, order: Array, after: int) -> int:
    """The call on another location of the process that ends nearest to the end of a call's wait; -1: none. A call may
    end later than the wait, since a thread gives the lock up first. got: (n,) ns, when each call got the lock. order:
    calls by process and end; after: the first in there that ends after the wait."""
    when, found, nearest = int(got[row]), -1, int(got[row] - calls["begin"][row])
    before = int(order[after - 1]) if after else row
    if calls["process"][before] == calls["process"][row] and calls["location"][before] != calls["location"][row]:
        found, nearest = before, when - int(calls["end"][before])
    for other in map(int, order[after:]):
        if calls["process"][other] != calls["process"][row] or calls["end"][other] - when >= nearest:
            break
        if calls["location"][other] != calls["location"][row] and got[other] < when:
            return other
    return found


def _of_single(waits: Table) -> Waits:
    """Single waits as Waits: from the begin of the wait to its end the partner works."""
    kind, path, location, partner, time, begin = (
        waits[name] for name in ("kind", "path", "location", "partner", "time_ns", "begin")
    )
    return Waits(
        kind=kind, path=path, location=location, partner=partner, partner_path=np.full(waits.rows, -1), time=time,
        since=begin, partner_since=begin, until=begin + time,
    )  # fmt: skip


def _of(calls: Array, *kinds: int) -> Array:
    found: Array = calls[np.isin(calls["kind"], kinds)]
    return found


def idle_threads(facts: RunFacts) -> Waits:
    """While a process runs outside of parallel regions, its other OpenMP threads are idle: one wait for each idle
    thread and each call path of the process's first thread. The root is the time outside of recorded calls. The start
    and end of MPI do not count."""
    n = facts.numbers
    workers: dict[int, list[int]] = {}
    for process, row in facts.workers:
        workers.setdefault(facts.masters[process], []).append(row)
    is_serial = ~(facts.parallel | facts.management)[n["path"]] & (n["exclusive"] > 0)
    serial = n.take(np.isin(n["location"], [*workers]) & is_serial)
    spent = [*zip(*(serial[k].tolist() for k in ("path", "location", "exclusive")), strict=True)]
    spent += [(0, master, ns) for master in workers if (ns := int(facts.times[master, -1]))]
    rows = [(path, worker, master, ns) for path, master, ns in spent for worker in workers[master]]
    path, location, partner, time = np.array(rows, np.int64).reshape(len(rows), 4).T
    waited = Counter[tuple[int, int]]()  # by path and first thread: a busy processor makes the serial part longer
    columns = facts.path_of_wait, facts.processor_waits.location, facts.counted_waits
    for *key, ns in zip(*(column.tolist() for column in columns), strict=True):
        waited[key[0], key[1]] += round(ns)
    explained = [min(ns, waited[at, master]) for at, _, master, ns in rows]
    return Waits(
        kind=np.full(len(rows), IDLE), path=path, location=location, partner=partner, partner_path=path, time=time,
        processor_ns=np.array(explained, np.int64),
    )  # fmt: skip


def _conditions(calls: Array) -> Waits:
    """Calls that wait for a condition or semaphore; the whole call is the wait."""
    mine = _of(calls, CONDITION)
    nobody, time = np.full(len(mine), -1), mine["end"] - mine["begin"]
    found = _waits(mine, CONDITION, partner=nobody, partner_path=nobody, time=time)
    found.since = mine["begin"][time > 0]
    return found


Thread = tuple[int, int, int]
"""A thread: process, contingent, number."""


def _joins(calls: Array, waited: Array, *, begun: Array, ended: Array) -> tuple[Waits, Waits]:
    """A thread waits from its enter to the end of the thread that it joins; and a thread has no work from its end to
    that of the last thread that is joined with it."""
    mine = _of(calls, JOIN)
    joined = _joined(mine, waited)
    begins = {_thread(row): int(row[4]) for row in begun}
    ends = {_thread(row): (int(row[1]), int(row[4])) for row in ended}
    partner, time = np.full(len(mine), -1), np.zeros(len(mine), np.int64)
    for row, thread in joined.items():
        partner[row], when = ends.get(thread, (-1, 0))
        time[row] = min(when, mine["end"][row]) - mine["begin"][row]
    return (
        _waits(mine, JOIN, partner=partner, partner_path=np.full(len(mine), -1), time=time),
        _early_ends(calls, {row: one for row, one in joined.items() if one in ends}, begins=begins, ends=ends),
    )


def _thread(event: Array) -> Thread:
    process, _, contingent, number, _ = event.tolist()
    return process, contingent, number


def _joined(mine: Array, waited: Array) -> dict[int, Thread]:
    """By row of the calls that join the thread, from the event ThreadWait inside."""
    span = max([1, *(int(each.max()) + 1 for each in (mine["end"], waited[:, 4]) if len(each))])
    waited = waited[np.lexsort((waited[:, 4], waited[:, 1]))]
    place = np.searchsorted(waited[:, 1] * span + waited[:, 4], mine["location"] * span + mine["begin"], "left")
    inside = place < len(waited)
    inside[inside] = (waited[place[inside], 1] == mine["location"][inside]) & (
        waited[place[inside], 4] <= mine["end"][inside]
    )
    return {row: _thread(waited[place[row]]) for row in np.flatnonzero(inside).tolist()}


def _early_ends(
    calls: Array, joined: dict[int, Thread], *, begins: dict[Thread, int], ends: dict[Thread, tuple[int, int]]
) -> Waits:
    """Threads that end before the last of their group. A group: threads that one call path joins one after the other,
    and that were all alive at one time. The threads' work since their last barrier is compared."""
    mine, barriers = _of(calls, JOIN), _of(calls, EXPLICIT, IMPLICIT, THREAD_BARRIER)
    met = dict(zip(barriers["location"].tolist(), barriers["end"].tolist(), strict=True))
    groups: list[list[int]] = []
    for row, thread in joined.items():
        before = groups[-1] if groups else []
        same = before and all(mine[name][before[0]] == mine[name][row] for name in ("location", "path"))
        if same and begins.get(thread, 0) <= min(ends[joined[each]][1] for each in before):
            before.append(row)
        else:
            groups.append([row])
    found = []
    for group in groups:
        latest = max((joined[row] for row in group), key=lambda thread: ends[thread][1])
        partner, last = ends[latest]
        for row in group:
            own, end = ends[joined[row]]
            begun = (  # other threads may have had the locations before
                max(begins.get(each, ALWAYS), met.get(at, ALWAYS))
                for each, at in ((joined[row], own), (latest, partner))
            )
            if end < last:
                found.append((int(mine["path"][row]), own, partner, last - end, *begun, last))
    path, location, partners, time, since, partner_since, until = np.array(found, np.int64).reshape(len(found), 7).T
    return Waits(
        kind=np.full(len(found), EARLY_END), path=path, location=location, partner=partners,
        partner_path=np.full(len(found), -1), time=time, since=since, partner_since=partner_since, until=until,
    )  # fmt: skip
