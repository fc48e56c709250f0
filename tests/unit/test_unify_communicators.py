# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of many processes become OTF2 definitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from support.synthetic_runs.merged_comms import MergedComms, merged_comms
from vtrace.errors import FormatError
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.local.records import COMM_KINDS
from vtrace.parallel.ranks import ALONE
from vtrace.unify.model.process_definitions import CommMembers, CommPeer, LocalComm, ProcessDefinitions
from vtrace.unify.model.process_maps import ProcessPlace

WORLD = 7


@dataclass
class Process:
    rank: int | None
    index: int | None
    world: int = WORLD
    number: int = 0
    definitions: ProcessDefinitions = field(default_factory=ProcessDefinitions)

    @property
    def place(self) -> ProcessPlace:
        return ProcessPlace(index=self.index)

    def comm(self, number: int, kind: str, parent: int | None, size: int, rank: int, **more: int) -> None:
        values = {"tag": 0, "hash": 0, "serial": 0, "remote": 0, **more}
        self.definitions.comms[number] = LocalComm(
            COMM_KINDS[kind],
            parent,
            tag=values["tag"],
            hash=values["hash"],
            serial=values["serial"],
            size=size,
            rank=rank,
            remote=values["remote"],
        )

    def members(self, number: int, side: int, ranks: list[int], first: int = 0) -> None:
        piece = CommMembers(first, self.world, np.array([rank % 2**32 for rank in ranks], "<u4").tobytes())
        self.definitions.members.setdefault((number, side), []).append(piece)


def merge(processes: list[Process], masters: list[int]) -> MergedComms:
    for number, process in enumerate(processes):
        process.number = number
    indices = {(p.world, p.rank): p.index for p in processes if p.index is not None}
    return merged_comms(processes, masters, indices, ALONE)


def world(size: int) -> list[Process]:
    processes = [Process(rank, rank) for rank in range(size)]
    for process in processes:
        process.comm(1, "WORLD", None, size, process.rank or 0)
        process.comm(2, "SELF", None, 1, 0, hash=process.rank or 0)
    return processes


def members(found: MergedComms, comm: int) -> list[int]:
    return [int(member) for member in found.groups[found.comms[comm].group].members]


def test_communicator_whose_making_was_not_seen() -> None:
    """Such a communicator has no creation event, so its definition must not have the flag for creation events."""
    processes = world(2)
    for process in processes:
        process.comm(3, "OTHER", None, 2, process.rank or 0, hash=9)
    assert [comm.flags for comm in merge(processes, [0, 2]).comms] == [0, 0, 0]


def test_world_and_self() -> None:
    found = merge(world(3), [0, 2, 4])
    assert [comm.name for comm in found.comms] == ["MPI_COMM_WORLD", "MPI_COMM_SELF"]
    assert [group.kind for group in found.groups] == ["COMM_LOCATIONS", "COMM_GROUP", "COMM_SELF"]
    assert list(found.groups[0].members) == [0, 2, 4]
    assert members(found, 0) == [0, 1, 2]
    assert [comm.flags for comm in found.comms] == [0, 0]
    for table in found.ids:
        assert table.tolist() == [UNDEFINED, 0, 1]


def test_no_mpi() -> None:
    found = merge([Process(None, None, 0)], [])
    assert (found.groups, found.comms) == ([], [])
    assert [len(table) for table in found.ids] == [0]


def test_split_halves_with_names_parents_and_shared_groups() -> None:
    processes = world(4)
    for process in processes:
        rank = process.rank or 0
        # Ids differ between processes: only kind, parent, tag, hash and count identify a communicator.
        half, dup = (3, 4) if rank % 2 else (5, 9)
        process.comm(half, "SPLIT", 1, 2, rank // 2, hash=100 + rank % 2)
        process.comm(dup, "DUP", half, 2, rank // 2, hash=100 + rank % 2)
        if rank < 2:
            process.members(half, 0, [rank, rank + 2])
            process.members(dup, 0, [rank], 0)
            process.members(dup, 0, [rank + 2], 1)
    processes[3].definitions.comm_names[3] = "odd"
    found = merge(processes, [0, 1, 2, 3])
    names = [comm.name for comm in found.comms]
    assert names[2:] == [
        "MPI_Comm_split of MPI_COMM_WORLD", "MPI_Comm_dup of MPI_Comm_split of MPI_COMM_WORLD", "odd",
        "MPI_Comm_dup of odd",
    ]  # fmt: skip
    assert [members(found, i) for i in range(2, 6)] == [[0, 2], [0, 2], [1, 3], [1, 3]]
    assert found.comms[2].group == found.comms[3].group
    assert [comm.parent for comm in found.comms] == [None, None, 0, 2, 0, 4]
    assert [comm.flags for comm in found.comms[2:]] == [1, 1, 1, 1]
    assert [int(t[5]) for t in (found.ids[0], found.ids[2])] == [2, 2]
    assert [int(t[4]) for t in (found.ids[1], found.ids[3])] == [5, 5]
    assert found.incomplete == []


def test_order_within_a_parent_counts() -> None:
    processes = world(2)
    for process in processes:
        for number in (3, 4):
            process.comm(number, "DUP", 1, 2, process.rank or 0, serial=number)
    found = merge(processes, [0, 1])
    assert len(found.comms) == 4
    assert members(found, 2) == members(found, 3) == [0, 1]


def test_members_from_what_each_process_says_of_itself() -> None:
    processes = world(4)
    for rank in (3, 1):
        processes[rank].comm(3, "SPLIT", 1, 2, 0 if rank == 3 else 1, hash=5)
    found = merge(processes, [0, 1, 2, 3])
    assert members(found, 2) == [3, 1]
    assert found.incomplete == []


def test_unknown_members_are_reported() -> None:
    processes = world(3)
    processes[1].comm(3, "SPLIT", 1, 2, 1, hash=5)
    found = merge(processes, [0, 1, 2])
    assert members(found, 2) == [0, 1]
    assert found.incomplete == ["MPI_Comm_split of MPI_COMM_WORLD"]


def inter(lists: bool) -> MergedComms:
    """An inter-communicator between ranks 3, 1 and ranks 2, 0, 4."""
    processes = world(5)
    sides = [[3, 1], [2, 0, 4]]
    for side, own in enumerate(sides):
        for rank, number in enumerate(own):
            process = processes[number]
            process.comm(3, "INTER_CREATE", 1, len(own), rank, hash=9, remote=len(sides[1 - side]))
            if rank == 0 and lists:
                process.members(3, 0, own)
                process.members(3, 1, sides[1 - side])
    return merge(processes, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("lists", [True, False], ids=["lists", "no lists"])
def test_inter_communicator(lists: bool) -> None:
    found = inter(lists)
    assert members(found, 2) == [2, 0, 4, 3, 1], "the group with the lowest rank comes first"
    offsets = [int(table[3]) for table in found.peer_offsets]
    assert offsets == [3, 0, 3, 0, 3]
    assert found.incomplete == []


def made_by_threads(process: Process, first: bool, peers: bool) -> None:
    """Defines what two threads of a rank of two make at once, each from its own duplicate (3 and 4): the halves, and
    inter-communicators with one tag. first: the one of the first thread is defined first."""
    rank = process.rank or 0
    for thread in range(2):
        process.comm(3 + thread, "DUP", 1, 2, rank, serial=thread)
        process.comm(5 + thread, "SPLIT", 3 + thread, 1, 0, hash=rank)
        number, serial = (7, 0) if first == (thread == 0) else (8, 1)
        process.comm(number, "INTER_CREATE", 5 + thread, 1, 0, tag=99, hash=9, remote=1, serial=serial)
        if peers:
            process.definitions.comm_peers[number] = CommPeer(3 + thread, 1 - rank)


@pytest.mark.parametrize("orders", [(True, True), (True, False), (False, True)])
def test_inter_communicators_of_threads(orders: tuple[bool, bool]) -> None:
    """The two sides belong together by the peer communicator, in any order of the threads."""
    processes = world(2)
    for process, first in zip(processes, orders, strict=True):
        made_by_threads(process, first, peers=True)
    found = merge(processes, [0, 1])
    of_first = [int(ids[7 if first else 8]) for ids, first in zip(found.ids, orders, strict=True)]
    of_second = [int(ids[8 if first else 7]) for ids, first in zip(found.ids, orders, strict=True)]
    assert len({*of_first}) == len({*of_second}) == 1
    assert of_first != of_second
    assert found.incomplete == []


def test_inter_communicators_without_the_leaders() -> None:
    """Files of older versions, or of leaders that are missing: the order of the definitions counts."""
    processes = world(2)
    for process in processes:
        made_by_threads(process, True, peers=process.rank == 0)
    found = merge(processes, [0, 1])
    assert [found.ids[0][n] for n in (7, 8)] == [found.ids[1][n] for n in (7, 8)]
    assert len(found.comms) == 2 + 2 + 4 + 2


def test_inter_communicators_of_inter_communicators() -> None:
    """A second one between the duplicates of the sides of a first one; its peer communicator is merged from that."""
    processes = world(2)
    for process in processes:
        made_by_threads(process, process.rank == 0, peers=True)
        for thread, inter in enumerate((7, 8) if process.rank == 0 else (8, 7)):
            process.comm(9 + thread, "INTER_MERGE", inter, 2, process.rank or 0, hash=3)
            process.comm(11 + thread, "SPLIT", 9 + thread, 1, 0, hash=process.rank or 0)
            number = 13 + (thread ^ (process.rank or 0))
            process.comm(number, "INTER_CREATE", 11 + thread, 1, 0, tag=99, hash=9, remote=1, serial=number)
            process.definitions.comm_peers[number] = CommPeer(9 + thread, 1 - (process.rank or 0))
    found = merge(processes, [0, 1])
    assert found.ids[0][13] == found.ids[1][14] != found.ids[0][14] == found.ids[1][13]


def test_peers_that_do_not_fit() -> None:
    """A damaged file names peers that do not exist, that come later, or the same one three times."""
    processes = world(3)
    for process in processes:
        process.comm(3, "INTER_CREATE", 2, 1, 0, hash=9, remote=2)
        process.comm(4, "INTER_CREATE", 9, 1, 0, hash=9, remote=2, serial=1)
        process.definitions.comm_peers |= {3: CommPeer(1, process.rank or 0), 4: CommPeer(3, 1), 8: CommPeer(1, 1)}
        process.definitions.comm_peers[3] = CommPeer(4, 2**32 - 1)
    merge(processes, [0, 1, 2])


def test_parents_that_do_not_exist() -> None:
    processes = world(1)
    processes[0].comm(3, "DUP", 4, 1, 0, hash=1)
    processes[0].comm(4, "DUP", 3, 1, 0, hash=1)
    found = merge(processes, [0])
    assert [comm.parent for comm in found.comms] == [None, None, None, 2]


def test_impossible_size() -> None:
    processes = world(1)
    processes[0].comm(3, "SPLIT", 1, 2**32 - 1, 0)
    with pytest.raises(FormatError, match="4294967295"):
        merge(processes, [0])


def test_duplicates_have_the_members_of_what_they_double() -> None:
    """Duplicates write no members, even if another communicator has the same hash."""
    processes = world(3)
    for rank, process in enumerate(processes[:2]):
        process.comm(3, "CREATE", 1, 2, 1 - rank, hash=5)
        process.comm(4, "DUP", 3, 2, 1 - rank, hash=5)
        process.comm(5, "DUP", 4, 2, 1 - rank, hash=5)
    processes[1].members(3, 0, [1, 0])
    found = merge(processes, [0, 1, 2])
    assert [members(found, i) for i in (2, 3, 4)] == [[1, 0]] * 3
    assert len({comm.group for comm in found.comms[2:]}) == 1
    assert found.incomplete == []


def test_lists_are_known_by_their_hash() -> None:
    """A list of members, written for one communicator, applies to all with its hash, also without one member's
    files."""
    processes = world(3)
    for rank in (0, 1):
        processes[rank].comm(3, "CREATE", 1, 3, rank, hash=5)
        processes[rank].comm(4, "SPLIT", 1, 3, rank, hash=5)
    processes[0].members(3, 0, [0, 1, 2])
    found = merge(processes, [0, 1, 2])
    assert members(found, 2) == members(found, 3) == [0, 1, 2]
    assert found.incomplete == []


def two_worlds() -> tuple[list[Process], list[Process]]:
    """Ranks 0 and 1 of one world, and 2 to 4 of another."""
    parents = world(2)
    children = [Process(rank, 2 + rank, world=99) for rank in range(3)]
    for rank, process in enumerate(children):
        process.comm(1, "WORLD", None, 3, rank, hash=1)
    return parents, children


def across(sides: tuple[list[Process], list[Process]], number: int, kind: str, **identity: int) -> None:
    """Defines a communicator between two worlds. Rank 0 of each side writes its own members; the others are foreign."""
    for own, others in (sides, sides[::-1]):
        for rank, process in enumerate(own):
            process.comm(number, kind, None, len(own), rank, remote=len(others), **identity)
        own[0].members(number, 0, list(range(len(own))))
        own[0].members(number, 1, [-1] * len(others))


def test_spawned_world() -> None:
    sides = parents, children = two_worlds()
    across(sides, 5, "SPAWN", tag=77, hash=77)
    for side, own in enumerate(sides):
        for rank, process in enumerate(own):
            process.comm(6, "INTER_MERGE", 5, 5, 2 * side + rank, hash=77)
    found = merge([*parents, *children], [0, 1, 2, 3, 4])
    spawned, merged = (next(i for i, c in enumerate(found.comms) if c.name.startswith(name))
                       for name in ("MPI_Comm_spawn", "MPI_Intercomm_merge"))  # fmt: skip
    assert members(found, spawned) == members(found, merged) == [0, 1, 2, 3, 4]
    assert found.comms[spawned].flags == 0, "the children have no creation event"
    assert found.comms[merged].parent == spawned
    assert [int(table[5]) for table in found.peer_offsets] == [2, 2, 0, 0, 0]
    assert [comm.name for comm in found.comms].count("MPI_COMM_WORLD") == 2
    assert found.incomplete == []


def test_connections_between_worlds() -> None:
    """Calls of accept and connect on one port match in the order of their times, whatever the interleaving."""
    parents, children = two_worlds()
    for number, accepted, connected in ((5, 100, 203), (6, 200, 205)):
        for own, remote, time in ((parents, 3, accepted), (children, 2, connected)):
            for rank, process in enumerate(own):
                process.comm(number, "CONNECT", None, len(own), rank, remote=remote, tag=77, hash=77, serial=time)
    found = merge([*parents, *children], [0, 1, 2, 3, 4])
    assert len({int(table[5]) for table in found.ids}) == len({int(table[6]) for table in found.ids}) == 1
    both = [i for i, comm in enumerate(found.comms) if comm.name == "MPI_Comm_accept"]
    assert [members(found, i) for i in both] == [[0, 1, 2, 3, 4]] * 2
