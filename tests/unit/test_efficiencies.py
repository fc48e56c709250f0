# SPDX-License-Identifier: BSD-3-Clause
"""Parallel efficiencies of runs that lose time in one way only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.random_mpi import archive, region
from vtrace.analysis.questions.efficiencies import scaling
from vtrace.analysis.trace import Trace

Event = tuple[Any, ...]
OPENMP, PARALLEL, IMPLICIT_BARRIER = 3, 5, 16
"""OTF2's numbers of the paradigm and of roles of regions."""


def call(begin: int, end: int, name: str, *events: Event) -> list[Event]:
    """A call of MPI; its events are at its end."""
    return [(begin, "Enter", region(name)), *((end, *event) for event in events), (end, "Leave", region(name))]


def barrier(begin: int, end: int) -> list[Event]:
    return call(begin, end, "MPI_Barrier", ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 0, 0))


def run(where: Path, *ranks: list[Event]) -> Trace:
    """A run in which each rank is in main from 0 to 1000."""
    events = {rank: [(0, "Enter", 0), *each, (1000, "Leave", 0)] for rank, each in enumerate(ranks)}
    return Trace(archive(where, events))


@pytest.fixture
def perfect(tmp_path: Path) -> Trace:
    return run(tmp_path / "perfect", barrier(500, 500), barrier(500, 500))


def model(trace: Trace, **window: int) -> list[float]:
    """Load balance, serialisation, transfer and parallel efficiency."""
    table = trace.efficiencies(**window)
    assert table["communication"][0] == pytest.approx(table["serialisation"][0] * table["transfer"][0])
    assert table["parallel"][0] == pytest.approx(table["load_balance"][0] * table["communication"][0])
    return [float(table[name][0]) for name in ("load_balance", "serialisation", "transfer", "parallel")]


def test_perfect(perfect: Trace) -> None:
    assert model(perfect) == [1, 1, 1, 1]
    assert model(perfect, start=250, stop=750) == [1, 1, 1, 1]


def test_only_imbalanced(tmp_path: Path) -> None:
    trace = run(tmp_path / "a", barrier(1000, 1000), barrier(500, 1000))
    assert model(trace) == [0.75, 1, 1, 0.75]
    assert model(trace, start=500, stop=1000) == [0.5, 1, 1, 0.5]


def test_only_serialised(tmp_path: Path) -> None:
    send = call(500, 500, "MPI_Send", ("MpiSend", 1, 0, 7, 8))
    last = call(500, 1000, "MPI_Recv", ("MpiRecv", 1, 0, 8, 8))
    first = call(0, 500, "MPI_Recv", ("MpiRecv", 0, 0, 7, 8))
    back = call(1000, 1000, "MPI_Send", ("MpiSend", 0, 0, 8, 8))
    assert model(run(tmp_path / "a", send + last, first + back)) == [1, 0.5, 1, 0.5]


def test_only_transferring(tmp_path: Path) -> None:
    ranks = [
        call(500, 1000, "MPI_Sendrecv", ("MpiSend", 1 - rank, 0, 7, 8), ("MpiRecv", 1 - rank, 0, 7, 8))
        for rank in range(2)
    ]
    assert model(run(tmp_path / "a", *ranks)) == [1, 1, 0.5, 0.5]


def test_scaling(perfect: Trace, tmp_path: Path) -> None:
    table = scaling([perfect, run(tmp_path / "b", *[barrier(1000, 1000)] * 4)])
    assert table["computation_scaling"].tolist() == [1, 0.5]
    assert table["global_efficiency"].tolist() == [1, 0.5]
    assert table["basis"].tolist() == ["time", "time"]


def counted(where: Path, instructions: int, cycles: int, names: tuple[str, ...]) -> Trace:
    """Two ranks that work for 500 ns with these increases, then wait in a barrier and count 10^6 there."""

    def read(time: int, *values: int) -> Event:
        members = [_otf2.MetricValue(unsigned_int=value) for value in values[: len(names)]]
        return time, "Metric", 0, [_otf2.TYPE_UINT64] * len(members), members

    wait = barrier(500, 1000)
    inside = [read(500, 7 + instructions, 9 + cycles), *wait[:-1]]
    events = [(0, "Enter", 0), read(0, 7, 9), *inside, read(1000, 10**6, 10**6), wait[-1], (1000, "Leave", 0)]
    return Trace(archive(where, {0: events, 1: events}, counters=names))


@pytest.mark.parametrize("names", [("instructions", "cycles"), ("PAPI_TOT_INS", "PAPI_TOT_CYC")])
def test_scaling_by_counters(tmp_path: Path, names: tuple[str, ...]) -> None:
    runs = counted(tmp_path / "a", 1000, 500, names), counted(tmp_path / "b", 2000, 2000, names)
    table = scaling(runs)
    assert table["useful_instructions"].tolist() == [2000, 4000]
    assert table["useful_cycles"].tolist() == [1000, 4000]
    assert table["instruction_scaling"].tolist() == [1, 0.5]
    assert table["ipc_scaling"].tolist() == [1, 0.5]
    assert table["frequency_scaling"].tolist() == [1, 4]
    assert table["computation_scaling"].tolist() == [1, 1]
    assert table["basis"].tolist() == ["instructions, cycles"] * 2


def test_scaling_where_only_some_runs_have_counters(tmp_path: Path, perfect: Trace) -> None:
    one = counted(tmp_path / "a", 1000, 500, ("instructions",))
    table = scaling([one, one])
    assert table["basis"].tolist() == ["instructions"] * 2
    assert table["instruction_scaling"].tolist() == [1, 1]
    mixed = scaling([one, perfect])
    assert mixed["basis"].tolist() == ["time", "time"]
    assert all(value != value for value in mixed["instruction_scaling"])


def test_one_process_without_mpi_has_none(tmp_path: Path) -> None:
    table = run(tmp_path / "a", []).efficiencies()
    assert table["parallel"][0] != table["parallel"][0]
    assert any("no calls of MPI" in line for line in table.caveats)


def test_openmp_threads(tmp_path: Path) -> None:
    """Two processes of two threads: the second threads work half as long; the second process waits for the first."""
    inside = [(400, "Enter", 20), (700, "Enter", 21), (800, "Leave", 21), (800, "Leave", 20)]
    helps = [(400, "Enter", 20), (600, "Enter", 21), (800, "Leave", 21), (800, "Leave", 20)]
    made = Foreign(tmp_path / "a")
    made.events(0, [(0, "Enter", 0), *inside, *barrier(1000, 1000), (1000, "Leave", 0)])
    made.events(1, [(0, "Enter", 0), *inside, *barrier(900, 1000), (1000, "Leave", 0)])
    made.events(2, helps)
    made.events(3, helps)
    made.begin_definitions()
    made.machine(groups=2, length=1000)
    for location in range(4):
        made.location(location, location % 2)
    made.region(0, "main")
    made.region(region("MPI_Barrier"), "MPI_Barrier", 1, 4)
    made.region(20, "parallel", PARALLEL, OPENMP)
    made.region(21, "barrier", IMPLICIT_BARRIER, OPENMP)
    made.define("Group", 0, "", 4, 4, 0, [0, 1])
    made.define("Group", 1, "", 5, 4, 0, [0, 1])
    made.define("Comm", 0, "MPI_COMM_WORLD", 1, UNDEFINED, 0)
    (row,) = Trace(made.close()).efficiencies().records()
    outside, threads = [1000, 900], [900, 800, 200, 200]
    assert row["threads"] == 2
    assert row["mpi_parallel"] == sum(outside) / 2 / 1000
    assert row["hybrid_parallel"] == sum(threads) / 4 / 1000
    assert row["openmp_parallel"] == pytest.approx(row["hybrid_parallel"] / row["mpi_parallel"])
    assert row["openmp_load_balance"] == pytest.approx(sum(threads) / 4 / 900 / 0.95)
    assert row["openmp_communication"] == pytest.approx(0.9)
