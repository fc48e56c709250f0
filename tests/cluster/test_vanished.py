# SPDX-License-Identifier: BSD-3-Clause
"""vtunify while a job still runs on other nodes, and after a node has vanished."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import names, vtrace
from support.cluster.launch import MPIS, ROUNDS, Job, assert_counts
from support.cluster.nodes import DISK, Cluster
from support.oracles.check import check
from support.tools import command


def info(where: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "info", "--json", "nodes").stdout)
    return found


def test_running_on_other_nodes(job: Job, tmp_path: Path) -> None:
    """A node sees that its rank still runs. The front does not see that: vtunify there leaves the files, and the run
    loses nothing."""
    with job.running(tmp_path) as running:
        files = names(tmp_path)
        there = job.cluster.nodes[1].call(tmp_path, *command("vtunify"), "nodes", check=False)
        assert there.returncode == 1
        assert "nodes is still running: rank 1 (process " in there.stderr
        assert "the local files stay: ranks 0-3 may still run on node1" in job.unify(tmp_path, "nodes").stderr
        assert names(tmp_path) == files | {"nodes.trace"}
        assert_counts(check(tmp_path / "nodes.trace", complete=False), finished=False)
        (tmp_path / "go").touch()
        assert running.wait(60) == 0
    job.unify(tmp_path, "--force", "nodes")
    assert names(tmp_path) == {"nodes.trace", "go"}
    assert_counts(check(tmp_path / "nodes.trace"))
    assert info(tmp_path)["complete"]


@pytest.fixture
def mortal(session: Path, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """MPICH on nodes that only this test uses."""
    cluster = Cluster(tmp_path_factory.mktemp("nodes") / "cluster", session, 4)
    yield Job(cluster, MPIS[0], build)
    cluster.end()


def lose(job: Job, running: subprocess.Popen[str]) -> None:
    """node3 vanishes: first its link, then the contents of its memory. The launcher does not notice, and is stopped.
    Takes node3 out of the cluster."""
    lost = job.cluster.nodes.pop(2)
    job.cluster.disconnect(lost)
    lost.kill()
    lost.wait()
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) != 0
    for node in job.cluster.nodes:
        node.kill_programs()


def test_vanished_node(mortal: Job, tmp_path: Path) -> None:
    """All buffers are in the shared directory: the front reads all records published on all four nodes."""
    with mortal.running(tmp_path) as running:
        lose(mortal, running)
    mortal.unify(tmp_path, "nodes")
    assert_counts(check(tmp_path / "nodes.trace", complete=False), finished=False)
    assert info(tmp_path)["shortfalls"] == ["ranks 0-3 ended early"]


def test_vanished_disk(mortal: Job, tmp_path: Path) -> None:
    """The buffers are on the nodes' disks. vtunify-mpi on the other three nodes names the files that vanished with
    node3, and the archive without it says so."""
    with mortal.running(tmp_path, env={"VT_PFORM_LDIR": str(DISK)}) as running:
        lose(mortal, running)
    files = names(tmp_path)
    refused = mortal.unify_mpi(tmp_path, "nodes", check=False)
    said = [line for line in refused.stderr.splitlines() if line.startswith("vtunify-mpi: ")]
    assert len(said) == 2
    assert said[0].startswith(f"vtunify-mpi: warning: the buffer of rank 2 is on node3: {DISK}/nodes.xnode3-")
    assert "a buffer of processes that did not complete their files is not accessible here, but on node3" in said[1]
    assert names(tmp_path) == files
    mortal.unify_mpi(tmp_path, "--partial", "nodes")
    trace = check(tmp_path / "nodes.trace", complete=False)
    assert trace.calls()["work"] == 3 * 5 * ROUNDS
    kinds = trace.kinds()
    assert kinds["MpiSend"] == kinds["MpiRecv"] == 3 * ROUNDS
    assert len(trace.of(2)) == 0
    found = info(tmp_path)
    assert found["shortfalls"] == ["ranks 0-1,3 ended early", "rank 2 has a buffer that was not read"]
    assert sorted(gap["location"] for gap in found["not_recorded"]) == [0, 1, 2, 3]
