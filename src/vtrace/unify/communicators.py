# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of all processes become OTF2's: one per identity, with members, names and parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vtrace.errors import FormatError
from vtrace.io.archive import Comm, Group
from vtrace.io.records import COMM_KINDS
from vtrace.unify.definitions import Members, ProcessDefinitions

Ids = npt.NDArray[np.uint32]

UNDEFINED = 0xFFFFFFFF
_MPI = 4  # OTF2_PARADIGM_MPI
_MOST_UNKNOWN = 1 << 20
"""Members of a communicator that may be processes of which there are no files."""
_UNKNOWN = -1
_MADE_BY = {
    "DUP": "MPI_Comm_dup", "SPLIT": "MPI_Comm_split", "CREATE": "MPI_Comm_create",
    "CREATE_GROUP": "MPI_Comm_create_group", "CART": "MPI_Cart_create", "CART_SUB": "MPI_Cart_sub",
    "GRAPH": "MPI_Graph_create", "INTER_CREATE": "MPI_Intercomm_create", "INTER_MERGE": "MPI_Intercomm_merge",
    "OTHER": "communicator",
}  # fmt: skip
_KIND_NAMES = {number: name for name, number in COMM_KINDS.items()}


class Member(Protocol):
    """What is needed of a process. index: its place among all MPI processes, None without MPI."""

    @property
    def world(self) -> int: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def index(self) -> int | None: ...
    @property
    def definitions(self) -> ProcessDefinitions: ...


@dataclass
class _Merged:
    """One communicator of the whole run and the (process, its id) that know it, in order of processes."""

    kind: str
    parent: int | None
    size: int
    remote: int
    known_to: list[tuple[Member, int]] = field(default_factory=list)
    name: str | None = None
    members: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    first: frozenset[int] = frozenset()
    second: int = 0
    incomplete: bool = False


@dataclass
class Communicators:
    """groups[0] lists all MPI processes; ids and peer_offsets are per process, indexed by its own comm ids."""

    groups: list[Group] = field(default_factory=list)
    comms: list[Comm] = field(default_factory=list)
    ids: list[Ids] = field(default_factory=list)
    peer_offsets: list[Ids] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def merge(processes: Sequence[Member], masters: Sequence[int]) -> Communicators:
    """Merges the communicators of processes, which stand in the order of the archive.

    masters: the OTF2 location of the main thread of each MPI process, by its index. An inter-communicator
    becomes an ordinary one whose group is both groups, the one with the lowest process first; peer_offsets is
    what must be added to ranks in the remote group. Raises FormatError for impossible sizes.
    """
    result = Communicators()
    if not masters:
        none = np.empty(0, np.uint32)
        result.ids, result.peer_offsets = [none for _ in processes], [none for _ in processes]
        return result
    merged, ids = _identify(processes)
    indices = {(p.world, p.rank): p.index for p in processes if p.index is not None}
    for comm in merged:
        parent = merged[comm.parent].members if comm.parent is not None else np.arange(len(masters))
        _collect(comm, indices, parent)
    result.groups.append(Group("COMM_LOCATIONS", _MPI, "", np.array(masters, np.uint64)))
    _define(merged, result)
    for process, own in zip(processes, ids, strict=True):
        table = np.full(max(own, default=0) + 1, UNDEFINED, np.uint32)
        offsets = np.zeros(len(table), np.uint32)
        for local, number in own.items():
            table[local] = number
            offsets[local] = _peer_offset(merged[number], process)
        result.ids.append(table)
        result.peer_offsets.append(offsets)
    return result


def _identify(processes: Sequence[Member]) -> tuple[list[_Merged], list[dict[int, int]]]:
    """Equal (kind, parent, tag, hash, count) is the same communicator; numbered as they first appear."""
    merged: list[_Merged] = []
    numbers: dict[tuple[object, ...], int] = {}
    tables: list[dict[int, int]] = []
    most = sum(process.index is not None for process in processes) + _MOST_UNKNOWN
    for process in processes:
        own: dict[int, int] = {}
        for local, comm in sorted(process.definitions.comms.items()):
            kind = _KIND_NAMES.get(comm.kind, "OTHER")
            parent = own.get(comm.parent) if comm.parent is not None else None  # parents have smaller ids
            key = (kind,) if kind == "SELF" else (kind, parent, comm.tag, comm.hash, comm.serial)
            if key not in numbers:
                if max(comm.size, comm.remote) > most:
                    raise FormatError(f"a communicator of {comm.size} + {comm.remote} members", "a def file is damaged")
                numbers[key] = len(merged)
                merged.append(_Merged(kind, parent, comm.size, comm.remote))
            own[local] = numbers[key]
            known = merged[own[local]]
            known.known_to.append((process, local))
            known.name = known.name or process.definitions.comm_names.get(local)
        tables.append(own)
    return merged, tables


Indices = dict[tuple[int, int | None], int]


def _collect(comm: _Merged, indices: Indices, parent: npt.NDArray[np.int64]) -> None:
    """Finds the members: from the lists that comm rank 0 wrote, else from what each process says of itself."""
    if comm.kind == "SELF":
        return
    if comm.remote:
        _collect_inter(comm, indices)
    else:
        comm.members = _listed(comm, indices, 0, comm.size)
        for process, local in comm.known_to:
            _place(comm.members, process, local)
        if comm.kind == "WORLD":
            world = comm.known_to[0][0].world
            for rank in np.flatnonzero(comm.members == _UNKNOWN):
                comm.members[rank] = _index(indices, world, int(rank))
    gaps = np.flatnonzero(comm.members == _UNKNOWN)
    if len(gaps):
        comm.incomplete = True
        free = np.setdiff1d(parent, comm.members)[: len(gaps)]
        comm.members[gaps] = np.concatenate([free, np.zeros(len(gaps) - len(free), np.int64)])


def _collect_inter(comm: _Merged, indices: Indices) -> None:
    """Both groups; the one with the lowest process comes first, whoever wrote the lists."""
    sides = [np.empty(0, np.int64), np.empty(0, np.int64)]
    for process, local in comm.known_to:
        mine = process.definitions.comms[local]
        lists = process.definitions.members
        if (local, 0) in lists and (local, 1) in lists:
            sides = [_filled(lists[local, s], n, indices) for s, n in ((0, mine.size), (1, mine.remote))]
            break
    else:
        sides = [np.full(comm.size, _UNKNOWN), np.full(comm.remote, _UNKNOWN)]
        for process, local in comm.known_to:
            mine = process.definitions.comms[local]
            fits = len(sides[0]) == mine.size and mine.rank < mine.size and sides[0][mine.rank] == _UNKNOWN
            _place(sides[0 if fits else 1], process, local)
    sides.sort(key=lambda side: min((int(i) for i in side if i != _UNKNOWN), default=len(indices)))
    comm.first, comm.second = frozenset(sides[0].tolist()), len(sides[0])
    comm.members = np.concatenate(sides)


def _listed(comm: _Merged, indices: Indices, side: int, size: int) -> npt.NDArray[np.int64]:
    for process, local in comm.known_to:
        if pieces := process.definitions.members.get((local, side)):
            return _filled(pieces, size, indices)
    return np.full(size, _UNKNOWN)


def _filled(pieces: list[Members], size: int, indices: Indices) -> npt.NDArray[np.int64]:
    members = np.full(size, _UNKNOWN)
    for piece in pieces:
        ranks = np.frombuffer(piece.ranks[: len(piece.ranks) // 4 * 4], "<u4")[: max(0, size - piece.first)]
        members[piece.first : piece.first + len(ranks)] = [_index(indices, piece.world, int(r)) for r in ranks]
    return members


def _index(indices: Indices, world: int, rank: int) -> int:
    return indices.get((world, rank), _UNKNOWN)


def _place(members: npt.NDArray[np.int64], process: Member, local: int) -> None:
    rank = process.definitions.comms[local].rank
    if rank < len(members) and members[rank] == _UNKNOWN and process.index is not None:
        members[rank] = process.index


def _define(merged: list[_Merged], result: Communicators) -> None:
    groups: dict[bytes, int] = {}
    for comm in merged:
        parent = None if comm.parent is None else result.comms[comm.parent].name
        name = comm.name or _default_name(comm.kind, parent)
        key = b"self" if comm.kind == "SELF" else comm.members.tobytes()
        if key not in groups:
            groups[key] = len(result.groups)
            kind = "COMM_SELF" if comm.kind == "SELF" else "COMM_GROUP"
            result.groups.append(Group(kind, _MPI, name, comm.members.astype(np.uint64)))
        flags = 0 if comm.kind in ("WORLD", "SELF", "OTHER") else 1
        result.comms.append(Comm(name, groups[key], comm.parent, flags))
        if comm.incomplete:
            result.incomplete.append(name)


def _default_name(kind: str, parent: str | None) -> str:
    if kind in ("WORLD", "SELF"):
        return f"MPI_COMM_{kind}"
    return f"{_MADE_BY[kind]} of {parent}" if parent else _MADE_BY[kind]


def _peer_offset(comm: _Merged, process: Member) -> int:
    """0, or the size of the first group for a member of it: its peers stand behind that group."""
    return comm.second if process.index in comm.first else 0
