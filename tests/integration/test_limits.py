# SPDX-License-Identifier: BSD-3-Clause
"""Limits on file size, memory and descriptors: the program ends normally, and a message counts the missing events."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, unify
from support.oracles.check import check
from support.oracles.ledger import Ledger, ledger
from support.tools import Done, call

CALLS = 300000
MADE = 2 * (CALLS + 1)


def limited(build: Builder, where: Path, limit: str, env: dict[str, str] | None = None) -> tuple[Done, Ledger]:
    """Runs many.c under a limit of the shell. Checks that the recorded and the lost events are all events."""
    script = f'ulimit {limit}; exec "$0" {CALLS} 7'
    settings = {"VT_COMPRESSION": "no", **(env or {})}
    done = call(["sh", "-c", script, build("many.c")], where, settings, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {CALLS}\n"), str(done)
    said = done.stderr.splitlines()
    assert all(line.startswith("vtrace: ") for line in said)
    assert len(set(said)) == len(said) <= 4, str(done)
    found = ledger(where, "many")
    if found.lost or found.functions:
        assert found.functions + found.lost == MADE
    missing = MADE - found.functions
    said_so = f"{missing} events" in done.stderr or "nothing is recorded" in done.stderr
    assert not missing or said_so, str(done)
    assert not list(where.glob("*.tmp"))
    assert not list(where.glob("*.buffer"))
    return done, found


# In blocks of 512 bytes: no space, half a head, some of the events, less than the buffer.
@pytest.mark.parametrize("limit", [0, 2, 100, 2000, 7000])
def test_file_size(build: Builder, tmp_path: Path, limit: int) -> None:
    done, found = limited(build, tmp_path, f"-f {limit}")
    assert "file size limit" in done.stderr
    # vtrace writes a block completely or not at all.
    assert found.functions > 512 // 8 * limit - 3 * 8192


def test_file_size_when_writing_out(build: Builder, tmp_path: Path) -> None:
    done, _ = limited(build, tmp_path, "-f 2000", {"VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "0"})
    assert ".events cannot be written (file size limit)" in done.stderr


@pytest.mark.parametrize("flushes", ["0", "1"])
@pytest.mark.parametrize("kib", [12000, 20000, 100000])
def test_memory(build: Builder, tmp_path: Path, kib: int, flushes: str) -> None:
    """No more memory is available: vtrace writes the full chunks to the file and uses them again."""
    _, found = limited(build, tmp_path, f"-v {kib}", {"VT_MAX_FLUSHES": flushes})
    assert (found.functions == MADE) == (flushes == "0" or kib == 100000)


def test_any_memory(build: Builder, tmp_path: Path) -> None:
    """Whichever allocation is the one that fails, the missing events are reported and counted."""
    told = set()
    for kib in range(11000, 12400, 20):
        (where := tmp_path / str(kib)).mkdir()
        done, found = limited(build, where, f"-v {kib}")
        told.add("nothing" if "nothing is recorded" in done.stderr else "all" if found.functions == MADE else "some")
    assert told >= {"nothing", "all"}


def test_no_memory_at_all(build: Builder, tmp_path: Path) -> None:
    done, _ = limited(build, tmp_path, "-v 7000")
    assert "no memory for the buffer: nothing is recorded" in done.stderr
    assert names(tmp_path) == set()


@pytest.mark.parametrize("number", [4, 5, 20])
def test_descriptors(build: Builder, tmp_path: Path, number: int) -> None:
    done, _ = limited(build, tmp_path, f"-n {number}")
    assert len(done.stderr.splitlines()) == 1


def test_one_descriptor(build: Builder, tmp_path: Path) -> None:
    """The limit leaves one free descriptor, and vtrace holds it during a rename: the renamed file gets its head when
    vtrace opens the file again."""
    done = call(["sh", "-c", 'ulimit -n 4; exec "$0" 10 7', build("many.c")], tmp_path, check=False)
    assert (done.returncode, done.stdout) == (7, "done 10\n"), str(done)
    unify(tmp_path, "many")
    trace = check(tmp_path / "many.trace")
    assert trace.kinds()["Enter"] == trace.kinds()["Leave"] == 11
