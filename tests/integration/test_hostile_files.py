# SPDX-License-Identifier: BSD-3-Clause
"""Local files with false numbers: vtunify refuses, in one line, numbers that the files do not support."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.damage.damaged_files import damage
from support.damage.limited import limited
from support.synthetic_runs.whole_run import File, Files, make_run
from vtrace.io.local import records as r


def write(where: Path, change: Callable[[Files], None]) -> Path:
    """Writes the changed files of a run of two ranks, with valid heads and checksums. Returns the directory."""
    where.mkdir()
    files = make_run(where)
    change(files)
    for name, data in damage(files, {}, [], []).items():
        (where / name).write_bytes(data)
    return where


def ranks(count: int, rank: int | None = None) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        for file in files.values():
            if isinstance(file, File):
                file.head["world_size"] = count
                if rank is not None and file.head["rank"]:
                    file.head["rank"] = rank

    return change


def thread(number: int) -> Callable[[Files], None]:
    """A change: the second thread of rank 0 gets this number."""

    def change(files: Files) -> None:
        for file in (files["heat.10001.def.z"], files["heat.10001.events.z"]):
            file.head["location"] = number

    return change


def told(locations: str) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        definition = [r.DEFINITIONS["PROPERTY"], "locations", locations]
        files["heat.1.def.z"].definitions.append(definition)

    return change


LIES = {
    "a thread 2147483648": (thread(1 << 31), (), "threads 1, 2, 3, 4, 5, 6, 7, 8 ... beside "),
    "ten thousand million threads": (told("9999999999"), (), "threads 2, 3, 4, 5, 6, 7, 8, 9 ... beside "),
    "more threads than a word has": (told("9" * 19), (), "threads 2, 3, 4, 5, 6, 7, 8, 9 ... beside "),
    "65536 ranks": (ranks(65536), ("--salvage",), "a run of 65,536 ranks, but 2 of them left files"),
    "2^32 - 1 ranks": (ranks(2**32 - 1), ("--salvage",), "a run of 4,294,967,295 ranks, but 2 of them left files"),
    "rank 4 of 2": (ranks(2, 4), (), "heat.2.def.z: the head at byte 0 is damaged (rank 4 of 2)"),
}


@pytest.mark.parametrize("what", LIES)
def test_numbers_that_the_files_do_not_bear_out(what: str, tmp_path: Path) -> None:
    change, words, expected = LIES[what]
    where = write(tmp_path / "run", change)
    before = sorted(path.name for path in where.iterdir())
    done = limited(["vtunify", "-k", *words, "heat"], where)
    assert done.returncode == 1, str(done)
    assert expected in done.stderr, str(done)
    assert sorted(path.name for path in where.iterdir()) == before, "vtunify left a file"
    limited(["vtrace", "info", "heat"], where)


def test_threads_of_which_the_files_are_missing(tmp_path: Path) -> None:
    """The head names a very large thread number. --partial unifies the files that exist, and names missing threads."""
    where = write(tmp_path / "run", thread(1 << 31))
    done = limited(["vtunify", "-k", "--partial", "heat"], where)
    assert (done.returncode, "1, 2, 3, 4" in done.stderr) == (0, True), str(done)


def test_ranks_on_other_disks(tmp_path: Path) -> None:
    """2 of 1000 ranks, as on the local disk of one node: --partial unifies them."""
    where = write(tmp_path / "run", ranks(1000))
    done = limited(["vtunify", "-k", "--partial", "heat"], where)
    assert (done.returncode, "1,000 ranks" in done.stdout) == (0, True), str(done)
