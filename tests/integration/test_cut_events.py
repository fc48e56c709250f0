# SPDX-License-Identifier: BSD-3-Clause
"""Files of events that are cut: every command ends, and counts the events of the whole chunks before the cut."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import vtrace as package
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from vtrace.analysis.trace import Trace
from vtrace.errors import FormatError
from vtrace.io.archive.batches import BatchBuffer

CHUNK = 256 * 1024
CUTS = (5 * CHUNK - 1, 3 * CHUNK + 77, 2 * CHUNK, CHUNK + 30_000, CHUNK)


@pytest.fixture(scope="module")
def whole(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("whole")
    run(build("many.c"), where, "100000")
    unify(where, "many")
    assert events_file(where / "many.trace").stat().st_size > 5 * CHUNK
    return where / "many.trace"


def events_file(archive: Path) -> Path:
    return archive / "traces" / "0.evt"


def cut(whole: Path, where: Path, size: int) -> Path:
    archive = where / "cut.trace"
    shutil.copytree(whole, archive)
    os.truncate(events_file(archive), size)
    return archive


def events(trace: Trace) -> np.ndarray:
    """The times, kinds and regions of all events that can be read, one after the other."""
    found = []
    with trace.reader() as reader, suppress(FormatError):
        for batch in reader.batches(0, BatchBuffer()):
            found.append(np.stack([batch.time, batch.kind.astype(np.int64), batch.ref.astype(np.int64)]))
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("size", CUTS)
def test_the_events_before_the_cut(whole: Path, tmp_path: Path, size: int) -> None:
    """The readable events are those of the archive's whole chunks before the cut."""
    expected, found = events(package.open(whole)), events(package.open(cut(whole, tmp_path, size)))
    count = found.shape[1]
    assert np.array_equal(found, expected[:, :count])
    bytes_of_all = events_file(whole).stat().st_size
    assert count == pytest.approx(expected.shape[1] * (size // CHUNK * CHUNK) / bytes_of_all, rel=0.05)


@pytest.mark.parametrize(
    "words", [("summary",), ("profile",), ("diagnose",), ("diff", "cut"), ("export", "--to", "csv"), ("view", "--text")]
)
def test_commands_end(whole: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    cut(whole, tmp_path, 3 * CHUNK + 77)
    name, *more = words
    done = vtrace(tmp_path, name, "cut", *more, check=False)
    assert done.returncode in (0, 1), str(done)
    told = (
        "traces/0.evt: the file is cut: only its first ",
        "incomplete: the archive's event files have 786,509 bytes",
    )
    assert any(text in done.stdout + done.stderr for text in told), str(done)


def test_cut_refuses_a_cut_archive(whole: Path, tmp_path: Path) -> None:
    cut(whole, tmp_path, CHUNK + 30_000)
    done = vtrace(tmp_path, "cut", "cut", "-o", "part", check=False)
    assert (done.returncode, done.stdout) == (1, ""), str(done)
    assert "the file is cut: only its first " in done.stderr
    assert not (tmp_path / "part.trace").exists()
