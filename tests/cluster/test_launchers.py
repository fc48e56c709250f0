# SPDX-License-Identifier: BSD-3-Clause
"""The launchers of MPICH and Open MPI start ranks on four nodes, which talk by TCP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.run import names, vtrace
from support.cluster.launch import ROUNDS, SUM, Job, assert_counts
from support.oracles.check import check
from support.tools import command


def test_compiled(job: Job, tmp_path: Path) -> None:
    """A program of vtrace-cc, whose local files are in a directory that all nodes see."""
    done = job.run(tmp_path)
    assert done.stdout == SUM
    assert done.stderr.count("; next: vtunify nodes") == 1
    job.unify(tmp_path, "nodes")
    assert names(tmp_path) == {"nodes.trace"}
    assert_counts(check(tmp_path / "nodes.trace"))
    found = json.loads(vtrace(tmp_path, "info", "--json", "nodes").stdout)
    assert (found["complete"], found["coverage"]["lost"]) == (True, 0)
    assert found["clocks"]["count"] == 4
    assert {bound["host"] for bound in found["clocks"]["bounds"]} == {"node2", "node3", "node4"}


@pytest.mark.parametrize("before", [True, False], ids=["before the launcher", "after the launcher"])
def test_vtrace_run(job: Job, tmp_path: Path, before: bool) -> None:
    """A program that vtrace has not compiled. Behind the launcher all ranks take the same steps to one archive."""
    traced = [*command("vtrace"), "run"]
    words = [*traced, "--unify", *job.launch()] if before else [*job.launch(), *traced]
    done = job.start(tmp_path, *words, job.program(plain=True), str(ROUNDS))
    assert done.stdout == SUM
    if not before:
        job.unify(tmp_path, "nodes")
    assert names(tmp_path) == {"nodes.trace"}
    assert_counts(check(tmp_path / "nodes.trace"), functions=False)
