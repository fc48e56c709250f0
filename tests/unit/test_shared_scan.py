# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share the passes of a diagnosis give the answers of one process."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

import vtrace
from support.build.parallel import in_threads
from support.readers.diagnosis import told
from support.recorded_archives import unpack
from support.synthetic_runs.random_mpi import archive, program
from vtrace.analysis import shared_scan
from vtrace.analysis.questions import mpi_replay
from vtrace.analysis.scan import Pass, scan
from vtrace.analysis.trace import Trace
from vtrace.errors import VtraceError
from vtrace.parallel.ranks import Ranks

SCOREP = ("scorep-heat2d", "scorep-omp", "scorep-io")


def shared(path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Trace, list[set[int]]]:
    """The answers on rank 0 of several ranks, its trace, and the locations that each rank has read."""
    read: dict[int, set[int]] = {}

    def watched(*arguments: Any, **named: Any) -> Pass:
        met = scan(*arguments, **named)
        read.setdefault(get_ident(), set()).update(met.events)
        return met

    monkeypatch.setattr(shared_scan, "scan", watched)

    def work(ranks: Ranks) -> tuple[dict[str, Any], Trace] | None:
        if not ranks.root:
            shared_scan.serve(ranks, 1, lambda: vtrace.open(path))
            return None
        trace = vtrace.open(path)
        trace.ranks = ranks
        try:
            return told(trace), trace
        finally:
            shared_scan.dismiss(ranks)

    made = in_threads(size, work)[0]
    assert made is not None
    return *made, list(read.values())


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("name", ["random", *SCOREP])
def test_same_answers(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are equal also with more ranks than locations, with more than send at once, and with ends in the
    temporary file."""
    monkeypatch.setattr(shared_scan, "_SENDERS", 3)
    monkeypatch.setattr(mpi_replay, "_MEMORY", 2000)
    path = archive(tmp_path / "random.trace", program(3, ranks=6)) if name == "random" else unpack(name, tmp_path)
    alone = vtrace.open(path)
    found, trace, read = shared(path, size, monkeypatch)
    assert found == told(alone)
    assert trace.problems == alone.problems
    assert len(read) == size
    assert set().union(*read) == set(range(alone.locations.rows))
    assert sum(map(bool, read)) == min(size, alone.locations.rows)


def test_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A location of another rank with damage counts up to the damage, and rank 0 reports it."""
    path = unpack("scorep-heat2d", tmp_path)
    for file in (path / "traces").glob("*.evt"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2 : len(data) // 2 + 64] = b"\xff" * 64
        file.write_bytes(data)
    alone = vtrace.open(path)
    expected = told(alone)
    assert alone.problems
    found, trace, _ = shared(path, 3, monkeypatch)
    assert found == expected
    assert sorted(trace.problems) == sorted(alone.problems)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_rank_that_cannot_open_the_archive(is_gone: bool, tmp_path: Path) -> None:
    """The rank helps with work that needs no archive; a pass fails on all ranks with one error, as it does if the
    archive of all ranks is gone."""
    trace = vtrace.open(archive(tmp_path / "random.trace", program(3, ranks=6)))
    if is_gone:
        shutil.rmtree(tmp_path / "random.trace")

    def work(ranks: Ranks) -> str:
        try:
            if ranks.root:
                trace.ranks = ranks
                assert shared_scan.share(trace, _sum_of_ranks) == 1
                trace.profile()
            else:
                shared_scan.serve(ranks, 1, lambda: trace if is_gone else vtrace.open(tmp_path / "other.trace"))
        except VtraceError as error:
            return str(error)
        return ""

    first, second = in_threads(2, work)
    assert first == second
    assert ("random.trace" if is_gone else "other.trace") in first


def _sum_of_ranks(_: object, ranks: Ranks, threads: int) -> int:
    return ranks.total([ranks.rank])[0]
