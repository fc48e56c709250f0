# SPDX-License-Identifier: BSD-3-Clause
"""VT_MPI_BARRIER adds barriers around collectives, for all ranks of a communicator or for none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import need

BEFORE, AFTER = "BarrierBeforeColl", "BarrierAfterColl"
GET_THEM = {
    f"MPI_{name}"
    for name in """Allgather Allgatherv Allreduce Alltoall Alltoallv Bcast Gather Gatherv Reduce Reduce_scatter Scatter
    Scatterv""".split()
}


def calls(trace: Trace, rank: int) -> list[str]:
    """The MPI functions and added barriers of a rank, in order."""
    chosen = (e for e in trace.of(rank) if e.kind == "Enter" and trace.region_of(e).paradigm == "MPI")
    return [trace.region_of(event).name for event in chosen]


def recorded(mpi: Mpi, program: str, where: Path, ranks: int, **env: str) -> tuple[str, Trace]:
    where.mkdir()
    done = mpi.run(mpi.build(program), where, ranks=ranks, env=env)
    unify(where, program.removesuffix(".c"))
    return done.stdout, check(where / f"{program.removesuffix('.c')}.trace")


def test_both(mpi: Mpi, tmp_path: Path) -> None:
    """Each collective in the table of mpiP's guide, and no other, has one barrier before and one after the call."""
    said, plain = recorded(mpi, "mpi_collectives.c", tmp_path / "plain", 3)
    again, trace = recorded(mpi, "mpi_collectives.c", tmp_path / "both", 3, VT_MPI_BARRIER="both")
    assert said == again
    assert trace.region(BEFORE).role == trace.region(AFTER).role == "BARRIER"
    for rank in range(3):
        found, expected = calls(trace, rank), []
        for name in calls(plain, rank):
            expected += [BEFORE, name, AFTER] if name in GET_THEM else [name]
        assert found == expected
        assert len(GET_THEM & set(found)) == 12
        ends = Counter(e.attrs["collective_op"] for e in trace.of(rank) if e.kind == "MpiCollectiveEnd")
        before = Counter(e.attrs["collective_op"] for e in plain.of(rank) if e.kind == "MpiCollectiveEnd")
        added = sum(name in (BEFORE, AFTER) for name in found)
        assert ends - before == Counter(BARRIER=added)
        assert added == 2 * sum(name in GET_THEM for name in found)
    assert not any(name in (BEFORE, AFTER) for name in calls(plain, 0))


def test_between_groups(mpi: Mpi, tmp_path: Path) -> None:
    """An inter-communicator has barriers, too: one before each of its two collectives."""
    _, trace = recorded(mpi, "mpi_comms.c", tmp_path / "comms", 4, VT_MPI_BARRIER="before")
    for rank in range(4):
        found = calls(trace, rank)
        assert [name for name in found if name in GET_THEM] == ["MPI_Bcast", "MPI_Allreduce"]
        behind = [found[i + 1] for i, name in enumerate(found) if name == BEFORE]
        assert behind == ["MPI_Bcast", "MPI_Allreduce"]
        assert AFTER not in found


def test_between_worlds(mpi: Mpi, tmp_path: Path) -> None:
    """No barriers on a communicator with unknown settings of its other group: otherwise a rank could wait forever."""
    if mpi.name == "mpich":
        pytest.skip("Debian's MPICH starts no processes: Error in spawn call")
    mpi.run(mpi.build("mpi_spawn.c"), tmp_path, ranks=2, env={"VT_MPI_BARRIER": "both"})


def test_all_or_none(build: Builder, tmp_path: Path) -> None:
    """One rank without the setting: no rank has barriers. One rank without collectives: the others record barriers."""
    mpi = mpis.find("mpich-wheel", build)
    program = str(mpi.build("mpi_collectives.c"))
    cases = (("other", ["VT_MPI_BARRIER=no"], False), ("quiet", ["VT_MPI_GROUPS=p2p"], True))
    for name, other, recorded_by_two in cases:
        where = tmp_path / name
        where.mkdir()
        words = ["-n", "2", "env", "VT_MPI_BARRIER=after", program, ":", "-n", "1", "env", "VT_MPI_BARRIER=after"]
        done = run(Path(mpi.launch[0]), where, *words, *other, program)
        assert ("not all ranks" in done.stderr) != recorded_by_two
        unify(where, "mpi_collectives")
        trace = check(where / "mpi_collectives.trace", complete=False)
        made = [Counter(calls(trace, rank)) for rank in range(3)]
        each = sum(made[0][name] for name in GET_THEM)
        assert each >= len(GET_THEM)
        assert [of[AFTER] for of in made] == ([each, each, 0] if recorded_by_two else [0, 0, 0])


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_fortran(build: Builder, tmp_path: Path, name: str) -> None:
    mpi = mpis.find(name, build)
    words = ("-O1", "-w", "-fallow-argument-mismatch", "-DF08")
    program = mpi.builder("mpi_fortran.F90", compiler=need(f"mpifort.{name}"), flags=words)
    env = {**mpi.env, "VT_MPI_BARRIER": "both"}
    done = run(program, tmp_path, launch=[*mpi.launch, "-n", "3"], env=env)
    assert "good" in done.stdout
    unify(tmp_path, "mpi_fortran")
    trace = check(tmp_path / "mpi_fortran.trace")
    for rank in range(3):
        found = calls(trace, rank)
        at = [i for i, name in enumerate(found) if name in GET_THEM]
        assert len(at) == 8
        assert all((found[i - 1], found[i + 1]) == (BEFORE, AFTER) for i in at)
