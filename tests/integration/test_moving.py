# SPDX-License-Identifier: BSD-3-Clause
"""docs/moving.md: the commands, options, variables and macros of vtrace in its tables exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from support.tools import ROOT, call, command

TEXT = (ROOT / "docs" / "moving.md").read_text()
CELLS = [line.split("|")[2] for line in TEXT.splitlines() if line.startswith("| ")]
"""The right column of all tables."""
TABLE = (ROOT / "csrc" / "core" / "settings_table.h").read_text()
HEADER = (ROOT / "csrc" / "include" / "vt_user.h").read_text()
WRAPPERS = ("vtrace-cc", "vtrace-cxx", "vtrace-fc")


@cache
def helped(where: Path, *words: str) -> str:
    option = "-vt:help" if words[0] in WRAPPERS else "--help"
    return call([*command(words[0]), *words[1:], option], where).stdout


def test_variables_and_macros() -> None:
    known = set(re.findall(r"^(?:NUMBER|TEXT|OTHER)\((VT_\w+)", TABLE, re.MULTILINE))
    known |= set(re.findall(r"^#\s*define (VT_\w+)", HEADER, re.MULTILINE))
    used = {name for cell in CELLS for name in re.findall(r"\bVT_[A-Z_]+", cell)}
    assert len(used) > 20
    assert not used - known


def test_commands_and_options(tmp_path: Path) -> None:
    seen = 0
    for cell in CELLS:
        for text in re.findall(r"`([^`]*)`", cell):
            words = text.removeprefix("mpiexec ").split()
            if not words or words[0] not in (*WRAPPERS, "vtrace", "vtunify", "vtunify-mpi"):
                continue
            sub = words[1:2] if words[0] == "vtrace" else []
            shown = helped(tmp_path, words[0], *sub)
            for option in (word for word in words[1:] if word.startswith("-")):
                assert option in shown, text
            seen += 1
    assert seen > 20
