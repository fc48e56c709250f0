# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads could run but had no processor: recorded, kept in the sidecar, told as the cause of
losses."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify
from support.build.run import vtrace as command
from support.damage.failing_calls import inject, injected
from support.tools import DEFAULTS, call, need
from vtrace.analysis.findings.sleeping_calls import sleeping_call
from vtrace.analysis.processor_waits import BlockedTimes, ProcessorWaits
from vtrace.analysis.selection import Selection

LEFT_OUT, LATER = 0.003e9, 0.06e9
"""ns of waiting that are left out, since they are short, and that a thread may have after its own question."""
ASLEEP_LEFT_OUT = 0.006e9
"""ns of sleep that are left out, since they are short, such as those of a thread's start."""


def waited(trace: vtrace.Trace, *rows: int) -> float:
    """The ns that locations waited."""
    every = np.ones(trace.regions.rows + 1, bool)
    return float(ProcessorWaits(trace).by_location(regions=every)[[*rows]].sum())


def test_waits_are_those_of_the_kernel(build: Builder, tmp_path: Path) -> None:
    """Two threads on one processor have the waits that the kernel counts for them, at any load, and never sleep."""
    done = call([str(build("one_processor.c", compiler="gcc"))], tmp_path, {"VT_FILE_PREFIX": "one"} | DEFAULTS)
    unify(tmp_path, "one")
    trace = vtrace.open(tmp_path / "one")
    times = sorted(tuple(map(int, line.split())) for line in done.stdout.splitlines())
    assert trace.locations.rows == 3
    rows = sorted((1, 2), key=lambda row: waited(trace, row))  # the thread that was created last may begin first
    for row, (kernel, _, before) in zip(rows, times, strict=True):
        assert kernel - before - LEFT_OUT < waited(trace, row) <= kernel + LATER
    assert waited(trace, 1, 2) > sum(cpu for _, cpu, _ in times) / 4
    assert asleep(trace, 1, 2) < ASLEEP_LEFT_OUT
    waits, (tree, _) = ProcessorWaits(trace), trace.call_tree()
    path = waits.paths(tree)
    assert waits.ns[path >= 0].sum() > 0
    assert np.array_equal(tree["region"][path[path >= 0]], waits.region[path >= 0])


def asleep(trace: vtrace.Trace, *rows: int) -> float:
    """The ns that locations slept."""
    every = np.ones(trace.regions.rows + 1, bool)
    return float(BlockedTimes(trace).by_location(regions=every)[[*rows]].sum())


def test_sleep_is_that_of_the_kernel(build: Builder, tmp_path: Path) -> None:
    """Threads that sleep in nanosleep and in a futex slept as long as the kernel neither ran them nor let them wait."""
    done = call([str(build("asleep.c", compiler="gcc", flags=("-g",)))], tmp_path, {"VT_FILE_PREFIX": "a"} | DEFAULTS)
    unify(tmp_path, "a")
    trace = vtrace.open(tmp_path / "a")
    blocked, (tree, _) = BlockedTimes(trace), trace.call_tree()
    names = np.append(trace.regions["name"], "")[tree["region"]][blocked.paths(tree)]
    for line, place in zip(done.stdout.splitlines(), ("rest", "wait_for_nobody"), strict=True):
        passed, cpu, waited_ns = map(int, line.split())
        mine = (names == place) & (blocked.ns > 25e6)
        assert 9 <= np.count_nonzero(mine) <= 10  # waits before the first reading count as waits in its time
        (row,) = {*blocked.location[mine].tolist()}
        assert passed - cpu - waited_ns - ASLEEP_LEFT_OUT < asleep(trace, row) < passed + ASLEEP_LEFT_OUT
    calls = {sleeping_call(site) for site in blocked.sites} - {None}
    futex = ("futex until a time", "wait_for_nobody")
    assert {(call.sleeps, call.function) for call in calls if call} == {("nanosleep", "rest"), futex}


@pytest.mark.parametrize("mode", ["samples", "functions"])
def test_sleep_of_the_only_thread_is_told(build: Builder, tmp_path: Path, mode: str) -> None:
    """By the function that sleeps, with and without recorded functions; also in a cut, whose sleep is that of the
    window."""
    plain = mode == "samples"
    program = str(build("asleep.c", compiler="gcc", flags=("-g", "-O2"), plain=plain))
    if plain:
        command(tmp_path, "run", "-o", "a", program, "only", env=DEFAULTS)
    else:
        call([program, "only"], tmp_path, {"VT_FILE_PREFIX": "a"} | DEFAULTS)
    unify(tmp_path, "a")
    shown = json.loads(command(tmp_path, "diagnose", "--about", "processor", "--json", "a").stdout)
    found = [one for one in shown["findings"] if one["kind"] == "blocked"]
    assert found, shown["findings"]
    assert sum(one["loss_ns"] for one in found[1:]) < 0.1 * found[0]["loss_ns"]
    assert found[0]["loss_ns"] / found[0]["share"] > 0.35e9  # the program computes for 100 ms after that
    assert "nanosleep, called by rest (asleep.c:" in found[0]["culprit"]
    assert found[0]["loss_ns"] > 0.26e9  # of ten times 30 ms
    times = shown["blocked"]
    places = [row["place"] for row in times if row["time_ns"] > 25e6]
    assert 9 <= len(places) <= 10  # a busy machine may take the processor away while the first times are read
    assert all(place.startswith("nanosleep, called by rest") for place in places)
    assert shown["blocked_by_location"][0]["time_ns"] == pytest.approx(sum(row["time_ns"] for row in times), abs=99)
    _split_of_the_time(tmp_path)
    trace = vtrace.open(tmp_path / "a")
    half = trace.duration // 2
    command(tmp_path, "cut", "a", "--from", f"{half}ns", "-o", "half")
    every, cut = np.ones(trace.regions.rows + 1, bool), vtrace.open(tmp_path / "half")
    assert asleep(cut, 0) == pytest.approx(BlockedTimes(trace).by_location(half, regions=every)[0], abs=2000)
    assert {site for site in BlockedTimes(cut).sites if site} <= {*BlockedTimes(trace).sites}


def test_a_program_that_only_sleeps(tmp_path: Path) -> None:
    """It has no events and hardly a sample: its sleep is its time."""
    command(tmp_path, "run", "-o", "a", need("sleep"), "0.3", env=DEFAULTS)
    unify(tmp_path, "a")
    found = json.loads(command(tmp_path, "diagnose", "--json", "a").stdout)["findings"][0]
    assert (found["kind"], found["loss_ns"] > 0.29e9, found["share"] > 0.7) == ("blocked", True, True)
    assert "nanosleep" in found["culprit"]


def test_a_program_without_any_record(tmp_path: Path) -> None:
    """The archive has the time of its process, and diagnose says how to record more."""
    command(tmp_path, "run", "-o", "a", need("true"), env=DEFAULTS)
    unify(tmp_path, "a")
    assert 0 < vtrace.open(tmp_path / "a").duration < 60e9
    words = " ".join(command(tmp_path, "diagnose", "a").stdout.split())
    assert "nothing was recorded: a short run has no samples; compile with vtrace-cc for functions" in words
    assert "0 threads, 1 ns" not in words


WAYS = {
    "mutex": "pthread_mutex_lock", "cond": "pthread_cond_wait", "sem": "sem_wait", "barrier": "pthread_barrier_wait",
    "read": "pthread_rwlock_rdlock", "write": "pthread_rwlock_wrlock", "futex": "futex",
}  # fmt: skip
"""Functions of libc that wait for another thread, by the way of asleep_locks.cc."""
OTHER_WAYS = {"pipe": "read", "parts": "readv"} | {
    f"shared_{way}": f"{function} for another process" for way, function in WAYS.items()
}
"""Those that may wait for others than threads."""


def some(ways: Iterable[str], *spare: str) -> list[ParameterSet]:
    """Ways, of which only the full tests have the spare ones."""
    return [pytest.param(way, marks=pytest.mark.full if way in spare else ()) for way in ways]


@pytest.mark.parametrize("way", some(WAYS, "barrier", "read", "write"))
def test_sleep_for_another_thread_has_its_call(build: Builder, tmp_path: Path, way: str) -> None:
    """Where locks are not recorded the sleep has the call that waits, and is no work; else the recorded call has it."""
    program = str(build("asleep_locks.cc", compiler="g++", flags=("-g", "-O2", "-pthread"), plain=True))
    command(tmp_path, "run", "-o", "a", program, way, env=DEFAULTS)
    command(tmp_path, "run", "--locks", "-o", "locks", program, way, env=DEFAULTS)
    unify(tmp_path, "a")
    unify(tmp_path, "locks")
    long = {name: _long_sleeps(vtrace.open(tmp_path / name)) for name in ("a", "locks")}
    assert (0, WAYS[way], True) in long["a"]
    assert (1, "nanosleep", False) in long["a"]
    assert not {one for one in long["locks"] if one[1] in WAYS.values() and one[1] != "futex"}


@pytest.mark.parametrize("way", some(OTHER_WAYS, "shared_barrier", "shared_read", "shared_write", "shared_futex"))
def test_sleep_in_calls_that_may_wait_for_others(build: Builder, tmp_path: Path, way: str) -> None:
    """A lock between processes waits for none of the process's threads, and none waits for the thread."""
    program = str(build("asleep_locks.cc", compiler="g++", flags=("-g", "-O2", "-pthread"), plain=True))
    command(tmp_path, "run", "-o", "a", program, way, env=DEFAULTS)
    unify(tmp_path, "a")
    trace = vtrace.open(tmp_path / "a")
    assert (0, OTHER_WAYS[way], False) in _long_sleeps(trace)
    if way.startswith("shared"):
        assert [one for one in trace.diagnosis(Selection()).findings if one.kind == "blocked"] == []


def _long_sleeps(trace: vtrace.Trace) -> set[tuple[int, str, bool]]:
    """Location, function of libc, and if it waits for another thread."""
    times = BlockedTimes(trace)
    mine = [at for at in np.flatnonzero(times.ns > 0.1e9).tolist() if times.sites[at]]
    calls = {at: sleeping_call(times.sites[at]) for at in mine}
    assert all(call and call.function.startswith(("prepare(", "wait_for(")) for call in calls.values()), calls
    return {(int(times.location[at]), call.sleeps, bool(times.is_for_thread[at])) for at, call in calls.items() if call}


def test_a_wait_until_a_time_is_told(build: Builder, tmp_path: Path) -> None:
    """A thread alone waits for nobody in std::condition_variable::wait_for: it sleeps."""
    program = str(build("asleep_locks.cc", compiler="g++", flags=("-g", "-O2", "-pthread"), plain=True))
    command(tmp_path, "run", "-o", "a", program, "alone", env=DEFAULTS)
    unify(tmp_path, "a")
    found = json.loads(command(tmp_path, "diagnose", "--json", "a").stdout)["findings"][0]
    assert (found["kind"], found["loss_ns"] > 0.29e9) == ("blocked", True)
    assert re.search(r"pthread_cond_(clock|timed)wait, called by wait_alone\(\) \(asleep_locks.cc:", found["culprit"])


def _split_of_the_time(where: Path) -> None:
    """The summary says how the time splits, as the tables do; without the tables it says nothing."""
    trace = vtrace.open(where / "a")
    extent = max(float(trace.diagnosis(Selection()).facts.times.sum()), asleep(trace, 0) + waited(trace, 0))
    words = " ".join(command(where, "summary", "a").stdout.split())
    told = re.search(r"processor ([\d.]+) % ran, ([\d.]+) % could run but .*?, ([\d.]+) % blocked", words)
    assert told, words
    ran, ready, blocked = map(float, told.groups())
    assert ran + ready + blocked == pytest.approx(100, abs=1)
    assert blocked == pytest.approx(100 * asleep(trace, 0) / extent, abs=0.6)
    assert ready == pytest.approx(100 * waited(trace, 0) / extent, abs=0.6)
    copytree(where / "a.trace", where / "b.trace")
    for name in ("blocked", "processor_waits"):
        for path in (where / "b.trace").rglob(name):
            path.unlink()
    assert "could run" not in command(where, "summary", "b").stdout


def test_no_waits(build: Builder, tmp_path: Path) -> None:
    """With VT_PROCESSOR_WAIT=no there is no table, other tables stay, and the runtime asks for nothing."""
    program, log = str(build("one_processor.c", compiler="gcc")), tmp_path / "log"
    call([program], tmp_path, {"VT_FILE_PREFIX": "some"} | DEFAULTS)
    started = [need("strace"), "-f", "-o", str(log), "-e", "trace=openat"]
    call([*started, program], tmp_path, {"VT_FILE_PREFIX": "none", "VT_PROCESSOR_WAIT": "no"})
    assert log.read_text(errors="replace").count("schedstat") == 4  # those of the program: two of each thread
    for name in ("none", "some"):
        unify(tmp_path, name)
    tables = {name: {path.name for path in (tmp_path / f"{name}.trace/vtrace").iterdir()} for name in ("none", "some")}
    assert tables["some"] - tables["none"] == {"processor_waits", "blocked"}
    assert waited(vtrace.open(tmp_path / "some"), 1, 2) > 0
    assert waited(vtrace.open(tmp_path / "none"), 1, 2) == 0


def path_names(trace: vtrace.Trace) -> set[tuple[str, ...]]:
    """The call paths of waits for a processor."""
    tree, _ = trace.call_tree()
    found = {int(path) for path in ProcessorWaits(trace).paths(tree) if path > 0}
    names = {}
    for path in found:
        names[path], at = (), path
        while at > 0:
            names[path] = (str(trace.regions["name"][int(tree["region"][at])]), *names[path])
            at = int(tree["parent"][at])
    return {*names.values()}


def test_waits_in_a_cut(build: Builder, tmp_path: Path) -> None:
    """A cut has the waits of its locations in its window, in the regions of the same names."""
    call([str(build("one_processor.c", compiler="gcc"))], tmp_path, {"VT_FILE_PREFIX": "all"} | DEFAULTS)
    unify(tmp_path, "all")
    source = vtrace.open(tmp_path / "all")
    half, every = source.duration // 2, np.ones(source.regions.rows + 1, bool)
    waits, parts = ProcessorWaits(source), ((None, half), (half, None))
    cuts = []
    for name, window in zip(("first", "second"), (("--to", f"{half}ns"), ("--from", f"{half}ns")), strict=True):
        done = command(tmp_path, "cut", "all", *window, "--select", "location=Thread*", "-o", name)
        assert "processor_waits" not in done.stderr
        cuts.append(vtrace.open(tmp_path / name))
    for cut, (begin, end) in zip(cuts, parts, strict=True):
        assert cut.locations.rows == 2
        for row in (0, 1):
            expected = waits.by_location(begin, end, regions=every)[row + 1]
            assert waited(cut, row) == pytest.approx(expected, abs=1000)
        work = source.regions["name"] == "compute", cut.regions["name"] == "compute"
        expected = waits.by_location(begin, end, regions=np.append(work[0], False))[1:].sum()
        assert ProcessorWaits(cut).by_location(regions=np.append(work[1], False)).sum() == pytest.approx(
            expected, abs=2e3
        )
        assert path_names(cut) <= path_names(source)
        assert path_names(cut)
    assert waited(cuts[0], 0, 1) + waited(cuts[1], 0, 1) == pytest.approx(waited(source, 1, 2), abs=4000)


@pytest.mark.parametrize("way", ["import", "vtunify"])
def test_waits_in_an_import(build: Builder, tmp_path: Path, way: str) -> None:
    """An import has the waits of its source, also that of vtunify, whose diagnosis tells them."""
    call([str(build("one_processor.c", compiler="gcc"))], tmp_path, {"VT_FILE_PREFIX": "run"} | DEFAULTS)
    unify(tmp_path, "-k", "run", "-o", "before")
    source = vtrace.open(tmp_path / "before")
    begin = datetime.now(UTC) - timedelta(hours=1)
    times = [f"{begin + timedelta(hours=n):%Y-%m-%d %H:%M:%S.%f}" for n in (0, 2)]
    path = tmp_path / f"x-hostname-{platform.node()}.csv"
    path.write_text(f"name,start_tsc.UTC,end_tsc,pid,tid\nx,{times[0]},{times[1]},,\n")
    if way == "import":
        done = command(tmp_path, "import", "before", path.name, "-o", "after")
        assert "processor_waits" not in done.stderr
        command(tmp_path, "diagnose", "--json", "after")
    else:
        done = unify(tmp_path, "--also", "diagnose", "run", "-o", "after")
        assert "imported" in done.stdout
    found = vtrace.open(tmp_path / "after")
    assert found.locations.rows == source.locations.rows + 1
    for row in range(source.locations.rows):
        assert waited(found, row) == waited(source, row)
        assert asleep(found, row) == asleep(source, row)
    assert waited(found, 1, 2) > 0
    assert asleep(found, 0) > 0
    kinds = {one["kind"] for one in json.loads(command(tmp_path, "diagnose", "--json", "after").stdout)["findings"]}
    assert "noise" in kinds or "oversubscribed" in kinds


@pytest.mark.parametrize("how", ["closes", "jumps"])
def test_reading_is_interrupted(build: Builder, tmp_path: Path, how: str) -> None:
    """The program closes the descriptor of a reading and opens a file with its number: vtrace neither reads nor closes
    this file. Or a signal handler leaves the reading by siglongjmp: no descriptor stays open."""
    program = str(build("interrupted_reading.c", compiler="gcc"))
    slow = inject("fcntl:delay_enter=30000", tmp_path / "log")
    done = call([*slow, program, how], tmp_path, {"VT_FILE_PREFIX": how} | DEFAULTS, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), str(done)
    unify(tmp_path, how)


@pytest.mark.parametrize(("error", "again"), [("ENOENT", False), ("ENOSYS", False), ("EPERM", False), ("EMFILE", True)])
def test_readings_end_where_there_are_no_times(build: Builder, tmp_path: Path, error: str, again: bool) -> None:
    """In a new root directory without /proc, or where a filter refuses to open files, the runtime asks once. Without a
    free descriptor it asks again."""
    program = str(build("gaps.c", compiler="gcc"))
    failing = inject(f"openat:error={error}", tmp_path / "log")
    failing[1:1] = [word for path in ("/proc/thread-self/schedstat",) for word in ("-P", path)]
    done = call([*failing, program], tmp_path, {"VT_FILE_PREFIX": "t"} | DEFAULTS)
    assert done.stdout == "done\n"
    assert (injected(tmp_path / "log") > 1) == again
    unify(tmp_path, "t")


def test_ranks_of_one_core_are_told_as_the_cause(build: Builder, tmp_path: Path) -> None:
    """Two ranks that compute the same on one core wait for each other in MPI: only because of the core."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(
        str(Path(__file__).parents[1] / "planted/programs/mpi_plants.c"), flags=("-O2", "-lm", "-pthread")
    )
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        mpi.run(
            program, tmp_path, "healthy", "40", ranks=2, env=DEFAULTS | {"PLANT_COMPUTES": "1", "VT_FILE_PREFIX": "t"}
        )
    finally:
        os.sched_setaffinity(0, before)
    unify(tmp_path, "--also", "diagnose", "t")
    found = json.loads(command(tmp_path, "diagnose", "--json", "t").stdout)["findings"]
    assert found[0]["kind"] == "oversubscribed"
    assert found[0]["ranks"] == [0, 1]
    assert not {one["kind"] for one in found} & {"imbalance", "serialisation"}
    _shows_the_evidence(tmp_path, found[0])


def _shows_the_evidence(where: Path, finding: dict[str, Any]) -> None:
    """The command of the finding shows the waits by location, and each with its time and place."""
    words = shlex.split(finding["command"])[1:]
    shown = command(where, *words).stdout
    assert "Waits for a processor" in shown
    assert "The longest waits for a processor" in shown
    told = json.loads(command(where, *words, "--json").stdout)
    by_location, waits = (told[name] for name in ("processor_waits_by_location", "processor_waits"))
    assert {row["location"] for row in by_location} == {"rank 0", "rank 1"}
    assert sum(row["time_ns"] for row in by_location) == pytest.approx(sum(row["time_ns"] for row in waits), abs=9**5)
    assert all(0 <= row["from_ns"] <= row["to_ns"] - row["time_ns"] + 1 for row in waits)
    assert any("compute" in row["callpath"] for row in waits if row["callpath"])
