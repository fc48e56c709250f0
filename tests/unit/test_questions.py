# SPDX-License-Identifier: BSD-3-Clause
"""Answers about synthetic archives: matching of messages and collectives, independent of the size of batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.questions import messages
from vtrace.analysis.questions.collectives import Collectives
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer

IO_READ = 0


def made(where: Path, events: dict[int, list[tuple[Any, ...]]]) -> Trace:
    """An archive of these events by rank, with MPI_COMM_WORLD as communicator 0, a handle and the heap's attributes."""
    archive = Foreign(where)
    for rank, each in events.items():
        archive.events(rank, each)
    archive.begin_definitions()
    archive.machine(groups=len(events), length=100)
    for rank in events:
        archive.location(rank, rank)
    archive.region(0, "main")
    archive.region(1, "malloc", 35, 22)
    archive.define("Group", 0, "", 4, 4, 0, list(events))
    archive.define("Group", 1, "", 5, 4, 0, list(range(len(events))))
    archive.define("Comm", 0, "MPI_COMM_WORLD", 1, UNDEFINED, 0)
    archive.define("IoHandle", 0, "file", UNDEFINED, 0, 0, UNDEFINED, UNDEFINED)
    for number, name in enumerate(("ALLOCATION_SIZE", "DEALLOCATION_SIZE", "RESULT_ADDRESS")):
        archive.define("Attribute", number, name, "", 4)
    return Trace(archive.close())


def test_messages_of_many_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locations are matched together or one after the other: a request's number means another post on each of them."""
    post, receive = (1, "MpiIrecvRequest", 5), (20, "MpiIrecv", 0, 0, 7, 10, 5)
    sends = [(2 + n, "MpiSend", rank, 0, 7, 10 * n) for rank in (1, 2, 3) for n in (1, 2)]
    later = (10, "MpiRecv", 0, 0, 7, 20)
    events = {0: sorted(sends), 1: [post, later, receive], 2: [later, (11, *post[1:]), receive], 3: [post, receive]}
    found = []
    for number, many in enumerate((1, 4, 1 << 16)):
        monkeypatch.setattr(messages, "_MANY", many)
        table = made(tmp_path / f"{number}", events).messages()
        pairs = zip(table["receiver"].tolist(), table["send"].tolist(), table["receive"].tolist(), strict=True)
        found.append([*sorted(pairs), table.unmatched_sends])
    assert found == 3 * [[(1, 3, 20), (1, 4, 10), (2, 3, 10), (2, 4, 20), (3, 3, 20), 1]]


@pytest.mark.parametrize(("most", "operations"), [(None, 2), (3, 2), (2, 0)])
def test_too_many_collective_operations(tmp_path: Path, most: int | None, operations: int) -> None:
    begin = (1, "MpiCollectiveBegin")
    ends = [(4, "MpiCollectiveEnd", 0, 0, 0, 8, 8), (9, "MpiCollectiveEnd", 0, 0, 0, 8, 8)]
    trace = made(tmp_path / "a", {0: [begin, ends[0], (5, begin[1]), ends[1]], 1: [begin, ends[0]]})
    question = Collectives(most)
    trace.scan([question])
    instances, participants = question.answer()
    assert (instances.rows, participants.rows) == (operations, 3 if operations else 0)


@pytest.fixture(params=[1, 2, 3, 1 << 16])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes read events in batches of the parameter's size."""
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(request.param))


@pytest.mark.usefixtures("batches")
def test_receives_take_their_turn_when_they_are_posted(tmp_path: Path) -> None:
    sends = [(1, "MpiSend", 1, 0, 7, 10), (2, "MpiIsend", 1, 0, 7, 20, 1), (3, "MpiSend", 1, 0, 7, 30)]
    receives = [
        (4, "MpiIrecvRequest", 1), (5, "MpiIrecvRequest", 2), (6, "MpiRecv", 0, 0, 7, 30),
        (7, "MpiIrecv", 0, 0, 7, 20, 2), (8, "MpiIrecv", 0, 0, 7, 10, 1),
    ]  # fmt: skip
    again = [(10, "MpiIrecvRequest", 1), (12, "MpiIrecv", 0, 0, 7, 40, 1)]  # a request's number may be used again
    trace = made(tmp_path / "a", {0: [*sends, (11, "MpiSend", 1, 0, 7, 40)], 1: [*receives, *again]})
    table = trace.messages()
    found = zip(table["send"].tolist(), table["receive"].tolist(), table["bytes"].tolist(), strict=True)
    assert list(found) == [(1, 8, 10), (2, 7, 20), (3, 6, 30), (11, 12, 40)]
    assert (table.unmatched_sends, table.unmatched_receives) == (0, 0)
    late = trace.messages(start=8)
    assert (late["send"].tolist(), late.unmatched_sends) == ([1, 11], 0)
    few = trace.messages(most=2)
    assert few.rows <= 2
    assert few.share > 1
    assert (few.unmatched_sends, few.unmatched_receives) == (0, 0)


@pytest.mark.usefixtures("batches")
def test_operations_end_when_they_end(tmp_path: Path) -> None:
    events = [
        (1, "IoOperationBegin", 0, IO_READ, 0, 100, 5), (2, "IoOperationBegin", 0, IO_READ, 0, 100, 6),
        (5, "IoOperationComplete", 0, 70, 6), (9, "IoOperationComplete", 0, 100, 5),
        (10, "IoOperationBegin", 0, IO_READ, 0, 100, 5), (12, "IoOperationCancelled", 0, 5),
        (13, "IoOperationComplete", 0, 8, 5), (14, "IoOperationBegin", 0, 1, 0, 1, 9),
    ]  # fmt: skip
    (row,) = made(tmp_path / "a", {0: events}).io().records()
    assert {name: value for name, value in row.items() if value and name not in ("file", "layer")} == {
        "reads": 2, "bytes_read": 170, "read_ns": 3 + 8 + 2, "cancelled": 1
    }  # fmt: skip


@pytest.mark.usefixtures("batches")
def test_collectives_in_the_order_of_their_begins(tmp_path: Path) -> None:
    first = [
        (1, "NonBlockingCollectiveRequest", 3), (2, "MpiCollectiveBegin"),
        (4, "MpiCollectiveEnd", 0, 0, UNDEFINED, 0, 0), (6, "NonBlockingCollectiveComplete", 1, 0, 0, 8, 9, 3),
    ]  # fmt: skip
    second = [
        (1, "NonBlockingCollectiveRequest", 3), (2, "NonBlockingCollectiveComplete", 1, 0, 0, 8, 9, 3),
        (3, "MpiCollectiveBegin"), (7, "MpiCollectiveEnd", 0, 0, UNDEFINED, 0, 0),
    ]  # fmt: skip
    trace = made(tmp_path / "a", {0: first, 1: second})
    instances, parts = trace.collectives()
    names = ("op", "root", "begin", "last_begin", "first_end", "end", "locations", "sent")
    assert list(zip(*(instances[name].tolist() for name in names), strict=True)) == [
        (1, 0, 1, 1, 2, 6, 2, 16), (0, -1, 2, 3, 4, 7, 2, 0)
    ]  # fmt: skip
    assert sorted(zip(parts["instance"].tolist(), parts["begin"].tolist(), parts["end"].tolist(), strict=True)) == [
        (0, 1, 2), (0, 1, 6), (1, 2, 4), (1, 3, 7)
    ]  # fmt: skip
    assert trace.collective_totals()["ns"].tolist() == [2, 5, 4, 1]


@pytest.mark.usefixtures("batches")
def test_allocations_that_got_nothing(tmp_path: Path) -> None:
    events = [(0, "Enter", 0)]
    for time, size, address in ((1, 100, 4096), (3, 2**63, 0), (5, 7, 8192)):
        events += [(time, "Enter", 1, {0: size}), (time + 1, "Leave", 1, {2: address})]  # type: ignore[list-item]
    trace = made(tmp_path / "a", {0: [*events, (9, "Leave", 0)]})
    (row,) = trace.allocations().records()
    assert row == {
        "location": 0, "region": 1, "caller": 0, "allocations": 2, "allocated": 107, "frees": 0, "freed": 0, "failed": 1
    }  # fmt: skip
    tree, table = trace.call_tree()
    assert table["calls"].tolist() == [1, 3]
    assert tree["region"].tolist() == [-1, 0, 1]
    assert trace.slices()["depth"].tolist() == [0, 1, 1, 1]


def test_unknown_bytes_enter_no_sum(tmp_path: Path) -> None:
    """2**64 - 1 is OTF2's value for an unknown size."""
    unknown = 2**64 - 1
    events = [
        (1, "MpiSend", 0, 0, 7, 10), (2, "MpiSend", 0, 0, 7, unknown), (3, "MpiCollectiveBegin"),
        (4, "MpiCollectiveEnd", 0, 0, 0, unknown, 5),
    ]  # fmt: skip
    trace = made(tmp_path / "a", {0: events})
    assert trace.message_matrix().table()["bytes"].tolist() == [10]
    totals = trace.collective_totals()
    assert (totals["sent"].tolist(), totals["received"].tolist()) == ([0], [5])
    assert sorted(trace.messages()["bytes"].tolist()) in ([], [0, 10])
