# SPDX-License-Identifier: BSD-3-Clause
"""Each kind of record as OTF2 events."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.synthetic_runs.transcoding import MPI, brief, chunk, transcode
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel


def test_functions_and_regions(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1, 10).record("ENTER", 5, 2).record("ENTER_ADDRESS", 1, 0, 0x7003)
    c.record("LEAVE_ADDRESS", 1, 0, 0x7003).record("LEAVE", 0, 2).leave(1, 4)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "10E1 15E2 16E3 17L3 17L2 21L1"
    assert (result.unmapped, result.closed, result.stray_leaves, result.clamped) == (0, 0, 0, 0)


def test_what_is_not_mapped_becomes_the_unknown_region(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(77).record("ENTER", 0, 99).record("ENTER_ADDRESS", 0, 0, 5).record("ENTER", 0, 0)
    c.record("LEAVE", 1, 0).record("LEAVE_ADDRESS", 0, 0, 5).record("LEAVE", 0, 99).leave(77)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "0E0 0E0 0E0 0E0 1L0 1L0 1L0 1L0"
    assert result.unmapped == 4


def test_leaves_pop_to_their_enter(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1).enter(2).enter(3).enter(2).leave(5, 1).leave(3, 1).leave(1, 1).leave(1, 1)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "0E1 0E2 0E3 0E2 2L2 2L3 3L2 3L1"
    assert (result.stray_leaves, result.closed) == (2, 0)


def test_a_function_a_region_and_an_address_of_equal_number_differ(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1).record("LEAVE", 0, 1).record("LEAVE_ADDRESS", 0, 0, 1).leave(1)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "0E1 0L1"
    assert result.stray_leaves == 2


def test_open_regions_end_with_the_location(tmp_path: Path, kernel: Kernel) -> None:
    events, result = transcode(tmp_path, kernel, [chunk().enter(1, 1).enter(2, 1).leave(7, 5)])
    assert brief(events) == "1E1 2E2 7L2 7L1"
    assert (result.closed, result.last_ns) == (2, 7)


def test_another_thread_closes_the_regions(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1, 1).enter(2, 1).record("THREAD", 3, 0, 4711).enter(3, 1).leave(3, 1)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "1E1 2E2 5L2 5L1 6E3 7L3"
    assert result.closed == 2


def test_many_open_regions(tmp_path: Path, kernel: Kernel) -> None:
    chunks = [chunk(n) for n in range(3)]
    for c in chunks:
        for _ in range(2000):
            c.enter(1)
    chunks[2].leave(9, 1).leave(1)
    events, result = transcode(tmp_path, kernel, chunks)
    assert len(events) == 12000
    assert (result.closed, result.stray_leaves) == (5999, 1)


def test_mpi(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk()
    for kind, identifier, payload, _, _ in MPI:
        c.record(kind, 1, identifier, *payload)
    events, result = transcode(tmp_path, kernel, [c])
    assert [(e.time, e.kind, e.attrs) for e in events] == [(n, m[3], m[4]) for n, m in enumerate(MPI, 1)]
    assert result.unmapped == 0
    covered = {kind for kind, *_ in MPI}
    classes = r.CLASS_MESSAGE | r.CLASS_COLLECTIVE
    assert covered == {name for name, (_, _, kind) in r.KINDS.items() if kind & classes}


def test_events_of_an_unmapped_communicator_are_left_out(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk()
    for kind, _, payload, _, attrs in MPI:
        if "communicator" in attrs:
            c.record(kind, 1, 3, *payload)
    events, result = transcode(tmp_path, kernel, [c])
    assert (events, result.unmapped) == ([], c.records)


def test_metrics(tmp_path: Path, kernel: Kernel) -> None:
    value = int.from_bytes(np.float64(2.5).tobytes(), "little")
    c = chunk().record("METRIC", 1, 1, value).record("METRIC", 1, 0, value).record("METRIC", 1, 8, value)
    events, result = transcode(tmp_path, kernel, [c])
    assert [(e.kind, e.attrs["values"]) for e in events] == [("Metric", [2.5])]
    assert result.unmapped == 2


def test_flush_off_on_lost_limit(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1, 5).record("FLUSH", 5, 0, 20).record("LOST", 25, 1, 7).record("OFF", 0).record("ON", 10)
    c.record("LOST", 0, 1, 4).record("OFF", 5).record("LIMIT", 1, 4, r.CLASS_ALL)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == (
        "5E1 10BufferFlush 35MeasurementOnOff 45MeasurementOnOff 50MeasurementOnOff 51MeasurementOnOff 51L1"
    )
    assert events[1].attrs == {"stop_time": 30}
    assert [e.attrs["measurement_mode"] for e in events[2:6]] == ["OFF", "ON", "OFF", "OFF"]
    assert (result.flushes, result.flush_ns, result.lost, result.off_ns, result.limit_ns) == (1, 20, 11, 11, 51)


def test_limit_of_some_classes(tmp_path: Path, kernel: Kernel) -> None:
    """The first LIMIT gives time and reason; recording goes on without its classes. The second LIMIT stops all."""
    c = chunk().enter(1, 5).record("LIMIT", 5, 6, r.CLASS_FIRST).leave(1, 5).record("LIMIT", 5, 3, r.CLASS_ALL)
    events, result = transcode(tmp_path, kernel, [c])
    assert brief(events) == "5E1 15L1 20MeasurementOnOff"
    assert (result.limit_ns, result.limit_why, result.limit_classes) == (10, 6, r.CLASS_ALL)
    c = chunk().enter(1, 5).record("LIMIT", 5, 6, r.CLASS_FIRST)
    (tmp_path / "second").mkdir()
    events, result = transcode(tmp_path / "second", kernel, [c])
    assert brief(events) == "5E1 10L1"
    assert (result.limit_ns, result.limit_why, result.limit_classes) == (10, 6, r.CLASS_FIRST)


def test_no_limit(tmp_path: Path, kernel: Kernel) -> None:
    assert transcode(tmp_path, kernel, [chunk().enter(1)])[1].limit_ns is None


def test_nothing_happens_within_a_flush(tmp_path: Path, kernel: Kernel) -> None:
    events, result = transcode(tmp_path, kernel, [chunk().record("FLUSH", 5, 0, 20).enter(1, 3).leave(1, 30)])
    assert brief(events) == "5BufferFlush 25E1 38L1"
    assert result.clamped == 1


def test_long_gaps(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1, 0xFFFFFFFF).record("TIME", 0, 0, 1 << 40).leave(1, 0)
    events, _ = transcode(tmp_path, kernel, [c])
    assert [e.time for e in events] == [0xFFFFFFFF, 0xFFFFFFFF + (1 << 40)]


def test_a_block_begins_at_its_own_ticks(tmp_path: Path, kernel: Kernel) -> None:
    events, result = transcode(
        tmp_path, kernel, [chunk().enter(1, 5), chunk(1, 1100).leave(1, 5), chunk(2, 1050).enter(2)]
    )
    assert brief(events) == "5E1 105L1 105E2 105L2"
    assert result.clamped == 1


def test_no_chunks_at_all(tmp_path: Path, kernel: Kernel) -> None:
    events, result = transcode(tmp_path, kernel, [])
    assert (events, result.events, result.last_ns) == ([], 0, 0)


def test_after_a_hole_the_open_list_holds(tmp_path: Path, kernel: Kernel) -> None:
    opened = [r.FUNCTION | 4, r.what("ENTER", 2), r.OPEN_ADDRESS | 0x7005]
    after = chunk(2, 1100, opened).record("LEAVE_ADDRESS", 5, 0, 0x7005).record("LEAVE", 0, 2).leave(4).leave(1, 5)
    events, result = transcode(tmp_path, kernel, [chunk().enter(1, 1).enter(2, 1), after])
    assert brief(events) == "1E1 2E2 2L2 2L1 100E4 100E2 100E5 105L5 105L2 105L4"
    assert (result.closed, result.stray_leaves) == (2, 1)


def test_a_first_block_that_is_not_the_first(tmp_path: Path, kernel: Kernel) -> None:
    events, _ = transcode(tmp_path, kernel, [chunk(5, 1100, [r.FUNCTION | 1]).leave(1, 1)])
    assert brief(events) == "100E1 101L1"


def test_without_a_hole_the_open_list_is_not_used(tmp_path: Path, kernel: Kernel) -> None:
    chunks = [chunk(0, 1000, [r.FUNCTION | 9]).enter(1), chunk(1, 1010, [r.FUNCTION | 1]).leave(1)]
    assert brief(transcode(tmp_path, kernel, chunks)[0]) == "0E1 10L1"
