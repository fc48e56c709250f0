# SPDX-License-Identifier: BSD-3-Clause
"""Names of functions in samples: bodies of OpenMP's constructs, and programs with a separate debug file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.readers import fipp_report
from support.tools import PROGRAMS, call, command, need


def profile(where: Path, name: str, by: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(vtrace(where, "profile", name, "--by", by, "--json").stdout)["profile"]
    return [row for row in found if row["samples"]]


def line_of(text: str, nth: int = 1) -> int:
    lines = (PROGRAMS / "sampled_openmp.c").read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][nth - 1]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_openmp_constructs(build: Builder, tmp_path: Path, compiler: str) -> None:
    """The body of a construct is named by its function and place; a thread of the runtime begins with this body."""
    need(compiler)
    program = build("sampled_openmp.c", compiler=compiler, flags=("-g", "-O0", "-fopenmp"), plain=True)
    call([*command("vtrace"), "run", "--sample=200", program, "300"], tmp_path, {"OMP_NUM_THREADS": "2"})
    unify(tmp_path, "-k", "sampled_openmp")
    at = f"parallel region at sampled_openmp.c:{line_of('omp parallel')}"
    body = f"region, {at}" if compiler == "gcc" else at  # clang before 17 does not name the function
    paths = [row["callpath"] for row in profile(tmp_path, "sampled_openmp", "callpath")]
    assert any(path[0] == body for path in paths), "of the second thread"
    assert any(path[:2] == ["main", "region"] and body in path for path in paths)
    if compiler == "gcc":
        (task,) = {name for path in paths for name in path if ", task at " in name}
        place = line_of("omp task")
        assert task in (f"tasks, task at sampled_openmp.c:{place}", f"tasks, task at sampled_openmp.c:{place + 1}")


def test_guide_names_of_constructs(build: Builder, tmp_path: Path) -> None:
    """The Instant Profiler's text has the identifiers of its Table 2.25."""
    program = build("sampled_openmp.c", flags=("-g", "-O0", "-fopenmp"), plain=True)
    words = [*command("vtrace"), "compat", "fipp"]
    call([*words, "-C", "-i", "10", "-d", tmp_path / "prof", program, "200"], tmp_path, {"OMP_NUM_THREADS": "2"})
    text = call([*words, "-A", "-d", tmp_path / "prof"], tmp_path).stdout
    names = set(re.findall(r"\b(?:region|tasks)\._\w+", text))
    assert names == {"region._OMP_1", "tasks._TSK_2"}
    costs = fipp_report.tables(text)["Application", "procedures"][0]
    (task,) = (row for row in costs.rows if row[-1] == "tasks._TSK_2")
    assert task[3:5] == ["0", "0.0000"], "a task that a thread runs in a barrier is no waiting"
    (region,) = (row for row in costs.rows if row[-1] == "region._OMP_1")
    begin = line_of("omp parallel")
    assert (int(region[5]), int(region[6])) in {(begin, begin + 2), (begin, begin + 1)}
    assert int(task[5]) in (line_of("omp task"), line_of("omp task") + 1)


SPENDS = """
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) double one(int n) { volatile double z = 0; for (int i = 0; i < n; i++) z += i; return z; }
__attribute__((noinline)) double two(int n) { volatile double z = 0; for (int i = 0; i < n; i++) z += i; return z; }
int main(void)
{
    struct timespec now, begin;
    double sum = one(60000000) + two(60000000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int i = 0; i < 6000000; i++) clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%g %d\\n", sum, now.tv_sec < 0);
    return 0;
}
"""


def test_functions_without_symbols(tmp_path: Path) -> None:
    """A stripped program's functions are named by their starts, and the kernel's code by its own symbols."""
    (tmp_path / "spends.c").write_text(SPENDS)
    call([need("gcc"), "-O1", "spends.c", "-o", "spends"], tmp_path)
    symbols = call([need("nm"), "spends"], tmp_path).stdout.splitlines()
    starts = {name: int(address, 16) for address, _, name in (line.split() for line in symbols if line[0] == "0")}
    call([need("strip"), "spends"], tmp_path)
    call([*command("vtrace"), "run", "--sample=1000", "./spends"], tmp_path)
    unify(tmp_path, "spends")
    names = {row["function"] for row in profile(tmp_path, "spends", "function") if row["samples"]}
    assert {f"[spends+{starts[name]:#x}]" for name in ("one", "two")} <= names
    assert "[spends]" not in names
    assert any("clock_gettime" in name for name in names)
    assert not any("linux-vdso" in name for name in names)


@pytest.mark.parametrize("place", [pytest.param("beside", marks=pytest.mark.full), ".debug"])
def test_separate_debug_files(build: Builder, tmp_path: Path, place: str) -> None:
    """A stripped program whose debug file is found has the functions, lines and loops of the whole one; a debug file of
    another program is not used."""
    whole = build("sampled_loops.c", flags=("-g", "-O1"), plain=True)
    directory = tmp_path if place == "beside" else tmp_path / place
    directory.mkdir(exist_ok=True)
    program, debug = tmp_path / "sampled_loops", directory / "sampled_loops.debug"
    shutil.copy(whole, program)
    call(["objcopy", "--only-keep-debug", program, debug], tmp_path)
    call(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], tmp_path)
    call([*command("vtrace"), "run", "--sample=200", "./sampled_loops", "1200"], tmp_path)
    unify(tmp_path, "-k", "sampled_loops")
    loops = {row["function"] for row in profile(tmp_path, "sampled_loops", "loop") if row["level"]}
    assert loops == {"loops", "called"}
    assert any(
        row["line"].startswith(str(PROGRAMS / "sampled_loops.c")) for row in profile(tmp_path, "sampled_loops", "line")
    )
    debug.write_bytes(whole.read_bytes())
    unify(tmp_path, "-k", "--force", "sampled_loops")
    functions = {row["function"] for row in profile(tmp_path, "sampled_loops", "function")}
    assert any(name.startswith("[sampled_loops+0x") for name in functions)
    assert not functions & {"loops", "called"}
