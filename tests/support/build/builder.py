# SPDX-License-Identifier: BSD-3-Clause
"""Compiles programs of tests/programs with the compiler wrapper, each variant once per session."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from support.tools import PROGRAMS, ROOT, call, command, need

WRAPPERS = {
    "gcc": ("vtrace-cc", "-vt:cc"),
    "clang": ("vtrace-cc", "-vt:cc"),
    "mpicc": ("vtrace-cc", "-vt:cc"),
    "g++": ("vtrace-cxx", "-vt:cxx"),
    "clang++": ("vtrace-cxx", "-vt:cxx"),
    "gfortran": ("vtrace-fc", "-vt:f90"),
    "mpifort": ("vtrace-fc", "-vt:fc"),
    "mpif77": ("vtrace-fc", "-vt:f77"),
    "mpicxx": ("vtrace-cxx", "-vt:cxx"),
}

YIELDING = ROOT / "tests" / "c" / "yielding.c"
"""A part of each MPI program: waiting ranks yield their processors, since waiting takes most of their CPU time."""

AS_WRITTEN = ("-O1", "-fno-inline", "-fno-optimize-sibling-calls")
"""Keeps the functions and calls of the source, for tests that are not about functions but count them."""


class Builder:
    """A callable: names of files in tests/programs -> path of an executable or shared library."""

    def __init__(self, directory: Path) -> None:
        """directory: for the programs, shared by the pytest workers of a session."""
        self._directory = directory

    def __call__(
        self,
        *sources: str | Path,
        compiler: str = "gcc",
        flags: Sequence[str | Path] = AS_WRITTEN,
        output: str | None = None,
        mode: str | None = None,
        plain: bool = False,
    ) -> Path:
        """Builds output (the first source's name without suffix when None) in a directory of its own.

        mode: seq, mpi, mt or hyb; if None, the wrapper decides. plain: builds without the wrapper, for untraced runs.
        """
        name = output or Path(sources[0]).stem
        key = [*map(str, (*sources, "", compiler, *flags, "", name, mode, plain))]
        place = self._directory / hashlib.sha256("\0".join(key).encode()).hexdigest()[:16]
        program = place / name
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                place.mkdir()
                self._compile(sources, compiler, flags=flags, target=program, mode=mode, plain=plain)
        assert program.exists(), f"building {name} failed in an earlier test: see the output of that test"
        return program

    def _compile(
        self,
        sources: Sequence[str | Path],
        compiler: str,
        flags: Sequence[str | Path],
        target: Path,
        mode: str | None,
        plain: bool,
    ) -> None:
        real = need(compiler)
        wrapper, option = WRAPPERS[re.sub(r"\..*|-[0-9]+$", "", Path(compiler).name)]
        words: list[str | Path] = [real] if plain else [*command(wrapper), option, real]
        if mode and not plain:
            words.append(f"-vt:{mode}")
        # The linker needs libraries after the sources that use them.
        paths = [PROGRAMS / source for source in sources]
        if Path(compiler).name.startswith("mpi"):
            paths.append(self.yielding())
        call([*words, "-o", target, *paths, *flags], cwd=target.parent, timeout=300)

    def unit(
        self, name: str, compiler: str = "gcc", parts: Sequence[str] = ("core", "funwrap"), optimize: str = "-O1",
        link: Sequence[str] = (),
    ) -> Path:  # fmt: skip
        """The program tests/c/NAME.c, linked with folders of csrc. Only gcc checks by sanitizers, since clang may lack
        their libraries. link: further options of the linker."""
        words = self._unit_words(compiler, optimize)
        objects = self.objects(*parts, compiler=compiler, optimize=optimize)
        place = self._directory / f"unit-{name}-{compiler}{optimize}"
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                place.mkdir()
                sources = [ROOT / f"tests/c/{name}.c", *objects]
                call([*words, *link, *sources, "-o", place / name, "-lpthread", "-ldl"], place)
        return place / name

    def _unit_words(self, compiler: str, optimize: str, checked: bool = True) -> list[str]:
        checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover"] if checked and compiler == "gcc" else []
        return [need(compiler), "-std=gnu11", "-g", optimize, "-Wall", "-Wextra", "-Werror", *checks]

    def objects(self, *parts: str, compiler: str = "gcc", optimize: str = "-O1", checked: bool = True) -> list[Path]:
        """The objects of folders of csrc for programs and libraries. checked: see unit."""
        words = [*self._unit_words(compiler, optimize, checked), "-fPIC", "-fvisibility=hidden"]
        return [path for part in parts for path in self._part(part, words)]

    def _part(self, part: str, words: Sequence[str]) -> list[Path]:
        """The objects of a folder of csrc, compiled once for all programs."""
        place = self._directory / f"{part}-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:16]}"
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                place.mkdir()
                call([*words, "-c", *sorted((ROOT / "csrc" / part).glob("*.c"))], place)
        return sorted(place.glob("*.o"))

    def yielding(self, shared: bool = False) -> Path:
        """YIELDING as an object without functions to record. shared: as a library to preload into Python."""
        name, kind = ("yielding.so", "-shared") if shared else ("yielding.o", "-c")
        target = self._directory / name
        with target.with_suffix(f"{target.suffix}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                call([need("gcc"), "-O1", "-fPIC", kind, YIELDING, "-o", target], self._directory)
        return target
