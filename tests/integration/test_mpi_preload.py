# SPDX-License-Identifier: BSD-3-Clause
"""The shim preloaded into programs that were built without vtrace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.mpis import EACH, Mpi
from support.build.run import names, unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import call, command, need
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.shim import shim_library

SOURCE = "mpi_messages.c"


@pytest.fixture(scope="module")
def library(mpi: Mpi) -> Path:
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    return shim_library(found)


def preload(mpi: Mpi, library: Path, program: Path, cwd: Path) -> str:
    """Runs a program on 3 ranks, with the shim in the ranks but not in mpiexec. Returns the standard error."""
    return mpi.run(Path(need("env")), cwd, f"LD_PRELOAD={library}", str(program), ranks=3).stderr


def mpi_events(trace: Trace) -> dict[int, Counter[tuple[str, str]]]:
    """By rank: the calls of MPI functions, and the attributes of messages and collectives except request ids.

    The number of MPI_Iprobe calls depends on time and counts as one.
    """
    found: dict[int, Counter[tuple[str, str]]] = {rank: Counter() for rank in trace.locations}
    for event in trace.events:
        if event.kind.startswith("Mpi"):
            about = [value for key, value in sorted(event.attrs.items()) if key != "request_id"]
            found[event.location][event.kind, str(about)] += 1
        elif event.kind == "Enter" and trace.region_of(event).paradigm == "MPI":
            key = event.kind, trace.region_of(event).name
            found[event.location][key] += key[1] != "MPI_Iprobe" or key not in found[event.location]
    return found


def symbols(path: Path) -> tuple[set[str], set[str]]:
    """The symbols that a library defines, and the symbols that it requires."""
    lines = [line.split() for line in call([need("nm"), "-D", path], path.parent).stdout.splitlines()]
    found = [(letter, name.partition("@")[0]) for *_, letter, name in lines]
    return {name for letter, name in found if letter not in "Uw"}, {name for letter, name in found if letter == "U"}


@EACH
def test_symbols_of_the_library(mpi: Mpi, library: Path, tmp_path: Path) -> None:
    """The library defines MPI functions only, and only those of the MPI library. All its own libraries are found
    without LD_LIBRARY_PATH."""
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    defined, wanted = symbols(library)
    theirs = set().union(*(symbols(path)[0] for path in (found.library, *found.fortran)))
    assert len(defined) > 300
    assert all(name.lower().startswith("mpi") for name in defined)
    assert defined <= theirs
    assert {name for name in wanted if "MPI_" in name} <= theirs
    loaded = call([need("ldd"), library], tmp_path, {"LD_LIBRARY_PATH": ""}).stdout
    assert f"=> {found.library.parent}/" in loaded
    assert "libvtrace.so.1 => " in loaded
    assert "not found" not in loaded


@EACH
def test_as_if_linked(mpi: Mpi, library: Path, tmp_path: Path) -> None:
    plain, linked = (tmp_path / name for name in ("plain", "linked"))
    for place in (plain, linked):
        place.mkdir()
    assert "rank 0 of 3" in preload(mpi, library, mpi.build(SOURCE, plain=True), plain)
    unify(plain, "mpi_messages")
    of_plain = mpi_events(check(plain / "mpi_messages.trace"))
    assert of_plain == mpi_events(mpi.record(mpi.build(SOURCE), linked, ranks=3))
    assert of_plain[0]["Enter", "MPI_Init"] == 1


def test_before_a_program_that_is_linked_with_it(mpi: Mpi, library: Path, tmp_path: Path) -> None:
    """The shim is preloaded and linked: events are recorded once, and vtrace prints no message about it."""
    linked, both = (tmp_path / name for name in ("linked", "both"))
    for place in (linked, both):
        place.mkdir()
    expected = mpi_events(mpi.record(mpi.build(SOURCE), linked, ranks=3))
    said = preload(mpi, library, mpi.build(SOURCE), both)
    assert said.count("\n") == said.count("vtrace: rank 0 of 3") == 1
    unify(both, "mpi_messages")
    assert mpi_events(check(both / "mpi_messages.trace")) == expected


def test_before_a_program_without_mpi(library: Path, tmp_path: Path) -> None:
    done = call(["env", f"LD_PRELOAD={library}", "VT_VERBOSE=2", need("true")], tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    assert names(tmp_path) == set()


def test_shim_build_prints_the_path(mpi: Mpi, library: Path, tmp_path: Path) -> None:
    done = call([*command("vtrace"), "shim", "build", "--mpicc", mpi.mpicc], tmp_path)
    assert done.stdout == f"{library}\n"


LIBRARY = """
#include <mpi.h>
__attribute__((noinline)) static int part(int i) { return 2 * i; }
int total(int rank)
{
    int sum = rank, all;
    for (int i = 0; i < 10; i++) sum += part(i);
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}
"""
PROGRAM = """
#include <mpi.h>
int total(int);
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int all = total(rank);
    MPI_Finalize();
    return all != 181;
}
"""
NO_MPI = "vtrace: MPI calls were not recorded, since the executable was linked without vtrace: use vtrace run"


def test_only_a_library_is_linked_by_vtrace_cc(mpi: Mpi, tmp_path: Path) -> None:
    """MPI's functions come from the MPI library, which precedes vtrace's: one line says that MPI is not recorded, and
    what to do."""
    (tmp_path / "total.c").write_text(LIBRARY)
    (tmp_path / "program.c").write_text(PROGRAM)
    link = ["program.c", "-L.", "-ltotal", f"-Wl,-rpath,{tmp_path}", "-o"]
    wrap(tmp_path, "-vt:cc", mpi.mpicc, "-O1", "-shared", "-fPIC", "total.c", "-o", "libtotal.so")
    call([mpi.mpicc, *link, "program"], tmp_path)
    wrap(tmp_path, "-vt:cc", mpi.mpicc, *link, "whole")
    done = mpi.run(tmp_path / "program", tmp_path, ranks=2)
    assert done.stderr.count(NO_MPI) == 1, done
    unify(tmp_path, "program")
    assert check(tmp_path / "program.trace").calls() == {"total": 2, "part": 20}
    assert NO_MPI not in mpi.run(tmp_path / "whole", tmp_path, ranks=2).stderr
    done = mpi.run(tmp_path / "program", tmp_path, ranks=2, env={"VT_MPITRACE": "no", "VT_FILE_PREFIX": "quiet"})
    assert NO_MPI not in done.stderr
