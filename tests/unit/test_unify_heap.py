# SPDX-License-Identifier: BSD-3-Clause
"""The heap: attributes of calls, and metrics with the sums of a process on a location of their own."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.readers.archive import Trace
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, write_child, write_rank
from support.tools import call, command, need
from vtrace.errors import FormatError
from vtrace.io.local import records as r

MALLOC, FREE, REALLOC = 1, 2, 3
REGIONS = [
    ["REGION", MALLOC, "malloc", 0, 35, None, 0, None], ["REGION", FREE, "free", 0, 36, None, 0, None],
    ["REGION", REALLOC, "realloc", 0, 37, None, 0, None], ["REGION", 4, "work", 1, 1, None, 0, None],
]  # fmt: skip
HOST, BLOCKS = "Host Memory", "Live Blocks"


def allocate(chunk: Chunk, dt: int, size: int, address: int, total: int, blocks: int) -> Chunk:
    chunk.record("ENTER_ALLOC", dt, MALLOC, size)
    return chunk.record("LEAVE_ALLOC", 1, MALLOC, address, total % 2**64, blocks % 2**64)


def free(chunk: Chunk, dt: int, address: int, size: int, total: int, blocks: int) -> Chunk:
    chunk.record("ENTER_FREE", dt, FREE, address, size, total % 2**64, blocks % 2**64)
    return chunk.record("LEAVE", 1, FREE)


def heap(trace: Trace, location: int) -> list[tuple[int, int, int]]:
    """Time, bytes and blocks of a location's metrics."""
    assert trace.locations[location].kind == "METRIC"
    assert {e.kind for e in trace.of(location)} <= {"Metric"}
    return [(e.time, *e.attrs["values"]) for e in trace.of(location)]


def test_calls(tmp_path: Path) -> None:
    """Score-P's attributes: requested size and address at the enter, results at the leave."""
    chunk = allocate(Chunk(), 1, 100, 0x1000, 104, 1).record("ENTER_REALLOC", 1, REALLOC, 0x1000, 104, 200)
    chunk.record("LEAVE_ALLOC", 1, REALLOC, 0x2000, 208, 1).record("ENTER_REALLOC", 1, REALLOC, 0x2000, 208, 2**62)
    chunk.record("LEAVE_ALLOC", 1, REALLOC, 0, 208, 1).record("ENTER_REALLOC", 1, REALLOC, 0, 0, 8)
    chunk.record("LEAVE_ALLOC", 1, REALLOC, 0x3000, 232, 2).record("ENTER_REALLOC", 1, REALLOC, 0x3000, 24, 0)
    chunk.record("LEAVE_ALLOC", 1, REALLOC, 0, 208, 1)
    free(chunk, 1, 0x2000, 208, 0, 0).record("ENTER", 1, 4).record("LEAVE", 1, 4)
    write_rank(tmp_path, 0, 1, REGIONS, {0: [chunk]}, world=0)
    trace = unified(tmp_path)
    asked, result, argument, freed = "ALLOCATION_SIZE", "RESULT_ADDRESS", "ARGUMENT_ADDRESS", "DEALLOCATION_SIZE"
    assert [(e.kind, trace.region_of(e).name, e.more) for e in trace.of(0)] == [
        ("Enter", "malloc", {asked: 100}), ("Leave", "malloc", {result: 0x1000}),
        ("Enter", "realloc", {argument: 0x1000, asked: 200}), ("Leave", "realloc", {result: 0x2000, freed: 104}),
        ("Enter", "realloc", {argument: 0x2000, asked: 2**62}), ("Leave", "realloc", {result: 0}),
        ("Enter", "realloc", {asked: 8}), ("Leave", "realloc", {result: 0x3000}),
        ("Enter", "realloc", {argument: 0x3000, asked: 0}), ("Leave", "realloc", {result: 0, freed: 24}),
        ("Enter", "free", {argument: 0x2000}), ("Leave", "free", {freed: 208}),
        ("Enter", "work", {}), ("Leave", "work", {}),
    ]  # fmt: skip
    assert heap(trace, 1) == [(2, 104, 1), (4, 208, 1), (8, 232, 2), (10, 208, 1), (11, 0, 0)]
    assert [trace.region(name).role for name in ("malloc", "realloc", "free")] == [
        "ALLOCATE", "REALLOCATE", "DEALLOCATE",
    ]  # fmt: skip


def test_definitions(tmp_path: Path) -> None:
    """The heap is one metric class of two members, after the program's metrics. A value holds until the next one."""
    metric = ["METRIC", 1, "degrees", "C", "f", "p", False]
    chunk = allocate(Chunk(), 1, 100, 0x1000, 104, 1).record("METRIC", 1, 1, 0)
    write_rank(tmp_path, 0, 1, [*REGIONS, metric], {0: [chunk]}, world=0)
    unified(tmp_path)
    with otf2.reader.open(str(tmp_path / "u_t.trace" / "traces.otf2")) as reader:
        classes = [[m.name for m in c.members] for c in reader.definitions.metrics]
        members = {m.name: m for m in reader.definitions.metric_members}
        kinds = [str(c.recorder_kind) for c in reader.definitions.metrics]
    assert classes == [["degrees"], [HOST, BLOCKS]]
    assert kinds == ["RecorderKind.CPU", "RecorderKind.UNKNOWN"]
    for name, unit in ((HOST, "bytes"), (BLOCKS, "#")):
        known = members[name]
        assert (known.unit, str(known.value_type)) == (unit, "Type.UINT64")
        assert str(known.metric_mode) == "MetricMode.ABSOLUTE_NEXT"


def test_threads_are_joined_by_time(tmp_path: Path) -> None:
    """One thread allocates and another frees: the sums of the second are negative, those of the process are not."""
    one = allocate(allocate(Chunk(), 9, 10, 1, 16, 1), 9, 10, 2, 32, 2)  # at 10, 20
    two = free(free(Chunk(1), 15, 1, 16, -16, -1), 14, 2, 16, -32, -2)  # at 15, 30
    write_rank(tmp_path, 0, 1, REGIONS, {0: [one], 1: [two]}, world=0)
    trace = unified(tmp_path)
    assert [(x.name, x.kind, x.group) for x in trace.locations.values()] == [
        ("Master thread", "CPU_THREAD", "Process node1:100"), ("Thread 1", "CPU_THREAD", "Process node1:100"),
        ("Memory", "METRIC", "Process node1:100"),
    ]  # fmt: skip
    assert heap(trace, 2) == [(10, 16, 1), (15, 0, 0), (20, 16, 1), (30, 0, 0)]


def test_never_below_nothing(tmp_path: Path) -> None:
    """A free without a recorded allocation does not make the metric negative, and later values are still correct."""
    chunk = free(Chunk(), 9, 1, 48, -48, -1)
    write_rank(tmp_path, 0, 1, REGIONS, {0: [allocate(chunk, 9, 60, 2, 16, 0)]}, world=0)
    assert heap(unified(tmp_path), 1) == [(9, 0, 0), (20, 16, 0)]


def test_many_threads(tmp_path: Path) -> None:
    """Random calls of several threads, compared with sums in Python: over several blocks, at equal times, with threads
    that reuse a location, and with records that only change the sums.
    """
    chance = random.Random(5)
    events: list[tuple[int, int, int, int, int]] = []
    chunks: dict[int, list[Chunk]] = {}
    for location in range(7):
        now, total, blocks = 0, 0, 0
        chunks[location] = []
        for sequence in range(3):
            chunk = Chunk(location, sequence, 1000 + now)
            for _ in range(60):
                step = chance.choice([0, 1, 5, 40])
                size = chance.randrange(1, 1000)
                now += step
                kind = chance.randrange(8)
                if kind == 0 and location:
                    chunk.record("THREAD", step, 0, 77)
                    total = blocks = 0
                    continue
                change = (-size, -1) if kind == 1 else (size, 1)
                total, blocks = total + change[0], blocks + change[1]
                sums = (total % 2**64, blocks % 2**64)
                if kind == 1:
                    chunk.record("ENTER_FREE", step, FREE, 1, size, *sums)
                elif kind == 2:
                    chunk.record("HEAP", step, 0, *sums)
                else:
                    chunk.record("LEAVE_ALLOC", step, MALLOC, 1, *sums)
                events.append((now, location, len(events), *change))
            chunks[location].append(chunk)
    write_rank(tmp_path, 0, 1, REGIONS, chunks, world=0)
    trace = unified(tmp_path)
    expected, total, blocks = [], 0, 0
    for now, _, _, size, block in sorted(events):
        total, blocks = total + size, blocks + block
        expected.append((now, max(total, 0), max(blocks, 0)))
    assert heap(trace, 7) == expected
    assert all(a[0] <= b[0] for a, b in pairwise(expected))


def test_equal_sums_are_not_repeated(tmp_path: Path) -> None:
    chunk = allocate(Chunk(), 9, 10, 1, 16, 1).record("LEAVE_ALLOC", 5, MALLOC, 0, 16, 1).record("HEAP", 5, 0, 16, 1)
    write_rank(tmp_path, 0, 1, REGIONS, {0: [chunk]}, world=0)
    assert heap(unified(tmp_path), 1) == [(10, 16, 1)]


def test_each_process_has_its_own(tmp_path: Path) -> None:
    """A process without records of its heap has no location for the heap. Ranks keep their place after these
    locations.
    """
    for rank in range(3):
        chunk = Chunk().record("ENTER", 1, 4).record("LEAVE", 1, 4)
        if rank != 1:
            allocate(chunk, 10 + rank, 10, 1, 16 + rank, 1)
        comm = ["COMM", 1, r.COMM_KINDS["WORLD"], None, 0, 9, 0, 3, rank, 0]
        write_rank(tmp_path, rank, 3, [*REGIONS, comm], {0: [chunk]})
    write_child(tmp_path, 100, [], allocate(Chunk(), 20, 10, 1, 40, 2))
    trace = unified(tmp_path)
    assert [x.kind for x in trace.locations.values()] == ["CPU_THREAD", "METRIC", *["CPU_THREAD"] * 2, "METRIC",
                                                         "CPU_THREAD", "METRIC"]  # fmt: skip
    assert trace.comms[0].members == (0, 2, 3)
    assert [heap(trace, n) for n in (1, 4, 6)] == [[(13, 16, 1)], [(15, 18, 1)], [(21, 40, 2)]]
    need("vite")
    drawn = call([need("vite"), trace.path / "traces.otf2", "-e", tmp_path / "x.svg"], tmp_path,
                 {"QT_QPA_PLATFORM": "offscreen"})  # fmt: skip
    assert "0 errors and 0 warnings" in drawn.stderr


def test_only_sums(tmp_path: Path) -> None:
    """All allocations are below VT_MEMTRACE_THRESHOLD: the trace has no calls, but their sums."""
    chunk = Chunk().record("ENTER", 1, 4).record("HEAP", 5, 0, 70_000, 900).record("LEAVE", 1, 4)
    write_rank(tmp_path, 0, 1, REGIONS, {0: [chunk]}, world=0)
    trace = unified(tmp_path)
    assert (trace.kinds(0), heap(trace, 1)) == ({"Enter": 1, "Leave": 1}, [(6, 70_000, 900)])


def test_damage_is_refused(tmp_path: Path) -> None:
    """The error is the same whether the thread's location or the location of the heap finds the damage."""
    good = allocate(Chunk(), 9, 10, 1, 16, 1)
    bad = allocate(Chunk(1), 9, 10, 1, 16, 1).word(r.KINDS["HEAP"][0] << 24)
    write_rank(tmp_path, 0, 1, REGIONS, {0: [good], 1: [bad]}, world=0)
    with pytest.raises(FormatError, match=r"10001\.events\.z: record of a wrong size in the block at byte 2048"):
        unified(tmp_path)


def test_info(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, 1, REGIONS, {0: [allocate(Chunk(), 9, 10, 1, 16, 1)]}, world=0)
    unified(tmp_path)
    shown: Any = call([*command("vtrace"), "info", "u_t.trace"], tmp_path).stdout
    assert "Memory" in shown
