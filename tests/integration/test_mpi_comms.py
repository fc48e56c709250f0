# SPDX-License-Identifier: BSD-3-Clause
"""Communicators, created in every way: one definition for all members, with the members in order."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import otf2
import pytest

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import call, command


@pytest.fixture(scope="module")
def trace(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return mpi.record(mpi.build("mpi_comms.c"), tmp_path_factory.mktemp("comms"), ranks=4)


def members_by_tag(trace: Trace) -> dict[int, set[tuple[int, ...] | None]]:
    """The members of the communicators of the messages, by tag."""
    found: dict[int, set[tuple[int, ...] | None]] = {}
    for event in trace.events:
        if event.kind in ("MpiSend", "MpiRecv"):
            found.setdefault(event.attrs["msg_tag"], set()).add(trace.comms[event.attrs["communicator"]].members)
    return found


def test_members(trace: Trace) -> None:
    everyone = (0, 1, 2, 3)
    assert members_by_tag(trace) == {
        1: {everyone},
        2: {(2, 0), (3, 1)},
        3: {(0, 1, 2)},
        4: {everyone},
        5: {(0, 2)},
        6: {(0, 2)},
        7: {None},
        10: {everyone},
        11: {(0, 1), (2, 3)},
        12: {everyone},
        13: {everyone},
        20: {everyone},
        22: {everyone},
        30: {everyone},
        31: {everyone},
    }


def test_name_and_parent(trace: Trace) -> None:
    world, twin = (next(c for c in trace.comms.values() if c.name == name) for name in ("MPI_COMM_WORLD", "twin"))
    assert twin.parent == world.id
    assert any(c.parent == twin.id and c.members == (0, 1, 2) for c in trace.comms.values())
    assert [c.members for c in trace.comms.values() if c.name == "MPI_Cart_create 2p x 2"] == [(0, 1, 2, 3)]


def test_grids(mpi: Mpi, tmp_path: Path) -> None:
    """The shape of a grid and the coordinates of its ranks, as MPI_Cart_coords gives them to the program; a grid that
    is made again is defined once."""
    done = mpi.run(mpi.build("mpi_grids.c"), tmp_path, ranks=4)
    told = {tuple(map(int, line.split())) for line in done.stdout.splitlines()}
    unify(tmp_path, "mpi_grids")
    with otf2.reader.open(str(tmp_path / "mpi_grids.trace" / "traces.otf2")) as archive:
        made = archive.definitions
        grids = [topology.dimensions for topology in made.cart_topologies]
        shapes = [[(d.size, d.cart_periodicity == otf2.CartPeriodicity.TRUE) for d in grid] for grid in grids]
        names = [topology.communicator.name for topology in made.cart_topologies]
    assert shapes == [[(2, True), (2, False)], [(4, False)], [(1, False), (2, True), (2, False), (1, True)]]
    assert names == ["plane", "MPI_Cart_create 4", "MPI_Cart_create 1 x 2p x 2 x 1p"]
    found = vtrace.open(tmp_path / "mpi_grids.trace")
    table = found.topologies
    assert [table[axis].tolist() for axis in "xyz"] == [[2, 4, 1], [2, 0, 2], [0, 0, 2]]
    assert {tuple(row.values()) for row in found.coordinates.records()} == told
    assert found.comms["name"][table["comm"]].tolist() == names


def test_peers_in_an_inter_communicator(trace: Trace) -> None:
    """Each rank sends to its partner in the other group. In the members of the inter-communicator, the other group
    follows the first group."""
    peers = {
        (e.location, e.attrs["receiver"]) for e in trace.events if e.kind == "MpiSend" and e.attrs["msg_tag"] == 20
    }
    assert peers == {(0, 2), (1, 3), (2, 0), (3, 1)}
    bcasts = [e.attrs for e in trace.events if e.kind == "MpiCollectiveEnd" and e.attrs["collective_op"] == "BCAST"]
    assert sorted((b["size_sent"], b["size_received"]) for b in bcasts) == [(0, 0), (0, 12), (0, 12), (24, 0)]
    sums = [e.attrs for e in trace.events if e.kind == "MpiCollectiveEnd" and e.attrs["collective_op"] == "ALLREDUCE"]
    assert [(s["size_sent"], s["size_received"]) for s in sums] == [(16, 16)] * 4


def test_intercomms_of_threads(mpi: Mpi, tmp_path: Path) -> None:
    """Each inter-communicator that several threads make at once is one communicator for all of its members."""
    trace = mpi.record(mpi.build("mpi_intercomm_threads.c", ["-O1", "-pthread"]), tmp_path, ranks=4)
    comms: dict[int, set[int]] = {}
    for event in trace.events:
        if event.kind in ("MpiSend", "MpiRecv"):
            comms.setdefault(event.attrs["msg_tag"], set()).add(event.attrs["communicator"])
    turns = range(3 * 40)
    assert comms.keys() == {2 * turn for turn in turns} | {2 * turn + 1 for turn in turns if turn % 2}
    assert all(len(of_tag) == 1 for of_tag in comms.values())
    assert len(set.union(*comms.values())) == len(comms)


def test_create_and_free_are_inside_a_collective_operation(trace: Trace) -> None:
    for rank in range(4):
        kinds = trace.kinds(rank)
        made = 500 + 10 + {0: 3, 1: 1, 2: 3, 3: 0}[rank]
        # One communicator was created without an event, so that its end has no event either.
        assert kinds["CommCreate"] == kinds["CommDestroy"] == made
        ops = Counter(e.attrs["collective_op"] for e in trace.of(rank) if e.kind == "MpiCollectiveEnd")
        assert ops["DESTROY_HANDLE"] == made + 1
        # A rank that gets no communicator still takes part in creating it.
        assert ops["CREATE_HANDLE"] == 500 + 10 + 2 + (rank % 2 == 0)
    inside = 0
    for event in trace.of(0):
        inside += {"MpiCollectiveBegin": 1, "MpiCollectiveEnd": -1}.get(event.kind, 0)
        assert inside == 1 or event.kind not in ("CommCreate", "CommDestroy")


def test_each_communicator_is_created_before_its_first_use(trace: Trace) -> None:
    alive: set[tuple[int, int]] = set()
    always = {c.id for c in trace.comms.values() if c.name in ("MPI_COMM_WORLD", "MPI_COMM_SELF", "communicator")}
    for event in trace.events:
        key = (event.location, event.attrs.get("communicator", -1))
        if event.kind == "CommCreate":
            alive.add(key)
        elif event.kind == "CommDestroy":
            alive.remove(key)
        elif event.kind in ("MpiSend", "MpiRecv"):
            assert key in alive or key[1] in always, event
    assert not alive


def test_duplicates_of_self(mpi: Mpi, tmp_path: Path) -> None:
    """Each process has its own duplicates of MPI_COMM_SELF: communicators with this process as the only member."""
    trace = mpi.record(mpi.build("mpi_self.c"), tmp_path, ranks=3)
    used = [{e.attrs["communicator"] for e in trace.of(rank) if e.kind == "MpiSend"} for rank in range(3)]
    assert [len(comms) for comms in used] == [2, 2, 2]
    for rank, comms in enumerate(used):
        assert {trace.comms[comm].members for comm in comms} == {(rank,)}
    assert len(set().union(*used)) == 6


@pytest.mark.parametrize("preloaded", [False, True], ids=["linked", "preloaded"])
def test_ranks_that_are_threads(build: Builder, preloaded: bool, tmp_path: Path) -> None:
    """MPIX_Threadcomm has more ranks than processes: vtrace records calls but no messages, and prints a line."""
    mpi = mpis.find("mpich-wheel", build)
    flags = ["-O1", "-pthread"]
    plain = mpi.build("mpi_threadcomm.c", flags, plain=True)
    untraced = mpi.run(plain, tmp_path, ranks=2).stdout
    assert untraced == "sum 6 of 4\n" * 4
    if preloaded:
        done = call([*command("vtrace"), "run", *mpi.launch, "-n", "2", plain], tmp_path)
    else:
        done = mpi.run(mpi.build("mpi_threadcomm.c", flags), tmp_path, ranks=2)
    assert done.stdout == untraced
    assert done.stderr.count("the ranks of a communicator are threads") == 2, "each process must print one line"
    unify(tmp_path, "mpi_threadcomm")
    ledger = call([*command("vtrace"), "info", "mpi_threadcomm"], tmp_path).stdout
    assert "all events recorded" not in ledger
    assert "the ranks of a communicator are threads" in ledger
    about = json.loads(call([*command("vtrace"), "info", "--json", "mpi_threadcomm"], tmp_path).stdout)
    assert about["complete"] is False
    trace = check(tmp_path / "mpi_threadcomm.trace")
    kinds, calls = Counter(event.kind for event in trace.events), Counter[str]()
    for location in trace.locations:
        calls += Counter(trace.calls(location))
    assert {n: calls[f"MPI_{n}"] for n in ("Irecv", "Isend", "Waitall", "Allreduce")} == dict.fromkeys(
        ("Irecv", "Isend", "Waitall", "Allreduce"), 4
    )
    assert calls["MPI_Barrier"] == 6
    assert not [kind for kind in kinds if "Send" in kind or "Recv" in kind or "send" in kind or "recv" in kind]
    assert kinds["MpiCollectiveEnd"] == 2, "only MPI_Barrier on MPI_COMM_WORLD is a collective event"
