# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads of small archives, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.diagnosed import Event, asleep, threads, told, without_processor
from vtrace.analysis.findings.finding import BOUND, EXACT
from vtrace.analysis.findings.lock_waits import CONDITION_NUMBER, SITE
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.sidecar import sidecar

PARALLEL, BARRIER = _otf2.REGION_ROLE_PARALLEL.value, _otf2.REGION_ROLE_BARRIER.value
OPENMP, PTHREAD = _otf2.PARADIGM_OPENMP.value, _otf2.PARADIGM_PTHREAD.value


def test_threads_are_idle_before_their_first_event(tmp_path: Path) -> None:
    """Three threads begin after 900 of 1000 ns: each is idle for 900 ns, of 4000 ns of all threads."""
    work = [(900, "Enter", 1), (1000, "Leave", 1)]
    events = {0: [(0, "Enter", 0), *work, (1000, "Leave", 0)], 1: work, 2: work, 3: work}
    trace = threads(tmp_path, events, "!$omp parallel", PARALLEL, OPENMP)
    serial = told(trace, "omp_serial")
    assert serial.loss_ns == 3 * 900
    assert serial.share == pytest.approx(2700 / 4000)
    without_processor(trace.anchor, (0, 100, 700, 300, "main"))  # so long thread 0 had no processor
    assert told(Trace(trace.anchor), "omp_serial").loss_ns == 3 * 600
    without_processor(trace.anchor, (0, 100, 850, 700, "main"))
    assert told(Trace(trace.anchor), "omp_serial").loss_ns == 3 * 200


@pytest.mark.parametrize("name", ["main", "f._omp_fn.0", "f"])
def test_the_call_that_sleeps_while_threads_are_idle(name: str, tmp_path: Path) -> None:
    """Thread 0 sleeps in code that is inlined into a function; its name is told if that tells nothing."""
    parallel: list[Event] = [(900, "Enter", 1), (1000, "Leave", 1)]
    events = {0: [(0, "Enter", 0), (0, "Enter", 2), (900, "Leave", 2), *parallel, (1000, "Leave", 0)], 1: parallel}
    made = Foreign(tmp_path)
    for thread, each in events.items():
        made.events(thread, each)
    made.begin_definitions()
    made.machine(length=1000)
    for thread in events:
        made.location(thread)
    made.region(0, "start")
    made.region(1, "!$omp parallel", PARALLEL, OPENMP)
    made.region(2, name)
    found = told(asleep(made.close(), (0, 0, 900, "nanosleep@x.c:1 <- rest@/a/x.c:3", (0, 2))), "omp_serial")
    assert (" while rest (x.c:3, asleep in nanosleep) runs" in found.text) == (name != "f")


@pytest.mark.parametrize("name", ["MPI_Init", "MPI_Barrier"])
def test_threads_are_not_idle_while_mpi_starts_or_waits(name: str, tmp_path: Path) -> None:
    """Of 900 ns before the first parallel region 500 are in a call of MPI."""
    made = Foreign(tmp_path)
    work = [(900, "Enter", 1), (1000, "Leave", 1)]
    made.events(0, [(0, "Enter", 0), (100, "Enter", 2), (600, "Leave", 2), *work, (1000, "Leave", 0)])
    made.events(1, work)
    made.begin_definitions()
    made.machine(length=1000)
    for thread in range(2):
        made.location(thread)
    made.region(0, "main")
    made.region(1, "!$omp parallel", PARALLEL, OPENMP)
    made.region(2, name, _otf2.REGION_ROLE_FUNCTION.value, _otf2.PARADIGM_MPI.value)
    assert told(Trace(made.close()), "omp_serial").loss_ns == 400


@pytest.mark.parametrize("around", [0, 1], ids=["none", "main"])
def test_threads_that_sleep_longer(around: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread 1 comes 300 ns late to a barrier. No function or main is recorded, but the call that sleeps is."""
    place = SimpleNamespace(text="rest (x.c:3, asleep in nanosleep)", names=())
    monkeypatch.setattr(RunFacts, "longer_sleep", lambda *_: place)
    late = {0: 100, 1: 400}
    events: dict[int, list[Event]] = {
        thread: [(0, "Enter", 0)] * around + [(begin, "Enter", 1), (400, "Leave", 1)] + [(500, "Leave", 0)] * around
        for thread, begin in late.items()
    }
    found = told(threads(tmp_path, events, "pthread_barrier_wait", BARRIER, PTHREAD), "thread_imbalance")
    assert found.text.endswith("which has more work in rest (x.c:3, asleep in nanosleep)")


def test_barriers_of_threads(tmp_path: Path) -> None:
    """Threads 0 and 2 wait 300 and 200 ns for thread 1 in a barrier of pthreads."""

    def meets(begin: int) -> list[Event]:
        return [(0, "Enter", 0), (begin, "Enter", 1), (400, "Leave", 1), (500, "Leave", 0)]

    events = {0: meets(100), 1: meets(400), 2: meets(200)}
    trace = threads(tmp_path, events, "pthread_barrier_wait", BARRIER, PTHREAD)
    found = told(trace, "thread_imbalance")
    assert (found.loss_ns, found.culprit) == (300 + 200, "thread 1")
    assert found.evidence == ("diagnose", "--about", "waits")
    assert {trace.thread_waits().kinds[row["kind"]] for row in trace.thread_waits().records()} == {
        "pthread_barrier_wait"
    }


@pytest.mark.parametrize("at_end", [True, False], ids=["barrier", "alone"])
def test_taskwaits(at_end: bool, tmp_path: Path) -> None:
    """Thread 0 waits in taskwait from 100 to 500 ns and runs a task of 50 ns; thread 1 works on another one until 500,
    and thread 2 waits in a barrier for its end, or has other work."""
    made = Foreign(tmp_path)
    task = [(100, "Enter", 2), (150, "Leave", 2)]
    waits = [(100, "Enter", 3), *task, (500, "Leave", 3), *[(500, "Enter", 1), (500, "Leave", 1)] * (not at_end)]
    met = [(100, "Enter", 1), (500, "Leave", 1)] * at_end
    made.events(0, [(0, "Enter", 0), *waits, (600, "Leave", 0)])
    made.events(1, [(90, "Enter", 1), (100, "Enter", 2), (500, "Leave", 2), (500, "Leave", 1)])
    made.events(2, [*met, (600, "Enter", 0), (600, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=600)
    for thread in range(3):
        made.location(thread)
    made.region(0, "main")
    roles = {"implicit barrier": _otf2.REGION_ROLE_IMPLICIT_BARRIER, "task": _otf2.REGION_ROLE_TASK,
             "taskwait": _otf2.REGION_ROLE_TASK_WAIT}  # fmt: skip
    for row, (name, role) in enumerate(roles.items(), 1):
        made.region(row, f"!$omp {name}", role.value, OPENMP)
    found = Trace(made.close()).thread_waits()
    ns = dict(zip(found["location"].tolist(), found["time_ns"].tolist(), strict=True))
    assert ns == {0: 350, 1: 10} | ({2: 400} if at_end else {})


def test_one_barrier_with_two_lines(tmp_path: Path) -> None:
    """gcc copies the end of a loop for threads without a part of the loop: the copy has another line. Thread 2 gets no
    part twice, and waits 300 ns each time."""
    roles = _otf2.REGION_ROLE_LOOP.value, *[_otf2.REGION_ROLE_IMPLICIT_BARRIER.value] * 2

    def loop(begin: int, reached: int, barrier: int) -> list[Event]:
        end = begin + 400
        return [(begin, "Enter", 0), (reached, "Enter", barrier), (end, "Leave", barrier), (end, "Leave", 0)]

    made = Foreign(tmp_path)
    for thread in range(3):
        made.events(thread, [*loop(0, 100 if thread == 2 else 400, 1 + thread // 2),
                             *loop(500, 600 if thread == 2 else 900, 1 + thread // 2)])  # fmt: skip
    made.begin_definitions()
    made.machine(length=900)
    for thread in range(3):
        made.location(thread)
    for row, name in enumerate(("!$omp for", "!$omp implicit barrier @a.c:9", "!$omp implicit barrier @a.c:6")):
        made.region(row, name, roles[row], OPENMP)
    assert told(Trace(made.close()), "omp_imbalance").loss_ns == 2 * 300


@pytest.mark.parametrize("late", [0, 5], ids=["before", "after"])
def test_who_holds_a_critical_region(late: int, tmp_path: Path) -> None:
    """Thread 1 waits for a critical region from 50 on and gets it at 300, from thread 0, whose call ends before or a
    little later. Thread 2 has been in a critical region before, and waits behind thread 1."""
    made = Foreign(tmp_path)
    made.events(0, [(10, "Enter", 0), (295 + 2 * late, "Leave", 0)])
    made.events(1, [(50, "Enter", 0), (300, "Enter", 1), (400, "Leave", 1), (401, "Leave", 0)])
    made.events(2, [(2, "Enter", 0), (9, "Leave", 0), (60, "Enter", 0), (405, "Enter", 1), (500, "Leave", 1)])
    made.begin_definitions()
    made.machine(length=500)
    for thread in range(3):
        made.location(thread)
    made.region(0, "!$omp critical", _otf2.REGION_ROLE_CRITICAL.value, OPENMP)
    made.region(1, "!$omp critical sblock", _otf2.REGION_ROLE_CRITICAL_SBLOCK.value, OPENMP)
    waits = Trace(made.close()).thread_waits()
    mine = waits.take(waits["kind"] == waits.kinds.index("omp_lock_contention_critical"))
    found = {row["location"]: (row["partner"], row["time_ns"]) for row in mine.records()}
    assert found == {1: (0, 250), 2: (1, 345)}


def test_waits_for_the_turn_in_ordered(tmp_path: Path) -> None:
    """Thread 1 waits 90 ns for its turn, and thread 0, which has its second turn after that, 180 ns. Thread 1 waits for
    it in the barrier, where it has 10 ns less of work."""

    def block(begin: int, turn: int) -> list[Event]:
        return [(begin, "Enter", 1), (turn, "Enter", 2), (turn + 100, "Leave", 2), (turn + 100, "Leave", 1)]

    made = Foreign(tmp_path)
    of_threads = [*block(10, 10), *block(120, 210), (320, "Enter", 3)], [*block(20, 110), (220, "Enter", 3)]
    for thread, events in enumerate(of_threads):
        made.events(thread, [(0, "Enter", 0), *events, (320, "Leave", 3), (400, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=400)
    for thread in range(2):
        made.location(thread)
    roles = PARALLEL, _otf2.REGION_ROLE_ORDERED.value, _otf2.REGION_ROLE_ORDERED_SBLOCK.value, BARRIER
    for row, name in enumerate(("parallel", "ordered", "ordered sblock", "barrier")):
        made.region(row, f"!$omp {name}", roles[row], OPENMP)
    trace = Trace(made.close())
    found = told(trace, "omp_ordered")
    assert found.text == "2 threads wait 180 ns for their turn in !$omp ordered, 2 times"
    assert found.loss_ns == 90 + 90


def test_barriers_behind_critical_regions(tmp_path: Path) -> None:
    """In each of three rounds one of two threads waits 100 ns for a critical region, then the other one as long in the
    barrier; thread 1 waits in two of them, and has 50 ns of other work in the last one. The waits in barriers belong to
    the lock, but for this work."""

    def round_of(start: int, *, waits: int, more: int = 0) -> list[Event]:
        block, reached = start + 10 + 100 * waits, start + 120 + 100 * waits + more
        critical = [(start + 10, "Enter", 1), (block, "Enter", 2), (block + 100, "Leave", 2), (block + 101, "Leave", 1)]
        return [*critical, (reached, "Enter", 3), (start + 400, "Leave", 3)]

    made = Foreign(tmp_path)
    for thread, waits in enumerate(((0, 1, 0), (1, 0, 1))):
        rounds = [round_of(500 * n, waits=each, more=50 * (n == 2) * thread) for n, each in enumerate(waits)]
        made.events(thread, [(0, "Enter", 0), *(event for each in rounds for event in each), (1500, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=1500)
    for thread in range(2):
        made.location(thread)
    roles = _otf2.REGION_ROLE_CRITICAL.value, _otf2.REGION_ROLE_CRITICAL_SBLOCK.value, BARRIER
    made.region(0, "!$omp parallel", PARALLEL, OPENMP)
    for row, name in enumerate(("critical", "critical sblock", "barrier"), 1):
        made.region(row, f"!$omp {name}", roles[row - 1], OPENMP)
    trace = Trace(made.close())
    found = told(trace, "lock")
    assert found.loss_ns == 3 * 100 + 3 * 100
    assert found.text.startswith(
        "2 threads wait 300 ns for the lock of !$omp critical, 3 times, and 300 ns in barriers"
    )
    assert told(trace, "omp_imbalance").loss_ns == 50


def test_barriers_behind_two_locks(tmp_path: Path) -> None:
    """Thread 1 waits 100 ns for one critical region and 20 ns for another one before the barrier where thread 0 waits
    for it: the wait there belongs to both in proportion."""
    made = Foreign(tmp_path)
    made.events(0, [(0, "Enter", 0), (104, "Enter", 3), (224, "Leave", 3), (500, "Leave", 0)])
    made.events(1, [
        (0, "Enter", 0), (0, "Enter", 1), (100, "Enter", 2), (101, "Leave", 2), (101, "Leave", 1), (102, "Enter", 4),
        (122, "Enter", 5), (123, "Leave", 5), (123, "Leave", 4), (224, "Enter", 3), (224, "Leave", 3),
        (500, "Leave", 0),
    ])  # fmt: skip
    made.begin_definitions()
    made.machine(length=500)
    for thread in range(2):
        made.location(thread)
    critical, block = _otf2.REGION_ROLE_CRITICAL.value, _otf2.REGION_ROLE_CRITICAL_SBLOCK.value
    made.region(0, "!$omp parallel", PARALLEL, OPENMP)
    named = (
        ("critical a", critical),
        ("block a", block),
        ("barrier", BARRIER),
        ("critical b", critical),
        ("block b", block),
    )
    for row, (name, role) in enumerate(named, 1):
        made.region(row, f"!$omp {name}", role, OPENMP)
    found = [one for one in Trace(made.close()).diagnosis(Selection()).findings if one.kind == "lock"]
    assert {one.region: one.loss_ns for one in found} == {"!$omp critical a": 200, "!$omp critical b": 40}


def test_readers_wait_for_the_writer(tmp_path: Path) -> None:
    """Thread 0 has a lock for writing from 10 to 400 ns. Thread 1 waits 300 ns for it, thread 2 comes later."""
    made, lock = Foreign(tmp_path), (PTHREAD, 7, 1)
    made.events(
        0,
        [
            (0, "Enter", 0),
            (5, "Enter", 1),
            (10, "ThreadAcquireLock", *lock),
            (10, "Leave", 1),
            (399, "Enter", 2),
            (400, "ThreadReleaseLock", *lock),
            (401, "Leave", 2),
            (900, "Leave", 0),
        ],
    )
    for thread, (begin, end) in {1: (100, 405), 2: (402, 500)}.items():
        made.events(thread, [(0, "Enter", 0), (begin, "Enter", 3), (end, "Leave", 3), (900, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=900)
    for thread in range(3):
        made.location(thread)
    made.region(0, "main")
    for row, name in enumerate(("wrlock", "unlock", "rdlock"), 1):
        made.region(row, f"pthread_rwlock_{name}", _otf2.REGION_ROLE_FUNCTION.value, PTHREAD)
    found = told(Trace(made.close()), "lock")
    assert (found.loss_ns, found.ranks) == (300, (0,))
    assert found.text == (
        "thread 1 waits 300 ns for the lock of pthread_rwlock_rdlock in main, once; thread 0 holds it for 390 ns, "
        "at most 390 ns, after pthread_rwlock_wrlock in main"
    )


def of_pthreads(where: Path, events: dict[int, list[Event]], *names: str, sites: tuple[str, ...] = ()) -> Trace:
    """An archive of two threads of a process: regions main, work, then those of POSIX threads. sites: the first
    strings; attribute 0 is the call site of a lock, 1 the number of a condition."""
    made = Foreign(where)
    for thread, each in events.items():
        made.events(thread, each)
    made.begin_definitions()
    for site in sites:
        made.text(site)
    made.machine(length=max(each[-1][0] for each in events.values()))
    for thread in events:
        made.location(thread)
    for row, name in enumerate(("main", "work", *names)):
        made.region(row, name, _otf2.REGION_ROLE_FUNCTION.value, PTHREAD if row > 1 else _otf2.PARADIGM_USER.value)
    for number, name in enumerate((SITE, CONDITION_NUMBER) if sites else ()):
        made.define("Attribute", number, name, "", _otf2.TYPE_UINT64.value)
    return Trace(made.close())


@pytest.mark.parametrize(
    ("call", "certainty"), [("pthread_mutex_lock", EXACT), ("pthread_mutex_trylock", BOUND)], ids=["lock", "tries"]
)
def test_work_between_tries_of_a_lock(call: str, certainty: str, tmp_path: Path) -> None:
    """Thread 0 has the lock until 30 ms. Thread 1 gets it after 25 ms: in one call, or at the last try after work."""
    ms, lock = 10**6, (PTHREAD, 7)
    holds: list[Event] = [
        (1, "Enter", 3), (2, "ThreadAcquireLock", *lock, 1), (2, "Leave", 3),
        (30 * ms, "Enter", 4), (30 * ms, "ThreadReleaseLock", *lock, 1), (30 * ms, "Leave", 4),
    ]  # fmt: skip
    got: list[Event] = [(35 * ms, "ThreadAcquireLock", *lock, 2), (35 * ms, "Leave", 2)]
    tries: list[Event] = [(10 * ms, "Enter", 2), *got]
    if certainty == BOUND:
        tries = [
            event for begin in (10, 18, 26)
            for event in ((begin * ms, "Enter", 2), ((begin + 1) * ms, "Leave", 2), ((begin + 1) * ms, "Enter", 1),
                          ((begin + 8) * ms, "Leave", 1))
        ]  # fmt: skip
        tries += [(34 * ms, "Enter", 2), *got]
    events = {row: [(0, "Enter", 0), *each, (40 * ms, "Leave", 0)] for row, each in enumerate((holds, tries))}
    found = told(of_pthreads(tmp_path, events, call, "pthread_mutex_lock", "pthread_mutex_unlock"), "lock")
    assert (found.loss_ns, found.ranks, found.certainty) == (25 * ms, (0,), certainty)


def test_the_holder_for_most_of_a_wait(tmp_path: Path) -> None:
    """Thread 1 waits from 100 to 310 ns: 200 ns for thread 0, and 10 for thread 2, which waited before it."""
    holds = {0: (0, 5, 300, 1), 2: (50, 300, 310, 2), 1: (100, 310, 320, 3)}
    events: dict[int, list[Event]] = {
        thread: [
            (0, "Enter", 0), (begin, "Enter", 2), (got, "ThreadAcquireLock", PTHREAD, 7, order), (got, "Leave", 2),
            (left, "Enter", 3), (left, "ThreadReleaseLock", PTHREAD, 7, order), (left, "Leave", 3), (400, "Leave", 0),
        ]
        for thread, (begin, got, left, order) in sorted(holds.items())
    }  # fmt: skip
    found = told(of_pthreads(tmp_path, events, "pthread_mutex_lock", "pthread_mutex_unlock"), "lock")
    assert found.loss_ns == 250 + 210
    assert "; thread 0 holds it for 295 ns, at most 295 ns, after" in found.text


def test_how_long_the_named_thread_holds_a_lock(tmp_path: Path) -> None:
    """Thread 1 waits 200 ns for thread 0, and then five times 2 ns for thread 2, which holds the lock for 4 ns."""
    order, (lock, main, got, gives) = 1, (PTHREAD, 0, 2, 3)
    events: dict[int, list[Event]] = {thread: [(0, "Enter", main)] for thread in range(3)}
    for at, holder, held in ((5, 0, 295), *((400 + 50 * n, 2, 4) for n in range(5))):
        asked = 100 if holder == 0 else at + 2
        for thread, since, begin, end in ((holder, at - 1, at, at + held), (1, asked, at + held, at + held + 1)):
            events[thread] += [
                (since, "Enter", got), (begin, "ThreadAcquireLock", lock, 7, order), (begin, "Leave", got),
                (end, "Enter", gives), (end, "ThreadReleaseLock", lock, 7, order), (end, "Leave", gives),
            ]  # fmt: skip
            order += 1
    for each in events.values():
        each.append((900, "Leave", main))
    found = told(of_pthreads(tmp_path, events, "pthread_mutex_lock", "pthread_mutex_unlock"), "lock")
    assert found.loss_ns == 200 + 5 * 2
    assert "; thread 0 holds it for 295 ns, at most 295 ns, after" in found.text


@pytest.mark.parametrize(
    ("caller", "kinds"), [("python get@/home/a/x.py:7", ["lock"]), ("get@/home/a/x.c:7", [])], ids=["Python", "C"]
)
def test_the_first_thread_waits_for_a_lock_of_python(caller: str, kinds: list[str], tmp_path: Path) -> None:
    """Thread 0 waits 500 of 1000 ns for thread 1: for a lock, or for a semaphore because it has nothing else to do."""
    site = f"acquire_timed@/b/Modules/_threadmodule.c:98 <- {caller}"
    waits: list[Event] = [(100, "Enter", 2, {0: 0, 1: 5}), (605, "Leave", 2)]
    posts: list[Event] = [(600, "Enter", 3, {1: 5}), (601, "Leave", 3)]
    events = {row: [(0, "Enter", 0), *each, (1000, "Leave", 0)] for row, each in enumerate((waits, posts))}
    trace = of_pthreads(tmp_path, events, "sem_wait", "sem_post", sites=(site,))
    found = [one for one in trace.diagnosis(Selection()).findings if one.kind in ("lock", "condition")]
    assert [(one.kind, one.loss_ns) for one in found] == [(kind, 500) for kind in kinds]
    for one in found:
        assert one.text.startswith("thread 0 waits 500 ns for the lock of Lock.acquire in get (x.py:7), once; thread 1")


def test_what_the_first_thread_does_before_a_barrier(tmp_path: Path) -> None:
    """All threads sleep 300 ns in inner, in a body that the first thread enters from main; it then packs for 100 ns."""
    made, body, rows = Foreign(tmp_path), 3, []
    for thread, around in enumerate(((0, 2), (2,))):
        met = 400 if thread == 0 else 300
        events: list[Event] = [(0, "Enter", each) for each in (*around, body)]
        events += [(met, "Enter", 1), (400, "Leave", 1)]
        made.events(thread, [*events, *((500, "Leave", each) for each in (body, *reversed(around)))])
        rows.append((thread, 0, 300, "nanosleep@x.c:1 <- inner@/a/x.c:3", (*around, body)))
        rows += [(0, 300, 400, "nanosleep@x.c:1 <- pack@/a/x.c:5", (*around, body))] * (thread == 0)
    made.begin_definitions()
    made.machine(length=500)
    for thread in range(2):
        made.location(thread)
    for row, (name, role) in enumerate({"main": 1, "!$omp barrier": BARRIER, "!$omp parallel": PARALLEL}.items()):
        made.region(row, name, role, OPENMP if row else 1)
    made.region(body, "main._omp_fn.0")
    found = told(asleep(made.close(), *rows), "omp_imbalance")
    assert found.text.endswith("for thread 0, which has more work in pack (x.c:5, asleep in nanosleep)")


def test_barriers_of_nested_teams(tmp_path: Path) -> None:
    """Threads 0 and 2 meet at 100 ns, threads 1 and 3 in the same region: thread 1 waits from 100 to 400 ns."""
    calls = {0: (100, 103), 1: (101, 400), 2: (102, 103), 3: (400, 401)}
    events: dict[int, list[Event]] = {
        thread: [(0, "Enter", 0), (begin, "Enter", 1), (end, "Leave", 1), (500, "Leave", 0)]
        for thread, (begin, end) in calls.items()
    }
    found = told(threads(tmp_path, events, "!$omp barrier", BARRIER, OPENMP), "omp_imbalance")
    assert (found.loss_ns, found.culprit) == (2 + 299, "thread 3")


@pytest.mark.parametrize("late", [1, 3])
def test_a_thread_without_processor_makes_its_inner_team_late(late: int, tmp_path: Path) -> None:
    """Threads 0 and 1 have an inner team each, with threads 2 and 3. One of the second works 200 ns longer: thread
    0 waits 200 ns at the end of the outer region, the other one of the inner team, too. No processor explains both."""
    made, outer, inner = Foreign(tmp_path), 1, 3
    for thread, end in enumerate((120, 320, 120, 320)):
        met, is_outer = 310 if thread == late else 110, thread < 2
        events: list[Event] = [(0, "Enter", 0), *[(1, "Enter", outer)] * is_outer, (10, "Enter", inner)]
        events += [(met, "Enter", 4), (end, "Leave", 4), (end, "Leave", inner)]
        events += [(end, "Enter", 2), (330, "Leave", 2), (330, "Leave", outer)] * is_outer
        made.events(thread, [*events, (400, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=400)
    for thread in range(4):
        made.location(thread)
    made.region(0, "main")
    for row in (outer, inner):
        made.region(row, f"!$omp parallel @a.c:{row}", PARALLEL, OPENMP)
        made.region(row + 1, f"!$omp implicit barrier @a.c:{row}", _otf2.REGION_ROLE_IMPLICIT_BARRIER.value, OPENMP)
    trace = Trace(made.close())
    uneven = [one.loss_ns for one in trace.diagnosis(Selection()).findings if one.kind == "omp_imbalance"]
    assert sum(uneven) == 200 + 200
    without_processor(trace.anchor, (late, 110, 310, 200, "main"))
    kinds = [one.kind for one in Trace(trace.anchor).diagnosis(Selection()).findings]
    assert "omp_imbalance" not in kinds


def test_who_lets_the_signaller_wait(tmp_path: Path) -> None:
    """Thread 2 waits from 100 to 600 ns for thread 0, which waits for thread 1 until 590 ns."""
    site = "loop@/home/a/x.c:7"
    of = {0: [(110, 2, 6), (595, 2, 0), (600, 3, 5)], 1: [(590, 3, 6)], 2: [(100, 2, 5), (605, 2, 0)]}
    events: dict[int, list[Event]] = {}
    for thread, each in of.items():
        events[thread] = [(0, "Enter", 0)]
        for time, called, number in each:
            events[thread] += [(time, "Enter", called, {0: 0, 1: number})] if number else [(time, "Leave", called)]
            events[thread] += [(time + 1, "Leave", called)] if called == 3 else []
        events[thread].append((1000, "Leave", 0))
    found = told(of_pthreads(tmp_path, events, "sem_wait", "sem_post", sites=(site,)), "condition")
    assert (found.loss_ns, found.culprit) == (500, "thread 1, loop (x.c:7)")


@pytest.mark.parametrize("wait", ["pthread_cond_wait", "work"])
def test_the_threads_that_let_a_rank_be_late(wait: str, tmp_path: Path) -> None:
    """Thread 0 of each rank waits for its thread 1, which works 300 ns longer on rank 1, and then for all ranks."""
    made, ends = Foreign(tmp_path), (("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1))
    for rank, late in enumerate((100, 400)):
        met = [(late, "Enter", 2), *((400, *each) for each in ends), (400, "Leave", 2), (400, "Leave", 0)]
        made.events(2 * rank, [(0, "Enter", 0), (0, "Enter", 1), (late, "Leave", 1), *met])
        made.events(2 * rank + 1, [(0, "Enter", 3), (late, "Leave", 3)])
    made.begin_definitions()
    made.machine(groups=2, length=400)
    for location in range(4):
        made.location(location, group=location // 2)
    mpi = _otf2.PARADIGM_MPI.value
    regions = {"main": 1, wait: PTHREAD if wait != "work" else 1, "MPI_Allreduce": mpi, "solve": 1}
    for row, (name, paradigm) in enumerate(regions.items()):
        made.region(row, name, 1, paradigm)
    made.define("Group", 0, "", 4, mpi, 0, [0, 2])
    made.define("Group", 1, "", 5, mpi, 0, [0, 1])
    made.define("Comm", 0, "world", 1, UNDEFINED, 0)
    found = told(Trace(made.close()), "imbalance")
    by_wait = "waits longer for threads in pthread_cond_wait in main, which take longer in solve, than the others"
    assert "  " not in found.text
    assert found.text.startswith(f"rank 1 {by_wait if wait != 'work' else 'takes longer in work in main than'}")


def test_threads_that_call_mpi(tmp_path: Path) -> None:
    """Thread t of rank 0 sends to thread t of rank 1; thread 1 of rank 0 works 300 ns longer before."""
    made = Foreign(tmp_path)
    for thread, late in enumerate((100, 400)):
        sent, got = ("MpiSend", 1, 0, thread, 8), ("MpiRecv", 0, 0, thread, 8)
        send = [(late, "Enter", 1), (late, *sent), (late + 5, "Leave", 1)]
        receive = [(100, "Enter", 2), (late + 5, *got), (late + 5, "Leave", 2)]
        for rank, each in enumerate((send, receive)):
            made.events(2 * rank + thread, [(0, "Enter", 0), *each, (500, "Leave", 0)])
    made.begin_definitions()
    made.machine(groups=2, length=500)
    for location in range(4):
        made.location(location, group=location // 2)
    mpi = _otf2.PARADIGM_MPI.value
    for row, (name, paradigm) in enumerate({"stream": 1, "MPI_Send": mpi, "MPI_Recv": mpi}.items()):
        made.region(row, name, 1, paradigm)
    made.define("Group", 0, "", 4, mpi, 0, [0, 2])
    made.define("Group", 1, "", 5, mpi, 0, [0, 1])
    made.define("Comm", 0, "world", 1, UNDEFINED, 0)
    found = told(Trace(made.close()), "imbalance")
    assert (found.loss_ns, found.culprit) == (300, "rank 0, thread 1, stream")


def test_a_thread_that_waits_in_mpi_lets_its_team_wait(tmp_path: Path) -> None:
    """On rank 1 thread 1 waits in a barrier from 0 to 405 ns for thread 0, which waits 300 of them for rank 0."""
    made = Foreign(tmp_path)
    made.events(0, [(0, "Enter", 0), (400, "Enter", 1), (400, "MpiSend", 1, 0, 0, 8), (405, "Leave", 1),
                    (500, "Leave", 0)])  # fmt: skip
    made.events(1, [(0, "Enter", 4), (100, "Enter", 2), (405, "MpiRecv", 0, 0, 0, 8), (405, "Leave", 2),
                    (405, "Enter", 3), (406, "Leave", 3), (500, "Leave", 4)])  # fmt: skip
    made.events(2, [(0, "Enter", 4), (0, "Enter", 3), (406, "Leave", 3), (500, "Leave", 4)])
    made.begin_definitions()
    made.machine(groups=2, length=500)
    for location, group in enumerate((0, 1, 1)):
        made.location(location, group=group)
    mpi = _otf2.PARADIGM_MPI.value
    for row, (name, paradigm) in enumerate({"main": 1, "MPI_Send": mpi, "MPI_Recv": mpi}.items()):
        made.region(row, name, 1, paradigm)
    made.region(3, "!$omp barrier", BARRIER, OPENMP)
    made.region(4, "!$omp parallel", PARALLEL, OPENMP)
    made.define("Group", 0, "", 4, mpi, 0, [0, 1])
    made.define("Group", 1, "", 5, mpi, 0, [0, 1])
    made.define("Comm", 0, "world", 1, UNDEFINED, 0)
    assert told(Trace(made.close()), "omp_imbalance").loss_ns == 405 - 300


def test_waits_for_a_condition(tmp_path: Path) -> None:
    """Signals are not recorded. Threads 1 and 2 wait for 600 of 1000 ns. Thread 0 may wait for the results of others,
    and thread 3 only waits: neither loses time."""

    def waits(ns: int) -> list[Event]:
        return [(0, "Enter", 0), (0, "Enter", 1), (ns, "Leave", 1), (1000, "Leave", 0)]

    events = {0: waits(600), 1: waits(600), 2: waits(600), 3: waits(1000)}
    function = _otf2.REGION_ROLE_FUNCTION.value
    found = told(threads(tmp_path, events, "pthread_cond_wait", function, PTHREAD), "condition")
    assert (found.loss_ns, found.culprit) == (2 * 600, "")
    assert found.text == "2 threads wait 1.2 us in pthread_cond_wait in main, 2 times, for a signal from others"


@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "asleep"])
@pytest.mark.parametrize(("waits", "rest"), [(0, 300), (200, 100), (300, None)])
def test_the_last_thread_waits_for_locks(waits: int, rest: int | None, is_recorded: bool, tmp_path: Path) -> None:
    """Thread 1 ends 300 ms before thread 2, which waits for a part of this time for a semaphore or asleep."""
    ms, made = 10**6, Foreign(tmp_path)
    joins: list[Event] = [
        event for thread in (1, 2) for event in
        ((700 + thread, "Enter", 1), (700 + thread, "ThreadWait", UNDEFINED, thread), (701 + thread, "Leave", 1))
    ]  # fmt: skip
    waited: list[Event] = [(100, "Enter", 2), (100 + waits, "Leave", 2)] if waits and is_recorded else []
    for thread, (inside, end) in enumerate(zip((joins, [], waited), (800, 400, 700), strict=True)):
        around = ("ThreadBegin", UNDEFINED, thread), ("ThreadEnd", UNDEFINED, thread)
        each = [(0, *around[0]), (0, "Enter", 0), *inside, (end, "Leave", 0), (end, *around[1])]
        made.events(thread, [(time * ms, *event) for time, *event in each])
    made.begin_definitions()
    made.machine(length=800 * ms)
    for thread in range(3):
        made.location(thread)
    made.region(0, "main")
    made.region(1, "pthread_join", _otf2.REGION_ROLE_THREAD_WAIT.value, PTHREAD)
    made.region(2, "sem_wait", _otf2.REGION_ROLE_FUNCTION.value, PTHREAD)
    trace = Trace(made.close())
    if waits and not is_recorded:
        values = {"from": 100 * ms, "to": (100 + waits) * ms, "ns": waits * ms, "region": 0, "count": 1, "path": 0,
                  "location": 2, "site": 0}  # fmt: skip
        table = {name: np.full(1, value, np.uint64) for name, value in values.items()}
        asleep = sidecar.SidecarTable(table, {"site": ["sem_wait@x.c:1 <- take@/a/x.c:3"]})
        sidecar.write(trace.anchor.parent, *sidecar.BLOCKED, sidecar.identity(trace.anchor, trace.properties), asleep)
    found = [one for one in Trace(trace.anchor).diagnosis(Selection()).findings if one.kind == "thread_imbalance"]
    certainty = "estimate" if waits else "exact"
    assert [(one.loss_ns, one.certainty) for one in found] == ([(rest * ms, certainty)] if rest else [])


@pytest.mark.parametrize("waited", [0, 80])
def test_threads_that_have_a_location_one_after_the_other(waited: int, tmp_path: Path) -> None:
    """Twice a thread in location 2 sleeps for 400 ms, one in location 1 for 100. Location 1 has a thread until 1 s. The
    first thread in location 2 may wait for a processor, which is no wait of the second one."""
    ms, made = 10**6, Foreign(tmp_path)
    lives = ((1, 1, 0, 100), (2, 2, 0, 400), (3, 1, 500, 600), (4, 2, 500, 900), (5, 1, 950, 1000))
    joins: list[Event] = []
    for thread, joined in enumerate((401, 402, 901, 902, 1001), 1):
        joins += [(joined, "Enter", 0), (joined, "ThreadWait", UNDEFINED, thread), (joined + 1, "Leave", 0)]
    made.events(0, [(time * ms, *event) for time, *event in joins])
    for location in (1, 2):
        around = [
            event for thread, at, begin, end in lives if at == location
            for event in ((begin * ms, "ThreadBegin", UNDEFINED, thread), (end * ms, "ThreadEnd", UNDEFINED, thread))
        ]  # fmt: skip
        made.events(location, around)
    made.begin_definitions()
    made.machine(length=1002 * ms)
    for location in range(3):
        made.location(location)
    made.region(0, "pthread_join", _otf2.REGION_ROLE_THREAD_WAIT.value, PTHREAD)
    site = "nanosleep@x.c:1 <- search@/a/x.c:3"
    slept = asleep(made.close(), *((at, begin * ms, end * ms, site, ()) for _, at, begin, end in lives))
    if waited:
        without_processor(slept.anchor, (2, 0, 100 * ms, waited * ms))
    found = told(Trace(slept.anchor), "thread_imbalance")
    assert found.loss_ns == (2 * 300 - waited) * ms
    assert "which has more work in search (x.c:3, asleep in nanosleep): pthread_join" in found.text


def test_the_same_thread_of_each_rank(tmp_path: Path) -> None:
    """In each of two ranks thread 0 waits 300 ns for thread 1: no thread is waited for most of the time, but thread 1
    of each rank is. In a third rank two threads wait for one another."""
    made = Foreign(tmp_path)
    begins = {0: (100, 400), 1: (100, 400), 2: (100, 110)}
    for rank, each in begins.items():
        for thread, begin in enumerate(each):
            events = [(0, "Enter", 0), (begin, "Enter", 1), (400, "Leave", 1), (500, "Leave", 0)]
            made.events(2 * rank + thread, events)
    made.begin_definitions()
    made.machine(groups=3, length=500)
    for rank in begins:
        for thread in range(2):
            made.define("Location", 2 * rank + thread, f"Thread {thread}", 1, 0, rank)
    made.region(0, "main")
    made.region(1, "!$omp barrier", BARRIER, OPENMP)
    found = told(Trace(made.close()), "omp_imbalance")
    assert (found.loss_ns, found.culprit) == (610, "Thread 1 of process 0, process 1")
    assert found.text.endswith("most of it for Thread 1 of process 0, process 1, which have more work")
