# SPDX-License-Identifier: BSD-3-Clause
"""Incomplete runs: without a rank, the end of a process, or a buffer."""

from __future__ import annotations

import json
import mmap
import os
import platform
import time
from pathlib import Path

import pytest

from support.synthetic_runs.local_files import Chunk, write_buffer, write_defs, write_events
from support.synthetic_runs.two_ranks import (
    RECV,
    WORK,
    clock,
    define,
    head,
    message,
    names,
    rank_files,
    read_back,
    run,
    two_ranks,
)
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.io.local.records import DEFINITIONS
from vtrace.unify.run import Request, unify


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    return two_ranks(tmp_path)


def test_killed_while_it_wrote_the_uctl(heat: Path) -> None:
    (heat.parent / "heat.uctl.tmp100").write_bytes(b"")
    (heat.parent / "heat.uctl.tmp77").write_bytes(b"")
    run(heat)
    assert names(heat) == {"heat.trace", "heat.uctl.tmp77"}, "the temporary file may belong to a running program"


def test_missing_rank(heat: Path) -> None:
    rank_files(heat.parent, 0, size=3)
    with pytest.raises(VtraceError, match=r"rank 2 of 3 .*are missing"):
        run(heat)
    run(heat, partial=True)
    trace = read_back(heat)
    assert json.loads(trace.properties["VTRACE::ABOUT"])["missing_ranks"] == "2"
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["shortfalls"]) == (False, ["no files of rank 2"])
    assert [x.group for x in trace.locations.values()] == ["MPI Rank 0", "MPI Rank 1", "MPI Rank 2"]
    assert trace.comms[0].members == (0, 1, 2)
    assert trace.of(2) == []


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
