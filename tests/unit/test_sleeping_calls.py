# SPDX-License-Identifier: BSD-3-Clause
"""Calls in which threads sleep: their names, and for whom they wait."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.diagnosed import asleep as slept
from vtrace.analysis.call_sites import Site, site_of, sites_of
from vtrace.analysis.findings.sleeping_calls import lock_call, longer_sleep, sleeping_call, with_python
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


def test_the_calls_of_the_program() -> None:
    """Calls without a line count, those of libraries, headers of C++ and code without a name do not."""
    others = "futex@libc.so.6+0x9 <- [heat+0x5]@heat+0x5 <- push@/usr/include/c++/12/x.h:3 <- "
    assert sites_of(f"{others}work@heat+0x12 <- main@/a/heat.c:9") == [Site("work", ""), Site("main", "/a/heat.c:9")]
    assert site_of(others) is None


@pytest.mark.parametrize(
    ("site", "call"),
    [
        (f"{NAP}python fetch@/home/a/bin/solve:5 <- python <module>@/home/a/bin/solve:9",
         "time.sleep, called by fetch (solve:5)"),
        (f"{NAP}{LOST}", None),
        (f"{NAP}python get@/usr/lib/python3.11/queue.py:7 <- {LOST}", None),
        (f"{NAP}python Queue.get@/usr/lib/python3.11/queue.py:7 <- python _worker@/usr/lib/python3.11/concurrent/"
         "thread.py:81 <- python Thread.run@/usr/lib/python3.11/threading.py:9 <- python Thread._bootstrap@/usr/lib/"
         "python3.11/threading.py:8", "time.sleep, called by _worker (thread.py:81)"),
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


def test_a_part_of_a_function_is_not_called_by_it() -> None:
    """The compiler has moved the call to work.part.0, and inlined the rest into step."""
    found = sleeping_call(("usleep@x.c:1", "work@/a/x.c:3", "work@/a/x.c:2", "step@/a/x.c:9", "main@/a/x.c:12"))
    assert found
    assert found.text == "work (x.c:3, called by step, asleep in usleep)"


@pytest.mark.parametrize("outermost", ["main", "MAIN__"])
def test_the_outermost_function_is_no_caller_to_tell(outermost: str) -> None:
    found = sleeping_call(("nanosleep@x.c:1", "rest@/a/x.f90:3", f"{outermost}@/a/x.f90:9"))
    assert found
    assert found.text == "rest (x.f90:3, asleep in nanosleep)"


def test_the_line_where_some_threads_sleep_longer() -> None:
    """All threads sleep at line 20, thread 1 at line 21, too."""
    sites = [("usleep@x.c:1", f"rest@/a/x.f90:{line}") for line in (20, 20, 21)]
    times = cast("BlockedTimes", SimpleNamespace(location=np.array([0, 1, 1]), sites=sites))
    found = longer_sleep(times, np.array([50.0, 55.0, 100.0]), [1], [0], difference=100)
    assert found
    assert str(found) == "usleep, called by rest (x.f90:21)"


def test_the_caller_that_sleeps_longer() -> None:
    """All functions sleep in pause, which they call by work; react sleeps longer on thread 1."""
    sites = [("usleep@x.c:1", "pause@/a/x.c:3", "work@/a/x.c:5", f"{name}@/a/x.c:9") for name in ("react", "move")] * 2
    times = cast("BlockedTimes", SimpleNamespace(location=np.array([0, 0, 1, 1]), sites=sites))
    found = longer_sleep(times, np.array([50.0, 50.0, 150.0, 50.0]), [1], [0], difference=100)
    assert found
    assert found.text == "pause (x.c:3, called by work in react, asleep in usleep)"


FUTEX, READS = "syscall@x.S:38 <- take@/a/x.c:3", "pthread_rwlock_clockrdlock@x.c:1 <- take@/a/x.c:3"
OF_SEVERAL = "sem_wait for another process@nptl/sem_wait.c:25 <- take@/a/x.c:3"


def asleep(
    where: Path,
    *sites: str,
    region: str = "main",
    paradigm: int = COMPILER,
    until: tuple[int, ...] = (),
    compiled: tuple[str, ...] = (),
    first_ends: int = 1000,
) -> Trace:
    """A process whose threads each sleep in a call from 100 to 900 ms of 1 s. region: the recorded function. until: the
    ends (ms) of the sleep of the threads, if they differ. compiled: more functions, of vtrace-cc. first_ends: the last
    event (ms) of the first thread."""
    made, ms = Foreign(where), 10**6
    for thread in range(len(sites)):
        made.events(thread, [(0, "Enter", 0), ((1000 if thread else first_ends) * ms, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=1000 * ms)
    for thread in range(len(sites)):
        made.location(thread)
    made.region(0, region, _otf2.REGION_ROLE_FUNCTION.value, paradigm)
    for row, name in enumerate(compiled, 1):
        made.region(row, name, _otf2.REGION_ROLE_FUNCTION.value, COMPILER)
    anchor = made.close()
    texts = sorted({*sites})
    columns = {"from": 100 * ms, "to": 900 * ms, "ns": 800 * ms, "region": 0, "count": 1, "path": 0}
    table = {name: np.full(len(sites), value, np.uint64) for name, value in columns.items()}
    table["location"] = np.arange(len(sites), dtype=np.uint64)
    if until:
        table["to"] = np.array(until, np.uint64) * ms
        table["ns"] = table["to"] - table["from"]
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
    assert times.is_for_data.tolist() == [False] * len(sites)


@pytest.mark.parametrize(
    ("site", "is_told"), [(GIL, True), ("pthread_cond_wait@nptl/w.c:6", False)], ids=["python", "library"]
)
def test_who_waits_for_the_interpreter(tmp_path: Path, site: str, is_told: bool) -> None:
    """A library's own thread waits for work; the stack ends in libc, since the library tells no callers."""
    found = asleep(tmp_path, NAP + "python beat@/home/a/x.py:3", site).diagnosis(Selection()).findings
    assert ("interpreter_lock" in {one.kind for one in found}) == is_told


@pytest.mark.parametrize(
    ("function", "is_data"),
    [("read", True), ("__read_chk", True), ("recvmsg", True), ("poll", True), ("ppoll", True), ("pselect", True),
     ("epoll_wait", True), ("usleep", False), ("clock_nanosleep", False), ("pause", False)],
)  # fmt: skip
def test_calls_that_wait_for_data(tmp_path: Path, function: str, is_data: bool) -> None:
    times = BlockedTimes(asleep(tmp_path, f"{function}@x.c:1 <- fetch@/a/x.c:3", ""))
    assert times.is_for_data.tolist() == [is_data, True]


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


@pytest.mark.parametrize(
    "inside",
    [
        "wait@/usr/include/c++/12/bits/atomic_wait.h:108",
        "std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned int*)@libstdc++.so.6+0xd1c08",
    ],
    ids=["atomic", "future"],
)
def test_atomic_variables_of_cxx_are_for_threads(inside: str, tmp_path: Path) -> None:
    """libstdc++ waits by futexes that processes could share."""
    waits = f"syscall{sidecar.SHARED}@x.S:1 <- {inside} <- run@/a/x.cpp:9"
    times = BlockedTimes(asleep(tmp_path, waits, waits.replace("atomic_", "other_")))
    assert times.is_for_thread.tolist() == [True, False]
    assert times.is_for_process.tolist() == [False, True]


@pytest.mark.parametrize(("region", "is_told"), [("waitpid", True), ("main", False)])
def test_processes_without_records(tmp_path: Path, region: str, is_told: bool) -> None:
    """A process waits for another one, of which nothing is known."""
    told = asleep(tmp_path, "", region=region, paradigm=_otf2.PARADIGM_NONE.value).diagnosis(Selection()).to_record
    assert ("thread 0 waits 800 ms for processes of which nothing was recorded" in told) == is_told


@pytest.mark.parametrize("compiled", [(), ("serve",)], ids=["plain", "vtrace-cc"])
def test_what_records_a_process(tmp_path: Path, compiled: tuple[str, ...]) -> None:
    """A program of vtrace-cc may start processes whose functions are inlined."""
    none = _otf2.PARADIGM_NONE.value
    told = asleep(tmp_path, "", region="waitpid", paradigm=none, compiled=compiled).diagnosis(Selection()).to_record
    assert told.endswith("inlined functions __attribute__((noinline))") == bool(compiled)


def test_started_processes_without_records(tmp_path: Path) -> None:
    """Of a process that starts another one without records nothing tells if this one runs while all threads sleep."""
    found = asleep(tmp_path, NAP + "python beat@/home/a/x.py:3", region="fork", paradigm=_otf2.PARADIGM_NONE.value)
    told = found.diagnosis(Selection())
    assert not [one for one in told.findings if one.kind == "blocked"]
    assert told.to_record.startswith("nothing was recorded of 1 started process: those of Python need vtrace run")


READ, WAITPID, NAPS = (
    "read@io/read.c:26 <- fetch@/a/x.c:7",
    "waitpid@w.c:3 <- run@/a/x.c:9",
    "usleep@u.c:3 <- rest@/a/x.c:4",
)
COMMAND = "nanosleep@n.c:25 <- __libc_start_call_main@l.h:58 <- __libc_start_main@l.c:360"
"""The stack of a stripped program."""


def processes(
    where: Path, *asleep: tuple[int, int, int, str], lives: tuple[tuple[int, int], ...], silent: int = 0,
    waits_in: str = "waitpid",
) -> list[str]:  # fmt: skip
    """The texts of findings about sleep. Each process is the child of the one before. asleep: process, begin, end (ms),
    call; that of WAITPID is in a recorded call. lives: first and last event (ms) of each process. silent: the number of
    more processes, of which nothing was recorded."""
    made, ms = Foreign(where), 10**6
    for number, (first, last) in enumerate(lives):
        waits = [one[1:3] for one in asleep if one[0] == number and one[3] == WAITPID]
        calls = [event for begin, end in waits for event in ((begin * ms, "Enter", 1), (end * ms, "Leave", 1))]
        main = 2 * number
        made.events(number, [(first * ms, "Enter", main), *calls, (last * ms, "Leave", main)])
    made.begin_definitions()
    made.define("ClockProperties", 10**9, 0, 1000 * ms, 2**64 - 1)
    made.define("SystemTreeNode", 0, "host", "node", UNDEFINED)
    for number in range(len(lives) + silent):
        made.define("LocationGroup", number, f"process {number}", 1, 0, number - 1 if number else UNDEFINED)
    for number in range(len(lives)):
        made.location(number, number)
    for row, name in enumerate(("main", waits_in, "shell")):
        paradigm = _otf2.PARADIGM_NONE.value if row == 1 else COMPILER
        made.region(row, name, _otf2.REGION_ROLE_FUNCTION.value, paradigm)
    times = (
        (row, begin * ms, end * ms, site, () if site == COMMAND else (2 * row, *(1,) * (site == WAITPID)))
        for row, begin, end, site in asleep
    )
    found = slept(made.close(), *times).diagnosis(Selection()).findings
    return [one.text for one in found if one.kind == "blocked"]


def test_a_shell_that_waits_for_an_unrecorded_command(tmp_path: Path) -> None:
    """Process 0 reads what the command writes: something runs meanwhile."""
    asleep, lives = ((0, 100, 900, READ), (1, 100, 900, WAITPID)), ((0, 1000), (0, 1000))
    assert processes(tmp_path / "a", *asleep, lives=lives, silent=1) == []
    (text,) = processes(tmp_path / "b", (0, 100, 900, NAPS), (1, 100, 900, WAITPID), lives=lives)
    assert text == "process 0 sleeps 800 ms in usleep, called by rest (x.c:4), and nothing else runs meanwhile"


def test_a_command_that_sleeps(tmp_path: Path) -> None:
    """The shell waits for a command without names of functions, whose task may be to sleep; a process that no other
    one of the run has started is the program itself."""
    lives = ((0, 1000), (0, 1000))
    assert processes(tmp_path / "a", (0, 100, 900, WAITPID), (1, 100, 900, COMMAND), lives=lives) == []
    assert len(processes(tmp_path / "b", (0, 100, 900, WAITPID), (1, 100, 900, NAPS), lives=lives)) == 1
    assert len(processes(tmp_path / "c", (0, 100, 900, COMMAND), (1, 100, 900, WAITPID), lives=lives)) == 1


def test_a_process_reads_the_data_of_another_one(tmp_path: Path) -> None:
    """The records of the child begin late, and end early."""
    assert processes(tmp_path / "a", (0, 100, 900, READ), lives=((0, 1000), (300, 700))) == []
    assert processes(tmp_path / "b", (0, 100, 900, READ), lives=((0, 1000), (950, 990))) == []
    assert len(processes(tmp_path / "c", (0, 100, 900, NAPS), lives=((0, 1000), (300, 700)))) == 1
    assert len(processes(tmp_path / "d", (0, 100, 900, READ), lives=((0, 1000),))) == 1
    assert processes(tmp_path / "e", (0, 100, 900, READ), lives=((0, 1000),), silent=1) == []


def test_a_process_waits_in_vfork_for_its_child(tmp_path: Path) -> None:
    assert processes(tmp_path, (0, 100, 900, WAITPID), lives=((0, 1000),), silent=1, waits_in="vfork") == []


@pytest.mark.parametrize(("ends", "ms"), [((900, 900, 500), 400), ((900, 300, 500), 200), ((900, 900, 900), 800)])
def test_others_wait_for_a_part_of_the_sleep(tmp_path: Path, ends: tuple[int, ...], ms: int) -> None:
    """Two threads wait until then, from 100 ms on."""
    found = asleep(tmp_path, SLEEP, LOCK, LOCK, until=ends).diagnosis(Selection()).findings
    lost = [(one.text.split(" ", 2)[2], one.loss_ns) for one in found if one.kind == "blocked"]
    told = f"sleeps {ms} ms in time.sleep, called by beat (x.py:3), and nothing else runs meanwhile"
    assert lost == [(told, 2 * ms * 10**6)]


def test_others_wait_for_a_part_of_a_wait_until_a_time(tmp_path: Path) -> None:
    """The first thread may wait for the other one."""
    found = asleep(tmp_path, TIMED, LOCK, until=(900, 500)).diagnosis(Selection()).findings
    assert "blocked" not in {one.kind for one in found}


@pytest.mark.parametrize("ends", [100, 200])
def test_a_first_thread_without_further_records(tmp_path: Path, ends: int) -> None:
    """It may be busy with the end of the process, while another thread sleeps."""
    found = asleep(tmp_path, LOCK, SLEEP, until=(ends, 900), first_ends=ends).diagnosis(Selection()).findings
    assert "blocked" not in {one.kind for one in found}


def test_threads_of_python_wait_for_the_interpreter(tmp_path: Path) -> None:
    """Two of three threads sleep for 800 ms each, in the function that takes the interpreter's lock."""
    waits = GIL.replace("thread_run@", "python count@/home/a/x.py:3 <- thread_run@")
    found = asleep(tmp_path, waits, waits, NAPS).diagnosis(Selection()).findings
    (one,) = (each for each in found if each.kind == "interpreter_lock")
    assert one.loss_ns == 2 * 800 * 10**6
    assert one.text == (
        "2 threads wait 1.6 s for the interpreter's lock, most of it in count (x.py:3): Python runs one at a time"
    )


def test_one_call_is_one_finding(tmp_path: Path) -> None:
    """Two functions call the one that sleeps, while thread 1 waits."""
    sites = [*(f"{SLEEP} <- python {caller}@/home/a/x.py:{line}" for caller, line in (("a", 7), ("b", 9))), LOCK]
    anchor = asleep(tmp_path, *sites[:2]).anchor
    columns = dict.fromkeys(("region", "path"), [0] * 3) | {"location": [0, 0, 1], "count": [1] * 3, "site": [0, 1, 2]}
    for name, ms in {"from": [100, 500, 100], "to": [400, 900, 900], "ns": [300, 400, 800]}.items():
        columns[name] = [10**6 * each for each in ms]
    table = sidecar.SidecarTable({name: np.array(each, np.uint64) for name, each in columns.items()}, {"site": sites})
    sidecar.write(anchor.parent, *sidecar.BLOCKED, sidecar.identity(anchor, Trace(anchor).properties), table)
    found = [one.text for one in Trace(anchor).diagnosis(Selection()).findings if one.kind == "blocked"]
    assert found == ["thread 0 sleeps 700 ms in time.sleep, called by beat (x.py:3), and nothing else runs meanwhile"]


LOOP = "python run@/usr/lib/python3.11/selectors.py:5 <- python _run_once@/usr/lib/python3.11/asyncio/base_events.py:7"


@pytest.mark.parametrize(("inner", "count"), [("", 0), ("python parse@/a/x.py:2 <- ", 1)])
def test_an_event_loop_may_have_nothing_to_do(tmp_path: Path, inner: str, count: int) -> None:
    """A call that sleeps in a task delays all others."""
    found = asleep(tmp_path, f"epoll_wait@x.c:1 <- {inner}{LOOP}").diagnosis(Selection()).findings
    assert [one.kind for one in found].count("blocked") == count


def test_unknown_calls_that_sleep_may_be_io(tmp_path: Path) -> None:
    """The next run may record I/O, which tells more."""
    found = asleep(tmp_path, "").diagnosis(Selection())
    assert "sleeps 800 ms in a call that was not recorded" in found.findings[0].text
    assert "vtrace run --io" in found.to_record


ACQUIRES = "PyThread_acquire_lock_timed@/b/Python/thread_pthread.h:497"
LIBRARY = "python Queue.get@/usr/lib/python3.11/queue.py:154"


@pytest.mark.parametrize(
    ("stack", "callers", "call"),
    [
        ((ACQUIRES,), ("python update@/a/x.py:2",), "Lock.acquire, called by update (x.py:2)"),
        ((ACQUIRES, "_PyEval_EvalFrameDefault@/b/Python/ceval.c:7"), (LIBRARY, "python work@/a/x.py:7"),
         "queue.Queue.get, called by work (x.py:7)"),
        (("take@/home/a/x.c:3",), ("python update@/a/x.py:2",), None), ((ACQUIRES,), (), None),
    ],
    ids=["lock", "queue", "compiled", "unknown"],
)  # fmt: skip
def test_locks_in_recorded_functions_of_python(stack: tuple[str, ...], callers: tuple[str, ...], call: str) -> None:
    """Without samples the interpreter's functions are in the stack, and those of Python in the call path."""
    found = lock_call("sem_wait", with_python(stack, callers))
    assert (str(found) if found else None) == call
