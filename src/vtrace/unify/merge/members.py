# SPDX-License-Identifier: BSD-3-Clause
"""The members of communicators, from the lists that some members wrote, else from each process's own rank."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.unify.merge.steps import GivenName
from vtrace.unify.model.process_definitions import CommGrid, ProcessDefinitions
from vtrace.unify.model.process_definitions import CommMembers as Piece
from vtrace.unify.model.process_definitions import LocalComm as Known

Identity = bytes
RankArray = np.ndarray[Any, np.dtype[np.int64]]
_UNKNOWN = -1
_NOBODY = 0xFFFFFFFF
"""Entry of a list for a process of another world, which the writer of the list does not know."""


@dataclass(kw_only=True)
class MergedComm:
    """One communicator of the whole run.

    world: the random number of the members' MPI_COMM_WORLD; members: indices among all MPI processes; first, second: of
    an inter-communicator, its first group and the size of that.
    """

    kind: str
    parent: Identity | None
    hash: int
    size: int
    remote: int
    world: int
    name: GivenName = None
    grid: CommGrid | None = None
    """The shape of a grid, if a member with a file knows it."""
    members: RankArray = field(default_factory=lambda: np.empty(0, np.int64))
    sides: list[RankArray] = field(default_factory=list)
    """The groups while their members are collected: one group, or two of an inter-communicator."""
    first: frozenset[int] = frozenset()
    second: int = 0
    incomplete: bool = False

    @property
    def open(self) -> bool:
        """True if some members are still unknown."""
        return any(bool(np.any(side == _UNKNOWN)) for side in self.sides)


@dataclass
class WrittenMembers:
    """The members of a communicator, as written by one of them. pieces: of the writer's group and the other group."""

    order: tuple[int, int]
    comm: Identity
    sizes: tuple[int, int]
    pieces: tuple[list[Piece], list[Piece]]

    @property
    def whole(self) -> bool:
        """True if the list has all members."""
        known = [_numbers(piece) for pieces in self.pieces for piece in pieces]
        return sum(map(len, known)) == sum(self.sizes) and not any(np.any(part == _NOBODY) for part in known)


Set = tuple[int, int, int]
"""Hash and sizes, equal for communicators with the same members; only one of several equal lists is written."""
Lists = dict[Set, list[WrittenMembers]]
OwnPlaces = dict[Identity, list[tuple[int, int, int, int]]]
"""The processes' own places: number of the process, size of its group, rank in the group, index."""


def set_of(comm: MergedComm | Known) -> Set:
    """Returns the hash and the sizes of a communicator."""
    return comm.hash, min(comm.size, comm.remote), max(comm.size, comm.remote)


def written(number: int, definitions: ProcessDefinitions, own: Mapping[int, Identity]) -> Lists:
    """Returns the lists of a process; own: its communicators by local id."""
    found: Lists = {}
    for local, side in sorted(definitions.members):
        comm = definitions.comms.get(local)
        if side == 0 and comm is not None:
            pieces = definitions.members[local, 0], definitions.members.get((local, 1), [])
            one = WrittenMembers((number, local), own[local], (comm.size, comm.remote), pieces)
            found.setdefault(set_of(comm), []).append(one)
    return found


def join_lists(one: Lists, other: Lists) -> Lists:
    """Returns the lists of both, without further lists of a communicator with a complete list; changes one."""
    for key, more in other.items():
        lists = sorted([*one.get(key, []), *more], key=lambda each: each.order)
        whole: dict[Identity, WrittenMembers] = {}
        for each in lists:
            if each.whole:
                whole.setdefault(each.comm, each)
        one[key] = [each for each in lists if whole.get(each.comm, each) is each]
    return one


def join_places(one: OwnPlaces, other: OwnPlaces) -> OwnPlaces:
    """Returns the places of both; changes one."""
    for identity, places in other.items():
        one.setdefault(identity, []).extend(places)
    return one


class Indices:
    """The index of each MPI process, by its world and rank."""

    def __init__(self, known: Mapping[tuple[int, int | None], int]) -> None:
        self.count = len(known)
        self._worlds: dict[int, RankArray] = {}
        for world in {world for world, _ in known}:
            ranks = {rank: index for (one, rank), index in known.items() if one == world and rank is not None}
            table = self._worlds[world] = np.full(max(ranks) + 1, _UNKNOWN)
            table[[*ranks]] = [*ranks.values()]

    def of(self, world: int, ranks: RankArray) -> RankArray:
        """Returns the indices of ranks of a world; _UNKNOWN for missing processes."""
        table = self._worlds.get(world, np.empty(0, np.int64))
        found = np.full(len(ranks), _UNKNOWN)
        there = ranks < len(table)
        found[there] = table[ranks[there]]
        return found


def fill_from_lists(merged: Mapping[Identity, MergedComm], lists: Lists, indices: Indices) -> set[Identity]:
    """Fills the groups of all communicators except duplicates; returns communicators with unknown members."""
    for identity, comm in merged.items():
        if comm.kind == "SELF" or _copies(comm, merged):
            continue
        of_set = lists.get(set_of(comm), [])
        own = [one for one in of_set if one.comm == identity]
        comm.sides = [np.full(comm.size, _UNKNOWN)] + ([np.full(comm.remote, _UNKNOWN)] if comm.remote else [])
        for one in own or of_set:
            pair = [_listed(pieces, size, indices) for pieces, size in zip(one.pieces, one.sizes, strict=True)]
            if comm.remote:
                _join(comm.sides, pair)
            elif len(pair[0]) == comm.size:
                _fill(comm.sides[0], pair[0])
        if comm.kind == "WORLD":
            _fill(comm.sides[0], indices.of(comm.world, np.arange(comm.size)))
    return {identity for identity, comm in merged.items() if comm.open}


ALIKE = ("DUP", "PARTITIONED")
"""Kinds of communicators with the members of their parent."""


def _copies(comm: MergedComm, merged: Mapping[Identity, MergedComm]) -> bool:
    """Returns True if the communicator has the members of its parent. MPI_COMM_SELF is one communicator for all
    processes and has no list; each process has its own duplicates of it."""
    parent = None if comm.parent is None else merged.get(comm.parent)
    return comm.kind in ALIKE and parent is not None and parent.kind != "SELF"


def places_in(
    number: int, index: int | None, definitions: ProcessDefinitions, own: Mapping[int, Identity],
    *, wanted: Collection[Identity],
) -> OwnPlaces:  # fmt: skip
    """Returns the place of a process in the wanted communicators; own: its communicators by local id."""
    found: OwnPlaces = {}
    for local, identity in own.items():
        if identity in wanted and index is not None:
            comm = definitions.comms[local]
            found.setdefault(identity, []).append((number, comm.size, comm.rank, index))
    return found


def complete(merged: Mapping[Identity, MergedComm], places: OwnPlaces, count: int) -> None:
    """Finds the members that no list has; count: number of MPI processes."""
    for identity, comm in merged.items():
        if comm.kind == "SELF":
            continue
        parent = None if comm.parent is None else merged[comm.parent]
        if parent is not None and _copies(comm, merged):
            comm.members, comm.first, comm.second = parent.members, parent.first, parent.second
            comm.incomplete = parent.incomplete
            continue
        _place(comm, sorted(places.get(identity, [])))
        if comm.remote:
            comm.sides.sort(key=lambda side: min((int(i) for i in side if i != _UNKNOWN), default=count))
            comm.first, comm.second = frozenset(comm.sides[0].tolist()), len(comm.sides[0])
        comm.members = np.concatenate(comm.sides)
        comm.sides = []
        gaps = np.flatnonzero(comm.members == _UNKNOWN)
        if len(gaps):
            comm.incomplete = True
            among = parent.members if parent is not None and parent.kind != "SELF" else np.arange(count)
            free = np.setdiff1d(among, comm.members)[: len(gaps)]
            comm.members[gaps] = np.concatenate([free, np.zeros(len(gaps) - len(free), np.int64)])


def _place(comm: MergedComm, places: Sequence[tuple[int, int, int, int]]) -> None:
    """Enters each process at its own place. A process knows only its own side of an inter-communicator."""
    if not comm.remote:
        (members,) = comm.sides
        for _, _, rank, index in places:
            if rank < len(members) and members[rank] == _UNKNOWN:
                members[rank] = index
        return
    for _, size, rank, index in places:
        open_ = [side for side in comm.sides if len(side) == size and rank < size and side[rank] == _UNKNOWN]
        if open_ and not any(index in side for side in comm.sides):
            open_[0][rank] = index


def _join(sides: list[RankArray], pair: list[RankArray]) -> None:
    """Adds the members that one side knows to sides, in the order without a contradiction."""
    for order in (pair, pair[::-1]):
        if all(map(_agree, sides, order)):
            for side, more in zip(sides, order, strict=True):
                _fill(side, more)
            return


def _agree(a: RankArray, b: RankArray) -> bool:
    return len(a) == len(b) and bool(np.all((a == b) | (a == _UNKNOWN) | (b == _UNKNOWN)))


def _fill(members: RankArray, more: RankArray) -> None:
    np.copyto(members, more, where=members == _UNKNOWN)


def _listed(pieces: Sequence[Piece], size: int, indices: Indices) -> RankArray:
    """Returns the members of one side, as written by a process; _UNKNOWN for members that the process did not know."""
    members = np.full(size, _UNKNOWN)
    for piece in pieces:
        ranks = _numbers(piece)[: max(0, size - piece.first)]
        members[piece.first : piece.first + len(ranks)] = indices.of(piece.world, ranks)
    return members


def _numbers(piece: Piece) -> RankArray:
    return np.frombuffer(piece.ranks[: len(piece.ranks) // 4 * 4], "<u4").astype(np.int64)
