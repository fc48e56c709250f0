# SPDX-License-Identifier: BSD-3-Clause
"""Lines on a terminal are not longer than its width; --wide and pipes have whole names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.tools import call, command
from support.users.terminal import on_terminal

COMMANDS = (
    "summary", "profile", "profile --by callpath", "profile --by line", "diagnose", "diagnose --tables", "diff",
    "profile --metrics page-faults",
)  # fmt: skip
KERNELS = ("LaplaceOperatorInThreeDimensions", "HelmholtzOperatorInThreeDimensions")


@pytest.fixture(scope="module")
def archive(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("long_names")
    program = build("long_names.cc", compiler="g++", flags=("-O1",))
    call([*command("vtrace"), "run", "--counters", "page-faults", "-o", "long", program], where, env={"VT_UNIFY": ""})
    return where / "long"


def lines(archive: Path, words: str, columns: int) -> list[str]:
    """What a command shows on a terminal, without control sequences."""
    name, *options = words.split()
    runs = [archive] * (2 if name == "diff" else 1)
    shown = on_terminal([*command("vtrace"), name, *options, *runs], archive.parent, columns)
    return re.sub(r"\x1b\[[\d;]*[mK]|\r", "", shown).splitlines()


def steps(shown: list[str]) -> set[str]:
    """The names of the two instances of step."""
    return {line.split("  ")[-1] for line in shown if "::step(" in line}


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize("words", COMMANDS)
def test_width(archive: Path, words: str, columns: int) -> None:
    for line in lines(archive, words, columns):
        command_or_path = re.match(r" *(\$ )?vtrace |.*/", line)
        assert len(line) <= columns or command_or_path, line


@pytest.mark.parametrize("words", ["summary", "profile"])
def test_names_stay_different(archive: Path, words: str) -> None:
    assert len(steps(lines(archive, words, 80))) == len(KERNELS)


def test_whole_names(archive: Path) -> None:
    wide = steps(lines(archive, "profile --wide", 80))
    assert {kernel for kernel in KERNELS for name in wide if kernel in name} == {*KERNELS}
    assert steps(vtrace(archive.parent, "profile", archive).stdout.splitlines()) == wide
