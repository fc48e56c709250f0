# SPDX-License-Identifier: BSD-3-Clause
"""Coarray programs of gfortran with OpenCoarrays: images are ranks, and the MPI calls of the library are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.tools import PROGRAMS, call, need

IMAGES = 3


def result(mpi: Mpi, program: Path) -> str:
    """The line of the result in the program's output, without messages of libraries."""
    done = run(program, program.parent, launch=[*mpi.launch, "-n", str(IMAGES)], env=mpi.env)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("total")]
    return line


@pytest.mark.parametrize(("name", "way"), [("mpich", "caf"), ("openmpi", "library")])
def test_coarray(build: Builder, tmp_path: Path, name: str, way: str) -> None:
    """With each MPI for which Debian has OpenCoarrays: built with the compiler command of OpenCoarrays in two steps, or
    with that of MPI and the library that the user names. The traced program computes the untraced result, and each
    image is a location."""
    mpi = mpis.find(name, build)
    source, caf = PROGRAMS / "coarray.f90", need(f"caf.{mpi.name}")
    call([caf, source, "-o", "plain"], tmp_path)
    if way == "caf":
        wrap(tmp_path, "-vt:fc", caf, "-c", source, "-o", "coarray.o", wrapper="vtrace-fc")
        wrap(tmp_path, "-vt:fc", caf, "coarray.o", "-o", "coarray", wrapper="vtrace-fc")
    else:
        (library,) = Path("/usr/lib").glob(f"*/open-coarrays/{mpi.name}/lib/libcaf_{mpi.name}.so")
        flags = ("-fcoarray=lib", source, f"-L{library.parent}", f"-lcaf_{mpi.name}", "-o", "coarray")
        wrap(tmp_path, "-vt:fc", need(f"mpifort.{mpi.name}"), *flags, wrapper="vtrace-fc")
    assert result(mpi, tmp_path / "coarray") == result(mpi, tmp_path / "plain")
    unify(tmp_path, "coarray")
    # At the end each image sends messages that no other image receives.
    trace = check(tmp_path / "coarray.trace", complete=False)
    assert len(trace.locations) == IMAGES
    for rank in range(IMAGES):
        calls = trace.calls(rank)
        assert (calls["coarray"], calls["MPI_Init_thread"], calls["MPI_Finalize"]) == (1, 1, 1)
        assert calls["MPI_Get"] == trace.kinds(rank)["RmaGet"] == (IMAGES - 1 if rank == 0 else 0)
        assert calls["MPI_Allreduce"] == 1
    gets = [e.attrs for e in trace.of(0) if e.kind == "RmaGet"]
    assert [(get["remote"], get["bytes"]) for get in gets] == [(i, 4) for i in range(1, IMAGES)]
