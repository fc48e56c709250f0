# SPDX-License-Identifier: BSD-3-Clause
"""The topics of docs/file-format.md: for each one, local files that use it are unified and read back.

The tests write these files byte by byte, so they also cover parts of the format that the runtime does not use yet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.readers import archive as readback
from support.synthetic_runs import local_files as lf
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.io.local import records as r
from vtrace.io.local.local_files import open_local, read_head
from vtrace.unify.run import Request, unify

D = r.DEFINITIONS
REGION = [D["REGION"], 1, "work", 1, 1, "work.c", 12]
START = 1_700_000_000_000_000_000
PAIRS = [[D["CLOCK"], 1000, 1000, START], [D["CLOCK"], 10**9 + 1000, 10**9 + 1000, START + 10**9]]


def process(where: Path, name: str, chunks: dict[int, list[lf.Chunk]], definitions: list[Any], **head: Any) -> None:
    """Writes the files of one process: events by location, and all definitions into the main thread's def file."""
    head = {"prefix": "t", "directory": str(where), **head}
    for location, content in chunks.items():
        file = name if not location else f"{int(name, 16) << 16 | location:x}"
        own = [*PAIRS, *definitions] if not location else []
        last = [D["SUMMARY"], location, 1, 0, 0, 0, 0, 0, 0, 0]
        lf.write_defs(where / f"t.{file}.def.z", [*own, last], **head, location=location)
        lf.write_events(where / f"t.{file}.events.z", content, **head, location=location)


def unified(where: Path) -> readback.Trace:
    unify(Request(prefix=where / "t", force=True, keep=True), Console(0))
    return readback.read(where / "u_t.trace")


def call(location: int = 0, **fields: Any) -> lf.Chunk:
    return lf.Chunk(location, **fields).record("ENTER", 10, 1).record("LEAVE", 10, 1)


def world(rank: int) -> list[Any]:
    return [D["COMM"], 1, r.COMM_KINDS["WORLD"], None, 0, 5, 0, 2, rank, 0]


def test_file_names(tmp_path: Path) -> None:
    """vtunify trusts heads, not names: the file named like rank 1 of this run has the head of another run."""
    process(tmp_path, "1", {0: [call()]}, [REGION])
    process(tmp_path, "2", {0: [call()]}, [REGION], prefix="u", run=b"X" * 16)
    trace = unified(tmp_path)
    assert (trace.kinds(), len(trace.locations)) == ({"Enter": 1, "Leave": 1}, 1)


def test_identity(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "run": bytes(range(16)), "world": 2**63 + 1, "rank": 3, "world_size": 9, "location": 2, "pid": 12345,
        "start": 2**60 + 7, "host": "a-host.b", "parent_pid": 12, "parent_start": 2**59, "forked": 1,
        "buffer": "/some/where/t.buffer", "tool": "vtrace 9.8.7", "ticks_per_second": 2_600_000_000,
        "pid_space": 2**64 - 5,
    }  # fmt: skip
    path = lf.write_events(tmp_path / "t.4.events.z", [call(2)], **fields)
    head = read_head(path)
    assert (head.run, head.world, head.rank, head.world_size) == (bytes(range(16)), 2**63 + 1, 3, 9)
    assert (head.location, head.process) == (2, ("a-host.b", 12345, 2**60 + 7))
    assert (head.parent, head.forked, head.buffer) == ((12, 2**59), True, "/some/where/t.buffer")
    assert (head.tool, head.ticks_per_second, head.pid_space) == ("vtrace 9.8.7", 2_600_000_000, 2**64 - 5)


def test_process_without_rank(tmp_path: Path) -> None:
    """A forked child follows the last rank, and has its parent's definitions."""
    process(tmp_path, "1", {0: [call()]}, [REGION], pid=100)
    process(
        tmp_path, "xnode1-200-1", {0: [call()]}, [], rank=None, world_size=0, world=0, pid=200, start=START + 500,
        parent_pid=100, parent_start=START, forked=1,
    )  # fmt: skip
    trace = unified(tmp_path)
    assert [x.group for x in trace.locations.values()] == ["MPI Rank 0", "Process node1:200"]
    assert [trace.region_of(e).name for e in trace.of(1)] == ["work", "work"]


def test_large_ranks(tmp_path: Path) -> None:
    """A rank above 65 535."""
    process(tmp_path, "100020000", {0: [call()]}, [REGION], rank=65537, world_size=65538)
    with pytest.raises(VtraceError, match="a run of 65,538 ranks, but 1 of them left files"):
        unified(tmp_path)


def test_module_slot(tmp_path: Path) -> None:
    """Two modules in two slots: address = start + offset - slot. Functions of a missing module are named by offset."""
    modules = [
        [D["MODULE"], 0, 0x400000, 0x2000, 0x3FF000, str(tmp_path / "gone"), b"", 5],
        [D["MODULE"], 0x2000, 0x7F0000000000, 0x1000, 0x7EFFFFFFF000, str(tmp_path / "lib.so"), b"\1\2", 6],
    ]
    chunk = lf.Chunk().enter(0x234, 1).enter(0x2010, 1).leave(0x2010, 1).leave(0x234, 1)
    process(tmp_path, "1", {0: [chunk]}, modules)
    trace = unified(tmp_path)
    assert list(trace.calls()) == ["gone+0x1234", "lib.so+0x1010"]


def test_named_region(tmp_path: Path) -> None:
    process(tmp_path, "1", {0: [call()]}, [[D["REGION"], 1, "MPI_Send", 4, 28, None, 0]])
    region = unified(tmp_path).region("MPI_Send")
    assert (region.paradigm, region.role) == ("MPI", "POINT2POINT")
    process(tmp_path, "1", {0: [call()]}, [REGION])
    region = unified(tmp_path).region("work")
    assert (region.paradigm, region.role, region.file, region.line) == ("USER", "FUNCTION", "work.c", 12)


def test_request_of_another_thread(tmp_path: Path) -> None:
    """A request begins on one location and completes on another. The request number connects both records."""
    chunks = {
        0: [lf.Chunk().record("ISEND", 5, 1, 1 | 7 << 32, 64, 2**40)],
        1: [lf.Chunk(1).record("ISEND_COMPLETE", 50, 0, 2**40)],
    }
    process(tmp_path, "1", chunks, [REGION, world(0)], world_size=2)
    chunks = {0: [lf.Chunk().record("IRECV_REQUEST", 7, 0, 9)], 1: [lf.Chunk(1).record("IRECV", 70, 1, 7 << 32, 64, 9)]}
    process(tmp_path, "2", chunks, [REGION, world(1)], world_size=2, rank=1, pid=101)
    events = [(e.location, e.kind, e.attrs["request_id"]) for e in unified(tmp_path).events]
    assert events == [
        (0, "MpiIsend", 2**40), (2, "MpiIrecvRequest", 9), (1, "MpiIsendComplete", 2**40), (3, "MpiIrecv", 9),
    ]  # fmt: skip


def test_metric_of_process(tmp_path: Path) -> None:
    value = int(np.array(-5).astype(np.int64).view(np.uint64))
    definitions = [[D["METRIC"], 1, "heap", "bytes", "u", "p", True], [D["METRIC"], 2, "delta", "", "i", "a", False]]
    chunk = lf.Chunk().record("METRIC", 3, 1, 2**63).record("METRIC", 3, 2, value)
    process(tmp_path, "1", {0: [chunk]}, definitions)
    trace = unified(tmp_path)
    assert trace.kinds() == {"Metric": 2}
    assert [e.attrs["values"] for e in trace.events] == [[2**63], [-5]]


def test_lost_off_flush_limit(tmp_path: Path) -> None:
    chunk = lf.Chunk().record("LOST", 10, 1, 3).record("FLUSH", 10, 0, 500).record("OFF", 600).record("ON", 100)
    chunk.record("TIME", 0, 0, 2**33).record("LIMIT", 1, 4, r.CLASS_ALL)
    process(tmp_path, "1", {0: [chunk]}, [])
    trace = unified(tmp_path)
    assert [(e.kind, e.time) for e in trace.events] == [
        ("BufferFlush", 20), ("MeasurementOnOff", 620), ("MeasurementOnOff", 720), ("MeasurementOnOff", 721 + 2**33),
    ]  # fmt: skip
    assert [e.attrs.get("measurement_mode") for e in trace.events] == [None, "OFF", "ON", "OFF"]
    assert trace.events[0].attrs["stop_time"] == 520
    assert len(trace.markers) == 1
    assert "VT_MAX_FLUSHES" in trace.markers[0].text
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["lost"], coverage["clamped"]) == (3, 0)


def test_reuse(tmp_path: Path) -> None:
    """THREAD leaves all regions that the previous thread left open."""
    chunk = lf.Chunk(1).record("ENTER", 5, 1).record("THREAD", 5, 0, 4711).record("ENTER", 5, 1).record("LEAVE", 5, 1)
    process(tmp_path, "1", {0: [call()], 1: [chunk]}, [REGION])
    assert [(e.kind, e.time) for e in unified(tmp_path).of(1)] == [
        ("Enter", 5), ("Leave", 10), ("Enter", 15), ("Leave", 20),
    ]  # fmt: skip


def test_clock_pairs(tmp_path: Path) -> None:
    """A tick takes half a nanosecond at first, and two later: each interval between clock pairs has its own rate."""
    second = 10**9
    pairs = [
        (9, 0, START),
        (9 + 2 * second, second, START + second),
        (9 + 5 * second // 2, 2 * second, START + 2 * second),
    ]
    chunk = lf.Chunk(ticks=9, pair=pairs[1])
    chunk.record("ENTER", 0, 1).record("ENTER", second, 1).record("LEAVE", second, 1).record("LEAVE", second // 4, 1)
    head = {"prefix": "t", "directory": str(tmp_path), "pair": pairs[0]}
    lf.write_defs(tmp_path / "t.1.def.z", [REGION, [D["CLOCK"], *pairs[2]]], **head)
    lf.write_events(tmp_path / "t.1.events.z", [chunk], **head)
    trace = unified(tmp_path)
    assert [e.time for e in trace.events] == [0, second // 2, second, second + second // 2]
    assert (trace.realtime, trace.resolution) == (START, second)


def test_definitions(tmp_path: Path) -> None:
    """Definitions in several blocks and in each codec. The last of two names of one communicator counts."""
    many = [[D["REGION"], i, f"region {i} " + "x" * 100, 1, 1, None, 0] for i in range(1, 1500)]
    names = [[D["COMM_NAME"], 1, "first"], [D["COMM_NAME"], 1, "last"]]
    path = tmp_path / "t.1.def.z"
    for codec in (r.CODEC_RAW, r.CODEC_ZSTD):
        process(tmp_path, "1", {0: [lf.Chunk().record("ENTER", 1, 1499).record("LEAVE", 1, 1499)]}, [])
        lf.write_defs(path, [*PAIRS, *many, world(0), *names], codec=codec, prefix="t", directory=str(tmp_path))
        with open_local(path) as file:
            assert len(file.blocks) > 2
        trace = unified(tmp_path)
        assert [trace.region_of(e).name.split()[1] for e in trace.events] == ["1499", "1499"]
        assert trace.comms[0].name == "last"


@pytest.mark.parametrize("field", ["kind", "tag", "hash", "count"])
def test_communicator_identity(tmp_path: Path, field: str) -> None:
    """Equal kind, parent, tag, hash and count define one communicator, even if ids differ; otherwise there are two."""
    split: dict[str, Any] = {"kind": r.COMM_KINDS["SPLIT"], "tag": 1, "hash": 99, "count": 0}
    other = {**split, field: {"kind": r.COMM_KINDS["DUP"], "tag": "name", "hash": 98, "count": 1}[field]}
    for number, fields in enumerate((split, other)):
        for rank in (0, 1):
            own = [fields if rank else split][0]
            comm = [D["COMM"], 5 + rank, own["kind"], 1, own["tag"], own["hash"], own["count"], 2, rank, 0]
            members = [[D["COMM_MEMBERS"], 5, 0, 0, 7, np.array([0, 1], "<u4").tobytes()]] if not rank else []
            chunk = lf.Chunk().record("COLL_BEGIN", 1).record("COLL_END", 9, 5 + rank, 0xFFFFFFFF << 32, 0, 0)
            own = {"rank": rank, "world_size": 2, "pid": 100 + rank}
            process(tmp_path, str(rank + 1), {0: [chunk]}, [world(rank), comm, *members], **own)
        trace = unified(tmp_path)
        assert len(trace.comms) == 2 + number
        used = {e.attrs["communicator"] for e in trace.events if e.kind == "MpiCollectiveEnd"}
        assert len(used) == 1 + number
        if not number:
            assert trace.comms[used.pop()].members == (0, 1)
