# SPDX-License-Identifier: BSD-3-Clause
"""Two ranks on aarch64, run by qemu: Debian's MPICH for arm64, and a shim from the cross compiler."""

from __future__ import annotations

import stat
from collections import Counter
from pathlib import Path

import pytest

from support.build.aarch64 import GCC, emulate
from support.build.arm_root import PACKAGES
from support.build.mpis import quick_compiler
from support.build.run import unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, ROOT, call, need, unavailable

LIBRARIES = PACKAGES / "usr/lib/aarch64-linux-gnu"
COMPILER = """#!/bin/sh
set -- {gcc} -I{libraries}/../../include/aarch64-linux-gnu/mpich -L{place}/lib -Wl,-rpath-link,{libraries} "$@" -lmpich
case " $* " in *" -show "*) echo "$*" | sed 's/ -show//' ;; *) exec "$@" ;; esac
"""
"""An mpicc: that of the package is a program for arm64. The directory lib has MPICH's library alone: the libc.so of the
packages names files by their paths on arm64."""
PLAIN = [(1, 40), (2, 16), (3, 3), (4, 0), (5, 48)]
"""Tag and bytes of the messages of rank 0 in blocking() of mpi_messages.c."""
REPEATED = {"MPI_Iprobe", "MPI_Improbe"}
"""Calls of mpi_messages.c that it repeats until the message is there: how often depends on the time alone."""


@pytest.fixture(scope="module")
def program(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (LIBRARIES / "libmpich.so").exists():
        unavailable("no MPICH for arm64: .ci/arm64 unpacks Debian's packages")
    place = tmp_path_factory.mktemp("mpi")
    mpicc = place / "mpicc"
    (place / "lib").mkdir()
    (place / "lib" / "libmpich.so").symlink_to(LIBRARIES / "libmpich.so")
    mpicc.write_text(COMPILER.format(gcc=quick_compiler(place, GCC), libraries=LIBRARIES, place=place))
    mpicc.chmod(mpicc.stat().st_mode | stat.S_IXUSR)
    call([need(GCC), "-O1", "-c", ROOT / "tests/c/yielding.c", "-o", "yielding.o"], place)
    words = ["-vt:cc", mpicc, "-w", "-O1", PROGRAMS / "mpi_messages.c", "yielding.o", "-o", "mpi_messages"]
    wrap(place, *words, VT_PREFIX=str(libraries), XDG_CACHE_HOME=str(place / "cache"))
    return place / "mpi_messages"


@pytest.fixture(scope="module")
def trace(program: Path) -> Trace:
    """MPICH's launcher for this machine starts qemu, once for each rank."""
    emulate(program, launch=(need("mpiexec.mpich"), "-n", "2"), system=PACKAGES)
    unify(program.parent, program.name)
    return check(program.with_suffix(".trace"))


def test_messages(trace: Trace) -> None:
    sent = [(e.attrs["msg_tag"], e.attrs["msg_length"]) for e in trace.of(0) if e.kind == "MpiSend"]
    received = [(e.attrs["msg_tag"], e.attrs["msg_length"]) for e in trace.of(1) if e.kind == "MpiRecv"]
    assert sent[:5] == received[:5] == PLAIN
    kinds = trace.kinds()
    assert kinds["MpiSend"] + kinds["MpiIsend"] == kinds["MpiRecv"] + kinds["MpiIrecv"]
    assert {location.group for location in trace.locations.values()} == {"MPI Rank 0", "MPI Rank 1"}


def events_but_functions(trace: Trace) -> list[tuple[Counter[str], Counter[str]]]:
    """For each rank the numbers of its enters of MPI functions by name, and of other events by kind.

    A function of REPEATED counts once.
    """
    found = []
    for location in sorted(trace.locations):
        enters = (trace.region_of(e) for e in trace.of(location) if e.kind == "Enter")
        kinds = trace.kinds(location)
        del kinds["Enter"], kinds["Leave"]
        calls = Counter(region.name for region in enters if region.name.startswith("MPI_"))
        found.append((Counter({name: 1 if name in REPEATED else number for name, number in calls.items()}), kinds))
    return found


def test_same_as_on_this_machine(trace: Trace, tmp_path: Path) -> None:
    words = ["-vt:cc", need("mpicc.mpich"), "-w", "-O1", PROGRAMS / "mpi_messages.c", ROOT / "tests/c/yielding.c"]
    wrap(tmp_path, *words, "-o", "mpi_messages")
    call([need("mpiexec.mpich"), "-n", "2", "./mpi_messages"], tmp_path)
    unify(tmp_path, "mpi_messages")
    here = check(tmp_path / "mpi_messages.trace")
    found = events_but_functions(trace)
    assert all(calls.total() > 10 for calls, _ in found)
    assert found == events_but_functions(here)
