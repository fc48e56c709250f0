# SPDX-License-Identifier: BSD-3-Clause
"""Recording of Python functions beside the program's own profilers, and in programs with another environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.test_user_python import PYTHONS
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, Done, call, command

PROFILERS, CHILDREN = PROGRAMS / "python_profilers.py", PROGRAMS / "python_children.py"
LINE = "vtrace: Python functions are not recorded: "
python = pytest.mark.parametrize("version", PYTHONS)


def is_old(version: str) -> bool:
    """True for a Python without sys.monitoring."""
    return int(version.partition(".")[2]) < 12


def record(where: Path, *words: str | Path) -> tuple[Done, Trace]:
    """Records a program; its output and exit code must be those without vtrace."""
    plain = call(words, where, check=False)
    done = call([*command("vtrace"), "run", "--python", "--no-unify", "-o", "t", *words], where, check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), str(done)
    ours = [line for line in done.stderr.splitlines(keepends=True) if line.startswith("vtrace: ")]
    assert "".join(line for line in done.stderr.splitlines(keepends=True) if line not in ours) == plain.stderr
    unify(where, "t", check=False)
    return done, check(where / "t.trace")


def in_ledger(where: Path) -> bool:
    return "Python functions: " in vtrace(where, "info", "t").stdout


@python
def test_profilers_of_the_program(tmp_path: Path, version: str) -> None:
    """Each works as without vtrace, and all calls before, during and after it are recorded."""
    done, trace = record(tmp_path, PYTHONS[version], PROFILERS)
    ways = [line for line in done.stdout.splitlines() if line.isidentifier()]
    assert len(ways) == (8 if is_old(version) else 10)
    calls = trace.calls()
    assert {way: calls.get(f"__main__.call_{way}", 0) for way in ways} == dict.fromkeys(ways, 300)
    assert LINE not in done.stderr
    assert not in_ledger(tmp_path)


@python
def test_a_profiler_that_takes_the_place(tmp_path: Path, version: str) -> None:
    """Functions that are missing then are told, and in the ledger."""
    way = "c_profile_in_a_thread" if is_old(version) else "asks_for_all_tools"
    done, trace = record(tmp_path, PYTHONS[version], PROFILERS, way)
    assert trace.calls()[f"__main__.call_{way}"] == (200 if is_old(version) else 100)
    assert done.stderr.count(LINE) == 1
    assert in_ledger(tmp_path)


@pytest.mark.parametrize("way", ["empty", "own path", "execve", "shell", "posix_spawn", "spawn", "forkserver", "fork"])
def test_started_with_another_environment(tmp_path: Path, way: str) -> None:
    done, trace = record(tmp_path, next(iter(PYTHONS.values())), CHILDREN, way)
    calls = trace.calls()
    assert calls.get("__main__.child", 0) + calls.get("__mp_main__.child", 0) == 100
    assert LINE not in done.stderr


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_started_without_the_hook(tmp_path: Path, option: str) -> None:
    done, trace = record(tmp_path, next(iter(PYTHONS.values())), CHILDREN, option)
    assert "__main__.child" not in trace.calls()
    assert done.stderr.count(LINE) == 1
    assert in_ledger(tmp_path)


@pytest.mark.parametrize("name", ["2.7.18", "3.6.15", "3.8.18"])
def test_other_pythons(tmp_path: Path, name: str) -> None:
    """A Python that vtrace does not record runs as without vtrace, and one line says so."""
    other = Path.home() / ".pyenv/versions" / name / "bin/python"
    if not other.exists():
        pytest.skip(f"this machine has no Python {name}")
    done, _ = record(tmp_path, other, "-c", "import sys; print(len(sys.path), 'sitecustomize' in sys.modules)")
    assert done.stderr.count(LINE) == 1
    assert in_ledger(tmp_path)
