# SPDX-License-Identifier: BSD-3-Clause
"""Sections: recorded by the user API of C, C++, Fortran and Python, which nest and overlap freely."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import INCLUDE, MANUAL, defined
from support.readers.archive import Trace
from support.tools import call
from vtrace.paths import LIB

OVERLAP = ["outer/1=1", "cross/2=1", "outer/1=0", "cross/2=0"]
HIDDEN = ["hidden/1=1", "hidden/1=0"]
REST = ["again/1=1", "again/2=1", "again/2=0", "again/1=0", "off/1=1", *["off/1=1", "off/1=0"] * 2, "open/-7=1"]
THREAD = ["outer/1=1", "left/1=1", "outer/1=0"]
SECOND_THREAD = ["left/1=1"]
"""Both sections of the program have one name: the outer one is recorded, and its stop is missing."""


def recorded(trace: Trace) -> list[list[str]]:
    """The values of the sections' metrics by location: NAME/NUMBER=VALUE."""
    metrics = defined(trace.path).metrics
    assert {metric[1:] for metric in metrics} == {("section", "UINT64", "ABSOLUTE_NEXT")}
    return [
        [f"{metrics[e.attrs['metric']][0]}={e.attrs['values'][0]}" for e in trace.of(location) if e.kind == "Metric"]
        for location in trace.locations
    ]


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_records(build: Builder, tmp_path: Path, compiler: str) -> None:
    """The outermost of sections of one name is recorded; a stop while recording is off is missing."""
    flags = (*MANUAL, "-pthread", "-Wall", "-Wextra", "-Werror", *(["-x", "c++"] if compiler == "g++" else []))
    program = build("sections.c", compiler=compiler, flags=flags)
    trace = record(program, tmp_path, env={"VT_PTHREAD_REUSE": "no"})
    assert recorded(trace) == [[*OVERLAP, *REST], THREAD, SECOND_THREAD]


def test_a_thread_begins_without_sections(build: Builder, tmp_path: Path) -> None:
    """A new thread takes the location of an ended one that has left a section open."""
    trace = record(build("sections.c", flags=(*MANUAL, "-pthread")), tmp_path)
    assert recorded(trace) == [[*OVERLAP, *REST], [*THREAD, *SECOND_THREAD]]


def test_level(build: Builder, tmp_path: Path) -> None:
    program = build("sections.c", flags=(*MANUAL, "-pthread"))
    expected = ["all/0=1", *OVERLAP, *HIDDEN, *REST, "all/0=0"]
    assert recorded(record(program, tmp_path, env={"VT_SECTION_LEVEL": "1"}))[0] == expected
    vtrace(tmp_path, "run", "--unify", "--force", "--section-level", "1", program)
    assert recorded(check(tmp_path / "sections.trace"))[0] == expected
    done = vtrace(tmp_path, "run", "--section-level", "high", program, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), str(done)
    assert "--section-level high is not a level" in done.stderr


def test_without_vtrace(build: Builder, tmp_path: Path) -> None:
    """Built with the macros but without the library, and with the library but without the macros: no records."""
    run(build("sections.c", flags=(INCLUDE, "-DVTRACE", "-pthread"), plain=True), tmp_path)
    run(build("sections.c", flags=(*MANUAL, "-DVTRACE_NO_SECTION", "-pthread"), output="none"), tmp_path)
    assert not any("sections" in name for name in names(tmp_path) if name.endswith(".z"))
    unify(tmp_path, "none")
    assert recorded_names(tmp_path / "none.trace") == []


def recorded_names(archive: Path) -> list[str]:
    return [metric[0] for metric in defined(archive).metrics]


@pytest.mark.parametrize("flags", [MANUAL, MANUAL[:2]])
def test_fortran(build: Builder, tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = build("sections.F90", compiler="gfortran", flags=(*flags, "-Wall"))
    if flags == MANUAL:
        assert recorded(record(program, tmp_path)) == [OVERLAP]
        return
    run(program, tmp_path)
    assert names(tmp_path) == set()


PYTHON = """
from vtrace.user import section, section_start, section_stop
section_start("outer", 1)
section_start("cross", 2)
section_stop("outer", 1)
section_stop("cross", 2)

@section("again")
def descend(depth):
    if depth:
        descend(depth - 1)

descend(2)
try:
    with section("hidden", level=1), section("fails", number=3):
        raise ValueError
except ValueError:
    print("caught")
with section(b"odd", 3.0), section("none", "x"), section("far", 1 << 31), section("half", 2.5):
    pass
"""


def test_python(tmp_path: Path) -> None:
    """With vtrace and without; a section ends where an exception leaves it."""
    assert call([sys.executable, "-c", PYTHON], tmp_path).stdout == "caught\n"
    assert names(tmp_path) == set()
    env = {"LD_PRELOAD": str(LIB / "libvtrace.so.1"), "VT_FILE_PREFIX": "py"}
    done = call([sys.executable, "-c", PYTHON], tmp_path, env)
    assert done.stdout == "caught\n"
    assert "vtrace: section_start: ('x', 0) are not whole numbers of 32 bits: not recorded\n" in done.stderr
    unify(tmp_path, "py")
    expected = [*OVERLAP, "again/0=1", "again/0=0", "fails/3=1", "fails/3=0", "odd/3=1", "odd/3=0"]
    assert recorded(check(tmp_path / "py.trace")) == [expected]
