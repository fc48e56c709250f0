# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's MPI test suite: its testlist files and its build trees."""

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
"""-O0: optimizing takes a minute for some programs. The other flags are for Debian's Open MPI: the suite's library uses
names of MPI-1 that mpi.h refuses; configure calls a Fortran routine with several types."""

DEFAULT_LIMIT = 180
"""Seconds for a test without limit in its line, as in the suite's own script."""

SUPPORT = ("libmtest_single.la", "libmtest_thread.la", "libmtest_f77.la", "libmtest_f90.la", "libmtest_f08.la")
NO_REMAKE = [f"{tool}=:" for tool in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE")]
"""Turns the autotools off: Debian's patches are newer than the generated files, but change nothing that matters."""


@dataclass(frozen=True)
class Line:
    """A line of a testlist. number: its line number; limit: seconds; memory: GB that the test needs; expect: the
    suite's kind of result; xfail: known to fail in the suite."""

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
        """The test's name: directory, program, ranks, environment and arguments."""
        return " ".join([f"{self.directory}/{self.program}", str(self.ranks), *self.env, *self.args])


@dataclass(frozen=True)
class Compilers:
    """Compiler commands for C, Fortran 77 and later Fortran; empty without Fortran."""

    c: str
    f77: str = ""
    fc: str = ""

    def traced(self, bin: Path) -> Compilers:
        """The compilers, called by the compiler wrappers of vtrace."""
        fortran = f"{bin / 'vtrace-fc'} -vt:"
        return Compilers(
            f"{bin / 'vtrace-cc'} -vt:cc {self.c}",
            self.f77 and f"{fortran}f77 {self.f77}",
            self.fc and f"{fortran}fc {self.fc}",
        )

    def variables(self) -> list[str]:
        """The compilers as variables of make."""
        return [f"CC={self.c}", *([f"F77={self.f77}", f"FC={self.fc}"] if self.fc else [])]


@dataclass(frozen=True)
class Trees:
    """Two configured build trees for one MPI. plain: programs without vtrace; traced: instrumented programs."""

    source: Path
    plain: Path
    traced: Path
    compilers: Compilers
    left_out: list[str] = field(default_factory=list)


def find_source(given: Path) -> Path:
    """The directory test/mpi of MPICH's source. given: this directory or one above. Raises SystemExit if missing."""
    for place in (given, given / "test" / "mpi", *sorted(given.glob("mpich-*/test/mpi"))):
        if (place / "configure").exists() and (place / "testlist.in").exists():
            return place.resolve()
    raise SystemExit(f"{given}: no MPI test suite of MPICH (test/mpi/configure is missing): apt-get source mpich")


def prepare(
    source: Path, place: Path, compilers: Compilers, strict: bool, env: dict[str, str], yielding: Path
) -> Trees:
    """Configures the suite and builds its support libraries, once per place.

    strict: only tests of the MPI standard, for other MPIs than MPICH. yielding: an object for all programs of MPICH,
    whose ranks yield their processors while they wait (tests/c/yielding.c). Raises SystemExit with the end of the log.
    """
    plain, traced = place / "plain", place / "traced"
    if not traced.exists():
        shutil.rmtree(plain, ignore_errors=True)
        plain.mkdir(parents=True)
        words = [str(source / "configure"), "--enable-threads=multiple", "--disable-cxx", *FLAGS]
        words += [f"MPICC={compilers.c}"]
        words += ["--enable-strictmpi"] if strict else [f"LIBS={yielding}"]
        words += [f"MPIF77={compilers.f77}", f"MPIFC={compilers.fc}"] if compilers.fc else ["--enable-fortran=no"]
        _logged(words, plain, "configure.log", {**env, "CONFIG_SHELL": "/bin/sh"})
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
    """All tests in the testlist of a directory, and of the directories in the testlist."""
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


def sample(tests: list[Line], number: int, seed: int, excepted: tuple[str, ...] = ()) -> list[Line]:
    """A random sample of number tests, evenly from all directories; in the order of the suite.

    excepted: prefixes of directory/program. Other tests take the places of these tests in the sample; the rest
    stays."""
    chance = random.Random(seed)
    folders: dict[str, list[Line]] = {}
    for test in tests:
        folders.setdefault(test.directory, []).append(test)
    for inside in folders.values():
        chance.shuffle(inside)
        inside[:] = [test for test in inside if not f"{test.directory}/{test.program}".startswith(excepted)]
    number = min(number, sum(map(len, folders.values())))
    chosen: set[Line] = set()
    while len(chosen) < number:
        for name in sorted(folders):
            if folders[name] and len(chosen) < number:
                chosen.add(folders[name].pop())
    return [test for test in tests if test in chosen]
