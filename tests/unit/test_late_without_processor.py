# SPDX-License-Identifier: BSD-3-Clause
"""Waits in MPI for ranks that have no processor."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.synthetic_runs.diagnosed import Event, without_processor
from support.synthetic_runs.random_mpi import archive, region
from vtrace.analysis.findings import mpi_findings
from vtrace.analysis.findings.late_without_processor import late_without_processor
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table
from vtrace.analysis.trace import Trace

MPI, WORK = 0, 1
"""Regions of waits for a processor."""


def late(
    waits: list[tuple[int, int, int, int]], readings: list[tuple[int, int, int, int, int]]
) -> tuple[list[float], list[float]]:
    """late_without_processor of waits (location, partner, begin, end) and waits for a processor (location, region,
    begin, end, ns)."""
    columns = [np.array(column, np.int64) for column in zip(*waits, strict=True)]
    table = dict(zip(("location", "partner", "begin"), columns, strict=False)) | {"time_ns": columns[3] - columns[2]}
    columns = [np.array(column, np.int64) for column in zip(*readings, strict=True)]
    known = dict(zip(("location", "region", "begin", "end", "ns"), columns, strict=True))

    def waited_between(locations: Array, begins: Array, ends: Array) -> Array:
        """Of readings that are in an interval or outside of it."""
        mine = [reading for reading in readings if reading[1] == WORK]
        return np.array([
            sum(ns for at, _, first, last, ns in mine if at == one and begin <= first < last <= end)
            for one, begin, end in zip(locations.tolist(), begins.tolist(), ends.tolist(), strict=True)
        ])  # fmt: skip

    facts: Any = SimpleNamespace(
        processor_waits=SimpleNamespace(**known),
        waits_in_mpi=np.array([True, False, False], bool),
        waited_between=waited_between,
        trace=SimpleNamespace(locations=SimpleNamespace(rows=3)),
    )
    in_mpi, at_work, of_ranks = late_without_processor(facts, Table(table), np.arange(len(waits)))
    assert of_ranks.sum() == at_work.sum()
    return in_mpi.tolist(), at_work.tolist()


def test_a_wait_is_for_the_end_of_its_chain() -> None:
    """Rank 0 waits for rank 1, which first waits for rank 2: only later is rank 1 itself late. Rank 2 has no processor
    for 30 ns of 120, rank 1 for 90 of 100: no more than others wait meanwhile."""
    waits = [(0, 1, 100, 200), (1, 2, 100, 150)]
    assert late(waits, [(1, MPI, 100, 200, 90), (2, MPI, 0, 120, 30)]) == ([20 + 50, 20], [0, 0])
    assert late(waits, [(2, WORK, 0, 120, 30)]) == ([0, 0], [30, 30])


def test_waits_for_a_processor_at_work_count_by_the_difference() -> None:
    """Rank 0 waits for rank 1 twice, which had no processor for 50 ns since the last time, rank 0 for 20."""
    waits = [(0, 1, 100, 200), (0, 1, 300, 310)]
    readings = [(0, WORK, 0, 50, 20), (0, WORK, 200, 250, 20), (1, WORK, 0, 50, 50), (1, WORK, 200, 250, 50)]
    assert late(waits, readings) == ([0, 0], [30, 10])


def test_each_wait_for_a_processor_counts_once_for_each_rank() -> None:
    """Ranks 0 and 2 wait for rank 1, rank 0 twice, while rank 1 has no processor for 40 ns."""
    assert late([(0, 1, 0, 30), (0, 1, 50, 100), (2, 1, 0, 100)], [(1, MPI, 0, 100, 40)])[0] == [15, 25, 40]


def test_waits_in_a_circle_end() -> None:
    assert late([(0, 1, 0, 100), (1, 0, 0, 100)], [(0, MPI, 0, 100, 50)]) == ([0, 0], [0, 0])


def call(begin: int, end: int, name: str, *inside: Event) -> list[Event]:
    return [(begin, "Enter", region(name)), *inside, (end, "Leave", region(name))]


@pytest.mark.parametrize(("waited", "loss"), [(0, 122), (200, 18)])
def test_work_before_is_no_cause(waited: int, loss: int, tmp_path: Path) -> None:
    """Two ranks work for 100 ns and wait for an answer until 300 ns. Rank 0 waits 70 ns for the message of one of them,
    and then has no processor: of 470 ns of waits 400 are no matter of work."""
    receives = call(30, 300, "MPI_Recv", (300, "MpiRecv", 2, 0, 7, 8))
    receives += call(300, 300, "MPI_Recv", (300, "MpiRecv", 1, 0, 7, 8))
    answers = [event for rank in (2, 1) for event in call(300, 300, "MPI_Send", (300, "MpiSend", rank, 0, 8, 8))]
    each = {0: [*call(0, 30, "work"), *receives, *answers]}
    for rank in (1, 2):
        asks = call(100, 100, "MPI_Send", (100, "MpiSend", 0, 0, 7, 8))
        each[rank] = [*call(0, 100, "work"), *asks, *call(100, 300, "MPI_Recv", (300, "MpiRecv", 0, 0, 8, 8))]
    anchor = archive(tmp_path / "a", each, 310)
    if waited:
        without_processor(anchor, (0, 30, 300, waited, "MPI_Recv"))
    found = Trace(anchor).diagnosis(Selection()).findings
    assert [one.loss_ns for one in found if "takes longer in work" in one.text] == [loss]


@pytest.mark.parametrize(
    ("crowded", "waited", "losses"), [(True, 150, [2 * 50]), (False, 150, []), (True, 190, [])],
    ids=["more work", "enough cores", "nearly the same work"],
)  # fmt: skip
def test_cpu_time_tells_an_imbalance_of_ranks_that_share_cores(
    crowded: bool, waited: int, losses: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks 0 and 1 work for 100 ns, rank 2 for 300, without a processor for some; such waits may explain all."""

    def all_of_it(facts: Any, call_waits: Table, rows: Array) -> tuple[Array, Array, Array]:
        return call_waits["time_ns"] * 1.0, np.zeros(call_waits.rows), np.zeros(3)

    monkeypatch.setattr(mpi_findings, "late_without_processor", all_of_it)
    monkeypatch.setattr(mpi_findings, "crowded_hosts", lambda facts: [("node", 3, 2)] * crowded)
    barrier = (310, "MpiCollectiveEnd", 0, 0, 0, 0, 0)
    each = {
        rank: [*call(0, end, "work"), *call(end, 310, "MPI_Barrier", (end, "MpiCollectiveBegin"), barrier)]
        for rank, end in enumerate((100, 100, 300))
    }
    anchor = archive(tmp_path / "a", each)
    without_processor(anchor, (2, 0, 300, waited, "work"))
    found = Trace(anchor).diagnosis(Selection()).findings
    assert [one.loss_ns for one in found if one.kind == "imbalance"] == losses
