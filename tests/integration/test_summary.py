# SPDX-License-Identifier: BSD-3-Clause
"""vtrace summary: each number agrees with a slow computation from the events in the otf2 package."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles import slow
from support.readers.archive import Trace, read

PROGRAMS = ("mpi_messages", "ranks_threads", "heap", "io_descriptors")


def archive(name: str, build: Builder, where: Path) -> Path:
    """The archive of a program with all its classes of events, and with several flushes."""
    memory = "no" if name == "mpi_messages" else "yes"
    env = {"VT_IOTRACE": "yes", "VT_MEMTRACE": memory, "VT_BUFFER_SIZE": "256K", "VT_MAX_FLUSHES": "0"}
    if name in ("mpi_messages", "ranks_threads"):
        mpi = mpis.find("mpich-wheel", build)
        program = mpi.build(f"{name}.c", flags=("-O1", "-pthread"))
        mpi.run(program, where, *(["50"] if name == "ranks_threads" else []), ranks=2, env=env)
    else:
        program = build(f"{name}.c", flags=("-O1", *(("-fno-builtin", "-pthread") if name == "heap" else ("-w",))))
        run(program, where, env=env, launch=["sh", "-c", 'exec "$@" </dev/null 9>told', "sh"])
    unify(where, name)
    return where / f"{name}.trace"


@dataclass
class Both:
    """The output of vtrace summary for an archive, and the archive's events."""

    told: dict[str, Any]
    trace: Trace


@pytest.fixture(scope="module", params=PROGRAMS)
def both(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Both:
    path = archive(request.param, build, tmp_path_factory.mktemp("summary"))
    return Both(summary(path), read(path))


def summary(path: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(path.parent, "summary", path, "--json", *words).stdout)
    assert found["notes"] == []
    return found


def kind_of(trace: Trace, region: int) -> str:
    """The column for the time in a region, from the region's paradigm and role."""
    known = trace.regions[region]
    if known.paradigm == "MPI":
        return "mpi_ns"
    if known.role.startswith("FILE_IO"):
        return "io_ns"
    if known.role in ("ALLOCATE", "DEALLOCATE", "REALLOCATE"):
        return "memory_ns"
    return "threads_ns" if known.paradigm == "PTHREAD" or known.role.startswith("THREAD_") else "user_ns"


def slow_classes(trace: Trace) -> dict[tuple[str, str], Counter[str]]:
    """Time in ns by (process, thread) and class; the time of flushes belongs to tracing."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for location in trace.locations.values():
        if location.kind == "METRIC" or location.id in trace.helpers:
            continue
        sums: Counter[str] = Counter()
        stack: list[int] = []
        events = trace.of(location.id)
        for event, later in zip(events, [*events[1:], None], strict=True):
            if event.kind == "Enter":
                stack.append(event.attrs["region"])
            elif event.kind == "Leave":
                stack.pop()
            if later is not None:
                flushed = event.attrs["stop_time"] - event.time if event.kind == "BufferFlush" else 0
                sums["tracing_ns"] += flushed
                kind = (
                    "runtime_ns"
                    if slow.is_runtime(trace, stack)
                    else kind_of(trace, stack[-1])
                    if stack
                    else "outside_ns"
                )
                sums[kind] += later.time - event.time - flushed
        found[location.group, location.name] = +sums
    return found


def test_classes(both: Both) -> None:
    trace, rows = both.trace, both.told["classes"]
    found = {}
    for row in rows:
        times = Counter({name: value for name, value in row.items() if name.endswith("_ns") and name != "total_ns"})
        assert times["mpi_ns"] == sum(times.pop(f"mpi_{part}_ns") for part in ("init", "finalize", "other"))
        assert row["total_ns"] == sum(times.values())
        found[row["process"], row["thread"]] = +times
    known = slow_classes(trace)
    assert found.keys() == known.keys()
    for key, times in known.items():
        for name in {*times, *found[key]}:  # outside: a location may also end with an event that the summary skips
            assert found[key][name] == times[name] or name == "outside_ns", (key, name)
    flushed = sum(times["tracing_ns"] for times in known.values()) > 0
    assert flushed == any(event.kind == "BufferFlush" for event in trace.events)
    assert flushed or trace.path.stem in ("heap", "io_descriptors")


def test_regions(both: Both) -> None:
    trace, found = both.trace, both.told
    stats: dict[str, slow.Stats] = defaultdict(slow.Stats)
    own: dict[str, Counter[int]] = defaultdict(Counter)
    for call in slow.calls(trace):
        if call.location in trace.helpers:
            continue
        name = slow.name_of(trace, call.path[-1])
        stats[name].times.append(call.end - call.begin)
        stats[name].own.append(call.own)
        stats[name].inclusive += call.end - call.begin if call.path[-1] not in call.path[:-1] else 0
        own[name][trace.locations[call.location].process] += call.own
    rows = found["regions"]
    assert sorted(row["region"] for row in rows) == sorted(stats)
    processes = len({location.process for location in trace.locations.values()})
    whole = sum(row["total_ns"] for row in found["classes"])  # with the time outside of calls
    for row in rows:
        calls, inclusive, exclusive, total, least, most, deviations = stats[row["region"]].numbers()
        assert (row["calls"], row["inclusive_ns"], row["exclusive_ns"]) == (calls, inclusive, exclusive)
        assert (row["min_ns"], row["max_ns"], row["mean_ns"]) == (least, most, pytest.approx(total / calls))
        assert row["deviation_ns"] == pytest.approx((deviations / calls) ** 0.5, rel=1e-9, abs=1e-9)
        assert row["percent"] == pytest.approx(100 * exclusive / whole)
        mean = exclusive / processes
        assert row["imbalance"] == pytest.approx(max(own[row["region"]].values()) / mean if mean else 1)
    assert [row["exclusive_ns"] for row in rows] == sorted((row["exclusive_ns"] for row in rows), reverse=True)


def test_the_rest(both: Both) -> None:
    trace, found = both.trace, both.told
    names = {location.process: location.group for location in trace.locations.values()}
    messages = {(row["from"], row["to"]): (row["messages"], row["bytes"]) for row in found["messages"]}
    assert messages == {(names[a], names[b]): sums for (a, b), sums in slow.matrix(trace).items()}
    collectives = slow.collectives(trace)
    assert sum(row["calls"] for row in found["collectives"]) == len(collectives)
    assert sum(row["time_ns"] for row in found["collectives"]) == sum(one[5] - one[4] for one in collectives)
    files: dict[str, Counter[str]] = defaultdict(Counter)
    for (location, handle), sums in slow.io(trace).items():
        if location in trace.helpers:
            continue
        files[trace.handles[handle].file or "(no file)"].update(sums)
    for row in found["files"]:
        name = row.pop("file")
        assert {key: value for key, value in row.items() if value and key in slow.IO_SUMS} == {
            key: value for key, value in files[name].items() if value and key in row
        }
        for moved in ("bytes_read", "bytes_written"):
            of_layers = [value for key, value in row.items() if key.endswith(f"_{moved}")]
            assert sum(of_layers) == files[name][moved] + files[name][f"nested_{moved}"]
    assert len(found["files"]) == len(files)
    heaps: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for event in trace.events:
        if event.kind == "Metric" and len(event.attrs["values"]) == 2:
            heaps[trace.locations[event.location].process].append((event.time, *event.attrs["values"]))
    sums_of: dict[int, list[int]] = {}
    for (location, _, _), numbers in slow.allocations(trace).items():
        of = trace.locations[location].process
        sums_of[of] = [a + b for a, b in zip(sums_of.get(of, [0] * 5), numbers, strict=True)]
    heap = {row["process"]: row for row in found["heap"]}
    assert set(heap) == {names[of] for of in {*heaps, *sums_of}}
    for of, values in heaps.items():
        row = heap[names[of]]
        assert (row["peak_bytes"], row["peak_blocks"]) == (max(v[1] for v in values), max(v[2] for v in values))
    for of, sums_ in sums_of.items():
        assert [heap[names[of]][key] for key in ("allocations", "allocated", "frees", "freed", "failed")] == sums_
    assert {row["lost"] for row in found["coverage"]} == {0}
