# SPDX-License-Identifier: BSD-3-Clause
"""Other tools that wrap MPI, programs with their own profiling functions, and MPIs that cannot be wrapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, need

COUNTED = "tool: 1 inits, 1 sends, 2 bcasts\n"


@pytest.fixture
def tool(mpi: Mpi, tmp_path: Path) -> Path:
    library = tmp_path / "libtool.so"
    call([mpi.mpicc, "-shared", "-fPIC", PROGRAMS / "mpi_tool.c", "-o", library], tmp_path)
    return library


def assert_traced(cwd: Path, prefix: str) -> None:
    unify(cwd, prefix)
    trace: Trace = check(cwd / f"{prefix}.trace")
    calls = [trace.calls(rank) for rank in (0, 1)]
    assert all(c["MPI_Init"] == c["MPI_Comm_rank"] == c["MPI_Finalize"] == 1 and c["MPI_Bcast"] == 2 for c in calls)
    assert (calls[0]["MPI_Send"], calls[1]["MPI_Recv"]) == (1, 1)
    assert trace.kinds()["MpiSend"] == trace.kinds()["MpiRecv"] == 1


def test_preloaded_tool(mpi: Mpi, tool: Path, tmp_path: Path) -> None:
    """A preloaded tool counts as without vtrace, and vtrace records as without the tool."""
    env = {"LD_PRELOAD": str(tool)}
    assert mpi.run(mpi.build("mpi_tooled.c", plain=True), tmp_path, ranks=2, env=env).stdout == COUNTED
    assert mpi.run(mpi.build("mpi_tooled.c"), tmp_path, ranks=2, env=env).stdout == COUNTED
    assert_traced(tmp_path, "mpi_tooled")


def test_preloaded_tool_while_mpi_is_not_recorded(mpi: Mpi, tool: Path, tmp_path: Path) -> None:
    env = {"LD_PRELOAD": str(tool), "VT_MPITRACE": "no"}
    assert mpi.run(mpi.build("mpi_tooled.c"), tmp_path, ranks=2, env=env).stdout == COUNTED


def test_linked_tool(mpi: Mpi, tool: Path, tmp_path: Path) -> None:
    source, flags = PROGRAMS / "mpi_tooled.c", [f"-L{tmp_path}", "-ltool", f"-Wl,-rpath,{tmp_path}"]
    wrap(tmp_path, "-vt:cc", mpi.mpicc, source, *flags, "-o", "p")
    assert mpi.run(tmp_path / "p", tmp_path, ranks=2).stdout == COUNTED
    assert_traced(tmp_path, "p")


def test_own_profiling_function(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_tooled.c", flags=("-O1", "-DPROFILING"))
    assert mpi.run(program, tmp_path, ranks=2).stdout == "own PMPI_Barrier of 2\n" * 2
    assert_traced(tmp_path, "mpi_tooled")


def test_abi_library(tmp_path: Path) -> None:
    """The library of MPI-5's standard ABI, next to the wheel's own library."""
    mpicc, mpiexec = need("mpicc_abi"), need("mpiexec")
    wrap(tmp_path, "-vt:cc", mpicc, PROGRAMS / "mpi_tooled.c", "-o", "p")
    assert "libmpi_abi.so" in call([need("readelf"), "-d", "p"], tmp_path).stdout
    call([mpiexec, "-n", "2", tmp_path / "p"], tmp_path)
    assert_traced(tmp_path, "p")


def test_static_library(tmp_path: Path) -> None:
    """An MPI with a static library only: the program runs as without vtrace, and the wrapper prints a line."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "mpi.c").write_text(
        "int MPI_Init(int *c, char ***v) { return 0; } int MPI_Finalize(void) { return 0; }\n"
        "int PMPI_Init(int *c, char ***v) { return 0; } int PMPI_Finalize(void) { return 0; }\n"
    )
    (tmp_path / "p.c").write_text(
        "#include <stdio.h>\nint MPI_Init(int *, char ***), MPI_Finalize(void);\n"
        'int main(void) { MPI_Init(0, 0); puts("ran"); return MPI_Finalize(); }\n'
    )
    call([need("gcc"), "-c", "mpi.c", "-o", "lib/mpi.o"], tmp_path)
    call([need("ar"), "rcs", "lib/libmpi.a", "lib/mpi.o"], tmp_path)
    done = wrap(tmp_path, "-vt:cc", need("gcc"), "p.c", "-Llib", "-lmpi", "-o", "p")
    assert done.stderr.count("\n") == 1
    assert "MPI calls will not be recorded" in done.stderr
    assert call([tmp_path / "p"], tmp_path).stdout == "ran\n"
    unify(tmp_path, "p")
    assert check(tmp_path / "p.trace").calls()["main"] == 1
