# SPDX-License-Identifier: BSD-3-Clause
"""The disk of one node is full: only its rank is affected, and the rank reports the loss in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.cluster.launch import MPIS, ROUNDS, SUM, Job, assert_counts
from support.cluster.nodes import DISK, Cluster
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import Done

FULL = 1
"""The rank on node2, whose disk is full."""


@pytest.fixture
def full(cluster: Cluster, build: Builder) -> Iterator[Job]:
    job = Job(cluster, MPIS[0], build)
    disks = [node.path(DISK) for node in cluster.nodes]
    with suppress(OSError), (disks[FULL] / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
    assert os.statvfs(disks[FULL]).f_bavail == 0
    yield job
    for disk in disks:
        for path in disk.iterdir():
            path.unlink()


def lines(done: Done, command: str) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith(f"{command}: ")]


def info(where: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "info", "--json", "nodes").stdout)
    return found


def assert_three_ranks(trace: Trace, more: int = 0) -> None:
    """All events of three ranks, none of rank FULL. more: messages to a rank that receives them all."""
    assert trace.calls()["work"] == 3 * 5 * ROUNDS
    assert len(trace.of(FULL)) == 0
    assert trace.kinds()["MpiSend"] - more == trace.kinds()["MpiRecv"] == 3 * ROUNDS


def test_buffers_on_the_disks(full: Job, tmp_path: Path) -> None:
    """The rank records into memory. All local files are complete in the shared directory: nothing is lost."""
    done = full.run(tmp_path, env={"VT_PFORM_LDIR": str(DISK)})
    assert done.stdout == SUM
    (warning,) = [line for line in lines(done, "vtrace") if "next: vtunify" not in line]
    assert f"{DISK}/nodes.xnode2-" in warning
    assert "cannot grow (no space left): vtrace records into memory" in warning
    full.unify(tmp_path, "nodes")
    assert_counts(check(tmp_path / "nodes.trace"))
    assert info(tmp_path)["complete"]


def test_files_on_the_disks(full: Job, tmp_path: Path) -> None:
    """The rank records nothing. vtunify-mpi names its files, and the archive without it says so."""
    done = full.run(tmp_path, env={"VT_PFORM_GDIR": str(DISK), "VT_PFORM_LDIR": str(DISK)})
    assert done.stdout == SUM
    assert f"vtrace: {DISK} on node2 is not writable (no space left): nothing is recorded; " in done.stderr
    refused = full.unify_mpi(tmp_path, "-o", tmp_path / "nodes", DISK / "nodes", check=False)
    (line,) = lines(refused, "vtunify-mpi")
    assert "the local files of rank 1 of 4 (nodes.2.*) are missing in all 4 directories that the ranks see" in line
    full.unify_mpi(tmp_path, "--partial", "-o", tmp_path / "nodes", DISK / "nodes")
    assert_three_ranks(check(tmp_path / "nodes.trace", complete=False))
    found = info(tmp_path)
    assert found["shortfalls"] == ["no files of rank 1"]
    gaps = [(gap["location"], gap["reason"], gap["count"]) for gap in found["not_recorded"]]
    assert [gap for gap in gaps if gap[1] != "flush"] == [(FULL, "rank missing", None)]


def test_killed(full: Job, tmp_path: Path) -> None:
    """The rank kills itself, and its buffer was memory: the archive has the events of the others, and says so."""
    full.run(tmp_path, str(FULL), env={"VT_PFORM_LDIR": str(DISK)}, check=False)
    for node in full.cluster.nodes:
        node.kill_programs()
    said = lines(full.unify_mpi(tmp_path, "nodes"), "vtunify-mpi")
    early = "did not complete the files"
    assert f"vtunify-mpi: warning: ranks 0,2-3 {early}: the archive has the events recorded until then" in said
    assert f"vtunify-mpi: warning: rank 1 {early}: the buffers were memory, so the last events are lost" in said
    assert_three_ranks(check(tmp_path / "nodes.trace", complete=False), more=3)
    found = info(tmp_path)
    assert found["shortfalls"] == ["ranks 0-3 ended early"]
    gaps = {(gap["location"], gap["reason"], gap["count"]) for gap in found["not_recorded"]}
    assert gaps == {(rank, "process died", None) for rank in range(4)}
