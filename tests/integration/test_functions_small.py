# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a few bytes: those that are selected are recorded, and no others, by each compiler, level and way."""

from __future__ import annotations

import random
from collections import Counter
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, run, unify, vtrace
from support.build.small_functions import small_functions
from support.oracles.check import check
from support.tools import need

WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sleds of gcc": ("gcc", ("-vt:inst", "sleds")),
    "sleds of clang": ("clang", ("-vt:inst", "sleds")),
    "plug-in": ("gcc", ("-vt:inst", "plugin")),
    "hooks of gcc": ("gcc", ("-vt:inst", "hooks")),
    "hooks of clang": ("clang", ("-vt:inst", "hooks")),
    "fentry of gcc": ("gcc", ("-pg", "-mfentry")),
    "fentry of clang": ("clang", ("-pg", "-mfentry")),
    "patchable gcc": ("gcc", ("-fpatchable-function-entry=5",)),
    "patchable clang": ("clang", ("-fpatchable-function-entry=6",)),
    "xray": ("clang", ("-fxray-instrument", "-fxray-instruction-threshold=1")),
}
LEVELS = ("-Os", "-O1", "-O0", "-O2", "-O3")
ALIGNED = ("-falign-functions=1", "")
PROGRAMS = [*product(WAYS, LEVELS, ALIGNED)]


def chosen(seed: int, names: list[str]) -> tuple[str, str, Counter[str]]:
    """A random VT_FUNCTIONS, a random filter file, and the limits of the calls that they leave; 0: left out."""
    chance = random.Random(seed)
    some = chance.sample(names, 8)
    first, leaves_out = some[:5], chance.random() < 0.5
    patterns = [("-" if leaves_out else "") + name for name in (*first, *chance.choice(((), ("f1?",), ("f?",))))]
    rules = {name: chance.choice((0, 1, 7, 1000000)) for name in some[3:]}
    limits = Counter(dict.fromkeys(names, 1000000000))
    for name in names:
        if any(fnmatchcase(name, pattern.removeprefix("-")) for pattern in patterns) == leaves_out:
            limits[name] = 0
        elif name in rules:
            limits[name] = rules[name]
    spec = "".join(f"{name} -- {limit}\n" for name, limit in rules.items())
    return ";".join(patterns), spec, limits


def rows() -> list[object]:
    """Each way has one program in make test, of different levels; all are `full`."""
    sample = {(way, LEVELS[i % 2], ALIGNED[0]) for i, way in enumerate(WAYS)}
    return [pytest.param(*row, marks=() if row in sample else pytest.mark.full) for row in PROGRAMS]


@pytest.mark.parametrize(("way", "level", "aligned"), rows())
def test_selected_functions_are_recorded(build: Builder, tmp_path: Path, way: str, level: str, aligned: str) -> None:
    compiler, flags = WAYS[way]
    need(compiler)
    if "sleds" in way or "-vt:inst" not in flags:
        compilers.need_sleds()
    if way == "plug-in":
        compilers.need_plugin(compiler)
    seed = PROGRAMS.index((way, level, aligned))
    source, calls = small_functions(seed)
    (tmp_path / "small.c").write_text(source)
    own = "-vt:inst" in flags
    options = (level, "-w", *([aligned] if aligned else []), *flags)
    program = build(tmp_path / "small.c", compiler=compiler, flags=options, plain=not own)
    for again in range(2):
        patterns, spec, limits = chosen(seed + 1000 * again, [*calls])
        (tmp_path / "rules").write_text(spec)
        env = {"VT_FILTER_SPEC": "rules"}
        if own:
            run(program, tmp_path, env=env | {"VT_FUNCTIONS": patterns})
        else:
            vtrace(tmp_path, "run", f"--functions={patterns}", program, env=env)
        unify(tmp_path, "--force", "small")
        assert check(tmp_path / "small.trace").calls() == +(calls & limits), (patterns, spec)


SEVERAL_NAMES = """
#include "vt_user.h"
#define NI __attribute__((noinline, noclone))
volatile int s;
NI int aa(int x) { return x + s; }
int zz(int) __attribute__((alias("aa")));
int a1(int) __attribute__((weak, alias("aa")));
NI int bb(int x) { s++; return x + 2; }
int main(void)
{
    for (int i = 0; i < 100; i++) {
        if (i == 50) VT_FUNCTIONS("-main");
        s = aa(i) + zz(i) + a1(i) + bb(i);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", compilers.C)
@pytest.mark.parametrize(
    ("patterns", "aa", "bb"), [("aa", 300, 5), ("a1;zz", 150, 5), ("-aa;-bb", 150, 5), ("-zz;-a1", 300, 5)]
)
def test_several_names_and_a_limit(
    build: Builder, tmp_path: Path, compiler: str, patterns: str, aa: int, bb: int
) -> None:
    """Of several names of one function, that of `vtrace summary` counts. The limit of a function that is selected later
    begins then, and continues where the program selects anew."""
    (tmp_path / "names.c").write_text(SEVERAL_NAMES)
    (tmp_path / "rules").write_text("bb -- 5\n")
    program = build(tmp_path / "names.c", compiler=compiler, flags=("-Os", "-w", "-DVTRACE"))
    trace = record(program, tmp_path, env={"VT_FUNCTIONS": patterns, "VT_FILTER_SPEC": "rules"})
    assert trace.calls() == Counter(aa=aa, bb=bb) + Counter(main=patterns.startswith("-"))
