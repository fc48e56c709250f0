# SPDX-License-Identifier: BSD-3-Clause
"""malloc and similar functions: sizes and addresses of each call, the size of the heap, and unchanged programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import record, run, unify
from support.oracles.check import check
from support.oracles.heap import check_heap, growth, heap_of
from support.readers.archive import Event, Trace
from vtrace.paths import LIB

ON = {"VT_MEMTRACE": "yes"}
EACH = 10
ROLES = {"free": "DEALLOCATE", "realloc": "REALLOCATE", "reallocarray": "REALLOCATE", "malloc_usable_size": "FUNCTION"}
ALLOCATED = {
    "malloc": 100, "calloc": 30, "memalign": 10, "valloc": 1, "aligned_alloc": 128, "pvalloc": 1, "reallocarray": 7,
    "posix_memalign": 1,
}  # fmt: skip
"""Bytes of the first of the EACH calls in allocate(); the i-th call requests i times as many bytes."""
CALLS = {"allocate": dict.fromkeys(ALLOCATED, EACH), "grow": {"realloc": EACH + 3},
         "fail": {"malloc": 1, "calloc": 1, "reallocarray": 1}, "other": {"free": 4 * EACH, "malloc": 1}}  # fmt: skip
FLAGS = ("-fno-builtin", "-pthread")


def preload() -> dict[str, str]:
    return {"LD_PRELOAD": str(LIB / "libvtrace-mem.so")} | ON


def within(trace: Trace, caller: str) -> dict[str, list[tuple[Event, Event]]]:
    """The calls that a function makes directly: name -> enter and leave of each call."""
    found: dict[str, list[tuple[Event, Event]]] = defaultdict(list)
    for location in trace.locations:
        stack: list[Event] = []
        for event in trace.of(location):
            if event.kind == "Enter":
                stack.append(event)
            elif event.kind == "Leave":
                enter = stack.pop()
                if stack and trace.region_of(stack[-1]).name == caller:
                    found[trace.region_of(event).name].append((enter, event))
    return found


def sizes(calls: list[tuple[Event, Event]]) -> list[int]:
    return [enter.more["ALLOCATION_SIZE"] for enter, _ in calls]


@pytest.mark.parametrize("more", [{}, {"VT_IOTRACE": "yes"}, {"VT_PTHREAD": "locks"}, {"VT_SAMPLE": "1000"}])
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.full)])
def test_no_allocation_of_the_runtime(build: Builder, tmp_path: Path, compiler: str, more: dict[str, str]) -> None:
    """A program that calls one function of its own, and nothing else, has no allocations."""
    program = build("tail.c", compiler=compiler, flags=("-O2",))
    run(program, tmp_path, env=ON | more)
    unify(tmp_path, "tail")
    trace = check(tmp_path / "tail.trace")
    assert trace.calls() == {"main": 1, "outer": 3, "inner": 3}
    assert all(sums == [0, 0] for sums in ([*e.attrs["values"]] for e in heap_of(trace, 0)))


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.full)])
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_every_function(build: Builder, tmp_path: Path, compiler: str, optimised: str) -> None:
    program = build("heap.c", compiler=compiler, flags=(optimised, *FLAGS))
    blocks, size = map(int, run(program, tmp_path, env=ON).stdout.split())
    unify(tmp_path, "heap")
    trace = check(tmp_path / "heap.trace")
    found = {caller: within(trace, caller) for caller in CALLS}
    assert {caller: {name: len(calls) for name, calls in of.items()} for caller, of in found.items()} == CALLS
    for name, first in ALLOCATED.items():
        assert sizes(found["allocate"][name]) == [first * i for i in range(1, EACH + 1)], name
    much = 2**63 - 1
    assert sizes(found["grow"]["realloc"]) == [5000] * EACH + [much, 11, 0]
    assert sizes(found["fail"]["malloc"] + found["fail"]["calloc"]) == [much, 2**64 - 1]
    failed = [*found["fail"].values(), found["grow"]["realloc"][EACH : EACH + 1]]
    assert {leave.more.get("RESULT_ADDRESS", 0) for calls in failed for _, leave in calls} == {0}
    made = [leave.more["RESULT_ADDRESS"] for calls in found["allocate"].values() for _, leave in calls]
    made += [leave.more["RESULT_ADDRESS"] for _, leave in found["grow"]["realloc"][:EACH]]
    freed = [enter.more["ARGUMENT_ADDRESS"] for enter, _ in found["other"]["free"]]
    assert len(set(freed)) == 4 * EACH
    assert set(freed) <= set(made)
    assert all(leave.more["DEALLOCATION_SIZE"] > 0 for _, leave in found["other"]["free"])
    assert growth(trace) == (size, blocks)
    for name in {*ALLOCATED, "realloc", "free", "malloc_usable_size"}:
        region = trace.region(name)
        assert (region.role, region.paradigm) == (ROLES.get(name, "ALLOCATE"), "NONE"), name
    assert trace.calls()["malloc_usable_size"] == 4 * EACH + 1


def test_preloaded_into_a_program_without_vtrace(build: Builder, tmp_path: Path) -> None:
    program = build("heap.c", flags=("-O1", *FLAGS), plain=True)
    trace = record(program, tmp_path, env=preload())
    counts = Counter(name for calls in CALLS.values() for name in calls)
    assert set(counts) <= set(trace.calls())
    assert trace.calls()["realloc"] == EACH + 3
    assert trace.calls()["valloc"] == EACH


def test_small_blocks_stay_in_the_sums(build: Builder, tmp_path: Path) -> None:
    program = build("heap.c", flags=("-O1", *FLAGS))
    _, size = map(int, run(program, tmp_path, env=ON | {"VT_MEMTRACE_THRESHOLD": "500"}).stdout.split())
    unify(tmp_path, "heap")
    trace = check(tmp_path / "heap.trace")
    found = within(trace, "allocate")
    assert sizes(found["malloc"]) == [500, 600, 700, 800, 900, 1000]
    assert sizes(found["aligned_alloc"]) == [128 * i for i in range(4, EACH + 1)]
    assert {*found} == {"malloc", "aligned_alloc"}
    last = [event for event in trace.events if trace.locations[event.location].kind == "METRIC"][-1]
    assert last.attrs["values"][0] > size - 500, "the size of the heap must include small blocks"


def test_off_by_default(build: Builder, tmp_path: Path) -> None:
    trace = record(build("heap.c", flags=("-O1", *FLAGS)), tmp_path)
    assert {x.kind for x in trace.locations.values()} == {"CPU_THREAD"}
    assert not {"malloc", "free", "calloc"} & set(trace.calls())


@pytest.mark.parametrize("threshold", ["0", "100000"])
@pytest.mark.parametrize(
    ("threads", "pairs"), [(4, 2_000), pytest.param(16, 1_000_000, marks=pytest.mark.full)], ids=["short", "long"]
)
def test_threads_signals_and_a_child(build: Builder, tmp_path: Path, threads: int, pairs: int, threshold: str) -> None:
    """Threads free each other's blocks, end, and run signal handlers: the heap balances exactly, also for blocks that
    are only part of the sums."""
    program = build("heap_threads.c", flags=("-O2", *FLAGS))
    env = ON | {"VT_MAX_FLUSHES": "0", "VT_MEMTRACE_THRESHOLD": threshold}
    run(program, tmp_path, str(threads), str(pairs), "1000", env=env)
    unify(tmp_path, "heap_threads")
    if threshold == "0" and pairs > 10_000:
        return  # the Python reader is too slow for this number of events
    trace = check(tmp_path / "heap_threads.trace")
    assert growth(trace) == (0, 0)
    assert threshold != "0" or trace.calls()["malloc"] >= threads * pairs + 1000


@pytest.mark.parametrize("threshold", ["0", "500"])
def test_every_phase(build: Builder, tmp_path: Path, threshold: str) -> None:
    """Static and thread_local objects, pthread keys, a library that is loaded and unloaded, a fork while threads hold
    blocks, and handlers that write: the heap grows as the program counts, and the child begins with its parent's
    heap."""
    threads, rounds = 8, 400
    program = build("heap_phases.cc", compiler="g++", flags=("-O1", "-w", *FLAGS))
    plugin = build("heap_plugin.c", flags=("-shared", "-fPIC", "-O1"), output="heap_plugin.so")
    env = ON | {"VT_IOTRACE": "yes", "VT_MAX_FLUSHES": "0", "VT_MEMTRACE_THRESHOLD": threshold}
    grown = run(program, tmp_path, plugin, str(threads), str(rounds), env=env).stdout.split()
    unify(tmp_path, "heap_phases")
    trace = check(tmp_path / "heap_phases.trace")
    ends = {"object_end": 2 * threads, "key_end": 2 * threads, "late_end": 2 * threads}
    if threshold == "0":
        calls = {name: len(within(trace, name)["free"]) for name in ends}
        assert calls == ends
    assert [len(within(trace, f"plugin_{x}")[call]) for x, call in (("begin", "malloc"), ("end", "free"))] == [2, 2]
    assert [len(within(trace, f"static_{x}")[call]) for x, call in (("begin", "malloc"), ("end", "free"))] == [1, 1]
    assert trace.calls()["write"] > 0
    if threshold == "0":
        assert growth(trace) == tuple(map(int, grown))
        assert check_heap(trace) == 3
    _, *children = sorted({x.process for x in trace.locations.values()})
    assert len(children) == 2
    for child in children:
        first = heap_of(trace, child)[0]
        before = [e for e in heap_of(trace, 0) if e.time < first.time][-1].attrs["values"]
        blocks, size = first.attrs["values"][1] - before[1], first.attrs["values"][0] - before[0]
        # Some of the parent's small blocks are not in its last Metric event.
        assert (blocks == 1 and 600 <= size < 650) if threshold == "0" else (blocks >= 1 and size >= 600)


def test_recording_off_meanwhile(build: Builder, tmp_path: Path) -> None:
    """Stacks stay balanced. After recording resumes, the sums include blocks of the time in between, also those of a
    thread that has ended."""
    program = build("heap_off.c", flags=("-O1", *FLAGS))
    size = int(run(program, tmp_path, env=ON).stdout)
    unify(tmp_path, "heap_off")
    trace = check(tmp_path / "heap_off.trace")
    assert growth(trace) == (size, 11)
    assert {caller: len(within(trace, caller)["malloc"]) for caller in ("on", "off")} == {"on": 1, "off": 0}
