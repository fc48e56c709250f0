# SPDX-License-Identifier: BSD-3-Clause
"""Windows and groups of several processes become one definition each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from support.readers.contents import Window
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, world, write_rank
from vtrace.io.local import records as r

PROCESS_AND_MEMORY = 3


def ranks(*members: int) -> bytes:
    return np.array(members, "<u4").tobytes()


def duplicate(rank: int, size: int) -> list[Any]:
    return ["COMM", 2, r.COMM_KINDS["DUP"], 1, 0, 9, 0, size, rank, 0]


def test_windows_of_two_ranks(tmp_path: Path) -> None:
    """Equal communicator and count define one window, whatever its ids. One rank's name applies to all ranks."""
    for rank in range(2):
        one, two, three = (5, 6, 7) if rank else (1, 2, 3)
        definitions = [
            world(rank, 2), duplicate(rank, 2), ["COMM_NAME", 2, "grid"],
            ["RMA_WIN", one, 1, 0], ["RMA_WIN", two, 1, 1], ["RMA_WIN", three, 2, 0],
        ]  # fmt: skip
        if rank:
            definitions.append(["RMA_WIN_NAME", two, "halo"])
        chunk = Chunk().record("RMA_WIN_CREATE", 1, one).record("RMA_PUT", 1, two, 1 - rank, 80, 4)
        chunk.record("RMA_COMPLETE_BLOCKING", 1, two, 4).record("RMA_SYNC", 1, three, 0)
        write_rank(tmp_path, rank, 2, definitions, {0: [chunk]})
    trace = unified(tmp_path)
    assert trace.windows == {
        0: Window("window 0 of MPI_COMM_WORLD", 0), 1: Window("halo", 0), 2: Window("window 0 of grid", 1),
    }  # fmt: skip
    for rank in range(2):
        assert [(e.kind, e.attrs) for e in trace.of(rank)] == [
            ("RmaWinCreate", {"win": 0}),
            ("RmaPut", {"win": 1, "remote": 1 - rank, "bytes": 80, "matching_id": 4}),
            ("RmaOpCompleteBlocking", {"win": 1, "matching_id": 4}),
            ("RmaSync", {"win": 2, "remote": 0, "sync_type": "MEMORY"}),
        ]  # fmt: skip


def test_windows_of_devices(tmp_path: Path) -> None:
    """The peers of a device's window are locations of the process, beside MPI's windows. A thread without events is
    none: the first one stands for it."""
    for rank in range(2):
        definitions = [
            world(rank, 2), ["RMA_WIN", 1, 1, 0], ["DEVICE_WIN", 2, "CUDA_WINDOW", 5],
            ["PROPERTY", "stream.3", "CUDA[0:7]"], ["PROPERTY", "device.3", "CUDA 0"], ["PROPERTY", "lane.2", "1"],
        ]  # fmt: skip
        main = Chunk().record("RMA_WIN_CREATE", 1, 1).record("RMA_PUT", 1, 1, 1 - rank, 80, 4)
        stream = Chunk(3).record("RMA_WIN_CREATE", 1, 2)
        for matching, peer in enumerate((0, 1, 3, 9)):
            stream.record("RMA_GET", 1, 2, peer, 64, matching).record("RMA_COMPLETE_BLOCKING", 1, 2, matching)
        worker, lane = (Chunk(location).record("RMA_SYNC", 1, 1, 0) for location in (1, 2))
        write_rank(tmp_path, rank, 2, definitions, {0: [main], 1: [worker], 2: [lane], 3: [stream]})
    trace = unified(tmp_path)
    assert [window.name for window in trace.windows.values()] == ["window 0 of MPI_COMM_WORLD", *["CUDA_WINDOW"] * 2]
    for rank in range(2):
        main, worker, stream = (4 * rank + place for place in (0, 1, 3))
        members = trace.comms[trace.windows[1 + rank].comm].members
        assert members == (main, worker, stream)
        gets = [event.attrs for event in trace.of(stream) if event.kind == "RmaGet"]
        assert [(get["win"], members[get["remote"]]) for get in gets] == [
            (1 + rank, main), (1 + rank, worker), (1 + rank, stream), (1 + rank, main),
        ]  # fmt: skip
        (put,) = (event.attrs for event in trace.of(main) if event.kind == "RmaPut")
        assert (put["win"], put["remote"]) == (0, 1 - rank)


def test_groups_of_ranks(tmp_path: Path) -> None:
    """Groups arrive in pieces in any order. Equal members make one group, also if a communicator has them."""
    for rank in range(3):
        definitions = [
            world(rank, 3), ["RMA_WIN", 1, 1, 0], ["GROUP", 1, 1, 1, ranks(0)], ["GROUP", 1, 1, 0, ranks(2)],
            ["GROUP", 2, 1, 0, ranks(0, 1, 2)], ["GROUP", 3, 1, 0, ranks(2, 0)], ["GROUP", 4, 1, 0, b""],
        ]  # fmt: skip
        chunk = Chunk()
        for group in (1, 2, 3, 4):
            chunk.record("RMA_GROUP_SYNC", 1, 1, PROCESS_AND_MEMORY, group)
        write_rank(tmp_path, rank, 3, definitions, {0: [chunk]})
    trace = unified(tmp_path)
    assert trace.groups == {1: (0, 1, 2), 2: (2, 0), 3: ()}
    for rank in range(3):
        assert [e.attrs["group"] for e in trace.of(rank)] == [2, 1, 2, 3]
        assert {e.attrs["sync_level"] for e in trace.of(rank)} == {"PROCESS|MEMORY"}


def test_ranks_of_threads(tmp_path: Path) -> None:
    """Members of groups are the main threads of processes. Other threads make location numbers differ from ranks."""
    for rank in range(2):
        definitions = [world(rank, 2), ["RMA_WIN", 1, 1, 0], ["GROUP", 1, 1, 0, ranks(1)]]
        sync = Chunk().record("RMA_GROUP_SYNC", 1, 1, 0, 1)
        write_rank(tmp_path, rank, 2, definitions, {0: [sync], 1: [Chunk(1).record("RMA_COLL_BEGIN", 1)]})
    trace = unified(tmp_path)
    assert trace.groups == {1: (0, 2), 2: (2,)}
    assert trace.kinds() == {"RmaGroupSync": 2, "RmaCollectiveBegin": 2}


def test_both_sides_of_an_intercommunicator(tmp_path: Path) -> None:
    """Ranks in the remote group follow those of the first group, in windows and in groups."""
    for rank in range(2):
        definitions = [
            world(rank, 2), ["COMM", 2, r.COMM_KINDS["INTER_CREATE"], 1, 5, 8, 0, 1, 0, 1],
            ["COMM_MEMBERS", 2, 0, 0, 7, ranks(rank)], ["COMM_MEMBERS", 2, 1, 0, 7, ranks(1 - rank)],
            ["RMA_WIN", 1, 2, 0], ["GROUP", 1, 2, 0, ranks(0)],
        ]  # fmt: skip
        chunk = Chunk().record("RMA_PUT", 1, 1, 0, 8, 1).record("RMA_GROUP_SYNC", 1, 1, 0, 1)
        write_rank(tmp_path, rank, 2, definitions, {0: [chunk]})
    trace = unified(tmp_path)
    assert trace.windows[0].comm == 1
    assert trace.comms[1].members == (0, 1)
    assert [e.attrs["remote"] for e in trace.events if e.kind == "RmaPut"] == [1, 0]
    synced = {e.location: trace.groups[e.attrs["group"]] for e in trace.events if e.kind == "RmaGroupSync"}
    assert synced == {0: (1,), 1: (0,)}


def test_a_window_of_one_process(tmp_path: Path) -> None:
    definitions = [
        world(0, 1), ["COMM", 2, r.COMM_KINDS["SELF"], None, 0, 0, 0, 1, 0, 0], ["RMA_WIN", 1, 2, 0],
        ["GROUP", 1, 2, 0, ranks(0)],
    ]  # fmt: skip
    chunk = Chunk().record("RMA_GET", 1, 1, 0, 8, 1).record("RMA_GROUP_SYNC", 1, 1, 0, 1)
    write_rank(tmp_path, 0, 1, definitions, {0: [chunk]})
    trace = unified(tmp_path)
    assert trace.windows == {0: Window("window 0 of MPI_COMM_SELF", 1)}
    assert trace.comms[1].members is None
    assert trace.kinds() == {"RmaGet": 1, "RmaGroupSync": 1}
    assert trace.groups[trace.events[1].attrs["group"]] == (0,)


def test_what_is_not_defined(tmp_path: Path) -> None:
    """Records are left out if the window has an unknown communicator, a rank is out of range, or a definition is
    missing.
    """
    definitions = [
        world(0, 1), ["RMA_WIN", 1, 9, 0], ["RMA_WIN", 2, 1, 0], ["GROUP", 1, 1, 0, ranks(1)],
        ["GROUP", 2, 9, 0, ranks(0)],
    ]  # fmt: skip
    chunk = Chunk().record("RMA_GET", 1, 1, 0, 8, 1).record("RMA_GET", 1, 3, 0, 8, 1)
    for group in (1, 2, 3):
        chunk.record("RMA_GROUP_SYNC", 1, 2, 0, group)
    write_rank(tmp_path, 0, 1, definitions, {0: [chunk.record("RMA_GET", 1, 2, 0, 8, 1)]})
    trace = unified(tmp_path)
    assert [e.kind for e in trace.events] == ["RmaGet"]
    assert trace.windows == {0: Window("window 0 of MPI_COMM_WORLD", 0)}


def test_without_mpi(tmp_path: Path) -> None:
    chunk = Chunk().record("RMA_GET", 1, 1, 0, 8, 1).record("RMA_COLL_BEGIN", 1)
    write_rank(tmp_path, 0, 1, [["RMA_WIN", 1, 1, 0], ["GROUP", 1, 1, 0, ranks(0)]], {0: [chunk]}, world=0)
    trace = unified(tmp_path)
    assert (trace.windows, trace.groups, trace.kinds()) == ({}, {}, {"RmaCollectiveBegin": 1})
