# SPDX-License-Identifier: BSD-3-Clause
"""Turns communicators of all processes into OTF2 definitions: one for each identity, with members, name and parent."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.archive.definitions import PARADIGM_MPI, Grid
from vtrace.io.archive.writer import Comm, Definitions, Group
from vtrace.io.local.records import COMM_KINDS
from vtrace.unify.merge import members
from vtrace.unify.merge.comm_identity import KIND_NAMES, CommTable, ConnectionPairs, Identifier, parent_of
from vtrace.unify.merge.members import Identity, Indices, Lists, MergedComm, OwnPlaces
from vtrace.unify.merge.steps import MapsBuilder, MergedDefinitions, first_name, numbered
from vtrace.unify.model.id_tables import table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import CommGrid

_MOST_DIMENSIONS = 32
_MOST_UNKNOWN = 1 << 20
"""Maximum number of members of a communicator without files."""
_MADE_BY = {
    "DUP": "MPI_Comm_dup", "SPLIT": "MPI_Comm_split", "CREATE": "MPI_Comm_create",
    "CREATE_GROUP": "MPI_Comm_create_group", "CART": "MPI_Cart_create", "CART_SUB": "MPI_Cart_sub",
    "GRAPH": "MPI_Graph_create", "INTER_CREATE": "MPI_Intercomm_create", "INTER_MERGE": "MPI_Intercomm_merge",
    "FROM_GROUP": "MPI_Comm_create_from_group", "SPAWN": "MPI_Comm_spawn", "CONNECT": "MPI_Comm_accept",
    "OTHER": "communicator", "PARTITIONED": "partitioned messages",
}  # fmt: skip
_WITHOUT_EVENTS = ("WORLD", "SELF", "OTHER", "SPAWN", "PARTITIONED")
"""Kinds of communicators without a creation event on all of their members."""


class _KnownComm(MergedDefinitions[Identity, MergedComm]):
    def combine(self, one: MergedComm, other: MergedComm) -> MergedComm:
        one.name = first_name(one.name, other.name)
        one.grid = one.grid or other.grid
        return one


_Known = MergedDefinitions[Identity, MergedComm]
Times = dict[object, set[int]]
"""Times at which sides of connections met, by the tag of the port."""


@dataclass(frozen=True)
class MpiProcesses:
    """The MPI processes of the run. All ranks have count; only rank 0 has the other fields."""

    count: int
    masters: Sequence[int]
    """The OTF2 location of each process's main thread, by its index."""
    indices: Mapping[tuple[int, int | None], int]
    """The index of each process, by its world and rank."""


class Numbering(NamedTuple):
    """The OTF2 ids of communicators. sides: of inter-communicators, the first group and its size."""

    numbers: dict[Identity, int]
    sides: dict[Identity, tuple[frozenset[int], int]]


class _OwnComms(NamedTuple):
    """The identities of a process's communicators, by its own ids."""

    builder: MapsBuilder
    identities: CommTable


class ConnectionStep:
    """First step: the two sides of each connection between worlds.

    A side has the port and the time of the connection. The time of the accepting side is even, that of the connecting
    side is odd. The decision is the time of one side by tag and time of the other.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    def contribute(self) -> Times:
        own: Times = {}
        for process in self._processes:
            for comm in process.definitions.comms.values():
                if comm.kind == COMM_KINDS["CONNECT"] and comm.hash == comm.tag:
                    own.setdefault(comm.tag, set()).add(comm.serial)
        return own

    def join(self, one: Times, other: Times) -> Times:
        for tag, times in other.items():
            one.setdefault(tag, set()).update(times)
        return one

    def decide(self, everyone: Times) -> ConnectionPairs:
        found = {}
        for tag, known in everyone.items():
            accepted, connected = (sorted(time for time in known if time % 2 == odd) for odd in (0, 1))
            if not connected:  # MPI_Comm_join has no accepting and connecting sides
                accepted, connected = accepted[::2], accepted[1::2]
            found.update({(tag, other): time for time, other in zip(accepted, connected, strict=False)})
        return found


class IdentityStep:
    """Step after those of comm_identity: the communicators, and the members that lists of some processes name.

    The decision is the set of communicators with unknown members. Raises FormatError for impossible sizes.
    """

    def __init__(self, builders: Sequence[MapsBuilder], identifier: Identifier, world: MpiProcesses) -> None:
        self._builders, self._identifier, self._world = builders, identifier, world
        self.own: list[_OwnComms] = []
        """Those of this rank's processes."""
        self.merged: dict[Identity, MergedComm] = {}
        """On rank 0: the communicators of all processes, in their order."""

    def contribute(self) -> tuple[_Known, Lists]:
        known, self.own = _identify(self._builders, self._identifier, self._world.count + _MOST_UNKNOWN)
        return known, _written(self.own)

    def join(self, one: tuple[_Known, Lists], other: tuple[_Known, Lists]) -> tuple[_Known, Lists]:
        return one[0].join(other[0]), members.join_lists(one[1], other[1])

    def decide(self, everyone: tuple[_Known, Lists]) -> set[Identity]:
        known, lists = everyone
        self.merged = dict(known.in_order())
        return members.fill_from_lists(self.merged, lists, Indices(self._world.indices))


class MemberStep:
    """Last step: each process contributes its place in communicators with unknown members; defines all communicators.

    An inter-communicator becomes an ordinary one with the members of both groups; the group with the lowest process
    comes first.
    """

    def __init__(
        self, identities: IdentityStep, unknown: set[Identity], world: MpiProcesses, definitions: Definitions
    ) -> None:
        self._identities, self._unknown = identities, unknown
        self._world, self._definitions = world, definitions
        self.incomplete: list[str] = []
        """On rank 0: names of communicators with unknown members."""

    def contribute(self) -> OwnPlaces:
        return _places(self._identities.own, self._unknown)

    def join(self, one: OwnPlaces, other: OwnPlaces) -> OwnPlaces:
        return members.join_places(one, other)

    def decide(self, everyone: OwnPlaces) -> Numbering:
        merged, definitions = self._identities.merged, self._definitions
        members.complete(merged, everyone, self._world.count)
        masters = np.array(self._world.masters, np.uint64)
        definitions.comm_groups.append(Group("COMM_LOCATIONS", PARADIGM_MPI, "", masters))
        _define(merged, definitions)
        self.incomplete = [definitions.comms[n].name for n, comm in enumerate(merged.values()) if comm.incomplete]
        sides = {identity: (comm.first, comm.second) for identity, comm in merged.items() if comm.second}
        return Numbering(numbered([*merged]), sides)

    def fill(self, numbering: Numbering) -> None:
        """Sets the communicators of this rank's processes."""
        for own in self._identities.own:
            index, maps = own.builder.process.place.index, own.builder.maps
            shifts = {local: _shift(numbering.sides.get(comm), index) for local, comm in own.identities.items()}
            ids = {local: numbering.numbers[identity] for local, identity in own.identities.items()}
            maps.comms, maps.comm_peer_offset = table(ids), table(shifts)


def _written(everyone: Sequence[_OwnComms]) -> Lists:
    lists: Lists = {}
    for own in everyone:
        process = own.builder.process
        for of, more in members.written(process.number, process.definitions, own.identities).items():
            lists.setdefault(of, []).extend(more)
    return members.join_lists({}, lists)


def _places(everyone: Sequence[_OwnComms], wanted: set[Identity]) -> OwnPlaces:
    found: OwnPlaces = {}
    for own in everyone:
        process = own.builder.process
        places = members.places_in(
            process.number, process.place.index, definitions=process.definitions, own=own.identities, wanted=wanted
        )
        members.join_places(found, places)
    return found


def _identify(builders: Sequence[MapsBuilder], identifier: Identifier, most: int) -> tuple[_Known, list[_OwnComms]]:
    """Returns the distinct communicators of this rank's processes, and those of each process."""
    known = _KnownComm()
    found: list[_OwnComms] = []
    for builder in builders:
        process = builder.process
        own, _ = identifier.identify(process.definitions)
        for local, identity in own.items():
            comm = process.definitions.comms[local]
            if identity not in known and max(comm.size, comm.remote) > most:
                raise FormatError(f"a communicator of {comm.size} + {comm.remote} members", "a def file is damaged")
            name = process.definitions.comm_names.get(local)
            grid = process.definitions.grids.get(local)
            if name is not None or grid is not None or identity not in known:
                order = process.number, local
                given = None if name is None else (order, name)
                kind = KIND_NAMES.get(comm.kind, "OTHER")
                about = MergedComm(
                    kind=kind,
                    parent=parent_of(own, local, comm),
                    hash=comm.hash,
                    size=comm.size,
                    remote=comm.remote,
                    world=process.world,
                    name=given,
                    grid=grid,
                )
                known.add(identity, order, about)
        found.append(_OwnComms(builder, own))
    return known, found


def _define(merged: Mapping[Identity, MergedComm], definitions: Definitions) -> None:
    """Adds all communicators and the groups of their members to the archive's definitions."""
    groups: dict[bytes, int] = {}
    numbers = numbered([*merged])
    for comm in merged.values():
        number = None if comm.parent is None else numbers[comm.parent]
        parent = None if number is None else definitions.comms[number].name
        name = comm.name[1] if comm.name and comm.name[1] else _default_name(comm.kind, parent)
        key = b"self" if comm.kind == "SELF" else comm.members.tobytes()
        if key not in groups:
            groups[key] = len(definitions.comm_groups)
            kind = "COMM_SELF" if comm.kind == "SELF" else "COMM_GROUP"
            definitions.comm_groups.append(Group(kind, PARADIGM_MPI, name, comm.members.astype(np.uint64)))
        flags = 0 if comm.kind in _WITHOUT_EVENTS else 1
        definitions.comms.append(Comm(name, groups[key], number, flags))
    definitions.grids = _grids(merged, definitions.comms)


def _grids(merged: Mapping[Identity, MergedComm], comms: Sequence[Comm]) -> list[Grid]:
    """The grids of communicators; among communicators with equal members and shapes only the first one has a grid,
    since each grid has a definition for each of its members."""
    found: dict[tuple[int, CommGrid], Grid] = {}
    for number, comm in enumerate(merged.values()):
        if comm.grid is None or (comms[number].group, comm.grid) in found:
            continue
        lengths = [length for (length,) in struct.iter_unpack("<I", comm.grid.lengths[: len(comm.grid.lengths) & ~3])]
        if lengths and len(lengths) <= _MOST_DIMENSIONS and prod(lengths) == comm.size:
            periods = [bool(comm.grid.periodic >> n & 1) for n in range(len(lengths))]
            found[comms[number].group, comm.grid] = Grid(number, lengths, periods)
    return [*found.values()]


def _default_name(kind: str, parent: str | None) -> str:
    if kind in ("WORLD", "SELF"):
        return f"MPI_COMM_{kind}"
    return f"{_MADE_BY[kind]} of {parent}" if parent else _MADE_BY[kind]


def _shift(sides: tuple[frozenset[int], int] | None, index: int | None) -> int:
    """Returns the offset of ranks in the remote group: the size of the first group for its members, else 0."""
    return sides[1] if sides is not None and index in sides[0] else 0
