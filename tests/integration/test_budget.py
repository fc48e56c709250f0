# SPDX-License-Identifier: BSD-3-Clause
"""VT_BUDGET: local files stay below a size, and calls that are not recorded are counted: all tables of calls are those
of a trace without a budget."""

from __future__ import annotations

import json
import random
import signal
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import vtrace as vtrace_api
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import prefix_of, run, unify, vtrace
from support.oracles.check import check
from support.readers.call_paths import by_name, calls
from support.tools import environment

BUDGET = 1 << 20
SMALL = {"VT_BUDGET": "1M", "VT_COMPRESSION": "no"}  # without compression few events are too many
FLAGS = ("-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-pthread")


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("budget.c", flags=FLAGS)


def sizes(where: Path) -> dict[str, int]:
    """The bytes of the local files of each process."""
    found: Counter[str] = Counter()
    for file in where.iterdir():
        if {".def", ".events"} & {*file.suffixes}:
            found[file.name.split(".")[1]] += file.stat().st_size
    return found


def counted(archive: Path) -> int:
    """The calls that are not among the events."""
    return int(vtrace_api.open(archive).vtrace.get("COUNTED", {"calls": 0})["calls"])


def thinned(program: Path, where: Path, *args: str, env: dict[str, str] | None = None, **how: object) -> Path:
    """Runs a program with a budget that is too small for all events, and returns its archive."""
    where.mkdir()
    run(program, where, *args, env={**SMALL, **(env or {})}, **how)
    assert all(size <= BUDGET for size in sizes(where).values())
    unify(where, prefix_of(program))
    archive = where / f"{prefix_of(program)}.trace"
    check(archive)
    assert counted(archive) > 0
    return archive


def full(program: Path, where: Path, *args: str, env: dict[str, str] | None = None, **how: object) -> Path:
    where.mkdir()
    run(program, where, *args, env=env or {}, **how)
    unify(where, prefix_of(program))
    return where / f"{prefix_of(program)}.trace"


def test_size_of_any_run(program: Path, tmp_path: Path) -> None:
    turns = 50_000_000 // 16
    run(program, tmp_path, "nested", str(turns), env={"VT_BUDGET": "2M"}, timeout=600)
    assert sum(sizes(tmp_path).values()) <= 2 << 20
    unify(tmp_path, "budget")
    trace = vtrace_api.open(tmp_path / "budget.trace")
    numbers = trace.profile()
    found = dict(zip(trace.regions["name"][numbers["region"]].tolist(), numbers["calls"].tolist(), strict=True))
    assert {name: found[name] for name in ("main", "turn", "middle", "tiny")} == {
        "main": 1, "turn": turns, "middle": 4 * turns, "tiny": 16 * turns,
    }  # fmt: skip
    last = vtrace_api.open(tmp_path / "budget.trace").locations
    assert int(last["events"].sum()) < 3 * turns


@pytest.mark.parametrize(
    ("how", "turns"), [("nested", 6_000), ("recursive", 20), ("threads", 4_000), ("forks", 6_000), ("exec", 6_000)]
)
def test_calls(program: Path, tmp_path: Path, how: str, turns: int) -> None:
    found = calls(thinned(program, tmp_path / "thinned", how, str(turns)))
    expected = calls(full(program, tmp_path / "full", how, str(turns)))
    assert by_name(found) == by_name(expected)
    if how != "threads":
        assert found == expected


def test_times_add_up(program: Path, tmp_path: Path) -> None:
    trace = vtrace_api.open(thinned(program, tmp_path / "thinned", "nested", "6000"))
    numbers = trace.profile()
    names = trace.regions["name"][numbers["region"]].tolist()
    main = names.index("main")
    assert int(numbers["exclusive"].sum()) == pytest.approx(int(numbers["inclusive"][main]), abs=1000)
    assert (numbers["exclusive"] >= 0).all()
    assert (numbers["min"] <= numbers["max"]).all()
    _, paths = trace.call_tree()
    assert int(paths["exclusive"].sum()) == int(numbers["exclusive"].sum())
    mean = paths["total"] / paths["calls"]
    assert (mean >= paths["min"] - 1).all()
    assert (mean <= paths["max"] + 1).all()
    assert np.isfinite(numbers["deviations"]).all()


@pytest.mark.parametrize(("how", "setting"), [("memory", "VT_MEMTRACE"), ("io", "VT_IOTRACE")])
def test_library_calls(program: Path, tmp_path: Path, how: str, setting: str) -> None:
    env = {setting: "yes"}
    found = by_name(calls(thinned(program, tmp_path / "thinned", how, "40000", env=env)))
    names = {"memory": {"malloc": 2, "free": 2, "allocate": 1}, "io": {"pwrite": 1, "pread": 1, "transfer": 1}}[how]
    expected = by_name(calls(full(program, tmp_path / "full", how, "40000", env=env)))
    assert found == expected
    assert all(found[name] >= 40_000 * each for name, each in names.items())


@pytest.mark.parametrize("how", ["memory", "io"])
def test_bytes_of_counted_calls(program: Path, tmp_path: Path, how: str) -> None:
    """Each turn allocates and frees 300 bytes, or writes and reads 2; each byte is in an event or is counted."""
    env = {"VT_MEMTRACE" if how == "memory" else "VT_IOTRACE": "yes"}
    archive = thinned(program, tmp_path / "thinned", how, "40000", env=env)
    shown = json.loads(vtrace(tmp_path, "summary", archive, "--json").stdout)
    rows = {row["region"]: row for row in shown["bytes"]}
    number = {str(region.name): 0 for region in check(archive).regions.values()}
    for (_, _, path), count in calls(archive).items():
        number[path[-1]] += count
    each = {"memory": {"malloc": (150, 0), "free": (0, 150)}, "io": {"pwrite": (2, 0), "pread": (0, 2)}}[how]
    recorded = check(archive).calls()
    for name, (out, into) in each.items():
        row = rows[name]
        assert row["calls"] == number[name] - recorded[name]
        assert row["out_bytes"] == pytest.approx(out * row["calls"], rel=0.02)
        assert row["in_bytes"] == pytest.approx(into * row["calls"], rel=0.02)


def test_messages_stay(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_flood.c")
    how = {"launch": [*mpi.launch, "-n", "2"], "env": mpi.env}
    archive = thinned(program, tmp_path / "thinned", "50", "3000", **how)
    other = full(program, tmp_path / "full", "50", "3000", **how)
    found, expected = calls(archive), calls(other)
    assert found == expected
    kinds, all_kinds = (check(each).kinds() for each in (archive, other))
    assert {name: n for name, n in kinds.items() if name.startswith("Mpi")} == {
        name: n for name, n in all_kinds.items() if name.startswith("Mpi")
    }


def test_locks(build: Builder, tmp_path: Path) -> None:
    """Calls that get and release a lock go together, if nobody waited for long; each call is recorded or counted."""
    program, env = build("budget_locks.c", flags=FLAGS), {"VT_PTHREAD": "locks"}
    archive = thinned(program, tmp_path / "thinned", "6000", env=env)
    found = by_name(calls(archive))
    assert found == by_name(calls(full(program, tmp_path / "full", "6000", env=env)))
    assert found["pthread_mutex_lock"] == found["pthread_mutex_unlock"] == 2 * (12_000 + 120)
    trace, held = check(archive), dict[tuple[int, int], list[int]]()
    for event in trace.events:
        if event.kind == "ThreadAcquireLock":
            held.setdefault((event.location, event.attrs["lock_id"]), []).append(event.attrs["acquisition_order"])
        elif event.kind == "ThreadReleaseLock":
            assert held[event.location, event.attrs["lock_id"]].pop() == event.attrs["acquisition_order"]
    assert not any(held.values())
    kinds = trace.kinds()
    assert 240 <= kinds["ThreadAcquireLock"] < 18_000
    assert trace.calls()["pthread_mutex_lock"] < found["pthread_mutex_lock"] / 2


def test_openmp(build: Builder, tmp_path: Path) -> None:
    program = build("budget_openmp.c", flags=("-O1", "-fno-inline", "-fopenmp"))
    env = {"OMP_NUM_THREADS": "2"}
    found = calls(thinned(program, tmp_path / "thinned", "20", "5000", env=env))
    assert found == calls(full(program, tmp_path / "full", "20", "5000", env=env))


def test_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "def leaf(n): return n\ndef branch(n): return leaf(n) + leaf(n)\nfor n in range(100_000): branch(n)\n"
    )
    words = ("run", "--python", "--budget", "1M", "--no-unify", "-o", "program", "python3", "program.py")
    vtrace(tmp_path, *words, env={"VT_COMPRESSION": "no"})
    assert all(size <= BUDGET for size in sizes(tmp_path).values())
    unify(tmp_path, "program")
    assert counted(tmp_path / "program.trace") > 0
    found = by_name(calls(tmp_path / "program.trace"))
    assert (found["__main__.leaf"], found["__main__.branch"]) == (200_000, 100_000)


def test_kills(program: Path, tmp_path: Path) -> None:
    chance = random.Random(38)
    for number in range(6):
        where = tmp_path / str(number)
        where.mkdir()
        process = subprocess.Popen([program, "forever", "0"], cwd=where, env=environment(SMALL))
        while not list(where.glob("*.events")):
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert all(size <= BUDGET for size in sizes(where).values())
        made = struct.unpack("<2Q", (where / "counts").read_bytes()[:16])
        unify(where, "budget")
        check(where / "budget.trace")
        found = by_name(calls(where / "budget.trace"))
        # a call counts before it runs, and the process may be killed between the two
        for name, count in zip(("tiny", "middle"), made, strict=True):
            assert abs(found[name] - count) <= 1


def test_budget_that_suffices(program: Path, tmp_path: Path) -> None:
    found = []
    for budget in ("", "500M"):
        where = tmp_path / f"budget{budget}"
        where.mkdir()
        run(program, where, "nested", "5000", env={"VT_BUDGET": budget, "VT_FILE_PREFIX": "same"})
        found.append(vtrace(where, "dump", "same").stdout.count("ENTER"))
        assert "THINNED" not in vtrace(where, "dump", "same").stdout
        unify(where, "same")
        assert "COUNTED" not in vtrace_api.open(where / "same.trace").vtrace
    assert found[0] == found[1]


def test_what_users_see(program: Path, tmp_path: Path) -> None:
    archive = thinned(program, tmp_path / "thinned", "nested", "6000")
    words = "counted only (VT_BUDGET): "
    for name in ("summary", "profile", "diagnose"):
        assert words in " ".join(vtrace(tmp_path, name, archive).stdout.split()), name
    assert "VT_BUDGET: calls below " in vtrace(tmp_path, "info", archive).stdout
    ledger = json.loads(vtrace(tmp_path, "info", archive, "--json").stdout)
    assert "VT_BUDGET: calls below " in json.dumps(ledger)
    trace = vtrace_api.open(archive)
    markers = [str(text) for text in trace.markers()["text"] if "only counted (VT_BUDGET)" in str(text)]
    assert markers


@pytest.mark.parametrize("mode", ["RING", "PROFILE"])
def test_other_modes(program: Path, tmp_path: Path, mode: str) -> None:
    done = run(program, tmp_path, "nested", "10", env={"VT_BUDGET": "1M", "VT_MODE": mode})
    assert f"VT_BUDGET has no effect with VT_MODE={mode}: " in done.stderr


@pytest.mark.parametrize(("value", "used"), [("x", "0"), ("1K", "1M"), ("2M/day", "0"), ("2M,3", "0")])
def test_bad_sizes(program: Path, tmp_path: Path, value: str, used: str) -> None:
    done = run(program, tmp_path, "nested", "10", env={"VT_BUDGET": value})
    assert f"VT_BUDGET={value} is " in done.stderr
    assert done.stderr.split(": ")[-1].startswith((used, "vtrace")) or f": {used} is used" in done.stderr


def test_end_of_recording(build: Builder, tmp_path: Path) -> None:
    """Messages are never thinned, and do not fit."""
    program = build("mpi_flood.c", compiler="mpicc")
    done = run(program, tmp_path, "30000", "1", ranks=2, env=SMALL)
    assert "vtrace: recording stopped at VT_BUDGET=1M: " in done.stderr
    assert all(size <= BUDGET for size in sizes(tmp_path).values())
    unify(tmp_path, "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace", complete=False)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert not coverage["complete"]
    assert list(coverage["lost_by"]) == ["BUDGET"]
