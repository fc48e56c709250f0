# SPDX-License-Identifier: BSD-3-Clause
"""Archives of EZTrace, with sparse and repeated ids, wrong event counts and an unusual name of the anchor file."""

from __future__ import annotations

import json
from pathlib import Path

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import vtrace as vtrace_command
from support.tools import call, need
from vtrace.analysis.activity import CLASSES
from vtrace.analysis.questions.collectives import op_name
from vtrace.analysis.questions.profile import reduce
from vtrace.analysis.trace import Trace


def called(trace: Trace) -> dict[str, tuple[int, str]]:
    """The number of calls and the class of each function."""
    table, names, kinds = reduce(trace.profile(), "region"), trace.regions["name"], trace.regions.classes
    return {names[r["region"]]: (r["calls"], kinds[trace.regions["class"][r["region"]]]) for r in table.records()}


def test_threads_and_files(build: Builder, tmp_path: Path) -> None:
    program = build("foreign.c", flags=("-O1", "-pthread"), plain=True)
    call([need("eztrace"), "-t", "pthread posixio", program], tmp_path)
    trace = vtrace.open(tmp_path / "foreign_trace")
    assert trace.path.name == "eztrace_log.otf2"
    assert trace.locations.rows == 3
    found = called(trace)
    assert {name: found[name] for name in ("pthread_create", "pthread_join", "open", "write", "close")} == {
        "pthread_create": (2, "threads"), "pthread_join": (2, "threads"), "open": (1, "I/O"), "write": (5, "I/O"),
        "close": (1, "I/O"),
    }  # fmt: skip
    assert found["pthread_mutex_lock"][0] >= 20
    (file,) = trace.io().records()
    assert trace.io_handles["name"][file["handle"]] == "file"
    assert (file["opens"], file["writes"], file["bytes_written"], file["closes"]) == (1, 5, 500, 1)
    assert trace.timeline(10).shape == (3, len(CLASSES) + 1, 10)  # 1: time outside of all regions
    told = json.loads(vtrace_command(tmp_path, "summary", "foreign_trace", "--json").stdout)
    assert {row["region"]: row["calls"] for row in told["regions"]}["write"] == 5
    assert [(row["writes"], row["bytes_written"]) for row in told["files"]] == [(5, 500)]
    assert len(told["classes"]) == 3
    shown = vtrace_command(tmp_path, "summary", "foreign_trace").stdout
    assert "I/O s" in shown
    assert "coverage" not in shown
    assert not trace.problems


def test_messages_and_collectives(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("openmpi", build)
    program = mpi.build("foreign_mpi.c", plain=True)
    words = [*mpi.launch, "-n", "2", need("eztrace"), "-t", "openmpi", program]
    call(words, tmp_path, env=mpi.env)
    trace = vtrace.open(tmp_path / "foreign_mpi_trace")
    assert trace.processes["rank"].tolist() == [0, 1]
    found = called(trace)
    for name in ("MPI_Send", "MPI_Recv", "MPI_Allreduce"):
        assert found[name] == (10, "MPI")
    assert trace.message_matrix().dense("count").tolist() == [[0, 5], [5, 0]]
    assert trace.message_matrix().dense().tolist() == [[0, 20], [20, 0]]
    messages = trace.messages()
    assert (messages.rows, messages.unmatched_sends, messages.unmatched_receives) == (10, 0, 0)
    instances, parts = trace.collectives()
    assert (instances.rows, parts.rows, set(instances["locations"].tolist())) == (5, 10, {2})
    assert {op_name(op) for op in instances["op"]} == {"ALLREDUCE"}
    shown = vtrace_command(tmp_path, "summary", "foreign_mpi_trace").stdout
    assert "Messages: 10 with 40 bytes, 2 pairs" in shown
    assert "Collective operations: 10 calls" in shown
    timers = json.loads(vtrace_command(tmp_path, "timers", "foreign_mpi_trace", "--all").stdout)["timers"]
    assert {row["calls"] for row in timers if row["label"] == "MPI_Send"} == {5}
    assert "no differences" in vtrace_command(tmp_path, "diff", "foreign_mpi_trace", "foreign_mpi_trace").stdout
    assert not trace.problems
