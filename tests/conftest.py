# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import vtrace
from support.build import aarch64, compilers, mpis
from support.build.builder import Builder

LONGEST = """view_first view_arranged docs view_causes view_panels situations planted view view_accessible view_save
    wheel vtunify_mpi conformance mpi_mpi4py sanitizers sampling_python budget packed build_systems every_command
    aarch64 sampling view_tasks always aarch64_tools functions_exact""".split()
"""Files test_*.py that take about a minute or more, the longest first: otherwise the last worker would run one of them
alone."""

ALIKE = (
    ("compiler", compilers.C), ("mpi", mpis.NAMES[:2]), ("mpi", mpis.NAMES[2:]), ("job", ("mpich-wheel", "openmpi")),
    ("shared", (str(0o777), str(0o1777))),
)  # fmt: skip
"""By argument of tests: values that nearly all tests find alike. A test with all of these values runs with one of them,
the name of the test chooses it; the full tests run with each."""


SOURCE = Path(__file__).resolve().parents[1] / "src"
if Path(vtrace.__file__).resolve().is_relative_to(SOURCE):  # pytest was started with PYTHONPATH=src
    os.environ["VTRACE_PYTHONPATH"] = str(SOURCE)

gc.set_threshold(100_000)  # Python else spends a tenth of pytest's time on looking for cycles of objects


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem.removeprefix("test_"), len(order)))
    for argument, values in ALIKE:
        _choose_one(items, argument, values)


def _choose_one(items: list[pytest.Item], argument: str, values: Sequence[str]) -> None:
    """Marks full all but one of the tests that differ in the value of one argument only."""
    alike: dict[tuple[str, str], dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if argument in params and not item.get_closest_marker("full"):
            others = repr({name: value for name, value in params.items() if name != argument})
            alike[item.nodeid.partition("[")[0], others][str(params[argument])] = item
    for variants in alike.values():
        if {*variants} == {*values}:
            first = min(item.nodeid for item in variants.values())
            kept = values[crc32(first.encode()) % len(values)]
            for value, item in variants.items():
                if value != kept:
                    item.add_marker(pytest.mark.full)


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
