# SPDX-License-Identifier: BSD-3-Clause
"""vtrace.open of a damaged archive gives an error of one line, or tables of the intact rest; no crash, no hang."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vtrace
from support.damage.damaged_archives import rich
from support.damage.isolate import isolated
from support.synthetic_runs.archives import Foreign
from vtrace.errors import VtraceError
from vtrace.io.archive import reader

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
fuzzed = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=not SECONDS
)
QUESTIONS = ("profile", "call_tree", "message_matrix", "collectives", "collective_totals", "io", "allocations")


PLACES = st.floats(0, 1) | st.integers(0, 80)
DAMAGE = st.tuples(
    st.sampled_from(["cut", "set", "set", "set", "insert", "remove"]),
    PLACES,
    st.binary(min_size=1, max_size=8) | st.sampled_from([b"\xff" * 8, b"\x80", bytes(8)]),
)
"""Kind of damage, place (an offset, or a share of the file), and bytes for it."""


def damaged_bytes(data: bytes, what: str, place: float, value: bytes) -> bytes | None:
    """The bytes of a file with this damage; None: the file is removed."""
    at = min(len(data), place if isinstance(place, int) else int(place * len(data)))
    if what == "remove":
        return None if place == 0 else data[:at] + data[at + len(value) :]
    if what == "cut":
        return data[:at]
    return data[:at] + value + data[at + (len(value) if what == "set" else 0) :]


@pytest.fixture(scope="module")
def archives() -> Iterator[tuple[Path, Path]]:
    """An undamaged archive, and a directory for damaged ones."""
    shm = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="vtrace-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))
    yield rich(Foreign(place / "whole")), place / "damaged"
    shutil.rmtree(place)


def ask(path: Path) -> None:
    """Calls all methods of a trace. The only allowed exception is a VtraceError of one line.

    Must run in a process of its own, because it shortens the time limit for opening an archive.
    """
    reader.OPEN_SECONDS = 1
    try:
        trace = vtrace.open(path)
        trace.prepare(*QUESTIONS)
        for name in (
            *QUESTIONS,
            "messages",
            "memory",
            "metrics",
            "metric_values",
            "timeline",
            "markers",
            "coverage",
            "slices",
        ):
            getattr(trace, name)()
        trace.events(attributes=True)
        trace._repr_html_()
        for line in trace.problems:
            assert "\n" not in line
    except VtraceError as error:
        lines = str(error).splitlines()
        if len(lines) != 1:
            raise AssertionError(lines) from error


@fuzzed(max_examples=max(30, 2 * SECONDS))
@given(data=st.data())
def test_damaged_archives(archives: tuple[Path, Path], data: st.DataObject) -> None:
    whole, damaged = archives
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(whole, damaged)
    files = sorted(path for path in damaged.rglob("*") if path.is_file())
    for _ in range(data.draw(st.integers(1, 2))):
        file = data.draw(st.sampled_from(files))
        content = damaged_bytes(file.read_bytes(), *data.draw(DAMAGE)) if file.exists() else None
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
    isolated(lambda: ask(damaged))


def test_the_whole_archive(archives: tuple[Path, Path]) -> None:
    trace = vtrace.open(archives[0])
    assert trace.profile()["calls"].sum() == 2 * 8 * (2 + 1)  # two calls and a flush in each turn
    assert not trace.problems
    isolated(lambda: ask(archives[0]))
