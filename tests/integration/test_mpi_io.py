# SPDX-License-Identifier: BSD-3-Clause
"""MPI-IO: each operation with its handle, the requested and the transferred bytes, and the call that completes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.oracles.one_sided import Transfer, transfers, with_calls
from support.readers.archive import Trace
from vtrace.io.local.records import IO_UNKNOWN

RANKS = 2


@pytest.fixture(scope="module")
def directory(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("io")


@pytest.fixture(scope="module")
def trace(mpi: Mpi, directory: Path) -> Trace:
    # Open MPI does not accept a file system name before the path.
    name = ".//data" if mpi.is_open else "ufs:.//data"
    return mpi.record(mpi.build("mpi_io.c"), directory, name, ranks=RANKS)


def shared_handle(trace: Trace, rank: int) -> int:
    """The handle in a process of the file that all ranks open."""
    ends = [e.attrs["handle"] for e in trace.of(rank) if e.kind == "IoCreateHandle"]
    (found,) = {handle for handle in ends if (trace.handles[handle].file or "").endswith("/data")}
    return found


def of_data(trace: Trace, rank: int) -> list[Transfer]:
    handle = shared_handle(trace, rank)
    return [t for t in transfers(trace, trace.locations[rank].process) if t.handle == handle]


Row = tuple[str, str, str, int | None]


def blocking() -> list[Row]:
    """Call, mode, flags and offset (in units of one rank's share of the file) of the blocking calls of mpi_io.c."""

    def pair(suffix: str, flags: str, offset: int | None) -> list[Row]:
        return [(f"write{suffix}", "WRITE", flags, offset), (f"read{suffix}", "READ", flags, offset)]

    alone, together = "NONE", "COLLECTIVE"
    return [
        *pair("_at", alone, 1), *pair("", alone, None), *pair("_at_all", together, 1), *pair("_all", together, None),
        *pair("_ordered", together, None), *pair("_shared", alone, None),
    ]  # fmt: skip


def split() -> list[Row]:
    rows = [("_at_all", 1), ("_all", None), ("_ordered", None)]
    flags = "NON_BLOCKING|COLLECTIVE"
    return [(f"{m.lower()}{s}_begin", m, flags, offset) for s, offset in rows for m in ("WRITE", "READ")]


def with_requests() -> list[Row]:
    rows = [("_at", "", 1), ("", "", None), ("_shared", "", None), ("_at_all", "|COLLECTIVE", 1)]
    rows.append(("_all", "|COLLECTIVE", None))
    found = [(f"i{m.lower()}{s}", m, "NON_BLOCKING" + f, at) for s, f, at in rows for m in ("WRITE", "READ")]
    return [*found[:6], *[("iwrite_at", "WRITE", "NON_BLOCKING", -1)] * 2, *found[6:]]


def ends(call: str) -> str:
    """The call that completes the operation of another call."""
    if call.endswith("_begin"):
        return call.removesuffix("_begin") + "_end"
    return call


def test_each_operation(trace: Trace) -> None:
    for rank in range(RANKS):
        found = of_data(trace, rank)
        assert Counter(t.completed_in for t in found)["MPI_File_sync"] == 1
        rows = [*blocking(), *split(), *with_requests()]
        for transfer, (call, mode, flags, offset) in zip(found, rows, strict=False):
            assert (transfer.call, transfer.mode, transfer.flags) == (f"MPI_File_{call}", mode, flags)
            if offset == 1:
                assert transfer.more == {"Offset": 32 * rank}
            elif offset is None:
                assert transfer.more == {}
            if offset != -1:
                assert (transfer.asked, transfer.done) == (16 + rank, 16 + rank)
            assert transfer.issued == ("NON_BLOCKING" in flags)
            if call.startswith("i"):
                assert transfer.completed_in in ("MPI_Wait", "MPI_Waitall", "MPI_Test")
            else:
                assert transfer.completed_in == f"MPI_File_{ends(call)}"
        own = [t for t in found if t.completed_in == "MPI_Waitall"]
        assert [(t.asked, t.done, t.more) for t in own] == [
            (3, 3, {"Offset": 256 + 32 * rank}), (5, 5, {"Offset": 512 + 32 * rank})
        ]  # fmt: skip
        rest = [(t.call, t.mode, t.flags, t.asked, t.done, t.more) for t in found[len(rows) :]]
        assert rest == [
            ("MPI_File_sync", "FLUSH", "COLLECTIVE", IO_UNKNOWN, IO_UNKNOWN, {}),
            ("MPI_File_read_at", "READ", "NONE", 32, 10, {"Offset": 990}),
            ("MPI_File_read_at", "READ", "NONE", 8, 8, {"Offset": 3}),
        ]
        tests = [e for e, call in with_calls(trace, rank) if e.kind == "IoOperationTest" and call == "MPI_Test"]
        assert trace.kinds(rank)["IoOperationTest"] == len(tests) == trace.calls(rank)["MPI_Test"] - 1


def test_seeks(trace: Trace) -> None:
    for rank in range(RANKS):
        found = [
            (call.removeprefix("MPI_File_"), e.attrs["whence"], e.attrs["offset_request"], e.attrs["offset_result"])
            for e, call in with_calls(trace, rank)
            if e.kind == "IoSeek"
        ]
        own = ("seek", "FROM_START", 32 * rank, 32 * rank)
        ordered, first = (("seek_shared", "FROM_START", n, n) for n in (64, 0))
        assert found == [
            own, ("seek", "FROM_CURRENT", -16 - rank, 32 * rank), own, own,
            ordered, ordered, ("seek_shared", "FROM_START", 128, 128), first,
            own, own, ordered, ordered, own, own, first, own, own, ("seek", "FROM_END", -4, 996),
        ]  # fmt: skip


def test_handles_and_files(trace: Trace, directory: Path) -> None:
    """One handle for each process, file and communicator, also if the file is opened repeatedly. A failed open has no
    handle."""
    assert {path for path, _ in trace.files.values()} == {
        str(directory.resolve() / name) for name in ("data", *(f"own_{r}_{i}" for r in range(2) for i in range(4)))
    }
    assert len(trace.handles) == RANKS * 5
    for rank in range(RANKS):
        created = [(e.attrs, call) for e, call in with_calls(trace, rank) if e.kind == "IoCreateHandle"]
        assert {call for _, call in created} == {"MPI_File_open"}
        flags = Counter((a["mode"], a["creation_flags"], a["status_flags"]) for a, _ in created)
        assert flags == {
            ("READ_WRITE", "CREATE", "NONE"): 1,
            ("WRITE_ONLY", "CREATE", "NONE"): 20,
            ("READ_WRITE", "NONE", "APPEND|DELETE_ON_CLOSE"): 1,
        }
        assert trace.calls(rank)["MPI_File_open"] == 23
        closed = [call for e, call in with_calls(trace, rank) if e.kind == "IoDestroyHandle"]
        assert closed == ["MPI_File_close"] * 22
        names = {}
        for attrs, _ in created:
            handle = trace.handles[attrs["handle"]]
            assert (handle.paradigm, handle.flags, handle.parent, handle.state) == ("MPI-IO", "NONE", None, None)
            assert handle.comm is not None
            names[handle.name] = trace.comms[handle.comm].name
        assert names.pop("data") == "MPI_COMM_WORLD"
        assert names == {f"own_{rank}_{i}": "MPI_COMM_SELF" for i in range(4)}
        own = [t for t in transfers(trace, trace.locations[rank].process) if t.handle != shared_handle(trace, rank)]
        assert [(t.call, t.asked, t.done) for t in own] == [("MPI_File_write", i, i) for i in range(20)]
        gone = [trace.files[e.attrs["file"]][0] for e in trace.of(rank) if e.kind == "IoDeleteFile"]
        assert gone == [str(directory.resolve() / f"own_{rank}_{i}") for i in range(3)]
    assert trace.region("MPI_File_write_at").role == "FILE_IO"
    assert trace.region("MPI_File_open").role == "FILE_IO_METADATA"
