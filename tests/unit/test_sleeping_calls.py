# SPDX-License-Identifier: BSD-3-Clause
"""Calls in which threads sleep: their names, and for whom they wait."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import Foreign
from vtrace.analysis.findings.sleeping_calls import longer_sleep, sleeping_call
from vtrace.analysis.processor_waits import BlockedTimes
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.sidecar import sidecar

COMPILER = _otf2.PARADIGM_COMPILER.value
NAP = "clock_nanosleep@sysdeps/unix/clock_nanosleep.c:34 <- time_sleep@/b/Modules/timemodule.c:9 <- "
LOCK = "sem_wait@nptl/sem_wait.c:25 <- acquire_timed@/b/Modules/_threadmodule.c:98 <- python get@/home/a/x.py:7"
TIMED = LOCK.replace("sem_wait@", "sem_clockwait@")
GIL = "pthread_cond_timedwait@nptl/w.c:6 <- take_gil@/b/Python/condvar.h:73 <- thread_run@/b/Modules/_threadmodule.c:1"
SHARED = LOCK.replace("_threadmodule.c", "_multiprocessing/semaphore.c")
LOST = "python [unknown Python function]@:0 <- pymain_run_python@/b/Modules/main.c:3"


@pytest.mark.parametrize(
    ("site", "call"),
    [
        (f"{NAP}python fetch@/home/a/bin/solve:5 <- python <module>@/home/a/bin/solve:9",
         "time.sleep, called by fetch (solve:5)"),
        (f"{NAP}{LOST}", None),
        (f"{NAP}python get@/usr/lib/python3.11/queue.py:7 <- {LOST}", None),
        ("nanosleep@x.c:1 <- rest@/home/a/Modules/rest.c:3 <- python fetch@/home/a/x.py:5",
         "nanosleep, called by fetch (x.py:5)"),
        ("nanosleep@x.c:1 <- rest@/home/a/Python/heat.c:3", "nanosleep, called by rest (heat.c:3)"),
        (GIL, None), (f"{NAP}start_thread@nptl/pthread_create.c:442", None),
        ("__libc_recv@x.c:1 <- take@/home/a/x.c:3", "recv, called by take (x.c:3)"),
        ("__GI___libc_recv@x.c:1 <- take@/home/a/x.c:3", "recv, called by take (x.c:3)"),
        ("__new_sem_wait@x.c:1 <- take@/home/a/x.c:3", "sem_wait, called by take (x.c:3)"),
        ("syscall until a time@x.S:1 <- take@/home/a/x.c:3", "futex until a time, called by take (x.c:3)"),
    ],
)  # fmt: skip
def test_names_of_calls(site: str, call: str | None) -> None:
    """A function of Python is known by its mark, a file of the interpreter by its name."""
    found = sleeping_call(tuple(site.split(" <- ")))
    assert (str(found) if found else None) == call


def test_the_line_where_some_threads_sleep_longer() -> None:
    """All threads sleep at line 20, thread 1 at line 21, too."""
    sites = [("usleep@x.c:1", f"rest@/a/x.f90:{line}") for line in (20, 20, 21)]
    times = cast("BlockedTimes", SimpleNamespace(location=np.array([0, 1, 1]), sites=sites))
    found = longer_sleep(times, np.array([50.0, 55.0, 100.0]), [1], [0], difference=100)
    assert found
    assert str(found) == "usleep, called by rest (x.f90:21)"


FUTEX, READS = "syscall@x.S:38 <- take@/a/x.c:3", "pthread_rwlock_clockrdlock@x.c:1 <- take@/a/x.c:3"
OF_SEVERAL = "sem_wait for another process@nptl/sem_wait.c:25 <- take@/a/x.c:3"


def asleep(where: Path, *sites: str, region: str = "main", paradigm: int = COMPILER) -> Trace:
    """A process whose threads each sleep in a call from 100 to 900 ms of 1 s. region: the recorded function."""
    made, ms = Foreign(where), 10**6
    for thread in range(len(sites)):
        made.events(thread, [(0, "Enter", 0), (1000 * ms, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=1000 * ms)
    for thread in range(len(sites)):
        made.location(thread)
    made.region(0, region, _otf2.REGION_ROLE_FUNCTION.value, paradigm)
    anchor = made.close()
    texts = sorted({*sites})
    columns = {"from": 100 * ms, "to": 900 * ms, "ns": 800 * ms, "region": 0, "count": 1, "path": 0}
    table = {name: np.full(len(sites), value, np.uint64) for name, value in columns.items()}
    table["location"] = np.arange(len(sites), dtype=np.uint64)
    table["site"] = np.array([texts.index(site) for site in sites], np.uint64)
    identity = sidecar.identity(anchor, Trace(anchor).properties)
    sidecar.write(anchor.parent, *sidecar.BLOCKED, identity, sidecar.SidecarTable(table, {"site": texts}))
    return Trace(anchor)


def test_for_whom_calls_wait(tmp_path: Path) -> None:
    """Of a call that ends at a time nothing tells what has ended it."""
    until = FUTEX.replace("@", " until a time@", 1)
    sites = (LOCK, TIMED, GIL, SHARED, "__new_sem_wait@x.c:1 <- take@/a/x.c:3", FUTEX, until, READS, OF_SEVERAL)
    times = BlockedTimes(asleep(tmp_path, *sites))
    assert times.is_for_thread.tolist() == [True, True, True, False, True, True, True, True, False]
    assert times.is_timed.tolist() == [False, True, True, False, False, False, True, True, False]
    assert times.is_for_process.tolist() == [False, False, False, True, False, False, False, False, True]


SLEEP = f"{NAP}python beat@/home/a/x.py:3"


@pytest.mark.parametrize(
    ("sites", "culprit"),
    [
        ((LOCK, SLEEP), "thread 1, time.sleep, called by beat (x.py:3)"), ((TIMED, SLEEP), ""),
        ((GIL, SLEEP), "thread 1, time.sleep, called by beat (x.py:3)"), ((SHARED, SLEEP), ""), ((SHARED, LOCK), ""),
        ((OF_SEVERAL, SLEEP), ""), ((OF_SEVERAL, LOCK), ""),
        ((FUTEX, SLEEP), "thread 1, time.sleep, called by beat (x.py:3)"),
        ((TIMED, LOCK), "thread 0, Lock.acquire, called by get (x.py:7)"), ((LOCK, TIMED), ""), ((TIMED, TIMED), ""),
        ((SLEEP, TIMED, LOCK), "thread 0, time.sleep, called by beat (x.py:3)"),
    ],
    ids=[
        "lock", "timed", "gil", "shared", "alone", "several", "alone2", "futex", "first", "second", "both", "sleep",
    ],
)  # fmt: skip
def test_who_is_waited_for(tmp_path: Path, sites: tuple[str, ...], culprit: str) -> None:
    """A thread that sleeps is late only if others clearly wait for threads of the process."""
    found = asleep(tmp_path, *sites).diagnosis(Selection()).findings
    assert [one.culprit for one in found if one.kind == "blocked"] == [culprit] * bool(culprit)


@pytest.mark.parametrize(("region", "is_told"), [("waitpid", True), ("main", False)])
def test_processes_without_records(tmp_path: Path, region: str, is_told: bool) -> None:
    """A process waits for another one, of which nothing is known."""
    told = asleep(tmp_path, "", region=region, paradigm=_otf2.PARADIGM_NONE.value).diagnosis(Selection()).to_record
    assert ("thread 0 waits 800 ms for processes of which nothing was recorded" in told) == is_told


def test_started_processes_without_records(tmp_path: Path) -> None:
    """Of a process that starts another one without records nothing tells if this one runs while all threads sleep."""
    found = asleep(tmp_path, NAP + "python beat@/home/a/x.py:3", region="fork", paradigm=_otf2.PARADIGM_NONE.value)
    told = found.diagnosis(Selection())
    assert not [one for one in told.findings if one.kind == "blocked"]
    assert told.to_record.startswith("nothing was recorded of 1 started process: those of Python need vtrace run")
