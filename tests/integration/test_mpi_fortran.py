# SPDX-License-Identifier: BSD-3-Clause
"""MPI in Fortran by mpif.h, module mpi and module mpi_f08: the archive has each call once, like the same call in C."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import need

BINDINGS = {"MPI": "mpif.h or module mpi", "MPIF": "mpif.h or module mpi", "F08": "module mpi_f08"}
Record = tuple[str, int, int, int]
_PEER = {"MpiSend": "receiver", "MpiIsend": "receiver", "MpiRecv": "sender", "MpiIrecv": "sender"}
# Module mpi has the entry points of mpif.h.
_SOME = [pytest.param("MPI", marks=pytest.mark.full), "F08"]
_REPEATED = ("MPI_Waitsome", "MPI_Testany", "MPI_Testsome", "MPI_Test")


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest, build: Builder) -> Mpi:
    """Each MPI installation that has Fortran."""
    return mpis.find(request.param, build)


def compiled(mpi: Mpi, *flags: str, plain: bool = False) -> Path:
    """The program mpi_fortran.F90 with a binding. mpif.h declares no argument types, so gfortran compares the calls."""
    words = ("-O1", "-w", "-fallow-argument-mismatch", *flags)
    return mpi.builder("mpi_fortran.F90", compiler=need(f"mpifort.{mpi.name}"), flags=words, plain=plain)


def recorded(mpi: Mpi, program: Path, cwd: Path, before: Sequence[str] = ()) -> Trace:
    """With VT_SECTION_LEVEL, receives have the sizes of their buffers."""
    env = {**mpi.env, "VT_SECTION_LEVEL": "0"}
    done = run(program, cwd, launch=[*mpi.launch, "-n", "3", *before], env=env)
    assert "good" in done.stdout, str(done)
    dumped = vtrace(cwd, "dump", "--json", "--only", "COLL_END", program.name).stdout
    ends = [json.loads(line) for line in dumped.splitlines()]
    from_all = {(end["rank"], end["op"]) for end in ends if "from_all" in end and "ALLTOALL" in end["op"]}
    assert from_all == {(0, "ALLTOALLV"), (1, "ALLTOALLV"), (2, "ALLTOALLV"), (1, "ALLTOALLW")}
    unify(cwd, program.name)
    return check(cwd / f"{program.name}.trace")


def messages(trace: Trace, rank: int) -> list[Record]:
    return sorted(
        (e.kind.removeprefix("Mpi"), e.attrs[_PEER[e.kind]], e.attrs["msg_tag"], e.attrs["msg_length"])
        for e in trace.of(rank)
        if e.kind in _PEER
    )


def expected_messages(rank: int) -> list[Record]:
    """The messages of a rank in mpi_fortran.F90."""
    ring = [("Send", (rank + 1) % 3, 14, 8), ("Recv", (rank + 2) % 3, 14, 8)]
    plain, probed = [(10, 12), (11, 16)], (12, 20)
    started = [*range(101, 141), *range(201, 205), *range(301, 305), 401, 402, 501, 502, 601]
    nonblocking = [(tag, 4) for tag in started] + [(700, 8), (701, 12)] * 2
    if rank == 2:
        return sorted(ring)
    kind, peer = ("Send", 1) if rank == 0 else ("Recv", 0)
    blocking = [(kind, peer, tag, n) for tag, n in plain]
    # A receive of a message that MPI_Mprobe has matched has a request.
    blocking.append(("Send" if rank == 0 else "Irecv", peer, *probed))
    return sorted([*ring, *blocking, *((f"I{kind.lower()}", peer, tag, n) for tag, n in nonblocking)])


def expected_calls(rank: int) -> Counter[str]:
    """The calls by name, without calls that are repeated until they succeed."""
    all_ranks = """
    Init Comm_rank Comm_size Sendrecv_replace Irecv Waitany Barrier Bcast Allreduce Reduce Gather Scatter Allgather
    Allgatherv Alltoallv Alltoallw Ibarrier Wait Comm_split Comm_set_name Comm_get_name Comm_dup Comm_dup Comm_dup
    Barrier Comm_free Comm_free Comm_group Group_excl Comm_create Group_free Group_free Cart_create Cart_coords
    Comm_free Comm_create_keyval Comm_set_attr Comm_get_attr Comm_free Comm_free Comm_free_keyval Finalize
    """.split()
    both = ["Waitany"] * 5 + ["Waitall"] * 3 + ["Startall"] * 2 + ["Request_free"] * 2
    own = {
        0: ["Send"] * 3 + ["Ssend", "Ssend_init", "Send_init", "Barrier", "Comm_free"] + ["Isend"] * 53 + both,
        1: ["Recv"] * 2 + ["Get_count", "Mprobe", "Iprobe", "Mrecv"] + ["Irecv"] * 53 + ["Recv_init"] * 2 + both,
        2: ["Barrier", "Comm_free"],
    }
    return Counter(f"MPI_{name}" for name in all_ranks + own[rank])


def expected_posts(rank: int) -> Counter[tuple[str, int]]:
    """The receives by name and size of the buffer."""
    every = Counter({("MPI_Sendrecv_replace", 8): 1, ("MPI_Irecv", 0): 1})
    own = {("MPI_Recv", 32): 2, ("MPI_Mrecv", 32): 1, ("MPI_Irecv", 4): 53, ("MPI_Recv_init", 32): 2}
    return every + Counter(own if rank == 1 else {})


def assert_exact(trace: Trace, binding: str, linked: bool = True) -> None:
    """Checks that the trace has every call and every record of the program once."""
    for rank in range(3):
        calls = Counter({name: n for name, n in trace.calls(rank).items() if name.startswith("MPI_")})
        repeated = {name: calls.pop(name, 0) for name in _REPEATED}
        assert calls == expected_calls(rank)
        assert all(n >= (rank != 2) for n in repeated.values()), repeated
        assert messages(trace, rank) == expected_messages(rank)
        posts = [(trace.region_of(e).name, e.more["posted bytes"]) for e in trace.of(rank) if "posted bytes" in e.more]
        assert Counter(posts) == expected_posts(rank)
        kinds = trace.kinds(rank)
        assert kinds["MpiIsendComplete"] == kinds["MpiIsend"]
        assert kinds["MpiIrecvRequest"] == kinds["MpiIrecv"]
        assert_collectives(trace, rank)
        edges = trace.edges(rank)
        if linked:
            assert edges[("MPI_Comm_free", "drop")] == edges[("drop", "MPI_Comm_free")] == 1
        else:
            assert edges[("MPI_Comm_free", "MPI_Comm_free")] == 1
    assert {r.description for r in trace.regions.values() if r.paradigm == "MPI"} == {BINDINGS[binding]}
    names = Counter(comm.name for comm in trace.comms.values())
    assert names["halves of the world"] == 2
    assert {c.members for c in trace.comms.values() if c.name == "halves of the world"} == {(1, 0), (2,)}


def assert_collectives(trace: Trace, rank: int) -> None:
    ends = [e.attrs for e in trace.of(rank) if e.kind == "MpiCollectiveEnd"]
    found = [(e["collective_op"], e["size_sent"], e["size_received"]) for e in ends]
    root = rank == 0
    assert found[:10] == [
        ("BARRIER", 0, 0),
        ("BCAST", 72 if rank == 2 else 0, 24),
        ("ALLREDUCE", 16, 16),
        ("REDUCE", 8, 24 if rank == 1 else 0),
        ("GATHER", 0 if root else 8, 16 if root else 0),
        ("SCATTER", 16 if root else 0, 0 if root else 8),
        ("ALLGATHER", 8, 8),
        ("ALLGATHERV", 12, 12),
        ("ALLTOALLV", 12, 12),
        ("ALLTOALLW", 8, 24 if rank == 1 else 0),
    ]
    assert Counter(op for op, _, _ in found[10:]) == {
        "CREATE_HANDLE": 6, "DESTROY_HANDLE": 5 if rank == 1 else 6, "BARRIER": 1 if rank == 1 else 2,
    }  # fmt: skip


@pytest.mark.parametrize("binding", [*_SOME, "MPIF"])
def test_linked(mpi: Mpi, tmp_path: Path, binding: str) -> None:
    trace = recorded(mpi, compiled(mpi, f"-D{binding}"), tmp_path)
    assert_exact(trace, binding)
    assert trace.calls(0)["mpi_fortran"] == 1, "the main program needs its Fortran name"


@pytest.mark.parametrize("binding", [*_SOME, "MPIF"])
def test_preloaded(mpi: Mpi, tmp_path: Path, binding: str) -> None:
    library = vtrace(tmp_path, "shim", "build", "--mpicc", mpi.mpicc).stdout.strip()
    program = compiled(mpi, f"-D{binding}", plain=True)
    trace = recorded(mpi, program, tmp_path, ["env", f"LD_PRELOAD={library}"])
    assert_exact(trace, binding, linked=False)
    assert {region.paradigm for region in trace.regions.values()} <= {"MPI", "MEASUREMENT_SYSTEM"}


@pytest.mark.parametrize("binding", ["F08", pytest.param("MPIF", marks=pytest.mark.full)])
def test_preloaded_before_a_linked_one(mpi: Mpi, tmp_path: Path, binding: str) -> None:
    library = vtrace(tmp_path, "shim", "build", "--mpicc", mpi.mpicc).stdout.strip()
    assert_exact(recorded(mpi, compiled(mpi, f"-D{binding}"), tmp_path, ["env", f"LD_PRELOAD={library}"]), binding)


@pytest.mark.parametrize("binding", _SOME)
def test_spawn(build: Builder, tmp_path: Path, binding: str) -> None:
    """Spawned processes belong to the same run, and get the arguments that their parent gave."""
    mpi = mpis.find("openmpi", build)  # MPI_Comm_spawn fails with Debian's MPICH
    flags = ("-O1", f"-D{binding}")
    program = build("mpi_fortran_spawn.F90", compiler=need("mpifort.openmpi"), flags=flags)
    done = run(program, tmp_path, launch=[*mpi.launch, "-n", "1"], env=mpi.env)
    assert done.stdout == "good\n"
    assert "not part of this run" not in done.stderr
    unify(tmp_path, program.name)
    trace = check(tmp_path / f"{program.name}.trace")
    assert len(trace.locations) == 4
    sent = [(e.attrs["receiver"], e.attrs["msg_tag"]) for e in trace.of(0) if e.kind == "MpiSend"]
    assert len(sent) == 3
    assert [trace.kinds(i)["MpiRecv"] for i in range(4)] == [0, 1, 1, 1]
    calls = trace.calls(0)
    assert (calls["MPI_Comm_spawn"], calls["MPI_Comm_spawn_multiple"], calls["MPI_Comm_disconnect"]) == (1, 1, 2)


@pytest.mark.parametrize("binding", _SOME)
def test_windows_and_files(mpi: Mpi, tmp_path: Path, binding: str) -> None:
    # With optimization the compiler may skip loads of data that another rank has put into the window.
    program = mpi.builder("mpi_fortran_io.F90", compiler=need(f"mpifort.{mpi.name}"), flags=("-O0", f"-D{binding}"))
    run(program, tmp_path, launch=[*mpi.launch, "-n", "2"], env=mpi.env)
    unify(tmp_path, program.name)
    trace = check(tmp_path / f"{program.name}.trace")
    for rank in (0, 1):
        puts = [e.attrs for e in trace.of(rank) if e.kind == "RmaPut"]
        assert [(put["remote"], put["bytes"]) for put in puts] == [(1 - rank, 12)]
        ends = [e.attrs["bytes_result"] for e in trace.of(rank) if e.kind == "IoOperationComplete"]
        assert sorted(ends)[:2] == [8, 12], "after these, an unknown number for the flush of the file"
    assert {window.name for window in trace.windows.values()} == {"mine"}
    assert {Path(path).name for path, *_ in trace.files.values()} == {"numbers"}
