# SPDX-License-Identifier: BSD-3-Clause
"""The archive has all events published before a SIGKILL: the program counts its calls in a mapped file, which
survives."""

from __future__ import annotations

import mmap
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, unify
from support.oracles.check import check
from support.tools import environment

THREADS = 2
LIMIT = 12000


def kill_at(program: Path, directory: Path, target: int, env: dict[str, str]) -> list[int]:
    """Starts the program and kills it after its threads have made `target` calls. Returns the calls of each thread."""
    counts = directory / "counts"
    counts.write_bytes(bytes(4096))
    words = [str(program), str(counts), str(THREADS), str(LIMIT)]
    deadline = time.monotonic() + 60
    with counts.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as shared:
        process = subprocess.Popen(words, cwd=directory, env=environment(env))
        try:
            while sum(struct.unpack_from(f"{THREADS}q", shared)) < target:
                assert process.poll() is None, "the program ended without a signal"
                assert time.monotonic() < deadline, "the program makes no progress"
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = sorted(struct.unpack_from(f"{THREADS}q", shared))
    counts.unlink()
    return done


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_random(build: Builder, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    # Odd seeds use a small buffer, so that the kill may interrupt a flush.
    small = {"VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    program = build("counted.c", flags=("-O1", "-pthread"))
    done = kill_at(program, tmp_path, chance.randrange(1, LIMIT * THREADS * 3 // 4), small if seed % 2 else {})
    unify(tmp_path, "counted")
    trace = check(tmp_path / "counted.trace", complete=False)
    found = sorted(trace.calls(location)["work"] for location in trace.locations if location)
    found = [0] * (THREADS - len(found)) + found  # a thread that has not started has no location
    # The program may have recorded one call that it has not counted.
    assert all(0 <= calls - count <= 1 for calls, count in zip(found, done, strict=True)), (found, done)
    assert trace.calls(0) == {"main": 1}
    assert trace.markers, "the archive must say that the process was killed"
    assert names(tmp_path) == {"counted.trace"}


def test_kill_before_the_first_record(build: Builder, tmp_path: Path) -> None:
    """Only the head of a file exists: vtunify succeeds, or fails with one line and changes no file."""
    program = build("counted.c", flags=("-O1", "-pthread"))
    kill_at(program, tmp_path, 0, {})
    left = names(tmp_path)
    done = unify(tmp_path, "counted", check=False)
    if done.returncode == 0:
        check(tmp_path / "counted.trace", complete=False)
    else:
        assert len(done.stderr.splitlines()) == 1, done
        assert names(tmp_path) == left
