# SPDX-License-Identifier: BSD-3-Clause
"""Objects that call vtrace in different ways, compiled by this vtrace-cc or an older one, in one program."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build import compilers
from support.build.run import record
from support.build.wrap import wrap
from support.tools import PROGRAMS, ROOT, call, need
from vtrace import paths

SOURCES = ("two_a", "two_b", "two_lib")
TWO = {
    (None, "main"): 1,
    ("main", "near"): 3,
    ("near", "helper"): 3,
    ("main", "far"): 5,
    ("far", "helper"): 5,
    ("far", "lib_work"): 10,
    ("lib_work", "lib_inner"): 10,
}
SELECTED = {(None, "helper"): 8, (None, "lib_work"): 10}
NO_HELPER = {edge: n for edge, n in TWO.items() if edge[1] != "helper"}
SETTINGS = [(None, TWO), ("*;-helper", NO_HELPER), ("helper;lib_work", SELECTED)]
"""Patterns of VT_FUNCTIONS, and the calls that are recorded then."""

FIRST = ("-O1", "-g", "-fPIC")
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gcc before vtrace's hooks": ("gcc", (*FIRST, "-finstrument-functions")),
    "clang before sleds": ("clang", (*FIRST, "-finstrument-functions-after-inlining")),
    "gcc hooks": ("gcc", ("-vt:inst", "hooks")),
    "gcc sleds": ("gcc", ("-vt:inst", "sleds")),
    "clang sleds": ("clang", ("-vt:inst", "sleds")),
    "clang hooks": ("clang", ("-vt:inst", "hooks")),
    "plugin": ("gcc", ("-vt:inst", "plugin")),
}
"""Compilers and their flags. Flags that begin with -vt: are those of vtrace-cc; the other commands are those that older
ones ran."""


def compiled(where: Path, source: str, way: str) -> str:
    """Compiles a file of tests/programs in one of the ways; returns the object's name."""
    compiler, flags = WAYS[way]
    if "sleds" in flags:
        compilers.need_sleds()
    if way == "plugin":
        compilers.need_plugin(compiler)
    words = ["-c", PROGRAMS / f"{source}.c", "-o", f"{source}.o"]
    if flags[0].startswith("-vt:"):
        wrap(where, "-vt:cc", need(compiler), "-vt:seq", *flags, *FIRST, *words)
    else:
        call([need(compiler), *flags, *words], where)
    return f"{source}.o"


def compare(program: Path, where: Path) -> None:
    """Asserts that the program's calls are recorded, all of them and those that are selected."""
    for i, (patterns, edges) in enumerate(SETTINGS):
        there = where / f"run{i}"
        there.mkdir()
        trace = record(program, there, env={"VT_FUNCTIONS": patterns} if patterns else {})
        assert trace.edges() == edges, patterns


@pytest.mark.parametrize("linker", ["gcc", pytest.param("clang", marks=pytest.mark.full)])
@pytest.mark.parametrize("first", range(len(WAYS)))
def test_objects_of_all_ways(tmp_path: Path, linker: str, first: int) -> None:
    names = [*WAYS]
    chosen = [names[(first + step) % len(names)] for step in (0, 1, 3)]
    objects = [compiled(tmp_path, source, way) for source, way in zip(SOURCES, chosen, strict=True)]
    wrap(tmp_path, "-vt:cc", need(linker), "-vt:seq", *objects, "-o", "two")
    compare(tmp_path / "two", tmp_path)


@pytest.mark.parametrize("linker", compilers.C)
@pytest.mark.parametrize("way", [way if "before" in way else pytest.param(way, marks=pytest.mark.full) for way in WAYS])
def test_all_objects_of_one_way(tmp_path: Path, linker: str, way: str) -> None:
    """The link uses the defaults of this vtrace-cc."""
    objects = [compiled(tmp_path, source, way) for source in SOURCES]
    wrap(tmp_path, "-vt:cc", need(linker), "-vt:seq", *objects, "-o", "two")
    compare(tmp_path / "two", tmp_path)


@pytest.mark.parametrize("hooks", ["in the program", "of the library"])
def test_a_program_of_an_older_vtrace(tmp_path: Path, hooks: str) -> None:
    """The program was linked with libvtrace.so.1 and, later, with hooks of its own (tests/c/first_hooks.c)."""
    objects = [compiled(tmp_path, source, "gcc before vtrace's hooks") for source in SOURCES]
    own = [ROOT / "tests/c/first_hooks.c"] if hooks == "in the program" else []
    library = [f"-L{paths.LIB}", "-Wl,--no-as-needed", "-l:libvtrace.so.1", f"-Wl,-rpath,{paths.LIB}"]
    call([need("gcc"), "-Wall", "-Werror", "-O2", *objects, *own, *library, "-o", "two"], tmp_path)
    compare(tmp_path / "two", tmp_path)
