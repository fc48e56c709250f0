# SPDX-License-Identifier: BSD-3-Clause
"""An archive that lacks events never looks complete. vtunify compares the number of events in the summary records with
the events in the files, and the number of events that a killed program lost is unknown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check

CALLS = 100_000


def info(where: Path, name: str = "stops") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "info", "--json", name).stdout)
    return found


def test_a_summary_that_promises_more(build: Builder, tmp_path: Path) -> None:
    """The buffer's file cannot grow, the rest of the buffer is memory, and at the end no file can be opened: the
    summary records promise more events than the files have. The missing events count as lost."""
    program = build("stops.c")
    env = {"VT_BUFFER_SIZE": "32M", "VT_MAX_FLUSHES": "0"}
    said = run(program, tmp_path, "nofile", "300000", env=env).stderr
    told = re.search(r"(\d+) events of rank 0 could not be recorded", said)
    assert told, said
    assert f"{int(told[1]):,} events were not recorded" in unify(tmp_path, "stops").stderr
    trace = check(tmp_path / "stops.trace")
    found = info(tmp_path)
    assert found["coverage"]["lost"] == int(told[1]) > 0
    # vtunify adds the leaves of open functions where the records end: of main, perhaps of work.
    assert 600_003 <= len(trace.of(0)) + int(told[1]) <= 600_004
    assert not found["complete"]
    shown = vtrace(tmp_path, "info", "stops").stdout + vtrace(tmp_path, "summary", "stops").stdout
    assert f"{int(told[1]):,} events lost" in shown
    assert "no event lost" not in shown


@pytest.mark.parametrize("stop", ["VT_MAX_FLUSHES=1", "VT_MAX_SIZE=1M", "VT_MAX_FLUSHES=0"])
def test_killed_after_recording_had_stopped(build: Builder, tmp_path: Path, stop: str) -> None:
    """SIGKILL after a stop at a limit: an unknown number of events is lost. Without a stop no event is lost. The
    interval begins at the last published record."""
    limit, value = stop.split("=")
    stopped = value != "0"
    env = {"VT_BUFFER_SIZE": "200K", "VT_COMPRESSION": "no", limit: value}
    run(build("stops.c"), tmp_path, "killed", str(CALLS), env=env, code=-9)
    said = unify(tmp_path, "stops").stderr
    assert "0 events are missing" not in said
    found = info(tmp_path)
    assert {gap["ns"] for gap in found["not_recorded"] if gap["reason"] != "flush"} == {None}
    trace = check(tmp_path / "stops.trace", complete=False)
    assert [gap["from"] for gap in found["not_recorded"] if gap["reason"] == "process died"] == [trace.of(0)[-1].time]
    assert [marker.category for marker in trace.markers].count("recording stopped") == stopped
    (location,) = found["locations"]
    assert location["died"]
    assert location["unknown"] is stopped
    assert found["coverage"]["unknown"] == stopped
    shown = vtrace(tmp_path, "info", "stops").stdout + vtrace(tmp_path, "summary", "stops").stdout
    assert ("an unknown number of " in said) is stopped
    assert ("an unknown number of events lost" in shown) is stopped
    for word in ("info", "summary"):
        why = f"{limit}, process died" if stopped else "process died"
        expected = rf"^  coverage +an unknown number of events missing on 1 location \({why}\)"
        assert re.search(expected, vtrace(tmp_path, word, "stops").stdout, re.MULTILINE)
    assert "no event lost" not in shown
    assert "all events recorded" not in shown
    if not stopped:
        assert check(tmp_path / "stops.trace").calls() == {"main": 1, "work": CALLS}


def test_killed_after_an_exec_that_failed(build: Builder, tmp_path: Path) -> None:
    """Before an exec the runtime completes the files, with summary records. After a failed exec the process is killed:
    the archive has all calls, and says that the process died."""
    run(build("stops.c"), tmp_path, "exec", "1000", env={}, code=-9)
    assert "did not complete the files" in unify(tmp_path, "stops").stderr
    assert check(tmp_path / "stops.trace").calls() == {"main": 1, "work": 1000}
    found = info(tmp_path)
    assert not found["complete"]
    assert found["locations"][0]["died"]


def test_stopped_at_files_that_cannot_be_written(build: Builder, tmp_path: Path) -> None:
    """The messages give the true reason, and not a limit that the user could raise."""
    run(build("stops.c"), tmp_path, "nofile", str(CALLS), env={"VT_BUFFER_SIZE": "200K"})
    unify(tmp_path, "stops")
    lost = info(tmp_path)["coverage"]["lost"]
    for word in ("info", "summary"):
        shown = vtrace(tmp_path, word, "stops").stdout
        expected = f"{lost:,} events lost, 1 location stopped early (files that could not be written)"
        assert expected in shown


@pytest.mark.parametrize("without_table", [False, True])
def test_a_missing_rank(build: Builder, tmp_path: Path, without_table: bool) -> None:
    """A rank has no files: an unknown number of its events is missing, and no command calls the archive complete."""
    run(build("mpi_flood.c", compiler="mpicc"), tmp_path, "10", "10", ranks=2, env={})
    for path in tmp_path.glob("mpi_flood.1.*"):
        path.unlink()
    unify(tmp_path, "--partial", "mpi_flood")
    if without_table:
        (tmp_path / "mpi_flood.trace/vtrace/coverage").unlink()
    rows = json.loads(vtrace(tmp_path, "summary", "--json", "mpi_flood").stdout)["coverage"]
    assert [row["unknown"] for row in rows].count(True) == 1
    for word in ("info", "summary"):
        shown = vtrace(tmp_path, word, "mpi_flood").stdout
        assert re.search("^  coverage +an unknown number of events missing on 1 location", shown, re.MULTILINE)
        assert ("(rank missing)" in shown) is not without_table
        assert "all events recorded" not in shown
        assert "no event lost" not in shown
