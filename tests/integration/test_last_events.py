# SPDX-License-Identifier: BSD-3-Clause
"""Recording ends after all exit handlers and destructors: those of the program and of libraries, in any order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import record, vtrace
from support.oracles.check import check

ORIGIN = "-Wl,-rpath,$ORIGIN"


def library(build: Builder, plain: bool = True) -> Path:
    return build("ends_last.c", flags=("-O1", "-shared", "-fPIC", "-DLIB"), output="libends.so", plain=plain)


@pytest.mark.parametrize(
    ("how", "needed", "opens"),
    [
        ("return", False, 6),
        ("return", True, 7),
        ("thread", True, 7),
        ("last", True, 7),
        ("dlclose", False, 6),
        ("fork", True, 13),
        ("_Fork", True, 13),
        ("quick_exit", True, 3),
    ],
)
def test_io_in_destructors(
    build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, needed: bool, opens: int
) -> None:
    """needed: the library's constructor runs before those of vtrace, and registers one more handler."""
    made = library(build)
    flags = ["-O1", "-pthread", *(["-Wl,--no-as-needed", made, f"-Wl,-rpath,{made.parent}"] if needed else [])]
    program = build("ends_last.c", flags=flags, plain=True)
    if needed:
        monkeypatch.setenv("EARLY", "1")
    done = vtrace(tmp_path, "run", "--unify", "--io", "-o", "last", program, how, made)
    assert "all events recorded" in done.stderr
    calls = check(tmp_path / "last.trace").calls()
    assert (calls["open"], calls["close"]) == (opens, opens)


@pytest.mark.parametrize(("program_plain", "calls"), [(True, 2), (False, 6)])
def test_functions_of_a_library_that_loads_vtrace(
    build: Builder, tmp_path: Path, program_plain: bool, calls: int
) -> None:
    """vtrace-cc has built the library, which a plain program opens: libvtrace.so.1 comes with it."""
    program = build("ends_last.c", flags=("-O1", "-fno-inline", "-pthread"), plain=program_plain)
    made = build(
        "ends_last.c", flags=("-O1", "-fno-inline", "-shared", "-fPIC", "-DLIB"), output="libends.so", plain=False
    )
    done = vtrace(tmp_path, "run", "--unify", "-o", "last", program, "return", made)
    assert "all events recorded" in done.stderr
    assert check(tmp_path / "last.trace").calls()["use_file"] == calls


@pytest.mark.parametrize("name", ["mpich-wheel", "openmpi"])
def test_mpi_in_destructors(build: Builder, tmp_path: Path, name: str) -> None:
    mpi = mpis.find(name, build)
    made = build(
        "mpi_static.cc", compiler=str(mpi.mpicxx), flags=("-shared", "-fPIC", "-DLIB"), output="libends.so", plain=True
    )
    program = build("mpi_static.cc", compiler=str(mpi.mpicxx), flags=(made, f"-Wl,-rpath,{made.parent}"), plain=True)
    vtrace(tmp_path, "run", "--unify", "-o", "last", *mpi.launch, "-n", "2", program, env=mpi.env)
    calls = check(tmp_path / "last.trace").calls()
    assert (calls["MPI_Barrier"], calls["MPI_Finalize"]) == (6, 2)


def test_daemon(build: Builder, tmp_path: Path) -> None:
    """A program overwrites its arguments, records one call, and sleeps until its end."""
    trace = record(build("retitles.c"), tmp_path, "a", "", "b c")
    assert trace.calls() == {"work": 1}
    about = json.loads(vtrace(tmp_path, "info", "--json", "retitles").stdout)
    assert about["about"]["command"][1:] == ["a", "", "b c"]
    assert about["seconds"] >= 0.2
