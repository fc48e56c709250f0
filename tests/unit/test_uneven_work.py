# SPDX-License-Identifier: BSD-3-Clause
"""Uneven work of processes whose waits are unknown, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import numpy as np
import pytest

from support.synthetic_runs import random_mpi
from support.synthetic_runs.archives import Foreign
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.ledger import Ledger
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

Event = tuple[Any, ...]
MAIN, WORK, WAIT, OTHER = range(4)


def call(region: int, begin: int, end: int) -> list[Event]:
    return [(begin, "Enter", region), (end, "Leave", region)]


def forked(where: Path, *processes: list[Event]) -> Diagnosis:
    """The diagnosis of processes that are no ranks."""
    made = Foreign(where)
    for number, events in enumerate(processes):
        made.events(number, events)
    made.begin_definitions()
    made.machine(groups=len(processes), length=max(each[-1][0] for each in processes))
    for number in range(len(processes)):
        made.location(number, number)
    for number, name in enumerate(("main", "work", "wait", "other")):
        made.region(number, name, paradigm=_otf2.PARADIGM_NONE.value if number == WAIT else 2)
    return Trace(made.close()).diagnosis(Selection())


def uneven(found: Diagnosis) -> list[Finding]:
    return [one for one in found.findings if one.kind == "imbalance"]


def parent(*calls: list[Event]) -> list[Event]:
    """main() with these calls."""
    inside = [event for each in calls for event in each]
    return [(inside[0][0], "Enter", MAIN), *inside, (inside[-1][0], "Leave", MAIN)]


@pytest.mark.parametrize(
    "processes",
    [
        pytest.param([parent(call(WAIT, 0, 200)), *[call(WORK, 0, 200)] * 3], id="the parent waits"),
        pytest.param([parent(call(OTHER, 0, 180)), *(call(WORK, t, t + 10) for t in range(0, 120, 10))], id="a server"),
        pytest.param([parent(call(WAIT, 0, 60)), call(WORK, 0, 20), call(WORK, 20, 60)], id="one after the other"),
        pytest.param([parent(call(WORK, 0, 100), call(WAIT, 100, 101)), call(WORK, 0, 100)], id="two call paths"),
    ],
)
def test_processes_without_losses(processes: list[list[Event]], tmp_path: Path) -> None:
    found = forked(tmp_path, *processes)
    assert uneven(found) == []
    assert [one.kind for one in found.findings] == ["computation"]


def test_a_process_with_more_work(tmp_path: Path) -> None:
    """Processes 0 and 1 work 100 and 150 ns and wait for process 2, which works 300 ns. Process 1 waits for 120 ns
    only, and then does other work. Process 3 ends after 50 ns, and waits for nobody."""
    first = parent(call(WORK, 0, 100), call(WAIT, 100, 300))
    second = call(WORK, 0, 150) + call(WAIT, 150, 270) + call(OTHER, 270, 300)
    (found,) = uneven(forked(tmp_path, first, second, call(WORK, 0, 300), call(WORK, 0, 50)))
    assert found.loss_ns == 200 + 120
    assert found.share == pytest.approx(320 / 950)
    assert found.text.startswith("process 2 takes longer in work than the others: 300 ns, the mean of all is 150 ns")
    assert found.ranks == (0, 1)


def test_names_of_processes(tmp_path: Path) -> None:
    slow = [call(WORK, 0, 300)] * 4
    (found,) = uneven(forked(tmp_path, parent(call(WORK, 0, 100), call(WAIT, 100, 300)), *slow[:2]))
    assert found.text.startswith("process 1, process 2 take longer in work")
    (tmp_path / "4").mkdir()
    (found,) = uneven(forked(tmp_path / "4", parent(call(WORK, 0, 100), call(WAIT, 100, 300)), *slow))
    assert found.text.startswith("4 processes (process 1, process 2, process 3 ...) take longer in work")


def test_ranks(tmp_path: Path) -> None:
    """Ranks 0 and 1 are in work() for 1000 and 200 of 1000 ns."""
    work = random_mpi.region("work")
    events = {
        0: [(0, "Enter", 0), *call(work, 0, 1000), (1000, "Leave", 0)],
        1: [(0, "Enter", 0), *call(work, 0, 200), (1000, "Leave", 0)],
    }
    trace = Trace(random_mpi.archive(tmp_path / "a", events))
    found = {one.region: one.loss_ns for one in uneven(trace.diagnosis(Selection()))}
    assert found == {"work": 800, "main": 800}
    gap = {"location": [1], "from": [300], "to": [800], "ns": [500], "count": [0]}
    columns: dict[str, Any] = {name: np.array(values, np.uint64) for name, values in gap.items()}
    columns |= {"class": np.array(["all"], object), "reason": np.array(["switched off"], object)}
    other = Trace(trace.anchor)
    other.__dict__["ledger"] = Ledger(intervals=Table(columns), has_intervals=True, notes=[])
    told = other.diagnosis(Selection())
    assert uneven(told) == []
    line = "events of all ranks were recorded in 500 ns of the run, of one rank in 1 us"
    assert f"{line}: the work of ranks is not compared" in told.notes


def test_ranks_that_begin_late(tmp_path: Path) -> None:
    """Rank 1 has the events of the last 40 of 1000 ns, as in a ring."""
    events = {rank: [(begin, "Enter", 0), (1000, "Leave", 0)] for rank, begin in enumerate((0, 960))}
    told = Trace(random_mpi.archive(tmp_path / "a", events)).diagnosis(Selection())
    assert uneven(told) == []
    assert any(note.startswith("events of all ranks were recorded in 40 ns of the run") for note in told.notes)
