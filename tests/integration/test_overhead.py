# SPDX-License-Identifier: BSD-3-Clause
"""VT_BUDGET=N%: functions are left out while a program runs, if recording takes more than its part of a thread's time.

Only counts are asserted: the bound is one of CPU time, which bench/overhead.py measures."""

from __future__ import annotations

import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

import vtrace as vtrace_api
from integration.test_user_python import PYTHONS
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import prefix_of, run, unify, vtrace
from support.oracles.check import check
from support.readers.call_paths import by_name, calls
from support.tools import PROGRAMS, environment

FLAGS = ("-O2", "-pthread")
BOUND = {"VT_BUDGET": "0.2%"}


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("overhead.c", flags=FLAGS)


def unified(where: Path, program: Path, prefix: str = "") -> Path:
    prefix = prefix or prefix_of(program)
    unify(where, prefix)
    return where / f"{prefix}.trace"


def markers(archive: Path) -> list[str]:
    return [str(text) for text in vtrace_api.open(archive).markers()["text"]]


def told(archive: Path, *command: str) -> str:
    return " ".join(vtrace(archive.parent, *command, archive).stdout.split())


def assert_left_out(program: Path, where: Path, how: str, turns: int, made: int, *, counts: str = "exact") -> None:
    run(program, where, how, str(turns), env={**BOUND, "VT_BUDGET_COUNTS": counts})
    archive = unified(where, program)
    kinds = check(archive).kinds()
    assert kinds["Enter"] == kinds["Leave"]
    found = by_name(calls(archive))
    assert found["main"] == 1
    counted = int(vtrace_api.open(archive).vtrace.get("COUNTED", {"calls": 0})["calls"])
    assert (counted > made / 2) == (counts == "exact")
    assert any("tiny" in text and "left out: recording took" in text for text in markers(archive))
    shown, intervals = told(archive, "summary"), told(archive, "info")
    if counts == "exact":
        assert found["tiny"] == made
        assert "they are only counted" in shown
        assert "VT_BUDGET: only the number of calls of" in intervals
    else:
        assert 0 < found["tiny"] < made / 2
        assert "they are not counted" in shown
        assert "VT_BUDGET: without" in intervals


WAYS = [
    ("storm", 10_000, 10_000_000),
    ("nested", 10_000, 10_000_000),
    ("recursive", 10_000, 5_120_000),
    ("threads", 5_000, 15_000_000),
    ("forks", 10_000, 20_000_000),
]


@pytest.mark.parametrize(("how", "turns", "made"), WAYS)
def test_functions_are_left_out(program: Path, tmp_path: Path, how: str, turns: int, made: int) -> None:
    """Functions go out while they are open, on this thread and on others; each call is recorded or counted."""
    assert_left_out(program, tmp_path, how, turns, made)


@pytest.mark.parametrize(("how", "turns", "made"), WAYS)
def test_calls_are_not_counted(program: Path, tmp_path: Path, how: str, turns: int, made: int) -> None:
    assert_left_out(program, tmp_path, how, turns, made, counts="sampled")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_unaligned_functions(build: Builder, tmp_path: Path, compiler: str) -> None:
    """Calls of stubs across two cache lines would change in two steps."""
    program = build("overhead.c", flags=("-O0", "-pthread"), compiler=compiler, output=compiler)
    assert_left_out(program, tmp_path, "nested", 10_000, 10_000_000)


@pytest.mark.parametrize("counts", ["exact", "sampled"])
def test_choice_as_filter(program: Path, tmp_path: Path, counts: str) -> None:
    run(program, tmp_path, "storm", "10000", env={**BOUND, "VT_BUDGET_COUNTS": counts})
    archive = unified(tmp_path, program)
    lines = vtrace(tmp_path, "score", archive, "--budget", "-o", "chosen.filter").stdout
    assert "next: run with VT_FILTER_SPEC=chosen.filter" in lines
    rules = (tmp_path / "chosen.filter").read_text().splitlines()
    assert "tiny -- 0" in rules
    assert "main -- 0" not in rules
    run(program, tmp_path, "storm", "10", env={"VT_FILTER_SPEC": "chosen.filter", "VT_FILE_PREFIX": "filtered"})
    assert "tiny" not in by_name(calls(unified(tmp_path, program, "filtered")))
    done = vtrace(tmp_path, "score", "filtered.trace", "--budget", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_depth(program: Path, tmp_path: Path) -> None:
    """A function counts at any depth, so none is counted where VT_MAX_STACK_DEPTH leaves out calls."""
    run(program, tmp_path, "nested", "10000", env={**BOUND, "VT_MAX_STACK_DEPTH": "6"})
    assert by_name(calls(unified(tmp_path, program)))["tiny"] < 10_000_000


def test_switch(build: Builder, tmp_path: Path) -> None:
    """Calls between VT_OFF and VT_ON are neither recorded nor counted."""
    program = build("overhead.c", flags=(*FLAGS, "-DVTRACE"), output="switched")
    assert_left_out(program, tmp_path, "switched", 10_000, 5_000_000)


def test_kill(build: Builder, tmp_path: Path) -> None:
    program = build("budget.c", flags=("-O1", "-fno-inline", "-pthread"))
    process = subprocess.Popen([program, "forever", "0"], cwd=tmp_path, env=environment(BOUND))
    while not (tmp_path / "counts").exists() or calls_made(tmp_path)[0] < 30_000_000:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = by_name(calls(unified(tmp_path, program)))
    for name, count in zip(("tiny", "middle"), calls_made(tmp_path), strict=True):
        assert abs(found[name] - count) <= 1


def calls_made(where: Path) -> tuple[int, int]:
    """The calls of tiny and middle."""
    return struct.unpack("<2Q", (where / "counts").read_bytes()[:16])


def test_hooks(build: Builder, tmp_path: Path) -> None:
    program = build("overhead.c", flags=(*FLAGS, "-vt:inst", "hooks"), output="hooked")
    assert_left_out(program, tmp_path, "nested", 10_000, 10_000_000)


@pytest.mark.parametrize("counts", ["exact", "sampled"])
def test_openmp(build: Builder, tmp_path: Path, counts: str) -> None:
    program = build("budget_openmp.c", flags=("-O1", "-fno-inline", "-fopenmp"))
    run(program, tmp_path, "20", "200000", env={**BOUND, "VT_BUDGET_COUNTS": counts, "OMP_NUM_THREADS": "2"})
    archive = unified(tmp_path, program)
    assert check(archive).kinds()["ThreadFork"] == 20
    tiny = by_name(calls(archive))["tiny"]
    assert tiny == 8_000_000 if counts == "exact" else 0 < tiny < 4_000_000


def test_ranks(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_flood.c")
    run(program, tmp_path, "100", "50000", launch=[*mpi.launch, "-n", "2"], env={**mpi.env, **BOUND})
    trace = check(unified(tmp_path, program))
    assert trace.kinds()["MpiSend"] == 200
    assert any("left out: recording took" in text for text in markers(tmp_path / "mpi_flood.trace"))


def test_functions_return(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path, "phases", "9", env={"VT_BUDGET": "20M,1%"})
    archive = unified(tmp_path, program)
    texts = [text for text in markers(archive) if "VT_BUDGET" in text]
    assert "left out" in texts[0]
    assert "recorded again (VT_BUDGET)" in texts[-1]
    assert by_name(calls(archive))["calm"] == 8
    shown = vtrace(tmp_path, "info", archive).stdout.splitlines()
    lines = [line for line in shown if "only the number of calls" in line]
    assert lines
    assert not any(line.endswith("unknown") for line in lines)


def test_bound_that_suffices(program: Path, tmp_path: Path) -> None:
    sizes = []
    for budget in ("", "5%"):
        env = {"VT_BUDGET": budget, "VT_COMPRESSION": "no", "VT_FILE_PREFIX": f"same{budget}"}
        run(program, tmp_path, "calm", "100", env=env)
        (events,) = tmp_path.glob(f"same{budget}.*.events")
        sizes.append(events.stat().st_size)
        assert "overhead." not in vtrace(tmp_path, "dump", f"same{budget}").stdout
    assert sizes[0] == sizes[1]


def test_bound_that_cannot_be_held(build: Builder, tmp_path: Path) -> None:
    """Calls of I/O are never left out."""
    program = build("budget.c", flags=FLAGS)
    run(program, tmp_path, "io", "20000", env={"VT_BUDGET": "0.1%", "VT_IOTRACE": "yes"})
    archive = unified(tmp_path, program)
    assert by_name(calls(archive))["pwrite"] == 20_000
    assert "VT_BUDGET: recording takes" in told(archive, "summary")


@pytest.mark.parametrize("counts", ["exact", "sampled"])
def test_memory(build: Builder, tmp_path: Path, counts: str) -> None:
    """malloc and free go with their callers; the heap in use is that of the full trace."""
    program = build("budget.c", flags=FLAGS)
    env = {"VT_BUDGET": "0.1%", "VT_MEMTRACE": "yes", "VT_BUDGET_COUNTS": counts}
    run(program, tmp_path, "memory", "500000", env=env)
    archive = unified(tmp_path, program)
    check(archive)
    found = by_name(calls(archive))
    assert "malloc, free" in told(archive, "summary")
    if counts == "exact":
        assert found["allocate"] == 500_000
        assert 1_000_000 <= found["free"] <= found["malloc"] < 1_000_100
    else:
        assert found["malloc"] < 500_000


@pytest.mark.parametrize("version", PYTHONS)
def test_python(version: str, tmp_path: Path) -> None:
    """Functions go out while they are open, on this thread and on others, and return; a call has both ends or none."""
    program = (PYTHONS[version], PROGRAMS / "python_budget.py", "100000", "1.6")
    words = ("run", "--python", "--budget", "1%", "--no-unify", "-o", "p")
    shown = vtrace(tmp_path, *words, *program).stdout
    assert len({*shown.split()}) == 1
    assert len(shown.split()) == 4
    unify(tmp_path, "p")
    trace = check(tmp_path / "p.trace")
    kinds, found = trace.kinds(), by_name(calls(tmp_path / "p.trace"))
    assert kinds["Enter"] == kinds["Leave"]
    assert 0 < found["__main__.leaf"] < 250_000
    assert found["__main__.main"] >= 1
    texts = [text for text in markers(tmp_path / "p.trace") if "VT_BUDGET" in text]
    assert "left out: recording took" in texts[0]
    single = tuple(map(int, version.split("."))) >= (3, 12)
    assert ("__main__.leaf" if single else "functions of Python") in " ".join(texts)
    assert any("recorded again (VT_BUDGET)" in text for text in texts)
    assert "they are not counted" in told(tmp_path / "p.trace", "summary")


def test_python_without_a_profiler(tmp_path: Path) -> None:
    """sys.setprofile(None) of a thread, when functions may return, leaves vtrace's function there."""
    older = [path for version, path in PYTHONS.items() if tuple(map(int, version.split("."))) < (3, 12)]
    if not older:
        pytest.skip("no Python before 3.12")
    text = "import os, sys, threading, time\ndef leaf(): pass\ndef after(): pass\ndef work():\n"
    text += " for n in range(300_000): leaf()\n end = time.process_time() + 2.5\n"
    text += " while time.process_time() < end: pass\n"
    text += " sys.setprofile(None)\n open(os.devnull).close()\n after()\n"
    (tmp_path / "program.py").write_text(
        text + "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
    )
    vtrace(tmp_path, "run", "--python", "--budget", "1%", "--no-unify", "-o", "p", older[0], "program.py")
    unify(tmp_path, "p")
    assert any("recorded again (VT_BUDGET)" in text for text in markers(tmp_path / "p.trace"))
    assert by_name(calls(tmp_path / "p.trace"))["__main__.after"] == 1


def test_deep_recursion_in_python(tmp_path: Path) -> None:
    """70 000 calls of a function of Python inside each other end, also with a bound that leaves nothing out."""
    text = "import sys\nsys.setrecursionlimit(10**6)\ndef deep(n):\n    return deep(n - 1) if n else 0\n"
    (tmp_path / "program.py").write_text(text + "def after(): pass\ndeep(69_999)\nafter()\n")
    program = (PYTHONS[[*PYTHONS][-1]], "program.py")
    vtrace(tmp_path, "run", "--python", "--budget", "100%", "--no-unify", "-o", "p", *program)
    unify(tmp_path, "p")
    trace = vtrace_api.open(tmp_path / "p.trace")
    regions = trace.regions["name"][trace.events(kinds={"Enter", "Leave"})["region"]].tolist()
    assert regions[: regions.index("__main__.after")].count("__main__.deep") == 140_000


@pytest.mark.parametrize("value", ["0%", "101%", "5%%", "2M,", "2M,3", "2M/day,3%", ",3%", "3%,2M", "x%", "0.004%"])
def test_bad_bounds(program: Path, tmp_path: Path, value: str) -> None:
    done = run(program, tmp_path, "calm", "1", env={"VT_BUDGET": value})
    assert f"VT_BUDGET={value} is not a size in bytes" in done.stderr
    done = vtrace(tmp_path, "run", "--budget", value, program, "calm", "1", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"--budget {value} is neither a size nor a percentage" in done.stderr


@pytest.mark.parametrize(("value", "shown"), [("3%", "3%"), ("2048K,0.5%", "2M,0.5%"), ("1G,1.25%", "1G,1.25%")])
def test_values(program: Path, tmp_path: Path, value: str, shown: str) -> None:
    vtrace(tmp_path, "run", "--budget", value, "-o", "p", "--no-unify", program, "calm", "1")
    assert f"VT_BUDGET={shown} " in told(unified(tmp_path, program, "p"), "info")
