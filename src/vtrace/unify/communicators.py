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
from vtrace.unify.definitions import Comm as Known
from vtrace.unify.definitions import ProcessDefinitions

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
    "FROM_GROUP": "MPI_Comm_create_from_group", "SPAWN": "MPI_Comm_spawn", "CONNECT": "MPI_Comm_accept",
    "OTHER": "communicator",
}  # fmt: skip
_WITHOUT_EVENTS = ("WORLD", "SELF", "OTHER", "SPAWN")
"""Kinds of communicators whose making is no event, at least not for all of their members."""
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
    hash: int
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
    lists = _lists(processes)
    for comm in merged:
        _collect(comm, merged, lists.get(_set(comm), []), indices)
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
    connections = _connections(processes)
    tables: list[dict[int, int]] = []
    most = sum(process.index is not None for process in processes) + _MOST_UNKNOWN
    for process in processes:
        own: dict[int, int] = {}
        for local, comm in sorted(process.definitions.comms.items()):
            kind = _KIND_NAMES.get(comm.kind, "OTHER")
            parent = own.get(comm.parent) if comm.parent is not None else None  # parents have smaller ids
            serial = connections.get((comm.tag, comm.serial), comm.serial) if kind == "CONNECT" else comm.serial
            key = (kind,) if kind == "SELF" else (kind, parent, comm.tag, comm.hash, serial)
            if key not in numbers:
                if max(comm.size, comm.remote) > most:
                    raise FormatError(f"a communicator of {comm.size} + {comm.remote} members", "a def file is damaged")
                numbers[key] = len(merged)
                merged.append(_Merged(kind, parent, comm.hash, comm.size, comm.remote))
            own[local] = numbers[key]
            known = merged[own[local]]
            known.known_to.append((process, local))
            known.name = known.name or process.definitions.comm_names.get(local)
        tables.append(own)
    return merged, tables


def _connections(processes: Sequence[Member]) -> dict[tuple[object, int], int]:
    """Between worlds the sides of a connection know its port and when they met: by tag and time the time of both.

    The time of the side that accepted is even, that of the one that connected is odd.
    """
    times: dict[object, set[int]] = {}
    for process in processes:
        for comm in process.definitions.comms.values():
            if comm.kind == COMM_KINDS["CONNECT"] and comm.hash == comm.tag:
                times.setdefault(comm.tag, set()).add(comm.serial)
    found = {}
    for tag, known in times.items():
        accepted, connected = (sorted(time for time in known if time % 2 == odd) for odd in (0, 1))
        if not connected:  # MPI_Comm_join has no such sides
            accepted, connected = accepted[::2], accepted[1::2]
        found.update({(tag, other): time for time, other in zip(accepted, connected, strict=False)})
    return found


Indices = dict[tuple[int, int | None], int]
Ranks = npt.NDArray[np.int64]
Writer = tuple[Member, int]
"""A process, and its number of a communicator whose members it has written."""


def _set(comm: _Merged | Known) -> tuple[int, int, int]:
    """What communicators of the same members have in common."""
    return comm.hash, min(comm.size, comm.remote), max(comm.size, comm.remote)


def _lists(processes: Sequence[Member]) -> dict[tuple[int, int, int], list[Writer]]:
    """Who has written the members of which communicators: equal lists are written once."""
    found: dict[tuple[int, int, int], list[Writer]] = {}
    for process in processes:
        for local, side in sorted(process.definitions.members):
            comm = process.definitions.comms.get(local)
            if side == 0 and comm is not None:
                found.setdefault(_set(comm), []).append((process, local))
    return found


def _collect(comm: _Merged, merged: list[_Merged], lists: list[Writer], indices: Indices) -> None:
    """Finds the members: those of what it is a duplicate of; from lists that rank 0 wrote; else from what each process
    says of itself.
    """
    if comm.kind == "SELF":
        return
    parent = None if comm.parent is None else merged[comm.parent]
    if comm.kind == "DUP" and parent is not None:
        comm.members, comm.first, comm.second = parent.members, parent.first, parent.second
        comm.incomplete = parent.incomplete
        return
    own = [(process, local) for process, local in comm.known_to if (local, 0) in process.definitions.members]
    if comm.remote:
        _collect_inter(comm, own or lists, indices)
    else:
        comm.members = np.full(comm.size, _UNKNOWN)
        for process, local in own or lists:
            _fill(comm.members, _written(process, local, 0, comm.size, indices))
        _place(comm.members, comm.known_to)
        if comm.kind == "WORLD":
            world = comm.known_to[0][0].world
            for rank in np.flatnonzero(comm.members == _UNKNOWN):
                comm.members[rank] = _index(indices, world, int(rank))
    gaps = np.flatnonzero(comm.members == _UNKNOWN)
    if len(gaps):
        comm.incomplete = True
        among = parent.members if parent is not None else np.arange(len(indices))
        free = np.setdiff1d(among, comm.members)[: len(gaps)]
        comm.members[gaps] = np.concatenate([free, np.zeros(len(gaps) - len(free), np.int64)])


def _collect_inter(comm: _Merged, lists: list[Writer], indices: Indices) -> None:
    """Both groups; the one with the lowest process comes first, whoever wrote the lists. Between worlds each side knows
    only its own members.
    """
    mine = comm.known_to[0][0].definitions.comms[comm.known_to[0][1]]
    sides = [np.full(mine.size, _UNKNOWN), np.full(mine.remote, _UNKNOWN)]
    for process, local in lists:
        known = process.definitions.comms[local]
        pair = [_written(process, local, side, n, indices) for side, n in ((0, known.size), (1, known.remote))]
        _join(sides, pair)
    for process, local in comm.known_to if any(np.any(side == _UNKNOWN) for side in sides) else []:
        mine = process.definitions.comms[local]
        open_ = [s for s in sides if len(s) == mine.size and mine.rank < mine.size and s[mine.rank] == _UNKNOWN]
        if process.index is not None and process.index not in np.concatenate(sides) and open_:
            open_[0][mine.rank] = process.index
    sides.sort(key=lambda side: min((int(i) for i in side if i != _UNKNOWN), default=len(indices)))
    comm.first, comm.second = frozenset(sides[0].tolist()), len(sides[0])
    comm.members = np.concatenate(sides)


def _join(sides: list[Ranks], pair: list[Ranks]) -> None:
    """Adds what the pair of one side knows to sides, in the order that contradicts nothing."""
    for order in (pair, pair[::-1]):
        if all(map(_agree, sides, order)):
            for side, more in zip(sides, order, strict=True):
                _fill(side, more)
            return


def _agree(a: Ranks, b: Ranks) -> bool:
    return len(a) == len(b) and bool(np.all((a == b) | (a == _UNKNOWN) | (b == _UNKNOWN)))


def _fill(members: Ranks, more: Ranks) -> None:
    np.copyto(members, more, where=members == _UNKNOWN)


def _written(process: Member, local: int, side: int, size: int, indices: Indices) -> Ranks:
    """The members of one side as a process has written them, as far as it knew them."""
    members = np.full(size, _UNKNOWN)
    for piece in process.definitions.members.get((local, side), []):
        ranks = np.frombuffer(piece.ranks[: len(piece.ranks) // 4 * 4], "<u4")[: max(0, size - piece.first)]
        members[piece.first : piece.first + len(ranks)] = [_index(indices, piece.world, int(r)) for r in ranks]
    return members


def _index(indices: Indices, world: int, rank: int) -> int:
    return indices.get((world, rank), _UNKNOWN)


def _place(members: Ranks, known_to: list[Writer]) -> None:
    """What is still unknown: each process knows its own place."""
    if not np.any(members == _UNKNOWN):
        return
    for process, local in known_to:
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
        flags = 0 if comm.kind in _WITHOUT_EVENTS else 1
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
