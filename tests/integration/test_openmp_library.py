# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP: the modes in which the wrapper links the library for OpenMP, and an OpenMP runtime loaded by dlopen."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, unify, vtrace
from support.build.wrap import wrap
from support.oracles.check import check
from support.tools import call, need

LOADER = """
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    return plugin ? ((int (*)(void))dlsym(plugin, "sum"))() : 1;
}
"""
PLUGIN = """
int sum(void)
{
    int total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    total += 21;
    return total;
}
"""

REGIONS = """#include <stdio.h>
int main(void)
{
    int sum = 0;
    for (int k = 0; k < 3; k++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += 1;
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 10; i++)
            sum += i;
    }
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 5; i++)
        sum += i;
    return printf("%d\\n", sum) != 3;
}
"""


@pytest.mark.parametrize(("flags", "mode", "linked"), [
    (("-fopenmp",), None, True), (("-fopenmp",), "mt", True), (("-fopenmp",), "seq", False), ((), None, False),
    ((), "mt", True),
])  # fmt: skip
def test_modes_that_link_the_library(build: Builder, flags: tuple[str, ...], mode: str | None, linked: bool) -> None:
    program = build("nested.c", flags=("-O1", *flags), mode=mode)
    needed = call([need("readelf"), "-d", program], program.parent).stdout
    assert ("libvtrace-omp.so" in needed) == linked


def test_libgomp_that_comes_late(tmp_path: Path) -> None:
    """A plugin, like modules of Python, loads libgomp for itself only (RTLD_LOCAL): its regions are recorded."""
    (tmp_path / "loader.c").write_text(LOADER)
    (tmp_path / "plugin.c").write_text(PLUGIN)
    gcc = need("gcc")
    call([gcc, "loader.c", "-o", "loader", "-ldl"], tmp_path)
    call([gcc, "-g", "-fopenmp", "-fPIC", "-shared", "plugin.c", "-o", "plugin.so"], tmp_path)
    done = vtrace(tmp_path, "run", "--openmp", "./loader", "./plugin.so", check=False)
    assert done.returncode == 42, done.stderr
    unify(tmp_path, "loader")
    trace = check(tmp_path / "loader.trace")
    assert trace.kinds()["ThreadTeamBegin"] == 2
    regions = [trace.region_of(event).name for event in trace.events if event.kind == "Enter"]
    assert regions.count("!$omp parallel @plugin.c:5") == 2


@pytest.mark.parametrize("compiled_by", ["gcc", "vtrace-cc"])
def test_libomp_in_place_of_libgomp(tmp_path: Path, compiled_by: str) -> None:
    """libomp, which the user preloads, executes the calls that gcc has written: the parallel regions and the loop of
    `parallel for` have the same names and counts as with libgomp."""
    (tmp_path / "regions.c").write_text(REGIONS)
    words = ["regions.c", "-g", "-O1", "-fopenmp", "-o", "regions"]
    call([need("gcc"), *words], tmp_path) if compiled_by == "gcc" else wrap(tmp_path, "-vt:mt", *words)
    libomp = call([need("clang"), "-print-file-name=libomp.so.5"], tmp_path).stdout.strip()
    found = []
    for preloaded in ("", libomp):
        done = vtrace(tmp_path, "run", "--openmp", "./regions", env={"LD_PRELOAD": preloaded})
        assert done.stdout == "61\n"
        unify(tmp_path, "--force", "regions")
        trace = check(tmp_path / "regions.trace")
        names = Counter(trace.region_of(event).name for event in trace.events if event.kind == "Enter")
        found.append({name: n for name, n in names.items() if re.match(r"!\$omp (parallel|for)", name)})
    assert sorted(found[0].values()) == [2, 2, 2, 6]
    assert found[1] == found[0]


SOLVE = """
static int sum;
__attribute__((noinline)) void solve(long n)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        sum += n;
    }
}
int main() { solve(2); return sum != 4; }
"""


@pytest.mark.parametrize(("patterns", "counts"), [("", (1, 2)), ("solve(long)._omp_fn.0", (0, 2)), ("solve", (1, 0))])
def test_names_of_outlined_functions(build: Builder, tmp_path: Path, patterns: str, counts: tuple[int, int]) -> None:
    """The body of a construct is recorded, and selected, by the name of its function and the compiler's suffix."""
    compilers.need_sleds()
    (tmp_path / "solve.cc").write_text(SOLVE)
    program = build(tmp_path / "solve.cc", compiler="g++", flags=("-O1", "-fopenmp"))
    trace = record(program, tmp_path, env={"VT_FUNCTIONS": patterns})
    names = Counter(trace.region_of(event).name for event in trace.events if event.kind == "Enter")
    assert (names["solve(long)"], names["solve(long)._omp_fn.0"]) == counts
