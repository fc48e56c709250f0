# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads could run but had no processor: recorded, kept in the sidecar, told as the cause of
losses."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify
from support.build.run import vtrace as command
from support.tools import DEFAULTS, call
from vtrace.analysis.processor_waits import ProcessorWaits

LAST = 0.06e9
"""ns: a thread asks the kernel after some milliseconds without a record: its last, short waits may be missing."""


def waited(trace: vtrace.Trace, *rows: int) -> float:
    """The ns that locations waited."""
    every = np.ones(trace.regions.rows + 1, bool)
    return float(ProcessorWaits(trace).by_location(regions=every)[[*rows]].sum())


def test_waits_are_those_of_the_kernel(build: Builder, tmp_path: Path) -> None:
    """Two threads on one processor have the waits that the kernel counts for them, at any load."""
    done = call([str(build("one_processor.c", compiler="gcc"))], tmp_path, {"VT_FILE_PREFIX": "one"} | DEFAULTS)
    unify(tmp_path, "one")
    trace = vtrace.open(tmp_path / "one")
    times = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert trace.locations.rows == 3
    for row, (kernel, _) in enumerate(times, 1):
        assert kernel - LAST < waited(trace, row) <= kernel + LAST
    assert waited(trace, 1, 2) > sum(cpu for _, cpu in times) / 4
    waits, (tree, _) = ProcessorWaits(trace), trace.call_tree()
    path = waits.paths(tree)
    assert waits.ns[path >= 0].sum() > 0
    assert np.array_equal(tree["region"][path[path >= 0]], waits.region[path >= 0])


def test_no_waits(build: Builder, tmp_path: Path) -> None:
    """VT_PROCESSOR_WAIT=no, and a copy of the archive, have no waits; other tables stay."""
    program = str(build("one_processor.c", compiler="gcc"))
    call([program], tmp_path, {"VT_FILE_PREFIX": "none", "VT_PROCESSOR_WAIT": "no"})
    call([program], tmp_path, {"VT_FILE_PREFIX": "some"} | DEFAULTS)
    for name in ("none", "some"):
        unify(tmp_path, name)
    command(tmp_path, "cut", "some", "-o", "copy")
    tables = {name: {path.name for path in (tmp_path / f"{name}.trace/vtrace").iterdir()} for name in ("none", "some")}
    assert tables["some"] - tables["none"] == {"processor_waits"}
    assert waited(vtrace.open(tmp_path / "some"), 1, 2) > 0
    assert waited(vtrace.open(tmp_path / "none"), 1, 2) == waited(vtrace.open(tmp_path / "copy"), 1, 2) == 0


@pytest.mark.parametrize("listens", [False, True], ids=["diagnose", "vtunify --also diagnose"])
def test_ranks_of_one_core_are_told_as_the_cause(build: Builder, tmp_path: Path, listens: bool) -> None:
    """Two ranks that compute the same on one core wait for each other in MPI: only because of the core."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(
        str(Path(__file__).parents[1] / "planted/programs/mpi_plants.c"), flags=("-O2", "-lm", "-pthread")
    )
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        mpi.run(
            program, tmp_path, "healthy", "40", ranks=2, env=DEFAULTS | {"PLANT_COMPUTES": "1", "VT_FILE_PREFIX": "t"}
        )
    finally:
        os.sched_setaffinity(0, before)
    unify(tmp_path, *["--also", "diagnose"] * listens, "t")
    found = json.loads(command(tmp_path, "diagnose", "--json", "t").stdout)["findings"]
    assert found[0]["kind"] == "oversubscribed"
    assert found[0]["ranks"] == [0, 1]
    assert not {one["kind"] for one in found} & {"imbalance", "serialisation"}
    _shows_the_evidence(tmp_path, found[0])


def _shows_the_evidence(where: Path, finding: dict[str, Any]) -> None:
    """The command of the finding shows the waits by location, and each with its time and place."""
    words = shlex.split(finding["command"])[1:]
    shown = command(where, *words).stdout
    assert "Waits for a processor" in shown
    assert "The longest waits for a processor" in shown
    told = json.loads(command(where, *words, "--json").stdout)
    by_location, waits = (told[name] for name in ("processor_waits_by_location", "processor_waits"))
    assert {row["location"] for row in by_location} == {"rank 0", "rank 1"}
    assert sum(row["time_ns"] for row in by_location) == pytest.approx(sum(row["time_ns"] for row in waits), abs=9**5)
    assert all(row["time_ns"] <= row["to_ns"] - row["from_ns"] + 1 for row in waits)
    assert any("compute" in row["callpath"] for row in waits if row["callpath"])
