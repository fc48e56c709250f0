# SPDX-License-Identifier: BSD-3-Clause
"""Functions of programs as compilers make them: a C++ program whose accessors are inlined (tests/programs/mesh.cc), the
start of a program with 100 000 sleds, and 1000 functions that are selected while a program runs."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from measure import ENVIRONMENT, HERE, Row, against_floor, at_most, build, run

MESH = HERE.parent / "tests" / "programs" / "mesh.cc"
STEPS = 300
ITERATIONS = 50
"""In each element: the program then has as many calls a second as LULESH, 4.5 a microsecond, g++ -O2."""
WITH_PLUGIN = "g++ -vt:inst plugin"
COMPILERS = ("g++", "clang++", WITH_PLUGIN)
STARTS = ("gcc", "clang")
BUFFER = {"VT_BUFFER_SIZE": "128M"}
FILTER = {"VT_FILTER_SPEC": "mesh.filter"}
# Settings of the traced program, and the largest ratio to the untraced one.
WAYS: dict[str, tuple[dict[str, str], float]] = {
    "all functions": (BUFFER, 1.5),
    "no function (VT_FUNCTIONS=-*)": ({"VT_FUNCTIONS": "-*"}, 1.02),
    "all but those called for each element (VT_FILTER_SPEC)": (FILTER, 1.1),
}
FUNCTIONS, FILES = 50_000, 4
"""A function has a sled at its start and one at its end."""
PICKED, RUNS = 1000, 20


def _part(first: int, last: int) -> str:
    """A source file with functions f_N that are called through a table, so that none is left out or inlined."""
    lines = ["extern volatile long sink;"]
    lines += [
        f"__attribute__((noinline)) long f_{i}(long x) {{ sink = x + {i}; return x; }}" for i in range(first, last)
    ]
    lines.append(f"long (*const table_{first}[])(long) = {{{', '.join(f'f_{i}' for i in range(first, last))}}};")
    return "\n".join(lines) + "\n"


def prepare(work: Path) -> None:
    """Builds the mesh and the program of many functions with each compiler, traced and untraced."""
    (work / "mesh.filter").write_text("element_*;*volume_of*;*add_*;*collect*;*triple*;allowed_of* -- 0\n")
    for name in COMPILERS:
        compiler, *inst = name.split()
        build(compiler, "-O2", MESH, "-o", f"mesh_plain_{name}", cwd=work)
        build("vtrace-cxx", "-vt:cxx", compiler, "-vt:seq", *inst, "-O2", MESH, "-o", f"mesh_{name}", cwd=work)
    parts = []
    for first in range(0, FUNCTIONS, FUNCTIONS // FILES):
        parts.append(f"many_{first}.c")
        (work / parts[-1]).write_text(_part(first, first + FUNCTIONS // FILES))
    for compiler in STARTS:
        for inst in ("compinst", "manual"):
            words = ["vtrace-cc", "-vt:cc", compiler, "-vt:seq", "-vt:inst", inst, "-DVTRACE", "-O1", "-g0"]
            build(*words, HERE / "selected.c", *parts, "-o", f"many_{compiler}_{inst}", cwd=work)


def _cpu(work: Path, program: str, settings: dict[str, str], *args: object) -> float:
    """CPU seconds of a run. Local files go to a directory of their own."""
    local = work / "local"
    shutil.rmtree(local, ignore_errors=True)
    local.mkdir()
    env = ENVIRONMENT | settings | {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [f"./{program}", *(str(word) for word in args)]
    subprocess.run(words, cwd=work, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wall(work: Path, program: str, settings: dict[str, str], *args: object) -> float:
    begin = time.perf_counter()
    words = [f"./{program}", *(str(word) for word in args)]
    subprocess.run(words, cwd=work, env=ENVIRONMENT | settings, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _best(times: int, *ways: Callable[[], float]) -> list[float]:
    """The best of some runs of each way; the ways take turns."""
    found = [[way() for way in ways] for _ in range(times)]
    return [min(column) for column in zip(*found, strict=True)]


def _mesh(work: Path, compiler: str, repetitions: int) -> list[Row]:
    ways = [("mesh_plain_", {}), *(("mesh_", settings) for settings, _ in WAYS.values())]
    rows = []
    for _ in range(repetitions):
        runs = (
            lambda w=where, s=settings: _cpu(work, w + compiler, s, 10, STEPS, ITERATIONS) for where, settings in ways
        )
        rows.append(_best(5, *runs))
    return [
        against_floor(f"mesh, {compiler} -O2: {what}, CPU", [(row[0], row[i]) for row in rows], most, "s")
        for i, (what, (_, most)) in enumerate(WAYS.items(), 1)
        if compiler != WITH_PLUGIN or what == "all functions"  # else hooks return, which cost their calls
    ]


def _start(work: Path, compiler: str, repetitions: int) -> list[Row]:
    """The time that sleds add to the start and end of a program that calls none of its functions but main."""
    ways: list[tuple[str, dict[str, str]]] = [
        (f"many_{compiler}_manual", {}),
        (f"many_{compiler}_compinst", {}),
        (f"many_{compiler}_compinst", {"VT_FUNCTIONS": "f_1*"}),
    ]
    rows = []
    for _ in range(repetitions):
        rows.append(_best(RUNS, *(lambda w=where, s=settings: _wall(work, w, s) for where, settings in ways)))
    return [
        at_most(f"start of a program with 100 000 sleds of {compiler}, added", "ms", _added(rows, 1), 10),
        at_most("the same with VT_FUNCTIONS=f_1*, added", "ms", _added(rows, 2), 10),
    ]


def _added(rows: list[list[float]], way: int) -> list[float]:
    return [(row[way] - row[0]) * 1e3 for row in rows]


def _select(work: Path, repetitions: int) -> list[Row]:
    """VT_FUNCTIONS in a running program, as the program itself measures it."""
    rows = [run(f"./many_{STARTS[0]}_compinst", PICKED, cwd=work) for _ in range(repetitions)]
    return [
        at_most(f"{PICKED} of {FUNCTIONS} functions selected in a running program", "ms", [row[0] for row in rows], 20),
        at_most("the same left out again", "ms", [row[1] for row in rows], 20),
    ]


def measure(work: Path, repetitions: int) -> list[Row]:
    """CPU times of the mesh in turn with the untraced one; starts and selections."""
    os.sync()
    rows = [row for compiler in COMPILERS for row in _mesh(work, compiler, repetitions)]
    for compiler in STARTS:
        rows += _start(work, compiler, repetitions)
    return rows + _select(work, repetitions)
