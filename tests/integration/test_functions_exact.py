# SPDX-License-Identifier: BSD-3-Clause
"""The functions in a trace are exactly those that exist in the program, each as often as it was called.

Counts of functions that no compiler inlines are known (the comment of each program); those of all others are compared
with valgrind's counts of the same program (support/oracles/function_calls.py).
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, run
from support.oracles.function_calls import Module, callgrind, expected, recorded
from support.readers.archive import Trace, short
from support.tools import call, need

LEVELS = ("-O0", "-O1", "-O2", "-O3")


@dataclass(frozen=True)
class Case:
    """A program, its calls at least, and its functions without hooks, by parts of their symbols."""

    sources: tuple[str, ...]
    calls: Mapping[str, int]
    flags: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.sources[0], *self.args])


LIBRARY = {"entry": 5, "lib_step": 20, "lib_leaf": 40, "lib_begin": 1, "lib_end": 1}
EXACT = (
    {"main": 1, "nest": 8, "leaf": 24, "even": 6, "odd": 5, "ackermann": 44, "add": 12, "subtract": 12, "total": 7}
    | {"helper": 9, "begins": 1, "ends": 1, "last": 1}
    | LIBRARY
)
C = Case(("exact.c", "exact_lib.c"), EXACT)
CXX = [
    Case(
        ("exact.cc",),
        {"main": 1, "largest": 7, "sum": 6, "Square::area": 5, "Both::area": 5, "Both::name": 4, "Counted::Counted": 9}
        | {"Counted::~Counted": 9, "operator+(Vec, Vec)": 7, "Once::Once": 1, "Once::~Once": 1, "only": 3}
        | {"by_value": 3, "{anonymous}::Hidden::secret": 3},
        ("-std=c++17",),
    ),
    Case(
        ("exact_coroutines.cc",),
        {"main": 1, "walk": 3, "stop": 2, "made": 21, "ended": 3, "awaited": 4, "resumed": 4, "Guard::~Guard": 5},
        ("-std=c++20",),
    ),
    Case(
        ("unwinds.cc",),
        {"main": 1, "catcher": 7, "landed": 7, "settled": 7, "Local::~Local": 14}
        | {f"f{i}": 7 for i in range(1, 6)},
        ("-pthread",),
        ("cleanup", "7"),
        ("nowv", "quietv", "in_threadPv", "at_landingv", "isPKc"),
    ),
    Case(
        ("mesh.cc",),
        {"main": 1, "Domain::Domain": 1, "step": 3, "forces": 3, "move": 3, "state": 3, "limit": 3}
        | {"element_force": 81, "element_state": 81, "allowed_of": 12},
        args=("3", "3", "5"),
    ),
]  # fmt: skip
FORTRAN = Case(
    ("exact.f90",),
    {"mesh::smooth": 6, "inner": 12, "mesh::norm_real": 3, "mesh::norm_int": 1, "mesh::each": 2, "add_to": 5}
    | {
        "mesh::square": 5,
        "mesh::fib": 109,
        "mesh::part": 3,
        "bare": 2,
        "scoped": 2,
        "mesh::area": 7,
        "mesh::finish": 3,
    },
)


def compare(trace: Trace, program: Path, libraries: list[Path], args: list[str | Path], quiet: tuple[str, ...]) -> None:
    """Asserts that a trace has exactly the calls that valgrind counts of the functions with hooks, and that all
    functions with source code have hooks, except quiet ones."""
    modules = [Module(path) for path in (program, *libraries)]
    there = trace.path.parent / "counted"
    there.mkdir()
    _, counted = callgrind([program, *args], there, {"VT_VERBOSE": "0"})
    entered = recorded(trace, modules)
    wanted = expected(modules, counted)
    assert entered == wanted, f"recorded too much: {entered - wanted}, too little: {wanted - entered}"
    assert recorded(trace, modules, "Leave") == entered
    for module in modules:
        left_out = {name for name in module.left_out() if not any(part in name for part in quiet)}
        assert not left_out, f"functions of {module.path.name} without hooks"


def thunks(trace: Trace) -> Counter[str]:
    """The calls of C++'s thunks, which clang compiles with sleds, by the short names of the functions they forward
    to."""
    names = (trace.region_of(event).name for event in trace.events if event.kind == "Enter")
    return Counter(short(name) for name in names if " thunk to " in name)


def verify(
    build: Builder, where: Path, compiler: str, flags: tuple[str, ...], case: Case, inlined: bool = False
) -> Trace:
    """Records a case, and compares its calls with known counts and measured counts. inlined: functions
    with known counts may have been inlined."""
    flags = (*flags, *case.flags, "-gdwarf-4")
    program = build(*case.sources, compiler=compiler, flags=flags)
    trace = record(program, where, *case.args)
    calls = trace.calls() - thunks(trace)
    assert inlined or {name: calls[name] for name in case.calls} == case.calls
    compare(trace, program, [], [*case.args], case.quiet)
    return trace


def sample(rows: list[tuple[Any, ...]], every: int) -> list[Any]:
    """Rows of a matrix, of which make test runs each `every`-th."""
    return [pytest.param(*row, marks=() if i % every == 0 else (pytest.mark.full,)) for i, row in enumerate(rows)]


@pytest.mark.parametrize(("case", "level", "compiler"), sample([*product([C], LEVELS, compilers.C)], 3), ids=str)
def test_c(build: Builder, tmp_path: Path, case: Case, level: str, compiler: str) -> None:
    compilers.need_after_inlining(compiler)
    trace = verify(build, tmp_path, compiler, (level,), case)
    calls = trace.calls()
    assert calls["known"] + calls["alias_of_known"] == 6
    edges = trace.edges()
    assert (edges["nest", "leaf"], edges["odd", "even"], edges["even", "odd"], edges["lib_step", "lib_leaf"]) == (
        24,
        5,
        5,
        40,
    )


@pytest.mark.parametrize(("case", "level", "compiler"), sample([*product(CXX, LEVELS, compilers.C)], 5), ids=str)
def test_cxx(build: Builder, tmp_path: Path, case: Case, level: str, compiler: str) -> None:
    compilers.need_after_inlining(compiler)
    verify(build, tmp_path, compilers.cxx(compiler), (level,), case)


@pytest.mark.parametrize(
    "flags",
    [
        ("-O0",),
        ("-O2", "-fno-inline"),
        pytest.param(("-O1",), marks=pytest.mark.full),
        ("-O2",),
        pytest.param(("-O3",), marks=pytest.mark.full),
        pytest.param(("-O2", "-flto"), marks=pytest.mark.full),
    ],
    ids=" ".join,
)
def test_fortran(build: Builder, tmp_path: Path, flags: tuple[str, ...]) -> None:
    compilers.need_after_inlining("gfortran")
    inlined = "-O0" not in flags and "-fno-inline" not in flags
    verify(build, tmp_path, "gfortran", (*flags, f"-J{tmp_path}"), FORTRAN, inlined)


PLUGIN = [
    *product([("gcc", C)], ("-O0", "-O2", "-O3", "-O2 -flto", "-O2 -fPIC")),
    *product([("g++", case) for case in CXX], ("-O2", "-O0", "-O3")),
    *product([("gfortran", FORTRAN)], ("-O0", "-O2")),
]


@pytest.mark.parametrize(("compiler", "case", "flags"), sample([(*one, flags) for one, flags in PLUGIN], 3), ids=str)
def test_plugin(build: Builder, tmp_path: Path, compiler: str, case: Case, flags: str) -> None:
    """The plug-in for gcc calls hooks in exactly the functions that exist after inlining."""
    compilers.need_plugin(compiler)
    more = (f"-J{tmp_path}",) if case is FORTRAN else ()
    words = ("-vt:inst", "plugin", *flags.split(), *more)
    verify(build, tmp_path, compiler, words, case, inlined=case is FORTRAN and flags != "-O0")


KINDS = ("no-pie", "lto", "static library", "shared library", "plug-in")


def linked(
    build: Builder, where: Path, kind: str, compiler: str, level: str
) -> tuple[Path, list[Path], list[str | Path]]:
    """The program of C, its parts put together in one of these ways: the executable, its libraries, arguments."""
    flags: tuple[str, ...] = (level, "-gdwarf-4")
    position = {"no-pie": ("-fno-pie", "-no-pie"), "lto": ("-flto",)}.get(kind)
    if position:
        return build(*C.sources, compiler=compiler, flags=(*flags, *position)), [], []
    if kind == "static library":
        part = build("exact_lib.c", compiler=compiler, flags=(*flags, "-c"), output="exact_lib.o")
        call([need("ar"), "rc", "libexact.a", part], where)
        return build("exact.c", compiler=compiler, flags=(*flags, f"-L{where}", "-lexact")), [], []
    library = build("exact_lib.c", compiler=compiler, flags=(*flags, "-fPIC", "-shared"), output="libexact.so")
    if kind == "shared library":
        rest = (*flags, str(library), f"-Wl,-rpath,{library.parent}")
        return build("exact.c", compiler=compiler, flags=rest), [library], []
    # A second library, so that the first one is unloaded and loaded again.
    other = build("plugin.c", compiler=compiler, flags=(*flags, "-fPIC", "-shared", "-DNAME=alpha"), output="alpha.so")
    program = build("loader.c", compiler=compiler, flags=(*flags, "-ldl"))
    return program, [library, other], [library, other, library]


@pytest.mark.parametrize(
    ("kind", "level", "compiler"), sample([*product(KINDS, ("-O2", "-O0", "-O3"), compilers.C)], 5), ids=str
)
def test_linked(build: Builder, tmp_path: Path, kind: str, level: str, compiler: str) -> None:
    compilers.need_after_inlining(compiler)
    if kind == "lto" and compilers.is_clang(compiler):
        need_gold_plugin(compiler)
    program, libraries, args = linked(build, tmp_path, kind, compiler, level)
    trace = record(program, tmp_path, *args)
    calls, known = trace.calls(), dict(EXACT)
    if kind == "plug-in":
        known = {
            "main": 1,
            "between": 3,
            "entry": 9,
            "alpha": 6,
            "lib_step": 24,
            "lib_leaf": 48,
            "lib_begin": 2,
            "lib_end": 2,
        }
    assert {name: calls[name] for name in known} == known
    compare(trace, program, libraries, args, ())


def need_gold_plugin(compiler: str) -> None:
    """Skips the test where clang cannot link code generated at link time."""
    asked = call([need(compiler), "-print-file-name=LLVMgold.so"], Path.cwd()).stdout.strip()
    if not Path(asked).is_absolute() or not Path(asked).exists():
        pytest.skip(f"{compiler} lacks LLVMgold.so")


ODD = [
    ("-Os",),
    ("-Og", "-fno-omit-frame-pointer"),
    ("-O2", "-fcf-protection=full"),
    ("-O2", "-fno-plt", "-Wl,-z,now"),
    ("-O2", "-fstack-protector-all", "-fstack-clash-protection"),
    ("-O2", "-ffunction-sections", "-Wl,--gc-sections"),
    ("-O2", "-march=native", "-mno-red-zone"),
    ("-O2", "-fuse-ld=gold"),
    ("-O3", "-fno-asynchronous-unwind-tables"),
    ("-O2", "-fvisibility=hidden", "-fPIC", "-pie"),
    ("-O2", "-mcmodel=medium"),
]


@pytest.mark.full
@pytest.mark.parametrize(("flags", "compiler"), [*product(ODD, compilers.C)], ids=str)
def test_odd_flags(build: Builder, tmp_path: Path, flags: tuple[str, ...], compiler: str) -> None:
    compilers.need_after_inlining(compiler)
    verify(build, tmp_path, compiler, flags, C)


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "level"), [*product(compilers.OTHER_C, ("-O0", "-O2"))])
def test_other_versions(build: Builder, tmp_path: Path, compiler: str, level: str) -> None:
    compilers.need_version(compiler)
    verify(build, tmp_path, compiler, (level,), C)


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "case"), [*product(compilers.OTHER_C, CXX)], ids=str)
def test_other_versions_cxx(build: Builder, tmp_path: Path, compiler: str, case: Case) -> None:
    compilers.need_version(compilers.cxx(compiler))
    if "-std=c++20" in case.flags and compiler == "clang-13":
        pytest.skip("clang-13 knows coroutines of the technical specification only")
    verify(build, tmp_path, compilers.cxx(compiler), ("-O2",), case)


def test_compilers_agree_without_inlining(build: Builder, tmp_path: Path) -> None:
    """At -O0 gcc and clang make the same functions of a C program."""
    found: list[Counter[str]] = []
    for compiler in compilers.C:
        compilers.need_after_inlining(compiler)
        program = build(*C.sources, compiler=compiler, flags=("-O0",))
        found.append(record(program, tmp_path).calls())
        shutil.rmtree(tmp_path / "exact.trace")
    assert found[0] == found[1]


@pytest.mark.parametrize("compiler", compilers.C)
def test_same_output(build: Builder, tmp_path: Path, compiler: str) -> None:
    for case, one in [(C, compiler), *((case, compilers.cxx(compiler)) for case in CXX)]:
        flags = ("-O2", *case.flags)
        said = [
            run(build(*case.sources, compiler=one, flags=flags, plain=plain), tmp_path, *case.args).stdout
            for plain in (True, False)
        ]
        assert said[0] == said[1]
