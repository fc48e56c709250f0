# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the compiler has inlined into recorded ones are named."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.tools import call, command, need
from vtrace.symbols.modules import Place
from vtrace.symbols.stack_frames import find_frames
from vtrace.symbols.symbols import Symbols

LINE = "inlined into main: chemistry, report"
NAPS = {
    ".cpp": """#include <unistd.h>
static int n;
static void nap() { usleep(1); n++; }
int main() { nap(); return n; }
""",
    ".f90": """program main
  call nap()
contains
  subroutine nap()
    call sleep(0)
  end subroutine
end program
""",
}
"""Programs whose function nap, which sleeps, has no linkage name."""


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


@pytest.mark.parametrize(("compiler", "ending"), [("g++", ".cpp"), ("gfortran", ".f90")])
def test_names_of_static_functions(tmp_path: Path, compiler: str, ending: str) -> None:
    """addr2line has the symbol of the function around them in place of their names, when first asked for an address."""
    (tmp_path / f"nap{ending}").write_text(NAPS[ending])
    call([need(compiler), "-O2", "-g", f"nap{ending}", "-o", "naps"], tmp_path)
    listed = call([need("objdump"), "-d", "naps"], tmp_path).stdout
    calls = re.findall(r"^ *([0-9a-f]+):.*\b(?:call|bl)\b.*sleep", listed, re.MULTILINE)
    places = [Place((str(tmp_path / "naps"), b""), int(address, 16)) for address in calls]
    frames = find_frames(Symbols(time.time_ns()), places)
    assert calls
    assert {frames[place][-1].function.name for place in places} == {"nap"}
