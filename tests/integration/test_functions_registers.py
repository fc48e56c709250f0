# SPDX-License-Identifier: BSD-3-Clause
"""Hooks change no argument and no result: integers, structs, x87, vectors, variable arguments, static chains.

The rules lead through the different ways of the hooks: the direct one, filters, limits, depth, full buffers.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, run

SMALL = {"VT_BUFFER_SIZE": "100K", "VT_VERBOSE": "0"}
SETTINGS: dict[str, dict[str, str]] = {
    "all": {},
    "small buffer": SMALL,
    "ring": SMALL | {"VT_MODE": "RING"},
    "full": SMALL | {"VT_MAX_FLUSHES": "1"},
    "depth": SMALL | {"VT_MAX_STACK_DEPTH": "2"},
    "limits": SMALL | {"VT_FILTER_SPEC": "rules"},
    "none": {"VT_VERBOSE": "0", "VT_FUNCTIONS": "-*"},
    "some": SMALL | {"VT_FUNCTIONS": "give_*;see;-give_l*;vectors*;sum"},
    "watched": SMALL | {"VT_START_AFTER": "structs:100", "VT_STOP_AFTER": "variadic:200"},
    "stopped": {"VT_VERBOSE": "0", "VT_MAX_SIZE": "300K"},
}
LEVELS = ("-O2", "-O0", "-O1", "-O3")
COMPILERS = pytest.mark.parametrize("compiler", compilers.C)


def rows(every: int) -> list[object]:
    return [
        pytest.param(*row, marks=() if i % every == 0 else (pytest.mark.full,))
        for i, row in enumerate(product(SETTINGS, LEVELS))
    ]


@COMPILERS
@pytest.mark.parametrize(("settings", "level"), rows(3))
def test_arguments_and_results(build: Builder, tmp_path: Path, compiler: str, settings: str, level: str) -> None:
    """The program compares them itself; its output is that of an untraced one."""
    (tmp_path / "rules").write_text("* -- 1000\n")
    flags = (level, "-Wno-psabi")
    said = [
        run(build("registers.c", compiler=compiler, flags=flags, plain=plain), tmp_path, "4000", env=SETTINGS[settings])
        for plain in (True, False)
    ]
    assert said[0].stdout == said[1].stdout
    assert "scalars 4000 structs 4000 mixed 4000 variadic 4000 vectors16 4000" in said[1].stdout


@pytest.mark.parametrize(("settings", "level"), [row for row in rows(2) if row.values[1] != "-O0"])
def test_every_register(build: Builder, tmp_path: Path, settings: str, level: str) -> None:
    compilers.need_sleds()
    (tmp_path / "rules").write_text("* -- 1000\n")
    program = build("registers_raw.c", flags=(level, "-fcf-protection=full"))
    done = run(program, tmp_path, "20000", env=SETTINGS[settings])
    assert done.stdout.endswith("wrong 0\n")


@COMPILERS
def test_counts(build: Builder, tmp_path: Path, compiler: str) -> None:
    trace = record(build("registers.c", compiler=compiler, flags=("-O2", "-Wno-psabi")), tmp_path, "20")
    calls, edges = trace.calls(), trace.edges()
    groups = {"scalars": 14, "structs": 8, "mixed": 2, "variadic": 2, "vectors16": 2}
    for group, functions in groups.items():
        assert calls[group] == 20
        assert sum(n for (caller, _), n in edges.items() if caller == group) == 20 * functions, group
    assert (calls["give_long_double"], calls["total"], calls["eight_16"]) == (20, 40, 20)
