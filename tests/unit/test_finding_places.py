# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the page that a finding names."""

from __future__ import annotations

from pathlib import Path

import pytest

import vtrace
from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.findings.finding import Finding
from vtrace.console import ranges
from vtrace.timeline.finding_places import guilty, is_own_code, losers, without_long_lists


def write(where: Path, processes: int, ranks: bool) -> vtrace.Trace:
    """An archive of processes with two threads each."""
    archive, threads = Foreign(where), 2 * processes
    for thread in range(threads):
        archive.events(thread, [(1, "Enter", 0), (2, "Enter", 1), (3, "Leave", 1), (5, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=processes, length=10)
    for thread in range(threads):
        archive.location(thread, group=thread // 2)
    archive.region(0, "work")
    archive.region(1, "MPI_Barrier", 1, 4)
    if ranks:
        masters = [*range(0, threads, 2)]
        archive.define("Group", 0, "", 4, 4, 0, masters)
        archive.define("Group", 1, "", 5, 4, 0, [*range(processes)])
        archive.define("Comm", 0, "world", 1, UNDEFINED, 0)
    return vtrace.open(archive.close())


@pytest.mark.parametrize(
    ("processes", "ranks", "culprit", "rows"),
    [
        (3, True, "rank 1, work (a.c:3)", [2, 3]), (3, True, "rank 1, thread 3, work", [3]),
        (3, True, "ranks 0,2, work", [0, 1, 4, 5]), (3, True, "ranks 1-2, work", [2, 3, 4, 5]),
        (3, True, "work", []), (3, True, "", []), (3, True, "rank 12, work", []),
        (3, False, "process 2, work", [4, 5]), (3, False, "process 22, work", []),
        (1, False, "thread 1, work", [1]), (1, False, "thread 11, work", []),
    ],
)  # fmt: skip
def test_guilty(tmp_path: Path, processes: int, ranks: bool, culprit: str, rows: list[int]) -> None:
    trace = write(tmp_path / "named.trace", processes, ranks)
    assert guilty(trace, Finding("imbalance", 1, 0.1, "text", culprit=culprit)) == rows


def test_losers_and_the_region(tmp_path: Path) -> None:
    trace = write(tmp_path / "named.trace", 3, True)
    found = [Finding("imbalance", 1, 0.1, "text", region=name, ranks=(0, 2)) for name in ("work", "MPI_Barrier", "")]
    assert losers(trace, found[0]) == [0, 1, 4, 5]
    assert [is_own_code(trace, each) for each in found] == [True, False, False]


def test_long_lists() -> None:
    few, many = ranges(range(0, 24, 2)), ranges([*range(0, 2000, 2), 2001, 2002])
    assert without_long_lists(f"ranks {few} take longer, on rank 7") == f"ranks {few} take longer, on rank 7"
    found = without_long_lists(f"most MPI time is on ranks {many} and in f on ranks {few}")
    assert found == f"most MPI time is on ranks 0,2,4 ... 2001-2002 (1,002 ranks) and in f on ranks {few}"
