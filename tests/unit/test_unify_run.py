# SPDX-License-Identifier: BSD-3-Clause
"""vtunify turns synthetic local files into an archive, also those of incomplete runs: without a rank, the end of a
process, or a buffer."""

from __future__ import annotations

import json
import mmap
import os
import platform
import time
from pathlib import Path

import pytest

from support.synthetic_runs.local_files import Chunk, write_buffer, write_defs, write_events
from support.synthetic_runs.run_files import START
from support.synthetic_runs.two_ranks import (
    RECV,
    SEND,
    WORK,
    clock,
    define,
    head,
    message,
    names,
    rank_files,
    read_back,
    run,
)
from vtrace.console import Console
from vtrace.errors import FormatError, VtraceError
from vtrace.io.local.records import CLASS_ALL, DEFINITIONS
from vtrace.unify.run import Request, unify


def test_message_between_two_ranks(heat: Path) -> None:
    (heat.parent / "heat.lock").write_text("1")
    written = run(heat)
    trace = read_back(heat)
    assert names(heat) == {"heat.trace", "heat.lock"}
    assert [(x.name, x.group, x.host) for x in trace.locations.values()] == [
        ("Master thread", "MPI Rank 0", "node1"), ("Master thread", "MPI Rank 1", "node1"),
    ]  # fmt: skip
    kinds = ["Enter", "Enter", "MpiSend", "Leave", "Leave"]
    assert [(e.kind, e.time) for e in trace.of(0)] == list(zip(kinds, (10, 110, 115, 120, 220), strict=True))
    received = next(event for event in trace.of(1) if event.kind == "MpiRecv")
    assert (received.time, received.attrs["msg_tag"], received.attrs["msg_length"]) == (315, 77, 8)
    assert (trace.resolution, trace.offset, trace.length, trace.realtime) == (10**9, 10, 410, START + 10)
    region = trace.region("work")
    assert (region.file, region.line, region.paradigm, region.role) == ("heat.c", 12, "USER", "FUNCTION")
    assert [comm.name for comm in trace.comms.values()] == ["MPI_COMM_WORLD"]
    assert trace.comms[0].members == (0, 1)
    assert (written.ranks, written.locations, written.events, written.messages) == (2, 2, 10, 1)
    assert trace.markers == []


def test_threads_are_numbered_by_rank_then_number(heat: Path) -> None:
    for rank in range(2):
        for number in (2, 1):
            more = head(rank, 2, location=number)
            name = f"heat.{rank + 1:x}000{number}"
            write_defs(heat.parent / f"{name}.def.z", define(rank, 2, location=number), **more)
            chunk = Chunk(number, ticks=1000 + number, pair=clock()).record("ENTER", 10, WORK).record("LEAVE", 1, WORK)
            write_events(heat.parent / f"{name}.events.z", [chunk], **more)
    run(heat)
    trace = read_back(heat)
    assert [x.name for x in trace.locations.values()] == ["Master thread", "Thread 1", "Thread 2"] * 2
    assert [x.group for x in trace.locations.values()] == ["MPI Rank 0"] * 3 + ["MPI Rank 1"] * 3
    assert trace.comms[0].members == (0, 3)


def test_keep_and_names(heat: Path) -> None:
    before = names(heat)
    run(heat, keep=True)
    assert names(heat) == before | {"u_heat.trace"}
    run(heat, keep=True, name="first")
    (heat.parent / "sub").mkdir()
    run(heat, keep=True, name=str(heat.parent / "sub" / "second.trace"))
    assert names(heat) == before | {"u_heat.trace", "first.trace", "sub"}
    assert {path.name for path in (heat.parent / "sub").iterdir()} == {"second.trace"}


def test_output_that_exists(heat: Path) -> None:
    run(heat, keep=True)
    before = (heat.parent / "u_heat.trace" / "traces.otf2").stat().st_ino
    with pytest.raises(VtraceError, match=r"u_heat\.trace exists.*--force"):
        run(heat, keep=True)
    run(heat, keep=True, force=True)
    assert (heat.parent / "u_heat.trace" / "traces.otf2").stat().st_ino != before
    (heat.parent / "heat.trace").mkdir()
    (heat.parent / "heat.trace" / "thesis.tex").write_text("years of work")
    with pytest.raises(VtraceError, match="not an archive"):
        run(heat, force=True)
    assert (heat.parent / "heat.trace" / "thesis.tex").exists()
    assert not [name for name in names(heat) if name.startswith(".")]


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def test_damaged_events(heat: Path) -> None:
    damage(heat.parent / "heat.2.events.z")
    before = names(heat)
    with pytest.raises(FormatError, match=r"heat\.2\.events\.z"):
        run(heat)
    assert names(heat) == before
    written = run(heat, salvage=True)
    assert names(heat) == before | {"heat.trace"}, "damaged local files may still be of use"
    assert written.events == 5
    assert read_back(heat).of(1) == []


def test_cut_events(heat: Path) -> None:
    path = heat.parent / "heat.2.events.z"
    second = Chunk(sequence=1, ticks=2000, pair=clock(1000)).record("ENTER", 1, WORK).record("LEAVE", 1, WORK)
    write_events(path, [message(1), second], **head(1, 2))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(VtraceError, match=r"heat\.2\.events\.z: cut.*--salvage"):
        run(heat)
    assert run(heat, salvage=True).events == 10


def test_limit_is_marked_and_repeated(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunk = Chunk(ticks=1000, pair=clock()).record("ENTER", 10, WORK).record("LEAVE", 10, WORK)
    chunk.record("LIMIT", 5, 4, CLASS_ALL)
    write_events(heat.parent / "heat.1.events.z", [chunk.record("LOST", 100, 4, 33)], **head(0, 2))
    unify(Request(prefix=heat), Console("vtunify"))
    lines = [line for line in capsys.readouterr().err.splitlines() if "VT_MAX_FLUSHES" in line]
    assert len(lines) == 1
    assert "33 events are missing" in lines[0]
    marker = read_back(heat).markers[0]
    assert (marker.time, marker.scope) == (25, "LOCATION:0")


def test_undefined_region_and_stray_leave(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunk = Chunk(ticks=1000, pair=clock()).record("LEAVE", 1, SEND).record("ENTER", 10, 99).record("LEAVE", 10, 99)
    write_events(heat.parent / "heat.1.events.z", [chunk], **head(0, 2))
    unify(Request(prefix=heat), Console("vtunify"))
    said = capsys.readouterr().err
    assert "1 leave without an enter was" in said
    assert "undefined objects" in said
    assert read_back(heat).calls(0) == {"UNKNOWN": 1}


def test_hosts_and_processes_without_a_rank(heat: Path) -> None:
    rank_files(heat.parent, 1, host="node2")
    child = head(1, 2, host="node2", pid=500, start=START + 9) | {"rank": None, "world_size": 0, "world": 0}
    child |= {"parent_pid": 101, "parent_start": START, "forked": 1}
    write_defs(heat.parent / "heat.xnode2-500-9.def.z", [], **child)
    chunk = Chunk(ticks=1500, pair=clock(500)).record("ENTER", 10, WORK).record("LEAVE", 1, WORK)
    write_events(heat.parent / "heat.xnode2-500-9.events.z", [chunk], **child)
    run(heat)
    trace = read_back(heat)
    assert [(x.group, x.host) for x in trace.locations.values()] == [
        ("MPI Rank 0", "node1"), ("MPI Rank 1", "node2"), ("Process node2:500", "node2"),
    ]  # fmt: skip
    assert trace.calls(2) == {"work": 1}
    assert trace.comms[0].members == (0, 1)


def test_files_of_other_runs_stay(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = head(4, 5, run=b"O" * 16) | {"start": START - 5}
    write_events(heat.parent / "heat.5.events.z", [], **old)
    unify(Request(prefix=heat), Console("vtunify"))
    assert "heat.5.events.z" in capsys.readouterr().err
    assert names(heat) == {"heat.trace", "heat.5.events.z"}


def test_killed_while_it_wrote_the_uctl(heat: Path) -> None:
    (heat.parent / "heat.uctl.tmp100").write_bytes(b"")
    (heat.parent / "heat.uctl.tmp77").write_bytes(b"")
    run(heat)
    assert names(heat) == {"heat.trace", "heat.uctl.tmp77"}, "the temporary file may belong to a running program"


@pytest.mark.parametrize("missing", [1, 2])
def test_missing_rank(heat: Path, missing: int) -> None:
    for rank in (0, 3 - missing):
        rank_files(heat.parent, rank, size=3)
    for path in heat.parent.glob(f"heat.{missing + 1}.*"):
        path.unlink()
    with pytest.raises(VtraceError, match=rf"rank {missing} of 3 .*are missing"):
        run(heat)
    run(heat, partial=True)
    trace = read_back(heat)
    assert json.loads(trace.properties["VTRACE::ABOUT"])["missing_ranks"] == str(missing)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["shortfalls"]) == (False, [f"no files of rank {missing}"])
    assert [x.group for x in trace.locations.values()] == ["MPI Rank 0", "MPI Rank 1", "MPI Rank 2"]
    assert trace.comms[0].members == (0, 1, 2)
    assert trace.of(missing) == []


def test_programs_of_one_run_under_their_own_names(heat: Path) -> None:
    rank_files(heat.parent, 0, size=3)
    write_defs(heat.parent / "sea.3.def.z", [], **{**head(2, 3), "prefix": "sea"})
    write_defs(heat.parent / "old.1.def.z", [], **{**head(0, 3), "prefix": "old", "run": b"O" * 16})
    (heat.parent / "bad.1.def.z").write_bytes(b"?")
    with pytest.raises(VtraceError, match=r"rank 2 of 3 .*are missing.*\(sea ran with it.*VT_FILE_PREFIX"):
        run(heat)


@pytest.mark.parametrize("here", [True, False])
def test_process_that_was_killed(heat: Path, here: bool) -> None:
    """The def file has only a head, all else is in the buffer, and the last record is not published. On another host
    the process may still run, so the local files stay."""
    buffer = heat.parent / "heat.xnode1-101-abc.buffer"
    more = head(1, 2, buffer=str(buffer)) | ({"host": platform.node()} if here else {})
    write_defs(heat.parent / "heat.2.def.z", [], **more)
    (heat.parent / "heat.2.events.z").unlink()
    definitions = Chunk(content=2, pair=clock())
    names_of = {number: name for name, number in DEFINITIONS.items()}
    for number, *values in define(1, 2, ended=False):
        definitions.define(names_of[number], *values)
    events = Chunk(ticks=1000, pair=clock()).record("ENTER", 10, WORK).record("ENTER", 10, RECV)
    write_buffer(buffer, [definitions, events], filling=[0, 1], **more)
    before = names(heat)
    run(heat)
    trace = read_back(heat)
    assert [event.kind for event in trace.of(1)] == ["Enter", "Enter", "Leave", "Leave"]
    assert [(marker.time, marker.scope) for marker in trace.markers] == [(20, "LOCATION:1")]
    assert "rank 1 ended without completing its files" in trace.markers[0].text
    assert names(heat) == {"heat.trace"} | (set() if here else before)


def test_process_that_is_still_running(heat: Path) -> None:
    buffer = heat.parent / f"heat.x{platform.node()}-{os.getpid()}-abc.buffer"
    now = int(time.time() * 1e9)
    more = head(1, 2, buffer=str(buffer), host=platform.node()) | {"pid": os.getpid(), "start": now}
    write_defs(heat.parent / "heat.2.def.z", define(1, 2, ended=False), **more)
    write_events(heat.parent / "heat.2.events.z", [message(1)], **more)
    write_buffer(buffer, [], **more)
    before = names(heat)
    with buffer.open("rb") as file, mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ):
        with pytest.raises(VtraceError, match=rf"still running: rank 1 \(process {os.getpid()}\)"):
            run(heat)
        run(heat, salvage=True)
    assert names(heat) == before | {"heat.trace"}


def test_buffer_that_is_not_visible(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = head(1, 2, buffer="/scratch/heat.xnode1-101-abc.buffer")
    write_defs(heat.parent / "heat.2.def.z", define(1, 2, ended=False), **more)
    before = names(heat)
    with pytest.raises(
        VtraceError, match=r"a buffer .* on node1 \(.* mpiexec -n 2 vtunify-mpi .*heat, .*; vtunify --partial"
    ):
        unify(Request(prefix=heat), Console("vtunify"))
    assert "the buffer of rank 1 is on node1: /scratch/heat.xnode1-101-abc.buffer" in capsys.readouterr().err
    assert names(heat) == before
    run(heat, partial=True)
    assert names(heat) == before | {"heat.trace"}
    trace = read_back(heat)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["died"]) == (False, 1)
    assert coverage["shortfalls"] == ["rank 1 has a buffer that was not read"]
    assert "rank 1 ended without completing its files" in trace.markers[0].text


def test_buffer_that_is_gone(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The buffer cannot be recovered, so vtunify unifies the files."""
    more = head(1, 2, buffer="/scratch/heat.xhere-101-abc.buffer", host=platform.node())
    write_defs(heat.parent / "heat.2.def.z", define(1, 2, ended=False), **more)
    write_events(heat.parent / "heat.2.events.z", [message(1)], **more)
    unify(Request(prefix=heat), Console("vtunify"))
    assert "the buffer of rank 1 is gone: /scratch/heat.xhere-101-abc.buffer" in capsys.readouterr().err


def test_many_buffers_elsewhere(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages about missing buffers are grouped by host, and limited in number."""
    for rank in range(30):
        more = head(rank, 30, buffer=f"/scratch/{rank}", host=f"node{rank % 3}")
        write_defs(heat.parent / f"heat.{rank + 1:x}.def.z", define(rank, 30, ended=False), **more)
        if rank < 2:
            write_events(heat.parent / f"heat.{rank + 1:x}.events.z", [message(rank)], **more)
    with pytest.raises(VtraceError, match=r"30 buffers .* on 3 other hosts"):
        unify(Request(prefix=heat), Console("vtunify"))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21
    assert "rank 0 is on node0: /scratch/0" in lines[0]
    assert "rank 3 is on node0: /scratch/3" in lines[1]
    assert lines[-1].endswith("and 10 more on 1 host")
