# SPDX-License-Identifier: BSD-3-Clause
"""Threads that use one window and one file at the same time: the records of each thread are on its own location."""

from __future__ import annotations

from collections import Counter

import pytest

from support.build.mpis import Mpi
from support.oracles.one_sided import Operation, one_sided, transfers
from support.readers.archive import Trace

THREADS, ROUNDS, LAST = 3, 50, 5


@pytest.fixture(scope="module")
def trace(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    program = mpi.build("mpi_rma_threads.c", flags=("-O1", "-pthread"))
    # The component ucx of the Open MPI wheel prints messages.
    return mpi.record(program, tmp_path_factory.mktemp("threads"), ranks=2, env={"OMPI_MCA_osc": "^ucx"})


def locations(trace: Trace) -> dict[int, list[int]]:
    """Locations by process; the first one is the main thread."""
    found: dict[int, list[int]] = {}
    for number, location in sorted(trace.locations.items()):
        found.setdefault(location.process, []).append(number)
    return found


def completed(call: str, location: int) -> list[tuple[str, str, int]]:
    return [(kind, call, location) for kind in ("RmaOpCompleteNonBlocking", "RmaOpCompleteRemote")]


def test_flushes_complete_what_their_thread_issued(trace: Trace) -> None:
    """A flush completes the operations of its thread; the unlock completes the remaining operations of all threads."""
    for process, (main, *workers) in locations(trace).items():
        found: dict[int, list[Operation]] = {worker: [] for worker in workers}
        assert len(workers) == THREADS
        for operation in one_sided(trace, process):
            found[operation.event.location].append(operation)
        for worker, operations in found.items():
            assert {o.event.attrs["remote"] for o in operations} == {1 - process}
            puts = [o.ends for o in operations if o.event.kind == "RmaPut"]
            flushed, late = completed("MPI_Win_flush", worker), completed("MPI_Win_unlock_all", main)
            assert puts == [flushed] * ROUNDS + [late] * LAST
            fetches = [o.ends for o in operations if o.event.kind == "RmaAtomic"]
            assert fetches == [completed("MPI_Win_flush_local", worker)] * ROUNDS


def test_one_handle_in_all_threads(trace: Trace) -> None:
    for process in locations(trace):
        found = transfers(trace, process)
        assert Counter((t.call, t.asked, t.done) for t in found) == {
            (f"MPI_File_{what}_at", n, n): ROUNDS for what in ("read", "write") for n in range(1, THREADS + 1)
        }
        assert len({t.handle for t in found}) == 1
