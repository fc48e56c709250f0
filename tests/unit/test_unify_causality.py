# SPDX-License-Identifier: BSD-3-Clause
"""The order that MPI implies: small runs on wrong clocks, with times after the repair that are known to the ns."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from support.synthetic_runs.wrong_clocks import Ranks, TimedRecord, repair_of, times
from vtrace.io.local.records import COMM_KINDS, FROM_ALL

LATE = 1000
"""The clocks of all ranks but the first are behind by this many ns, so messages seem to arrive before their send."""


def send(time: int, peer: int, *, tag: int = 7, request: int = 0) -> TimedRecord:
    return (time, "ISEND", 1, peer | tag << 32, 8, request) if request else (time, "SEND", 1, peer | tag << 32, 8)


def receive(time: int, peer: int, *, tag: int = 7) -> TimedRecord:
    return (time, "RECV", 1, peer | tag << 32, 8)


@pytest.mark.parametrize("thread", [0, 1])
def test_a_cancelled_send_has_no_place_in_the_queue(tmp_path: Path, thread: int) -> None:
    """MPI 4.0, 3.8.4: a send is either cancelled or received. thread: the thread that waits for the request."""
    main = [send(100, 1, request=5), (300, "REQUEST_CANCELLED", 0, 5), send(400, 1), send(5000, 1)]
    sender = {0: main}
    if thread:
        sender = {0: [r for r in main if r[1] != "REQUEST_CANCELLED"], 1: [(300, "REQUEST_CANCELLED", 0, 5)]}
    run = Ranks(tmp_path, [sender, {0: [receive(500, 0), receive(5100, 0)]}], [0, -LATE])
    # The send at 5000 matches the second receive. If the cancelled send took a place, the one at 400 would match it.
    after = run.unified()
    got = times(after, "MpiRecv")
    assert repair_of(after)["unsure"] == repair_of(after)["left"] == 0
    assert repair_of(after)["reversed_messages"] == repair_of(after)["messages"] == 2
    (arrived,) = got.values()
    sent = times(after, "MpiSend")[0]
    assert [a - s for a, s in zip(arrived, sent, strict=True)] == [1, 1]


NO_ROOT = 0xFFFFFFFF << 32
ALLGATHER, ALLTOALL, ALLTOALLV, ALLTOALLW, SCAN, EXSCAN = 6, 8, 9, 10, 14, 15


def collective(begin: int, end: int, op: int, sent: int = 8, received: int = 8) -> list[TimedRecord]:
    return [(begin, "COLL_BEGIN", 0), (end, "COLL_END", 1, op | NO_ROOT, sent, received)]


@pytest.mark.parametrize(("op", "nonblocking"), [(SCAN, False), (EXSCAN, False), (SCAN, True)])
def test_a_prefix_waits_for_lower_ranks(tmp_path: Path, op: int, nonblocking: bool) -> None:
    """MPI 4.0, 6.11: rank i gets data of ranks 0 to i (Exscan: to i - 1), and none of higher ranks."""
    begins, ends = [4000, 1000, 8000], [4500, 5000, 9000]
    ranks: list[dict[int, list[TimedRecord]]] = []
    for rank, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        received = 8 * (rank + (op == SCAN))
        if nonblocking:
            done = (end, "COLL_COMPLETE", 1, op | NO_ROOT, 8, received, 3)
            ranks.append({0: [(begin, "COLL_REQUEST", 0, 3), done]})
        else:
            ranks.append({0: collective(begin, end, op, 8, received)})
    run = Ranks(tmp_path, ranks, [0, -2000, -2000])
    before, after = run.unified(repair=False), run.unified()
    kind = "NonBlockingCollectiveComplete" if nonblocking else "MpiCollectiveEnd"
    # By its clock, rank 1 begins at -1000 and ends at 3000, before rank 0 begins at 4000. Rank 2's times are correct.
    was, now = (dict(sorted(times(trace, kind).items())) for trace in (before, after))
    assert [t[0] - was[0][0] for t in was.values()] == [0, -1500, 2500]
    assert [t[0] - now[0][0] for t in now.values()] == [0, 4001 - 4500, 2500]
    found = repair_of(after)
    assert (found["reversed_collectives"], found["left"], found["unsure"]) == (1, 0, 0)
    assert found["largest_ns"] == 1001


def test_each_prefix_waits_for_lower_ranks(tmp_path: Path) -> None:
    """The second prefix operation of a communicator also waits for lower ranks."""
    first = [collective(1000 * (rank + 1), 5000, SCAN) for rank in range(2)]
    second = [collective(9000, 9500, SCAN), collective(8000, 9600, SCAN)]
    run = Ranks(tmp_path, [{0: [*a, *b]} for a, b in zip(first, second, strict=True)], [0, -LATE])
    after = run.unified()
    ends = times(after, "MpiCollectiveEnd")
    assert [ends[1][i] - ends[0][i] for i in range(2)] == [5000 - LATE - 5000, 9001 - 9500]
    assert (repair_of(after)["reversed_collectives"], repair_of(after)["unsure"]) == (1, 0)


def three(tmp_path: Path, op: int, flags: list[int], *definitions: list[object], nonblocking: bool = False) -> Ranks:
    """One operation by three ranks with a clock each. By their clocks, rank 1 ends at 3000 and rank 2 at 3500, before
    rank 0 begins at 4000.
    """
    begins, ends = [4000, 1000, 1500], [4500, 5000, 5500]
    ranks: list[dict[int, list[TimedRecord]]] = []
    for begin, end, flag in zip(begins, ends, flags, strict=True):
        done = (end, "COLL_COMPLETE" if nonblocking else "COLL_END", 1, op | flag | NO_ROOT, 8, 8)
        begun = (begin, "COLL_REQUEST", 0, 3) if nonblocking else (begin, "COLL_BEGIN", 0)
        ranks.append({0: [begun, (*done, 3) if nonblocking else done]})
    return Ranks(tmp_path, ranks, [0, -2000, -2000], *definitions)


@pytest.mark.parametrize(
    ("op", "flags", "topology", "nonblocking"),
    [
        (ALLTOALLV, [0, FROM_ALL, FROM_ALL], False, False), (ALLTOALLV, [FROM_ALL, FROM_ALL, 0], False, False),
        (ALLTOALLV, [FROM_ALL, 0, FROM_ALL], False, True), (ALLTOALLV, [0, 0, 0], False, False),
        (ALLTOALLW, [FROM_ALL] * 3, False, False), (ALLTOALLW, [FROM_ALL, 0, 0], True, False),
        (ALLGATHER, [0, 0, 0], False, False), (ALLGATHER, [0, 0, 0], True, False),
        (ALLTOALL, [FROM_ALL, FROM_ALL, 0], True, False),
    ],
)  # fmt: skip
def test_who_gets_something_from_all_waits_for_all(
    tmp_path: Path, op: int, flags: list[int], topology: bool, nonblocking: bool
) -> None:
    """Counts may be 0, and an operation may be restricted to neighbours. FROM_ALL of the shim excludes both."""
    grid = [["COMM", 1, COMM_KINDS["CART"], None, 0, 9, 0, 3, 0, 0]] if topology else []
    after = three(tmp_path, op, flags, *grid, nonblocking=nonblocking).unified()
    ends = times(after, "NonBlockingCollectiveComplete" if nonblocking else "MpiCollectiveEnd")
    waits = [bool(flag) or (op == ALLGATHER and not topology) for flag in flags]
    early = [0, 3000 - 4500, 3500 - 4500]
    assert [ends[rank][0] - ends[0][0] for rank in range(3)] == [
        4001 - 4500 if wait and rank else shown for rank, (wait, shown) in enumerate(zip(waits, early, strict=True))
    ]
    found = repair_of(after)
    assert (found["reversed_collectives"], found["collectives"]) == (sum(waits[1:]), 3)
    assert (found["left"], found["unsure"]) == (0, 0)


@pytest.mark.parametrize("thread", [0, 1])
def test_messages_of_the_user_api(tmp_path: Path, thread: int) -> None:
    """A message arrives after its send, on any thread; two ranks may use one communicator and tag."""
    queue: list[object] = ["USER_COMM", 4, "queue"]
    sends: list[TimedRecord] = [(100, "USER_SEND", 4, 9, 8), (3000, "USER_SEND", 4, 9, 8)]
    gets: list[TimedRecord] = [(500, "USER_RECV", 4, 9, 8), (3500, "USER_RECV", 4, 9, 8)]
    receiver: dict[int, list[TimedRecord]] = {0: [(0, "COMM_CREATE", 1)], 1: gets} if thread else {0: gets}
    run = Ranks(tmp_path, [{0: sends}, receiver], [0, -LATE], queue)
    after = run.unified()
    ((got),) = times(after, "MpiRecv").values()
    assert [a - s for a, s in zip(got, times(after, "MpiSend")[0], strict=True)] == [1, 99]
    found = repair_of(after)
    assert (found["reversed_messages"], found["messages"], found["left"], found["unsure"]) == (2, 2, 0, 0)


def fence(begin: int, end: int, op: int = 0) -> list[TimedRecord]:
    return [(begin, "RMA_COLL_BEGIN", 0), (end, "RMA_COLL_END", 2, op | NO_ROOT, 3, 0, 0)]


@pytest.mark.parametrize(("put", "closes"), [(True, False), (False, False), (False, True)])
def test_fences_and_the_ends_of_windows(tmp_path: Path, put: bool, closes: bool) -> None:
    """MPI 4.0, 12.5.1: a fence after operations ends when all ranks have begun it; a fence without operations need not
    wait. 12.2.5: no rank returns from MPI_Win_free until all ranks have called MPI_Win_free.
    """
    operations: list[TimedRecord] = [(1500, "RMA_PUT", 2, 0, 8, 1), (1600, "RMA_COMPLETE_REMOTE", 2, 1)] if put else []
    origin = [*fence(1000, 1400), *operations, *fence(2000, 3100, 22 if closes else 0)]
    target = [*fence(1000, 1400), *fence(3000, 3200, 22 if closes else 0)]
    run = Ranks(tmp_path, [{0: target}, {0: origin}], [0, -LATE], ["RMA_WIN", 2, 1, 0])
    after = run.unified()
    ends = times(after, "RmaCollectiveEnd")
    # By its clock, the origin ends the second fence at 2100, 900 ns before the target begins it.
    assert ends[0][1] - ends[1][1] == (3200 - 3001 if put or closes else 3200 - 2100)
    found = repair_of(after)
    assert (found["collectives"], found["reversed_collectives"], found["left"]) == (4, int(put or closes), 0)


def test_threads_of_a_process_move_together(tmp_path: Path) -> None:
    """The threads of a process read one clock, so the repair keeps the order of their events."""
    threads: dict[int, list[TimedRecord]] = {n: [] for n in range(3)}
    for i in range(300):
        kind = "ENTER" if i % 6 < 3 else "LEAVE"
        threads[i % 3].append((100 * i, kind, 5))
    got = [receive(10_030, 0), receive(20_030, 0)]
    threads[1] = sorted([*threads[1], *got])
    sender = {0: [send(10_000, 1), send(20_000, 1)]}
    run = Ranks(tmp_path, [sender, threads], [0, -5000], ["REGION", 5, "work", 1, 1, None, 0])
    before, after = run.unified(repair=False), run.unified()
    assert repair_of(after)["reversed_messages"] == 2
    pairs = []
    for location in (1, 2, 3):
        old, new = ([e.time - t.offset for e in t.of(location)] for t in (before, after))
        pairs += list(zip(old, new, strict=True))
    pairs.sort()
    assert all(b[1] >= a[1] for a, b in pairwise(pairs))
    assert max(new - old for old, new in pairs) == repair_of(after)["largest_ns"] == 5000 - 30 + 1
