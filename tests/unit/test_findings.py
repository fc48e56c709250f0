# SPDX-License-Identifier: BSD-3-Clause
"""Findings of small archives, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.random_mpi import archive, program, region
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.mpi_findings import mpi_findings
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.reports.diagnose_sheets import findings_about

Event = tuple[Any, ...]
PARALLEL, BARRIER = _otf2.REGION_ROLE_PARALLEL.value, _otf2.REGION_ROLE_BARRIER.value
OPENMP, PTHREAD = _otf2.PARADIGM_OPENMP.value, _otf2.PARADIGM_PTHREAD.value


def threads(where: Path, events: dict[int, list[Event]], name: str, role: int, paradigm: int) -> Trace:
    """An archive of the threads of one process. Region 0 is main, region 1 the one with the name."""
    made = Foreign(where)
    for thread, each in events.items():
        made.events(thread, each)
    made.begin_definitions()
    made.machine(length=max(each[-1][0] for each in events.values()))
    for thread in events:
        made.location(thread)
    made.region(0, "main")
    made.region(1, name, role, paradigm)
    return Trace(made.close())


def told(trace: Trace, kind: str) -> Finding:
    """The only finding of a kind."""
    (found,) = (one for one in trace.diagnosis(Selection()).findings if one.kind == kind)
    return found


def test_threads_are_idle_before_their_first_event(tmp_path: Path) -> None:
    """Three threads begin after 900 of 1000 ns: each is idle for 900 ns, of 4000 ns of all threads."""
    work = [(900, "Enter", 1), (1000, "Leave", 1)]
    events = {0: [(0, "Enter", 0), *work, (1000, "Leave", 0)], 1: work, 2: work, 3: work}
    serial = told(threads(tmp_path, events, "!$omp parallel", PARALLEL, OPENMP), "omp_serial")
    assert serial.loss_ns == 3 * 900
    assert serial.share == pytest.approx(2700 / 4000)


def test_barriers_of_threads(tmp_path: Path) -> None:
    """Threads 0 and 2 wait 300 and 200 ns for thread 1 in a barrier of pthreads."""

    def meets(begin: int) -> list[Event]:
        return [(0, "Enter", 0), (begin, "Enter", 1), (400, "Leave", 1), (500, "Leave", 0)]

    events = {0: meets(100), 1: meets(400), 2: meets(200)}
    trace = threads(tmp_path, events, "pthread_barrier_wait", BARRIER, PTHREAD)
    found = told(trace, "thread_imbalance")
    assert (found.loss_ns, found.culprit) == (300 + 200, "thread 1")
    assert found.evidence == ("diagnose", "--about", "waits")
    assert {trace.thread_waits().kinds[row["kind"]] for row in trace.thread_waits().records()} == {
        "pthread_barrier_wait"
    }


def test_the_same_thread_of_each_rank(tmp_path: Path) -> None:
    """In each of two ranks thread 0 waits 300 ns for thread 1: no thread is waited for most of the time, but thread 1
    of each rank is. In a third rank two threads wait for one another."""
    made = Foreign(tmp_path)
    begins = {0: (100, 400), 1: (100, 400), 2: (100, 110)}
    for rank, each in begins.items():
        for thread, begin in enumerate(each):
            events = [(0, "Enter", 0), (begin, "Enter", 1), (400, "Leave", 1), (500, "Leave", 0)]
            made.events(2 * rank + thread, events)
    made.begin_definitions()
    made.machine(groups=3, length=500)
    for rank in begins:
        for thread in range(2):
            made.define("Location", 2 * rank + thread, f"Thread {thread}", 1, 0, rank)
    made.region(0, "main")
    made.region(1, "!$omp barrier", BARRIER, OPENMP)
    found = told(Trace(made.close()), "omp_imbalance")
    assert (found.loss_ns, found.culprit) == (610, "Thread 1 of process 0, process 1")
    assert found.text.endswith("most of it for Thread 1 of process 0, process 1, which have more work")


def call(begin: int, end: int, name: str, *inside: Event) -> list[Event]:
    return [(begin, "Enter", region(name)), *inside, (end, "Leave", region(name))]


def test_a_wait_in_a_chain_counts_once(tmp_path: Path) -> None:
    """Rank 0 works for 300 ns and sends to rank 1, which sends to rank 2 at once. Rank 1 waits 290 in MPI_Recv, rank 2
    waits 300 in MPI_Waitall, and work() on rank 0 is the cause of both."""
    sends, takes = ("MpiSend", 1, 0, 7, 8), ("MpiRecv", 0, 0, 7, 8)
    passes, ends = ("MpiSend", 2, 0, 7, 8), ("MpiIrecv", 1, 0, 7, 8, 1)
    each = (
        call(0, 300, "work") + call(300, 300, "MPI_Send", (300, *sends)),
        call(10, 300, "MPI_Recv", (300, *takes)) + call(310, 310, "MPI_Send", (310, *passes)),
        call(10, 10, "MPI_Irecv", (10, "MpiIrecvRequest", 1)) + call(10, 310, "MPI_Waitall", (310, *ends)),
    )
    events = {rank: [(0, "Enter", 0), *calls, (320, "Leave", 0)] for rank, calls in enumerate(each)}
    found = Trace(archive(tmp_path / "a", events)).diagnosis(Selection())
    waiting = [one for one in found.findings if one.kind in ("imbalance", "serialisation", "mpi_wait")]
    assert sum(one.loss_ns for one in waiting) == 290 + 300
    assert (waiting[0].culprit, waiting[0].ranks) == ("rank 0, work in main", (1, 2))
    assert waiting[0].text.endswith("580 ns of waiting, 50 % of it in MPI_Recv in main"), waiting[0].text


def meetings(works: list[list[int]]) -> dict[int, list[Event]]:
    """The events of ranks that work for so long before each operation of all, and leave it when the last one enters."""
    ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
    made: dict[int, list[Event]] = {rank: [(0, "Enter", 0)] for rank in range(len(works[0]))}
    now = 0
    for each in works:
        last = now + max(each)
        for rank, work in enumerate(each):
            made[rank] += call(now, now + work, "work")
            made[rank] += call(now + work, last, "MPI_Coll", *((last, *event) for event in ends))
        now = last
    return {rank: [*events, (now, "Leave", 0)] for rank, events in made.items()}


def test_one_selected_rank_is_compared_with_none(tmp_path: Path) -> None:
    """Ranks 0 and 2 wait 300 ns for rank 1: that is an imbalance of all ranks, and a wait of rank 0 alone."""
    trace = Trace(archive(tmp_path / "a", meetings([[100, 400, 100]])))
    found = told(trace, "imbalance")
    assert (found.loss_ns, found.culprit) == (600, "rank 1, work in main")
    note = "one rank is selected: ranks are not compared, so waits have no causes here"
    assert note not in trace.diagnosis(Selection()).notes
    alone = {rank: trace.diagnosis(Selection(locations=(rank,))) for rank in (0, 1)}
    assert note in alone[0].notes
    assert [(one.kind, one.loss_ns, one.culprit) for one in alone[0].findings if one.kind != "computation"] == [
        ("mpi_wait", 300, "rank 1")
    ]
    assert not [one for one in alone[1].findings if one.kind != "computation"]


@pytest.mark.parametrize(
    ("works", "kind", "text"),
    [
        ([[300, 0], [300, 0]], "io_by_few_ranks", "rank 0 does the I/O alone, work in main, while the others wait: "),
        ([[300, 0], [0, 300]], "serialisation", "ranks wait for each other's I/O, work in main: "),
    ],
)
def test_ranks_that_wait_for_io(works: list[list[int]], kind: str, text: str, tmp_path: Path) -> None:
    trace = Trace(archive(tmp_path / "a", meetings(works), work_role=_otf2.REGION_ROLE_FILE_IO.value))
    found = told(trace, kind)
    assert found.loss_ns == 600
    assert found.text.startswith(f"{text}600 ns of waiting"), found.text
    assert found in findings_about([found], "io")


def turns(works: list[int], bursts: list[int]) -> list[Event]:
    """A turn has bursts of so many operations, 10 ns from one to the next, and works after each burst."""
    now, made = 0, [(0, "Enter", 0)]
    for work in works:
        for size in bursts:
            for _ in range(size):
                ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
                made += call(now, now + 5, "MPI_Coll", *((now, *event) for event in ends))
                now += 10
            now += work
    return [*made, (now, "Leave", 0)]


@pytest.mark.parametrize("slow", [None, 12])
@pytest.mark.parametrize("bursts", [[3], [2, 3]], ids=str)
def test_bursts_of_calls_are_one_iteration(bursts: list[int], slow: int | None, tmp_path: Path) -> None:
    works = [50 + turn % 3 if turn != slow else 500 for turn in range(21)]
    found = Trace(archive(tmp_path / "a", dict.fromkeys(range(2), turns(works, bursts)))).diagnosis(Selection())
    assert found.iterations
    size, whole = sum(bursts), [10 * sum(bursts) + len(bursts) * work for work in works[:-1]]
    assert (found.iterations.basis, found.iterations.region) == (f"every {size} calls", "MPI_Coll")
    assert found.iterations.table["time_ns"].tolist() == whole
    assert found.iterations.slow == ([(12, 12)] if slow else [])
    assert len([one for one in found.findings if one.kind == "slow_iterations"]) == bool(slow)


@pytest.mark.parametrize(("ranks", "line"), [("1", "rank 1 is missing"), ("1,3-4", "ranks 1,3-4 are missing")])
def test_missing_ranks(ranks: str, line: str, tmp_path: Path) -> None:
    trace = Trace(archive(tmp_path / "a", program(0, 2, steps=5)))
    trace.vtrace["ABOUT"] = {"missing_ranks": ranks}
    assert [note for note in trace.diagnosis(Selection()).notes if note.startswith(f"{line} in the archive: waits")]


@pytest.mark.parametrize("seed", range(4))
def test_findings_tell_each_wait_once(seed: int, tmp_path: Path) -> None:
    """All waits, and no wait twice, whatever waits for whom."""
    trace = Trace(archive(tmp_path / "a", program(seed, 4, causal=True)))
    found = trace.diagnosis(Selection())
    assert found.mpi
    waits = found.mpi.waits
    whole = sum(row["time_ns"] for row in waits.records() if not waits.kinds[row["kind"]].endswith("_completion"))
    made = [*mpi_findings(found.facts, found.mpi)]
    assert sum(one.loss_ns for one in made if one.kind != "transfer") == pytest.approx(whole, abs=len(made))
