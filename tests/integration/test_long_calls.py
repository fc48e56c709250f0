# SPDX-License-Identifier: BSD-3-Clause
"""The places where a program makes the calls in which it waits long: recorded without cost to short calls, kept in the
sidecar, told by vtrace diagnose."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify
from support.build.run import vtrace as command
from support.tools import DEFAULTS, call
from vtrace.analysis.long_calls import LongCalls, long_calls_of

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 35),
    reason="the place of a return address in its frame is known on x86-64 only, and its module with glibc 2.35",
)


def source(trace: vtrace.Trace, region: str, rank: int) -> str:
    """The last part of the line that makes most long calls of a region on a rank."""
    row = trace.regions["name"].tolist().index(region)
    return LongCalls(trace).source(row, [rank]).rpartition("/")[2]


@pytest.mark.parametrize(
    ("mpi", "way"), [("mpich", "plain"), ("mpich", "functions"), ("mpich", "killed"), ("openmpi", "plain")]
)
def test_the_place_that_waits(build: Builder, tmp_path: Path, mpi: str, way: str) -> None:
    """Of several places in one function the one that waits is told, also of a killed program."""
    found, plain, killed = mpis.find(mpi, build), way == "plain", way == "killed"
    program = build("long_calls.c", compiler=f"mpicc.{mpi}", flags=("-g", "-O2"), plain=plain)
    start, env = (*found.launch, "-n", "2", str(program)), DEFAULTS | found.env | {"VT_SAMPLE_RATE": "0"}
    if plain:
        command(tmp_path, "run", "-o", "a", "--io", *start, env=env)
    else:
        words = [*start, *(["kill"] if killed else [])]
        call(words, tmp_path, env | {"VT_FILE_PREFIX": "a", "VT_IOTRACE": "yes"}, check=not killed)
    unify(tmp_path, "a")
    trace = vtrace.open(tmp_path / "a")
    assert source(trace, "MPI_Barrier", 0) == "long_calls.c:12"
    assert source(trace, "read", 0) == "long_calls.c:26"
    words = " ".join(command(tmp_path, "diagnose", "a").stdout.split())
    assert "MPI_Barrier" in words
    assert "(long_calls.c:12)" in words or killed  # then messages and waits lack their ends


def test_places_of_a_cut(build: Builder, tmp_path: Path) -> None:
    """A cut keeps the places of the ranks and regions that stay; their times are those of the whole run."""
    found = mpis.find("mpich", build)
    program = build("long_calls.c", compiler="mpicc.mpich", flags=("-g", "-O2"))
    call([*found.launch, "-n", "2", str(program)], tmp_path, DEFAULTS | {"VT_FILE_PREFIX": "a"})
    unify(tmp_path, "a")
    command(tmp_path, "cut", "a", "--ranks", "0", "-o", "b")
    whole, part = (long_calls_of(vtrace.open(tmp_path / name)) for name in "ab")
    assert whole
    assert part
    assert {*part.columns["location"].tolist()} == {0} < {*whole.columns["location"].tolist()}
    of_first = whole.columns["location"] == 0
    assert part.columns["ns"].tolist() == whole.columns["ns"][of_first].tolist()
    assert source(vtrace.open(tmp_path / "b"), "MPI_Barrier", 0) == "long_calls.c:12"


def test_more_places_than_room(build: Builder, tmp_path: Path) -> None:
    """The time at places without room counts, so that no place that waits less is told."""
    program = build("many_long_calls.c", compiler="gcc", flags=("-g",))
    call([program], tmp_path, DEFAULTS | {"VT_FILE_PREFIX": "a", "VT_IOTRACE": "yes"})
    unify(tmp_path, "a")
    trace = vtrace.open(tmp_path / "a")
    table = long_calls_of(trace)
    assert table
    read = trace.regions["id"][trace.regions["name"].tolist().index("read")]
    mine = (table.columns["location"] == 0) & (table.columns["region"] == read)
    assert 48 < table.columns["count"][mine].sum() <= 75  # a busy machine may let the child be ahead
    assert np.count_nonzero(mine) <= 49  # one for all others
    assert source(trace, "read", 0) == ""


def test_last_acts_of_functions(build: Builder, tmp_path: Path) -> None:
    """A call that the compiler has made a jump is told at its own line, with the function that makes the call, though
    that function has no frame any more."""
    found = mpis.find("mpich", build)
    program = build("last_acts.c", compiler="mpicc.mpich", flags=("-g", "-O2"), plain=True)
    command(tmp_path, "run", "-o", "a", *found.launch, "-n", "2", str(program), env=DEFAULTS | found.env)
    unify(tmp_path, "a")
    assert source(vtrace.open(tmp_path / "a"), "MPI_Allreduce", 1) == "last_acts.c:16"
    words = " ".join(command(tmp_path, "diagnose", "a").stdout.split())
    assert "rank 0 takes longer in compute (last_acts.c:10, called by step, asleep in usleep)" in words
    assert "MPI_Allreduce (last_acts.c:16)" in words
