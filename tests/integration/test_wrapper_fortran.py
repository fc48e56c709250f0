# SPDX-License-Identifier: BSD-3-Clause
"""vtrace-fc and vtrace-cxx with MPI: compilers, modes, and programs of several languages and libraries."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify, vtrace
from support.build.wrap import wrap
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, call, need

FIXED = """\
      program hello
      implicit none
      include 'mpif.h'
      integer rank, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call greet(rank)
      call MPI_FINALIZE(ierror)
      end

      subroutine greet(rank)
      integer rank, ierror
      include 'mpif.h'
      call MPI_ALLREDUCE(MPI_IN_PLACE, rank, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierror)
      end
"""
FREE = """\
subroutine sum_up(value)
  use mpi
  implicit none
  integer :: value, ierror
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
end subroutine sum_up
"""
MAIN = """\
#include <mpi.h>
void sum_up_(int *value);
int main(int argc, char **argv) {
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sum = rank + 1;
    sum_up_(&sum);
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 3 || rank != 1;
}
"""
CXX = """\
#include <mpi.h>
#include <stdexcept>
struct Guard {
    Guard() { MPI::Init(); }
    ~Guard() { MPI::Finalize(); }
};
template <class T> T sum(T value) {
    T all;
    MPI::COMM_WORLD.Allreduce(&value, &all, 1, MPI::INT, MPI::SUM);
    return all;
}
int main() {
    Guard guard;
    int rank = MPI::COMM_WORLD.Get_rank(), n = 0;
    MPI::Status status;
    if (rank == 0) MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, 1, 7);
    else MPI::COMM_WORLD.Recv(&n, 1, MPI::INT, 0, 7, status);
    MPI::Intracomm copy = MPI::COMM_WORLD.Dup();
    copy.Barrier();
    copy.Free();
    try {
        if (sum(rank) == 1) throw std::runtime_error("caught");
    } catch (const std::runtime_error &) {
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    return 1;
}
"""


FREES = """\
subroutine free_it(comm)
  use mpi
  implicit none
  integer :: comm, ierror
  call MPI_Comm_free(comm, ierror)
end subroutine free_it
"""
CALLS_BACK = """\
#include <mpi.h>
void free_it_(MPI_Fint *comm);
static int drop(MPI_Comm comm, int key, void *kept, void *extra) {
    (void)comm, (void)key, (void)extra;
    return MPI_Comm_free(kept);
}
int main(void) {
    int key;
    MPI_Comm comm, kept;
    MPI_Init(0, 0);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &key, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    MPI_Comm_set_attr(comm, key, &kept);
    MPI_Fint handle = MPI_Comm_c2f(comm);
    free_it_(&handle);
    MPI_Finalize();
    return kept != MPI_COMM_NULL;
}
"""


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest, build: Builder) -> Mpi:
    """Each MPI installation that has Fortran and C++ bindings."""
    return mpis.find(request.param, build)


def recorded(mpi: Mpi, program: Path) -> Trace:
    """Runs a program on 2 ranks and returns its trace."""
    cwd = program.parent
    run(program, cwd, launch=[*mpi.launch, "-n", "2"], env=mpi.env)
    unify(cwd, program.name)
    return check(cwd / f"{program.name}.trace")


def mpi_calls(trace: Trace) -> Counter[tuple[str, str]]:
    """The MPI functions that rank 0 called, with the binding."""
    regions = [trace.region_of(e) for e in trace.of(0) if e.kind == "Enter"]
    return Counter((r.name, r.description) for r in regions if r.paradigm == "MPI")


def fortran(*names: str) -> Counter[tuple[str, str]]:
    return Counter((f"MPI_{name}", "mpif.h or module mpi") for name in names)


def c(*names: str) -> Counter[tuple[str, str]]:
    return Counter((f"MPI_{name}", "") for name in names)


HELLO = fortran("Init", "Comm_rank", "Allreduce", "Finalize")


def test_fixed_form_in_steps(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "hello.f").write_text(FIXED)
    f77 = need(f"mpif77.{mpi.name}")
    wrap(tmp_path, "-vt:f77", f77, "-O0", "-c", "hello.f", wrapper="vtrace-fc")
    wrap(tmp_path, "-vt:f77", f77, "hello.o", "-o", "hello", wrapper="vtrace-fc")
    trace = recorded(mpi, tmp_path / "hello")
    assert mpi_calls(trace) == HELLO
    assert trace.edges(0)[("hello", "greet")] == trace.edges(0)[("greet", "MPI_Allreduce")] == 1


def test_a_compiler_that_knows_no_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """-vt:mpi adds the flags of the Fortran compiler command next to mpicc; with the libraries comes the shim."""
    (tmp_path / "hello.f").write_text(FIXED)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("mpicc", "mpifort"):
        (tools / name).symlink_to(need(f"{name}.{mpi.name}"))
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    wrap(tmp_path, "-vt:f90", need("gfortran"), "-vt:mpi", "hello.f", "-o", "hello", wrapper="vtrace-fc", PATH=path)
    assert mpi_calls(recorded(mpi, tmp_path / "hello")) == HELLO


def test_libraries_on_the_line(mpi: Mpi, tmp_path: Path) -> None:
    """The MPI libraries are on the command line, as from a build system without the MPI compiler commands."""
    (tmp_path / "hello.f").write_text(FIXED)
    words = shlex.split(call([need(f"mpifort.{mpi.name}"), "-show"], tmp_path).stdout)[1:]
    flags = [word for word in words if word.startswith(("-I", "-L", "-l"))]
    wrap(tmp_path, "-vt:f90", need("gfortran"), "hello.f", "-o", "hello", *flags, wrapper="vtrace-fc")
    assert mpi_calls(recorded(mpi, tmp_path / "hello")) == HELLO


def test_a_library_that_python_loads(mpi: Mpi, tmp_path: Path) -> None:
    """A library loaded with RTLD_LOCAL brings the Fortran binding, after the shim was preloaded."""
    (tmp_path / "hello.f").write_text(FIXED.replace("program", "subroutine", 1))
    call([need(f"mpif77.{mpi.name}"), "-shared", "-fPIC", "hello.f", "-o", "libhello.so"], tmp_path)
    shim = vtrace(tmp_path, "shim", "build", "--mpicc", mpi.mpicc).stdout.strip()
    load = "import ctypes; ctypes.CDLL('./libhello.so').hello_()"
    done = call(
        ["env", f"LD_PRELOAD={shim}", sys.executable, "-c", load], tmp_path, {**mpi.env, "VT_FILE_PREFIX": "hello"}
    )
    assert "finds no" not in done.stderr
    unify(tmp_path, "hello")
    assert mpi_calls(check(tmp_path / "hello.trace")) == HELLO


def test_an_mpi_without_fortran(build: Builder, tmp_path: Path) -> None:
    mpis.find("mpich-wheel", build)
    (tmp_path / "hello.f").write_text(FIXED)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    gfortran = ("-vt:f90", need("gfortran"), "-vt:mpi")
    done = wrap(tmp_path, *gfortran, "hello.f", wrapper="vtrace-fc", check=False, PATH=path)
    assert done.returncode == 1
    assert "has no Fortran compiler command" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("linker", ["vtrace-fc", "vtrace-cc"])
def test_c_and_fortran_in_one_program(mpi: Mpi, tmp_path: Path, linker: str) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "sum_up.f90").write_text(FREE)
    fc = ("-vt:fc", need(f"mpifort.{mpi.name}"))
    wrap(tmp_path, "-vt:cc", mpi.mpicc, "-c", "main.c")
    wrap(tmp_path, *fc, "-c", "sum_up.f90", wrapper="vtrace-fc")
    objects = ("main.o", "sum_up.o", "-o", "mixed")
    if linker == "vtrace-fc":
        wrap(tmp_path, *fc, *objects, wrapper=linker)
    else:
        library = "-lmpichfort" if mpi.name == "mpich" else "-lmpi_mpifh"
        wrap(tmp_path, "-vt:cc", mpi.mpicc, *objects, library, "-lgfortran")
    trace = recorded(mpi, tmp_path / "mixed")
    assert mpi_calls(trace) == fortran("Allreduce") + c("Init", "Comm_rank", "Allreduce", "Finalize")


def test_c_that_mpi_calls_back_from_fortran(mpi: Mpi, tmp_path: Path) -> None:
    """MPI_Comm_free in Fortran calls a C callback: the archive has the Fortran call and the callback's call, and not
    the binding's internal call."""
    (tmp_path / "main.c").write_text(CALLS_BACK)
    (tmp_path / "free.f90").write_text(FREES)
    fc = ("-vt:fc", need(f"mpifort.{mpi.name}"))
    wrap(tmp_path, "-vt:cc", mpi.mpicc, "-c", "main.c")
    wrap(tmp_path, *fc, "-c", "free.f90", wrapper="vtrace-fc")
    wrap(tmp_path, *fc, "main.o", "free.o", "-o", "program", wrapper="vtrace-fc")
    trace = recorded(mpi, tmp_path / "program")
    frees = {key: n for key, n in mpi_calls(trace).items() if key[0] == "MPI_Comm_free"}
    assert frees == fortran("Comm_free") + c("Comm_free")
    edges = trace.edges(0)
    assert (
        edges[("free_it", "MPI_Comm_free")] == edges[("MPI_Comm_free", "drop")] == edges[("drop", "MPI_Comm_free")] == 1
    )


def test_fortran_in_a_library(mpi: Mpi, tmp_path: Path) -> None:
    """A library brings the Fortran binding, which is not on the command line of the program in C."""
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "sum_up.f90").write_text(FREE)
    fc = ("-vt:fc", need(f"mpifort.{mpi.name}"))
    wrap(tmp_path, *fc, "-shared", "-fPIC", "sum_up.f90", "-o", "libsum.so", wrapper="vtrace-fc")
    wrap(tmp_path, "-vt:cc", mpi.mpicc, "main.c", "-L.", "-lsum", "-Wl,-rpath,$ORIGIN", "-o", "program")
    trace = recorded(mpi, tmp_path / "program")
    assert mpi_calls(trace) == fortran("Allreduce") + c("Init", "Comm_rank", "Allreduce", "Finalize")


def test_cxx(mpi: Mpi, tmp_path: Path) -> None:
    """The C++ bindings of both MPIs call C functions: the archive has these calls."""
    (tmp_path / "hello.cc").write_text(CXX)
    wrap(tmp_path, "-vt:cxx", mpi.mpicxx, "-O0", "hello.cc", "-o", "hello", wrapper="vtrace-cxx")
    trace = recorded(mpi, tmp_path / "hello")
    names = ["Comm_rank", "Send", "Comm_dup", "Comm_free", "Allreduce", "Barrier", "Barrier", "Finalize"]
    found = mpi_calls(trace)
    assert all(found[key] == n for key, n in c(*names).items()), found
    assert trace.kinds(0)["MpiSend"] == trace.kinds(1)["MpiRecv"] == 1
    # The functions of Open MPI's C++ binding are instrumented, too.
    callers = {caller for caller, callee in trace.edges(0) if callee == "MPI_Finalize"}
    assert callers == ({"MPI::Finalize"} if mpi.is_open else {"Guard::~Guard"})
