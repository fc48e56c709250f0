# SPDX-License-Identifier: BSD-3-Clause
"""The wrappers with many options and kinds of sources: they produce the same files as the compiler, and programs that
do the same."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from support.build.option_cases import WRAPPERS, CompilerCall, draw, prepare
from support.build.run import run
from support.build.wrap import seq
from support.tools import Done, call, command, need

SAMPLE = 2
"""Commands of each compiler in make test, of SEEDS in all."""
SEEDS = 100

OWN_LINES = re.compile("^vtrace.*(will not be traced|will have no effect|building the plug-in).*\n", re.MULTILINE)
DRIVER_FILES = re.compile(r".*\.args\.\d+|a-args\.\d+")
"""Arguments for the linker, which gcc keeps with -save-temps if a command has response files."""


class Result(NamedTuple):
    done: Done
    files: set[str]
    dependences: dict[str, str]
    ran: tuple[int, str] | None


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a function for the directory with the sources of a compiler."""
    made: dict[str, Path] = {}

    def directory(compiler: str) -> Path:
        if compiler not in made:
            made[compiler] = tmp_path_factory.mktemp("sources")
            prepare(made[compiler], compiler)
        return made[compiler]

    return directory


def result(case: CompilerCall, there: Path, do: Callable[..., Done]) -> Result:
    """Runs a command in a directory with the sources, and the program that it makes."""
    (there / "words.txt").write_text(case.response)
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*")}
    done = do(there, *case.args)
    files = {path for path in there.rglob("*") if path.is_file() and path.stat().st_mtime_ns != before.get(path)}
    ran = None
    if case.runs and done.returncode == 0:
        (there / "run").mkdir()
        env = {"VT_VERBOSE": "0", "LD_LIBRARY_PATH": str(there)}
        program = run(there / case.runs, there / "run", env=env, code=None)
        ran = program.returncode, program.stdout
    names = {re.sub(r"cc\w{6}", "ccXXXXXX", str(path.relative_to(there))) for path in files}
    texts = {path.name: path.read_text() for path in files if path.suffix == ".d"}
    return Result(done, {name for name in names if not DRIVER_FILES.fullmatch(name)}, texts, ran)


def compare(case: CompilerCall, sources: Path, where: Path) -> None:
    def plain(there: Path, *args: str) -> Done:
        return call([need(case.compiler), *args], there, stdin=case.stdin, check=False)

    def traced(there: Path, *args: str) -> Done:
        wrapper = WRAPPERS[case.compiler]
        words = ["-vt:seq", f"-vt:{wrapper.removeprefix('vtrace-')}", need(case.compiler), *args]
        return call([*command(wrapper), *words], there, stdin=case.stdin, check=False)

    own = result(case, shutil.copytree(sources, where / "plain"), plain)
    ours = result(case, shutil.copytree(sources, where / "traced"), traced)
    assert ours.done.returncode == own.done.returncode, ours.done
    assert (ours.files, ours.dependences, ours.ran) == (own.files, own.dependences, own.ran), ours.done
    if not own.done.stderr:
        assert not OWN_LINES.sub("", ours.done.stderr), ours.done
    if "-E" in case.args or not (own.files or "-S" in case.args):  # -S prints .S with a line for the directory if -g
        assert ours.done.stdout == own.done.stdout


@pytest.mark.parametrize(
    "case",
    [
        CompilerCall("gcc", ("-O1", "-pipe", "main.c", "twice.c")),
        CompilerCall("gcc", ("-pipe", "twice.s", "twice-by-gcc.s", "-c"), runs=""),
        CompilerCall("gcc", ("-pipe", "-save-temps", "main.c", "twice.S")),
        CompilerCall("gcc", ("-pipe", "-gsplit-dwarf", "twice.S", "main.c")),
        CompilerCall("gcc", ("-pipe", "-flto", "-x", "c", "-", "twice.c"), "int main(void) { return 3; }"),
        CompilerCall("gcc", ("-save-temps=obj", "-no-integrated-cpp", "main.c", "twice.c", "-oout"), runs="out"),
        CompilerCall("gcc", ("twice.s", "main.c")),
        *(CompilerCall("gcc", (option, "main.c"), runs="") for option in ("-E", "-M", "-MM", "-fsyntax-only")),
        CompilerCall("gcc", ("main.c", "twice.s", "-g")),
        CompilerCall("gcc", ("-fsplit-stack", "main.c", "twice.c")),
        CompilerCall("g++", ("-pipe", "-Werror", "main.ii", "twice.S")),
        CompilerCall("g++", ("-static-libstdc++", "main.o", "twice.s")),
        CompilerCall("clang++", ("-static-libstdc++", "main.o", "twice.s")),
        CompilerCall("clang++", ("-Werror", "-c", "main.ii", "twice.s"), runs=""),
        CompilerCall("clang", ("-save-temps", "main.c", "twice.c")),
        CompilerCall("clang", ("-Werror", "main.o", "twice.o")),
        CompilerCall("gfortran", ("-pipe", "-save-temps", "main.F90", "twice.f90")),
    ],
    ids=str,
)  # fmt: skip
def test_commands(sources: Callable[[str], Path], tmp_path: Path, case: CompilerCall) -> None:
    compare(case, sources(case.compiler), tmp_path)


@pytest.mark.parametrize(
    ("compiler", "seed"),
    [
        pytest.param(compiler, seed, marks=() if seed < SAMPLE else pytest.mark.full)
        for compiler in WRAPPERS
        for seed in range(SEEDS)
    ],
)
def test_random_commands(sources: Callable[[str], Path], tmp_path: Path, compiler: str, seed: int) -> None:
    compare(draw(seed, compiler), sources(compiler), tmp_path)


def test_assembler_is_the_users_only(sources: Callable[[str], Path], tmp_path: Path) -> None:
    """vtrace adds no code to an assembler source, and no line of its own to the source's debugging information."""
    there = shutil.copytree(sources("gcc"), tmp_path / "here")
    for name in ("twice.s", "twice.S"):
        seq(there, "-g", "-c", name, "main.c")
        assert call([need("nm"), "--defined-only", "twice.o"], there).stdout.split()[1:] == ["T", "twice"]
        assert "sleds" not in call([need("readelf"), "--debug-dump=line", "twice.o"], there).stdout
