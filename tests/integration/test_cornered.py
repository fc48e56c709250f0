# SPDX-License-Identifier: BSD-3-Clause
"""Programs that cannot write files any more: their result stays, and line, archive and program count the same."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check

BEFORE = 100000
MORE = 1_500_000
"""More than the buffer holds before it has to grow, or to be written out."""


def made(how: str, more: int) -> int:
    """Enters and leaves of main, work, corner and no_files."""
    return 2 * (1 + BEFORE + more + 1 + 1 + (how == "seccomp"))


@pytest.mark.parametrize("more", [1000, MORE])
@pytest.mark.parametrize("buffer", ["300K", "32M"])
@pytest.mark.parametrize("how", ["descriptors", "chroot", "user", "seccomp"])
def test_what_is_missing_is_told(build: Builder, tmp_path: Path, how: str, buffer: str, more: int) -> None:
    if how in ("chroot", "user") and os.geteuid() != 0:
        pytest.skip("only root may change its root directory or its user")
    here = tmp_path / "here"
    (here / "jail").mkdir(parents=True)
    here.chmod(0o755)
    program = shutil.copy(build("cornered.c"), tmp_path / "cornered")
    done = run(program, here, how, str(BEFORE), str(more), env={"VT_BUFFER_SIZE": buffer}, code=None)
    if done.returncode == 3:
        pytest.skip(f"{how}: the kernel does not let the program do so here")
    assert (done.returncode, done.stdout) == (7, "done\n"), str(done)
    told = re.search(r"(\d+) events of rank 0 could not be recorded", done.stderr)
    lost = int(told[1]) if told else 0
    assert bool(lost) == (more == MORE), done.stderr
    wrote = re.search(r"rank 0 of 1 wrote (\d+) records", done.stderr)
    assert wrote is not None
    assert int(wrote[1]) > 0.9 * (made(how, more) - lost)
    assert "the local files are not complete: vtunify takes the rest from" in done.stderr
    unify(here, "cornered")
    trace = check(here / "cornered.trace", complete=False)
    kinds = trace.kinds()
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert coverage["lost"] == lost
    assert coverage["complete"] == (lost == 0)
    # Leaves of what was open may be added by vtunify, where recording had stopped before them.
    assert 0 <= kinds["Enter"] + kinds["Leave"] + lost - made(how, more) <= 2
    assert lost or kinds["Enter"] + kinds["Leave"] == made(how, more)
