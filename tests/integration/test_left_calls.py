# SPDX-License-Identifier: BSD-3-Clause
"""Recorded calls that do not return: longjmp, an exception or the end of the thread leaves them. Each ends there, with
the attribute `left`, and later calls are not inside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace

N = 5
JUMPS = [
    ("read", "jump"), ("recv", "jump"), ("fread", "jump"), ("wait", "jump"), ("sem_wait", "jump"),
    ("pthread_mutex_lock", "jump"), ("read", "stack"), ("read", "context"), ("read", "cancel"),
]  # fmt: skip


def left(trace: Trace) -> Counter[str]:
    """The number of left calls by function."""
    marked = [event for event in trace.events if event.kind == "Leave" and event.more.get("left") == 1]
    return Counter(trace.region_of(event).name for event in marked)


def recorded(here: Path, *words: str | Path) -> Trace:
    done = vtrace(here, "run", "--io", "-o", "t", *(str(word) for word in words), env={"VT_PTHREAD": "locks"})
    assert done.stdout == "left\n"
    unify(here, "t")
    return check(here / "t.trace")


@pytest.mark.parametrize(("function", "how"), JUMPS)
def test_jumps(build: Builder, tmp_path: Path, function: str, how: str) -> None:
    """The writes after the jump come from the same level of the stack, and from a deeper one."""
    trace = recorded(tmp_path, build("left_calls.c", flags=("-O1", "-w", "-pthread"), plain=True), function, how)
    assert left(trace) == {function: N}
    assert trace.entered()[function] == N + (1 if function == "pthread_mutex_lock" else 0)
    edges = trace.edges()
    assert edges[None, "write"] == N * (3 if how == "cancel" else 2) == trace.calls()["write"]


def test_coroutine(build: Builder, tmp_path: Path) -> None:
    """A coroutine that runs while a call waits for it leaves nothing."""
    trace = recorded(tmp_path, build("left_calls.c", flags=("-O1", "-w", "-pthread"), plain=True), "coroutine", "never")
    assert not left(trace)
    assert trace.edges()["fread", "write"] == trace.calls()["write"] == 2 * N
    assert trace.calls()["fread"] == N


def test_exceptions(build: Builder, tmp_path: Path) -> None:
    trace = recorded(tmp_path, build("left_calls.cc", compiler="g++", flags=("-O1",), plain=True))
    assert left(trace) == {"fread": N}
    assert trace.calls()["fread"] == 2 * N
    assert {edge: n for edge, n in trace.edges().items() if edge[1] == "write"} == {
        ("fread", "write"): 3 * N, (None, "write"): 3 * N,
    }  # fmt: skip


def test_mpi(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.builder("left_mpi.cc", compiler=str(mpi.mpicxx), flags=("-O1",), plain=False)
    done = mpi.run(program, tmp_path, ranks=1)
    assert done.stdout == "left\n"
    unify(tmp_path, "left_mpi")
    trace = check(tmp_path / "left_mpi.trace", complete=False)
    assert left(trace) == {"MPI_Send": 2 * N, "MPI_Bcast": N, "MPI_Comm_delete_attr": N}
    edges = trace.edges()
    assert edges["MPI_Send", "fails"] == 2 * N
    assert edges["MPI_Bcast", "fails"] == N
    assert edges["deeper", "MPI_Comm_rank"] == 4 * N == trace.calls()["MPI_Comm_rank"]
