# SPDX-License-Identifier: BSD-3-Clause
"""Critical paths and root causes of waits: of small programs in closed form, of random ones against the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.oracles.slow_waits import Waits
from support.readers.archive import read
from support.synthetic_runs.diagnosed import asleep, without_processor
from support.synthetic_runs.random_mpi import archive, program, region
from vtrace.analysis.findings.finding import BOUND
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer

Event = tuple[Any, ...]


def named(trace: Trace, table: Table, path: int) -> tuple[str, ...]:
    return tuple(path_names(table.paths, trace.regions["name"], path))


def critical(trace: Trace, **window: int) -> dict[tuple[tuple[str, ...], int], int]:
    table = trace.critical_path(**window)
    assert table["time_ns"].sum() == table.length_ns
    return {(named(trace, table, row["path"]), row["location"]): row["time_ns"] for row in table.records()}


@pytest.fixture
def chain(tmp_path: Path) -> Trace:
    """Rank 0 works for 300 ns and sends, rank 1 works on for 200 and sends, rank 2 works on for 100; all begin with
    100. A transfer takes 10.
    """
    send, recv, work = region("MPI_Send"), region("MPI_Recv"), region("work")
    first = [(0, "Enter", work), (300, "Leave", work), (300, "Enter", send), (300, "MpiSend", 1, 0, 7, 8)]
    second = [(100, "Enter", recv), (310, "MpiRecv", 0, 0, 7, 8), (310, "Leave", recv), (310, "Enter", work)]
    second += [(510, "Leave", work), (510, "Enter", send), (510, "MpiSend", 2, 0, 7, 8), (510, "Leave", send)]
    third = [(100, "Enter", recv), (520, "MpiRecv", 1, 0, 7, 8), (520, "Leave", recv)]
    events: dict[int, list[Event]] = {
        0: [(0, "Enter", 0), *first, (310, "Leave", send), (320, "Leave", 0)],
        1: [(0, "Enter", 0), *second, (520, "Leave", 0)], 2: [(0, "Enter", 0), *third, (620, "Leave", 0)],
    }  # fmt: skip
    return Trace(archive(tmp_path / "chain", events))


def test_the_critical_path_changes_ranks(chain: Trace) -> None:
    assert critical(chain) == {
        (("main", "work"), 0): 300, (("main", "MPI_Recv"), 1): 10, (("main", "work"), 1): 200,
        (("main", "MPI_Recv"), 2): 10, (("main",), 2): 100,
    }  # fmt: skip
    table = chain.critical_path()
    assert (table.length_ns, table.jumps) == (620, 2)
    imbalance = {named(chain, table, row["path"]): row["imbalance_ns"] for row in table.by_path.records()}
    assert imbalance["main", "work"] == pytest.approx(500 - (300 + 200) / 3)
    assert critical(chain, start=200, stop=500) == {
        (("main", "work"), 0): 100, (("main", "MPI_Recv"), 1): 10, (("main", "work"), 1): 190
    }  # fmt: skip


def test_a_delay_reaches_ranks_through_others(chain: Trace) -> None:
    table = chain.delays()
    found = {(named(chain, table, row["path"]), row["location"]): row for row in table.records()}
    assert {table.kinds[row["kind"]] for row in found.values()} == {"mpi_latesender"}
    # Rank 1 waits 200: rank 0 worked 300 more in work(), and rank 1 was 100 longer in main.
    first = found[("main", "work"), 0]
    # Rank 2 waits 410: rank 1 worked 200 more, was 10 longer in MPI_Recv, and waited 200.
    assert (first["direct_ns"], first["indirect_ns"], first["excess_ns"]) == (200, pytest.approx(200), 600 / 2)
    work, transfer = found[("main", "work"), 1], found[("main", "MPI_Recv"), 1]
    assert (work["direct_ns"], work["indirect_ns"]) == (pytest.approx(200), 0)
    assert transfer["direct_ns"] == pytest.approx(10)
    assert table["direct_ns"].sum() + table["indirect_ns"].sum() == pytest.approx(610)


def works(ns: int, *after: Event) -> list[Event]:
    """The events of a rank that works, then calls MPI."""
    work = region("work")
    return [(0, "Enter", 0), (0, "Enter", work), (ns, "Leave", work), *after, (620, "Leave", 0)]


def calls(begin: int, end: int, other: int, name: str = "MPI_Send", *, tag: int = 7) -> list[Event]:
    """The events of a call that sends to another rank, or receives from it."""
    kind, number = name.replace("MPI_", "Mpi"), region(name)
    message = (begin if kind == "MpiSend" else end, kind, other, 0, tag, 8)
    return [(begin, "Enter", number), message, (end, "Leave", number)]


def root_causes(trace: Trace) -> list[tuple[int, str, str, Any, Any]]:
    """Rank and function, kind of the waits, direct and indirect ns, the most expensive first."""
    table = trace.delays()
    return [
        (
            one["location"],
            named(trace, table, one["path"])[-1],
            table.kinds[one["kind"]].removeprefix("mpi_"),
            pytest.approx(one["direct_ns"]),
            pytest.approx(one["indirect_ns"]),
        )
        for one in table.records()
    ]


def test_a_late_receiver_delays_its_sender_and_others(tmp_path: Path) -> None:
    """Rank 0 waits 200 ns in MPI_Send, since rank 1 works longer before its MPI_Recv. Rank 2 then waits 210 ns for rank
    0, 10 of them for the transfer."""
    events = {
        0: works(100, *calls(100, 310, 1), *calls(310, 320, 2)),
        1: works(300, *calls(300, 310, 0, "MPI_Recv")),
        2: works(100, *calls(100, 320, 0, "MPI_Recv")),
    }
    trace = Trace(archive(tmp_path / "a", events))
    assert root_causes(trace) == [(1, "work", "latereceiver", 200, 200), (0, "MPI_Send", "latesender", 10, 0)]
    (told,) = (one for one in trace.diagnosis(Selection()).findings if one.kind == "imbalance")
    assert (told.culprit, told.loss_ns, told.certainty) == ("rank 1, work in main", 400, BOUND)


def test_a_late_receiver_ends_the_wait_of_its_sender(tmp_path: Path) -> None:
    """Rank 0 waits 200 ns in MPI_Send for rank 1. Both have then met: this wait does not cause the next one, in which
    rank 1 waits 50 ns for rank 0."""
    first, work = calls(100, 310, 1), region("work")
    first += [(310, "Enter", work), (360, "Leave", work)]
    second = [*calls(300, 310, 0, "MPI_Recv"), *calls(310, 370, 0, "MPI_Recv")]
    events = {0: works(100, *first, *calls(360, 370, 1)), 1: works(300, *second)}
    causes = root_causes(Trace(archive(tmp_path / "a", events)))
    assert causes == [(1, "work", "latereceiver", 200, 0), (0, "work", "latesender", 50, 0)]


def test_a_wait_for_a_late_receiver_hides_no_later_cause(tmp_path: Path) -> None:
    """Rank 0 waits 200 ns in MPI_Send for rank 1, which waits 200 ns for rank 2 before rank 1 sends to rank 0."""
    second = [*calls(300, 310, 0, "MPI_Recv"), *calls(310, 520, 2, "MPI_Recv"), *calls(520, 530, 0)]
    events = {
        0: works(100, *calls(100, 310, 1), *calls(310, 530, 1, "MPI_Recv")),
        1: works(300, *second),
        2: works(510, *calls(510, 520, 1)),
    }
    assert root_causes(Trace(archive(tmp_path / "a", events))) == [
        (2, "work", "latesender", 200, 200), (1, "work", "latereceiver", 200, 0), (1, "MPI_Recv", "latesender", 10, 0)
    ]  # fmt: skip


def test_by_wrong_clocks_waits_depend_on_each_other(tmp_path: Path) -> None:
    """Rank 0 waits for rank 1, which waited for rank 2 before, which waited for a later call of rank 0: rank 1 received
    rank 2's message 90 ns before the send."""
    events = {
        0: works(10, *calls(10, 100, 1), *calls(105, 109, 2)),
        1: works(5, *calls(5, 20, 2, "MPI_Recv"), *calls(50, 60, 0, "MPI_Recv")),
        2: works(5, *calls(5, 108, 0, "MPI_Recv"), *calls(110, 120, 1)),
    }
    table = Trace(archive(tmp_path / "a", events)).delays()
    assert table["direct_ns"].sum() + table["indirect_ns"].sum() == pytest.approx((50 - 10) + (20 - 5) + (105 - 5))


def test_faster_regions(chain: Trace) -> None:
    work = chain.regions["name"].tolist().index("work")
    assert chain.faster([work], 1) == {"elapsed_ns": 620, "replayed_ns": 620}
    assert chain.faster([work], 2) == {"elapsed_ns": 620, "replayed_ns": 620 - 150 - 100}
    # Rank 1 no longer waits: it calls MPI_Recv after 100 ns.
    assert chain.faster([work], 1e9) == {"elapsed_ns": 620, "replayed_ns": 620 - 200 - 200}
    assert chain.faster("work", 2) == chain.faster(["work"], 2) == chain.faster([work], 2)
    with pytest.raises(ValueError, match="factor 0"):
        chain.faster([work], 0)
    for unknown in ("wrok", chain.regions.rows, -1):
        with pytest.raises(ValueError, match=f"{unknown!r} is no region of this trace: give rows of trace.regions, or"):
            chain.faster([work, unknown], 2)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer((1, 7, 1 << 16)[seed % 3]))
    anchor = archive(tmp_path / "a", program(seed, 2 + seed % 4, causal=True))
    trace, oracle = Trace(anchor), Waits(read(anchor.parent))
    assert critical(trace) == oracle.critical_path()
    delays, waits = trace.delays(), trace.waits()
    assert not any("before the send" in line for line in waits.caveats)
    sure = [not kind.endswith("completion") for kind in waits.kinds]
    total = waits["time_ns"][np.array(sure)[waits["kind"]]].sum()
    assert delays["direct_ns"].sum() + delays["indirect_ns"].sum() == pytest.approx(total)
    same = trace.faster([trace.regions["name"].tolist().index("work")], 1)
    assert (
        same["elapsed_ns"] == same["replayed_ns"] == trace._replay().modelled(np.zeros(delays.paths.rows, np.uint8), 0)
    )


@pytest.mark.parametrize("most", [10**6, 5])
def test_waits_call_by_call(most: int, tmp_path: Path) -> None:
    trace = Trace(archive(tmp_path / "a", program(3)))
    calls, sums = trace.call_waits(most=most), trace.waits()
    assert calls.rows <= most
    assert np.all(calls["time_ns"] <= calls["end"] - calls["begin"])
    assert np.all(calls["time_ns"] >= calls.shortest)
    if not calls.shortest:
        for kind in range(len(sums.kinds)):
            assert calls["time_ns"][calls["kind"] == kind].sum() == sums["time_ns"][sums["kind"] == kind].sum()


def rooted(op: int, *times: tuple[int, int], name: str = "MPI_Coll") -> dict[int, list[Event]]:
    """The events of ranks in an operation with root 0: begin and end of each rank's call."""
    end = ("MpiCollectiveEnd", op, 0, 0, 1, 1)
    return {
        rank: [
            (begin, "Enter", region(name)),
            (begin, "MpiCollectiveBegin"),
            (end_, *end),
            (end_, "Leave", region(name)),
        ]
        for rank, (begin, end_) in enumerate(times)
    }


def test_a_root_waits_for_the_last_rank_and_others_for_the_root(tmp_path: Path) -> None:
    """Rank 2 works 200 ns longer before a reduction. The root waits for rank 2, and rank 1 for the root in the next
    operation: rank 2 is the cause of both waits."""
    reduction = rooted(12, (100, 300), (100, 110), (300, 310))
    broadcast = rooted(1, (300, 300), (110, 300), (310, 310))
    events = {rank: works((100, 100, 300)[rank], *reduction[rank], *broadcast[rank]) for rank in range(3)}
    trace = Trace(archive(tmp_path / "a", events))
    waits = trace.waits()
    found = {(waits.kinds[one["kind"]], one["location"]): one["time_ns"] for one in waits.records()}
    assert found == {("mpi_earlyreduce", 0): 200, ("mpi_latebroadcast", 1): 190}
    assert root_causes(trace) == [(2, "work", "earlyreduce", 200, pytest.approx(190, abs=10))]


def test_a_broadcast_is_a_meeting_with_its_root(tmp_path: Path) -> None:
    """Rank 1 works 100 ns longer before a first broadcast, for which nobody waits. Its wait of 50 ns in the second one
    is for the root's work since then."""
    first = rooted(1, (100, 100), (200, 200))
    second = rooted(1, (250, 250), (200, 250))
    work = region("work")
    longer = [(100, "Enter", work), (250, "Leave", work)]
    events = {0: works(100, *first[0], *longer, *second[0]), 1: works(200, *first[1], *second[1])}
    assert root_causes(Trace(archive(tmp_path / "a", events))) == [(0, "work", "latebroadcast", 50, 0)]


@pytest.mark.parametrize(("receives", "waits"), [(320, {"MPI_Probe": 200}), (900, {})], ids=["soon", "much later"])
def test_a_probe_waits_for_the_message_that_follows(receives: int, waits: dict[str, int], tmp_path: Path) -> None:
    """Rank 1 probes for a message 200 ns before rank 0 sends it, then receives the message."""
    probe = [(100, "Enter", region("MPI_Probe")), (310, "Leave", region("MPI_Probe"))]
    events = {0: works(300, *calls(300, 310, 1)), 1: works(100, *probe, *calls(receives, receives + 5, 0, "MPI_Recv"))}
    events[1][-1] = (910, "Leave", 0)
    assert waits_of(Trace(archive(tmp_path / "a", events))) == waits


def waits_of(trace: Trace) -> dict[str, int]:
    """ns of the waits in each call of MPI."""
    table = trace.waits()
    return {named(trace, table, one["path"])[-1]: one["time_ns"] for one in table.records()}


def test_a_receive_that_waits_longer_than_the_probe_before_it(tmp_path: Path) -> None:
    """Rank 1 probes for a message with tag 7, then first receives another one, which rank 0 sends much later."""
    probe = [(100, "Enter", region("MPI_Probe")), (310, "Leave", region("MPI_Probe"))]
    receives = [*calls(312, 5010, 0, "MPI_Recv", tag=8), *calls(5012, 5015, 0, "MPI_Recv")]
    events = {0: works(300, *calls(300, 310, 1), *calls(5000, 5010, 1, tag=8)), 1: works(100, *probe, *receives)}
    for each in events.values():
        each[-1] = (5100, "Leave", 0)
    assert waits_of(Trace(archive(tmp_path / "a", events))) == {"MPI_Recv": 5000 - 312}


def matched_probe() -> list[Event]:
    """The events of a receive from rank 0 that begins in MPI_Mprobe, and ends in MPI_Mrecv."""
    probe, receive = region("MPI_Mprobe"), region("MPI_Recv")
    posts = [(100, "Enter", probe), (310, "MpiIrecvRequest", 1), (310, "Leave", probe)]
    return [*posts, (312, "Enter", receive), (315, "MpiIrecv", 0, 0, 7, 8, 1), (315, "Leave", receive)]


def test_a_matched_probe_waits_for_its_message(tmp_path: Path) -> None:
    events = {0: works(300, *calls(300, 310, 1)), 1: works(100, *matched_probe())}
    assert root_causes(Trace(archive(tmp_path / "a", events))) == [(0, "work", "latesender", 200, 0)]


def test_a_matched_probe_waits_for_one_message(tmp_path: Path) -> None:
    """Rank 1 receives another message right after that of the probe."""
    events = {
        0: works(300, *calls(300, 310, 1), *calls(500, 510, 1)),
        1: works(100, *matched_probe(), *calls(316, 510, 0, "MPI_Recv")),
    }
    assert waits_of(Trace(archive(tmp_path / "a", events))) == {"MPI_Mprobe": 200, "MPI_Recv": 500 - 316}


def polls(name: str, *begins: int) -> list[Event]:
    """Calls of 4 ns that find nothing."""
    return [each for begin in begins for each in ((begin, "Enter", region(name)), (begin + 4, "Leave", region(name)))]


@pytest.mark.parametrize(
    ("between", "waits", "in_mpi"),
    [
        (range(110, 300, 20), {"MPI_Test": 300 - 110}, 316 - 110),
        (range(110, 300, 40), {}, 6 * 4),  # 36 ns are more than 8 x 4: the program does something else
        ((110, 130, 150, 250, 270, 290), {"MPI_Test": 300 - 250}, 154 - 110 + 316 - 250),
    ],
    ids=["in a row", "now and then", "two rows"],
)
def test_polls_in_a_row_wait_for_a_message(
    between: Sequence[int], waits: dict[str, int], in_mpi: int, tmp_path: Path
) -> None:
    """Rank 1 tests a request 190 ns before rank 0 sends, again and again. The time between is no work."""
    test, post = region("MPI_Test"), region("MPI_Irecv")
    posts = [(100, "Enter", post), (101, "MpiIrecvRequest", 1), (102, "Leave", post)]
    ends = [(312, "Enter", test), (315, "MpiIrecv", 0, 0, 7, 8, 1), (316, "Leave", test)]
    events = {0: works(300, *calls(300, 310, 1)), 1: works(100, *posts, *polls("MPI_Test", *between), *ends)}
    trace = Trace(archive(tmp_path / "a", events))
    assert waits_of(trace) == waits
    assert trace.efficiencies()["useful_mean_ns"].tolist() == [(620 - 10 + 620 - 2 - in_mpi) / 2]


MS = 1_000_000


@pytest.mark.parametrize(
    ("slept", "waited", "waits"),
    [(8, 0, True), (0, 0, False), (3, 0, False), (3, 5, True), (0, 10, False)],
    ids=["asleep", "at work", "asleep for a third", "asleep but for waits for a processor", "without a processor"],
)
def test_naps_between_polls_are_a_wait(slept: int, waited: int, waits: bool, tmp_path: Path) -> None:
    """Rank 1 tests a request every 10 ms until rank 0 sends. slept, waited: ms of these 10."""
    test, post, work = region("MPI_Test"), region("MPI_Irecv"), region("work")
    begins = [at * MS for at in range(110, 300, 10)]
    send = [(300 * MS, "Leave", work), *calls(300 * MS, 301 * MS, 1)]
    receive = [
        (100 * MS, "Leave", work),
        (100 * MS, "Enter", post), (100 * MS, "MpiIrecvRequest", 1), (101 * MS, "Leave", post),
        *((at, kind, test) for at in begins for kind in ("Enter", "Leave")),
        (300 * MS, "Enter", test), (302 * MS, "MpiIrecv", 0, 0, 7, 8, 1), (303 * MS, "Leave", test),
    ]  # fmt: skip
    begin, end = [(0, "Enter", 0), (0, "Enter", work)], [(310 * MS, "Leave", 0)]
    anchor = archive(tmp_path / "a", {0: [*begin, *send, *end], 1: [*begin, *receive, *end]})
    if slept:
        asleep(anchor, *((1, at, at + slept * MS, "", ()) for at in begins))
    if waited:
        without_processor(anchor, *((1, at + slept * MS, at + 10 * MS, waited * MS) for at in begins))
    trace = Trace(anchor)
    assert waits_of(trace) == ({"MPI_Test": 190 * MS} if waits else {})
    found = [one for one in trace.diagnosis(Selection()).findings if one.kind == "imbalance"]
    assert [(one.culprit.partition(",")[0], one.loss_ns) for one in found] == [("rank 0", 190 * MS)] * waits
    assert trace.efficiencies()["useful_mean_ns"].tolist() == [(300 + 9 + 100 + 9 + 7 + (0 if waits else 190)) * MS / 2]


def test_polls_before_a_receive(tmp_path: Path) -> None:
    """Rank 1 looks for a message 190 ns before rank 0 sends, then receives the message."""
    probes = polls("MPI_Iprobe", *range(110, 315, 20))
    events = {0: works(300, *calls(300, 310, 1)), 1: works(100, *probes, *calls(318, 320, 0, "MPI_Recv"))}
    assert root_causes(Trace(archive(tmp_path / "a", events))) == [(0, "work", "latesender", 190, 0)]
