# SPDX-License-Identifier: BSD-3-Clause
"""The suite: what its testlist files say, and its configured build trees."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

FLAGS = [
    "CFLAGS=-g -O0 -DOMPI_OMIT_MPI1_COMPAT_DECLS=0",
    *(f"{name}=-g -O0 -fallow-argument-mismatch" for name in ("FFLAGS", "FCFLAGS")),
]
"""Optimising some of the programs takes a minute each. What Debian's Open MPI needs: names of MPI-1, which the suite's
library uses and mpi.h refuses; gfortran's option to call a routine with several types, for which configure asks."""

DEFAULT_LIMIT = 180
"""Seconds of a test whose line names no limit: that of the suite's own script."""

SUPPORT = ("libmtest_single.la", "libmtest_thread.la", "libmtest_f77.la", "libmtest_f90.la", "libmtest_f08.la")
NO_REMAKE = [f"{tool}=:" for tool in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE")]
"""The patches of Debian are newer than the generated files; nothing has to be generated again."""


@dataclass(frozen=True)
class Line:
    """One line of a testlist. memory: GB that the test says it needs; expect: how the suite judges it."""

    directory: str
    program: str
    ranks: int
    number: int
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    mpiexec: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT
    memory: float = 0
    expect: str = ""
    xfail: bool = False

    @property
    def name(self) -> str:
        """What a person calls the test: directory, program, ranks, environment and arguments."""
        return " ".join([f"{self.directory}/{self.program}", str(self.ranks), *self.env, *self.args])


@dataclass(frozen=True)
class Compilers:
    """The commands for C, Fortran 77 and later Fortran; no Fortran where these are empty."""

    c: str
    f77: str = ""
    fc: str = ""

    def traced(self, bin: Path) -> Compilers:
        """The same behind the compiler wrappers of vtrace."""
        fortran = f"{bin / 'vtrace-fc'} -vt:"
        return Compilers(
            f"{bin / 'vtrace-cc'} -vt:cc {self.c}",
            self.f77 and f"{fortran}f77 {self.f77}",
            self.fc and f"{fortran}fc {self.fc}",
        )

    def variables(self) -> list[str]:
        """What make takes them by."""
        return [f"CC={self.c}", *([f"F77={self.f77}", f"FC={self.fc}"] if self.fc else [])]


@dataclass(frozen=True)
class Trees:
    """Two configured build trees of one MPI: that of the programs without vtrace and that of the instrumented ones."""

    source: Path
    plain: Path
    traced: Path
    compilers: Compilers
    left_out: list[str] = field(default_factory=list)


def find_source(given: Path) -> Path:
    """test/mpi of MPICH's source; given: that directory or one above it. Raises SystemExit where it is not there."""
    for place in (given, given / "test" / "mpi", *sorted(given.glob("mpich-*/test/mpi"))):
        if (place / "configure").exists() and (place / "testlist.in").exists():
            return place.resolve()
    raise SystemExit(f"{given}: no MPI test suite of MPICH there (test/mpi/configure is missing): apt-get source mpich")


def prepare(source: Path, place: Path, compilers: Compilers, strict: bool, env: dict[str, str]) -> Trees:
    """Configures the suite and builds its support libraries, once per place.

    strict: leave out what is not in the MPI standard, for an MPI that is not MPICH. Raises SystemExit with the end of
    the log.
    """
    plain, traced = place / "plain", place / "traced"
    if not traced.exists():
        shutil.rmtree(plain, ignore_errors=True)
        plain.mkdir(parents=True)
        words = [str(source / "configure"), "--enable-threads=multiple", "--disable-cxx", *FLAGS]
        words += [f"MPICC={compilers.c}"]
        words += ["--enable-strictmpi"] if strict else []
        words += [f"MPIF77={compilers.f77}", f"MPIFC={compilers.fc}"] if compilers.fc else ["--enable-fortran=no"]
        _logged(words, plain, "configure.log", env)
        _logged(["make", "-k", *NO_REMAKE, *SUPPORT], plain / "util", "make.log", env, check=False)
        _logged(["make", *NO_REMAKE], plain / "dtpools", "make.log", env, check=False)
        new = place / "traced.new"
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(plain, new, symlinks=True)
        new.rename(traced)
    return Trees(source, plain, traced, compilers)


def _logged(words: Sequence[str], cwd: Path, log: str, env: dict[str, str], check: bool = True) -> None:
    with (cwd / log).open("w") as file:
        done = subprocess.run(words, cwd=cwd, env=env, stdout=file, stderr=subprocess.STDOUT)
    if check and done.returncode != 0:
        end = (cwd / log).read_text(errors="replace")[-2000:]
        raise SystemExit(f"{words[0]} failed, see {cwd / log}:\n{end}")


def lines(trees: Trees, directory: str = "") -> list[Line]:
    """All tests of a directory and of those that its testlist names."""
    found: list[Line] = []
    listed = next((p for p in (trees.plain / directory / "testlist", trees.source / directory / "testlist")
                   if p.exists() and p.stat().st_size), None)  # fmt: skip
    for number, text in enumerate(listed.read_text().splitlines() if listed else [], 1):
        words = text.partition("#")[0].split()
        if not words:
            continue
        inner = os.path.join(directory, words[0])
        if (trees.source / inner).is_dir():
            found += lines(trees, inner)
        else:
            found.append(_line(directory, words, number))
    return found


def _line(directory: str, words: list[str], number: int) -> Line:
    pairs = [tuple(word.split("=", 1)) for word in words[2:] if "=" in word]
    lists = {key: tuple(value for name, value in pairs if name == key) for key in ("arg", "env", "mpiexecarg")}
    one = dict(pairs)
    folder, _, program = words[0].rpartition("/")
    return Line(
        os.path.join(directory, folder) if folder else directory,
        program,
        int(words[1]) if len(words) > 1 else 2,
        number,
        lists["arg"],
        lists["env"],
        lists["mpiexecarg"],
        int(one.get("timeLimit", DEFAULT_LIMIT)),
        float(one.get("mem", 0)),
        one.get("resultTest", ""),
        "xfail" in one,
    )


def sample(tests: list[Line], number: int, seed: int) -> list[Line]:
    """That many tests, by chance, from all directories in turn; in the order of the suite."""
    chance = random.Random(seed)
    folders: dict[str, list[Line]] = {}
    for test in tests:
        folders.setdefault(test.directory, []).append(test)
    for inside in folders.values():
        chance.shuffle(inside)
    chosen: set[Line] = set()
    while len(chosen) < min(number, len(tests)):
        for name in sorted(folders):
            if folders[name] and len(chosen) < number:
                chosen.add(folders[name].pop())
    return [test for test in tests if test in chosen]
