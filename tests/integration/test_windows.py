# SPDX-License-Identifier: BSD-3-Clause
"""The single events of windows agree with a slow computation from all events, for any start of the window."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_tiles import MANY_BINS, one_archive, opened, some_archive

import vtrace
from support.build.builder import Builder
from support.oracles import slow_window
from support.oracles.slow import FLUSH
from support.readers.archive import Trace, read
from vtrace.analysis.trace import Trace as Opened
from vtrace.io.archive.batches import BatchBuffer
from vtrace.timeline.window_events import WindowEvents
from vtrace.timeline.window_reader import WindowReader

ARCHIVES = ("mpi_messages", "scorep-heat2d", "scorep-sampling", 1, MANY_BINS)
SENDS = {"MpiSend", "MpiIsend"}
RECEIVES = {"MpiRecv", "MpiIrecv"}
ENDS = {"MpiCollectiveEnd", "NonBlockingCollectiveComplete"}
CALLS = ("begin", "end", "region", "depth", "exclusive", "number", "flags")


@pytest.fixture(scope="module", params=ARCHIVES)
def anchor(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_archive(request.param, build, tmp_path_factory.mktemp("windows"))


def windows(duration: int, seed: int) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    found = [(0, duration + 1), (0, 1), (duration, duration + 10)]
    for _ in range(8):
        start = draw.randrange(duration + 1)
        found.append((start, start + 1 + draw.randrange(max(1, duration // draw.choice([1, 10, 1000, 10**6])))))
    return found


def region_ids(trace: Opened) -> dict[int, int]:
    """OTF2's ids by row."""
    ids = trace.regions["id"].tolist()
    return {row: FLUSH if row == trace.definitions.flush_region else number for row, number in enumerate(ids)}


def check_events(trace: Opened, slow: Trace, found: WindowEvents, row: int, start: int, stop: int) -> int:
    """The messages, collective operations, metrics and samples of a location. Returns their number."""
    events = [
        (number, event, slow_window.ns(slow, event.time))
        for number, event in enumerate(slow.of(int(trace.locations["id"][row])), 1)
    ]
    inside = [each for each in events if start <= each[2] < stop]
    sent = [(n, time, 1) for n, event, time in inside if event.kind in SENDS]
    received = [(n, time, 0) for n, event, time in inside if event.kind in RECEIVES]
    messages = found.messages.take(found.messages["location"] == row)
    columns = (messages[name].tolist() for name in ("number", "time", "sent"))
    assert sorted(zip(*columns, strict=True)) == sorted(sent + received)
    by_number = {n: event for n, event, _ in inside}
    for number, tag, size in zip(*(messages[name].tolist() for name in ("number", "tag", "bytes")), strict=True):
        assert (by_number[number].attrs["msg_tag"], by_number[number].attrs["msg_length"]) == (tag, size)
    ends = [(n, time) for n, event, time in inside if event.kind in ENDS]
    collectives = found.collectives.take(found.collectives["location"] == row)
    assert list(zip(collectives["number"].tolist(), collectives["end"].tolist(), strict=True)) == ends
    begins = [(n, time) for n, event, time in events if event.kind == "MpiCollectiveBegin"]
    for number, begin in zip(collectives["number"].tolist(), collectives["begin"].tolist(), strict=True):
        if by_number[number].kind == "MpiCollectiveEnd":
            assert begin == max((time for n, time in begins if n < number), default=begin)
    for kind, table in (("Metric", found.metrics), ("CallingContextSample", found.samples)):
        mine = table["number"][table["location"] == row].tolist()
        assert sorted(set(mine)) == [n for n, event, _ in inside if event.kind == kind]
    return len(inside)


def test_windows(anchor: Path) -> None:
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    reader = WindowReader(trace, opened(trace))
    ids = region_ids(trace)
    calls = [slow_window.whole_calls(slow, location) for location in trace.locations["id"].tolist()]
    for start, stop in windows(trace.duration, 7):
        found = reader.window(range(trace.locations.rows), start, stop)
        assert not found.skipped
        for row, known in enumerate(calls):
            mine = found.calls.take(found.calls["location"] == row)
            got = [tuple(each) for each in zip(*(mine[name].tolist() for name in CALLS), strict=True)]
            got = [(*each[:2], ids[each[2]], *each[3:]) for each in got]
            touched = slow_window.rows(known, start, stop)
            assert got == touched
            check_events(trace, slow, found, row, start, stop)
    reader.close()


def test_whole_calls(anchor: Path) -> None:
    """Each call by the number of its Enter, wherever it ends."""
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    reader, ids, draw = WindowReader(trace, opened(trace)), region_ids(trace), random.Random(3)
    for row, location in enumerate(trace.locations["id"].tolist()):
        known = slow_window.whole_calls(slow, location)
        for call in draw.sample(known, min(10, len(known))):
            found = reader.whole(row, call.number)
            if call.end == slow_window.NEVER:
                assert found is None
                continue
            assert found
            got = (found["begin"], found["end"], ids[found["region"]], found["depth"], found["exclusive"])
            assert got == (call.begin, call.end, call.region, call.depth, call.exclusive())
        assert reader.whole(row, len(slow.of(location)) + 9) is None
    reader.close()


@pytest.mark.parametrize("size", [1, 7, 500])
def test_checkpoints_of_any_distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Windows are the same without tiles, where a location is read from its start."""
    path = some_archive(tmp_path / "a.trace", MANY_BINS)
    trace = vtrace.open(path)
    with monkeypatch.context() as patched:
        patched.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(size))
        with_tiles = WindowReader(trace, opened(trace))
    without = WindowReader(trace, None)
    rows = range(trace.locations.rows)
    for start, stop in windows(trace.duration, size):
        first, second = (reader.window(rows, start, stop) for reader in (with_tiles, without))
        for name in ("calls", "messages", "collectives", "metrics", "samples"):
            mine, theirs = getattr(first, name), getattr(second, name)
            assert {k: v.tolist() for k, v in mine.items()} == {k: v.tolist() for k, v in theirs.items()}
    assert with_tiles.window(rows, 0, trace.duration, limit=10).skipped == [1, 2]


def test_a_limit_of_blocks_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are the same when blocks of checkpoints are dropped and read again."""
    trace = vtrace.open(some_archive(tmp_path / "a.trace", MANY_BINS))
    tiles = opened(trace)
    unlimited = WindowReader(trace, opened(trace))
    monkeypatch.setattr("vtrace.io.sidecar.tile_file._KEPT_BLOCKS", 1)
    limited, rows = WindowReader(trace, tiles), range(trace.locations.rows)
    for start, stop in windows(trace.duration, 5):
        first, second = (reader.window(rows, start, stop).calls for reader in (limited, unlimited))
        assert {k: v.tolist() for k, v in first.items()} == {k: v.tolist() for k, v in second.items()}
    assert len(tiles._blocks) == 1
    assert tiles._bytes_of_blocks == sum(block.nbytes for block in tiles._blocks.values())
