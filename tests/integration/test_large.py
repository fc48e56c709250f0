# SPDX-License-Identifier: BSD-3-Clause
"""vtunify needs little memory for a large trace: its memory does not grow with the number of events."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run
from support.tools import call, command

LIMIT = 200 * 1024
"""Maximum resident memory in KiB."""
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
FULL = pytest.mark.full


@pytest.mark.parametrize("millions", [10, pytest.param(100, marks=FULL)])
def test_memory_of_vtunify(build: Builder, tmp_path: Path, millions: int) -> None:
    settings = {"VT_MAX_FLUSHES": "0", "VT_COMPRESSION": "no"}  # these settings write the largest files
    run(build("many.c", mode="seq"), tmp_path, str(millions * 500_000 - 1), env=settings, timeout=600)
    local = size(tmp_path)
    # A process inherits the peak RSS of its parent: that of pytest may exceed that of vtunify.
    said = call([sys.executable, "-c", MEASURE, *command("vtunify"), "many"], tmp_path).stdout
    kib = int(said.split()[-1])
    archive = size(tmp_path / "many.trace")
    shutil.rmtree(tmp_path / "many.trace")
    events = int(re.findall(r"([\d,]+) events", said)[0].replace(",", ""))
    assert 0 <= events - millions * 1_000_000 < 300 * millions  # a flush for each step of a full buffer
    assert local > 8e6 * millions
    assert archive > 10e6 * millions
    assert 10 * 1024 < kib < LIMIT, f"{kib} KiB, files {local >> 20} MiB, archive {archive >> 20} MiB"


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
