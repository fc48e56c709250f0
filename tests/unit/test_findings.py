# SPDX-License-Identifier: BSD-3-Clause
"""Findings of small archives, with losses in closed form."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.diagnosed import Event, asleep, threads, told, without_processor
from support.synthetic_runs.random_mpi import archive, program, region
from vtrace.analysis.findings import iteration_findings
from vtrace.analysis.findings.finding import BOUND, Finding, largest_first
from vtrace.analysis.findings.mpi_findings import mpi_waits
from vtrace.analysis.findings.one_cause import explains, joined
from vtrace.analysis.findings.run_facts import RunFacts, place_text
from vtrace.analysis.findings.run_notes import crowded_hosts
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.io.archive.properties import CORES
from vtrace.reasons import FLUSH, OFF
from vtrace.reports.diagnose_sheets import findings_about, page

PARALLEL, BARRIER = _otf2.REGION_ROLE_PARALLEL.value, _otf2.REGION_ROLE_BARRIER.value
OPENMP, PTHREAD = _otf2.PARADIGM_OPENMP.value, _otf2.PARADIGM_PTHREAD.value


def test_a_function_of_a_header_has_the_line_of_its_caller(tmp_path: Path) -> None:
    """std::function calls a lambda: a person knows the place of the call in the program."""
    made, invoke = Foreign(tmp_path / "a"), "std::_Function_handler<...>::_M_invoke"
    made.events(0, [(0, "Enter", 0), (10, "Enter", 1), (90, "Leave", 1), (100, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=100)
    made.location(0)
    files = ("/a/a.cpp", 7), ("/usr/include/c++/12/bits/std_function.h", 288)
    for number, (name, (file, line)) in enumerate(zip(("main", invoke), files, strict=True)):
        made.define("Region", number, name, name, "", 1, 1, 0, file, line, line)
    facts = Trace(made.close()).diagnosis(Selection()).facts
    (path,) = np.flatnonzero(facts.paths["region"] == 1).tolist()
    assert place_text(facts.trace, facts.paths, path) == f"{invoke} in main (a.cpp:7)"
    assert facts.source(path) == "/a/a.cpp:7"


def test_a_function_of_an_installed_module_has_its_caller(tmp_path: Path) -> None:
    """A person knows the function of the program that calls numpy, also through another function of numpy."""
    made, installed = Foreign(tmp_path / "a"), "/usr/lib/python3.11/site-packages/numpy/core.py"
    begins = [(10 * level, "Enter", level) for level in range(4)]
    made.events(0, [*begins, *((100 + 10 * level, "Leave", 3 - level) for level in range(4))])
    made.begin_definitions()
    made.machine(length=200)
    made.location(0)
    for number, name in enumerate(("main", "rebuild", "numpy.sort", "numpy.part")):
        file = "/a/x.py" if number < 2 else installed
        made.define("Region", number, name, name, "", 1, 1, 0, file, 5 + number, 5 + number)
    facts = Trace(made.close()).diagnosis(Selection()).facts
    texts = {place_text(facts.trace, facts.paths, path) for path in range(1, facts.paths.rows)}
    assert texts == {
        "main (x.py:5)", "rebuild (x.py:6)", "numpy.sort (core.py:7, called by rebuild)",
        "numpy.part (core.py:8, called by rebuild)",
    }  # fmt: skip


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


@pytest.mark.parametrize(("work", "last", "is_told"), [(0, 300, False), (100, 300, True), (0, 200, True)])
def test_a_rank_that_serves_the_others(tmp_path: Path, work: int, last: int, is_told: bool) -> None:
    """Rank 0 receives the results of three ranks, which work for 300 ns, or rank 3 for less. Its waits are no loss
    if it has no work of its own, and the others have equal work."""
    takes = [(300 + rank, "MpiRecv", rank, 0, 7, 8) for rank in (1, 2, 3)]
    receives = [event for one in takes for event in call(max(work, one[0] - 1), one[0], "MPI_Recv", one)]
    receives[0] = (work, "Enter", region("MPI_Recv"))
    each = {0: call(0, work, "work") + receives}
    for rank, end in ((1, 300), (2, 300), (3, last)):
        each[rank] = call(0, end, "work") + call(end, end, "MPI_Send", (end, "MpiSend", 0, 0, 7, 8))
    diagnosis = Trace(archive(tmp_path / "a", each, 310)).diagnosis(Selection())
    assert (
        bool([one for one in diagnosis.findings if one.kind in ("imbalance", "serialisation", "mpi_wait")]) == is_told
    )
    line = "rank 0 hardly works, and the others work equally long: its waits for messages are no loss"
    assert (line in diagnosis.notes) != is_told


@pytest.mark.parametrize("waited", [0, 100])
def test_a_rank_that_serves_others_which_have_no_processor(tmp_path: Path, waited: int) -> None:
    """Rank 0 receives the results of three ranks, of which the last one works 100 ns longer, or has no processor; so
    has rank 0 at work, for all of 50 ns."""
    takes = ((50, 301, 1), (301, 302, 2), (302, 403, 3))
    each = {0: call(0, 50, "work")}
    for begin, end, rank in takes:
        each[0] += call(begin, end, "MPI_Recv", (end, "MpiRecv", rank, 0, 7, 8))
    for rank, end in ((1, 300), (2, 300), (3, 400)):
        each[rank] = call(0, end, "work") + call(end, end, "MPI_Send", (end, "MpiSend", 0, 0, 7, 8))
    anchor = archive(tmp_path / "a", each, 410)
    if waited:
        without_processor(anchor, (0, 0, 50, 50, "work"), (3, 0, 400, waited, "work"))
    found = {one.kind for one in Trace(anchor).diagnosis(Selection()).findings}
    assert found & {"imbalance", "serialisation", "mpi_wait"} == (set() if waited else {"imbalance"})


def test_messages_in_another_order_are_told_of_their_sender(tmp_path: Path) -> None:
    """Rank 1 waits 250 ns for rank 0's second message, while the first one is there, which rank 1 then receives. Rank 0
    waits 500 ns for the only message of rank 1."""

    def message(kind: str, begin: int, end: int, tag: int) -> list[Event]:
        to = int((kind == "Send") == (tag < 3))
        at = begin if kind == "Send" else end
        return call(begin, end, f"MPI_{kind}", (at, f"Mpi{kind}", to, 0, tag, 8))

    first = [*call(0, 50, "work"), *message("Send", 50, 50, 1), *call(50, 300, "work"), *message("Send", 300, 300, 2)]
    second = [*call(0, 50, "work"), *message("Recv", 50, 300, 2), *message("Recv", 300, 300, 1)]
    second += [*call(300, 800, "other"), *message("Send", 800, 800, 3)]
    each = ([*first, *message("Recv", 300, 800, 3)], second)
    events = {rank: [(0, "Enter", 0), *calls, (810, "Leave", 0)] for rank, calls in enumerate(each)}
    found = Trace(archive(tmp_path / "a", events)).diagnosis(Selection()).findings
    texts = {one.loss_ns: one.text for one in found if one.kind == "imbalance"}
    assert {loss: "receive in the order of sending" in text for loss, text in texts.items()} == {250: True, 500: False}


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


@pytest.mark.parametrize(
    ("less", "kind", "text"),
    [
        (100, "imbalance", "the rank that takes longer in work in main changes: 1.8 us of waiting in MPI_Coll in main"),
        (0, "serialisation", "ranks take turns instead of working at once: work in main delays the next rank, 1.8 us"),
    ],
)
def test_each_time_another_rank_takes_longer(less: int, kind: str, text: str, tmp_path: Path) -> None:
    """Rank after rank works 300 ns longer than the others, which work as well, or do not."""
    works = [[less + 300 * (rank == turn) for rank in range(3)] for turn in range(3)]
    found = told(Trace(archive(tmp_path / "a", meetings(works))), kind)
    assert found.text.startswith(text), found.text


def exchanges(works: list[list[int]]) -> dict[int, list[Event]]:
    """The events of two ranks that work for so long before each MPI_Sendrecv with the other one."""
    made: dict[int, list[Event]] = {rank: [(0, "Enter", 0)] for rank in range(2)}
    now = 0
    for each in works:
        last = now + max(each)
        for rank, work in enumerate(each):
            sends, gets = ((at, f"Mpi{kind}", 1 - rank, 0, 1, 8) for at, kind in ((now + work, "Send"), (last, "Recv")))
            made[rank] += [*call(now, now + work, "work"), *call(now + work, last, "MPI_Sendrecv", sends, gets)]
        now = last
    return {rank: [*events, (now, "Leave", 0)] for rank, events in made.items()}


def test_another_rank_takes_longer_before_an_exchange(tmp_path: Path) -> None:
    """Both ranks send before they wait: they do not take turns."""
    found = told(Trace(archive(tmp_path / "a", exchanges([[400, 100], [100, 400]] * 5))), "imbalance")
    assert found.text.startswith("the rank that takes longer in work in main changes: 3 us of waiting"), found.text


@pytest.mark.parametrize("waited", [0, 160, 230])
def test_waits_for_a_processor_change_ranks(waited: int, tmp_path: Path) -> None:
    """Each of two ranks works 300 ns longer once, for some of which it has no processor; no finding tells what is left
    of mere chance."""
    anchor = archive(tmp_path / "a", meetings([[400, 100], [100, 400]]))
    if waited:
        without_processor(anchor, (0, 0, 400, waited, "main", "work"), (1, 400, 800, waited, "main", "work"))
    if waited < 225:
        found = told(Trace(anchor), "imbalance")
        assert found.loss_ns == 600 - 2 * waited
        assert found.text.startswith("the rank that takes longer in work in main changes: ")
    else:
        assert {one.kind for one in Trace(anchor).diagnosis(Selection()).findings} == {"noise"}


def outside(works: list[list[int]]) -> dict[int, list[Event]]:
    """Like meetings, of a program whose own functions are not recorded."""
    made = {rank: [event for event in events if event[2:] not in ((0,), (region("work"),)) or event[1] not in CALLS]
            for rank, events in meetings(works).items()}  # fmt: skip
    return {rank: [*call(0, 0, "MPI_Waitall"), *events] for rank, events in made.items()}


CALLS = ("Enter", "Leave")
OUTSIDE = "the program outside of recorded calls"


def test_time_outside_of_recorded_calls_is_compared(tmp_path: Path) -> None:
    """Rank 1 works three times as long as the others, in no recorded function."""
    trace = Trace(archive(tmp_path / "a", outside([[100, 400, 100]] * 3)))
    found = told(trace, "imbalance")
    assert (found.loss_ns, found.culprit, found.callpath) == (3 * 600, f"rank 1, {OUTSIDE}", ())
    assert found.evidence == ("profile", "--by", "rank")
    assert "serialisation" not in {one.kind for one in trace.diagnosis(Selection()).findings}


def test_one_slow_rank_is_one_finding(tmp_path: Path) -> None:
    """Rank 1 works longer in two call paths before two operations: 300 ns in the first, 200 ns in the second."""
    ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
    events = {}
    for rank, (first, second) in enumerate(((100, 100), (400, 300), (100, 100))):
        calls = call(0, first, "work") + call(first, 400, "MPI_Coll", *((400, *event) for event in ends))
        calls += call(400, 400 + second, "other", *call(400, 400 + second, "work"))
        calls += call(400 + second, 700, "MPI_Coll", *((700, *event) for event in ends))
        events[rank] = [(0, "Enter", 0), *calls, (700, "Leave", 0)]
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.loss_ns, found.culprit, found.ranks) == (2 * (300 + 200), "rank 1, work in main", (0, 2))
    assert found.text.startswith(
        "rank 1 takes longer in work in main and work in other than the others: 1 us of waiting"
    )


def test_a_rank_that_is_late_now_and_then_is_no_culprit(tmp_path: Path) -> None:
    """Rank 1 works 500 ns longer in each of three steps, rank 0 works 400 ns longer in one."""
    trace = Trace(archive(tmp_path / "a", meetings([[100, 600], [500, 100], [100, 600], [100, 600]])))
    assert told(trace, "imbalance").culprit == "rank 1, work in main"
    assert "serialisation" not in {one.kind for one in trace.diagnosis(Selection()).findings}


def test_waits_among_neighbours(tmp_path: Path) -> None:
    """Rank 1 works 300 ns longer before an operation among neighbours, in which the others wait for it."""
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        later = call(time + 100, 510, "MPI_Neighbor_alltoall")
        events[rank] = [(0, "Enter", 0), *coll(0, 100), *call(100, time + 100, "work"), *later, (600, "Leave", 0)]
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.loss_ns, found.culprit, found.ranks) == (2 * 300, "rank 1, work in main", (0, 2))
    assert found.text == (
        "rank 1 takes longer in work in main than the others: up to 600 ns of waiting in MPI_Neighbor_alltoall in main"
    )


@pytest.mark.parametrize("call_name", ["MPI_Mprobe", "MPI_Win_unlock_all", "MPI_Waitall"])
def test_waits_of_no_kind(tmp_path: Path, call_name: str) -> None:
    """Rank 0 waits 300 ns of 600 ns in a call whose end no other event explains, while rank 1 works."""
    events = {}
    for rank, time in enumerate((100, 400)):
        later = call(time + 100, 510, call_name)
        events[rank] = [(0, "Enter", 0), *coll(0, 100), *call(100, time + 100, "work"), *later, (600, "Leave", 0)]
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.loss_ns, found.culprit, found.ranks) == (300, "rank 1, work in main", (0,))
    assert found.text == (
        f"rank 1 takes longer in work in main than the others: up to 300 ns of waiting in {call_name} in main"
    )


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (400, "the cause of the load balance of 83 % is unknown"),
        (200, "no loss above 2 % of the time of all threads was found"),
    ],
)
def test_uneven_load_of_unknown_cause(tmp_path: Path, time: int, words: str) -> None:
    """Rank 0 ends while rank 1 still works: no call of MPI has the time that it loses."""
    events = {}
    for rank, work in enumerate((100, time)):
        calls = [*call(0, 500, "other"), *call(500, work + 500, "work"), *call(work + 500, time + 501, "MPI_Isend")]
        events[rank] = [(0, "Enter", 0), *coll(0, 0), *calls, (time + 501, "Leave", 0)]
    diagnosis = Trace(archive(tmp_path / "a", events)).diagnosis(Selection())
    assert f"Findings; {words}" in [*page(diagnosis, diagnosis.findings, details=False)]


def test_time_in_waiting_calls_that_is_no_wait(tmp_path: Path) -> None:
    """All ranks spend the same time in a transfer, though rank 1 works longer; the others wait for rank 1 in an
    operation of all, whose waits are known."""
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        calls = [*call(0, 300, "MPI_Waitall"), *call(300, time + 300, "work"), *coll(time + 300, 700)]
        events[rank] = [(0, "Enter", 0), *calls, (700, "Leave", 0)]
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.loss_ns, found.certainty) == (600, "exact")


def test_steps_by_recursion_are_one_finding(tmp_path: Path) -> None:
    """In each of 40 steps rank 1 works 30 ns, the others 10 ns. A step calls the function of the next one."""
    ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
    events = {}
    for rank in range(3):
        inside: list[Event] = []
        for step in reversed(range(40)):
            begin, end = 30 * step, 30 * step + 30
            meet = call(begin + (30 if rank == 1 else 10), end, "MPI_Coll", *((end, *event) for event in ends))
            inside = call(begin, 1200, "work", *meet, *inside)
        events[rank] = call(0, 1200, "main", *inside)
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.loss_ns, found.culprit, found.callpath) == (2 * 40 * 20, "rank 1, work in main", ("main", "work"))
    assert found.text == "rank 1 takes longer in work in main than the others: 1.6 us of waiting in MPI_Coll in work"


@pytest.mark.parametrize(("waited", "rest"), [(0, 600), (120, 360), (240, 120), (295, None)])
def test_waits_for_a_processor_are_no_imbalance(waited: int, rest: int | None, tmp_path: Path) -> None:
    """Rank 1 works for 400 ns instead of 100, but had no processor for a part of the time; two ranks wait for it.
    Five more ns in the rest are no imbalance."""
    ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        calls = call(0, time, "work") + call(time, 400, "MPI_Coll", *((400, *event) for event in ends))
        events[rank] = [(0, "Enter", 0), *calls, (400, "Leave", 0)]
    anchor = archive(tmp_path / "a", events)
    without_processor(anchor, (1, 100, 400, waited, "main", "work"))
    assert losses(anchor).get("imbalance") == rest
    assert losses(anchor).get("noise", 0) == (waited if rest else 600)


@pytest.mark.parametrize(("begin", "end", "counts"), [(100, 300, 100), (300, 500, 50), (500, 700, None)])
def test_waits_for_a_processor_after_the_last_event(begin: int, end: int, counts: int | None, tmp_path: Path) -> None:
    """Rank 0 ends after 400 ns."""
    anchor = archive(tmp_path / "a", {0: [(0, "Enter", 0), (400, "Leave", 0)], 1: [(0, "Enter", 0), (900, "Leave", 0)]})
    without_processor(anchor, (0, begin, end, 100, "main"))
    assert losses(anchor).get("noise") == counts


@pytest.mark.parametrize(("waited", "rest"), [(30, 540), (300, None)])
def test_processes_that_wait_at_a_file_do_not_work(waited: int, rest: int | None, tmp_path: Path) -> None:
    """Two ranks wait 300 ns in MPI_File_close for rank 1, which works that much longer, and which had no processor for
    a part of the time."""
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        calls = call(0, time, "work") + call(time, 400, "MPI_File_close")
        events[rank] = [(0, "Enter", 0), *calls, (400, "Leave", 0)]
    anchor = archive(tmp_path / "a", events)
    without_processor(anchor, (1, 100, 400, waited, "main", "work"))
    assert losses(anchor).get("imbalance") == rest


def coll(begin: int, end: int, name: str = "MPI_Coll") -> list[Event]:
    """A call of an operation of all ranks."""
    return call(begin, end, name, (begin, "MpiCollectiveBegin"), (end, "MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1))


@pytest.mark.parametrize(
    ("wait", "rest"),
    [
        ((1, 700, 1100, 240, "main", "other", "work"), 600),  # the same function on another call path
        ((1, 700, 1100, 240, "main"), 600),
        ((1, 100, 400, 295, "main", "work"), None),
    ],
    ids=["on another path", "in the caller", "in the path"],
)
def test_a_wait_explains_its_own_call_path_only(wait: tuple[Any, ...], rest: int | None, tmp_path: Path) -> None:
    """Rank 1 works for 400 ns instead of 100 before an operation. All ranks work 600 ns after it, in work in other and
    in main, where rank 1 had no processor for 240 ns: that is no cause of the waits for rank 1."""
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        later = call(450, 1100, "other", *call(700, 1100, "work"))
        events[rank] = [(0, "Enter", 0), *call(0, time, "work"), *coll(time, 400), *later, (1200, "Leave", 0)]
    anchor = archive(tmp_path / "a", events)
    without_processor(anchor, wait)
    assert losses(anchor).get("imbalance") == rest


def losses(anchor: Path) -> dict[str, int]:
    """The loss of each kind."""
    return {one.kind: one.loss_ns for one in Trace(anchor).diagnosis(Selection()).findings}


def test_a_wait_explains_one_finding(tmp_path: Path) -> None:
    """Rank 1 comes late to an operation, by its wait for a processor in work, and then receives late, since it works
    longer in work in other: the wait explains the first part of the loss only."""
    events: dict[int, list[Event]] = {}
    for rank, time in enumerate((100, 400, 100)):
        events[rank] = [(0, "Enter", 0), *call(0, time, "work"), *coll(time, 400)]
    events[0] += call(450, 760, "MPI_Send", (450, "MpiSend", 1, 0, 0, 8))
    events[1] += call(400, 750, "other", *call(400, 750, "work"))
    events[1] += call(750, 760, "MPI_Recv", (760, "MpiRecv", 0, 0, 0, 8))
    anchor = archive(tmp_path / "a", {rank: [*each, (800, "Leave", 0)] for rank, each in events.items()})
    assert losses(anchor)["imbalance"] == 600 + 300
    without_processor(anchor, (1, 100, 400, 300, "main", "work"))
    assert losses(anchor)["imbalance"] == 300


def test_waits_for_a_processor_in_mpi_count_once(tmp_path: Path) -> None:
    """Ranks 0 and 2 wait 300 ns for rank 1 in an operation, which then takes 100 ns. Rank 0 has no processor for
    160 ns in it: 100 of these are no part of the wait, and no transfer."""
    events = {}
    for rank, time in enumerate((100, 400, 100)):
        events[rank] = [(0, "Enter", 0), *call(0, time, "work"), *coll(time, 500, "MPI_Barrier"), (500, "Leave", 0)]
    anchor = archive(tmp_path / "a", events)
    before = losses(anchor)
    without_processor(anchor, (0, 100, 500, 160, "main", "MPI_Barrier"))
    noise = told(Trace(anchor), "noise")
    assert noise.loss_ns == 100
    assert noise.caveats == ("60 ns more are parts of waits in MPI, and count there",)
    assert before["transfer"] == 300
    assert losses(anchor) == before | {"noise": 100, "transfer": 200}


def test_the_recording_stands_after_large_losses_of_the_program() -> None:
    """A loss is large in the half of the run that the recording leaves from 2.5 % of the whole on."""
    tracing = Finding(kind="tracing", loss_ns=500, share=0.5, text="")
    large, small = (Finding(kind="imbalance", loss_ns=loss, share=loss / 1000, text="") for loss in (25, 24))
    assert largest_first([tracing, small, large]) == [large, tracing, small]


def test_ranks_of_another_communicator_are_no_culprits(tmp_path: Path) -> None:
    """Ranks 0 and 2 wait for rank 4. Ranks 1, 3 and 5 work as long as rank 4, but nobody of these waits for them."""
    events: dict[int, list[Event]] = {}
    for rank in range(6):
        time = 400 if rank % 2 or rank == 4 else 100
        events[rank] = [(0, "Enter", 0), *call(0, time, "work")]
        if rank % 2 == 0:
            op = ("MpiCollectiveEnd", 0, 1, UNDEFINED, 1, 1)
            events[rank] += call(time, 400, "MPI_Coll", (time, "MpiCollectiveBegin"), (400, *op))
        events[rank].append((450, "Leave", 0))
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert (found.culprit.partition(",")[0], found.loss_ns) == ("rank 4", 600)


def test_transfers_name_both_ends(tmp_path: Path) -> None:
    """Rank 0 sends to ranks 1 and 2, one after the other."""
    events: dict[int, list[Event]] = {rank: [(0, "Enter", 0)] for rank in range(3)}
    for to in (1, 2):
        events[0] += call(400 * to - 400, 400 * to, "MPI_Send", (400 * to - 400, "MpiSend", to, 0, 0, 8))
        events[to] += call(0, 400 * to, "MPI_Recv", (400 * to, "MpiRecv", 0, 0, 0, 8))
    anchor = archive(tmp_path / "a", {rank: [*each, (800, "Leave", 0)] for rank, each in events.items()})
    assert "in MPI_Recv in main on ranks 1-2 and in MPI_Send in main on rank 0" in told(Trace(anchor), "transfer").text


def test_a_rank_that_leaves_mpi_late_takes_no_longer(tmp_path: Path) -> None:
    """Rank 0 leaves the first operation 300 ns late, since it has no processor, and so comes late to the second, though
    it works hardly longer than the others there, and less later. Rank 2 works 300 ns longer before the third."""
    events: dict[int, list[Event]] = {}
    for rank, (first, last) in enumerate(((101, 90), (100, 100), (100, 400))):
        leaves = 410 if rank == 0 else 110
        begins = leaves + first, 520 + last
        events[rank] = [(0, "Enter", 0), *coll(100, leaves, "MPI_Barrier"), *call(leaves, begins[0], "work")]
        events[rank] += [*coll(begins[0], 520, "MPI_Barrier"), *call(520, begins[1], "work")]
        events[rank] += [*coll(begins[1], 930, "MPI_Barrier"), (930, "Leave", 0)]
    anchor = archive(tmp_path / "a", events)
    assert told(Trace(anchor), "imbalance").ranks == (0, 1)
    without_processor(anchor, (0, 100, 410, 300, "main", "MPI_Barrier"))
    found = told(Trace(anchor), "imbalance")
    assert (found.culprit, found.loss_ns) == ("rank 2, work in main", 310 + 300 + 2 * 1)


@pytest.mark.parametrize(
    ("chosen", "present", "crowded"),
    [
        (Selection(), (0, 1, 2, 3), [("a", 3, 2)]),
        (Selection(locations=(3,)), (3,), []),
        (Selection(locations=(0,)), (0,), [("a", 3, 2)]),
        (Selection(start=5), (0, 1, 3), []),
    ],
    ids=["all", "another host", "one of the host", "when a rank has ended"],
)
def test_crowded_hosts_are_those_of_the_selection(
    chosen: Selection, present: tuple[int, ...], crowded: list[tuple[str, int, int]]
) -> None:
    """Ranks 0-2 share two cores of host a; rank 3 has host b."""
    hosts = ["a", "a", "a", "b"]
    trace = SimpleNamespace(
        processes=Table({"rank": np.arange(4), "host": np.array(hosts, object), "group": np.arange(4)}),
        group_properties=Table({
            "group": np.arange(4), "name": np.full(4, CORES, object), "value": np.full(4, "0-1", object),
        }),
        locations=Table({"type": np.full(4, "CPU_THREAD", object)}),
    )  # fmt: skip
    facts: Any = SimpleNamespace(trace=trace, window=chosen, rows=[*present], ranks_of=tuple)
    assert crowded_hosts(facts) == crowded


@pytest.mark.parametrize(
    ("begin", "explained"), [(100, 240 + 10), (1000, 0), (500, 0)], ids=["before the first", "after", "between both"]
)
def test_a_wait_explains_the_barrier_after_it_only(begin: int, explained: int, tmp_path: Path) -> None:
    """Threads 0 and 2 wait 300 and 10 ns for thread 1 in a barrier, threads 0 and 1 wait 250 and 150 ns for thread 2 in
    the next one. Thread 1 had no processor for 240 ns: that explains the waits in the first barrier, or nothing."""
    times = ((100, 900), (400, 1000), (390, 1150))
    events = {
        thread: [
            (0, "Enter", 0), (first, "Enter", 1), (400, "Leave", 1), (second, "Enter", 1), (1150, "Leave", 1),
            (1400, "Leave", 0),
        ]
        for thread, (first, second) in enumerate(times)
    }  # fmt: skip
    trace = threads(tmp_path, events, "pthread_barrier_wait", BARRIER, PTHREAD)
    loss = told(trace, "thread_imbalance").loss_ns
    assert loss == 300 + 10 + 250 + 150
    without_processor(trace.anchor, (1, begin, begin + 250, 240, "main"))
    assert told(Trace(trace.anchor), "thread_imbalance").loss_ns == loss - explained


@pytest.mark.parametrize(("waited", "explained"), [(0, 0), (200, 2 * 200)])
def test_a_thread_without_processor_in_a_barrier_is_late_at_the_next(
    waited: int, explained: int, tmp_path: Path
) -> None:
    """All threads meet at 100 ns, but thread 1 leaves the barrier 200 ns after the others; all work for 500 ns."""
    events = {
        thread: [
            (0, "Enter", 0), (100, "Enter", 1), (left, "Leave", 1), (left + 500, "Enter", 1), (810, "Leave", 1),
            (900, "Leave", 0),
        ]
        for thread, left in enumerate((110, 310, 110))
    }  # fmt: skip
    trace = threads(tmp_path, events, "pthread_barrier_wait", BARRIER, PTHREAD)
    assert told(trace, "thread_imbalance").loss_ns == 2 * 200
    if waited:
        without_processor(trace.anchor, (1, 110, 310, waited, "main", "work"))  # regions 0 and 1
    kinds = [one.kind for one in Trace(trace.anchor).diagnosis(Selection()).findings]
    assert ("thread_imbalance" in kinds) == (explained == 0)


@pytest.mark.parametrize(("rest", "numbers"), [(0, "iteration 5"), (90, "iterations 4 to 5")])
def test_slow_iterations_outside_of_recorded_calls(rest: int, numbers: str, tmp_path: Path) -> None:
    """Rank 1 works for 400 ns instead of 100 before call 5 of 12. An iteration ends with the call after its work.
    If something follows the last call, an iteration may begin with a call."""
    works = [[100, 100, 100] for _ in range(12)]
    works[5] = [100, 400, 100]
    last = call(1500 + rest, 1500 + rest, "MPI_Waitall")
    trace = Trace(archive(tmp_path / "a", {rank: [*each, *last] for rank, each in outside(works).items()}))
    found = told(trace, "slow_iterations")
    assert found.culprit == f"rank 1, {OUTSIDE}"
    assert found.text.startswith(f"{numbers} of the loop around MPI_Coll took 4 x the usual 100 ns")
    assert "imbalance" not in {one.kind for one in trace.diagnosis(Selection()).findings}  # the same loss


def test_periodic_slow_iterations_are_one_finding(tmp_path: Path) -> None:
    """Each 17th call of work of rank 1 takes 900 ns instead of 100."""
    works = [[100, 900 if n % 17 == 16 else 100] for n in range(90)]
    found = told(Trace(archive(tmp_path / "a", meetings(works))), "slow_iterations")
    assert found.text.startswith("every 17th iteration, from 16 on, of work took 9 x the usual 100 ns: rank 1, work")
    assert (found.culprit, found.loss_ns) == ("rank 1, work in main", 5 * 800)


def test_waits_for_a_processor_while_a_rank_waits_for_others_make_no_iteration_longer(tmp_path: Path) -> None:
    """Rank 0 gives its processor away while it waits for rank 1, which takes 900 ns each 17th time."""
    works = [[100, 900 if n % 17 == 16 else 100] for n in range(90)]
    anchor = archive(tmp_path / "a", outside(works))
    begins = np.cumsum([0, *(max(each) for each in works)]).tolist()
    at_work = [(0, begins[n], begins[n] + 100, 80) for n in range(0, 16, 4)]
    in_mpi = [(0, begins[n] + 100, begins[n] + 900, 700, "MPI_Coll") for n in range(16, 90, 17)]
    without_processor(anchor, *at_work, *in_mpi)
    found = told(Trace(anchor), "slow_iterations")
    assert (found.culprit, found.loss_ns) == (f"rank 1, {OUTSIDE}", 5 * (800 + 800))


@pytest.mark.parametrize(("slow", "length", "is_told"), [(0, 900, False), (0, 2900, True), (7, 900, True)])
def test_a_first_iteration_may_be_slow(slow: int, length: int, is_told: bool, tmp_path: Path) -> None:
    """Of 100 iterations of 100 ns on two ranks one of rank 1 takes longer, by 7 or 22 % of the run."""
    works = [[100, length if n == slow else 100] for n in range(100)]
    found = Trace(archive(tmp_path / "a", meetings(works))).diagnosis(Selection()).findings
    assert ("slow_iterations" in {one.kind for one in found}) == is_told


def test_turns_of_an_outer_loop_are_no_slow_iterations(tmp_path: Path) -> None:
    """The program does something long after each 17 calls of work: these calls are in a loop within a loop."""
    works = [[100, 12_000 if n % 17 == 16 else 100] for n in range(90)]
    found = Trace(archive(tmp_path / "a", meetings(works))).diagnosis(Selection())
    assert "slow_iterations" not in {one.kind for one in found.findings}


@pytest.mark.parametrize(("slow_ranks", "is_told"), [((0, 1, 2), False), ((1,), True)])
def test_work_of_all_ranks_in_each_turn_of_an_outer_loop(
    slow_ranks: tuple[int, ...], is_told: bool, tmp_path: Path
) -> None:
    """Before every 10th call three ranks, or one, work for 500 ns instead of 100."""
    works = [[500 if n % 10 == 9 and rank in slow_ranks else 100 for rank in range(3)] for n in range(90)]
    found = Trace(archive(tmp_path / "a", outside(works))).diagnosis(Selection())
    assert ("slow_iterations" in {one.kind for one in found.findings}) == is_told


def test_slow_iterations_name_a_call_of_mpi_as_other_findings_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 0 is 900 ns in MPI_Send instead of 100, twice, for which rank 1 waits. Samples show lines of calls."""
    samples = SimpleNamespace(call_source=lambda *_: "/a/x.c:60", longer=lambda *_: None)
    monkeypatch.setattr(RunFacts, "sampled", samples)
    send, work = (region("MPI_Send"),), (region("work"),)
    events = {
        rank: [(*event[:2], *send) if event[2:] == work else event for event in each if event[2:] != (0,)]
        for rank, each in meetings([[900 if n in (16, 30) else 100, 90] for n in range(40)]).items()
    }
    assert told(Trace(archive(tmp_path / "a", events)), "slow_iterations").culprit == "rank 1, MPI_Coll (x.c:60)"


@pytest.mark.parametrize(
    ("usual", "kinds"),
    [
        (100, {"slow_iterations"}), (110, {"slow_iterations"}), (130, {"slow_iterations", "imbalance"}),
        (160, {"slow_iterations", "imbalance"}),
    ],
)  # fmt: skip
def test_slow_iterations_explain_most_of_an_imbalance(usual: int, kinds: set[str], tmp_path: Path) -> None:
    """Rank 1 works for 900 ns instead of the usual time in two of 40 iterations, so that rank 0 waits 1600 ns there. If
    rank 1 takes longer in all others, the two explain not all: told if the rest is a large loss, or the larger part."""
    works = [[100, 900 if n in (16, 30) else usual] for n in range(40)]
    found = Trace(archive(tmp_path / "a", meetings(works))).diagnosis(Selection()).findings
    assert {one.kind for one in found if one.culprit == "rank 1, work in main"} == kinds


def test_slow_iterations_explain_an_imbalance_whose_waits_are_all_of_culprits() -> None:
    slow = Finding("slow_iterations", 900, 0.1, "", culprit="ranks 0 and 1, work", ranks=(1,))
    assert explains(slow, Finding("imbalance", 1000, 0.1, "", culprit="ranks 0 and 1, work"))


@pytest.mark.parametrize(
    ("culprit", "is_same"),
    [
        ("rank 1, nap (a.h:3, called by rebuild, asleep in nanosleep)", True),
        ("rank 1, nap (a.h:3, called by rebuild_all, asleep in nanosleep)", False),
        ("rank 2, nap (a.h:3, called by rebuild, asleep in nanosleep)", False),
    ],
)
def test_slow_iterations_explain_an_imbalance_in_a_call_that_sleeps(culprit: str, is_same: bool) -> None:
    slow = Finding("slow_iterations", 900, 0.1, "", culprit="rank 1, rebuild (a.c:3)", ranks=(0,))
    assert explains(slow, Finding("imbalance", 1000, 0.1, "", culprit=culprit)) == is_same


@pytest.mark.parametrize(
    ("place", "ranks", "is_left_out"),
    [("MPI_Barrier", (0, 1, 3), True), ("MPI_Barrier", (3,), False), ("work", (0,), False)],
)
def test_a_late_rank_explains_slow_iterations_that_wait(place: str, ranks: tuple[int, ...], is_left_out: bool) -> None:
    slow = Finding("slow_iterations", 900, 0.1, "", region=place, ranks=ranks)
    assert explains(Finding("imbalance", 1000, 0.1, "", ranks=(0, 1, 2)), slow) == is_left_out


@pytest.mark.parametrize(("place", "is_left_out"), [("MPI_Waitall", True), ("work", False)])
def test_transfers_explain_turns_in_calls_of_mpi(place: str, is_left_out: bool) -> None:
    turns = Finding("serialisation", 1000, 0.1, "", region=place)
    assert explains(Finding("transfer", 900, 0.1, ""), turns) == is_left_out


def test_a_late_thread_for_which_other_ranks_wait_is_one_finding() -> None:
    """Rank 1 waits for its own thread in a barrier, where another rank takes less time; so does rank 2."""
    path = ("main", "!$omp barrier")
    threads = [
        Finding(
            "omp_imbalance", 400, 0.1, "most for it", callpath=path, ranks=(rank,), culprit=f"rank {rank}, Thread 1"
        )
        for rank in (1, 2)
    ]
    text = "rank 1 waits longer for threads in !$omp barrier than the others: 900 ns of waiting in MPI_Barrier (a.c:4)"
    late = Finding("imbalance", 900, 0.3, text, callpath=path, ranks=(0, 2), culprit="rank 1, !$omp barrier")
    other = Finding("imbalance", 900, 0.3, text, callpath=("main", "work"), ranks=(0, 2), culprit="rank 1, work")
    (both,) = joined([threads[0], Finding("imbalance", 900, 0.3, text, culprit=threads[0].culprit)])
    assert both.loss_ns == 1300
    first, *rest = joined([*threads, late, other])
    assert rest == [threads[1], other]
    assert first.text == "most for it; other ranks wait for it, too: 900 ns of waiting in MPI_Barrier (a.c:4)"
    assert (first.loss_ns, first.share, first.ranks) == (1300, 0.4, (0, 1, 2))


def test_known_and_unknown_waits_for_a_rank_are_one_finding() -> None:
    """Ranks 2 and 3 wait for rank 1 in MPI_Scan; so does rank 0, of which no lower rank is late."""
    culprit = "rank 1, work (a.c:3)"
    where = f"{culprit.replace(',', ' takes longer in')} than the others:"
    known = Finding("imbalance", 800, 0.2, f"{where} 800 ns of waiting in MPI_Scan", culprit=culprit, ranks=(2, 3))
    text = f"{where} up to 400 ns of waiting in MPI_Scan"
    unknown = Finding("imbalance", 400, 0.1, text, culprit=culprit, ranks=(0, 2, 3), certainty=BOUND)
    (both,) = joined([known, unknown])
    assert both.text == f"{known.text}; and up to 400 ns of waiting in MPI_Scan"
    assert (both.loss_ns, both.ranks) == (1200, (0, 2, 3))
    assert joined([unknown]) == [unknown]
    other = Finding("imbalance", 800, 0.2, known.text, culprit="rank 2, work (a.c:3)")
    assert joined([other, unknown]) == [other, unknown]


def test_serial_work_of_a_rank_for_which_others_wait_is_one_finding() -> None:
    culprit = "rank 1, setup (a.c:3)"
    serial = Finding("omp_serial", 300, 0.1, "ranks 0-1 are idle", culprit=culprit, ranks=(0, 1))
    text = "rank 1 takes longer in setup (a.c:3) than the others: 200 ns of waiting in MPI_Barrier"
    (both,) = joined([serial, Finding("imbalance", 200, 0.1, text, culprit=culprit, ranks=(0,))])
    assert (both.kind, both.loss_ns, both.culprit) == ("omp_serial", 500, culprit)


def test_the_recording_is_no_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 writes its buffers longer and longer, which is a finding of its own."""
    monkeypatch.setattr(iteration_findings, "FLUSH", "work")
    found = Trace(archive(tmp_path / "a", meetings([[100 + 5 * n, 100] for n in range(40)]))).diagnosis(Selection())
    assert "drift" not in {one.kind for one in found.findings}


def test_drift_names_its_place(tmp_path: Path) -> None:
    """Rank 0 works longer and longer; the other rank waits for it."""
    found = told(Trace(archive(tmp_path / "a", meetings([[100 + 5 * n, 100] for n in range(40)]))), "drift")
    assert found.culprit == "rank 0, work in main"


@pytest.mark.parametrize(("waited", "is_told"), [((50, 2.5), True), ((0, 4), False)], ids=["same share", "more load"])
def test_drift_beside_waits_for_a_processor(waited: tuple[int, float], is_told: bool, tmp_path: Path) -> None:
    """Both ranks take 5 ns longer in each step. Rank 0 waits for a processor for half of its work, or first not at all
    and then for more and more of it: then the load of other programs grows."""
    works = [[100 + 5 * n, 50 + 5 * n] for n in range(40)]
    anchor = archive(tmp_path / "a", meetings(works))
    starts = np.cumsum([0, *(first for first, _ in works)]).tolist()
    first, more = waited
    waits = [(0, start, start + 100 + 5 * n, int(first + more * n)) for n, start in enumerate(starts[:-1])]
    without_processor(anchor, *((*wait, "main", "work") for wait in waits))
    found = losses(anchor)
    assert ("drift" in found, "noise" in found) == (is_told, True)


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
@pytest.mark.parametrize("bursts", [[2], [3], [2, 3]], ids=str)
def test_bursts_of_calls_are_one_iteration(bursts: list[int], slow: int | None, tmp_path: Path) -> None:
    works = [50 + turn % 3 if turn != slow else 500 for turn in range(21)]
    found = Trace(archive(tmp_path / "a", dict.fromkeys(range(2), turns(works, bursts)))).diagnosis(Selection())
    assert found.iterations
    size, whole = sum(bursts), [10 * sum(bursts) + len(bursts) * work for work in works[:-1]]
    assert (found.iterations.basis, found.iterations.region) == (f"every {size} calls", "MPI_Coll")
    assert found.iterations.table["time_ns"].tolist() == whole
    assert found.iterations.slow == ([(12, 12)] if slow else [])
    assert len([one for one in found.findings if one.kind == "slow_iterations"]) == bool(slow)


def test_bursts_in_which_some_ranks_wait(tmp_path: Path) -> None:
    """Rank 0 makes its two calls in a row; rank 1 waits for it in the first one for half of each turn."""
    begins = [[turn + at for turn in range(0, 2100, 100) for at in pair] for pair in ((40, 50), (0, 50))]
    events = {
        rank: [
            (0, "Enter", 0),
            *(event for begin in each for event in call(begin, begin + 5, "MPI_Coll", (begin, "MpiCollectiveBegin"),
              (begin, "MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1))),
            (2100, "Leave", 0),
        ]
        for rank, each in enumerate(begins)
    }  # fmt: skip
    found = Trace(archive(tmp_path / "a", events)).diagnosis(Selection()).iterations
    assert found
    assert (found.basis, found.slow, {*found.table["time_ns"].tolist()}) == ("every 2 calls", [], {100})


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
    made = [*mpi_waits(found)]
    assert sum(one.loss_ns for one in made) == pytest.approx(whole, abs=len(made))


def steps(times: list[int], start: int = 0) -> list[Event]:
    """Calls of work with these times, one after the other, from start on."""
    begins = [start + sum(times[:n]) for n in range(len(times) + 1)]
    calls = [event for begin, end in pairwise(begins) for event in call(begin, end, "work")]
    return [(start, "Enter", 0), *calls, (begins[-1], "Leave", 0)]


@pytest.mark.parametrize(("start", "more"), [(None, 395), (2150, int(500 - (55 + 18 * 105) / 19))])
def test_slow_iteration_of_a_rank_that_does_not_wait(start: int | None, more: int, tmp_path: Path) -> None:
    """Ranks never meet, and rank 1's iteration 24 takes 500 ns. Rank 0 has six iterations from its iteration 24 on
    until then. The window cuts a call of each rank: that of rank 1 has 55 ns left."""
    slow = [105] * 24 + [500] + [105] * 15
    trace = Trace(archive(tmp_path / "a", {0: steps([100] * 40), 1: steps(slow)}))
    found = told(trace, "slow_iterations", Selection(start=start))
    assert (found.loss_ns, found.culprit, found.ranks) == (395, "rank 1, work in main", (1,))
    assert (found.start, found.stop) == (24 * 105, 24 * 105 + 500)
    assert found.text.endswith(f"rank 1, work in main, {more} ns more"), found.text


def joins() -> dict[int, list[Event]]:
    """Two ranks: rank 1 is 300 ns longer in pthread_join than rank 0, which waits for rank 1."""
    ends = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1)
    events = {}
    for rank, join in enumerate((100, 400)):
        meets = call(join, 410, "MPI_Coll", (join, *ends[0]), (410, *ends[1]))
        events[rank] = [(0, "Enter", 0), *call(0, join, "pthread_join"), *meets, (420, "Leave", 0)]
    return events


def test_samples_do_not_show_a_wait_for_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples of a thread that waits for another one are in the caller, as those of other calls there."""
    caller = SimpleNamespace(names=("main",), text="main (x.c:9)", source="x.c:9", ns=300.0)
    monkeypatch.setattr(RunFacts, "sampled", SimpleNamespace(longer=lambda *_: caller, call_source=lambda *_: ""))
    assert told(Trace(archive(tmp_path / "a", joins())), "imbalance").culprit == "rank 1, pthread_join in main"


def test_a_rank_that_waits_for_its_own_threads_is_no_turn(tmp_path: Path) -> None:
    found = told(Trace(archive(tmp_path / "a", joins())), "imbalance")
    assert (found.loss_ns, found.culprit, found.ranks) == (300, "rank 1, pthread_join in main", (0,))
    assert found.text.startswith("rank 1 waits longer for threads in pthread_join in main than the others: 300 ns")


def test_nobody_waits_longer_than_its_cause_takes(tmp_path: Path) -> None:
    """Rank 1 gets each message at once, but rank 0 is 90 ns in MPI_Send, then works 10 ns before the next one."""
    events: dict[int, list[Event]] = {rank: [(0, "Enter", 0)] for rank in range(2)}
    for now in range(0, 1000, 100):
        events[0] += call(now, now + 90, "MPI_Send", (now, "MpiSend", 1, 0, 0, 8))
        events[0] += call(now + 90, now + 100, "work")
        events[1] += call(max(0, now - 95), now + 5, "MPI_Recv", (now + 5, "MpiRecv", 0, 0, 0, 8))
    events = {rank: [*each, (1000, "Leave", 0)] for rank, each in events.items()}
    found = {one.region: one.loss_ns for one in Trace(archive(tmp_path / "a", events)).diagnosis(Selection()).findings}
    assert (found["work"], found["MPI_Recv"]) == (100, 9 * 95 - 100)


def test_a_call_of_mpi_delays_others_by_its_whole_time(tmp_path: Path) -> None:
    """Rank 0 is 1000 ns in MPI_File_close, 900 of these in another recorded call."""
    inside = (50, "Enter", region("other")), (950, "Leave", region("other"))
    events = {0: [(0, "Enter", 0), *call(0, 1000, "MPI_File_close", *inside), *coll(1000, 1000)]}
    events |= {rank: [(0, "Enter", 0), *coll(0, 1000)] for rank in (1, 2)}
    anchor = archive(tmp_path / "a", {rank: [*each, (1000, "Leave", 0)] for rank, each in events.items()})
    assert losses(anchor) == {"io_by_few_ranks": 2 * 1000}


def test_culprits_outside_of_the_selection_delay_as_much(tmp_path: Path) -> None:
    """Ranks 1 and 2 are late in turn, and rank 2 is not selected: its time is unknown."""
    trace = Trace(archive(tmp_path / "a", meetings([[0, 100, 300], [0, 300, 100]] * 5)))
    found = told(trace, "imbalance", Selection(locations=(0, 1)))
    assert (found.loss_ns, found.culprit) == (10 * 300 + 5 * 200, "ranks 1-2, work in main")


def test_a_culprit_outside_of_the_selection_stays_one(tmp_path: Path) -> None:
    """Ranks 0 to 2 wait 300 ns for rank 3. Rank 2 then works as much longer while nobody waits."""
    events = meetings([[100, 100, 100, 400]])
    events[2] = [*events[2][:-1], *call(400, 1000, "work"), (1000, "Leave", 0)]
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance", Selection(locations=(0, 1, 2)))
    assert (found.loss_ns, found.processor_ns, found.culprit) == (3 * 300, 0, "rank 3, work in main")


def test_all_ranks_that_take_less_are_the_others(tmp_path: Path) -> None:
    """Rank 0 works longer than all others, one of which works much less."""
    found = told(Trace(archive(tmp_path / "a", meetings([[1100, 1000, 1000, 500]] * 3))), "imbalance")
    assert found.text.startswith("rank 0 takes longer in work in main than the others: "), found.text


def test_parts_of_a_cause_are_as_limited_as_the_whole(tmp_path: Path) -> None:
    """Ranks 2 and 3 get each message at once, but ranks 0 and 1 are in MPI_Send most of the time, then sleep 10 and
    5 ns in different functions before the next one: four ranks wait at most three times as long as these sleep."""
    rests = "nanosleep@x.c:1 <- {0}@/a/x.c:3 <- main@/a/x.c:9"
    events: dict[int, list[Event]] = {rank: [] for rank in range(4)}
    times = []
    for rank, rest in enumerate((10, 5)):
        for now in range(0, 1000, 100):
            events[rank] += call(now, now + 100 - rest, "MPI_Send", (now, "MpiSend", 2 + rank, 0, 0, 8))
            ends = now + 5, "MpiRecv", rank, 0, 0, 8
            events[2 + rank] += call(max(0, now - 95), now + 5, "MPI_Recv", ends)
            times.append((rank, now + 100 - rest, now + 100, rests.format(("first", "second")[rank]), ()))
        events[rank] += call(1000, 1000, "MPI_Waitall")
    trace = asleep(archive(tmp_path / "a", events), *times)
    found = [one for one in trace.diagnosis(Selection()).findings if one.kind == "imbalance"]
    assert [one.culprit.partition(" (")[0] for one in found] == ["rank 0, first", "rank 1, second"]
    assert sum(one.loss_ns for one in found) == 3 * 10 * (10 + 5)
    assert told(trace, "mpi_wait").loss_ns == 2 * 9 * 95 - 3 * 10 * (10 + 5)


def test_sleep_by_recursion_is_that_of_one_call(tmp_path: Path) -> None:
    """A thread sleeps 200 ns in rest, which step calls, and 198 ns in rest within a second step."""
    trace = threads(tmp_path, {0: [(0, "Enter", 0), (400, "Leave", 0)]}, "none", 1, PTHREAD)
    one, two = "nanosleep@x.c:1 <- rest@/a/x.c:3", "step@/a/x.c:9 <- main@/a/x.c:20"
    one, two = f"{one} <- {two}", f"{one} <- step@/a/x.c:8 <- {two}"
    facts = asleep(trace.anchor, (0, 0, 200, one, ()), (0, 200, 398, two, ())).diagnosis(Selection()).facts
    sleep, ns = facts.longest_sleep(facts.paths_named(()), [0], [])
    assert sleep
    assert ns == facts.slept_in(sleep, [0]) == 200 + 198


def test_ranks_that_take_as_long_are_not_told_to_take_less(tmp_path: Path) -> None:
    """Rank 0 waits in turn for ranks 1 and 2, which work as long as rank 3, for which nobody waits."""
    of = {0: [(0, "Enter", 0)], 1: [], 2: [], 3: []}
    for turn in range(10):
        now = 100 * turn
        for rank in (1, 2, 3):
            of[rank] += call(now, now + 60 + 10 * (rank == 1 + turn % 2), "work")
        late = 1 + turn % 2
        of[late] += call(now + 70, now + 71, "MPI_Send", (now + 70, "MpiSend", 0, 0, 0, 8))
        of[0] += call(now, now + 71, "MPI_Recv", (now + 71, "MpiRecv", late, 0, 0, 8))
    events = {rank: [*([(0, "Enter", 0)] * (rank > 0)), *each, (1000, "Leave", 0)] for rank, each in of.items()}
    found = told(Trace(archive(tmp_path / "a", events)), "imbalance")
    assert found.text.startswith("ranks 1-2 take longer in work in main than rank 0: "), found.text


def test_commands_show_the_same_part(tmp_path: Path) -> None:
    """Options as the user gave them, or times in ns; options that a finding has stay."""
    trace = Trace(archive(tmp_path / "a", joins()))
    shows = ("profile", "--by", "rank", "--select", "region=pthread_join")
    assert told(trace, "imbalance").evidence == shows
    part = "--from", "10ns", "--to", "0.415us"
    window = Selection.of_options(trace, "10ns", "0.415us", "0-1")
    assert told(trace, "imbalance", window).evidence == (*shows, *part, "--ranks", "0-1")
    assert told(trace, "imbalance", Selection(start=10, stop=415)).evidence == (
        *shows,
        "--from",
        "10ns",
        "--to",
        "415ns",
    )
    own = Finding(kind="drift", loss_ns=1, share=0.1, text="", evidence=("profile", "--from", "20ns")).of_part(
        window.options
    )
    assert own.evidence == ("profile", "--from", "20ns", "--to", "0.415us", "--ranks", "0-1")
    assert Finding(kind="tracing", loss_ns=1, share=0.1, text="", evidence=("score",)).of_part(
        window.options
    ).evidence == ("score",)


def test_drift_by_the_medians_of_quarters(tmp_path: Path) -> None:
    """The last ten of 40 iterations of rank 0 take half as long again, and one takes 900 ns: of the 39 others the last
    nine are the last quarter. The times of each quarter differ by up to twice."""
    times = [70, 130, 100, 80, 120, 100, 75, 125, 100, 100] * 4
    slower = times[:30] + [time * 3 // 2 for time in times[30:]]
    slower[15] = 900
    trace = Trace(archive(tmp_path / "a", {0: steps(slower), 1: steps(times)}))
    assert told(trace, "drift").loss_ns == 9 * 50
    assert told(trace, "slow_iterations").loss_ns == int(900 - (100 + 105) / 2)


@pytest.mark.parametrize("slow", [20, 19])
def test_another_part_of_the_program_is_no_drift(slow: int, tmp_path: Path) -> None:
    """Twenty iterations of work, then twenty of other take longer; the last one of work may take as long as these."""
    parts = [("work" if n < 20 else "other", 200 if n < slow else 340) for n in range(40)]
    events: list[Event] = [(0, "Enter", 0)]
    now, ends = 0, (("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1))
    for name, length in parts:
        then = now + length
        calls = call(now, then, name) + call(then, then + 10, "MPI_Coll", *((then + 10, *end) for end in ends))
        events, now = [*events, *call(now, then + 10, "step", *calls)], then + 10
    trace = Trace(archive(tmp_path / "a", {rank: [*events, (now, "Leave", 0)] for rank in range(2)}))
    found = trace.diagnosis(Selection())
    assert found.iterations
    assert found.iterations.step == slow
    assert "drift" not in {one.kind for one in found.findings}


def test_drift_within_the_scatter(tmp_path: Path) -> None:
    """The median of the last two times is 1.25 x that of the first two, which differ by more."""
    trace = Trace(archive(tmp_path / "a", dict.fromkeys(range(2), steps([50, 150, 90, 110, 90, 110, 50, 200]))))
    found = trace.diagnosis(Selection())
    assert found.iterations
    assert found.iterations.drift == 125 / 100
    assert "drift" not in {one.kind for one in found.findings}


def test_drift_is_monotone(tmp_path: Path) -> None:
    """The last quarter takes half as long again as the first, but the third takes less: iterations differ, and do not
    take longer and longer."""
    times = [100] * 10 + [160] * 10 + [90] * 10 + [150] * 10
    trace = Trace(archive(tmp_path / "a", dict.fromkeys(range(2), steps(times))))
    assert "drift" not in {one.kind for one in trace.diagnosis(Selection()).findings}


def test_iterations_without_recording_are_not_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 does not record for a part of its iteration 5, which takes 500 ns. Flushes and missing functions of other
    iterations do not matter."""
    times = [100] * 5 + [500] + [100] * 5 + [700] + [100] * 4
    trace = Trace(archive(tmp_path / "a", dict.fromkeys(range(2), steps(times))))
    gaps = [(600, 900, "all", OFF), (1600, 1700, "all", FLUSH), (0, 3000, "user", "VT_FUNCTIONS")]
    columns = {name: [gap[n] for gap in gaps] for n, name in enumerate(("from", "to", "class", "reason"))}
    table = {name: np.array(values) for name, values in columns.items()}
    whole = {"location": np.full(3, trace.locations["id"][1]), "ns": table["to"] - table["from"], "count": np.zeros(3)}
    numbers = {name: np.uint64(values) for name, values in (table | whole).items() if name not in ("class", "reason")}
    monkeypatch.setattr(trace.ledger, "intervals", Table(table | numbers))
    found = trace.diagnosis(Selection()).iterations
    assert found
    assert found.slow == [(11, 11)]
