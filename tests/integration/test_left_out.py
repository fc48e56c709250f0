# SPDX-License-Identifier: BSD-3-Clause
"""Each command names the settings that left events out of a trace, so that the trace does not look complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify
from support.build.run import vtrace as command
from support.oracles.check import check

Rows = list[dict[str, Any]]


def told(where: Path, name: str, setting: str, kind: str, locations: int) -> None:
    """Checks that all commands agree, and that the interval of each location lasts as long as the run."""
    found: Rows = json.loads(command(where, "info", "--json", name).stdout)["not_recorded"]
    mine = [gap for gap in found if gap["reason"] == setting]
    assert [(gap["class"], gap["count"]) for gap in mine] == [(kind, None)] * locations
    assert len({gap["location"] for gap in mine}) == locations
    trace = check(where / f"{name}.trace", complete=False)
    for gap in mine:
        times = [event.time for event in trace.of(gap["location"])]
        assert gap["from"] <= times[0]
        assert times[-1] <= gap["to"]
    info, summary = (command(where, word, name).stdout for word in ("info", "summary"))
    assert f"left out ({setting}): events of {kind.replace('+', ', ')} on {locations} location" in summary
    assert f"no event lost, {setting} leaves events out" in info
    assert f"no event lost, {setting} leaves events out" in summary
    assert "all events recorded" not in info + summary
    assert f"yes, except events excluded by {setting}" in info
    assert f"left out ({setting})" in command(where, "score", name).stdout


def test_stack_depth(build: Builder, tmp_path: Path) -> None:
    run(build("stops.c", flags=("-O1", "-DVTRACE")), tmp_path, "end", "1000", env={"VT_MAX_STACK_DEPTH": "1"})
    unify(tmp_path, "stops")
    assert check(tmp_path / "stops.trace").calls() == {"main": 1}
    told(tmp_path, "stops", "VT_MAX_STACK_DEPTH", "user", 1)
    done = command(tmp_path, "score", "stops", "--fit", "1K")
    assert "warning: left out (VT_MAX_STACK_DEPTH)" in done.stderr
    (tmp_path / "made.filter").write_text(done.stdout)
    assert command(tmp_path, "filter", "made.filter").returncode == 0, "standard output must be a valid filter"


def test_groups_of_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """The program sends with MPI_Isend; without the group of MPI_Isend the trace has no message."""
    mpi.run(mpi.build("mpi_groups.c"), tmp_path, ranks=2, env={"VT_MPI_GROUPS": "p2p"})
    unify(tmp_path, "mpi_groups")
    told(tmp_path, "mpi_groups", "VT_MPI_GROUPS", "mpi/collective+mpi/io+mpi/management+mpi/p2p+mpi/rma", 2)


def test_filter_of_library_calls(mpi: Mpi, tmp_path: Path) -> None:
    """A filter that leaves out calls of MPI says so of MPI, as the tables of messages need it. A rule for a function
    that is not called, and a rule without a limit, leave nothing out."""
    (tmp_path / "f").write_text("MPI_Isend -- 0\nMPI_Bcast -- -1\nGOMP_barrier -- 0\n")
    mpi.run(mpi.build("mpi_groups.c"), tmp_path, ranks=2, env={"VT_FILTER_SPEC": str(tmp_path / "f")})
    unify(tmp_path, "mpi_groups")
    told(tmp_path, "mpi_groups", "VT_FILTER_SPEC", "mpi+user", 2)


def test_filter_of_memory(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("LIBC-MALLOC -- 3 G\n")
    program = build("heap_threads.c", flags=("-O1", "-pthread"))
    words = ("run", "--memory", "--unify", "-o", "heap", program, "2", "100", "0")
    command(tmp_path, *words, env={"VT_FILTER_SPEC": str(tmp_path / "f")})
    gaps: Rows = json.loads(command(tmp_path, "info", "--json", "heap").stdout)["not_recorded"]
    assert {gap["class"] for gap in gaps if gap["reason"] == "VT_FILTER_SPEC"} == {"memory+user"}


def test_small_blocks(build: Builder, tmp_path: Path) -> None:
    """The location of the heap has no calls, so it has no interval of left-out calls; all threads have one."""
    program = build("heap_threads.c", flags=("-O1", "-pthread"))
    words = ("run", "--memory", "--unify", "-o", "heap", program, "2", "100", "0")
    command(tmp_path, *words, env={"VT_MEMTRACE_THRESHOLD": "1K", "VT_OMPTRACE": "no"})
    trace = check(tmp_path / "heap.trace", complete=False)
    threads = {one.id for one in trace.locations.values() if one.kind == "CPU_THREAD"}
    assert len(threads) < len(trace.locations)
    found: Rows = json.loads(command(tmp_path, "info", "--json", "heap").stdout)["not_recorded"]
    for setting, kind in (("VT_MEMTRACE_THRESHOLD", "memory"), ("VT_OMPTRACE", "openmp")):
        mine = [gap for gap in found if gap["reason"] == setting]
        assert {gap["location"] for gap in mine} == threads
        assert {(gap["class"], gap["count"]) for gap in mine} == {(kind, None)}
        shown = command(tmp_path, "info", "heap").stdout.splitlines()
        line = next(row for row in shown if row.split()[:2] == [kind, setting])
        whole = max(gap["to"] for gap in found) - trace.offset
        share = float(line.split()[-3])
        assert share == pytest.approx(100 * sum(gap["ns"] for gap in mine) / whole / len(threads), rel=0.02)
    assert (
        "yes, except events excluded by VT_OMPTRACE and VT_MEMTRACE_THRESHOLD"
        in command(tmp_path, "info", "heap").stdout
    )


@pytest.mark.parametrize("setting", ["VT_MPITRACE", "VT_OMPTRACE", "VT_PTHREAD", "VT_EXECTRACE"])
def test_switches(build: Builder, tmp_path: Path, setting: str) -> None:
    run(build("stops.c", flags=("-O1", "-DVTRACE")), tmp_path, "end", "10", env={setting: "OFF"})
    unify(tmp_path, "stops")
    kinds = {"VT_MPITRACE": "mpi", "VT_OMPTRACE": "openmp", "VT_PTHREAD": "threads", "VT_EXECTRACE": "processes"}
    told(tmp_path, "stops", setting, kinds[setting], 1)
