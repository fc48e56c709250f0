# SPDX-License-Identifier: BSD-3-Clause
"""support.oracles.check accepts a sound archive, and finds each of several mistakes in an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.oracles.check import check

otf2 = pytest.importorskip("otf2")


def write(
    path: Path,
    received: int = 15,
    tag: int = 5,
    leave: bool = True,
    collective: bool = True,
    first: str = "Master thread",
    request: int = 9,
) -> Path:
    """An archive of two ranks that exchange a message and take part in a collective, written with the otf2 package."""
    enums = otf2.enums
    with otf2.writer.open(str(path), timer_resolution=10**9) as trace:
        define = trace.definitions
        node = define.system_tree_node("host", "node")
        groups = [define.location_group(f"MPI Rank {rank}", system_tree_parent=node) for rank in (0, 1)]
        ranks = [define.location(first, group=group) for group in groups]
        thread = define.location("Thread 1", group=groups[1])
        region = define.region('f(char, "x")', paradigm=enums.Paradigm.COMPILER, region_role=enums.RegionRole.FUNCTION)
        world: dict[str, Any] = {"paradigm": enums.Paradigm.MPI, "members": ranks}
        define.group("all", group_type=enums.GroupType.COMM_LOCATIONS, **world)
        group = define.group("world", group_type=enums.GroupType.COMM_GROUP, **world)
        comm = define.comm("MPI_COMM_WORLD", group=group)
        allreduce = (enums.CollectiveOp.ALLREDUCE, comm, 0xFFFFFFFF, 8, 8)

        writer = trace.event_writer_from_location(ranks[0])
        writer.enter(10, region)
        writer.mpi_isend(11, 1, comm, 5, 100, 9)
        writer.mpi_isend_complete(12, request)
        writer.mpi_collective_begin(20)
        writer.mpi_collective_end(21, *allreduce)
        writer.leave(30, region)
        writer = trace.event_writer_from_location(ranks[1])
        writer.enter(10, region)
        writer.mpi_recv(received, 0, comm, tag, 100)
        if collective:
            writer.mpi_collective_begin(20)
            writer.mpi_collective_end(21, *allreduce)
        if leave:
            writer.leave(30, region)
        writer = trace.event_writer_from_location(thread)
        writer.enter(12, region)
        writer.leave(13, region)
    return path


def test_sound_archive_passes(tmp_path: Path) -> None:
    trace = check(write(tmp_path / "sound.trace"))
    assert trace.kinds() == {
        "Enter": 3, "Leave": 3, "MpiIsend": 1, "MpiIsendComplete": 1, "MpiRecv": 1,
        "MpiCollectiveBegin": 2, "MpiCollectiveEnd": 2,
    }  # fmt: skip
    assert trace.calls(2) == {"f": 1}
    assert len(trace.printed) == len(trace.events)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"received": 10}, "arrives at 10, sent at 11"),
        ({"tag": 6}, "received only"),
        ({"leave": False}, "ends inside"),
        ({"collective": False}, "not all took part"),
        ({"first": "worker"}, "MPI Rank 0"),
        ({"request": 8}, "running 0 times"),
    ],
)
def test_mistakes_are_found(tmp_path: Path, mistake: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(write(tmp_path / "broken.trace", **mistake))


def test_damaged_event_file_is_found(tmp_path: Path) -> None:
    archive = write(tmp_path / "cut.trace")
    with (archive / "traces" / "1.evt").open("r+b") as file:
        file.truncate(0)
    # Either reader may refuse the archive first: the otf2 package or otf2-print.
    with pytest.raises(Exception, match=r"INVALID_ARGUMENT|otf2-print"):
        check(archive)
