# SPDX-License-Identifier: BSD-3-Clause
"""The position of the program in a launcher's command line, the words that vtrace run puts before the program, and the
MPI of a launcher."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support.tools import call, command, environment, need
from vtrace.wrappers.launch import launchers
from vtrace.wrappers.launch.choices import Choices, parse
from vtrace.wrappers.launch.mpi_library import family, family_of_launcher, launchers_family

CASES = [
    ("mpiexec -n 4 ./a.out -n 5", "./a.out -n 5"),
    ("mpiexec.hydra -np 4 -genv A ls -hosts a,b ./a.out", "./a.out"),
    ("mpiexec -env A ls -n 2 -ppn 1 -l ./a.out : -n 1 -bind-to core ./b.out x", "./a.out|./b.out x"),
    ("mpirun --mca btl self,vader -x PATH --map-by node --oversubscribe -np 2 ./a.out", "./a.out"),
    ("mpirun.openmpi --host ls:2 --report-bindings -c 2 ls -l", "ls -l"),
    ("mpirun --unknown value --flag ./a.out", "./a.out"),
    ("prun --display map -n 2 ./a.out", "./a.out"),
    ("prterun --prtemca a ls -n 2 ./a.out", "./a.out"),
    ("srun -n 4 -p test --cpu-bind=cores ./a.out --partition ls", "./a.out --partition ls"),
    ("srun --partition test --exclusive -c2 --export=ALL ./a.out", "./a.out"),
    ("srun -N1 -n1 ./a.out : -n 2 ./b.out", "./a.out|./b.out"),
    ("srun --multi-prog ls", "ls"),
    ("aprun -n 8 -cc cpu -d 2 -j 1 ./a.out", "./a.out"),
    ("jsrun -n2 -a 4 -c 4 -g 1 -b packed:4 -d packed ./a.out", "./a.out"),
    ("jsrun --nrs 2 --smpiargs -gpu ./a.out", "./a.out"),
    ("flux run -N 2 -n 4 -o cpu-affinity=off ./a.out", "./a.out"),
    ("flux mini run --ntasks 4 ./a.out", "./a.out"),
    ("numactl -N 0 -m 0 ./a.out", "./a.out"),
    ("numactl --cpunodebind=0 --membind 0 ./a.out", "./a.out"),
    ("taskset -c 0-3 ./a.out", "./a.out"),
    ("taskset 0x3 ./a.out", "./a.out"),
    ("timeout -k 5 -s INT 10m ./a.out", "./a.out"),
    ("nice -n 5 ./a.out", "./a.out"),
    ("env -u B A=b C=ls ./a.out", "./a.out"),
    ("time -o f -v ./a.out", "./a.out"),
    ("mpiexec --version", ""),
    ("mpiexec -n 2 ./none", ""),
    ("mpiexec -n 2 -wdir place ./inner.out", "./inner.out"),
    ("srun -D place ./inner.out", "./inner.out"),
    ("srun --chdir=place -n 1 ./inner.out", "./inner.out"),
    ("mpiexec -n 2 -- ./a.out", "./a.out"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "place").mkdir()
    for name in ("a.out", "b.out", "place/inner.out"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("line", "programs"), CASES)
def test_programs(place: Path, line: str, programs: str) -> None:
    words = shlex.split(line)
    found = launchers.programs_in(words, environment())
    assert "|".join(shlex.join(words[one.begin : one.end]) for one in found) == programs
    assert all(one.directory == "place" for one in found if "inner" in programs)


@pytest.mark.parametrize("line", ["./a.out", "flux batch job.sh", "sh -c mpiexec", "mpicc a.c"])
def test_no_launcher(line: str) -> None:
    assert launchers.kind_of(shlex.split(line)) is None


def test_its_compiler_command(tmp_path: Path) -> None:
    for name in ("mpicc", "mpicc.openmpi"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    assert launchers.mpicc_of(str(tmp_path / "mpiexec.openmpi")) == str(tmp_path / "mpicc.openmpi")
    assert launchers.mpicc_of(str(tmp_path / "mpiexec.hydra")) == str(tmp_path / "mpicc")
    assert launchers.mpicc_of(str(tmp_path / "other" / "mpirun")) is None


def test_the_rank() -> None:
    assert launchers.rank({"PMI_RANK": "3", "PMI_SIZE": "4"}) == 3
    assert launchers.size({"PMI_RANK": "3", "PMI_SIZE": "4"}) == 4
    assert launchers.rank({"SLURM_PROCID": "0"}) is None  # a batch script
    assert launchers.rank({"SLURM_PROCID": "2", "SLURM_STEP_ID": "0"}) == 2
    assert launchers.rank({}) is None


@pytest.mark.parametrize("name", ["srun", "aprun", "jsrun", "prun"])
def test_what_a_launcher_gets(tmp_path: Path, name: str) -> None:
    """A fake launcher starts the program with an empty environment, so the command line must carry the settings."""
    (tmp_path / name).write_text(f'#!/bin/sh\nshift 2\nexec {need("env")} -i "$@"\n')
    (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{environment()['PATH']}"
    env = {"PATH": path, "VT_MAX_FLUSHES": "0"}
    words = [*command("vtrace"), "run", "--io", "-o", "out/job", name, "-n", "1", need("env")]
    lines = call([*words, "VT_VERBOSE=0"], tmp_path, env).stdout.splitlines()
    assert {"VT_IOTRACE=yes", "VT_FILE_PREFIX=job", f"VT_PFORM_GDIR={tmp_path}/out", "VT_MAX_FLUSHES=0"} <= set(lines)
    (preloads,) = [line for line in lines if line.startswith("LD_PRELOAD=")]
    assert "libvtrace-io.so" in preloads


@pytest.mark.parametrize(
    "line",
    ["", "--help", "-h", "--unknown ./a", "-o", "-o= ./a", "--io", "--io=yes ./a", "--", "--no-view ./a", "-v=1 ./a"],
)
def test_what_the_quick_parser_leaves_to_click(line: str) -> None:
    assert parse(shlex.split(line)) is None


def test_the_quick_parser() -> None:
    chosen = parse(shlex.split("-v --io --no-memory --mpi=mpicc.openmpi -o a/b --unify --force -- ./a --io"))
    assert chosen
    assert chosen.words == ["./a", "--io"]
    assert chosen.switches == {**Choices([]).switches, "io": True, "memory": False, "mpi": True, "unify": True}
    assert (chosen.mpicc, chosen.prefix) == ("mpicc.openmpi", "a/b")
    assert (chosen.verbose, chosen.force) == (True, True)


def test_families() -> None:
    assert family("/lib/libmpi.so.40.30.4") == "Open MPI"
    assert family("/lib/libmpi.so.12") == family("/lib/libmpich.so.12.2.1") == "MPICH"
    assert family("/lib/libother.so") is None
    assert launchers_family({"OMPI_COMM_WORLD_SIZE": "2", "PMI_RANK": "0"}) == "Open MPI"
    assert launchers_family({"PMI_RANK": "0"}) == "MPICH"
    assert launchers_family({}) is None


def test_launchers(tmp_path: Path) -> None:
    for text, expected in (
        (b"/hydra_pmi_proxy\0", "MPICH"),
        (b"\0libopen-rte.so.40\0", "Open MPI"),
        (b"#!/bin/sh\n", None),
    ):
        (tmp_path / "mpiexec").write_bytes(text)
        assert family_of_launcher(str(tmp_path / "mpiexec")) == expected
    assert family_of_launcher(str(tmp_path / "absent")) is None
