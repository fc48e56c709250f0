# SPDX-License-Identifier: BSD-3-Clause
"""One-sided communication and MPI-IO with failing calls, with large counts, and while recording is off."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.oracles.one_sided import one_sided, transfers, with_calls

COMPONENTS = {"OMPI_MCA_osc": "^ucx"}
"""Open MPI's component ucx prints messages."""


def test_failing_calls_fail_as_without_vtrace_and_end_in_the_trace(mpi: Mpi, tmp_path: Path) -> None:
    untraced = mpi.run(mpi.build("mpi_refused.c", plain=True), tmp_path, ranks=2, env=COMPONENTS)
    (tmp_path / "written").unlink()
    traced = mpi.run(mpi.build("mpi_refused.c"), tmp_path, ranks=2, env=COMPONENTS)
    assert traced.stdout == untraced.stdout
    assert Counter(line.split()[1] for line in traced.stdout.splitlines()) == {"fails": 16, "works": 6}
    unify(tmp_path, "mpi_refused")
    trace = check(tmp_path / "mpi_refused.trace")
    for rank in range(2):
        process, kinds = trace.locations[rank].process, trace.kinds(rank)
        found = [(o.call, o.event.attrs["bytes"], [(k, c) for k, c, _ in o.ends]) for o in one_sided(trace, process)]
        local, remote = "RmaOpCompleteNonBlocking", "RmaOpCompleteRemote"
        unlocked = [(local, "MPI_Win_unlock"), (remote, "MPI_Win_unlock")]
        assert found == [
            ("MPI_Put", 0, unlocked),
            ("MPI_Put", 0, unlocked),
            ("MPI_Rput", 0, [(local, "MPI_Rput"), (remote, "MPI_Win_unlock")]),
            ("MPI_Rget", 0, [(local, "MPI_Rget"), (remote, "MPI_Rget")]),
            ("MPI_Put", 8, unlocked),
        ]
        ends = Counter(e.attrs["collective_op"] for e in trace.of(rank) if e.kind == "RmaCollectiveEnd")
        assert ends == {"CREATE_HANDLE": 2, "DESTROY_HANDLE": 1}
        once = ("RmaWinCreate", "RmaWinDestroy", "RmaReleaseLock", "RmaRequestLock")
        assert [kinds[kind] for kind in once] == [1, 1, 1, 1]
        assert [(t.mode, t.asked, t.done) for t in transfers(trace, process)] == [
            ("WRITE", 7, 7), ("WRITE", 7, 0), ("READ", 0, 0), ("READ", 8, 7)
        ]  # fmt: skip
        assert (kinds["IoCreateHandle"], kinds["IoDestroyHandle"]) == (2, 2)
        assert not kinds["IoSeek"] + kinds["IoDeleteFile"]
    assert len(trace.handles) == 2


def test_large_counts(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_large_io.c")
    done = mpi.run(program, tmp_path, ranks=2, env=COMPONENTS)
    unify(tmp_path, "mpi_large_io")
    trace = check(tmp_path / "mpi_large_io.trace")
    if done.stdout:
        assert mpi.is_open
        return
    for rank in range(2):
        process = trace.locations[rank].process
        found = one_sided(trace, process)
        assert [(o.call, o.event.attrs["remote"]) for o in found] == [
            (f"MPI_{name}_c", rank) for name in ("Put", "Get", "Accumulate", "Rput")
        ]
        assert [o.event.attrs.get("bytes", o.event.attrs.get("bytes_sent")) for o in found] == [12, 20, 8, 16]
        assert all(len(o.ends) == 2 for o in found)
        assert [(t.call, t.asked, t.done, t.more) for t in transfers(trace, process)] == [
            (f"MPI_File_{name}_c", 24, 24, {"Offset": 32 * rank}) for name in ("write_at_all", "iread_at")
        ]


def test_across_pcontrol(mpi: Mpi, tmp_path: Path) -> None:
    """Operations that begin while recording is off have no completion. Windows and files created then are defined when
    recording resumes."""
    mpi.run(mpi.build("mpi_pcontrol_io.c"), tmp_path, ranks=2, env=COMPONENTS)
    unify(tmp_path, "mpi_pcontrol_io")
    trace = check(tmp_path / "mpi_pcontrol_io.trace", complete=False)
    local, remote = "NonBlocking", "Remote"
    for rank in range(2):
        found = one_sided(trace, trace.locations[rank].process)
        ends = [(o.call, [(k.removeprefix("RmaOpComplete"), c) for k, c, _ in o.ends]) for o in found]
        assert ends == [
            ("MPI_Rput", [(remote, "MPI_Win_unlock_all")]),
            ("MPI_Put", [(local, "MPI_Win_unlock_all"), (remote, "MPI_Win_unlock_all")]),
            ("MPI_Put", [(local, "MPI_Win_fence"), (remote, "MPI_Win_fence")]),
        ]
        # One window is created while recording is on, one when recording resumes; one is freed while recording is off.
        made = [(e.attrs["win"], call) for e, call in with_calls(trace, rank) if e.kind == "RmaWinCreate"]
        gone = [(e.attrs["win"], call) for e, call in with_calls(trace, rank) if e.kind == "RmaWinDestroy"]
        assert [call for _, call in made] == ["MPI_Win_create", "main"]
        assert gone == [(made[1][0], "MPI_Win_free")]
        events = [
            (call.removeprefix("MPI_"), e.kind, (trace.handles[e.attrs["handle"]].file or "").rpartition("/")[2])
            for e, call in with_calls(trace, rank)
            if e.kind.startswith("Io")
        ]
        writes = [("File_write_at", f"IoOperation{kind}", "hidden") for kind in ("Begin", "Complete")]
        assert events == [
            ("File_open", "IoCreateHandle", "seen"),
            ("File_iwrite_at", "IoOperationBegin", "seen"),
            ("File_iwrite_at", "IoOperationIssued", "seen"),
            *writes,
            ("File_close", "IoDestroyHandle", "hidden"),
            ("File_open", "IoCreateHandle", "hidden"),
            *writes,
            ("File_close", "IoDestroyHandle", "hidden"),
            ("File_open", "IoCreateHandle", "seen"),
            ("File_close", "IoDestroyHandle", "seen"),
        ]
    before = [handle for handle in trace.handles.values() if handle.state]
    assert [(h.flags, h.state) for h in before] == [("PRE_CREATED", ("READ_WRITE", "NONE"))] * 2
    assert len(trace.handles) == 8
