# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests on several nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.cluster.launch import MPIS, Job
from support.cluster.nodes import DISK, Cluster


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that all nodes see: it has the programs and the directories of all tests."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def cluster(session: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A front and four nodes."""
    made = Cluster(tmp_path_factory.mktemp("nodes") / "cluster", session, 4)
    yield made
    made.end()


@pytest.fixture(params=MPIS)
def job(request: pytest.FixtureRequest, cluster: Cluster, build: Builder) -> Iterator[Job]:
    """Each MPI, on nodes with empty disks."""
    yield Job(cluster, request.param, build)
    for node in cluster.nodes:
        for path in node.path(DISK).iterdir():
            path.unlink()
