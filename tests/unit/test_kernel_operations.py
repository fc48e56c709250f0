# SPDX-License-Identifier: BSD-3-Clause
"""Records of one-sided communication, of I/O and of attributes as OTF2 events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.readers.archive import read
from support.synthetic_runs.local_files import write_events
from support.synthetic_runs.operations import IO, ONE_SIDED, THREADS, WRONG, RecordedOperation
from support.synthetic_runs.transcoding import ATTRIBUTES, brief, chunk, maps, stream_of, transcode
from vtrace.errors import FormatError
from vtrace.io.archive.writer import Archive
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel


@pytest.mark.parametrize(
    ("operations", "kinds"),
    [(ONE_SIDED, r.CLASS_RMA), (IO, r.CLASS_IO), (THREADS, r.CLASS_THREAD)],
    ids=["rma", "io", "threads"],
)
def test_every_kind(tmp_path: Path, kernel: Kernel, operations: list[RecordedOperation], kinds: int) -> None:
    c = chunk()
    for kind, identifier, payload, *_ in operations:
        c.record(kind, 1, identifier, *payload)
    events, result = transcode(tmp_path, kernel, [c])
    assert [(e.time, e.kind, e.attrs) for e in events] == [(n, o[3], o[4]) for n, o in enumerate(operations, 1)]
    printed = read(tmp_path / "t.trace").printed
    assert [(p.time, p.kind, p.text) for p in printed] == [(n, o[3], o[5]) for n, o in enumerate(operations, 1)]
    assert result.unmapped == 0
    others = {"THREAD", "IO_READ", "IO_WRITE", "IO_FLUSH", "IO_DONE"}  # the I/O records need an open region: see below
    assert {kind for kind, *_ in operations} == {
        name for name, (_, _, bits) in r.KINDS.items() if bits & kinds
    } - others


@pytest.mark.parametrize("identifier", [0, 3, r.ID_MAX])
def test_what_is_not_mapped_is_left_out(tmp_path: Path, kernel: Kernel, identifier: int) -> None:
    c = chunk()
    for kind, known, payload, *_ in ONE_SIDED + IO:
        if known:
            c.record(kind, 1, identifier, *payload)
    c.record("RMA_GROUP_SYNC", 1, 1, 1, identifier).record("IO_DUPLICATE", 1, 1, identifier)
    c.record("RMA_GROUP_SYNC", 1, 1, 1, 2**64 - 1)
    events, result = transcode(tmp_path, kernel, [c])
    assert (events, result.unmapped) == ([], c.records)


@pytest.mark.parametrize(("kind", "payload", "text"), WRONG)
def test_what_cannot_be(tmp_path: Path, kernel: Kernel, kind: str, payload: tuple[int, ...], text: str) -> None:
    """A value that OTF2 does not define means that the file is damaged."""
    with pytest.raises(FormatError, match=f"{text} in the block at byte 2048, byte 16 of its records"):
        transcode(tmp_path, kernel, [chunk().record("ON").record("OFF").record(kind, 1, 1, *payload)])


def test_scan_finds_handles(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk()
    for number, (kind, _, payload, *_) in enumerate(IO, 10):
        c.record(kind, 1, number, *payload)
    scan = kernel.scan(stream_of(write_events(tmp_path / "e", [c])))
    deleted = 10 + [kind for kind, *_ in IO].index("IO_DELETE")
    assert scan.handles.tolist() == [2, *(n for n in range(10, 10 + len(IO)) if n != deleted)]
    assert scan.comms.tolist() == []


def test_an_operation_belongs_to_its_region(tmp_path: Path, kernel: Kernel) -> None:
    """The end of an operation completes the operation of its own region: also if a signal handler interrupts with an
    operation, if longjmp leaves a call, and if the start is missing.
    """
    c = chunk().record("IO_READ", 1, 1, 9).enter(1).record("IO_READ", 1, 1, 8)
    c.enter(2).record("IO_WRITE", 1, 1, 7).record("IO_DONE", 1, 1, 6).leave(2).record("IO_DONE", 1, 1, 5)
    c.record("IO_DONE", 1, 1, 4).leave(1)
    c.enter(1).enter(2).record("IO_FLUSH", 1, 1, r.IO_UNKNOWN).leave(1).enter(2).record("IO_DONE", 1, 1, 3).leave(2)
    for _ in range(2):
        c.enter(2).record("IO_READ", 1, 1, 1).record("IO_DONE", 1, 1, 1).leave(2)
    events, _ = transcode(tmp_path, kernel, [c])
    found = [
        (e.kind.removeprefix("IoOperation"), e.attrs["matching_id"] - 2**63, e.attrs.get("mode"),
         e.attrs.get("bytes_request", e.attrs.get("bytes_result")))
        for e in events if e.kind.startswith("IoOperation")
    ]  # fmt: skip
    assert found == [
        ("Begin", 1, "READ", 8), ("Begin", 2, "WRITE", 7), ("Complete", 2, None, 6), ("Complete", 1, None, 5),
        ("Begin", 3, "FLUSH", r.IO_UNKNOWN), ("Begin", 4, "READ", 1), ("Complete", 4, None, 1),
        ("Begin", 5, "READ", 1), ("Complete", 5, None, 1),
    ]  # fmt: skip


def test_attributes_of_every_type(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk().enter(1)
    for number, (_, _, word, _) in enumerate(ATTRIBUTES, 1):
        c.record("ATTRIBUTE", 1, number, word)
    events, result = transcode(tmp_path, kernel, [c.enter(2, 1).leave(2, 1).leave(1, 1)])
    assert brief(events) == f"0E1 {len(ATTRIBUTES) + 1}E2 {len(ATTRIBUTES) + 2}L2 {len(ATTRIBUTES) + 3}L1"
    expected = {name: value for _, name, _, value in ATTRIBUTES}
    assert [e.more for e in events] == [{}, expected, {}, {}]
    assert result.unmapped == 0


U64 = 4  # local id of an attribute of type UINT64


def test_attributes_belong_to_the_next_event(tmp_path: Path, kernel: Kernel) -> None:
    """Attributes wait for the next event across a gap, a flush and the end of a block, and belong to this event only.
    Values of counters are no such event (test_sections_posted.py).
    If longjmp has left regions open, the attributes belong to the recorded leave, not to the added ones.
    """
    first = chunk().enter(1).record("ATTRIBUTE", 1, U64, 7).record("FLUSH", 0, 0, 3).record("LOST", 0, 1, 3)
    second = chunk(1, 1010).record("TIME", 0, 0, 5).record("OFF").record("ON").record("SEND", 1, 1, 5, 8).enter(2)
    second.enter(3).record("ATTRIBUTE", 1, U64, 8).leave(1)
    events, result = transcode(tmp_path, kernel, [first, second])
    assert [(e.kind, e.attrs.get("region"), e.more) for e in events if e.more] == [
        ("MpiSend", None, {"UINT64": 7}), ("Leave", 1, {"UINT64": 8}),
    ]  # fmt: skip
    assert (len(events), result.unmapped) == (10, 0)


def test_attributes_of_no_event(tmp_path: Path, kernel: Kernel) -> None:
    """The kernel drops attributes of an event that it leaves out, and attributes before the end of the records, a
    missing chunk or the end of a thread.
    """
    c = (
        chunk()
        .record("ATTRIBUTE", 1, U64, 7)
        .leave(9)
        .enter(1)
        .record("ATTRIBUTE", 1, U64, 8)
        .record("THREAD", 0, 0, 1)
    )
    c.enter(2).record("ATTRIBUTE", 1, U64, 9)
    after = chunk(2, 1100, [r.FUNCTION | 4]).leave(4, 1).record("ATTRIBUTE", 1, U64, 9)
    events, result = transcode(tmp_path, kernel, [c, after])
    assert brief(events) == "1E1 2L1 2E2 2L2 100E4 101L4"
    assert not any(e.more for e in events)
    assert result.stray_leaves == 1


def test_attributes_that_no_event_can_have(tmp_path: Path, kernel: Kernel) -> None:
    """Unknown attributes, duplicates, references to undefined objects, and unknown types."""
    c = chunk().record("ATTRIBUTE", 0, U64, 7).record("ATTRIBUTE", 0, U64, 8).record("ATTRIBUTE", 0, 0, 1)
    c.record("ATTRIBUTE", 0, 99, 1)
    for number, (kind, *_) in enumerate(ATTRIBUTES, 1):
        if kind > 10:
            c.record("ATTRIBUTE", 0, number, 2**63)
    types = np.array([0, *(kind for kind, *_ in ATTRIBUTES), 12], np.uint8)
    ids = np.array([2**32 - 1, *range(len(ATTRIBUTES)), 0], np.uint32)
    c.record("ATTRIBUTE", 0, len(ATTRIBUTES) + 1, 1).enter(1)
    events, result = transcode(tmp_path, kernel, [c], attributes=ids, attribute_types=types)
    assert [e.more for e in events] == [{"UINT64": 7}, {}]
    assert result.unmapped == 3 + 6 + 1


def test_more_attributes_than_an_event_may_have(tmp_path: Path, kernel: Kernel) -> None:
    """The kernel keeps 32. The archive does not define most of them, so the test checks the kernel's result only."""

    c = chunk()
    for number in range(40):
        c.record("ATTRIBUTE", 0, number, number)
    write_events(tmp_path / "e", [c.enter(1)])
    with Archive(tmp_path / "t.trace").event_writer(0) as writer:
        result = kernel.transcode(
            writer, stream_of(tmp_path / "e"),
            maps(attributes=np.arange(40, dtype=np.uint32), attribute_types=np.full(40, 4, np.uint8)),
        )  # fmt: skip
    assert (result.events, result.unmapped) == (2, 8)
