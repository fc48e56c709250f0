# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --functions: functions of programs that were compiled without vtrace-cc, but with room for calls."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import prefix_of, run, unify, vtrace
from support.oracles.check import check
from support.oracles.frames import FRAMES, UNWINDS, N
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, need

FENTRY = ("-pg", "-mfentry")
XRAY = ("-fxray-instrument", "-fxray-instruction-threshold=1", "-Dno_instrument_function=xray_never_instrument")
NOT_PATCHABLE = "-Dno_instrument_function=patchable_function_entry(0)"  # no_instrument_function is for -pg only
LONG_NOPS = ("-mtune=haswell",) if os.uname().machine == "x86_64" else ()  # clang has NOPs of 15 bytes for it
WAYS = {
    "fentry": ("gcc", FENTRY),
    "fentry, no-pie": ("gcc", (*FENTRY, "-fno-pie", "-no-pie")),
    "fentry, clang": ("clang", FENTRY),
    "patchable": ("gcc", ("-fpatchable-function-entry=5", NOT_PATCHABLE)),
    "patchable, large, CET": ("gcc", ("-fpatchable-function-entry=16,3", "-fcf-protection=full", NOT_PATCHABLE)),
    "patchable, clang": ("clang", ("-fpatchable-function-entry=9", NOT_PATCHABLE)),
    "patchable, large, clang": ("clang", ("-fpatchable-function-entry=31", NOT_PATCHABLE, *LONG_NOPS)),
    "xray": ("clang", XRAY),
}
EXACT = {"main": 1, "nest": 8, "leaf": 24, "even": 6, "odd": 5, "ackermann": 44, "add": 12, "subtract": 12, "total": 7}
LEAF = next(i for i, line in enumerate((PROGRAMS / "exact.c").read_text().splitlines(), 1) if "void leaf(" in line)
EXACT |= {"helper": 9, "begins": 1, "ends": 1, "last": 1, "entry": 5, "lib_step": 20, "lib_leaf": 40}

way = pytest.mark.parametrize("way", WAYS)


def built(build: Builder, way: str, *sources: str, flags: tuple[str, ...] = ("-O2",)) -> Path:
    compiler, options = WAYS[way]
    one = compilers.cxx(compiler) if sources[0].endswith("cc") else compiler
    need(one)
    return build(*sources, compiler=one, flags=(*flags, *options), plain=True)


def traced(where: Path, program: Path, patterns: str, *args: str, env: dict[str, str] | None = None) -> Trace:
    done = vtrace(where, "run", "--functions", patterns, program, *args, env=env)
    assert "warning" not in done.stderr, done.stderr
    unify(where, prefix_of(program))
    return check(where / f"{prefix_of(program)}.trace")


@way
@pytest.mark.parametrize("level", ["-O1", pytest.param("-O0", marks=pytest.mark.full)])
def test_counts(build: Builder, tmp_path: Path, way: str, level: str) -> None:
    program = built(build, way, "exact.c", "exact_lib.c", flags=(level, "-g"))
    trace = traced(tmp_path, program, "*")
    calls = trace.calls()
    assert {name: calls[name] for name in EXACT} == EXACT
    assert trace.kinds()["Enter"] == trace.kinds()["Leave"]
    assert trace.edges()["nest", "leaf"] == 24
    region = trace.region("leaf")
    assert (Path(region.file or "").name, region.line) == ("exact.c", LEAF)


@way
def test_patterns(build: Builder, tmp_path: Path, way: str) -> None:
    program = built(build, way, "exact.c", "exact_lib.c", flags=("-O1",))
    trace = traced(tmp_path, program, "l?af;-lib_*;lib_step")
    assert trace.calls() == {"leaf": 24, "lib_step": 20}


@pytest.mark.parametrize("way", ["fentry", "patchable, clang", "xray"])
def test_limits(build: Builder, tmp_path: Path, way: str) -> None:
    """The rules of a filter apply to these functions, too."""
    (tmp_path / "rules").write_text("leaf -- 5\nlib_* -- 0\n")
    program = built(build, way, "exact.c", "exact_lib.c", flags=("-O1",))
    calls = traced(tmp_path, program, "*", env={"VT_FILTER_SPEC": "rules"}).calls()
    assert (calls["leaf"], calls["nest"], calls["lib_step"]) == (5, 8, 0)


def frames() -> list[object]:
    rows = [(way, "unwinds.cc", how) for way in WAYS for how in UNWINDS]
    rows += [(way, "frames.c", how) for way in WAYS for how in FRAMES]
    return [pytest.param(*row, marks=() if i % 7 == 0 else (pytest.mark.full,)) for i, row in enumerate(rows)]


@pytest.mark.parametrize(("way", "source", "how"), frames())
def test_frames(build: Builder, tmp_path: Path, way: str, source: str, how: str) -> None:
    """Exceptions, longjmp, pthread_exit and other stacks work as without vtrace, and each call is below its
    caller."""
    program = built(build, way, source, flags=("-O2", "-pthread"))
    found = Counter(traced(tmp_path, program, "*", how, str(N)).edges())
    wanted = Counter((UNWINDS if source == "unwinds.cc" else FRAMES)[how])
    if how == "noexcept" and "clang" in compilers.cxx(WAYS[way][0]):
        wanted["f2_never", "stopped"] = wanted.pop(("f5", "stopped"))
    assert found == wanted, f"too many: {found - wanted}, missing: {wanted - found}"


@way
def test_arguments_and_results(build: Builder, tmp_path: Path, way: str) -> None:
    program = built(build, way, "registers.c", flags=("-O2", "-Wno-psabi"))
    plain = run(program, tmp_path, "2000")
    env = {"VT_VERBOSE": "0", "VT_BUFFER_SIZE": "100K"}
    assert vtrace(tmp_path, "run", "--functions", "*", program, "2000", env=env).stdout == plain.stdout


@pytest.mark.parametrize("way", ["fentry", "patchable"])
def test_every_register(build: Builder, tmp_path: Path, way: str) -> None:
    program = built(build, way, "registers_raw.c", flags=("-O2",))
    env = {"VT_VERBOSE": "0", "VT_BUFFER_SIZE": "100K"}
    assert vtrace(tmp_path, "run", "--functions", "*", program, "20000", env=env).stdout.endswith("wrong 0\n")


BACKTRACE = """
#include <execinfo.h>
#include <stdio.h>
void *calls[50];
__attribute__((noinline)) int inner(void) { int n = backtrace(calls, 50); return n + 0 * (int)(long)calls[0]; }
__attribute__((noinline)) int outer(void) { return inner() + 1; }
int main(void)
{
    int n = outer() - 1;
    char **names = backtrace_symbols(calls, n);
    for (int i = 0; i < n; i++) puts(names[i]);
    return 0;
}
"""


@pytest.mark.parametrize("way", ["fentry", "patchable"])
def test_backtrace(tmp_path: Path, way: str) -> None:
    """The program's own stack walk finds each of its functions in the right order."""
    (tmp_path / "walk.c").write_text(BACKTRACE)
    compiler, options = WAYS[way]
    call([need(compiler), "-O1", *options, "-rdynamic", "walk.c", "-o", "walk"], tmp_path)
    lines = vtrace(tmp_path, "run", "--functions", "*", "./walk", env={"VT_VERBOSE": "0"}).stdout.splitlines()
    assert [name for line in lines for name in ("inner", "outer", "main") if f"({name}+" in line] == [
        "inner",
        "outer",
        "main",
    ]


def test_nothing_to_record(build: Builder, tmp_path: Path) -> None:
    program = build("exact.c", "exact_lib.c", flags=("-O1",), plain=True)
    done = vtrace(tmp_path, "run", "--functions", "*", program)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert "have no functions that vtrace can record; compile with vtrace-cc, -pg -mfentry" in lines[0]


@way
def test_not_asked(build: Builder, tmp_path: Path, way: str) -> None:
    """Without --functions and VT_FUNCTIONS the program's code is not changed."""
    program = built(build, way, "exact.c", "exact_lib.c", flags=("-O1",))
    vtrace(tmp_path, "run", program)
    assert not list(tmp_path.glob("exact.*.events*"))
