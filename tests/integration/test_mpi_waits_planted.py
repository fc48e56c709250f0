# SPDX-License-Identifier: BSD-3-Clause
"""Waits that a program plants, on each MPI: exact by the recorded times, and as long as the program says."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import prefix_of, unify
from support.oracles.slow_waits import Waits
from support.readers.archive import read
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.trace import Trace

KINDS = {
    "late_sender": "mpi_latesender", "late_sender_waitall": "mpi_latesender", "persistent": "mpi_latesender",
    "sendrecv": "mpi_latesender", "late_receiver": "mpi_latereceiver", "wrong_order": "mpi_latesender_wo",
    "barrier": "mpi_barrier_wait", "allreduce": "mpi_wait_nxn", "broadcast": "mpi_latebroadcast",
    "reduce": "mpi_earlyreduce", "scan": "mpi_earlyscan", "ibarrier": "mpi_barrier_wait",
    "fence": "mpi_rma_wait_at_fence", "late_post": "mpi_rma_late_post", "early_wait": "mpi_rma_early_wait",
    "lock_competition": "mpi_rma_lock_competition",
}  # fmt: skip
"""The kind of wait that each function plants."""
OWN = ("fence", "late_post", "early_wait", "lock_competition", "MPI_Win_create", "MPI_Win_free", "MPI_Finalize")
"""Calls whose waits the oracle does not know."""
PLANTED = 200_000_000
Row = tuple[str, tuple[str, ...], int, int]


def waits_of(trace: Trace) -> dict[Row, int]:
    """(kind, path, location, partner) -> ns."""
    table, found = trace.waits(), defaultdict[Row, int](int)
    for row in table.records():
        path = tuple(path_names(table.paths, trace.regions["name"], row["path"]))
        found[table.kinds[row["kind"]], path, row["location"], row["partner"]] += row["time_ns"]
    return dict(found)


def recorded(mpi: Mpi, where: Path, ranks: int) -> tuple[Trace, dict[str, dict[int, int]]]:
    """The trace, and the ns at which each rank called each planted wait."""
    program = mpi.build("mpi_waits.c")
    told: dict[str, dict[int, int]] = defaultdict(dict)
    for line in mpi.run(program, where, ranks=ranks).stdout.splitlines():
        name, rank, ns = line.split()
        told[name][int(rank)] = int(ns)
    unify(where, prefix_of(program))
    return Trace(where / f"{prefix_of(program)}.trace" / "traces.otf2"), told


@pytest.fixture(scope="module")
def planted(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, dict[str, dict[int, int]]]:
    return recorded(mpi, tmp_path_factory.mktemp("waits"), 2)


def differing(trace: Trace, told: dict[str, dict[int, int]]) -> list[str]:
    """The functions whose waits differ by more than 5 % from those that the program prints."""
    found, wrong = waits_of(trace), []
    for name, kind in KINDS.items():
        waiting = int(name in ("broadcast", "scan", "lock_competition"))
        assert set(told[name]) == {0, 1}, name
        expected = told[name][1 - waiting] - told[name][waiting]
        mine: dict[tuple[int, int], int] = defaultdict(int)
        for row, ns in found.items():
            if name in row[1] and row[0] == kind:
                mine[row[2], row[3]] += ns
        assert (waiting, 1 - waiting) in mine, f"{name}: no {kind}"
        if mine[waiting, 1 - waiting] != pytest.approx(expected, rel=0.05):
            wrong.append(name)
    return wrong


def test_planted_waits(mpi: Mpi, planted: tuple[Trace, dict[str, dict[int, int]]], tmp_path: Path) -> None:
    wrong = set(differing(*planted))
    for number in range(2):  # a rank that lost its processor between the two clocks is right the next time
        if wrong:
            (tmp_path / str(number)).mkdir()
            wrong &= set(differing(*recorded(mpi, tmp_path / str(number), 2)))
    assert not wrong


def test_exact_by_the_recorded_times(planted: tuple[Trace, dict[str, dict[int, int]]]) -> None:
    trace, _ = planted
    found = {row: ns for row, ns in waits_of(trace).items() if not any(name in row[1] for name in OWN)}
    expected = {row: ns for row, (ns, _) in Waits(read(trace.path.parent)).waits().items()}
    assert found == {row: ns for row, ns in expected.items() if not any(name in row[1] for name in OWN)}


def test_a_delay_over_three_ranks(mpi: Mpi, tmp_path: Path) -> None:
    trace, _ = recorded(mpi, tmp_path, 3)
    table, names = trace.delays(), trace.regions["name"]
    of_chain = [row for row in table.records() if "chain" in path_names(table.paths, names, row["waiting_path"])]
    late = [
        row for row in of_chain if row["location"] == 0 and path_names(table.paths, names, row["path"])[-1] == "late"
    ]
    assert [table.kinds[row["kind"]] for row in late] == ["mpi_latesender"]
    for name in ("direct_ns", "indirect_ns"):  # of rank 1, and of rank 2 through rank 1
        assert 0.9 * PLANTED <= late[0][name] <= sum(row[name] for row in of_chain) * 1.001
    path = trace.critical_path()
    rows = zip(path["path"].tolist(), path["location"].tolist(), path["time_ns"].tolist(), strict=True)
    on_path = {place: ns for number, place, ns in rows if path_names(path.paths, names, number)[-1] == "late"}
    assert on_path[0] >= PLANTED
