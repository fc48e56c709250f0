# SPDX-License-Identifier: BSD-3-Clause
"""Processes that MPI_Comm_spawn starts, and groups that connect with each other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace

EVERYONE = (0, 1, 2, 3)


@pytest.fixture(scope="module")
def spawned(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    if mpi.name == "mpich":
        pytest.skip("Debian's MPICH starts no processes: Error in spawn call")
    place = tmp_path_factory.mktemp("spawn")
    done = mpi.run(mpi.build("mpi_spawn.c"), place, ranks=2)
    assert sorted(done.stdout.splitlines()) == ["rank 0: 0 0", "rank 1: 0 0"]
    assert done.stderr.count("vtrace: ") == 1, "only rank 0 of the first world prints the next step"
    assert {name for name in names(place) if ".x" not in name} >= {"mpi_spawn.1.def.z", "mpi_spawn.2.def.z"}
    unify(place, "mpi_spawn")
    assert names(place) == {"mpi_spawn.trace"}
    return check(place / "mpi_spawn.trace")


def messages(trace: Trace) -> dict[int, Counter[tuple[int, int, tuple[int, ...] | None]]]:
    """By tag: sender process, receiver rank and members of the communicator of each message."""
    found: dict[int, Counter[tuple[int, int, tuple[int, ...] | None]]] = {}
    for event in trace.events:
        if event.kind == "MpiSend":
            members = trace.comms[event.attrs["communicator"]].members
            key = (event.location, event.attrs["receiver"], members)
            found.setdefault(event.attrs["msg_tag"], Counter())[key] += 1
    return found


def test_one_run(spawned: Trace) -> None:
    """Spawned processes follow the ranks of the first world in the same archive, one world after the other."""
    groups = [location.group.split(" of ")[0] for location in spawned.locations.values()]
    assert groups == ["MPI Rank 0", "MPI Rank 1", "MPI Rank 0", "MPI Rank 1", "MPI Rank 0"]
    worlds = [location.group.partition(" of ")[2] for location in spawned.locations.values()]
    assert worlds[:2] == ["", ""]
    assert worlds[2] == worlds[3] != worlds[4] != ""
    assert [spawned.calls(location)["MPI_Init"] for location in range(5)] == [1] * 5


def test_messages_across_and_together(spawned: Trace) -> None:
    grandchild = (2, 3, 4)
    assert messages(spawned) == {
        # In the members of an inter-communicator, the other group follows the first group.
        10: Counter({(0, 2, EVERYONE): 1, (1, 3, EVERYONE): 1, (2, 0, EVERYONE): 1, (3, 1, EVERYONE): 1}),
        11: Counter({(i, (i + 1) % 4, EVERYONE): 1 for i in range(4)}),
        12: Counter({(0, 1, (0, 2)): 1, (2, 0, (0, 2)): 1, (1, 1, (1, 3)): 1, (3, 0, (1, 3)): 1}),
        20: Counter({(2, 2, grandchild): 1, (4, 0, grandchild): 1}),
        21: Counter({(i, (i - 1) % 3, grandchild): 1 for i in grandchild}),
        22: Counter({(2, 1, (2, 4)): 1, (4, 0, (2, 4)): 1, (3, 0, (3,)): 1}),
    }


def test_communicators(spawned: Trace) -> None:
    by_name = Counter((comm.name, comm.members) for comm in spawned.comms.values())
    assert len(by_name) == len(spawned.comms), "both sides must have one definition"
    assert {members for name, members in by_name if name == "MPI_COMM_WORLD"} == {(0, 1), (2, 3), (4,)}
    assert {members for name, members in by_name if name == "MPI_Comm_spawn"} == {EVERYONE, (2, 3, 4)}
    merged = next(c for c in spawned.comms.values() if c.name.startswith("MPI_Intercomm_merge"))
    assert merged.parent is not None
    assert spawned.comms[merged.parent].name == "MPI_Comm_spawn"


def test_accept_and_connect(mpi: Mpi, tmp_path: Path) -> None:
    if not mpi.is_open:
        pytest.skip("MPICH opens no port on this machine")
    trace = mpi.record(mpi.build("mpi_connect.c"), tmp_path, ranks=4)
    across = [comm for comm in trace.comms.values() if comm.name == "MPI_Comm_accept"]
    assert [comm.members for comm in across] == [EVERYONE, EVERYONE]
    assert messages(trace) == {
        tag: Counter({(0, 2, EVERYONE): 1, (1, 3, EVERYONE): 1, (2, 0, EVERYONE): 1, (3, 1, EVERYONE): 1})
        for tag in (1, 2)
    }
    for location in range(4):
        kinds = trace.kinds(location)
        assert kinds["CommCreate"] == kinds["CommDestroy"] == 3


def test_child_that_env_cannot_start(mpi: Mpi, tmp_path: Path) -> None:
    """env cannot execute the command: vtrace passes the command unchanged to MPI, and prints a line."""
    if not mpi.is_open:
        pytest.skip("MPICH waits for a program that does not exist")
    (tmp_path / "p.c").write_text(
        "#include <mpi.h>\nint main(void) { MPI_Comm c; MPI_Init(0, 0);\n"
        'MPI_Comm_spawn("./missing", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, MPI_ERRCODES_IGNORE);\n'
        "MPI_Finalize(); return 0; }\n"
    )
    launch, source = [*mpi.launch, "-n", "1"], str(tmp_path / "p.c")
    untraced = run(mpi.build(source, plain=True), tmp_path, launch=launch, env=mpi.env, code=None)
    traced = run(mpi.build(source), tmp_path, launch=launch, env=mpi.env, code=None)
    assert traced.returncode == untraced.returncode != 0
    told = "processes that MPI_Comm_spawn starts from ./missing are not part of this run: it cannot be executed"
    assert told in traced.stderr


@pytest.mark.parametrize("key", ["wdir", "path"])
def test_info_says_where_the_child_is(mpi: Mpi, tmp_path: Path, key: str) -> None:
    """A child in another directory (key wdir) is part of the run. A child that only MPI finds (key path) is not."""
    if mpi.name == "mpich":
        pytest.skip("Debian's MPICH starts no processes: Error in spawn call")
    if key == "path" and mpi.is_open:
        pytest.skip("this Open MPI finds no program by the info key path, untraced as well")
    program = mpi.build("mpi_spawn_info.c")
    child = mpi.build("mpi_spawn_info.c", plain=key == "path")
    (tmp_path / "elsewhere").mkdir()
    value, command = (tmp_path / "elsewhere", child) if key == "wdir" else (child.parent, child.name)
    done = mpi.run(program, tmp_path, key, str(value), str(command), ranks=1)
    assert done.stdout == "started\n"
    assert ("are not part of this run" in done.stderr) == (key == "path")
    assert ("give an absolute path instead of the key" in done.stderr) == (key == "path")
    unify(tmp_path, "mpi_spawn_info")
    complete = json.loads(vtrace(tmp_path, "info", "--json", "mpi_spawn_info").stdout)["complete"]
    assert complete is (key == "wdir"), "the ledger has the children that are not part of the run"
    trace = check(tmp_path / "mpi_spawn_info.trace", complete=key == "wdir")
    assert trace.calls()["MPI_Init"] == (2 if key == "wdir" else 1)


def test_a_child_of_the_same_name_that_only_mpi_finds(mpi: Mpi, tmp_path: Path) -> None:
    """Hydra starts parents and children by one helper: the children are another run, whose files have the next
    number."""
    if mpi.name == "mpich" or mpi.is_open:
        pytest.skip("no process is started by the info key path, untraced as well")
    program = mpi.build("mpi_spawn_info.c")
    done = mpi.run(program, tmp_path, "path", str(program.parent), program.name, ranks=1)
    assert done.stdout == "started\n"
    for prefix, calls in (("mpi_spawn_info", {"MPI_Comm_spawn": 1}), ("mpi_spawn_info_1", {"MPI_Comm_spawn": 0})):
        unify(tmp_path, prefix)
        trace = check(tmp_path / f"{prefix}.trace", complete=False)
        assert {name: trace.calls()[name] for name in calls} == calls
        assert trace.calls()["MPI_Comm_disconnect"] == trace.calls()["MPI_Finalize"] == 1
