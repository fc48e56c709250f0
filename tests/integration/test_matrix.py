# SPDX-License-Identifier: BSD-3-Clause
"""Every program of tests/programs with every compiler, with and without optimisation, position-independent and not.

Each program runs with one of the variants, in rotation; the whole matrix (marked full) has all variants.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import record, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, need

PIE = (("-fPIE", "-pie"), ("-fno-pie", "-no-pie"))


@dataclass(frozen=True)
class Variant:
    compiler: str
    flags: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.compiler, *(flag for flag in self.flags if flag not in ("-fPIE", "-fno-pie"))])

    @property
    def library(self) -> tuple[str, ...]:
        """The flags for a shared library."""
        return (*self.flags[:1], "-fPIC", "-shared")


@dataclass(frozen=True)
class Case:
    """A program, its arguments and its calls: exactly these, or with more=True at least these."""

    source: str
    args: tuple[str, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    flags: tuple[str, ...] = ()
    ranks: int | None = None
    code: int | None = 0
    complete: bool = True

    def __str__(self) -> str:
        return " ".join([self.source, *self.args])


def variants(*compilers: str) -> list[Variant]:
    return [Variant(compiler, (level, *pie)) for pie, level, compiler in product(PIE, ("-O0", "-O2"), compilers)]


def matrix(cases: Sequence[object], columns: Sequence[Variant], *, few: int | None = None) -> list[Any]:
    """All pairs of cases and columns. For each case one column is not marked full: the next one for the next case. few:
    for the first cases only."""
    return [
        pytest.param(
            case, variant, id=f"{case}: {variant}",
            marks=() if k == i % len(columns) and i < (few or len(cases)) else (pytest.mark.full,),
        )
        for (i, case), (k, variant) in product(enumerate(cases), enumerate(columns))
    ]  # fmt: skip


NESTED = {"main": 1, "step": 10, "leaf": 20, "fib": 177}
JUMP = {"main": 1, "catcher": 4, "deep1": 4, "deep2": 4, "deep3": 4, "after": 4}
PTHREAD = ("-pthread",)

C = [
    Case("altstack.c", ("50",), {"on_signal": 1, "work": 50}, code=7),
    Case("begets.c", ("fork", "3", "0", "0"), {"child": 3, "work": 24}, flags=PTHREAD, complete=False),
    Case("closes.c", ("50",), {"main": 1, "work": 50}),
    Case("descriptors.c", ("own", "50"), {"work": 50}, flags=PTHREAD),
    Case("endings.c", ("return", "50"), {"main": 1, "work": 50}, flags=PTHREAD),
    Case("endings.c", ("atexit", "50"), {"main": 1, "work": 100}, flags=PTHREAD),
    Case("endings.c", ("_exit", "50"), {"main": 1, "work": 50}, flags=PTHREAD, complete=False),
    Case("forks.c", ("return",), {"child": 1, "work": 20}, more=True),
    Case("forks.c", ("grandchild",), {"child": 2, "work": 27}, more=True),
    Case("handler.c", ("20000", "500"), {"main": 1, "work": 20000}, more=True, flags=PTHREAD),
    Case("jump.c", (), JUMP),
    Case("many.c", ("50",), {"main": 1, "work": 50}),
    Case("moves.c", ("/",), {"run": 1, "work": 20}),
    Case("naps.c", ("2", "5"), {"main": 1, "nap": 16, "body": 2, "too_short": 1, "on_signal": 1}, flags=PTHREAD),
    Case("nested.c", (), NESTED),
    Case("quiet.c", (), {"body": 1, "work": 10}, flags=PTHREAD),
    Case("threads.c", ("together", "3", "50"), {"main": 1, "body": 3, "work": 200}, flags=PTHREAD),
]
CXX = [
    Case(
        "shapes.cc",
        (),
        {"main": 1, "Global::Global": 1, "Global::~Global": 1, "note": 2, "geometry::area": 11, "thrower": 9}
        | {"scale": 5, "geometry::Square::Square": 4, "geometry::Square::size": 4, "catcher": 3, "settled": 3},
        more=True,
    ),
    Case("jump.c", (), JUMP),
    Case("nested.c", (), NESTED),
]
FORTRAN = [Case("solver.f90", (), {"solver_mod::smooth": 7, "solver_mod::fib": 67, "inner": 3}, more=True)]
MPI = [
    Case("mpi_collectives.c", ranks=3),
    Case("mpi_comms.c", ranks=4),
    Case("mpi_io.c", ranks=2),
    Case("mpi_requests.c", ranks=3),
    Case("mpi_rma.c", ranks=3),
    Case("mpi_threads.c", ranks=2, flags=PTHREAD),
    # clang does not instrument inlined functions, which the program's own MPI functions would be.
    Case("mpi_own_wrapper.c", ranks=2, flags=("-fno-inline",), complete=False),
    Case("mpi_own_wrapper.c", ranks=2, flags=("-fno-inline", "-DINIT"), complete=False),
    Case("mpi_errors.c", ranks=2, complete=False),
    Case("mpi_large.c", ranks=2),
    Case("mpi_large_io.c", ranks=2),
    Case("mpi_messages.c", ranks=2),
    Case("mpi_pcontrol_io.c", ranks=2, complete=False),
    Case("mpi_refused.c", ranks=2),
    Case("mpi_rma_threads.c", ranks=2, flags=PTHREAD),
]
RANKS = [
    Case("ranks_threads.c", ("10",), {"main": 2, "body": 4, "work": 121}, True, PTHREAD, 2),
    Case("dies.c", (), {"main": 2, "work": 41}, more=True, ranks=2, code=None, complete=False),
]


def trace_of(build: Builder, directory: Path, case: Case, variant: Variant) -> Trace:
    program = build(case.source, compiler=variant.compiler, flags=(*variant.flags, *case.flags))
    return record(program, directory, *case.args, ranks=case.ranks, code=case.code, complete=case.complete)


def test_every_program_is_in_the_matrix() -> None:
    """Every program is in the matrix, or another test names it."""
    there = {path.name for path in PROGRAMS.iterdir() if path.suffix != ".h"}
    here = {case.source for case in (*C, *CXX, *FORTRAN, *MPI, *RANKS)}
    assert here <= there
    tests = "".join(path.read_text() for path in PROGRAMS.parent.rglob("*.py"))
    assert [name for name in sorted(there - here) if not re.search(rf"\b{Path(name).stem}\b", tests)] == []


@pytest.mark.parametrize(
    ("case", "variant"),
    [
        *matrix(C, variants("gcc", "clang")),
        *matrix(CXX, variants("g++", "clang++")),
        *matrix(FORTRAN, variants("gfortran")),
    ],
)
def test_program(build: Builder, tmp_path: Path, case: Case, variant: Variant) -> None:
    calls = trace_of(build, tmp_path, case, variant).calls()
    assert {name: calls[name] for name in case.calls} == case.calls
    assert case.more or calls == case.calls


VARY = "[Tt]est|probe|some"


def with_mpi() -> list[Variant]:
    return [Variant("mpicc", (*v.flags, f"-cc={v.compiler}")) for v in variants("gcc", "clang")]


def certain(trace: Trace) -> Counter[str]:
    """The counts of MPI calls and events that depend neither on the compiler nor on the duration of calls."""
    counts = trace.calls() + trace.kinds()
    return Counter({name: n for name, n in counts.items() if name[:3].lower() == "mpi" and not re.search(VARY, name)})


@pytest.mark.parametrize(("case", "variant"), matrix(MPI, with_mpi(), few=8))
def test_mpi_program(build: Builder, tmp_path: Path, case: Case, variant: Variant) -> None:
    """The counts are those of gcc -O1; other tests check that trace in detail."""
    reference = tmp_path / "reference"
    reference.mkdir()
    expected = certain(trace_of(build, reference, case, Variant("mpicc", ("-O1",))))
    assert certain(trace_of(build, tmp_path, case, variant)) == expected
    assert expected["MPI_Finalize"] == (0 if "-DINIT" in case.flags else case.ranks)


@pytest.mark.parametrize(("case", "variant"), matrix(RANKS, with_mpi()))
def test_ranks(build: Builder, tmp_path: Path, case: Case, variant: Variant) -> None:
    calls = trace_of(build, tmp_path, case, variant).calls()
    assert {name: calls[name] for name in case.calls} == case.calls


@pytest.mark.parametrize(("case", "variant"), matrix(["plugins"], variants("gcc", "clang")))
def test_loaded_and_unloaded(build: Builder, tmp_path: Path, case: str, variant: Variant) -> None:
    alpha, beta = (
        build("plugin.c", compiler=variant.compiler, flags=(*variant.library, f"-DNAME={name}"), output=f"{name}.so")
        for name in ("alpha", "beta")
    )
    loader = build("loader.c", compiler=variant.compiler, flags=(*variant.flags, "-ldl"))
    # The loader usually maps small libraries one after the other at the same addresses: names must not mix.
    trace = record(loader, tmp_path, alpha, beta, alpha, alpha, beta)
    assert trace.calls() == {"main": 1, "entry": 15, "between": 5, "alpha": 18, "beta": 12}
    assert trace.edges()[("main", "between")] == 5
    entered = [trace.region_of(event).name for event in trace.events if event.kind == "Enter"]
    order = [name for name in entered if name in ("alpha", "beta")]
    assert order == ["alpha"] * 6 + ["beta"] * 6 + ["alpha"] * 12 + ["beta"] * 6


@pytest.mark.parametrize(("case", "variant"), matrix(["--strip-all", "-g"], variants("gcc", "clang")))
def test_stripped(build: Builder, tmp_path: Path, case: str, variant: Variant) -> None:
    """Without symbols the names of functions are addresses; without debug information functions have no lines."""
    program = tmp_path / "nested"
    shutil.copy(build("nested.c", compiler=variant.compiler, flags=variant.flags), program)
    call([need("strip"), case, program], tmp_path)
    trace = record(program, tmp_path)
    calls = trace.calls()
    assert sorted(calls.values()) == sorted(NESTED.values())
    assert calls == NESTED if case == "-g" else all(re.fullmatch(r"nested\+0x[0-9a-f]+", name) for name in calls)
    assert all(region.line == 0 for region in trace.regions.values())


@pytest.mark.parametrize(("case", "variant"), matrix(["program", "library"], variants("gcc", "clang")))
def test_rebuilt_since_the_run(build: Builder, tmp_path: Path, case: str, variant: Variant) -> None:
    """The program or the library is rebuilt after the run: vtunify refuses its names with one warning, and finds the
    names of the other file."""
    library = tmp_path / "libtwo.so"
    shutil.copy(build("two_lib.c", compiler=variant.compiler, flags=variant.library, output="libtwo.so"), library)
    flags = (*variant.flags, library, f"-Wl,-rpath,{tmp_path}")
    program = tmp_path / "two"
    shutil.copy(build("two_a.c", "two_b.c", compiler=variant.compiler, flags=flags, output="two"), program)
    run(program, tmp_path)
    changed, again = (program, ("two_a.c", "two_b.c")) if case == "program" else (library, ("two_lib.c",))
    how = (*flags, "-DAGAIN", "-O1") if case == "program" else (*variant.library, "-O1", "-falign-functions=256")
    changed.unlink()
    shutil.copy(build(*again, compiler=variant.compiler, flags=how, output=changed.name), changed)
    done = unify(tmp_path, "two")
    calls = check(tmp_path / "two.trace").calls()
    own, foreign = {"main", "near", "helper", "far"}, {"lib_work", "lib_inner"}
    kept, refused = (foreign, own) if case == "program" else (own, foreign)
    assert kept <= set(calls)
    assert not refused & set(calls)
    helpers = [3, 5] if case == "program" else [8]
    assert sorted(calls.values()) == sorted([1, 3, 5, 10, 10, *helpers])
    warnings = [line for line in done.stderr.splitlines() if str(changed.name) in line]
    assert len(warnings) == 1, done.stderr
