# SPDX-License-Identifier: BSD-3-Clause
"""VT_KEEP: interesting iterations stay in full, the calls in others are counted: tables of calls are those of a full
trace, and each iteration has its begin and end."""

from __future__ import annotations

import json
import platform
import random
import re
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import vtrace as vtrace_api
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import prefix_of, run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.archive import Trace
from support.readers.call_paths import by_name, calls
from support.tools import environment

FLAGS = ("-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-pthread", "-DVTRACE")
STEPS = {"VT_ITERATION": "step"}


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("kept.c", flags=FLAGS)


def recorded(program: Path, where: Path, *args: str, env: dict[str, str], **how: object) -> Path:
    """Runs a program, and returns its archive."""
    where.mkdir()
    run(program, where, *args, env={"VT_PTHREAD_REUSE": "no", **env}, **how)
    unify(where, prefix_of(program))
    return where / f"{prefix_of(program)}.trace"


Step = tuple[str, str]
"""Kind and region of an event."""


def steps(trace: Trace) -> list[list[Step]]:
    """The enters and leaves of each location."""
    found: dict[int, list[Step]] = {location: [] for location in trace.locations}
    for event in trace.events:
        if event.kind in ("Enter", "Leave"):
            found[event.location].append((event.kind, trace.region_of(event).name))
    return [found[location] for location in sorted(found)]


def iterations(events: list[Step], region: str) -> Iterator[tuple[int, int]]:
    """The places of the first and the last event of each iteration: an outermost call of the region."""
    depth = begin = 0
    for at, (kind, name) in enumerate(events):
        if name == region and kind == "Enter":
            begin = begin if depth else at
            depth += 1
        elif name == region:
            depth -= 1
            if not depth:
                yield begin, at


def without(events: list[Step], region: str, keeps: Callable[[int], bool]) -> list[Step]:
    """The events that stay."""
    out = set[int]()
    for number, (begin, end) in enumerate(iterations(events, region), 1):
        if not keeps(number):
            out.update(range(begin + 1, end))
    return [event for at, event in enumerate(events) if at not in out]


def by_number(number: int) -> bool:
    """The rule first:2,every:5."""
    return number <= 2 or number % 5 == 0


@pytest.mark.parametrize(
    ("how", "region"),
    [
        ("function", "step"),
        ("user", "turn"),
        ("threads", "step"),
        ("forks", "step"),
        ("nested", "step"),
        ("jump", "turn"),
    ],
)
def test_events(program: Path, tmp_path: Path, how: str, region: str) -> None:
    args, env = (how, "12", "0"), {"VT_ITERATION": region, "VT_KEEP": "first:2,every:5"}
    archives = [recorded(program, tmp_path / name, *args, env=each) for name, each in (("full", {}), ("kept", env))]
    full, kept = (steps(check(archive)) for archive in archives)
    assert kept == [without(events, region, by_number) for events in full]
    assert kept != full
    assert calls(archives[0]) == calls(archives[1])


@pytest.mark.parametrize(("turns", "keep"), [("3000", "every:500"), ("3000", "slowest:2%,first:3")])
def test_calls_and_times(program: Path, tmp_path: Path, turns: str, keep: str) -> None:
    """The records of each thread fill several chunks."""
    env = {**STEPS, "VT_KEEP": keep}
    args = "threads", turns, "0"
    archive = recorded(program, tmp_path / "kept", *args, env=env)
    check(archive)
    expected = recorded(program, tmp_path / "full", *args, env={})
    assert calls(archive) == calls(expected)
    trace = vtrace_api.open(archive)
    assert int(trace.locations["events"].sum()) < int(vtrace_api.open(expected).locations["events"].sum()) / 2
    numbers = trace.profile()
    for location in range(1, 4):
        own = numbers["location"] == location
        outermost = trace.regions["name"][numbers["region"]] == "repeat"
        whole = int(numbers["inclusive"][own & outermost][0])
        assert int(numbers["exclusive"][own].sum()) == pytest.approx(whole, abs=1000)
    assert (numbers["exclusive"] >= 0).all()


def step_of(ticks: int) -> int:
    return ticks if ticks < 16 else (ticks.bit_length() - 4) * 16 + (ticks >> ticks.bit_length() - 5) % 16


def slowest(durations: list[int], share: float) -> list[bool]:
    """Which iterations stay: fewer than the share of those before, and this one, lasted as long."""
    found = list[bool]()
    for number, ticks in enumerate(durations):
        as_long = sum(step_of(before) >= step_of(ticks) for before in durations[:number])
        found.append(as_long < share * (number + 1))
    return found


@pytest.mark.parametrize(("turns", "middles"), [(60, 4), (12, 2000)])
def test_slowest(program: Path, tmp_path: Path, turns: int, middles: int) -> None:
    """An iteration of 2000 calls fills 3 chunks, which wait until it ends."""
    run(program, tmp_path, "function", str(turns), "5", str(middles), env={**STEPS, "VT_KEEP": "slowest:10%"})
    shown = vtrace(tmp_path, "dump", "kept", "--json").stdout.splitlines()
    rows = [row for row in map(json.loads, shown) if row.get("kind") in ("FUNCTION_ENTER", "FUNCTION_LEAVE")]
    events = [("Enter" if row["kind"] == "FUNCTION_ENTER" else "Leave", str(row["name"])) for row in rows]
    places = list(iterations(events, "step"))
    durations = [int(rows[end]["ticks"]) - int(rows[begin]["ticks"]) for begin, end in places]
    assert len(durations) == turns
    assert [end - begin + 1 == 2 + 2 * 5 * middles for begin, end in places] == slowest(durations, 0.1)
    unify(tmp_path, "kept")
    assert by_name(calls(tmp_path / "kept.trace"))["tiny"] == turns * 4 * middles


def turns_of(where: Path, program: str) -> dict[int, list[tuple[int, bool]]]:
    """By rank: of each iteration its ticks, and if it is in full."""
    found: dict[int, list[tuple[int, bool]]] = {}
    begun: dict[int, int] = {}
    calls_in: dict[int, int] = {}
    for line in vtrace(where, "dump", program, "--json").stdout.splitlines():
        row = json.loads(line)
        rank, name = row.get("rank"), row.get("name")
        if row.get("kind") == "FUNCTION_ENTER" and name == "turn":
            begun[rank], calls_in[rank] = int(row["ticks"]), 0
        elif row.get("kind") == "FUNCTION_LEAVE" and name == "turn":
            is_full = calls_in[rank] == 20 * (rank + 1)  # a call between two chunks stays
            found.setdefault(rank, []).append((int(row["ticks"]) - begun[rank], is_full))
        elif row.get("kind") == "FUNCTION_ENTER" and name == "tiny":
            calls_in[rank] += 1
    return found


def lowest(before: list[tuple[int, bool]], share: float) -> int:
    """The duration from which on iterations are among the slowest ones, rounded down."""
    durations = sorted((ticks for ticks, _ in before), reverse=True)
    return durations[min(int(share * (len(before) + 1)), len(durations) - 1)] * 15 // 16 if durations else 0


def test_ranks_agree(mpi: Mpi, tmp_path: Path) -> None:
    """All ranks keep the same iterations, but for those that take twice as long as the slowest share on one rank only.
    Ranks fill their chunks at different times. In each 25th iteration one rank sleeps, and all wait."""
    turns, limit = 1000, 0.05
    env = {**mpi.env, "VT_ITERATION": "turn", "VT_KEEP": "slowest:5%"}
    run(mpi.build("mpi_kept.c"), tmp_path, str(turns), "25", launch=[*mpi.launch, "-n", "4"], env=env)
    assert not [*tmp_path.glob("*.node")]
    found = turns_of(tmp_path, "mpi_kept")
    assert {rank: len(each) for rank, each in found.items()} == dict.fromkeys(range(4), turns)
    slow = [slowest([ticks for ticks, _ in found[rank]], limit) for rank in range(4)]
    for number in range(turns):
        kept = [found[rank][number][1] for rank in range(4)]
        own = [slow[rank][number] for rank in range(4)]
        assert any(kept) <= any(own)
        assert all(own) <= all(kept)
        if any(kept) != all(kept):
            assert any(found[rank][number][0] >= 2 * lowest(found[rank][:number], limit) for rank in range(4))


def test_a_file_of_a_killed_run(program: Path, tmp_path: Path) -> None:
    """vtunify removes the file that the ranks of a node shared."""
    run(program, tmp_path, "function", "40", "0")
    left = tmp_path / f"kept.x{platform.node()}-0-0123456789abcdef.node"
    left.write_bytes(bytes(131072))
    unify(tmp_path, "kept")
    assert not left.exists()


def test_messages(mpi: Mpi, tmp_path: Path) -> None:
    """Calls that communicate stay, on all ranks."""
    program = mpi.build("mpi_flood.c")
    how = {"launch": [*mpi.launch, "-n", "2"]}
    env = {**mpi.env, "VT_ITERATION": "round_trip", "VT_KEEP": "every:10"}
    archive = recorded(program, tmp_path / "kept", "30", "50", env=env, **how)
    expected = recorded(program, tmp_path / "full", "30", "50", env=dict(mpi.env), **how)
    assert calls(archive) == calls(expected)
    kept, full = check(archive), check(expected)
    assert kept.calls()["work"] == 2 * 3 * 50
    assert kept.calls()["MPI_Sendrecv"] == full.calls()["MPI_Sendrecv"] == 2 * 30
    for kind in ("MpiSend", "MpiRecv"):
        assert kept.kinds()[kind] == full.kinds()[kind]


@pytest.mark.parametrize(
    "rule",
    [
        {"VT_KEEP": "every:100"},
        {"VT_KEEP": "slowest:1%"},
        {"VT_TRIGGER": "iteration > 1000 x median", "VT_MODE": "PROFILE"},
    ],
)
def test_kills(program: Path, tmp_path: Path, rule: dict[str, str]) -> None:
    """Also while chunks wait for the end of an iteration, or are thinned, or in a ring."""
    chance = random.Random(38)
    for middles in ("4", "3000"):
        where = tmp_path / middles
        where.mkdir()
        env = environment({**STEPS, **rule, "VT_BUFFER_SIZE": "2M"})
        process = subprocess.Popen([program, "forever", "1000", "0", middles], cwd=where, env=env)
        counts = where / "counts"
        while not (counts.exists() and counts.stat().st_size):
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        made = struct.unpack("<3Q", counts.read_bytes()[:24])
        unify(where, "kept")
        for archive in where.glob("*.trace"):
            check(archive)
        found = by_name(calls(where / "kept.trace"))
        # a call counts before it runs, and the process may be killed between the two
        for name, count in zip(("tiny", "middle", "step"), made, strict=True):
            assert abs(found[name] - count) <= 1


def test_what_users_see(program: Path, tmp_path: Path) -> None:
    words = ("run", "--keep", "every:10", "--iteration", "step", "--no-unify", "-o", "kept", str(program))
    vtrace(tmp_path, *words, "function", "40", "0")
    unify(tmp_path, "kept")
    archive = tmp_path / "kept.trace"
    for name in ("summary", "profile", "diagnose"):
        assert "counted only (VT_KEEP): 720 calls " in " ".join(vtrace(tmp_path, name, archive).stdout.split()), name
    shown = vtrace(tmp_path, "info", archive).stdout
    assert "4 of 40 of step in full (VT_KEEP=every:10); of the others calls that communicate" in shown
    assert "no event lost" in shown
    trace = vtrace_api.open(archive)
    assert trace.vtrace["ITERATIONS"] == {"all": 40, "left_out": 36}
    assert np.count_nonzero(trace.ledger.intervals["reason"] == "VT_KEEP") == 36


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"VT_KEEP": "every:0", "VT_ITERATION": "step"}, "VT_KEEP=every:0 is not first:N, every:N, slowest"),
        ({"VT_KEEP": "slowest:101%", "VT_ITERATION": "step"}, "VT_KEEP=slowest:101% is not "),
        ({"VT_KEEP": "every:2"}, "VT_KEEP has no effect without VT_ITERATION"),
        ({"VT_ITERATION": "step"}, "VT_ITERATION has no effect without VT_KEEP or VT_TRIGGER"),
        ({"VT_KEEP": "every:2", "VT_ITERATION": "step", "VT_MODE": "RING"}, "VT_KEEP has no effect with VT_MODE="),
        ({"VT_TRIGGER": "iteration > median", "VT_ITERATION": "step"}, "VT_TRIGGER=iteration > median is not such as "),
        (
            {"VT_TRIGGER": "iteration > 2 x median", "VT_ITERATION": "step"},
            "VT_TRIGGER has no effect without VT_MODE=RING or PROFILE",
        ),
        ({"VT_KEEP": "every:2", "VT_ITERATION": "stop"}, "VT_ITERATION=stop has no calls: all is recorded"),
    ],
)
def test_bad_settings(program: Path, tmp_path: Path, env: dict[str, str], words: str) -> None:
    assert words in run(program, tmp_path, "function", "4", "0", env=env).stderr
    unify(tmp_path, "kept")
    assert check(tmp_path / "kept.trace").calls()["tiny"] == 4 * 16


@pytest.mark.parametrize(("mode", "archive"), [("RING", "kept.trace"), ("PROFILE", "kept-last.trace")])
def test_trigger(program: Path, tmp_path: Path, mode: str, archive: str) -> None:
    """Iteration 1500 of 2500 sleeps; at the end the ring has the last 300."""
    env = {**STEPS, "VT_TRIGGER": "iteration > 1000 x median", "VT_MODE": mode, "VT_BUFFER_SIZE": "100K"}
    done = run(program, tmp_path, "function", "2500", "1500", env=env)
    assert "VT_TRIGGER fired for " in done.stderr
    unify(tmp_path, "kept")
    trace = check(tmp_path / archive)
    found = [event for event in trace.events if event.kind in ("Enter", "Leave")]
    found = [event for event in found if trace.region_of(event).name == "step"]
    times = [after.time - before.time for before, after in pairwise(found) if before.kind == "Enter"]
    assert max(times) * 1e9 / trace.resolution > 19e6
    markers = vtrace_api.open(tmp_path / archive).markers()["text"].tolist()
    assert any(text.startswith("VT_TRIGGER: long iteration ") for text in markers)


@pytest.mark.parametrize(("mode", "archive"), [("RING", "{}.trace"), ("PROFILE", "{}-last.trace")])
def test_trigger_of_a_counter(build: Builder, tmp_path: Path, mode: str, archive: str) -> None:
    """The counter rises at turn 5000 of 20000; at the end the ring has the last 3000."""
    program = build("counter_trigger.c", flags=MANUAL)
    env = {"VT_TRIGGER": "counter queue length > 1000", "VT_MODE": mode, "VT_BUFFER_SIZE": "100K"}
    done = run(program, tmp_path, "20000", "5000", env=env)
    assert "VT_TRIGGER fired 1 times on rank 0" in done.stderr
    unify(tmp_path, program.name)
    trace = check(tmp_path / archive.format(program.name))
    values = [[*event.attrs["values"]] for event in trace.events if event.kind == "Metric"]
    assert values.count([5000]) == 2
    texts = vtrace_api.open(trace.path).markers()["text"].tolist()
    assert "VT_TRIGGER: counter queue length > 1000" in texts


def test_a_trigger_without_its_counter(build: Builder, tmp_path: Path) -> None:
    env = {"VT_TRIGGER": "counter queue > 1000", "VT_MODE": "RING"}
    done = run(build("counter_trigger.c", flags=MANUAL), tmp_path, "20", "5", env=env)
    assert "VT_TRIGGER=counter queue > 1000: the program has defined no such counter by the user API" in done.stderr


def before(last: list[Step], full: list[Step]) -> int:
    """The number of events of a full trace that the last events are: those up to a moment, at which open calls end. 0:
    they are others."""
    same = next((at for at, (one, other) in enumerate(zip(last, full, strict=False)) if one != other), len(last))
    stack: list[str] = []
    for kind, name in last[:same]:
        stack.append(name) if kind == "Enter" else stack.pop()
    return same if last[same:] == [("Leave", name) for name in reversed(stack)] else 0


@pytest.mark.parametrize("how", ["function", "threads", "forks"])
def test_trigger_of_a_profile(program: Path, tmp_path: Path, how: str) -> None:
    """The ring holds the whole run: the trace has all events up to the last time that the trigger fired, and the
    profile has all calls of the run, also of those in the trace."""
    args = how, "2500", "1500"
    env = {**STEPS, "VT_TRIGGER": "iteration > 1000 x median", "VT_MODE": "PROFILE"}
    archive = recorded(program, tmp_path / "profile", *args, env=env)
    full = recorded(program, tmp_path / "full", *args, env={})
    assert calls(archive) == calls(full)
    check(archive)
    last = steps(check(archive.with_name("kept-last.trace")))
    expected = steps(check(full))
    assert all(any(before(some, every) for every in expected) for some in last if some)
    assert max(before(some, every) for some in last for every in expected) >= 1500 * 2 * 22
    assert vtrace_api.open(archive).locations["events"].sum() == 0


def test_damaged_events_beside_a_profile(program: Path, tmp_path: Path) -> None:
    """The profile stays exact, and the local files stay."""
    env = {**STEPS, "VT_TRIGGER": "iteration > 1000 x median", "VT_MODE": "PROFILE"}
    run(program, tmp_path, "function", "2500", "1500", env=env)
    (file,) = tmp_path.glob("kept.*.events.z")
    data = bytearray(file.read_bytes())
    data[3000] ^= 0xFF
    file.write_bytes(data)
    done = unify(tmp_path, "kept", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "kept.trace").exists()
    unify(tmp_path, "--salvage", "kept")
    assert by_name(calls(tmp_path / "kept.trace"))["tiny"] == 2500 * 16
    assert check(tmp_path / "kept-last.trace", complete=False)
    assert file.exists()


def test_a_trigger_that_does_not_fire(program: Path, tmp_path: Path) -> None:
    """The files are those of a profile."""
    env = {**STEPS, "VT_TRIGGER": "iteration > 100000000 x median", "VT_MODE": "STAT", "VT_BUFFER_SIZE": "100K"}
    archive = recorded(program, tmp_path / "profile", "function", "2500", "1500", env=env)
    assert by_name(calls(archive))["tiny"] == 2500 * 16
    assert not archive.with_name("kept-last.trace").exists()
    assert "all events recorded" in vtrace(archive.parent, "info", archive).stdout


def test_a_signal_writes_the_ring_of_a_profile(program: Path, tmp_path: Path) -> None:
    rule = {"VT_TRIGGER": "iteration > 100000000 x median", "VT_MODE": "PROFILE", "VT_RING_SIGNAL": "USR1"}
    process = subprocess.Popen([program, "forever", "1000", "0"], cwd=tmp_path, env=environment({**STEPS, **rule}))
    counts = tmp_path / "counts"
    while not (counts.exists() and counts.stat().st_size):
        time.sleep(0.02)
    process.send_signal(signal.SIGUSR1)
    while not [path for path in tmp_path.glob("kept.*.events.z") if path.stat().st_size > 4096]:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    unify(tmp_path, "kept")
    assert check(tmp_path / "kept-last.trace").calls()["step"]


@pytest.mark.parametrize(
    ("mode", "iteration", "what"),
    [
        ("RING", "step", r"iteration \d+ of step"),
        ("RING", "", "the last second"),
        ("PROFILE", "step", r"iteration \d+ of step"),
    ],
)
def test_mpi_trigger(mpi: Mpi, tmp_path: Path, mode: str, iteration: str, what: str) -> None:
    """Rank 1 waits 1.5 s for rank 0; both go on until their records are full chunks."""
    program = mpi.build("mpi_trigger.c")
    env = {**mpi.env, "VT_TRIGGER": "mpi wait > 60 %", "VT_MODE": mode, "VT_ITERATION": iteration}
    run(program, tmp_path, "6000", "1000", "1500", launch=[*mpi.launch, "-n", "2"], env=env)
    archive = tmp_path / ("mpi_trigger.trace" if mode == "RING" else "mpi_trigger-last.trace")
    unify(tmp_path, "mpi_trigger")
    texts = vtrace_api.open(archive).markers()["text"].tolist()
    assert any(re.fullmatch(rf"VT_TRIGGER: \d+ % of {what} in MPI", text) for text in texts)


def test_all_ranks_write_their_rings(mpi: Mpi, tmp_path: Path) -> None:
    """Rank 1 sleeps in a step. The profile of a rank keeps no events unless a trigger fires.

    The ranks write at different moments, so that the last collective operations lack some ranks."""
    rule = {"VT_ITERATION": "step", "VT_TRIGGER": "iteration > 1000 x median", "VT_MODE": "PROFILE"}
    program = mpi.build("mpi_kept.c")
    run(program, tmp_path, "600", "500", launch=[*mpi.launch, "-n", "4"], env={**mpi.env, **rule})
    assert not [*tmp_path.glob("*.node")]
    unify(tmp_path, "mpi_kept")
    trace = check(tmp_path / "mpi_kept-last.trace", complete=False)
    steps_of = {
        event.location for event in trace.events if event.kind == "Enter" and trace.region_of(event).name == "step"
    }
    assert len(steps_of) == 4


@pytest.mark.parametrize("more", [(), ("--profile-only",)])
def test_trigger_option(program: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    words = ("--trigger", "iteration > 1000 x median", "--iteration", "step", "-o", "kept", "--no-unify", *more)
    done = vtrace(tmp_path, "run", *words, program, "function", "2500", "1500", env={"VT_BUFFER_SIZE": "100K"})
    assert "VT_TRIGGER fired for " in done.stderr
    assert ("wrote a profile of " in done.stderr) == bool(more)


@pytest.mark.parametrize(
    "words",
    [
        ("--trigger", "often"),
        ("--trigger", "iteration > 2 x median"),
        ("--trigger", "mpi wait > 20 %", "--keep", "every:2", "--iteration", "step"),
        ("--trigger", "mpi wait > 20 %", "--budget", "5%"),
    ],
)
def test_bad_triggers(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = vtrace(tmp_path, "run", *words, "true", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--trigger" in done.stderr


@pytest.mark.parametrize("words", [("--keep", "often", "--iteration", "step"), ("--keep", "every:2")])
def test_bad_options(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = vtrace(tmp_path, "run", *words, "true", check=False)
    assert done.returncode == 2
    assert "--keep" in done.stderr
