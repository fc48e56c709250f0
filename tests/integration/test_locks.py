# SPDX-License-Identifier: BSD-3-Clause
"""Locks, conditions and barriers of POSIX and C11, which VT_PTHREAD=locks records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import record, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, call

LOCKS = {"VT_PTHREAD": "locks"}
TURNS = 50
OTHERS = {
    "pthread_rwlock_rdlock": 1, "pthread_rwlock_clockrdlock": 1, "pthread_rwlock_tryrdlock": 1,
    "pthread_rwlock_wrlock": 1, "pthread_rwlock_clockwrlock": 1, "pthread_rwlock_trywrlock": 1,
    "pthread_rwlock_unlock": 4, "pthread_spin_lock": 1, "pthread_spin_trylock": 2, "pthread_spin_unlock": 2,
    "sem_wait": 2, "sem_trywait": 1, "sem_timedwait": 1, "sem_clockwait": 1, "sem_post": 1,
}  # fmt: skip


@pytest.fixture(scope="module", params=["gcc", "clang"])
def locking(request: pytest.FixtureRequest, build: Builder) -> Path:
    return build("locking.c", compiler=request.param, flags=("-O1", "-pthread"))


def held(trace: Trace) -> dict[int, list[tuple[str, int, int]]]:
    """The events of each lock (kind, acquisition order, location), in order of time."""
    found: dict[int, list[tuple[str, int, int]]] = {}
    for event in trace.events:
        if event.kind in ("ThreadAcquireLock", "ThreadReleaseLock"):
            assert event.attrs["model"] == "PTHREAD"
            entry = (event.kind, event.attrs["acquisition_order"], event.location)
            found.setdefault(event.attrs["lock_id"], []).append(entry)
    return found


def test_locks(locking: Path, tmp_path: Path) -> None:
    trace = record(locking, tmp_path, str(TURNS), env=LOCKS)
    calls = trace.entered()
    waits = calls["pthread_cond_wait"]
    assert calls == {
        "main": 1, "pthread_create": 2, "pthread_join": 2, "pthread_barrier_wait": 3, "pthread_cond_wait": waits,
        "pthread_mutex_lock": 2 * TURNS + 3, "pthread_mutex_unlock": 2 * TURNS + 4, "pthread_mutex_trylock": 2,
        "pthread_cond_broadcast": 2 * TURNS, "mtx_lock": 1, "mtx_unlock": 1, **OTHERS,
    }  # fmt: skip
    assert trace.region("pthread_barrier_wait").role == "BARRIER"
    every = held(trace)
    assert sorted(len(one) for one in every.values()) == [2, 2, 2, 4, 4, 2 * (2 * TURNS + waits)]
    for one in every.values():
        assert [(kind, order) for kind, order, _ in one] == [
            (kind, n) for n in range(1, len(one) // 2 + 1) for kind in ("ThreadAcquireLock", "ThreadReleaseLock")
        ]
        assert [location for *_, location in one[::2]] == [location for *_, location in one[1::2]]


def test_off_by_default(locking: Path, tmp_path: Path) -> None:
    trace = record(locking, tmp_path, str(TURNS))
    assert trace.entered() == {"main": 1, "pthread_create": 2, "pthread_join": 2}
    assert held(trace) == {}


def test_libraries_and_cpp(build: Builder, tmp_path: Path) -> None:
    program = build("cppthread.cc", compiler="g++", flags=("-O1", "-std=c++17", "-pthread"))
    trace = record(program, tmp_path, env=LOCKS)
    assert trace.entered()["pthread_cond_broadcast"] == 2
    assert {len(one) % 2 for one in held(trace).values()} == {0}


def test_preloaded_python(tmp_path: Path) -> None:
    """vtrace preloaded into Python, which locks before and after all other events and in every thread."""
    library = next(BIN.parent.glob("lib/python*/site-packages/vtrace/_lib/libvtrace.so.1"))
    code = "import threading as t; c = t.Condition(); n = []; x = t.Thread(target=n.append, args=(1,)); c.acquire(); "
    code += "x.start(); c.wait(0.01); x.join(); print(n)"
    env = {"LD_PRELOAD": str(library), "VT_PTHREAD": "locks", "VT_FILE_PREFIX": "py", "VT_BUFFER_SIZE": "64M"}
    assert call([(BIN / "python").resolve(), "-c", code], tmp_path, env).stdout == "[1]\n"
    unify(tmp_path, "py")
    assert Counter(check(tmp_path / "py.trace").entered())["pthread_create"] == 1


def test_results_are_the_same(build: Builder, tmp_path: Path) -> None:
    program = build("locking.c", flags=("-O1", "-pthread"), plain=True)
    library = next(BIN.parent.glob("lib/python*/site-packages/vtrace/_lib/libvtrace.so.1"))
    assert run(program, tmp_path, "500", env={"LD_PRELOAD": str(library), **LOCKS}).stdout == "1000\n"


def posted(build: Builder, where: Path, what: str) -> tuple[str, list[bool]]:
    """The output, without warnings, and whether each sem_post tells for which waits it is."""
    program = build("posts.c", flags=("-O1", "-pthread", "-rdynamic"), plain=True)
    done = vtrace(where, "run", "-o", "t", program, what, env=LOCKS)
    unify(where, "t")
    trace = check(where / "t.trace")
    calls = [one for one in trace.events if one.kind == "Enter" and trace.region_of(one).name == "sem_post"]
    return done.stdout + done.stderr, ["condition" in one.more for one in calls]


def test_many_semaphores(build: Builder, tmp_path: Path) -> None:
    """Only those that a thread waits for need room."""
    output, calls = posted(build, tmp_path, "many")
    assert len(calls) == 300_000
    assert "locks" not in output


def test_cancelled_wait(build: Builder, tmp_path: Path) -> None:
    """Nobody waits any more."""
    assert posted(build, tmp_path, "cancel")[1] == [False]
    trace = check(tmp_path / "t.trace")
    waits = [one for one in trace.events if one.kind == "Enter" and trace.region_of(one).name == "sem_wait"]
    assert any("condition" in one.more for one in waits)


def test_post_in_a_handler(build: Builder, tmp_path: Path) -> None:
    """The interrupted thread may have the loader's lock."""
    output, calls = posted(build, tmp_path, "handler")
    assert output.splitlines()[0] == "0"
    assert len(calls) == 20
    assert any(calls)
