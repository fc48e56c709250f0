# SPDX-License-Identifier: BSD-3-Clause
"""vtunify merges records of the user API by ranks, threads and forked children."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.oracles.check import check
from support.oracles.user_api import defined, story
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, world, write_child, write_rank
from vtrace.io.local import records as r

SEND, RECV = "USER_SEND", "USER_RECV"
QUEUE: list[Any] = ["USER_COMM", 1, "queue"]
OTHER: list[Any] = ["USER_COMM", 2, "other"]


def chunk(*records: tuple[Any, ...], location: int = 0, ticks: int = 1000) -> Chunk:
    made = Chunk(location, 0, ticks)
    for kind, delta, number, *payload in records:
        made.record(kind, delta, number, *payload)
    return made


def test_messages_between_ranks_and_threads(tmp_path: Path) -> None:
    """Equal names define one communicator, whatever its ids. Its members are the locations that use it."""
    first = chunk((SEND, 1, 1, 5, 80), (SEND, 1, 1, 6, 90), (RECV, 100, 2, 5, 1))
    thread = chunk((SEND, 10, 2, 5, 1), location=1)
    second = chunk((RECV, 50, 7, 6, 90), (RECV, 1, 7, 5, 80))
    write_rank(tmp_path, 0, 2, [world(0, 2), QUEUE, OTHER], {0: [first], 1: [thread]})
    write_rank(tmp_path, 1, 2, [world(1, 2), ["USER_COMM", 7, "queue"]], {0: [second]})
    trace = unified(tmp_path)
    check(trace.path)
    by_name = {comm.name: comm.members for comm in trace.comms.values()}
    assert by_name["queue"] == (0, 2)
    assert by_name["other"] == (0, 1)
    assert story(trace, 0) == ["MpiSend queue 1 5 80", "MpiSend queue 1 6 90", "MpiRecv other 1 5 1"]
    assert story(trace, 1) == ["MpiSend other 0 5 1"]
    assert story(trace, 2) == ["MpiRecv queue 0 6 90", "MpiRecv queue 0 5 80"]


def test_a_tag_that_is_used_again(tmp_path: Path) -> None:
    """Sends and receives with one tag match in the order of time. Unmatched records are left out."""
    write_rank(tmp_path, 0, 3, [world(0, 3), QUEUE], {0: [chunk((SEND, 30, 1, 1, 10), (SEND, 20, 1, 1, 20))]})
    write_rank(tmp_path, 1, 3, [world(1, 3), QUEUE], {0: [chunk((SEND, 40, 1, 1, 30))]})
    write_rank(tmp_path, 2, 3, [world(2, 3), QUEUE], {0: [chunk((RECV, 60, 1, 1, 10), (RECV, 1, 1, 1, 30))]})
    trace = unified(tmp_path)
    assert story(trace, 0) == ["MpiSend queue 2 1 10"]
    assert story(trace, 1) == ["MpiSend queue 2 1 30"]
    assert story(trace, 2) == ["MpiRecv queue 0 1 10", "MpiRecv queue 1 1 30"]
    assert json.loads(trace.properties["VTRACE::USER"]) == {"unmatched": 1}


def test_nobody_receives(tmp_path: Path) -> None:
    """The archive defines no communicator for sends without a receive, nor for an undefined one."""
    sent = chunk((SEND, 1, 1, 5, 80), (SEND, 1, 9, 5, 80), (RECV, 1, 9, 5, 80))
    write_rank(tmp_path, 0, 1, [world(0, 1), QUEUE], {0: [sent]})
    trace = unified(tmp_path)
    assert story(trace, 0) == []
    assert [comm.name for comm in trace.comms.values()] == ["MPI_COMM_WORLD"]


def test_children_and_parents(tmp_path: Path) -> None:
    """A forked child uses its parent's ids of texts, markers, communicators and groups."""
    known: list[list[Any]] = [
        world(0, 1), QUEUE, ["TEXT", 1, "here"], ["MARKER", 1, "place", 1], ["NOTE", "once"],
        ["REGION", 4, "work", 1, 1, "a.c", 3], ["MEMBER", r.DEFINITIONS["REGION"], 4, "parts"],
    ]  # fmt: skip
    parent = chunk((SEND, 1, 1, 3, 8), ("MARKER", 1, 1, 1), ("ENTER", 1, 4), ("LEAVE", 1, 4))
    child = chunk(("ENTER", 1, 4), (RECV, 10, 1, 3, 8), ("MARKER", 1, 1, 1), ("COMMENT", 1, 0, 1), ("LEAVE", 1, 4))
    write_rank(tmp_path, 0, 1, known, {0: [parent]})
    write_child(tmp_path, 100, [], child)
    trace = unified(tmp_path)
    check(trace.path)
    assert story(trace, 1) == ["+work", "MpiRecv queue 0 3 8", "-work"]
    assert sorted((m.category, m.text, m.scope) for m in trace.markers) == [
        ("comment", "here", "LOCATION:1"), ("place", "here", "LOCATION:0"), ("place", "here", "LOCATION:1")
    ]  # fmt: skip
    assert defined(trace.path).groups == {"parts": ("REGIONS", ["work"])}
    assert json.loads(trace.properties["VTRACE::USER"]) == {"comments": ["once"]}


def test_marks_of_unknown_things(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, 1, [world(0, 1)], {0: [chunk(("MARKER", 1, 5, 5), ("COMMENT", 1, 0, 5))]})
    trace = unified(tmp_path)
    assert sorted((m.category, m.text) for m in trace.markers) == [("?", "?"), ("comment", "?")]


def test_a_rewind_is_a_gap(tmp_path: Path) -> None:
    """A rewound interval counts as recording off, but not twice if recording was off already."""
    rewound = chunk(("REWIND_MARK", 10, 0), ("REWOUND", 0, 0, 40), ("OFF", 60, 0), ("REWOUND", 5, 0, 4), ("ON", 20, 0))
    write_rank(tmp_path, 0, 1, [world(0, 1)], {0: [rewound]})
    trace = unified(tmp_path)
    assert story(trace, 0) == ["OFF", "ON", "OFF", "ON"]
    times = [event.time for event in trace.of(0)]
    assert times[1] - times[0] > 0
    off = json.loads(trace.properties["VTRACE::COVERAGE"])["off"]
    assert round(off * 1e9) == times[1] - times[0] + times[3] - times[2]
