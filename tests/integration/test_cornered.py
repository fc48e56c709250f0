# SPDX-License-Identifier: BSD-3-Clause
"""Programs that lose the ability to open files: their result stays the same, and stderr, archive and program agree on
the number of events."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check

BEFORE = 50_000
MORE = 250_000
"""More calls than fit into the buffer before it must grow or be written."""


def made(how: str, more: int) -> int:
    """The number of enters and leaves of main, work, corner and no_files."""
    return 2 * (1 + BEFORE + more + 1 + 1 + (how == "seccomp"))


def cases() -> Iterator[ParameterSet]:
    """One way with each buffer and number of calls, the others with two of these; in the full tests with all."""
    for how, buffer, more in product(("descriptors", "chroot", "user", "seccomp"), ("300K", "4M"), (1000, MORE)):
        spare = how != "descriptors" and (buffer, more) in (("300K", 1000), ("4M", MORE))
        yield pytest.param(how, buffer, more, marks=pytest.mark.full if spare else ())


@pytest.mark.parametrize(("how", "buffer", "more"), [*cases()])
def test_missing_events_are_counted(build: Builder, tmp_path: Path, how: str, buffer: str, more: int) -> None:
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
    assert "the local files are not complete; vtunify reads the other records from" in done.stderr
    unify(here, "cornered")
    trace = check(here / "cornered.trace", complete=False)
    kinds = trace.kinds()
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert coverage["lost"] == lost
    assert coverage["complete"] == (lost == 0)
    # vtunify may add leaves of open functions, if recording stopped before these leaves.
    assert 0 <= kinds["Enter"] + kinds["Leave"] + lost - made(how, more) <= 2
    assert lost or kinds["Enter"] + kinds["Leave"] == made(how, more)
