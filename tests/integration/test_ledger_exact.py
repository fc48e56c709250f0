# SPDX-License-Identifier: BSD-3-Clause
"""The table of coverage of incomplete runs: damaged blocks, missing ranks, rewinds, and very many switches."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.build.run import vtrace as command
from support.oracles.check import check
from support.readers import words
from support.readers.archive import Trace
from vtrace.io.local import records
from vtrace.io.local.local_files import open_local

RAW = {"VT_COMPRESSION": "no"}
SMALL = RAW | {"VT_BUFFER_SIZE": "200K"}
CALLS = 60_000
Gaps = list[dict[str, Any]]


def gaps_of(where: Path, archive: str) -> Gaps:
    found: Gaps = json.loads(command(where, "info", "--json", archive).stdout)["not_recorded"]
    return found


def of(gaps: Gaps, reason: str) -> Gaps:
    return [gap for gap in gaps if gap["reason"] == reason]


def switches(trace: Trace) -> list[tuple[str, int]]:
    """The switches of the main thread (mode, time), according to an independent reader."""
    return [(str(e.attrs["measurement_mode"]), e.time) for e in trace.of(0) if e.kind == "MeasurementOnOff"]


@pytest.fixture(scope="module")
def whole(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the local files of a run with many blocks, and its archive."""
    where = tmp_path_factory.mktemp("whole")
    run(build("stops.c", flags=("-O1", "-DVTRACE")), where, "end", str(CALLS), env=SMALL)
    unify(where, "-k", "-o", "whole", "stops")
    return where


def spoiled(whole: Path, where: Path, number: int) -> tuple[int, int]:
    """Copies the run and changes a byte of one block. Returns the number of enters and leaves before the block, and the
    number of records from the block on that count as events."""
    for path in whole.glob("stops.*"):
        shutil.copy(path, where)
    (path,) = where.glob("stops.*.events")
    found = []
    with open_local(path) as file:
        for row, (_, data) in zip(file.blocks, words.blocks(file), strict=True):
            at, size = int(row["address"]) - file.base + records.BLOCK.itemsize, int(row["raw_bytes"])
            found.append((at + size // 2, [r.kind for r in words.read(data, 0)]))
    assert len(found) > 6
    raw = bytearray(path.read_bytes())
    raw[found[number][0]] ^= 1
    path.write_bytes(raw)
    before = [kind for _, kinds in found[:number] for kind in kinds if kind.startswith("FUNCTION")]
    behind = [kind for _, kinds in found[number:] for kind in kinds]
    return len(before), len(behind)


@pytest.mark.parametrize("number", [2, -1])
def test_a_damaged_block(whole: Path, tmp_path: Path, number: int) -> None:
    """The interval lasts from the last event before the damaged block to the end of the process, and counts the missing
    events."""
    before, behind = spoiled(whole, tmp_path, number)
    unify(tmp_path, "--salvage", "-o", "cut", "stops")
    trace = check(tmp_path / "cut.trace", complete=False)
    all_calls, calls = (
        [e.time for e in one.of(0) if e.kind in ("Enter", "Leave")] for one in (check(whole / "whole.trace"), trace)
    )
    gaps = gaps_of(tmp_path, "cut")
    (gap,) = of(gaps, "damaged")
    assert {gap["reason"] for gap in gaps} <= {"damaged", "flush"}
    shifts = [abs(one - other) for one, other in zip(calls[:before], all_calls[:before], strict=True)]
    assert max(shifts) <= 2, "ns: the damaged block also has the last measurement of the clock"
    assert set(calls[before:]) == {gap["from"]}, "open calls end at the begin of the interval"
    assert gap["from"] == trace.of(0)[-1].time < all_calls[before]
    assert gap["to"] >= all_calls[-1] - 2
    assert (gap["class"], gap["count"], gap["ns"]) == ("all", behind, gap["to"] - gap["from"])
    assert (
        f"incomplete (damaged): {behind:,} events are missing on 1 location"
        in command(tmp_path, "summary", "cut").stdout
    )


def test_a_damaged_block_of_one_thread(build: Builder, tmp_path: Path) -> None:
    """A damaged block of one thread: only this thread has an interval, and the other threads have all events."""
    run(build("threads.c", flags=("-O1", "-pthread")), tmp_path, "together", "2", "30000", env=SMALL)
    unify(tmp_path, "-k", "-o", "whole", "threads")
    path = sorted(tmp_path.glob("threads.*.events"))[1]
    with open_local(path) as file:
        at = int(file.blocks[1]["address"]) - file.base + records.BLOCK.itemsize
    raw = bytearray(path.read_bytes())
    raw[at + 1000] ^= 1
    path.write_bytes(raw)
    unify(tmp_path, "--salvage", "-o", "cut", "threads")
    before, after = check(tmp_path / "whole.trace"), check(tmp_path / "cut.trace", complete=False)
    shorter = [one for one in before.locations if len(before.of(one)) != len(after.of(one))]
    assert len(before.locations) == 3
    assert len(shorter) == 1
    assert [gap["location"] for gap in of(gaps_of(tmp_path, "cut"), "damaged")] == shorter
    assert "on 1 location, from" in command(tmp_path, "summary", "cut").stdout


def test_missing_ranks(build: Builder, tmp_path: Path) -> None:
    """Rank 1 has no files: its interval lasts from the start of the trace to its end, with an unknown number of
    events."""
    run(build("mpi_flood.c", compiler="mpicc"), tmp_path, "10", "10", ranks=3, env=RAW)
    for path in tmp_path.glob("mpi_flood.2.*"):
        path.unlink()
    unify(tmp_path, "--partial", "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace", complete=False)
    gaps = gaps_of(tmp_path, "mpi_flood")
    assert {gap["reason"] for gap in gaps} == {"rank missing", "flush"}
    (gap,) = of(gaps, "rank missing")
    assert trace.locations[gap["location"]].group == "MPI Rank 1"
    assert (gap["class"], gap["count"]) == ("all", None)
    assert gap["from"] == trace.offset
    assert gap["to"] >= trace.events[-1].time
    assert "incomplete (rank missing): an unknown number of" in command(tmp_path, "summary", "mpi_flood").stdout


@pytest.mark.parametrize("how", ["plain", "again", "sibling", "killed"])
def test_rewinds(build: Builder, tmp_path: Path, how: str) -> None:
    """Each rewind is one interval, which lasts from the event OFF to the event ON."""
    program = build("user_rewind.c", flags=("-O1", "-DVTRACE"))
    run(program, tmp_path, how, "50", env=RAW, code=-signal.SIGKILL if how == "killed" else 0)
    unify(tmp_path, "user_rewind")
    trace = check(tmp_path / "user_rewind.trace", complete=False)
    gaps = of(gaps_of(tmp_path, "user_rewind"), "rewound")
    times = [time for _, time in switches(trace)]
    assert len(gaps) == len(times) // 2 >= 1
    assert [(gap["from"], gap["to"]) for gap in gaps] == list(zip(times[::2], times[1::2], strict=True))
    assert all((gap["class"], gap["count"]) == ("all", None) for gap in gaps)


def test_more_switches_than_a_table_holds(build: Builder, tmp_path: Path) -> None:
    """3000 intervals of recording off: the table joins close intervals. The sum of the times is exact, and every
    interval is in one of the joined ones."""
    run(build("stops.c", flags=("-O1", "-DVTRACE")), tmp_path, "flickers", "3000", env=RAW)
    unify(tmp_path, "stops")
    found = switches(check(tmp_path / "stops.trace"))
    assert [mode for mode, _ in found] == ["OFF", "ON"] * 3000
    offs = [(off, on) for (_, off), (_, on) in zip(found[::2], found[1::2], strict=True)]
    gaps = gaps_of(tmp_path, "stops")
    assert 512 <= len(gaps) <= 1024
    assert {(gap["reason"], gap["class"], gap["count"]) for gap in gaps} == {("switched off", "all", None)}
    assert sum(gap["ns"] for gap in gaps) == sum(on - off for off, on in offs)
    at = 0
    for gap, after in zip(gaps, [*gaps[1:], {"from": 2**64}], strict=True):
        assert gap["to"] <= after["from"]
        mine = []
        while at < len(offs) and offs[at][1] <= gap["to"]:
            mine.append(offs[at])
            at += 1
        assert (mine[0][0], mine[-1][1]) == (gap["from"], gap["to"])
        assert gap["ns"] == sum(on - off for off, on in mine)
    assert at == len(offs), "every interval must be in a joined interval"
