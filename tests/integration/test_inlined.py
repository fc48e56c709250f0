# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the compiler has inlined into recorded ones are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.tools import call, command

LINE = "inlined into main: chemistry, report"


def recorded(build: Builder, where: Path, compiler: str, *flags: str) -> None:
    program = build("inlined.c", compiler=compiler, flags=("-O2", *flags))
    call([*command("vtrace"), "run", "-o", "t", program], where, env={"VT_UNIFY": ""})


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_with_debug_information(build: Builder, tmp_path: Path, compiler: str) -> None:
    recorded(build, tmp_path, compiler, "-g")
    assert f"{LINE}\n" in vtrace(tmp_path, "summary", "t").stdout
    assert LINE in " ".join(vtrace(tmp_path, "diagnose", "t").stdout.split())
    found = json.loads(vtrace(tmp_path, "summary", "t", "--json").stdout)["inlined"]
    assert [(one["into"], one["name"], one["loop"]) for one in found] == [
        ("main", "chemistry", True), ("main", "report", False),
    ]  # fmt: skip


def test_without_debug_information(build: Builder, tmp_path: Path) -> None:
    recorded(build, tmp_path, "gcc", "-g0")
    assert "inlined into" not in vtrace(tmp_path, "summary", "t").stdout
    assert json.loads(vtrace(tmp_path, "summary", "t", "--json").stdout)["inlined"] == []
