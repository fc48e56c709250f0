# SPDX-License-Identifier: BSD-3-Clause
"""A diagnosis from the events that vtunify writes is the one of the archive."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import run
from support.build.run import vtrace as command
from support.readers.diagnosis import told
from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis
from vtrace.analysis.questions import mpi_replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.console import QUIET, Console
from vtrace.unify.run import Request, unify

PROGRAMS = {"ranks_threads": ("-pthread",), "mpi_rma": (), "omp_mpi": ("-fopenmp",)}
"""The flags of programs of two ranks."""


@pytest.fixture(scope="module")
def recorded(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of the local files of a run."""
    where = tmp_path_factory.mktemp("recorded")
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_messages.c", flags=("-O1",)), where, ranks=3)
    return where / "mpi_messages"


def written(prefix: Path, name: str, threads: int = 2) -> tuple[Trace, WrittenDiagnosis]:
    """The archive of local files, which stay, and the diagnosis that listened."""
    made = []

    def listen(anchor: Path) -> WrittenDiagnosis:
        made.append(WrittenDiagnosis(anchor))
        return made[0]

    found = unify(Request(prefix=prefix, name=name, keep=True, jobs=threads), Console("test", QUIET), listen=listen)
    trace = vtrace.open(found.archive)
    samples = int(trace.locations["events"].sum()) - found.events  # only those beside the events
    assert samples == (trace.vtrace["SAMPLES"]["samples"] if "SAMPLES_OF" in trace.vtrace else 0)
    return trace, made[0]


def assert_same(prefix: Path, threads: int) -> None:
    """The diagnosis that listened has the findings of a diagnosis of the archive."""
    trace, diagnosis = written(prefix, f"archive{threads}", threads)
    known = diagnosis.known(trace)
    assert known
    assert told(trace, known) == told(vtrace.open(trace.path))


@pytest.mark.parametrize("threads", [1, 2])
def test_messages(recorded: Path, threads: int) -> None:
    assert_same(recorded, threads)


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_programs(name: str, build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    words = ["50"] if name == "ranks_threads" else []
    mpi.run(mpi.build(f"{name}.c", flags=("-O1", *PROGRAMS[name])), tmp_path, *words, ranks=2)
    assert_same(tmp_path / name, 2)


@pytest.mark.parametrize("apart", ["no", "yes"])
def test_samples(build: Builder, tmp_path: Path, apart: str) -> None:
    """Nothing listens to samples: the diagnosis must read the archive."""
    mpi = mpis.find("mpich-wheel", build)
    env = {"VT_SAMPLE_RATE": "1000", "VT_SAMPLE_SIDECAR": apart}
    mpi.run(mpi.build("omp_mpi.c", flags=("-O1", "-fopenmp")), tmp_path, ranks=2, env=env)
    trace, diagnosis = written(tmp_path / "omp_mpi", "archive")
    assert not diagnosis.known(trace)


def test_python(tmp_path: Path) -> None:
    """The first block of a Python program has no definitions that pass 1 needs, and begins before its first event."""
    (tmp_path / "steps.py").write_text("def step(): pass\nfor _ in range(100): step()\n")
    command(tmp_path, "run", "--no-unify", "--python", sys.executable, "steps.py")
    assert_same(tmp_path / "steps", 1)


def test_no_room(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive is written nevertheless, and the diagnosis must read the archive. Small runs need no file: here all
    goes to the file."""
    monkeypatch.setattr(mpi_replay, "_MEMORY", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "r+b", buffering=0))  # noqa: SIM115
    trace, diagnosis = written(recorded, "full")
    assert not diagnosis.known(trace)


def test_another_archive(recorded: Path, build: Builder, tmp_path: Path) -> None:
    """Answers about expected definitions are not given for an archive that has others."""
    trace, diagnosis = written(recorded, "one")
    run(build("ring.c", flags=("-O1", "-pthread", "-DVTRACE")), tmp_path, "end", "300")
    other, _ = written(tmp_path / "ring", "other")
    assert not diagnosis.known(other)
    assert diagnosis.known(trace)


def test_memory(build: Builder, tmp_path: Path) -> None:
    """The attributes of calls reach the listener before libotf2 empties their list."""
    run(build("blocks.c", flags=("-O1", "-pthread", "-fno-builtin")), tmp_path, "leak", env={"VT_MEMTRACE": "yes"})
    assert_same(tmp_path / "blocks", 2)
    trace, diagnosis = written(tmp_path / "blocks", "again")
    assert "leak" in [one.kind for one in trace.diagnosis(Selection(), known=diagnosis.known(trace)).findings]
