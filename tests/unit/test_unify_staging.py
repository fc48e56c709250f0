# SPDX-License-Identifier: BSD-3-Clause
"""vtunify removes unfinished archives of killed runs of vtunify, on any host, but none that is still being written."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import pytest

from support.synthetic_runs.two_ranks import names, run
from vtrace.console import Console
from vtrace.unify.model import staging
from vtrace.unify.run import Request, unify

DEAD = 4_194_305
"""A pid above Linux's maximum."""
LONG_AGO = 2 * staging.SILENT


def left(heat: Path, host: str, pid: int, age: float = 0, kind: str = "tmp") -> Path:
    """A directory that vtunify began, and touched age seconds ago."""
    path = heat.with_name(f".heat.trace.{kind}-{host}-{pid}")
    path.mkdir()
    (path / "traces.def").touch()
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(
    ("host", "pid", "age"),
    [(platform.node(), DEAD, 0), ("node-7", 1, LONG_AGO), (platform.node(), 1, LONG_AGO)],
    ids=["dead", "of another host", "its number went to another process"],
)  # fmt: skip
def test_nobody_works_on_it(heat: Path, host: str, pid: int, age: float, capsys: pytest.CaptureFixture[str]) -> None:
    left(heat, host, pid, age)
    unify(Request(prefix=heat), Console("vtunify"))
    assert names(heat) == {"heat.trace"}
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("host", ["node-7", platform.node()])
def test_somebody_may_work_on_it(heat: Path, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = left(heat, host, 1, 150)  # A file's time may be some ms older than the clock, so age is not a whole minute.
    unify(Request(prefix=heat), Console("vtunify"))
    assert names(heat) == {"heat.trace", path.name}
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"process 1 of {host} wrote heat.trace, too, 2 min ago; if that process has ended: rm -r {path}" in said


def test_of_other_archives(heat: Path) -> None:
    path = left(heat, "node-7", 1, LONG_AGO)
    other = path.rename(path.with_name(".u_heat.trace.tmp-node-7-1"))
    run(heat)
    assert names(heat) == {"heat.trace", other.name}


def test_an_archive_that_was_put_aside(heat: Path) -> None:
    """The old archive that vtunify --force renamed is the only copy until the new archive is complete."""
    path = left(heat, "node-7", 1, LONG_AGO, "old")
    run(heat, keep=True, name="heat")
    assert path.exists()
    run(heat, force=True)
    assert names(heat) == {"heat.trace"}


def test_it_is_touched(heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "BEAT", 0.01)
    path = left(heat, "node-7", 1, LONG_AGO)
    beat = staging.Heartbeat(path)
    deadline = time.monotonic() + 30
    while staging.is_abandoned(path, "node-7", 1, time.time()) and time.monotonic() < deadline:
        time.sleep(0.01)
    beat.end()
    assert not staging.is_abandoned(path, "node-7", 1, time.time())
