# SPDX-License-Identifier: BSD-3-Clause
"""The class runtime: threads, start-up files and sockets of the MPI library are separate from those of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.mpis import find
from support.build.run import vtrace
from support.oracles.check import check

RANKS = 2
OWN = {f"own.{rank}.{number}" for rank in range(RANKS) for number in (1, 2)}


@pytest.fixture(scope="module", params=["openmpi", "mpich-wheel"])
def place(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a recorded run of mpi_workers with I/O; each thread has its own location."""
    mpi, where = find(request.param, build), tmp_path_factory.mktemp("workers")
    program = build("mpi_workers.cc", compiler=str(mpi.mpicxx), flags=("-O1", "-pthread"), plain=True)
    words = ["run", "--io", "--unify", "-o", "w", "--", *mpi.launch, "-n", str(RANKS), program]
    vtrace(where, *words, env={**mpi.env, "VT_PTHREAD_REUSE": "no"})
    check(where / "w.trace")
    return where


def summary(place: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(place, "summary", "w", "--json", *words).stdout)
    return found


def test_threads_of_libraries_are_left_out(place: Path) -> None:
    """The program has three threads a rank; both MPIs create at least one more thread with I/O, a helper."""
    told, everything = summary(place)["classes"], summary(place, "--helpers")["classes"]
    assert len(told) == 3 * RANKS
    assert not any(row["helper"] for row in told)
    helpers = [row for row in everything if row["helper"]]
    assert len(helpers) == len(everything) - len(told) >= RANKS
    assert all(row["runtime_ns"] == row["total_ns"] for row in helpers)
    shown = vtrace(place, "summary", "w").stdout
    assert f"on {3 * RANKS} locations (without {len(helpers)} helper threads): " in shown
    assert all(row["location"] not in shown for row in helpers)


def test_sizes_are_of_the_same_locations(place: Path) -> None:
    """The numbers of processes, locations and events at the head of the summary leave out the same threads."""
    locations = json.loads(vtrace(place, "info", "w", "--json").stdout)["locations"]
    events = {f"{row['process']}, {row['name']}": row["events"] for row in locations}
    for words in ((), ("--helpers",), ("--ranks", "1")):
        found = summary(place, *words)
        rows = [row["location"] for row in found["classes"]]
        assert (found["locations"], found["events"]) == (len(rows), sum(events[row] for row in rows))
        assert found["processes"] == len({row["process"] for row in found["classes"]})


def test_files_of_libraries_are_in_no_total(place: Path) -> None:
    found = summary(place)
    own = [row for row in found["files"] if row["reads"] + row["writes"]]
    assert {Path(row["file"]).name for row in own} == OWN
    assert [row["bytes_written"] for row in own] == [6] * len(OWN)
    others = [row for row in found["files"] if row not in own]
    assert sum(row["posix_bytes_read"] + row["iso_c_bytes_read"] for row in others) > 0
    assert [row["files"] for row in found["directories"] if row["writes"]] == [len(OWN)]
    shown = vtrace(place, "summary", "w", "--only", "files").stdout
    assert f"Files: 0 bytes read, {6 * len(OWN)} written" in shown
    assert shown.count(" of MPI: start-up and communication)") == 1


def test_begin_and_end_of_mpi_stand_apart(place: Path) -> None:
    """MPI_Init_thread and MPI_Finalize have their own times; I/O inside of them counts as runtime."""
    found = summary(place)
    of = {row["region"]: row["exclusive_ns"] for row in found["regions"]}
    sums = {key: sum(row[key] for row in found["classes"]) for key in found["classes"][0] if key.endswith("_ns")}
    assert (sums["mpi_init_ns"], sums["mpi_finalize_ns"]) == (of["MPI_Init_thread"], of["MPI_Finalize"])
    assert sums["mpi_ns"] == sums["mpi_init_ns"] + sums["mpi_finalize_ns"] + sums["mpi_other_ns"]
    assert sums["mpi_other_ns"] >= of["MPI_Barrier"]
    calls = sum(row["exclusive_ns"] for row in found["regions"] if row["class"] == "I/O")
    assert sums["runtime_ns"] + sums["io_ns"] == calls
    assert sums["runtime_ns"] > 0
    parts = sum(ns for key, ns in sums.items() if key not in ("total_ns", "mpi_ns"))
    assert parts == sums["total_ns"]


def test_the_timeline_has_the_program_s_threads(place: Path) -> None:
    def tracks(*words: str) -> list[str]:
        vtrace(place, "export", "w", "--to", "chrome", "-o", "w.json", *words)
        events = json.loads((place / "w.json").read_text())["traceEvents"]
        return [event["args"]["name"] for event in events if event["name"] == "thread_name"]

    assert len(tracks()) == 3 * RANKS
    assert len(tracks("--helpers")) == len(summary(place, "--helpers")["classes"])


def test_all_events_are_exported(place: Path) -> None:
    words = ["export", "w", "--to", "csv", "-o", "w.csv"]
    vtrace(place, *words)
    info = json.loads(vtrace(place, "info", "w", "--json").stdout)
    lines = (place / "w.csv").read_text().count("\n") - 1
    assert lines == sum(location["events"] for location in info["locations"])
