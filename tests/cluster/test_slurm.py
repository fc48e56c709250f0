# SPDX-License-Identifier: BSD-3-Clause
"""Batch scripts of docs/run.md under Slurm, on four nodes: srun starts the ranks of MPICH by PMI2, those of Open MPI by
PMIx."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build.builder import YIELDING, Builder
from support.build.run import names, vtrace
from support.build.wrap import wrap
from support.cluster.launch import MPIS, NODES, ROUNDS, SUM, Job, assert_counts
from support.cluster.nodes import DISK, Cluster
from support.cluster.slurm import Slurm
from support.oracles.check import check
from support.readers import docs
from support.tools import BIN, ROOT, command

VTRACE, VTUNIFY_MPI = (shlex.join(command(name)) for name in ("vtrace", "vtunify-mpi"))


SRUN = dict(zip(MPIS, ("srun --mpi=pmi2", "srun --mpi=pmix"), strict=True))


@pytest.fixture(scope="module")
def slurm(cluster: Cluster, build: Builder) -> Iterator[Slurm]:
    made = Slurm(cluster, {key: text for name in MPIS for key, text in Job(cluster, name, build).env.items()})
    yield made
    made.end()


@pytest.fixture(params=[MPIS[0], pytest.param(MPIS[1], marks=pytest.mark.full)])
def job(request: pytest.FixtureRequest, cluster: Cluster, build: Builder) -> Job:
    """Open MPI is left to the full tests: one rank in some hundred crashes in its mca_btl_tcp.so, inside MPI_Init, when
    the message of a rank comes that has left MPI_Init already. The other ranks then wait without end."""
    return Job(cluster, request.param, build)


@pytest.fixture
def mpich(cluster: Cluster, build: Builder) -> Job:
    return Job(cluster, MPIS[0], build)


def output(slurm: Slurm, where: Path, body: str) -> str:
    """Runs a batch script, and returns its output and that of its steps."""
    slurm.await_end(slurm.submit(where, body))
    return (where / "out").read_text()


@pytest.fixture(scope="module")
def heat(cluster: Cluster, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """examples/heat2d as the user of docs/run.md has built it."""
    place = tmp_path_factory.mktemp("heat")
    sources = [*(ROOT / "examples" / "heat2d").glob("*.c"), YIELDING]
    wrap(place, "-vt:cc", Job(cluster, MPIS[0], build).mpi.mpicc, "-fno-inline", "-O2", *sources, "-lm", "-o", "heat")
    return place / "heat"


SCRIPTS = [block.text for block in docs.blocks() if block.page == "run.md" and block.text.startswith("#!/bin/bash")]


@pytest.mark.parametrize("script", SCRIPTS, ids=["buffers on the nodes", "a directory for each job"])
def test_scripts_of_the_docs(slurm: Slurm, mpich: Job, heat: Path, tmp_path: Path, script: str) -> None:
    """The scripts as they are, but with one rank a node. The first leaves vtunify to the login node."""
    shutil.copy(heat, tmp_path)
    number = slurm.submit_script(tmp_path, script.replace("--ntasks-per-node=32", "--ntasks-per-node=1"))
    slurm.await_end(number)
    assert (tmp_path / "out").read_text().count("400 x 400 cells, 100 steps") == 1
    place = "results/heat"
    if "vtunify-mpi" in script:
        place = f"heat-{number}/heat"
    else:
        mpich.unify(tmp_path, place)
    trace = check(tmp_path / f"{place}.trace")
    calls = {"main": 4, "update": 400, "exchange_halo": 400, "MPI_Waitall": 400, "MPI_Allreduce": 404}
    assert {name: trace.calls()[name] for name in calls} == calls
    assert trace.kinds()["MpiIsend"] == trace.kinds()["MpiIrecv"] == 800
    assert {location.host for location in trace.locations.values()} == set(NODES)
    assert [name for name in names((tmp_path / place).parent) if name != "heat.trace"] == []


def test_before_srun(slurm: Slurm, job: Job, tmp_path: Path) -> None:
    """Buffers on the nodes' disks, files in a shared directory, and vtunify-mpi in the same job."""
    program, srun = job.program(plain=True), SRUN[job.mpi.name]
    body = f"""
export VT_PFORM_LDIR={DISK}
{VTRACE} run -o results/nodes {srun} {program} {ROUNDS}
{srun} {VTUNIFY_MPI} results/nodes
"""
    said = output(slurm, tmp_path, body)
    assert SUM in said
    assert "results/nodes.trace: 4 ranks, 4 locations," in said
    assert names(tmp_path / "results") == {"nodes.trace"}
    assert_counts(check(tmp_path / "results/nodes.trace"), functions=False)
    assert [names(node.path(DISK)) for node in slurm.cluster.nodes] == [set()] * 4


def test_tutorial(slurm: Slurm, mpich: Job, tmp_path: Path) -> None:
    """The last blocks of docs/tutorial.md: a script, its output, the lines for larger jobs."""
    first, *_, script, submitted, larger = [block for block in docs.blocks() if block.page == "tutorial.md"]
    shutil.copy(ROOT / "examples/tutorials/imbalance.c", tmp_path)
    wrap(tmp_path, "-vt:cc", mpich.mpi.mpicc, *shlex.split(first.typed.splitlines()[0])[1:])
    path = f'export VT_UNIFY= PATH="{BIN}:$PATH"'  # a user's environment has no VT_UNIFY
    slurm.await_end(slurm.submit(tmp_path, f"{path}\n{script.text}", "--nodes=2"))
    said = (tmp_path / "out").read_text()
    assert not docs.missing(submitted.shown, said), said
    slurm.await_end(slurm.submit(tmp_path, f"rm -r results\n{path}\n{larger.text}", "--nodes=2"))
    assert "results/imbalance.trace: 2 ranks, 2 locations," in (tmp_path / "out").read_text()


def test_behind_srun(slurm: Slurm, job: Job, tmp_path: Path) -> None:
    """srun starts vtrace run, and vtunify is called on the front after the job."""
    words = f"{SRUN[job.mpi.name]} {VTRACE} run -o nodes {job.program(plain=True)} {ROUNDS}\n"
    assert SUM in output(slurm, tmp_path, words)
    job.unify(tmp_path, "nodes")
    assert_counts(check(tmp_path / "nodes.trace"), functions=False)


def test_two_steps(slurm: Slurm, mpich: Job, tmp_path: Path) -> None:
    """Two steps at a time, in one directory and with one prefix: the second takes another name, and says so."""
    first, second = NODES[:2], NODES[2:]
    words = [f"srun --exact -N2 -n2 -w {','.join(nodes)} {mpich.program()} {ROUNDS} wait" for nodes in (first, second)]
    both = "until [ $(grep -o ready out | wc -l) = 4 ]; do sleep 0.1; done; touch go"
    said = output(slurm, tmp_path, f"{words[0]} &\n{words[1]} &\n{both}\nwait\n")
    assert said.count(f"sum {ROUNDS}\n") == 2
    assert said.count(" has files named nodes in this directory: this run names its files nodes_1") == 1
    found = []
    for name in ("nodes", "nodes_1"):
        mpich.unify(tmp_path, name)
        trace = check(tmp_path / f"{name}.trace")
        found.append({location.host for location in trace.locations.values()})
        assert_counts(trace, hosts=sorted(found[-1]))
    assert sorted(map(sorted, found)) == [[*first], [*second]]


def assert_ended(slurm: Slurm, mpich: Job, where: Path, number: str) -> None:
    """The job has ended early, and nothing that its ranks have published is lost."""
    slurm.await_end(number)
    said = mpich.unify(where, "nodes").stderr
    assert "ranks 0-3 did not complete the files: the archive has the events recorded until then" in said
    assert_counts(check(where / "nodes.trace", complete=False), finished=False)
    found = json.loads(vtrace(where, "info", "--json", "nodes").stdout)
    assert found["shortfalls"] == ["ranks 0-3 ended early"]


def test_cancelled(slurm: Slurm, mpich: Job, tmp_path: Path) -> None:
    number = slurm.submit(tmp_path, f"srun {mpich.program()} {ROUNDS} wait\n")
    end = time.monotonic() + 60
    out = tmp_path / "out"
    while not out.exists() or out.read_text().count("ready") < len(NODES):
        assert time.monotonic() < end
        time.sleep(0.1)
    slurm.call(tmp_path, "scancel", number)
    assert_ended(slurm, mpich, tmp_path, number)


@pytest.mark.full
def test_time_limit(slurm: Slurm, mpich: Job, tmp_path: Path) -> None:
    """SIGTERM, which the program ignores, and SIGKILL after KillWait. (No limit is shorter than a minute.)"""
    body = f"srun env --ignore-signal=TERM {mpich.program()} {ROUNDS} wait\n"
    number = slurm.submit(tmp_path, body, "--time=1")
    slurm.await_end(number, 240)
    assert "DUE TO TIME LIMIT" in (tmp_path / "out").read_text()
    assert_ended(slurm, mpich, tmp_path, number)
