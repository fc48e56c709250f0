# SPDX-License-Identifier: BSD-3-Clause
"""VT_MPI_CALLSITES records the call site of each MPI call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.readers.mpip_report import lines_of
from support.tools import PROGRAMS, need

AT, LIBRARY_AT = lines_of("mpi_sites.c"), lines_of("mpi_sites_lib.c")
RANKS, TURNS = 3, 5
FLAGS = ("-g", "-O2", "-pthread", "-fno-optimize-sibling-calls")  # a tail call has its caller's place


def compiled(mpi: Mpi, *flags: str) -> Path:
    compiler = str(mpi.mpicc)
    library = mpi.builder(
        "mpi_sites_lib.c", compiler=compiler, flags=("-fPIC", "-shared", *FLAGS, *flags), output="libsites.so"
    )
    return mpi.builder(
        "mpi_sites.c", compiler=compiler, flags=(*FLAGS, *flags, str(library), f"-Wl,-rpath,{library.parent}")
    )


def recorded(mpi: Mpi, where: Path, depth: int, *flags: str) -> Trace:
    program = compiled(mpi, *flags)
    done = mpi.run(program, where, str(TURNS), ranks=RANKS, env={"VT_MPI_CALLSITES": str(depth)})
    assert f"sum {sum(range(RANKS))} levels 6 done 0" in done.stdout
    unify(where, "mpi_sites")
    return check(where / "mpi_sites.trace")


def sites(trace: Trace, rank: int) -> Counter[tuple[str, str]]:
    """The number of calls of each MPI function at each call site; file names have no directory."""
    place = trace.locations[rank].process
    return Counter(
        (trace.region_of(e).name.removeprefix("MPI_"), str(e.more["call site"]).replace(f"{PROGRAMS}/", ""))
        for e in trace.events
        if e.kind == "Enter" and "call site" in e.more and trace.locations[e.location].process == place
    )


def stack(*frames: tuple[str, str]) -> str:
    files = {"library": ("mpi_sites_lib.c", LIBRARY_AT)}
    words = []
    for function, name in frames:
        file, lines = files.get(name, ("mpi_sites.c", AT))
        words.append(f"{function}@{file}:{lines[name]}")
    return " <- ".join(words)


CALLS = [
    ("Irecv", TURNS, ("pass", "irecv"), ("main", "turns")),
    ("Isend", TURNS, ("pass", "isend"), ("main", "turns")),
    ("Waitall", TURNS, ("pass", "waitall"), ("main", "turns")),
    ("Bcast", 1, ("twice", "first"), ("main", "twice")),
    ("Bcast", 1, ("twice", "second"), ("main", "twice")),
    ("Allreduce", 1, ("library_sum", "library"), ("main", "sum")),
    ("Barrier", 1, ("down", "bottom"), ("down", "deeper"), ("down", "deeper")),
    ("Barrier", 1, ("tail", "tail"), ("main", "tails")),
]


def expected(depth: int) -> Counter[tuple[str, str]]:
    return Counter({(call, stack(*frames[:depth])): n for call, n, *frames in CALLS})


@pytest.mark.parametrize("depth", [1, 3])
def test_each_call_has_its_place(mpi: Mpi, tmp_path: Path, depth: int) -> None:
    trace = recorded(mpi, tmp_path, depth)
    for rank in range(RANKS):
        found = sites(trace, rank)
        work = {key: n for key, n in found.items() if "work@" in key[1]}
        assert {key: n for key, n in found.items() if key in expected(depth)} == expected(depth)
        rest = Counter(call for call, place in found if (call, place) not in expected(depth))
        assert rest == Counter(["Comm_rank", "Comm_size", "Init_thread", "Finalize", *["Sendrecv"] * bool(work)])
        if work:
            ((_, place),) = work
            assert (sum(work.values()), place.split(" <- ")[0]) == (2, stack(("work", "thread")))
            assert (len(place.split(" <- ")) > 1) == (depth > 1)
    calls = [e for e in trace.events if e.kind == "Enter" and trace.region_of(e).paradigm == "MPI"]
    assert all("call site" in e.more for e in calls)
    others = [e for e in trace.events if e not in calls and "call site" in e.more]
    assert not others


def test_tail_calls_belong_to_the_caller(mpi: Mpi, tmp_path: Path) -> None:
    """Without the hooks of vtrace, a call at the end of a function is a jump. The stack has return addresses only, so
    the call site is in the caller of that function."""
    found = sites(recorded(mpi, tmp_path, 2, "-vt:inst", "manual", "-foptimize-sibling-calls"), 0)
    assert found["Barrier", stack(("main", "tails"))] == 1
    assert found["Irecv", stack(("pass", "irecv"), ("main", "turns"))] == TURNS


@pytest.mark.full
def test_clang(build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPICH_CC", need("clang"))
    mpi = mpis.find("mpich", build)
    found = sites(recorded(mpi, tmp_path, 3, "-DCLANG"), 1)
    assert {key: n for key, n in found.items() if key in expected(3)} == expected(3)


def test_off_adds_no_attribute_and_a_wrong_depth_is_reported(mpi: Mpi, tmp_path: Path) -> None:
    program = compiled(mpi)
    done = mpi.run(program, tmp_path, ranks=2, env={"VT_MPI_CALLSITES": "99"})
    assert "VT_MPI_CALLSITES=99 is too large (0 to 32): 32 is used" in done.stderr
    mpi.run(program, tmp_path, ranks=2)
    unify(tmp_path, "mpi_sites")
    trace = check(tmp_path / "mpi_sites.trace")
    assert not any("call site" in e.more for e in trace.events)


FORTRAN_AT = lines_of("mpi_sites.F90")


@pytest.mark.parametrize("binding", ["MPI", "F08"])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_fortran(build: Builder, tmp_path: Path, name: str, binding: str) -> None:
    mpi = mpis.find(name, build)
    words = ("-g", "-O1", "-w", "-fallow-argument-mismatch", f"-D{binding}")
    program = mpi.builder("mpi_sites.F90", compiler=need(f"mpifort.{name}"), flags=words)
    run(program, tmp_path, launch=[*mpi.launch, "-n", "2"], env={**mpi.env, "VT_MPI_CALLSITES": "2"})
    unify(tmp_path, "mpi_sites")
    found = sites(check(tmp_path / "mpi_sites.trace"), 0)
    # For a call of a module procedure the debug information of gfortran has the line of the program unit.
    inner = Counter((call, *(frame.split("@")[0] for frame in place.split(" <- ")), place.split(" <- ")[0][-2:])
                    for call, place in found)  # fmt: skip
    for call, *functions, site in (
        ("Allreduce", "work::sum", "MAIN__", "sum"), ("Sendrecv", "work::around", "MAIN__", "around"),
        ("Barrier", "MAIN__", "barrier"), ("Init", "MAIN__", "init"), ("Finalize", "MAIN__", "finalize"),
    ):  # fmt: skip
        assert inner[call, *functions, str(FORTRAN_AT[site])] == 1, (call, inner)
    assert sum(found.values()) == 7
