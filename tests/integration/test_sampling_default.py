# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run samples without an option where no functions are recorded, and keeps samples beside the archive's
events."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.tools import DEFAULTS, need

SAMPLE = "CallingContextSample"
FLAGS = ("-O2", "-g", "-pthread")


def kinds(archive: Path) -> set[str]:
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        return {type(event).__name__ for _, event in trace.events}


def samples_of(where: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(vtrace(where, "summary", name, "--json").stdout)["samples"]
    return rows


def test_beside_the_events(build: Builder, tmp_path: Path) -> None:
    """vtunify puts the samples of a default into the sidecar, unless told otherwise; those of --sample and
    VT_SAMPLE_RATE into the archive."""
    program = build("sampled.c", flags=FLAGS, plain=True)
    vtrace(tmp_path, "run", "-o", "t", program, "100", "2", env=DEFAULTS)
    for name, words in (("default", ()), ("archive", ("--samples=archive",)), ("none", ("--samples=none",))):
        unify(tmp_path, "-k", *words, "-o", name, "t")
    assert kinds(tmp_path / "default.trace") == kinds(tmp_path / "none.trace")
    assert SAMPLE in kinds(tmp_path / "archive.trace")
    assert {row["function"] for row in samples_of(tmp_path, "default")} >= {"f", "g"}
    assert samples_of(tmp_path, "default") == samples_of(tmp_path, "archive")
    assert not samples_of(tmp_path, "none")
    for words, env in ((("--sample",), DEFAULTS), ((), DEFAULTS | {"VT_SAMPLE_RATE": "100"})):
        vtrace(tmp_path, "run", "-o", "t", *words, program, "100", "2", env=env)
        unify(tmp_path, "--force", "-o", "asked", "t")
        assert SAMPLE in kinds(tmp_path / "asked.trace")


def test_mixed_processes(build: Builder, tmp_path: Path) -> None:
    """If one process of the run is to have its samples in the archive, all have."""
    program = build("sampled.c", flags=FLAGS, plain=True)
    script = f"{program} 50 1; VT_SAMPLE_SIDECAR=no {program} 50 1"
    vtrace(tmp_path, "run", "-o", "t", "sh", "-c", script, env=DEFAULTS)
    unify(tmp_path, "t")
    assert SAMPLE in kinds(tmp_path / "t.trace")


@pytest.mark.parametrize("why", ["--no-sample", "--counters=page-faults", "--python", "vtrace-cc", "debugger"])
def test_no_samples(build: Builder, tmp_path: Path, why: str) -> None:
    """Neither where functions or counters are recorded, nor below a debugger, nor if the user says so."""
    program = build("sampled.c", flags=FLAGS, plain=why != "vtrace-cc")
    options = (why,) if why.startswith("--") else ()
    words = (program, "50", "2")
    if why == "debugger":  # a script in place of gdb
        (tmp_path / "gdb").write_text('#!/bin/sh\nexec "$@"\n')
        (tmp_path / "gdb").chmod(0o755)
        words = (str(tmp_path / "gdb"), *words)
    said = vtrace(tmp_path, "run", "-v", "-o", "t", *options, *words, env=DEFAULTS).stderr
    assert "VT_SAMPLE_SIDECAR" not in said
    assert " samples, " not in said


def test_thread_sanitizer_is_not_sampled(build: Builder, tmp_path: Path) -> None:
    program = build("sampled.c", flags=("-O1", "-g", "-pthread", "-fsanitize=thread"), plain=True)
    said = vtrace(tmp_path, "run", "-v", "-o", "t", program, "5", "1", env=DEFAULTS).stderr
    assert "VT_SAMPLE_SIDECAR" not in said


def test_wrong_choice(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "run", "--sample", "--no-sample", "true", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), str(done)
    assert "--sample and --no-sample exclude each other" in done.stderr


def test_function_and_line_of_the_cause(build: Builder, tmp_path: Path) -> None:
    """A plain vtrace run names the inlined function that takes longer on a rank, the function around it, and the line
    of the call in which the other waits. Three long steps: on a busy machine some of many would be slow. A rank that
    gives its processor away while it waits has no samples there."""
    mpi = mpis.find("mpich", build)
    program = mpi.build("mpi_chemistry.c", flags=("-O2", "-g", "-lm"), plain=True)
    source = (Path(__file__).parents[1] / "programs" / "mpi_chemistry.c").read_text().splitlines()
    call_line = next(n for n, text in enumerate(source, 1) if "MPI_Allreduce" in text)
    env = {**mpi.env, **DEFAULTS, "VT_PROCESSOR_WAIT": "no"}
    vtrace(tmp_path, "run", "-o", "t", need("mpiexec.mpich"), "-n", "2", program, "3", env=env)
    unify(tmp_path, "t")
    found = json.loads(vtrace(tmp_path, "diagnose", "t", "--json").stdout)["findings"]
    first = next(one for one in found if one["kind"] == "imbalance")
    assert first["region"] == "chemistry"
    assert first["culprit"].startswith("rank 1, chemistry (mpi_chemistry.c:")
    by_path, by_region = "--by rank --select 'path=*chemistry*'", "--by rank --select region=chemistry"
    assert first["command"].endswith((by_path, by_region))
    evidence = json.loads(vtrace(tmp_path, *shlex.split(first["command"])[1:], "--json").stdout)["profile"]
    # paths have the time in sin, too, but a sample may have a frame [mpi_chemistry+0x1234] without a function
    assert len(evidence) == 2 or first["command"].endswith(by_region)
    assert all(row["exclusive_ns"] > 0 for row in evidence)
    shown = " ".join(vtrace(tmp_path, "diagnose", "t").stdout.split())
    assert "inlined into main)" in shown
    rows = json.loads(vtrace(tmp_path, "profile", "t", "--by", "function", "--json").stdout)["profile"]
    if sum(row["samples"] for row in rows if row["function"] == "MPI_Allreduce"):
        assert f"MPI_Allreduce (mpi_chemistry.c:{call_line})" in shown
    told = json.loads(vtrace(tmp_path, "summary", "t", "--json").stdout)
    whole = sum(row["total_ns"] for row in told["classes"])  # shares are of the time of all locations, as of regions
    assert [row["share"] for row in told["samples"]] == [
        pytest.approx(row["exclusive_ns"] / whole) for row in told["samples"]
    ]
