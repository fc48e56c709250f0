# SPDX-License-Identifier: BSD-3-Clause
"""C++ and Fortran: names as in the source, exceptions, and code before and after main."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import AS_WRITTEN, Builder
from support.build.run import record

SHAPES = {
    "main": 1,
    "Global::Global": 1,
    "Global::~Global": 1,
    "note": 2,
    "geometry::area": 11,
    "scale": 5,
    "geometry::Shape::Shape": 4,
    "geometry::Square::Square": 4,
    "geometry::Square::size": 4,
    "catcher": 3,
    "thrower": 9,
    "settled": 3,
}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("g++", ("-O0",)),
        ("g++", ("-O2", *AS_WRITTEN[1:], "-fno-ipa-icf")),  # two functions with the same code would be one
        ("clang++", ("-O0",)),
        ("clang++", ("-O2", *AS_WRITTEN[1:])),
    ],
)
def test_cxx(build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    trace = record(build("shapes.cc", compiler=compiler, flags=flags), tmp_path)
    calls, edges = trace.calls(), trace.edges()
    assert {name: calls[name] for name in SHAPES} == SHAPES
    # Functions that compilers add for static objects may be in the trace; those of the standard library must not.
    assert not [name for name in calls if name.startswith(("std::", "__gnu"))], calls
    assert edges[("Global::Global", "note")] == edges[("Global::~Global", "note")] == 1
    assert edges[("catcher", "thrower")] == 3
    assert edges[("thrower", "thrower")] == 6
    assert edges[("main", "settled")] == edges[("main", "catcher")] == 3, "an exception must close the frames it leaves"
    lambdas = [callee for (caller, callee), n in edges.items() if caller == "main" and n == 5 and callee != "scale"]
    assert lambdas == [name for (name, callee) in edges if callee == "geometry::area" and name != "main"]
    assert len(lambdas) == 1
    assert "operator()" in lambdas[0]
    assert trace.region("geometry::area").name == "geometry::area(int, int)"
    assert trace.region("geometry::area").canonical in ("_ZN8geometry4areaEii", "geometry::area(int, int)")
    assert {r.name for r in trace.regions.values() if "scale" in r.name} == {
        "int scale<int>(int)",
        "double scale<double>(double)",
    }
    assert Path(trace.region("note").file or "").name == "shapes.cc"


@pytest.mark.parametrize("flags", [("-O0",), ("-O2", *AS_WRITTEN[1:])])
def test_fortran(build: Builder, tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = build("solver.f90", compiler="gfortran", flags=flags)
    trace = record(program, tmp_path)
    calls, edges = trace.calls(), trace.edges()
    assert (calls["solver_mod::smooth"], calls["solver_mod::fib"], calls["inner"]) == (7, 67, 3)
    assert edges[("inner", "solver_mod::smooth")] == 3
    assert edges[("solver_mod::fib", "solver_mod::fib")] == 66
    assert not [name for name in calls if "_MOD_" in name or name == "MAIN__"], calls
    assert Path(trace.region("solver_mod::fib").file or "").name == "solver.f90"
