# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP: the modes in which the wrapper links the library for OpenMP, and an OpenMP runtime loaded by dlopen."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
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
