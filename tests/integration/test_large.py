# SPDX-License-Identifier: BSD-3-Clause
"""Large traces are unified in little memory: what vtunify holds does not grow with the number of events."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.build import Builder
from support.run import run
from support.tools import command, environment

LIMIT = 200 * 1024
"""KiB resident."""
FULL = pytest.mark.full


@pytest.mark.parametrize("millions", [10, pytest.param(100, marks=FULL)])
def test_memory_of_vtunify(build: Builder, tmp_path: Path, millions: int) -> None:
    settings = {"VT_MAX_FLUSHES": "0", "VT_COMPRESSION": "no"}  # the largest files that there are
    run(build("many.c", mode="seq"), tmp_path, str(millions * 500_000 - 1), env=settings, timeout=600)
    local = size(tmp_path)
    process = subprocess.Popen([*command("vtunify"), "many"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    archive = size(tmp_path / "many.trace")
    shutil.rmtree(tmp_path / "many.trace")
    assert os.waitstatus_to_exitcode(status) == 0
    assert f" {millions},000,0" in said  # and the flushes
    assert local > 8e6 * millions
    assert archive > 10e6 * millions
    assert usage.ru_maxrss < LIMIT, f"{usage.ru_maxrss} KiB, files {local >> 20} MiB, archive {archive >> 20} MiB"


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
