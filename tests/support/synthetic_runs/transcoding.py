# SPDX-License-Identifier: BSD-3-Clause
"""Transcodes a few records into an archive and reads it, for the tests of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from support.readers.archive import Event, read
from support.synthetic_runs import local_files as lf
from vtrace.io.archive.writer import (
    Archive,
    Attribute,
    Comm,
    Definitions,
    Group,
    IoFile,
    IoHandle,
    Location,
    LocationGroup,
    Metric,
    MetricClass,
    Region,
    SystemNode,
    Window,
)
from vtrace.io.local import records as r
from vtrace.io.local.kernel import UNMAPPED, Kernel, Maps, Transcoded
from vtrace.io.local.local_files import Stream, open_local, streams

NONE = 0xFFFFFFFF
ATTRIBUTES: list[tuple[int, str, int, object]] = [
    (1, "UINT8", 2**64 - 1, 255), (2, "UINT16", 2**64 - 1, 2**16 - 1), (3, "UINT32", 2**64 - 1, 2**32 - 1),
    (4, "UINT64", 2**64 - 1, 2**64 - 1), (5, "INT8", 2**64 - 2, -2), (6, "INT16", 2**64 - 2, -2),
    (7, "INT32", 2**64 - 2, -2), (8, "INT64", 2**64 - 2, -2), (9, "FLOAT", 0x3FC00000, 1.5),
    (10, "DOUBLE", 0x3FF8000000000000, 1.5), (11, "STRING", 2, "the second"),
    (14, "REGION", 2, 2), (17, "COMM", 2, 2), (19, "RMA_WIN", 2, 1),
    (23, "IO_FILE", 2, 1), (24, "IO_HANDLE", 2, 1),
]  # fmt: skip
"""OTF2's type and its name, the recorded word, and the value that a reader returns."""


def stream_of(path: Path, content: int = r.EVENTS) -> Stream:
    return streams([open_local(path)])[content, 0]


def numbers(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """1 -> 0, 2 -> 1 ..."""
    return np.array([UNMAPPED, *range(count)], np.uint32)


def maps(**changes: object) -> Maps:
    """Maps from ids of a process to ids of the archive. A tick is 1 ns, from tick 1000 on.

    Functions 1 to 9 and addresses 0x7000 + n map to region n; regions, communicators and strings n to n; windows,
    groups, files, handles and attributes n to n - 1. Peers of communicator 2 and window 2 count from 1. Metric 1 is a
    double. Communicator 2 has the threads. Types of attributes: see ATTRIBUTES.
    """
    values: dict[str, object] = {
        "knot_ticks": np.array([1000, 2000], np.uint64), "knot_ns": np.array([0, 1000], np.uint64),
        "unknown_region": 0, "function_offsets": np.arange(1, 10, dtype=np.uint32),
        "function_regions": np.arange(1, 10, dtype=np.uint32), "addresses": np.arange(0x7001, 0x7009, dtype=np.uint64),
        "address_regions": np.arange(1, 9, dtype=np.uint32), "regions": np.array([UNMAPPED, 1, 2], np.uint32),
        "comms": np.array([UNMAPPED, 1, 2], np.uint32), "comm_peer_offset": np.array([0, 0, 1], np.uint32),
        "metrics": np.array([UNMAPPED, 0], np.uint32), "metric_types": np.array([0, 10], np.uint8),
        "windows": numbers(2), "window_peer_offset": np.array([0, 0, 1], np.uint32), "rank_groups": numbers(2),
        "files": numbers(2), "handles": numbers(2), "attributes": numbers(len(ATTRIBUTES)),
        "attribute_types": np.array([0, *(kind for kind, *_ in ATTRIBUTES)], np.uint8),
        "strings": np.array([UNMAPPED, 1, 2], np.uint32), "thread_comm": 2, **changes,
    }  # fmt: skip
    return Maps(**values)  # type: ignore[arg-type]


def definitions() -> Definitions:
    regions = [Region(name=f"r{n}", canonical=f"r{n}") for n in range(10)]
    groups = [Group("COMM_LOCATIONS", 4, "", [0])] + [Group("COMM_GROUP", 4, "g", [0] * 10)] * 3
    return Definitions(
        nodes=[SystemNode("n", "node")],
        groups=[LocationGroup("p", 0)],
        locations=[Location("t", 0)],
        regions=regions,
        comm_groups=groups,
        comms=[Comm(f"c{n}", n + 1) for n in range(3)],
        length=1 << 62,
        metrics=[Metric(name="m", value_type="f")],
        metric_classes=[MetricClass([0])],
        windows=[Window(f"w{n}", n) for n in range(2)],
        files=[IoFile(f"/f{n}", 0) for n in range(2)],
        handles=[IoHandle(name=f"h{n}", file=n, paradigm=n) for n in range(2)],
        strings=["the first", "the second"],
        attributes=[Attribute(name, "", kind) for kind, name, *_ in ATTRIBUTES],
    )


def transcode(
    path: Path, kernel: Kernel, chunks: Sequence[lf.Chunk], **changes: object
) -> tuple[list[Event], Transcoded]:
    """Writes the chunks as an events file, transcodes the file into an archive, and reads the archive."""
    codec = changes.pop("codec", None)
    lf.write_events(path / "e", chunks, codec=codec)  # type: ignore[arg-type]
    archive = Archive(path / "t.trace")
    with archive.event_writer(0) as writer:
        result = kernel.transcode(writer, stream_of(path / "e"), maps(**changes))
    archive.finish(definitions())
    trace = read(path / "t.trace")
    assert result.events == len(trace.events) == trace.locations[0].declared == len(trace.printed)
    assert result.counts == dict(trace.kinds())
    if trace.events:
        left_out = result.stray_leaves or result.unmapped
        assert result.first_ns == trace.events[0].time
        assert result.last_ns >= last_time(trace.events) if left_out else result.last_ns == last_time(trace.events)
    return trace.events, result


def last_time(events: list[Event]) -> int:
    return max(event.attrs.get("stop_time", event.time) for event in events)


def brief(events: list[Event]) -> str:
    """Events as text, such as "10E1 15L1": time, kind and region; other kinds by their name."""
    short = {"Enter": "E", "Leave": "L"}
    return " ".join(f"{e.time}{short.get(e.kind, e.kind)}{e.attrs.get('region', '')}" for e in events)


def chunk(sequence: int = 0, ticks: int = 1000, open: Sequence[int] = ()) -> lf.Chunk:
    return lf.Chunk(0, sequence, ticks, open=open)


MPI = [
    ("SEND", 1, (5 | 7 << 32, 100), "MpiSend", {"receiver": 5, "communicator": 1, "msg_tag": 7, "msg_length": 100}),
    ("RECV", 1, (5 | 7 << 32, 1 << 40), "MpiRecv",
     {"sender": 5, "communicator": 1, "msg_tag": 7, "msg_length": 1 << 40}),
    ("SEND", 2, (5, 1), "MpiSend", {"receiver": 6, "communicator": 2, "msg_tag": 0, "msg_length": 1}),
    ("ISEND", 1, (5 | 7 << 32, 100, 1 << 50), "MpiIsend",
     {"receiver": 5, "communicator": 1, "msg_tag": 7, "msg_length": 100, "request_id": 1 << 50}),
    ("IRECV", 2, (5 | 7 << 32, 100, 9), "MpiIrecv",
     {"sender": 6, "communicator": 2, "msg_tag": 7, "msg_length": 100, "request_id": 9}),
    ("ISEND_COMPLETE", 0, (9,), "MpiIsendComplete", {"request_id": 9}),
    ("IRECV_REQUEST", 0, (9,), "MpiIrecvRequest", {"request_id": 9}),
    ("REQUEST_TEST", 0, (9,), "MpiRequestTest", {"request_id": 9}),
    ("REQUEST_CANCELLED", 0, (9,), "MpiRequestCancelled", {"request_id": 9}),
    ("COLL_BEGIN", 0, (), "MpiCollectiveBegin", {}),
    ("COLL_END", 1, (1 | 3 << 32, 10, 20), "MpiCollectiveEnd",
     {"collective_op": "BCAST", "communicator": 1, "root": 3, "size_sent": 10, "size_received": 20}),
    ("COLL_END", 2, (11 | NONE << 32, 10, 20), "MpiCollectiveEnd",
     {"collective_op": "ALLREDUCE", "communicator": 2, "root": NONE, "size_sent": 10, "size_received": 20}),
    ("COLL_REQUEST", 0, (9,), "NonBlockingCollectiveRequest", {"request_id": 9}),
    ("COLL_COMPLETE", 2, (1 | 3 << 32, 10, 20, 9), "NonBlockingCollectiveComplete",
     {"collective_op": "BCAST", "communicator": 2, "root": 4, "size_sent": 10, "size_received": 20, "request_id": 9}),
    ("COMM_CREATE", 1, (), "CommCreate", {"communicator": 1}),
    ("COMM_DESTROY", 2, (), "CommDestroy", {"communicator": 2}),
]  # fmt: skip
