# SPDX-License-Identifier: BSD-3-Clause
"""A rank kills itself, and the launcher kills the others: their buffers stay in a shared directory, or on each node."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from support.build.run import names, vtrace
from support.cluster.launch import ROUNDS, Job
from support.cluster.nodes import DISK
from support.oracles.check import check

VICTIM = 2
ENDED = "vtunify: warning: ranks 0-3 did not complete the files"
CALLS = {
    "main": 4, "work": 4 * 5 * ROUNDS, "MPI_Init": 4, "MPI_Comm_rank": 4, "MPI_Comm_size": 4,
    "MPI_Sendrecv": 4 * ROUNDS, "MPI_Allreduce": 4 * ROUNDS, "MPI_Send": 3, "MPI_Recv": 3,
}  # fmt: skip
"""The published calls. A rank may be killed before its MPI_Barrier."""


def killed(job: Job, where: Path, **env: str) -> None:
    done = job.run(where, str(VICTIM), env=env, check=False)
    assert done.returncode not in (0, 2), str(done)
    assert "sum" not in done.stdout
    for node in job.cluster.nodes:
        node.kill_programs()


def assert_published(where: Path) -> dict[str, Any]:
    """nodes.trace has all published events, and says that all ranks ended early. Returns vtrace info --json."""
    trace = check(where / "nodes.trace", complete=False)
    calls = trace.calls()
    assert calls.pop("MPI_Barrier", 0) <= 3
    assert calls == Counter(CALLS)
    kinds = trace.kinds()
    assert kinds["MpiSend"] == kinds["MpiRecv"] == 4 * ROUNDS + 3
    found: dict[str, Any] = json.loads(vtrace(where, "info", "--json", "nodes").stdout)
    assert found["shortfalls"] == ["ranks 0-3 ended early"]
    return found


def test_buffers_in_a_shared_directory(job: Job, tmp_path: Path) -> None:
    """The front reads the buffers of all nodes. The front cannot know that the processes have ended, so all files stay,
    until the user removes them by the command in the message."""
    killed(job, tmp_path)
    files = names(tmp_path)
    said = job.unify(tmp_path, "nodes").stderr
    assert said == (
        f"{ENDED}: the archive has the events recorded until then\n"
        "vtunify: the local files stay: ranks 0-3 may still run on node1, node2, node3, node4 "
        "(when they have ended: vtrace clean --all --other-hosts nodes)\n"
    )
    assert names(tmp_path) == files | {"nodes.trace"}
    assert assert_published(tmp_path)["clocks"]["measured"] == 3, "each clock is compared once, in MPI_Init"
    kept = vtrace(tmp_path, "clean", "--all", "--yes", "nodes")
    assert kept.stdout == ""
    assert kept.stderr.count("left alone, of a process on node") == len(files)
    removed = vtrace(tmp_path, "clean", "--all", "--other-hosts", "--yes", "nodes")
    assert "left alone" not in removed.stderr
    assert names(tmp_path) == {"nodes.trace"}


def test_buffers_on_the_nodes(job: Job, tmp_path: Path) -> None:
    """vtunify says where the buffers are and which command reads them. An archive without them says so. vtunify-mpi
    reads all."""
    killed(job, tmp_path, VT_PFORM_LDIR=str(DISK))
    before = names(tmp_path)
    done = job.unify(tmp_path, "nodes", check=False)
    assert done.returncode == 1
    *lying, error = done.stderr.splitlines()
    for rank, line in enumerate(lying):
        assert line.startswith(f"vtunify: warning: the buffer of rank {rank} is on node{rank + 1}: {DISK}/nodes.x")
    assert len(lying) == 4
    assert (
        "not accessible here, but on 4 other hosts (on the nodes of the run: mpiexec -n 4 vtunify-mpi nodes, " in error
    )
    assert names(tmp_path) == before

    said = job.unify(tmp_path, "--partial", "-o", "partial", "nodes").stderr
    assert f"{ENDED}: the buffers were not read, so events are missing\n" in said
    assert "until then" not in said
    found = json.loads(vtrace(tmp_path, "info", "--json", "partial").stdout)
    assert found["shortfalls"] == ["ranks 0-3 have buffers that were not read"]
    gaps = [(gap["class"], gap["reason"], gap["count"]) for gap in found["not_recorded"]]
    assert gaps == [("all", "process died", None)] * 4
    shown = vtrace(tmp_path, "summary", "partial").stdout
    assert "incomplete (process died): an unknown number of events are missing on 4 locations" in shown

    job.unify_mpi(tmp_path, "nodes")
    assert_published(tmp_path)
    assert [names(node.path(DISK)) for node in job.cluster.nodes] == [set()] * 4
    assert names(tmp_path) == {"nodes.trace", "partial.trace"}
