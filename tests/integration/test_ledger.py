# SPDX-License-Identifier: BSD-3-Clause
"""The table of coverage has exactly the intervals in which a real program was not recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import vtrace
from support.build.builder import Builder
from support.build.run import run, unify
from support.build.run import vtrace as command
from support.oracles.check import check
from support.readers import words
from support.readers.archive import Trace
from vtrace.io.local import records

RAW = {"VT_COMPRESSION": "no"}
SMALL = RAW | {"VT_BUFFER_SIZE": "200K"}
CALLS = 60_000
Gaps = list[dict[str, Any]]


def recorded(build: Builder, where: Path, how: str, calls: int, env: dict[str, str], code: int = 0) -> Gaps:
    """Records and unifies a run; the local files stay. Returns the intervals of stops.trace, sorted by begin."""
    program = build("stops.c", flags=("-O1", "-DVTRACE"))
    run(program, where, how, str(calls), env=env, code=code)
    unify(where, "-k", "-o", "stops", "stops")
    found: Gaps = json.loads(command(where, "info", "--json", "stops").stdout)["not_recorded"]
    return found


def of(gaps: Gaps, reason: str) -> Gaps:
    return [gap for gap in gaps if gap["reason"] == reason]


def times(trace: Trace, kind: str, **attrs: str) -> list[int]:
    """The times of events of a kind, according to an independent reader."""
    return [e.time for e in trace.of(0) if e.kind == kind and all(str(e.attrs[k]) == v for k, v in attrs.items())]


def local(where: Path) -> list[words.Record]:
    """The records of the main thread in the local files, according to a slow, simple reader."""
    (path,) = where.glob("stops.*.events")
    return words.events(path)


def counted(where: Path) -> dict[str, int]:
    """The number of lost events by reason, according to LOST records and definitions."""
    found: dict[str, int] = {}
    for record in local(where):
        if record.kind == "LOST":
            why = records.LOST_REASONS[record.id]
            found[why] = found.get(why, 0) + record.payload[0]
    for path in where.glob("stops.*.def"):
        newest = {d[2]: d[3] for d in words.definitions(path) if d[0] == records.DEFINITIONS["LOST"]}
        for why, n in newest.items():
            found[records.LOST_REASONS[why]] = found.get(records.LOST_REASONS[why], 0) + n
    return found


def test_complete_run_has_no_intervals(build: Builder, tmp_path: Path) -> None:
    assert recorded(build, tmp_path, "end", 100, RAW) == []
    assert vtrace.open(tmp_path / "stops.trace").caveats() == []


def test_flushes(build: Builder, tmp_path: Path) -> None:
    """Each flush of the buffer is an interval of class tracing, with no event lost."""
    gaps = recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MAX_FLUSHES": "0"})
    trace = check(tmp_path / "stops.trace")
    flushes = [record for record in local(tmp_path) if record.kind == "FLUSH"]
    assert len(flushes) > 2
    assert {gap["reason"] for gap in gaps} == {"flush"}
    assert {gap["class"] for gap in gaps} == {"tracing"}
    assert [gap["from"] for gap in gaps] == times(trace, "BufferFlush")
    assert all(gap["count"] == 0 and gap["ns"] == gap["to"] - gap["from"] for gap in gaps)
    assert vtrace.open(tmp_path / "stops.trace").caveats() == []


def test_max_flushes(build: Builder, tmp_path: Path) -> None:
    """The interval lasts from the stop to the end of the process, and counts the events of the LOST definition."""
    gaps = recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MAX_FLUSHES": "1"})
    trace = check(tmp_path / "stops.trace")
    (gap,) = of(gaps, "VT_MAX_FLUSHES")
    assert gap["class"] == "all"
    assert gap["from"] == times(trace, "MeasurementOnOff")[-1]
    assert gap["to"] > gap["from"]
    assert gap["count"] == counted(tmp_path)["LIMIT"] > CALLS
    assert {g["reason"] for g in gaps} == {"flush", "VT_MAX_FLUSHES"}
    shown = command(tmp_path, "summary", "stops").stdout
    assert f"incomplete (VT_MAX_FLUSHES): {gap['count']:,} events are missing on 1 location, from" in shown
    assert shown.index("incomplete (VT_MAX_FLUSHES)") < shown.index("Time by class")
    assert "VT_MAX_FLUSHES" in command(tmp_path, "diff", "stops", "stops").stdout
    assert "incomplete (VT_MAX_FLUSHES)" in command(tmp_path, "score", "stops.trace").stdout
    refused = command(tmp_path, "score", "stops.trace", "--fit", "1K", check=False)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert "does not have all calls" in refused.stderr


def test_switched_off(build: Builder, tmp_path: Path) -> None:
    (gap,) = recorded(build, tmp_path, "off", 3000, RAW)
    switches = times(check(tmp_path / "stops.trace"), "MeasurementOnOff")
    assert [gap["from"], gap["to"]] == switches
    assert (gap["reason"], gap["class"], gap["count"]) == ("switched off", "all", None)
    assert gap["ns"] == gap["to"] - gap["from"] > 0


def test_ring(build: Builder, tmp_path: Path) -> None:
    gaps = recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MODE": "RING"})
    trace = check(tmp_path / "stops.trace")
    (gap,) = gaps
    assert gap["reason"] == "overwritten"
    assert gap["to"] == trace.of(0)[0].time
    assert gap["count"] + len(local(tmp_path)) == 2 * (CALLS + 1) + len(
        [record for record in local(tmp_path) if not record.kind.startswith("FUNCTION")]
    )


@pytest.mark.parametrize("name", ["VT_STOP_AFTER", "VT_START_AFTER"])
def test_window(build: Builder, tmp_path: Path, name: str) -> None:
    gaps = recorded(build, tmp_path, "naps", 300, RAW | {name: "0.1"})
    (gap,) = gaps
    trace = check(tmp_path / "stops.trace")
    switches = [(str(e.attrs["measurement_mode"]), e.time) for e in trace.of(0) if e.kind == "MeasurementOnOff"]
    if name == "VT_START_AFTER":
        assert switches == [("OFF", gap["from"]), ("ON", gap["to"])]
    else:
        assert switches == [("OFF", gap["from"])]
        assert gap["to"] >= trace.of(0)[-1].time
    assert (gap["reason"], gap["class"], gap["count"], gap["ns"]) == (name, "all", None, gap["to"] - gap["from"])
    assert gap["to"] - gap["from"] > 10_000_000


def test_without_the_table_and_with_a_foreign_one(build: Builder, tmp_path: Path) -> None:
    """The sidecar of another archive is refused. Without a sidecar, the archive's totals say that it is incomplete."""
    recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MAX_FLUSHES": "1"})
    run(build("stops.c", flags=("-O1", "-DVTRACE")), tmp_path, "end", "5", env=RAW)
    unify(tmp_path, "-o", "other", "stops")
    table = tmp_path / "stops.trace" / "vtrace" / "coverage"
    shutil.copy(tmp_path / "other.trace" / "vtrace" / "coverage", table)
    assert "belongs to another archive" in command(tmp_path, "info", "stops.trace").stdout
    caveats = vtrace.open(tmp_path / "stops.trace").caveats()
    assert "belongs to another archive" in caveats[0]
    assert any("events lost" in line for line in caveats)
    shutil.rmtree(table.parent)
    assert any("events lost" in line for line in vtrace.open(tmp_path / "stops.trace").caveats())
    found = json.loads(command(tmp_path, "info", "--json", "stops.trace").stdout)
    assert found["not_recorded"] is None
    assert not found["complete"]


def test_flush_is_tracing(build: Builder, tmp_path: Path) -> None:
    """Every table subtracts the time of a flush from the call around it, and shows it as a call (buffer flush)."""
    gaps = recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MAX_FLUSHES": "0"})
    flushed = sum(gap["ns"] for gap in gaps)
    assert flushed > 0
    trace = vtrace.open(tmp_path / "stops.trace")
    names = trace.regions["name"].tolist()
    profile = {names[row["region"]]: row for row in trace.profile().records()}
    flush = profile["(buffer flush)"]
    assert (flush["calls"], flush["exclusive"], flush["inclusive"]) == (len(gaps), flushed, flushed)
    assert sum(row["exclusive"] for row in profile.values()) == profile["main"]["inclusive"]
    tracing = trace.regions.classes.index("tracing")
    assert trace.timeline(1)[0, tracing, 0] == pytest.approx(flushed / 1e9, rel=1e-3)
    slices = [row for row in trace.slices().records() if names[row["region"]] == "(buffer flush)"]
    zero = check(tmp_path / "stops.trace").offset
    assert [(s["begin"] + zero, s["end"] + zero) for s in slices] == [(gap["from"], gap["to"]) for gap in gaps]
    summary = json.loads(command(tmp_path, "summary", "--json", "stops").stdout)
    (location,) = summary["classes"]
    assert location["tracing_ns"] == flushed
    assert location["user_ns"] == profile["main"]["inclusive"] - flushed
