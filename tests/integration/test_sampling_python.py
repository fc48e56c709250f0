# SPDX-License-Identifier: BSD-3-Clause
"""Samples of Python programs: the functions of Python take the place of the interpreter's frames."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from support.build.run import unify, vtrace
from support.readers.sample_dump import samples, weights
from support.tools import DEFAULTS, ROOT, call, command, need, urgent

PROGRAMS = ROOT / "tests/programs"
UNIT = 0.3
"""Seconds of CPU time."""
CALLERS = {
    "Solver.heavy": {"Solver.step"}, "Solver.light": {"Solver.step", "other"}, "Solver.key": {"Solver.step"},
    "Solver.step": {"<module>"}, "generated": {"größe"}, "größe": {"<module>"}, "other": {"Thread.run"},
    "spin": {"Solver.heavy", "Solver.light", "Solver.key", "generated"},
}  # fmt: skip
"""The Python functions of the program, with their callers."""
SHARES = {"Solver.heavy": 3, "Solver.light": 2, "Solver.key": 1, "generated": 1}
"""CPU time of spin in units, by its caller."""


def interpreters() -> list[str]:
    """The Pythons of the machine: that of the tests, Debian's, and those of pyenv."""
    roots = sorted((Path.home() / ".pyenv/versions").glob("3.*/bin/python3"), key=str)
    found = {Path(path).resolve(): str(path) for path in [shutil.which("python3", path="/usr/bin"), *roots] if path}
    return [sys.executable, *(path for real, path in found.items() if real != Path(sys.executable).resolve())]


def version_of(python: str) -> tuple[int, int]:
    major, minor = call([python, "-c", "import sys; print(*sys.version_info[:2])"], Path.cwd()).stdout.split()
    return int(major), int(minor)


@cache
def known_interpreters() -> list[str]:
    """One of each version whose frames vtrace reads. Each is a program of its own layout: CPython 3.11, 3.12, 3.13."""
    return [
        *{version: python for python in interpreters() if (3, 11) <= (version := version_of(python)) < (3, 14)}.values()
    ]


def sampled(where: Path, python: str, program: str, *arguments: str, **env: str) -> str:
    """Runs a Python program with samples; returns its standard output."""
    words = [*command("vtrace"), "run", "--sample=200", python, PROGRAMS / program, *arguments]
    return call(words, where, {"VT_FILE_PREFIX": "py", "PYTHONDONTWRITEBYTECODE": "1"} | env).stdout


def own(stack: Sequence[str]) -> list[str]:
    """The functions of the program in a stack, innermost first."""
    return [name for name in stack if name in CALLERS or name in ("<module>", "Thread.run")]


def check_callers(found: Sequence[dict[str, Any]]) -> None:
    """Asserts that each function has the callers of the source, and that C functions between them stay."""
    assert any("spin" in sample["stack"] for sample in found)
    for sample in found:
        stack = own(sample["stack"])
        for function, caller in pairwise(stack):
            assert function not in CALLERS or caller in CALLERS[function], sample["stack"]
        if "Solver.key" in stack and "builtin_sorted" in sample["stack"]:
            assert sample["stack"].index("Solver.key") < sample["stack"].index("builtin_sorted")
        assert not any(name.startswith("_PyEval_EvalFrameDefault") for name in sample["stack"][3:]), sample["stack"]


def test_shares(tmp_path: Path) -> None:
    """The time of each function is the CPU time that the program has used there."""
    for attempt in range(2):
        place = tmp_path / str(attempt)
        place.mkdir()
        used = [int(word) for word in sampled(place, sys.executable, "sampled.py", str(UNIT)).split()]
        found: list[dict[str, Any]] = samples(place, "py")
        heaviest = max(sample["weight"] for sample in found)
        if heaviest < 3e7:  # a machine suspended for longer shows little about a function
            break
    check_callers(found)
    assert abs(sum(weights(found).values()) - sum(used)) < 0.1 * sum(used)
    time: Counter[str] = Counter()
    for sample in found:
        stack = own(sample["stack"])
        if "spin" in stack:
            time[stack[stack.index("spin") + 1]] += sample["weight"]
    for function, units in SHARES.items():  # a sample at the start or end of a function may stand for another one
        assert abs(time[function] - units * UNIT * 1e9) < 0.15 * units * UNIT * 1e9 + max(4e7, 2 * heaviest), time


@pytest.mark.parametrize("python", known_interpreters()[1:])
def test_callers(tmp_path: Path, python: str) -> None:
    sampled(tmp_path, python, "sampled.py", "0.1")
    check_callers(samples(tmp_path, "py"))


def test_profile(tmp_path: Path) -> None:
    """Functions and lines of Python in the archive, with their file."""
    sampled(tmp_path, sys.executable, "sampled.py", str(UNIT))
    unify(tmp_path, "py")
    rows = vtrace(tmp_path, "profile", "py", "--by", "callpath", "--csv", "--sort", "inclusive").stdout
    assert "<module> > Solver.step > Solver.heavy > spin" in rows
    assert "größe" in rows
    tree = vtrace(tmp_path, "profile", "py", "--by", "callpath", "--top", "99").stdout
    assert re.search(r"^ +[\d.]+ .*  <module> sampled.py", tree, re.M), tree
    assert re.search(r"  Solver.heavy( > |\n.*  )spin", tree), tree
    assert not re.search("Py_RunMain|_PyEval", tree), tree
    lines = vtrace(tmp_path, "profile", "py", "--by", "line", "--csv").stdout.splitlines()
    source = (PROGRAMS / "sampled.py").read_text().splitlines()
    first = source.index("def spin(seconds):") + 1
    within = [line for line in lines if "sampled.py:" in line.split(",")[0]]
    numbers = {int(line.split(",")[0].rpartition(":")[2]) for line in within}
    assert {first + 4, first + 5} & numbers, numbers
    busiest = max(within, key=lambda line: int(line.split(",")[1]))
    assert first < int(busiest.split(",")[0].rpartition(":")[2]) <= first + 6


def test_library_that_python_loads(tmp_path: Path) -> None:
    """Code of a library that was loaded after the start is known from its first samples on, below Python functions."""
    sampled(tmp_path, sys.executable, "late_library.py")
    unify(tmp_path, "py")
    rows = json.loads(vtrace(tmp_path, "profile", "py", "--by", "function", "--top", "999", "--json").stdout)["profile"]
    counts = {row["function"]: row["samples"] for row in rows}
    assert sum(counts.values()) > 40
    assert counts.get("[unknown code]", 0) < 0.1 * sum(counts.values()), counts
    inside = [row for row in rows if row["function"] == "compress"]
    assert sum(row["inclusive_ns"] for row in inside) > 0.5 * sum(row["exclusive_ns"] for row in rows)


def test_forked_processes(tmp_path: Path) -> None:
    """A forked child knows the functions that its parent has defined, and defines its own."""
    program = tmp_path / "forks.py"
    program.write_text(
        "import os, time\n"
        "def spin():\n    end = time.process_time() + 0.4\n    while time.process_time() < end: pass\n"
        "def child():\n    spin()\n"
        "spin()\nif not os.fork():\n    child()\n    os._exit(0)\nos.wait()\n"
    )
    words = [*command("vtrace"), "run", "--sample=200", sys.executable, program]
    call(words, tmp_path, {"VT_FILE_PREFIX": "py"})
    unify(tmp_path, "py")
    rows = vtrace(tmp_path, "profile", "py", "--by", "callpath", "--csv").stdout
    paths = [row.split(",")[0] for row in rows.splitlines()]
    assert any(path.endswith("<module> > spin") for path in paths)
    assert any("<module> > child > spin" in path for path in paths)
    assert "unknown Python" not in rows


@pytest.mark.parametrize("python", known_interpreters())
def test_storms(tmp_path: Path, python: str) -> None:
    """Signals at any instruction of the interpreter: the program ends as without signals, and every function is
    known."""
    env = {"VT_SAMPLE_RATE": "1000", "VT_SAMPLE_CLOCK": "wall"}
    words = [*command("vtrace"), "run", python, PROGRAMS / "sampled_storm.py", "2"]
    done = call(words, tmp_path, {"VT_FILE_PREFIX": "py"} | env, timeout=120)
    assert done.stdout == "done\n"
    unify(tmp_path, "py")
    rows = vtrace(tmp_path, "profile", "py", "--by", "callpath", "--csv").stdout
    assert "deep > deep > deep" in rows
    assert "unknown Python" not in rows


def test_other_versions(tmp_path: Path) -> None:
    """Frames of the interpreter stay, and one line says so."""
    others = [python for python in interpreters() if not (3, 11) <= version_of(python) < (3, 14)]
    if not others:
        pytest.skip("this machine has no Python before 3.11 or after 3.13")
    words = [*command("vtrace"), "run", "--sample", others[-1], "-c", "print('here')"]
    done = call(words, tmp_path, {"VT_FILE_PREFIX": "py"})
    assert done.stdout == "here\n"
    assert done.stderr.count("have the frames of its interpreter") == (b"EvalFrameDefault" in _exported(others[-1]))


def _exported(python: str) -> bytes:
    """The bytes of the executable and its libpython, which contain the names of their symbols."""
    libraries = Path(python).resolve().parent.parent.glob("lib/libpython3*.so*")
    return b"".join(path.read_bytes() for path in [Path(os.path.realpath(python)), *libraries])


@pytest.mark.parametrize("python", known_interpreters())
def test_a_small_signal_stack(tmp_path: Path, python: str) -> None:
    """The handler needs less than the smallest alternate stack that programs have (MINSIGSTKSZ and SIGSTKSZ)."""
    assert int(sampled(tmp_path, python, "small_stack.py", "1", VT_SAMPLE_RATE="1000")) > 100


ASLEEP = {
    "sleep": ("Master thread", "time.sleep, called by {}fetch"), "recv": ("Master thread", "recv, called by {}fetch"),
    "alone": ("Master thread", "queue.Queue.get, called by {}fetch"),
    "queue": ("Thread 1", "time.sleep, called by {}produce"),
}  # fmt: skip
"""By mode of asleep.py: the thread and call for which the program waits."""
SOLVER = """import time
from mpi4py import MPI


def fetch():
    time.sleep(0.05 if MPI.COMM_WORLD.rank else 0.005)


def step():
    fetch()
    MPI.COMM_WORLD.Barrier()


for _ in range(20):
    step()
"""
LINES = {"sleep": "time.sleep(0.3)", "recv": "ours.recv(1)", "alone": "channel.get(timeout", "queue": "time.sleep(0.2)"}


def asleep() -> Iterator[ParameterSet]:
    """Each mode with the first interpreter, and one of them with each other; in the full tests all."""
    for number, python in enumerate(known_interpreters()):
        for at, mode in enumerate(ASLEEP):
            more = number and at != number % 2
            yield pytest.param(python, mode, marks=pytest.mark.full if more else ())


@pytest.mark.parametrize(("python", "mode"), [*asleep()])
def test_sleep_is_in_the_function_of_python(tmp_path: Path, python: str, mode: str) -> None:
    """The finding names the program's own function and the line of the call, not functions of the interpreter or the
    standard library."""
    vtrace(tmp_path, "run", "-o", "a", python, PROGRAMS / "asleep.py", mode, env=DEFAULTS)
    found = _asleep(tmp_path)
    lines = (PROGRAMS / "asleep.py").read_text().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if LINES[mode] in line)
    thread, call = ASLEEP[mode]
    assert found["culprit"] == f"{thread}, {call.format('')} (asleep.py:{line})"


def test_sleep_in_a_script(tmp_path: Path) -> None:
    """Its file has no ending that tells the language."""
    shutil.copy(PROGRAMS / "asleep.py", tmp_path / "fetches")
    vtrace(tmp_path, "run", "-o", "a", sys.executable, "fetches", "sleep", env=DEFAULTS)
    assert re.fullmatch(r"Master thread, time.sleep, called by fetch \(fetches:\d+\)", _asleep(tmp_path)["culprit"])


def test_a_wait_for_a_time_is_not_for_another_thread(tmp_path: Path) -> None:
    """The thread that sleeps meanwhile delays nothing. On a busy machine other calls may sleep, such as those that wait
    for pages of a file."""
    vtrace(tmp_path, "run", "-o", "a", sys.executable, PROGRAMS / "asleep.py", "beat", env=DEFAULTS)
    unify(tmp_path, "a")
    shown = json.loads(vtrace(tmp_path, "diagnose", "--about", "processor", "--json", "a").stdout)
    assert {row["place"].split(" (")[0] for row in shown["blocked"] if row["time_ns"] > 20e6} >= {
        "time.sleep, called by beat", "queue.Queue.get, called by fetch",
    }  # fmt: skip
    told = [one["culprit"] for one in shown["findings"] if one["kind"] == "blocked"]
    assert not [culprit for culprit in told if "called by" in culprit]


@pytest.mark.parametrize("mode", ["sleep", "recv"])
def test_sleep_is_in_the_recorded_function_of_python(tmp_path: Path, mode: str) -> None:
    """With recorded functions there are no samples: the line is that of the function."""
    vtrace(tmp_path, "run", "--python", "-o", "a", sys.executable, PROGRAMS / "asleep.py", mode, env=DEFAULTS)
    lines = (PROGRAMS / "asleep.py").read_text().splitlines()
    thread, call = ASLEEP[mode]
    where = f"(asleep.py:{lines.index('def fetch(mode):') + 1})"
    assert _asleep(tmp_path)["culprit"] == f"{thread}, {call.format('__main__.')} {where}"


@pytest.mark.parametrize("option", ["--", "--python"])
def test_a_rank_that_sleeps_in_python(tmp_path: Path, option: str) -> None:
    """Rank 1 sleeps longer in fetch: imbalance names the function."""
    (tmp_path / "solver.py").write_text(SOLVER)
    launch = [*urgent(), need("mpiexec"), "-n", "2", sys.executable, "solver.py"]
    vtrace(tmp_path, "run", "-o", "a", option, *launch, env=DEFAULTS)
    unify(tmp_path, "a")
    shown = json.loads(vtrace(tmp_path, "diagnose", "--json", "a").stdout)["findings"]
    found = next(one for one in shown if one["kind"] == "imbalance")
    called = "fetch (solver.py:6, called by step, asleep in time.sleep)"
    assert found["culprit"] == f"rank 1, {called if option == '--' else '__main__.fetch (solver.py:5)'}"


def _asleep(where: Path) -> dict[str, Any]:
    """The finding about sleep with the largest loss."""
    unify(where, "a")
    shown = json.loads(vtrace(where, "diagnose", "--json", "a").stdout)
    found: dict[str, Any] = next(one for one in shown["findings"] if one["kind"] == "blocked")
    assert found["loss_ns"] > 0.25e9
    return found
