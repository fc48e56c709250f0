# SPDX-License-Identifier: BSD-3-Clause
"""Several programs in one MPI job: the archive and the commands have the program and arguments of each rank."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi, find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.tools import call

PROCESSES = ["MPI Rank 0 (first)", "MPI Rank 1 (second)", "MPI Rank 2 (second)"]


def recorded(mpi: Mpi, where: Path) -> Path:
    """Records the program first on one rank and second on two. Returns the directory of the archive."""
    programs = [where / "first", where / "second"]
    for program in programs:
        shutil.copy(mpi.build("mpi_self.c"), program)
    words = ["-n", "1", programs[0], "x", ":", "-n", "2", programs[1], "-v", "y z"]
    call([*mpi.launch, *words], where, {**mpi.env, "VT_FILE_PREFIX": "both"})
    unify(where, "both", "-k")
    check(where / "u_both.trace")
    return where / "u_both.trace"


@pytest.mark.parametrize("name", ["mpich-wheel", "openmpi"])
def test_programs_of_ranks(build: Builder, tmp_path: Path, name: str) -> None:
    mpi = find(name, build)
    archive = recorded(mpi, tmp_path)
    told = json.loads(vtrace(tmp_path, "info", "both", "--json").stdout)
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    assert told["programs"] == [
        {"ranks": "0", "processes": 1, "executable": first, "command": f"{first} x"},
        {"ranks": "1-2", "processes": 2, "executable": second, "command": f"{second} -v 'y z'"},
    ]
    assert [location["process"] for location in told["locations"]] == PROCESSES
    shown = vtrace(tmp_path, "info", "both").stdout
    rows = [line.split() for line in shown.splitlines() if line.startswith("  rank")]
    assert rows == [["rank", "0", first, first, "x"], ["ranks", "1-2", second, second, "-v", "'y", "z'"]]
    shown = vtrace(tmp_path, "summary", "both").stdout
    assert f"rank 0: {first} x\n" in shown
    assert f"ranks 1-2: {second} -v 'y z'\n" in shown
    rows = list(csv.DictReader(vtrace(tmp_path, "summary", "both", "--only", "classes", "--csv").stdout.splitlines()))
    assert [(row["rank"], row["process"], row["command"]) for row in rows] == [
        (str(rank), process, f"{first} x" if rank == 0 else f"{second} -v 'y z'")
        for rank, process in enumerate(PROCESSES)
    ]
    archive.rename(tmp_path / "serial.trace")
    unify_mpi(mpi, tmp_path, "-k", "both", ranks=2)
    assert_same(tmp_path / "serial.trace", archive)


def test_one_program_stands_once(build: Builder, tmp_path: Path) -> None:
    mpi = find("mpich-wheel", build)
    trace = mpi.record(mpi.build("mpi_self.c"), tmp_path, "a", ranks=2)
    assert {location.group for location in trace.locations.values()} == {"MPI Rank 0", "MPI Rank 1"}
    assert "Programs" not in vtrace(tmp_path, "info", "mpi_self").stdout
    (told,) = json.loads(vtrace(tmp_path, "info", "mpi_self", "--json").stdout)["programs"]
    assert (told["ranks"], told["processes"], told["command"].split()[1:]) == ("0-1", 2, ["a"])


def test_names_in_the_timeline(build: Builder, tmp_path: Path) -> None:
    """The names of processes in exports; Perfetto adds the process number to the name."""
    recorded(find("mpich-wheel", build), tmp_path)
    vtrace(tmp_path, "export", "both", "--to", "perfetto", "-o", "both.pftrace")
    data = (tmp_path / "both.pftrace").read_bytes()
    assert b"first: MPI Rank" in data
    assert data.count(b"second: MPI Rank") == 2
    vtrace(tmp_path, "export", "both", "--to", "chrome", "-o", "both.json")
    events = json.loads((tmp_path / "both.json").read_text())["traceEvents"]
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == PROCESSES
