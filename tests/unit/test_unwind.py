# SPDX-License-Identifier: BSD-3-Clause
"""The rules of unwinding, the unwinder and the timers, called directly by tests/c/unwind.c under ASan and UBSan."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from support import tools
from support.build.builder import Builder

ROUNDS = os.environ.get("VT_FUZZ_RUNS", "200")
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="vtrace unwinds on x86-64 only")


@pytest.fixture(scope="module", params=["gcc -O1", pytest.param("clang -O2", marks=pytest.mark.full)])
def unwind(request: pytest.FixtureRequest, build: Builder) -> Path:
    compiler, optimize = request.param.split()
    return build.unit("unwind", compiler, ("core", "funwrap", "sampling", "providers"), optimize)


def test_rules_of_all_libraries(unwind: Path, tmp_path: Path) -> None:
    """Nearly all rules can be expressed."""
    for line in tools.call([unwind, "tables"], tmp_path).stdout.splitlines():
        name, rows, others, damaged = line.split()
        assert int(rows) > 10, name
        assert int(damaged) == 0, name
        assert int(others) <= max(12, 0.002 * int(rows)), name


def test_stacks_are_those_of_glibc(unwind: Path, tmp_path: Path) -> None:
    """Recursion with arrays of variable size, frames of some MiB, calls from qsort, a handler on an alternate stack."""
    assert int(tools.call([unwind, "stacks"], tmp_path).stdout) in (63, 65)  # qsort of ASan compares more


def test_registers_that_lead_nowhere(unwind: Path, tmp_path: Path) -> None:
    tools.call([unwind, "nowhere"], tmp_path)


def test_plans_of_timers(unwind: Path, tmp_path: Path) -> None:
    tools.call([unwind, "plans"], tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_unwind_information(unwind: Path, tmp_path: Path, seed: int) -> None:
    """Look-ups read no byte outside of the module, and each row begins before its instruction."""
    tools.call([unwind, "damaged", str(seed), ROUNDS], tmp_path)
