# SPDX-License-Identifier: BSD-3-Clause
"""VT_START_AFTER and VT_STOP_AFTER: exactly the events between the two moments are recorded, with complete stacks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.readers.archive import Event, Trace

FLAGS = ("-O1", "-pthread", "-DVTRACE")
MS = 1_000_000


def spans(build: Builder, where: Path, *args: str, **env: str) -> tuple[Trace, str]:
    done = run(build("spans.c", flags=FLAGS), where, *args, env={"VT_PTHREAD": "no", **env})
    unify(where, "spans")
    return check(where / "spans.trace"), done.stderr


def switches(trace: Trace, location: int) -> list[Event]:
    return [e for e in trace.of(location) if e.kind == "MeasurementOnOff"]


@pytest.mark.parametrize(
    ("start", "stop", "calls"),
    [
        ("step:100", "step:102", 3),
        ("phase:100", "phase:102", 3),
        ("phase:100", "step:100", 1),
        ("step:100", "phase:102", 3),
        ("leaf:298", "step:100", 1),
        ("", "step:7", 7),
        ("", "phase:7", 7),
        ("phase:995", "", 6),
    ],
)
def test_calls(build: Builder, tmp_path: Path, start: str, stop: str, calls: int) -> None:
    trace, said = spans(build, tmp_path, "1000", VT_START_AFTER=start, VT_STOP_AFTER=stop)
    spun = 0 if stop else 1
    expected = Counter(main=1, phase=calls, step=calls, leaf=3 * calls, spin=spun)
    if start == "leaf:298":
        expected["step"] = expected["phase"] = 1  # both are open when recording begins
    assert trace.calls() == +expected
    # The region step ends before phase.
    assert len(switches(trace, 0)) == (2 if start else 0) + (1 if stop else 0)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("threads", [0, 3])
def test_seconds(build: Builder, tmp_path: Path, threads: int) -> None:
    """The duration is exact to the microsecond, also for threads that record their next event later."""
    trace, _ = spans(build, tmp_path, "2", "0.8", str(threads), VT_START_AFTER="0.4", VT_STOP_AFTER="0.6s")
    assert len(trace.locations) == 1 + threads
    for location in trace.locations:
        off, on, end = switches(trace, location)
        assert abs(end.time - on.time - 200 * MS) < MS
        assert end.time - trace.offset <= 600 * MS
        assert off.time <= on.time
        for event in trace.of(location):
            assert on.time <= event.time or event is off
            assert event.kind != "Enter" or event.time <= end.time
        assert trace.calls(location)["leaf"] > 100
        assert trace.calls(location)["spin"] == 1
    if threads:
        assert len({switches(trace, location)[-1].time for location in trace.locations}) == 1


@pytest.mark.parametrize("how", ["window", "off"])
def test_threads_without_further_events(build: Builder, tmp_path: Path, how: str) -> None:
    """A thread without further events has the same end of recording as all other threads."""
    program = build("idles.c", flags=FLAGS)
    off = how == "off"
    env = {} if off else {"VT_STOP_AFTER": "0.2", "VT_PTHREAD": "no"}
    done = run(program, tmp_path, "0.2", *["off"] * off, env=env)
    unify(tmp_path, "idles")
    trace = check(tmp_path / "idles.trace")
    assert len(done.stderr.splitlines()) == 1
    assert len(trace.locations) == 3
    ends = {location: switches(trace, location) for location in trace.locations}
    assert [len(found) for found in ends.values()] == [1, 1, 1]
    (end,) = {found[0].time for found in ends.values()}
    assert [event.kind for event in trace.events if event.time > end] == ["Leave"] * off  # the leave of main
    once, often = sorted(trace.calls(location)["leaf"] for location in (1, 2))  # the threads begin in any order
    assert once == 1 < 10 < often < 201
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["complete"]


def test_ranks_count_by_themselves(build: Builder, tmp_path: Path) -> None:
    program = build("mpi_rounds.c", compiler="mpicc")
    env = {"VT_START_AFTER": "MPI_Barrier:3", "VT_STOP_AFTER": "MPI_Barrier:5"}
    run(program, tmp_path, "100", "10", ranks=2, env=env)
    unify(tmp_path, "mpi_rounds")
    trace = check(tmp_path / "mpi_rounds.trace")
    for location, work in ((0, 200), (1, 20)):
        assert trace.calls(location) == Counter(main=1, MPI_Barrier=3, work=work)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("1000", "the program ended earlier"),
        ("nothing:3", "the region has 0 calls"),
        ("step:11", "the region has 10 calls"),
    ],
)
def test_recording_that_never_begins(build: Builder, tmp_path: Path, given: str, what: str) -> None:
    trace, said = spans(build, tmp_path, "10", VT_START_AFTER=given)
    assert f"vtrace: VT_START_AFTER={given}: {what}" in said
    assert not trace.calls()


@pytest.mark.parametrize("stop", ["0.1", "0.05s"])
def test_stop_before_the_start(build: Builder, tmp_path: Path, stop: str) -> None:
    trace, said = spans(build, tmp_path, "10", "0.2", VT_START_AFTER="0.1", VT_STOP_AFTER=stop)
    assert f"vtrace: VT_STOP_AFTER={stop} is ignored: it is not later than VT_START_AFTER=0.1" in said
    assert trace.calls()["leaf"] > 100


@pytest.mark.parametrize("given", ["x", "5m", ":3", "step:", "step:0", "-1", "step:1e3", "1:2:", "99999999999"])
def test_wrong_values(build: Builder, tmp_path: Path, given: str) -> None:
    trace, said = spans(build, tmp_path, "10", VT_STOP_AFTER=given)
    assert f"VT_STOP_AFTER={given} is not a time in seconds (10 or 0.5s) or a call of a region (NAME:100)" in said
    assert trace.calls()["step"] == 10
