# SPDX-License-Identifier: BSD-3-Clause
"""MPI_Pcontrol and VT_MPI_GROUPS select the recorded MPI events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import NAMES, Mpi, find
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Event, Trace, short


def told(trace: Trace, event: Event) -> str:
    if event.kind in ("Enter", "Leave"):
        return f"{event.kind} {short(trace.region_of(event).name)}"
    return f"{event.kind} {event.attrs.get('msg_tag', event.attrs.get('measurement_mode', ''))}".strip()


EXPECTED = """
Enter main, Enter MPI_Init, Leave MPI_Init, Enter MPI_Comm_rank, Leave MPI_Comm_rank
Enter MPI_Irecv, MpiIrecvRequest, Leave MPI_Irecv
Enter stops, Enter step, Enter MPI_Sendrecv, MpiSend 1, MpiRecv 1, Leave MPI_Sendrecv, Leave step
Enter MPI_Pcontrol, Leave MPI_Pcontrol, MeasurementOnOff OFF, Leave stops
MeasurementOnOff ON, Enter begins, Enter MPI_Pcontrol, Leave MPI_Pcontrol
Enter step, Enter MPI_Sendrecv, MpiSend 4, MpiRecv 4, Leave MPI_Sendrecv, Leave step, Leave begins
Enter MPI_Pcontrol, Leave MPI_Pcontrol, Enter MPI_Pcontrol, Leave MPI_Pcontrol
Enter MPI_Send, MpiSend 12, Leave MPI_Send, Enter MPI_Wait, MpiRecv 12, Leave MPI_Wait
Enter MPI_Sendrecv, MpiSend 5, MpiRecv 5, Leave MPI_Sendrecv
Enter MPI_Comm_free, MpiCollectiveBegin, MpiCollectiveEnd, Leave MPI_Comm_free
Enter MPI_Finalize, BufferFlush, Leave MPI_Finalize, Leave main
"""


def test_off_and_on(mpi: Mpi, tmp_path: Path) -> None:
    """A region left while recording is off gets its leave at the switch to off. A region entered while recording is
    off, and still open, gets its enter at the switch to on. A receive started in between has a message, but no request.
    """
    mpi.run(mpi.build("mpi_pcontrol.c"), tmp_path, ranks=2)
    unify(tmp_path, "mpi_pcontrol")
    trace = check(tmp_path / "mpi_pcontrol.trace", complete=False)
    expected = [word.strip() for line in EXPECTED.strip().splitlines() for word in line.split(",")]
    for rank in (0, 1):
        assert [told(trace, event) for event in trace.of(rank)] == expected
    off = {e.location: e.time for e in trace.events if e.attrs.get("measurement_mode") == "OFF"}
    on = {e.location: e.time for e in trace.events if e.attrs.get("measurement_mode") == "ON"}
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert coverage["off"] == pytest.approx(sum(on[i] - off[i] for i in off) / 1e9, abs=1e-6)
    assert coverage["lost"] == 0


def record(mpi: Mpi, place: Path, groups: str) -> Trace:
    place.mkdir()
    mpi.run(mpi.build("mpi_groups.c"), place, ranks=2, env={"VT_MPI_GROUPS": groups})
    unify(place, "mpi_groups")
    return check(place / "mpi_groups.trace", complete=False)


def test_groups(mpi: Mpi, tmp_path: Path) -> None:
    """The trace has the calls of the selected groups, and defines communicators without the calls that create them."""
    most = {"MPI_Init", "MPI_Comm_dup", "MPI_Comm_rank", "MPI_Comm_free", "MPI_Bcast", "MPI_Send", "MPI_Recv",
            "MPI_Isend", "MPI_Wait", "MPI_Type_size", "MPI_Finalize", "MPI_Comm_set_name", "MPI_Info_create",
            "MPI_Info_free", "MPI_Cart_create", "MPI_Initialized"}  # fmt: skip
    more = {"MPI_Wtime", "MPI_Wtick", "MPI_Finalized", "MPI_T_init_thread", "MPI_T_finalize"}
    expected = {
        "": most,
        "default": most,
        "all": most | more,
        "p2p request": {"MPI_Send", "MPI_Recv", "MPI_Wait"},
        "coll,time": {"MPI_Bcast", "MPI_Wtime", "MPI_Wtick"},
    }
    for number, (groups, calls) in enumerate(expected.items()):
        trace = record(mpi, tmp_path / str(number), groups)
        assert {name for name in trace.calls() if name.startswith("MPI_")} == calls, groups
        settings = json.loads(trace.properties["VTRACE::SETTINGS"])
        assert ("tool" in settings["VT_MPI_GROUPS"].split(",")) == (groups == "all")
        used = {trace.comms[e.attrs["communicator"]].name for e in trace.events if e.kind in ("MpiSend", "MpiRecv")}
        assert used == (set() if "coll" in groups else {"twin"})


def test_wrong_group(mpi: Mpi, tmp_path: Path) -> None:
    done = mpi.run(mpi.build("mpi_groups.c"), tmp_path, ranks=1, env={"VT_MPI_GROUPS": "p2p,cool,coll"})
    said = [line for line in done.stderr.splitlines() if "VT_MPI_GROUPS" in line]
    assert len(said) == 1
    assert "unknown group cool of MPI functions" in said[0]
    assert {"all", "default", "cg", "coll", "env", "err", "ext", "io", "p2p", "perf", "rma", "spawn", "topo", "type",
            "misc", "request", "xnonblock", "tool", "time"} <= set(said[0].replace(",", "").split())  # fmt: skip
    unify(tmp_path, "mpi_groups")
    calls = check(tmp_path / "mpi_groups.trace", complete=False).calls()
    assert {name for name in calls if name.startswith("MPI_")} == {"MPI_Send", "MPI_Recv", "MPI_Bcast"}


def test_other_threads_follow(build: Builder, tmp_path: Path) -> None:
    """Another thread follows switches to off and on at any moment: its stack stays right, and no event is lost."""
    mpi = find(NAMES[0], build)
    mpi.run(mpi.build("mpi_switching.c", flags=("-O1", "-pthread")), tmp_path, ranks=1, env={"VT_MAX_FLUSHES": "0"})
    done = unify(tmp_path, "mpi_switching")
    assert "warning" not in done.stderr
    trace = check(tmp_path / "mpi_switching.trace")
    outside = {(None, "work"), ("work", "outer"), ("outer", "middle")}
    assert set(trace.edges(1)) == outside | {("middle", "middle"), ("middle", "inner")}
    modes = [e.attrs["measurement_mode"] for e in trace.of(0) if e.kind == "MeasurementOnOff"]
    assert modes == ["OFF", "ON"] * 50
    followed = [e.attrs["measurement_mode"] for e in trace.of(1) if e.kind == "MeasurementOnOff"]
    assert followed == ["OFF", "ON"] * (len(followed) // 2)
    assert 20 < len(followed) <= 100
    off = False
    for event in trace.of(1):
        if event.kind == "MeasurementOnOff":
            off = event.attrs["measurement_mode"] == "OFF"
        assert not off or event.kind in ("MeasurementOnOff", "Leave"), event
