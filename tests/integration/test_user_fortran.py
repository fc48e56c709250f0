# SPDX-License-Identifier: BSD-3-Clause
"""The user API in Fortran, free and fixed form: every macro, with and without -DVTRACE."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run
from support.oracles.user_api import INCLUDE, MANUAL, defined, pair, story, words
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, command, need
from vtrace.paths import LIB

LOOP = ["+loop", "+given", "+plain", "-plain", "-given", "-loop"] * 2
REST = words("""
OFF, ON, 0=-3, 1=9223372036854775807, 2=0.5, 3=-1e+300,
MpiSend queue 0 5 80, MpiSend User messages 0 6 90, MpiRecv queue 0 5 80, MpiRecv User messages 0 6 90,
BufferFlush, OFF, ON
""")


@pytest.fixture(params=["F90", "F"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in free form and in fixed form."""
    return Path(shutil.copy(PROGRAMS / "user_free.F90", tmp_path_factory.mktemp("form") / f"user.{request.param}"))


def check_all(trace: Trace, around: list[str]) -> None:
    ends = [word.replace("+", "-") for word in reversed(around)]
    assert story(trace) == [*around, *LOOP, *pair("made up"), *REST, *ends]
    assert [(m.category, m.text) for m in trace.markers] == [
        ("breaks", "it broke"), ("comment", "half way"), ("steps", "it went")
    ]  # fmt: skip
    found = defined(trace.path)
    assert [metric[:3] for metric in found.metrics] == [
        ("level", "m", "INT64"), ("rain", "drops", "INT64"), ("wind", "m/s", "DOUBLE"), ("heat", "#", "DOUBLE"),
    ]  # fmt: skip
    assert found.groups == {
        "phases": ("REGIONS", ["given"]), "weather": ("METRIC", ["level", "rain"]), "User": ("METRIC", ["wind", "heat"])
    }  # fmt: skip


def line_of(source: Path, text: str) -> int:
    """The number of the first line that contains the text."""
    lines = source.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_every_macro(build: Builder, tmp_path: Path, source: Path) -> None:
    trace = record(build(source, compiler="gfortran", flags=(*MANUAL, "-Wall")), tmp_path)
    check_all(trace, [])
    found = {region.name: (Path(region.file or "").name, region.line) for region in trace.regions.values()}
    begins = {"loop": "START('loop')", "given": "DEF('given'", "plain": "DEF('plain'", "made up": "START(name)"}
    assert {name: found[name] for name in begins} == {
        name: (source.name, line_of(source, text)) for name, text in begins.items()
    }


def test_with_functions(build: Builder, tmp_path: Path) -> None:
    trace = record(build("user_free.F90", compiler="gfortran", flags=("-DVTRACE", "-O0")), tmp_path)
    check_all(trace, ["+main", "+user_free"])


def test_without_the_macros(build: Builder, tmp_path: Path, source: Path) -> None:
    program = build(source, compiler="gfortran", flags=MANUAL[:2])
    assert run(program, tmp_path).stdout.split() == ["1", "1"]
    assert names(tmp_path) == set()


@pytest.mark.parametrize("family", ["REGION", "CONTROL", "COMMENT", "COUNT", "MARKER", "MSG"])
def test_a_family_is_switched_off(tmp_path: Path, family: str) -> None:
    """-DVTRACE_NO_FAMILY: the object refers to no entry point of the family."""
    flags = [INCLUDE, "-DVTRACE", f"-DVTRACE_NO_{family}", "-c"]
    call([need("gfortran"), *flags, PROGRAMS / "user_free.F90", "-o", "x.o"], tmp_path)
    used = {line.split()[-1] for line in call([need("nm"), "-u", "x.o"], tmp_path).stdout.splitlines() if "vt_" in line}
    of = {
        "REGION": "start end def", "CONTROL": "trace buffer timesync update set rewind is", "COMMENT": "comment",
        "COUNT": "count", "MARKER": "marker", "MSG": "msg",
    }  # fmt: skip
    first = {name.removeprefix("vt_user_").partition("_")[0].rstrip("2") for name in used}
    assert first == {word for key, text in of.items() if key != family for word in text.split()}


def test_without_vtrace(build: Builder, tmp_path: Path) -> None:
    """Fortran has no weak references, so libvtrace-user.a has empty functions. vtrace-fc adds it to a static link."""
    stubs = LIB / "libvtrace-user.a"
    for more in ((), ("-static",)):
        flags = (INCLUDE, "-DVTRACE", *more, stubs)
        program = build("user_free.F90", compiler="gfortran", flags=flags, output=f"free{len(more)}", plain=True)
        assert run(program, tmp_path).stdout.split() == ["1", "1"]
    program = build("user_free.F90", compiler="gfortran", flags=("-DVTRACE", "-static"), mode="seq")
    assert run(program, tmp_path).stdout.split() == ["1", "1"]
    assert names(tmp_path) == set()


def test_names_of_other_compilers(tmp_path: Path) -> None:
    """Each entry point has the four spellings of Fortran compilers."""
    (tmp_path / "x.f90").write_text("call VT_User_rewind__()\nend\n")
    shown = call([*command("vtrace-fc"), "-vt:show", "-vt:seq", "x.f90"], tmp_path).stdout
    assert INCLUDE in shown
    symbols = call([need("nm"), "-D", "--defined-only", LIB / "libvtrace.so.1"], tmp_path).stdout
    known = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    for name in ("vt_user_rewind__", "vt_user_rewind___", "vt_user_rewind____", "VT_USER_REWIND__", "VT_User_rewind__"):
        assert name in known
