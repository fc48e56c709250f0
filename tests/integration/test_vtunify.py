# SPDX-License-Identifier: BSD-3-Clause
"""The options of vtunify as in the guide (Table 4.6); the result depends only on the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check


@pytest.fixture
def local(build: Builder, tmp_path: Path) -> Path:
    """A directory with the files of one run."""
    run(build("many.c"), tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("many", "-o", "out"),
        ("-o", "out", "many"),
        ("many", "-oout"),
        ("./many", "-o", "out", "--nocompress"),
        ("-p", "-o", "out", "many"),
        ("--progress", "many", "-o", "out"),
        ("-j", "1", "many", "-o", "out"),
        ("-q", "-v", "-o", "out", "-p", "--nocompress", "-j2", "many"),
    ],
)
def test_orders_and_options(local: Path, words: tuple[str, ...]) -> None:
    unify(local, *words)
    assert names(local) == {"out.trace"}
    assert check(local / "out.trace").calls() == {"main": 1, "work": 10}


def test_same_input_same_bytes(build: Builder, tmp_path: Path) -> None:
    """The archive has the same bytes for any number of threads: ids in order of locations, integer arithmetic."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "together", "5", "400")
    found = []
    for number, jobs in enumerate(("1", "2", "7")):
        unify(tmp_path, "-k", "-j", jobs, "-o", f"t{number}", "threads")
        archive = tmp_path / f"t{number}.trace"
        files = sorted(path for path in archive.rglob("*") if path.is_file() and path.suffix in (".evt", ".def"))
        found.append({str(path.relative_to(archive)): path.read_bytes() for path in files})
        assert len(check(archive).locations) == 6
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 13
