# SPDX-License-Identifier: BSD-3-Clause
"""Threads: their creator, the thread that joins them, their names, and limits on their number."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, call, command, need
from vtrace.analysis.trace import Trace as Archive
from vtrace.io.archive.properties import TID

LIFE = ("ThreadCreate", "ThreadBegin", "ThreadEnd", "ThreadWait")


@pytest.fixture(scope="module", params=["gcc", pytest.param("clang", marks=pytest.mark.full)])
def lives(request: pytest.FixtureRequest, build: Builder) -> Path:
    return build("lives.c", compiler=request.param, flags=("-O1", "-pthread", "-D_GNU_SOURCE"))


def stories(trace: Trace) -> dict[int, list[tuple[str, int]]]:
    """The events of each thread, by its sequence number: kind and location, in order of time."""
    found: dict[int, list[tuple[str, int]]] = {}
    for event in trace.events:
        if event.kind in LIFE:
            assert trace.comms[event.attrs["thread_contingent"]].name.startswith("Threads of ")
            found.setdefault(event.attrs["sequence_count"], []).append((event.kind, event.location))
    return found


def story(creator: int, own: int, waiter: int | None = None) -> list[tuple[str, int]]:
    known = [("ThreadCreate", creator), ("ThreadBegin", own), ("ThreadEnd", own)]
    return known if waiter is None else [*known, ("ThreadWait", waiter)]


def in_any_order(found: dict[int, list[tuple[str, int]]]) -> dict[int, list[tuple[str, int]]]:
    """Two threads begin at the same time, and either one may have location 1: swaps the locations if necessary."""
    swap = {0: 0, 1: 2, 2: 1} if found[1][1] == ("ThreadBegin", 2) else {0: 0, 1: 1, 2: 2}
    return {number: [(kind, swap[location]) for kind, location in one] for number, one in found.items()}


def test_named_threads(lives: Path, tmp_path: Path) -> None:
    trace = record(lives, tmp_path, "join")
    assert in_any_order(stories(trace)) == {1: story(0, 1, 0), 2: story(0, 2, 0)}
    assert {location.name for location in trace.locations.values()} == {"Master thread", "reader", "printer"}
    assert trace.entered() == {"main": 1, "work": 2, "pthread_create": 2, "pthread_join": 2}
    assert (trace.region("pthread_create").role, trace.region("pthread_create").paradigm) == (
        "THREAD_CREATE",
        "PTHREAD",
    )
    assert (trace.region("pthread_join").role, trace.region("pthread_join").paradigm) == ("THREAD_WAIT", "PTHREAD")
    comm = next(iter(trace.comms.values()))
    assert comm.members == (0, 1, 2)
    for number in (1, 2):
        created = next(e.time for e in trace.events if e.kind == "ThreadCreate" and e.attrs["sequence_count"] == number)
        begun = next(e.time for e in trace.events if e.kind == "ThreadBegin" and e.attrs["sequence_count"] == number)
        assert created <= begun


def test_threads_of_one_name(lives: Path, tmp_path: Path) -> None:
    trace = record(lives, tmp_path, "same")
    assert [x.name for _, x in sorted(trace.locations.items())] == ["Master thread", "worker 1", "worker 2", "worker 3"]


EVERY = {
    "detach": ({1: story(0, 1), 2: story(0, 1)}, {"pthread_create": 2, "pthread_detach": 1, "work": 2}),
    "cancel": ({1: story(0, 1, 0)}, {"pthread_create": 1, "pthread_join": 1, "work": 1}),
    "exit": ({1: story(0, 1, 0)}, {"pthread_create": 1, "pthread_join": 1, "work": 1, "deep": 1}),
    "nested": ({1: story(0, 1, 0), 2: story(1, 2, 1)}, {"pthread_create": 2, "pthread_join": 2, "work": 2}),
    "c11": ({1: story(0, 1, 0), 2: story(0, 1)}, {"thrd_create": 2, "thrd_join": 1, "thrd_detach": 1, "work": 2}),
    "late": ({1: story(0, 1, 0)}, {"pthread_create": 1, "pthread_join": 1, "work": 2}),
    "fails": ({1: [("ThreadCreate", 0)]}, {"pthread_create": 1}),
}


@pytest.mark.parametrize("how", EVERY)
def test_every_way(lives: Path, tmp_path: Path, how: str) -> None:
    trace = record(lives, tmp_path, how)
    expected, calls = EVERY[how]
    assert stories(trace) == expected
    assert trace.entered() == calls | {"main": 1}


def test_late_handlers_come_before_the_end(lives: Path, tmp_path: Path) -> None:
    kinds = [event.kind for event in record(lives, tmp_path, "late").of(1)]
    assert kinds == ["ThreadBegin", "Enter", "Leave", "Enter", "Leave", "ThreadEnd"]


def test_tries(lives: Path, tmp_path: Path) -> None:
    trace = record(lives, tmp_path, "try")
    found = stories(trace)
    assert [[kind for kind, _ in one] for one in found.values()] == [list(LIFE)] * 3
    calls = trace.entered()
    assert calls.pop("pthread_tryjoin_np") >= 1
    assert calls == {"main": 1, "work": 3, "pthread_create": 3, "pthread_timedjoin_np": 1, "pthread_clockjoin_np": 1}


def test_thread_made_by_the_kernel_alone(lives: Path, tmp_path: Path) -> None:
    done = run(lives, tmp_path, "clone", code=None)
    if done.returncode == 77:
        pytest.skip("no thread can be made by clone here")
    unify(tmp_path, "lives")
    trace = check(tmp_path / "lives.trace")
    assert (trace.calls(0), trace.calls(1), stories(trace)) == ({"main": 1}, {"work": 1}, {})


def test_thousand_short_threads_share_a_location(lives: Path, tmp_path: Path) -> None:
    trace = record(lives, tmp_path, "short", "1000", env={"VT_MAX_THREADS": "2"})
    assert sorted(trace.locations) == [0, 1]
    assert stories(trace) == {number: story(0, 1, 0) for number in range(1, 1001)}
    assert trace.calls(1) == {"work": 1000}
    properties = Archive(tmp_path / "lives.trace" / "traces.otf2").location_properties
    is_id = (properties["location"] == 1) & np.char.startswith(properties["name"].astype(str), TID)
    assert np.count_nonzero(is_id) == 16, "those of the first threads"


def test_a_location_for_each_thread(lives: Path, tmp_path: Path) -> None:
    env = {"VT_PTHREAD_REUSE": "no", "VT_MAX_THREADS": "2"}
    trace = record(lives, tmp_path, "short", "50", env=env)
    assert stories(trace) == {number: story(0, number, 0) for number in range(1, 51)}
    assert len(trace.locations) == 51, "VT_MAX_THREADS must count only threads that live at the same time"


def test_without_thread_records(lives: Path, tmp_path: Path) -> None:
    trace = record(lives, tmp_path, "join", env={"VT_PTHREAD": "no"})
    assert (stories(trace), trace.comms) == ({}, {})
    assert trace.entered() == {"main": 1, "work": 2}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_std_thread(build: Builder, tmp_path: Path, compiler: str) -> None:
    program = build("cppthread.cc", compiler=compiler, flags=("-O1", "-std=c++17", "-pthread"))
    trace = record(program, tmp_path)
    assert in_any_order(stories(trace)) == {1: story(0, 1, 0), 2: story(0, 2, 0)}
    assert trace.entered(0)["pthread_create"] == trace.entered(0)["pthread_join"] == 2
    assert [trace.entered(location)["work"] for location in (1, 2)] == [5, 5]


def test_preloaded(build: Builder, tmp_path: Path) -> None:
    """A program built without vtrace, with the preloaded runtime."""
    program = build("lives.c", flags=("-O1", "-pthread"), plain=True)
    library = next(BIN.parent.glob("lib/python*/site-packages/vtrace/_lib/libvtrace.so.1"))
    run(program, tmp_path, "nested", env={"LD_PRELOAD": str(library)})
    unify(tmp_path, "lives")
    trace = check(tmp_path / "lives.trace")
    assert stories(trace) == {1: story(0, 1, 0), 2: story(1, 2, 1)}
    assert trace.entered() == {"pthread_create": 2, "pthread_join": 2}


def test_python_threads(tmp_path: Path) -> None:
    library = next(BIN.parent.glob("lib/python*/site-packages/vtrace/_lib/libvtrace.so.1"))
    code = "import threading as t; x = [t.Thread(target=lambda: None) for _ in 'abc']; "
    code += "[y.start() for y in x]; [y.join() for y in x]; print('done')"
    python = (BIN / "python").resolve()
    assert call([python, "-c", code], tmp_path, {"LD_PRELOAD": str(library)}).stdout == "done\n"
    (prefix,) = {name.partition(".uctl")[0] for name in names(tmp_path) if name.endswith(".uctl")}
    unify(tmp_path, "-o", "py", prefix)
    trace = check(tmp_path / "py.trace")
    assert Counter(kind for one in stories(trace).values() for kind, _ in one) == dict.fromkeys(LIFE[:3], 3)


def test_more_threads_than_allowed(build: Builder, tmp_path: Path) -> None:
    """More threads than VT_MAX_THREADS: one line, and the lost events count. Each of two lost threads has a start and
    11 calls."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    done = run(program, tmp_path, "together", "3", "10", env={"VT_MAX_THREADS": "2"})
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["vtrace"] * 3
    assert done.stderr.count("more than 2 threads at once: the others are not recorded; set a larger VT_MAX_THR") == 1
    assert "vtrace: 46 events of rank 0 could not be recorded\n" in done.stderr
    unify(tmp_path, "threads")
    trace = check(tmp_path / "threads.trace", complete=False)
    assert trace.calls(0) == {"main": 1, "work": 10}
    assert trace.calls(1) == {"body": 1, "work": 10}
    assert len(trace.locations) == 2
    assert sum(event.kind == "ThreadCreate" for event in trace.events) == 3


def test_many_locations_are_written_when_their_threads_end(lives: Path, tmp_path: Path) -> None:
    """300 threads need less than 40 MB of buffer, and vtunify needs fewer open files than there are threads."""
    env = {"VT_PTHREAD_REUSE": "no", "VT_FILE_PREFIX": "lives"}
    done = run(lives, tmp_path, "short", "300", env=env, launch=[need("prlimit"), f"--fsize={8 << 20}"])
    assert "grow" not in done.stderr
    call([need("prlimit"), "--nofile=64", *command("vtunify"), "lives"], tmp_path)
    trace = check(tmp_path / "lives.trace")
    assert stories(trace) == {number: story(0, number, 0) for number in range(1, 301)}
    assert [trace.calls(location) for location in range(1, 301)] == [{"work": 1}] * 300


@pytest.mark.full
def test_most_locations(lives: Path, tmp_path: Path) -> None:
    """65 535 threads have their own location; 465 more threads have none, and one line says so."""
    done = run(lives, tmp_path, "short", "66000", env={"VT_PTHREAD_REUSE": "no"}, timeout=600)
    assert done.stderr.count("more than 65535 threads with a location each: the others are not recorded;") == 1
    assert f"vtrace: {465 * 3} events of rank 0 could not be recorded\n" in done.stderr
    assert done.stderr.count("\n") == 3
    call([*command("vtunify"), "lives"], tmp_path, timeout=1200)
    assert {path.name for path in tmp_path.iterdir()} == {"lives.trace"}
    counts = call([*command("vtrace"), "info", "--json", "lives"], tmp_path, timeout=600).stdout
    info = json.loads(counts)
    assert len(info["locations"]) == 65536
    assert info["events"] == {
        "Enter": 2 * 66000 + 65535 + 1, "Leave": 2 * 66000 + 65535 + 1, "ThreadCreate": 66000, "ThreadBegin": 65535,
        "ThreadEnd": 65535, "ThreadWait": 66000,
    }  # fmt: skip
