# SPDX-License-Identifier: BSD-3-Clause
"""vtunify keeps few files open at a time, for any number of local files."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import find
from support.build.parallel import assert_same
from support.readers.archive import read
from support.synthetic_runs.wrong_clocks import Ranks, TimedRecord, repair_of
from support.tools import call, command

THREADS = 250
FEW = 'ulimit -n 64; exec "$@"'
"""The limit includes descriptors for Python, MPI and the archive."""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of 500 locations. Each thread of rank 0 sends to one of rank 1, whose clock is behind; all threads
    allocate memory."""
    where = tmp_path_factory.mktemp("wide")
    sends: dict[int, list[TimedRecord]] = {}
    gets: dict[int, list[TimedRecord]] = {}
    for thread in range(THREADS):
        allocates = [(1000, "ENTER_ALLOC", 5, 80), (1100, "LEAVE_ALLOC", 5, 0x900, 88, 1)]
        sends[thread] = [*allocates, (2000 + thread, "SEND", 1, 1 | thread << 32, 8)]
        gets[thread] = [*allocates, (3000 + thread, "RECV", 1, thread << 32, 8)]
    Ranks(where, [sends, gets], [0, -5000], ["REGION", 5, "malloc", 1, 1, None, 0])
    return where


def limited(*words: str | Path) -> list[str | Path]:
    return ["sh", "-c", FEW, "sh", *words]


def test_vtunify(wide: Path) -> None:
    call(limited(*command("vtunify"), "-k", "--force", "-j", "2", "t"), wide)
    trace = read(wide / "u_t.trace")
    found = repair_of(trace)
    assert (found["messages"], found["reversed_messages"], found["left"]) == (THREADS, THREADS, 0)
    assert len({event.location for event in trace.events}) >= 2 * THREADS
    call(limited(*command("vtunify"), "-k", "--no-repair", "-o", "plain", "t"), wide)


def test_vtunify_mpi(wide: Path, build: Builder, tmp_path: Path) -> None:
    mpi = find("mpich-wheel", build)
    call([*command("vtunify"), "-k", "-o", tmp_path / "one", "t"], wide)
    words = [*mpi.launch, "-n", "2", *limited(*command("vtunify-mpi"), "-k", "-o", tmp_path / "two", "t")]
    call(words, wide, mpi.env)
    assert_same(tmp_path / "one.trace", tmp_path / "two.trace")
