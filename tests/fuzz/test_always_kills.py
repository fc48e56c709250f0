# SPDX-License-Identifier: BSD-3-Clause
"""Programs of vtrace run --always, killed at random moments and in adverse conditions, also on full disks: they end as
without vtrace or by the signal, say nothing, and leave files that can be read, or none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.damage import killed_jobs
from support.tools import PROGRAMS, call, command, environment, need

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
SIZES = ("300k", "3m", "12m")
"""Of file systems: full at the first program, after a few, or after some tens."""


@pytest.fixture
def programs() -> Iterator[Path]:
    """Users may execute them, so they are not among the files of the test."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    source, gcc = PROGRAMS / "small_lives.c", need("gcc")
    call([gcc, "-O1", "-finstrument-functions", "-pthread", source, "-o", "small"], place)
    call([gcc, "-O1", "-static", "-pthread", source, "-o", "static"], place)
    shutil.copy(place / "small", place / "setuid")
    if os.geteuid() == 0:
        os.chown(place / "setuid", killed_jobs.NOBODY, killed_jobs.NOBODY)
    (place / "setuid").chmod(0o4755)
    yield place
    shutil.rmtree(place)


def words(programs: Path, jobs: Path, seed: int, is_full: bool) -> list[str]:
    script = killed_jobs.__file__
    seconds = str(SECONDS // (1 + len(SIZES)))
    return [sys.executable, script, str(programs), str(jobs), str(seed), seconds, str(int(is_full)), *command("vtrace")]


def kill(cwd: Path, *words: str) -> None:
    done = subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["failures"], "\n".join(found["failures"])
    assert found["numbers"]["killed"], found["numbers"]


def test_kills(programs: Path, tmp_path: Path) -> None:
    kill(tmp_path, *words(programs, tmp_path / "jobs", 1 + SECONDS, is_full=False))


@pytest.mark.parametrize("size", SIZES)
def test_kills_on_a_full_disk(programs: Path, tmp_path: Path, size: str) -> None:
    (tmp_path / "jobs").mkdir()
    unshared = [need("unshare"), "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none jobs && exec "$@"', "sh"]
    if call([*unshared, "true"], tmp_path, check=False).returncode:
        pytest.skip("no small file systems can be mounted")
    kill(tmp_path, *unshared, *words(programs, tmp_path / "jobs", 2 + SECONDS, is_full=True))
