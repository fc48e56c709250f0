# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import vtrace
from support.build import aarch64, mpis
from support.build.builder import Builder

FIRST = ("test_mpi_mpi4py.py", "test_conformance.py", "test_wheel.py", "test_docs.py")
"""Files that take minutes. They start first: otherwise the last worker would run one of them alone."""


SOURCE = Path(__file__).resolve().parents[1] / "src"
if Path(vtrace.__file__).resolve().is_relative_to(SOURCE):  # pytest was started with PYTHONPATH=src
    os.environ["VTRACE_PYTHONPATH"] = str(SOURCE)

gc.set_threshold(100_000)  # Python else spends a tenth of pytest's time on looking for cycles of objects


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in FIRST)


def pytest_collection_finish() -> None:
    gc.freeze()  # the objects of all tests, which stay to the end


@pytest.fixture(scope="session")
def session_directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all workers of the session share."""
    session = tmp_path_factory.getbasetemp()
    # Not the environment: a test that starts pytest would pass its worker's name on to a session without workers.
    return session.parent if hasattr(request.config, "workerinput") else session


@pytest.fixture(scope="session")
def build(session_directory: Path) -> Builder:
    """Compiles programs of tests/programs, each once for all workers and the whole session."""
    (session_directory / "programs").mkdir(exist_ok=True)
    return Builder(session_directory / "programs")


@pytest.fixture(scope="session")
def libraries(session_directory: Path) -> Path:
    """A directory with vtrace's libraries for aarch64."""
    return aarch64.cross_build(session_directory / "aarch64")


@pytest.fixture(scope="session", params=mpis.NEWEST_FIRST)
def mpi(request: pytest.FixtureRequest, build: Builder) -> mpis.Mpi:
    """An MPICH and an Open MPI, one after the other; in the full tests, and in those marked mpis.EACH, all four."""
    return mpis.find(request.param, build)
