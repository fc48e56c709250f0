# SPDX-License-Identifier: BSD-3-Clause
"""Buffers and local files on the disks of the nodes, which no other node sees."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.build.parallel import assert_same
from support.build.run import names
from support.cluster.launch import SUM, Job, assert_counts
from support.cluster.nodes import DISK, Cluster
from support.oracles.check import check
from support.tools import command


def disks(cluster: Cluster) -> list[Path]:
    return [node.path(DISK) for node in cluster.nodes]


def test_buffers_on_the_disks(job: Job, tmp_path: Path) -> None:
    """VT_PFORM_LDIR is on the disks: all files are complete in the shared directory, and nothing stays on the disks."""
    assert job.run(tmp_path, env={"VT_PFORM_LDIR": str(DISK)}).stdout == SUM
    assert [names(place) for place in disks(job.cluster)] == [set()] * 4
    assert len(names(tmp_path)) == 2 * 4 + 1
    job.unify(tmp_path, "nodes")
    assert_counts(check(tmp_path / "nodes.trace"))


def test_vtrace_run(job: Job, tmp_path: Path) -> None:
    """vtrace run sees no local files on the front, and names the command for the nodes."""
    traced = [*command("vtrace"), "run", "--unify", *job.launch(), job.program(plain=True), "1"]
    done = job.start(tmp_path, *traced, env={"VT_PFORM_GDIR": str(DISK)}, check=False)
    assert done.returncode == 1
    there = f"if each node has a {DISK} of its own, start a rank on each: mpiexec vtunify-mpi -o NAME {DISK}/nodes;"
    assert f"wrote no local files of {DISK}/nodes that are visible here ({there}" in done.stderr.splitlines()[-1]


def test_files_on_the_disks(job: Job, tmp_path: Path) -> None:
    """VT_PFORM_GDIR is on the disks: vtunify-mpi on all nodes writes the archive that vtunify writes of copies. The
    archive names the host of vtunify and of rank 0 of vtunify-mpi."""
    first = job.cluster.nodes[0]
    assert job.run(tmp_path, env={"VT_PFORM_GDIR": str(DISK), "VT_PFORM_LDIR": str(DISK)}).stdout == SUM
    for place in disks(job.cluster):
        for path in place.iterdir():
            shutil.copy(path, tmp_path)
    alone = first.call(tmp_path, *command("vtunify"), DISK / "nodes", check=False)
    assert alone.returncode == 1
    (line,) = alone.stderr.splitlines()
    assert f"ranks 1-3 of 4 (nodes.2.*, nodes.3.*, nodes.4.*) are missing in {DISK}" in line
    assert "(start vtunify-mpi on each node of the run, or copy them there, or use --partial" in line
    front = job.unify(tmp_path, DISK / "nodes", check=False).stderr
    assert "or vtunify-mpi on the nodes if each has a DIR of its own)" in front
    job.unify_mpi(tmp_path, "-o", tmp_path / "all", DISK / "nodes")
    assert [names(place) for place in disks(job.cluster)] == [set()] * 4
    first.call(tmp_path, *command("vtunify"), "-o", "copied", "nodes")
    assert_same(tmp_path / "all.trace", tmp_path / "copied.trace")
    assert_counts(check(tmp_path / "all.trace"))
