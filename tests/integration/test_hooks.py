# SPDX-License-Identifier: BSD-3-Clause
"""The hooks that the link adds to each executable and library: they exist with every kind of link, and record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import filtered, record, run
from support.tools import PROGRAMS, call, need
from vtrace import paths

TWO = {"main": 1, "near": 3, "helper": 8, "far": 5, "lib_work": 10, "lib_inner": 10}
PLAIN = ("-O1", "-finstrument-functions")
HOOKS = ("-vt:inst", "hooks")


def two(build: Builder, compiler: str = "gcc", flags: Sequence[str] = ("-O1",), **library: bool) -> tuple[Path, Path]:
    """A program and its library. library: other arguments for building the library."""
    more = PLAIN if library.get("plain") else (*HOOKS, *flags)
    lib = build("two_lib.c", compiler=compiler, flags=(*more, "-fPIC", "-shared"), output="libtwo.so", **library)
    rest = (*HOOKS, *flags, lib, f"-Wl,-rpath,{lib.parent}")
    return build("two_a.c", "two_b.c", compiler=compiler, flags=rest, output="two"), lib


def hooks(path: Path) -> set[str]:
    """The types of the hook symbols of a program or library in nm: u, undefined; t, a local definition."""
    lines = [line.split() for line in call([need("nm"), path], path.parent).stdout.splitlines()]
    return {words[-2].lower() for words in lines if words[-1].startswith("__cyg_profile_func")}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ("-O0",)),
        ("gcc", ("-O2", "-fno-plt", "-Wl,-z,now")),
        ("gcc", ("-O2", "-flto")),
        ("gcc", ("-O1", "-fuse-ld=gold")),
        ("clang", ("-O2", "-Wl,--gc-sections")),
    ],
)
def test_program_and_library_have_their_own(
    build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    program, library = two(build, compiler, flags)
    for path in (program, library):
        assert hooks(path) == {"t"}
        assert "__cyg" not in call([need("readelf"), "-rW", path], tmp_path).stdout, "the hooks need no relocation"
    assert record(program, tmp_path).calls() == TWO
    (tmp_path / "two.trace").rename(tmp_path / "whole.trace")
    found = filtered(program, tmp_path, "lib_inner;helper -- 0\nlib_work -- 7\n").calls()
    assert found == {"main": 1, "near": 3, "far": 5, "lib_work": 7}


def test_objects_of_other_links(build: Builder, tmp_path: Path) -> None:
    """Objects compiled without the wrapper, joined by ld -r or put into a static library: the final link adds hooks."""
    objects = []
    for name in ("two_a", "two_b", "two_lib"):
        objects.append(tmp_path / f"{name}.o")
        call([need("gcc"), *PLAIN, "-g", "-c", PROGRAMS / f"{name}.c", "-o", objects[-1]], tmp_path)
    call([need("ar"), "rc", "libtwo.a", objects[2]], tmp_path)
    joined = build(*objects[:2], flags=("-r",), output="joined.o")
    assert hooks(joined) == {"u"}
    program = build(joined, flags=("-vt:inst", "manual", f"-L{tmp_path}", "-ltwo"), output="two")
    assert hooks(program) == {"t"}
    assert filtered(program, tmp_path, "helper -- 0\n").calls() == {n: c for n, c in TWO.items() if n != "helper"}


def test_stripped(build: Builder, tmp_path: Path) -> None:
    """A stripped module exports the names of functions, but not its hooks: rules with these names work."""
    program, library = two(build, flags=("-O1", "-s"))
    assert hooks(library) == set()
    assert filtered(program, tmp_path, "lib_work -- 0\n").kinds() == {"Enter": 27, "Leave": 27}


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_a_library_compiled_without_the_wrapper(build: Builder, tmp_path: Path, linker: str) -> None:
    """The library calls the hooks of libvtrace.so.1; the program calls its own hooks."""
    program, library = two(build, flags=("-O1", f"-fuse-ld={linker}"), plain=True)
    assert (hooks(program), hooks(library)) == ({"t"}, {"u"})
    assert filtered(program, tmp_path, "lib_inner;near -- 0\n").calls() == {
        name: n for name, n in TWO.items() if name not in ("lib_inner", "near")
    }


def test_hooks_of_the_programs_own(build: Builder, tmp_path: Path) -> None:
    """A program that defines both hooks also gets the events of its libraries. With only the enter hook defined, the
    leave hook of vtrace stays in place."""
    _, library = two(build)
    rest = (*HOOKS, "-O1", library, f"-Wl,-rpath,{library.parent}")
    program = build("two_a.c", "two_b.c", "own_hooks.c", flags=rest, output="own")
    done = run(program, tmp_path)
    assert (done.stdout, done.stderr) == ("37 37\n", "")
    half = build("two_a.c", "two_b.c", "own_hooks.c", flags=(*rest, "-DENTER_ONLY"), output="half")
    assert run(half, tmp_path).stdout == "37 0\n"


def test_without_libvtrace(tmp_path: Path) -> None:
    """Without libvtrace.so.1 the hooks do nothing."""
    sources = [PROGRAMS / f"{name}.c" for name in ("two_a", "two_b", "two_lib")]
    alone = tmp_path / "alone"
    call([need("gcc"), *PLAIN, *sources, f"-L{paths.LIB}", "-l:libvtrace-inside.a", "-o", alone], tmp_path)
    assert hooks(alone) == {"t"}
    assert run(alone, tmp_path).stderr == ""


@pytest.mark.parametrize("rules", ["", "* -- 0\n", "* -- 3\n"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_registers_and_errno(build: Builder, tmp_path: Path, compiler: str, rules: str) -> None:
    (tmp_path / "rules").write_text(rules)
    program = build("passes.c", compiler=compiler, flags=(*HOOKS, "-O2", "-fno-inline"))
    run(program, tmp_path, env={"VT_FILTER_SPEC": "rules", "VT_VERBOSE": "0"})


def test_rules_change_with_the_rank(build: Builder, tmp_path: Path) -> None:
    """The launcher's environment and MPI_Init disagree on the rank: from MPI_Init on the rules of the new rank apply,
    also for the leave of main."""
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    rules = "@ 7\nmain -- 0\n@ 0\nwork -- 0\n"
    trace = filtered(program, tmp_path, rules, "5", ranks=2, PMIX_RANK="7")
    assert "work" not in trace.calls(0)
    second = next(n for n, location in trace.locations.items() if location.group == "MPI Rank 1")
    assert trace.calls(second)["work"] == 6
    assert "main" not in trace.calls()
