# SPDX-License-Identifier: BSD-3-Clause
"""VT_MODE=RING keeps the last records of each thread, for every way to end, and counts the dropped records."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import vtrace as vtrace_api
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace

RING = {"VT_MODE": "RING", "VT_BUFFER_SIZE": "128K", "VT_THREAD_BUFFER_SIZE": "128K"}
CALLS = 30_000
CHUNK = 8128
"""Records of function calls in a chunk."""
KEPT = 2 * CHUNK
"""Minimum number of events of a thread: 128 KiB are 2 chunks."""


def ring(build: Builder, where: Path, how: str, code: int = 0, **env: str) -> tuple[Trace, list[int], str]:
    program = build("ring.c", flags=("-O1", "-pthread", "-DVTRACE"))
    done = run(program, where, how, str(CALLS), env=RING | env, code=code)
    said = done.stderr + unify(where, "ring").stderr
    return check(where / "ring.trace"), [int(word) for word in done.stdout.split()], said


def locations(where: Path, name: str = "ring") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(vtrace(where, "info", "--json", f"{name}.trace").stdout)["locations"]
    return found


def test_a_filter_needs_all_calls(build: Builder, tmp_path: Path) -> None:
    """A message has the number of overwritten records, and no filter is fitted to the rest."""
    ring(build, tmp_path, "end")
    (location,) = locations(tmp_path)
    left_out = f"left out (overwritten): {location['dropped']:,} records before the last ones on 1 location"
    assert left_out in vtrace(tmp_path, "summary", "ring").stdout
    done = vtrace(tmp_path, "score", "--fit", "1M", "ring", check=False)
    assert (done.returncode, done.stdout) == (1, ""), str(done)
    assert f"ring does not have all calls: {left_out} (" in done.stderr


@pytest.mark.parametrize(("how", "code"), [("end", 0), ("killed", -9)])
def test_the_last_records_are_kept(build: Builder, tmp_path: Path, how: str, code: int) -> None:
    trace, (entered, _), said = ring(build, tmp_path, how, code)
    (location,) = locations(tmp_path)
    events = trace.of(0)
    # main and work are entered twice; if the program was killed, vtunify adds the leave of main.
    assert len(events) - 2 + location["dropped"] == 2 * entered
    assert location["lost"] == 0
    assert KEPT <= len(events) <= KEPT + CHUNK + 8
    assert [trace.region_of(e).name for e in events[:3]] == ["main", "work", "step"]
    assert trace.calls()["main"] == trace.calls()["work"] == 1
    assert "lost" not in said
    assert "larger VT_BUFFER_SIZE" not in said
    (marker,) = [m for m in trace.markers if m.category == "recording begins"]
    assert marker.time == events[0].time
    assert re.fullmatch(rf"vtrace: ring: {location['dropped']:,} records before 0\.0+ s dropped", marker.text)
    assert (
        f"{location['dropped']:,} records before the last ones overwritten"
        in vtrace(tmp_path, "info", "ring.trace").stdout
    )


def test_nothing_is_dropped_where_all_fits(build: Builder, tmp_path: Path) -> None:
    trace, (entered, _), said = ring(build, tmp_path, "end", VT_BUFFER_SIZE="4M")
    assert trace.kinds() == Counter(Enter=entered, Leave=entered)
    assert not trace.markers
    assert "overwritten" not in said


@pytest.mark.parametrize(
    ("how", "met"),
    [
        ("again", 0),
        ("default", 0),
        ("sigaction", 1),
        ("signal", 1),
        ("once", 1),
        *(pytest.param(how, 1, marks=pytest.mark.full) for how in ("bsd", "sysv")),
    ],
)
def test_written_when_asked(build: Builder, tmp_path: Path, how: str, met: int) -> None:
    """The program requests two writes: both windows are in the trace with their ends, and the program's own handler
    runs as often as without vtrace."""
    trace, (entered, signals), _ = ring(build, tmp_path, how, VT_RING_SIGNAL="USR1")
    assert signals == met
    (location,) = locations(tmp_path)
    events = [e for e in trace.of(0) if e.kind in ("Enter", "Leave")]
    mains = [n for n, e in enumerate(events) if e.kind == "Enter" and trace.region_of(e).name == "main"]
    assert len(mains) == 2, "each of two windows must begin with the enters of open regions"
    assert mains[0] == 0
    windows = events[: mains[1]], events[mains[1] :]
    assert all(KEPT <= len(window) <= KEPT + CHUNK + 8 for window in windows)
    assert [trace.region_of(e).name for e in windows[0][-2:]] == ["work", "main"]
    gap = vtrace_api.open(tmp_path / "ring").not_recorded().intervals.take([-1])
    (begin,), (end,), (ns,) = gap["from"].tolist(), gap["to"].tolist(), gap["ns"].tolist()
    assert end == windows[1][0].time == begin + ns
    assert begin == max(e.time for e in trace.of(0) if e.time < end)
    # Both windows begin with enters of main and work, and main is left before the second one. A write may add a record.
    assert 0 <= len(events) + location["dropped"] - 5 - 2 * entered <= 2


def test_signals_all_the_time(build: Builder, tmp_path: Path) -> None:
    trace, (entered, signals), _ = ring(build, tmp_path, "flood", VT_RING_SIGNAL="SIGUSR1", VT_BUFFER_SIZE="100K")
    assert signals > 0
    (location,) = locations(tmp_path)
    assert trace.kinds()["BufferFlush"] > 0
    functions = trace.kinds()["Enter"] + trace.kinds()["Leave"]
    assert functions + location["dropped"] >= 2 * entered
    assert location["lost"] == 0


def test_threads(build: Builder, tmp_path: Path) -> None:
    trace, _, _ = ring(build, tmp_path, "threads", VT_PTHREAD_REUSE="no")
    found = locations(tmp_path)
    assert len(found) == 3
    for row in found[1:]:
        events = trace.of(row["id"])
        assert KEPT <= len(events) <= KEPT + CHUNK + 16
        assert row["dropped"] > 0
        assert trace.calls(row["id"])["work"] == 1
    gaps = vtrace_api.open(tmp_path / "ring").not_recorded().intervals
    times = [gaps[name].tolist() for name in ("location", "from", "to")]
    begun = {location: begin for location, begin, _ in zip(*times, strict=True)}
    assert [(row, end) for row, _, end in zip(*times, strict=True)] == [(n, trace.of(n)[0].time) for n in range(3)]
    created = [e.time for e in trace.of(0) if e.kind == "ThreadCreate"]
    assert created[0] < begun[1] < begun[2], "a thread's interval begins with the thread"


def test_a_child_has_a_ring_of_its_own(build: Builder, tmp_path: Path) -> None:
    trace, _, _ = ring(build, tmp_path, "fork")
    found = locations(tmp_path)
    assert len(found) == 2
    assert all(row["dropped"] > 0 and trace.calls(row["id"])["work"] == 1 for row in found)


def test_ranks(build: Builder, tmp_path: Path) -> None:
    """Each rank keeps its last records. Messages and collectives whose other part is dropped stay incomplete or are
    omitted, without a warning."""
    program = build("ring_mpi.c", compiler="mpicc")
    run(program, tmp_path, "3000", ranks=2, env=RING)
    said = unify(tmp_path, "ring_mpi").stderr
    trace = check(tmp_path / "ring_mpi.trace", complete=False)
    assert said == ""
    kinds = [trace.kinds(rank) for rank in (0, 1)]
    assert kinds[0]["MpiIsend"] < kinds[1]["MpiIsend"] < 3000, "rank 0 records more of other events"
    for of in kinds:
        assert of["MpiCollectiveBegin"] == of["MpiCollectiveEnd"] > 100
        assert 0 <= of["MpiIsend"] - of["MpiIsendComplete"] <= 1
        assert 0 <= of["NonBlockingCollectiveRequest"] - of["NonBlockingCollectiveComplete"] <= 1
        assert abs(of["MpiIrecv"] + of["MpiRecv"] - of["MpiIsend"]) <= 1
    assert {location.name for location in trace.locations.values()} == {"Master thread"}
    assert len(trace.comms) >= 1, "definitions must never be overwritten"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_teams(build: Builder, tmp_path: Path, compiler: str) -> None:
    """Teams with a dropped start have no end; the other teams are complete."""
    program = build("ring_omp.c", compiler=compiler, flags=("-O1", "-fopenmp"))
    run(program, tmp_path, "4000", env=RING | {"OMP_NUM_THREADS": "2"})
    assert unify(tmp_path, "ring_omp").stderr == ""
    trace = check(tmp_path / "ring_omp.trace", complete=False)
    assert len(trace.locations) == 2
    for location in trace.locations:
        kinds = trace.kinds(location)
        assert kinds["ThreadTeamBegin"] == kinds["ThreadTeamEnd"] > 100
        assert kinds["ThreadFork"] == kinds["ThreadJoin"]
    assert all(row["dropped"] > 0 for row in locations(tmp_path, "ring_omp"))


@pytest.mark.parametrize("given", ["9", "KILL", "SEGV", "RTMIN+99", "USR3"])
def test_no_signal(build: Builder, tmp_path: Path, given: str) -> None:
    _, _, said = ring(build, tmp_path, "end", VT_RING_SIGNAL=given)
    assert f"VT_RING_SIGNAL={given} is not USR1, USR2, URG, WINCH or RTMIN+n: no signal is used" in said
