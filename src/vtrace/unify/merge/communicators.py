# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of all processes become OTF2's: one per identity, with members, names and parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.archive.definitions import PARADIGM_MPI, UNDEFINED
from vtrace.io.archive.writer import Comm, Group
from vtrace.io.common.hashing import blake2b
from vtrace.io.common.interning import same_array
from vtrace.io.local.records import COMM_KINDS
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge import members
from vtrace.unify.merge.dedup import Firsts, first_told
from vtrace.unify.merge.members import Identity, Indices, Lists, Merged, Places
from vtrace.unify.model.process_definitions import ProcessDefinitions

Ids = np.ndarray[Any, np.dtype[np.uint32]]

_MOST_UNKNOWN = 1 << 20
"""Members of a communicator that may be processes of which there are no files."""
_MADE_BY = {
    "DUP": "MPI_Comm_dup", "SPLIT": "MPI_Comm_split", "CREATE": "MPI_Comm_create",
    "CREATE_GROUP": "MPI_Comm_create_group", "CART": "MPI_Cart_create", "CART_SUB": "MPI_Cart_sub",
    "GRAPH": "MPI_Graph_create", "INTER_CREATE": "MPI_Intercomm_create", "INTER_MERGE": "MPI_Intercomm_merge",
    "FROM_GROUP": "MPI_Comm_create_from_group", "SPAWN": "MPI_Comm_spawn", "CONNECT": "MPI_Comm_accept",
    "OTHER": "communicator", "PARTITIONED": "partitioned messages",
}  # fmt: skip
_WITHOUT_EVENTS = ("WORLD", "SELF", "OTHER", "SPAWN", "PARTITIONED")
"""Kinds of communicators whose making is no event, at least not for all of their members."""
_KIND_NAMES = {number: name for name, number in COMM_KINDS.items()}


class Member(Protocol):
    """What is needed of a process. number: its place among all processes; index: that among all MPI processes, None
    without MPI."""

    @property
    def number(self) -> int: ...
    @property
    def world(self) -> int: ...
    @property
    def index(self) -> int | None: ...
    @property
    def definitions(self) -> ProcessDefinitions: ...


class _KnownComm(Firsts[Identity, Merged]):
    def combine(self, one: Merged, other: Merged) -> Merged:
        one.name = first_told(one.name, other.name)
        return one


Table = dict[int, Identity]
"""A process's communicators by its own ids."""


@dataclass
class Communicators:
    """groups[0] lists all MPI processes; groups and comms are at rank 0. ids and peer_offsets are per process, indexed
    by its own comm ids.
    """

    groups: list[Group] = field(default_factory=list)
    comms: list[Comm] = field(default_factory=list)
    ids: list[Ids] = field(default_factory=list)
    peer_offsets: list[Ids] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def merge(
    processes: Sequence[Member], masters: Sequence[int], known: Mapping[tuple[int, int | None], int], ranks: Ranks
) -> Communicators:
    """Merges the communicators of all processes, each rank with its own, in the order of the archive.

    masters: the OTF2 location of the main thread of each MPI process, by its index; known: the index of each, by world
    and rank; both at rank 0 only. An inter-communicator becomes an ordinary one whose group is both groups, the one
    with the lowest process first; peer_offsets is what must be added to ranks in the remote group. Raises FormatError
    for impossible sizes.
    """
    result = Communicators()
    count = ranks.first(lambda: len(masters))
    if not count:
        none = np.empty(0, np.uint32)
        result.ids, result.peer_offsets = [none for _ in processes], [none for _ in processes]
        return result
    pairs = _connections(processes, ranks)
    own, tables = ranks.together(lambda: _identify(processes, pairs, count + _MOST_UNKNOWN))
    merged = dict(own.collect(ranks))
    indices = Indices(known)
    lists = ranks.reduce(_written(processes, tables), members.join_lists)
    wanted = ranks.first(lambda: members.fill_from_lists(merged, lists, indices))
    places = ranks.reduce(_places(processes, tables, wanted), members.join_places)
    if ranks.root:
        members.complete(merged, places, indices.count)
        result.groups.append(Group("COMM_LOCATIONS", PARADIGM_MPI, "", np.array(masters, np.uint64)))
        _define(merged, result)
    numbers = ranks.first(lambda: {identity: number for number, identity in enumerate(merged)})
    sides = ranks.first(
        lambda: {identity: (comm.first, comm.second) for identity, comm in merged.items() if comm.second}
    )
    for process, table in zip(processes, tables, strict=True):
        shifts = {local: _shift(sides.get(identity), process) for local, identity in table.items()}
        result.ids.append(_by_id({local: numbers[identity] for local, identity in table.items()}, UNDEFINED))
        result.peer_offsets.append(_by_id(shifts, 0))
    return result


def _by_id(numbers: Mapping[int, int], missing: int) -> Ids:
    found = np.full(max(numbers, default=0) + 1, missing, np.uint32)
    found[[*numbers]] = [*numbers.values()]
    return same_array(found)


def _written(processes: Sequence[Member], tables: Sequence[Table]) -> Lists:
    lists: Lists = {}
    for process, own in zip(processes, tables, strict=True):
        for of, more in members.written(process.number, process.definitions, own).items():
            lists.setdefault(of, []).extend(more)
    return members.join_lists({}, lists)


def _places(processes: Sequence[Member], tables: Sequence[Table], wanted: set[Identity]) -> Places:
    pairs = zip(processes, tables, strict=True)
    places = (members.places_in(p.number, p.index, p.definitions, own, wanted) for p, own in pairs)
    none: Places = {}
    return reduce(members.join_places, places, none)


def _identify(
    processes: Sequence[Member], pairs: Mapping[tuple[object, int], int], most: int
) -> tuple[_KnownComm, list[Table]]:
    """Equal (kind, parent, tag, hash, count) is the same communicator. Also each process's, by its own ids."""
    known = _KnownComm()
    tables: list[Table] = []
    identities: dict[tuple[object, ...], Identity] = {}
    for process in processes:
        own: Table = {}
        for local, comm in sorted(process.definitions.comms.items()):
            kind = _KIND_NAMES.get(comm.kind, "OTHER")
            parent = own.get(comm.parent) if comm.parent is not None else None  # parents have smaller ids
            serial = pairs.get((comm.tag, comm.serial), comm.serial) if kind == "CONNECT" else comm.serial
            key = (kind,) if kind == "SELF" else (kind, parent, comm.tag, comm.hash, serial)
            identity = identities.get(key)
            if identity is None:
                if max(comm.size, comm.remote) > most:
                    raise FormatError(f"a communicator of {comm.size} + {comm.remote} members", "a def file is damaged")
                identity = identities[key] = blake2b(repr(key).encode(), digest_size=16).digest()
            own[local] = identity
            name = process.definitions.comm_names.get(local)
            if name is not None or identity not in known:
                order = process.number, local
                told = None if name is None else (order, name)
                about = Merged(kind, parent, comm.hash, comm.size, comm.remote, process.world, told)
                known.add(identity, order, about)
        tables.append(own)
    return known, tables


def _connections(processes: Sequence[Member], ranks: Ranks) -> dict[tuple[object, int], int]:
    """Between worlds the sides of a connection know its port and when they met: by tag and time the time of both.

    The time of the side that accepted is even, that of the one that connected is odd.
    """
    own: dict[object, set[int]] = {}
    for process in processes:
        for comm in process.definitions.comms.values():
            if comm.kind == COMM_KINDS["CONNECT"] and comm.hash == comm.tag:
                own.setdefault(comm.tag, set()).add(comm.serial)
    times = ranks.reduce(own, _join_sets)
    return ranks.first(lambda: _pair(times))


def _join_sets(one: dict[object, set[int]], other: dict[object, set[int]]) -> dict[object, set[int]]:
    for tag, times in other.items():
        one.setdefault(tag, set()).update(times)
    return one


def _pair(times: dict[object, set[int]]) -> dict[tuple[object, int], int]:
    found = {}
    for tag, known in times.items():
        accepted, connected = (sorted(time for time in known if time % 2 == odd) for odd in (0, 1))
        if not connected:  # MPI_Comm_join has no such sides
            accepted, connected = accepted[::2], accepted[1::2]
        found.update({(tag, other): time for time, other in zip(accepted, connected, strict=False)})
    return found


def _define(merged: Mapping[Identity, Merged], result: Communicators) -> None:
    groups: dict[bytes, int] = {}
    numbers = {identity: number for number, identity in enumerate(merged)}
    for comm in merged.values():
        number = None if comm.parent is None else numbers[comm.parent]
        parent = None if number is None else result.comms[number].name
        name = comm.name[1] if comm.name and comm.name[1] else _default_name(comm.kind, parent)
        key = b"self" if comm.kind == "SELF" else comm.members.tobytes()
        if key not in groups:
            groups[key] = len(result.groups)
            kind = "COMM_SELF" if comm.kind == "SELF" else "COMM_GROUP"
            result.groups.append(Group(kind, PARADIGM_MPI, name, comm.members.astype(np.uint64)))
        flags = 0 if comm.kind in _WITHOUT_EVENTS else 1
        result.comms.append(Comm(name, groups[key], number, flags))
        if comm.incomplete:
            result.incomplete.append(name)


def _default_name(kind: str, parent: str | None) -> str:
    if kind in ("WORLD", "SELF"):
        return f"MPI_COMM_{kind}"
    return f"{_MADE_BY[kind]} of {parent}" if parent else _MADE_BY[kind]


def _shift(sides: tuple[frozenset[int], int] | None, process: Member) -> int:
    """0, or the size of the first group for a member of it: its peers stand behind that group."""
    return sides[1] if sides is not None and process.index in sides[0] else 0
