# SPDX-License-Identifier: BSD-3-Clause
"""What threads do while others wait for them, with losses in closed form."""

from __future__ import annotations

from pathlib import Path

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.diagnosed import Event, asleep, threads, told
from vtrace.analysis.findings.lock_waits import retried
from vtrace.analysis.findings.sync_calls import CALL
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace

BARRIER, OPENMP, PTHREAD = (
    _otf2.REGION_ROLE_BARRIER.value, _otf2.PARADIGM_OPENMP.value, _otf2.PARADIGM_PTHREAD.value,
)  # fmt: skip
MS, MAIN, WAIT = 10**6, 0, 1
REST = "nanosleep@x.c:1 <- rest@/a/x.c:3 <- step@/a/x.c:9 <- main@/a/x.c:20"
OTHER = "nanosleep@x.c:1 <- idle@/a/x.c:5 <- main@/a/x.c:21"


def meetings(late: list[list[int]], count: int) -> dict[int, list[Event]]:
    """Threads that meet in a barrier after each 100 ms; the late ones come after 80 ms, each one 1 ms before
    the one that is named before it, the others after 20 ms."""
    events: dict[int, list[Event]] = {}
    for thread in range(count):
        mine: list[Event] = [(0, "Enter", MAIN)]
        for step, rows in enumerate(late):
            begin = 100 * step
            comes = 80 - rows.index(thread) if thread in rows else 20
            mine += [((begin + comes) * MS, "Enter", WAIT), ((begin + 80) * MS, "Leave", WAIT)]
        events[thread] = [*mine, (100 * len(late) * MS, "Leave", MAIN)]
    return events


def test_the_call_in_which_a_different_thread_is_late_each_time(tmp_path: Path) -> None:
    """Threads 0 and 1 are late in turn, asleep in rest; another call sleeps while nobody waits."""
    trace = threads(tmp_path, meetings([[0], [1]] * 2, 3), "!$omp barrier", BARRIER, OPENMP)
    times = [(step % 2, (100 * step + 20) * MS, (100 * step + 80) * MS, REST, (MAIN,)) for step in range(4)]
    times += [(2, (100 * step) * MS, (100 * step + 20) * MS, OTHER, (MAIN,)) for step in range(4)]
    found = told(asleep(trace.anchor, *times), "omp_imbalance")
    assert found.loss_ns == 4 * 2 * 60 * MS
    assert found.text == (
        "threads wait 480 ms in !$omp barrier: the work in rest (x.c:3, called by step, asleep in nanosleep) is "
        "uneven, for a different thread each time"
    )


def test_threads_that_are_late_together(tmp_path: Path) -> None:
    """Threads 0 and 1 of four are late in each step, one of them by 1 ms more in turn: they hardly wait, the two others
    do."""
    late = meetings([[0, 1], [1, 0]] * 2, 4)
    found = told(threads(tmp_path, late, "!$omp barrier", BARRIER, OPENMP), "omp_imbalance")
    assert (found.loss_ns, found.culprit) == (4 * (2 * 60 + 1) * MS, "thread 0 and thread 1")
    turns = told(
        threads(tmp_path / "b", meetings([[0], [1]] * 2, 3), "!$omp barrier", BARRIER, OPENMP), "omp_imbalance"
    )
    assert "a different thread each time" in turns.text


def test_many_threads_that_are_late_together_are_counted(tmp_path: Path) -> None:
    """Four threads of eight are the last ones in turn."""
    late = meetings([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]], 8)
    found = told(threads(tmp_path, late, "!$omp barrier", BARRIER, OPENMP), "omp_imbalance")
    assert found.culprit == "4 threads"


def test_slow_iterations_are_those_of_the_thread_that_works(tmp_path: Path) -> None:
    """Thread 1 is 60 ms late in steps 4, 9 and 14 of 20; the first thread waits for it then."""
    made, at = Foreign(tmp_path), 0
    events: tuple[list[Event], list[Event]] = ([], [])
    for step in range(20):
        late = 60 if step % 5 == 4 and step < 15 else 0
        for thread, mine in enumerate(events):
            reached = at + 40 + late * thread
            mine += [(at * MS, "Enter", 0), (reached * MS, "Enter", 1), ((at + 40 + late) * MS, "Leave", 1),
                     ((at + 40 + late) * MS, "Leave", 0)]  # fmt: skip
        at += 40 + late
    for thread, mine in enumerate(events):
        made.events(thread, mine)
    made.begin_definitions()
    made.machine(length=at * MS)
    for thread in range(2):
        made.location(thread)
    made.region(0, "step")
    made.region(1, "!$omp barrier", BARRIER, OPENMP)
    found = told(Trace(made.close()), "slow_iterations")
    assert found.culprit == "thread 1, step"


def test_waits_for_a_lock_are_no_slow_iterations(tmp_path: Path) -> None:
    """Thread 0 waits long for a critical region in one of 20 steps, in which thread 1 has it as in all others."""
    made = Foreign(tmp_path)
    mine: list[Event] = [(0, "Enter", 0)]
    for step in range(20):
        begin = 100 * step + 10
        got = begin + (80 if step == 9 else 1)
        mine += [(begin * MS, "Enter", 1), (got * MS, "Enter", 2), ((got + 1) * MS, "Leave", 2)]
        mine += [((got + 1) * MS, "Leave", 1)]
    made.events(0, [*mine, (2000 * MS, "Leave", 0)])
    made.events(1, [(915 * MS, "Enter", 1), (916 * MS, "Enter", 2), (989 * MS, "Leave", 2), (990 * MS, "Leave", 1)])
    made.begin_definitions()
    made.machine(length=2000 * MS)
    for thread in range(2):
        made.location(thread)
    made.region(0, "main")
    made.region(1, "!$omp critical", _otf2.REGION_ROLE_CRITICAL.value, OPENMP)
    made.region(2, "!$omp critical sblock", _otf2.REGION_ROLE_CRITICAL_SBLOCK.value, OPENMP)
    kinds = {one.kind for one in Trace(made.close()).diagnosis(Selection()).findings}
    assert "lock" in kinds
    assert "slow_iterations" not in kinds


@pytest.mark.parametrize("moved", [False, True])
def test_a_call_that_comes_late_makes_no_slow_iteration(moved: bool, tmp_path: Path) -> None:
    """The time from one call to the next is twice as long once; if the next one is as much shorter, nothing is lost."""
    mine: list[Event] = [(0, "Enter", 0)]
    at = 0
    for step in range(20):
        at += 100 + (80 if step == 9 else -80 if step == 10 and moved else 0)
        mine += [(at * MS, "Enter", 1), ((at + 5) * MS, "Leave", 1)]
    trace = threads(tmp_path, {0: [*mine, ((at + 90) * MS, "Leave", 0)]}, "compute", 1, _otf2.PARADIGM_COMPILER.value)
    kinds = {one.kind for one in trace.diagnosis(Selection()).findings}
    assert ("slow_iterations" in kinds) == (not moved)


LOCKED = "nanosleep@x.c:1 <- rest@/a/x.c:3 <- body@/a/x.c:9 <- start_thread@nptl/pthread_create.c:442"


def test_sleep_in_one_call_is_one_finding(tmp_path: Path) -> None:
    """Two threads sleep in turn in one call while the other one waits, each for 100 of 400 ms."""
    events: dict[int, list[Event]] = {row: [(0, "Enter", MAIN), (400 * MS, "Leave", MAIN)] for row in range(2)}
    trace = threads(tmp_path, events, "none", 1, PTHREAD)
    wait = "pthread_mutex_lock@x.c:1 <- body@/a/x.c:8"
    times = [(step % 2, 100 * step * MS, (100 * step + 100) * MS, LOCKED, (MAIN,)) for step in range(4)]
    times += [(1 - step % 2, 100 * step * MS, (100 * step + 100) * MS, wait, (MAIN,)) for step in range(4)]
    found = told(asleep(trace.anchor, *times), "blocked")
    assert found.text == (
        "2 threads sleep 400 ms in nanosleep, called by rest (x.c:3) in body, one at a time, and nothing else runs "
        "meanwhile"
    )
    assert found.loss_ns == 400 * MS


def test_a_process_that_waits_for_an_answer_waits_for_one_that_sleeps(tmp_path: Path) -> None:
    """A client waits in recv for an answer, before which the server sleeps, for 300 of 400 ms."""
    made = Foreign(tmp_path)
    for process in range(2):
        made.events(process, [(0, "Enter", MAIN), (400 * MS, "Leave", MAIN)])
    made.begin_definitions()
    made.define("ClockProperties", 10**9, 0, 400 * MS, 2**64 - 1)
    made.define("SystemTreeNode", 0, "host", "node", UNDEFINED)
    for process in range(2):
        made.define("LocationGroup", process, f"process {process}", 1, 0, UNDEFINED)
        made.location(process, process)
    made.region(MAIN, "main")
    until = 300 * MS
    recv = "__libc_recv@x.c:1 <- ask@/a/x.c:5"
    found = told(asleep(made.close(), (0, 0, until, recv, (MAIN,)), (1, 0, until, REST, (MAIN,))), "blocked")
    assert found.culprit == "process 1, nanosleep, called by rest (x.c:3) in step"
    assert found.loss_ns == until


def test_tries_of_a_lock_until_one_succeeds() -> None:
    """Thread 1 tries three times, gets another lock meanwhile, and gives up between 40 and 80 ms; thread 2 tries
    once."""
    times = [(1, 0, 1), (1, 5, 6), (1, 80, 81), (1, 85, 86), (1, 90, 91), (2, 3, 4)]
    tries = np.zeros(len(times), CALL)
    for row, (location, begin, end) in enumerate(times):
        tries[row]["location"], tries[row]["begin"], tries[row]["end"] = location, begin * MS, end * MS
    got = [(1, 7), (1, 88), (1, 91), (2, 4)]
    acquired = np.array([(0, location, 0, 0, when * MS) for location, when in got], np.int64)
    found = retried(tries, acquired, kind=5)
    assert [tuple(row[name] for name in ("location", "begin", "end", "kind")) for row in found] == [
        (1, 80 * MS, 91 * MS, 5)
    ]


@pytest.mark.parametrize(
    ("ns", "text"), [(999.4e6, "999 ms"), (999.9e6, "1 s"), (1.5e9, "1.5 s"), (4321e9, "4321 s"), (999_999, "1 ms")]
)
def test_times_have_no_exponents(ns: float, text: str) -> None:
    assert span(ns) == text
