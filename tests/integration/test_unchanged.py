# SPDX-License-Identifier: BSD-3-Clause
"""What a program prints and how it ends are the same with and without tracing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build import Builder
from support.run import run

ENDINGS = [
    ("endings.c", "gcc", (how, "50"))
    for how in ("return", "exit", "_exit", "quick_exit", "abort", "segv", "kill", "thread", "atexit", "true", "again")
]
FORKS = [("forks.c", "clang", (how,)) for how in ("return", "_exit", "abort", "exec", "grandchild", "silent")]
OTHERS = [
    ("many.c", "gcc", ("10", "7")),
    ("many.c", "clang", ("0", "255")),
    ("jump.c", "gcc", ()),
    ("shapes.cc", "g++", ()),
    ("shapes.cc", "clang++", ()),
    ("threads.c", "gcc", ("after", "300", "3")),
    ("endings.c", "gcc", ()),
]


@pytest.mark.parametrize(("source", "compiler", "args"), ENDINGS + FORKS + OTHERS)
def test_same_as_untraced(build: Builder, tmp_path: Path, source: str, compiler: str, args: tuple[str, ...]) -> None:
    flags = ("-O1", "-pthread")
    untraced = run(build(source, compiler=compiler, flags=flags, plain=True), tmp_path, *args, code=None)
    traced = run(build(source, compiler=compiler, flags=flags), tmp_path, *args, env={"VT_VERBOSE": "0"}, code=None)
    assert (traced.returncode, traced.stdout, traced.stderr) == (
        untraced.returncode,
        untraced.stdout,
        untraced.stderr,
    )


@pytest.mark.parametrize("setting", ["VT_BUFFER_SIZE=100K", "VT_MAX_FLUSHES=0", "VT_COMPRESSION=no", "VT_CLEAN=no"])
def test_same_with_settings(build: Builder, tmp_path: Path, setting: str) -> None:
    name, _, value = setting.partition("=")
    done = run(build("many.c"), tmp_path, "30000", "3", env={name: value}, code=3)
    assert done.stdout == "done 30000\n"
