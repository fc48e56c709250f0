# SPDX-License-Identifier: BSD-3-Clause
"""Ranks: the process of each location, and the location of each rank of a communicator."""

from __future__ import annotations

from typing import Any

import numpy as np

from vtrace.analysis.definition_tables import DefinitionTables
from vtrace.analysis.table import Array, Table, texts
from vtrace.io.archive.overview import host_of_node

_SELF = -2
_DEVICE = "ACCELERATOR"


class Places:
    """Finds locations by rank and communicator, from the definitions of a trace."""

    def __init__(self, definitions: DefinitionTables) -> None:
        self._definitions = definitions
        self._comms, self._comm_groups = (definitions.tables[name] for name in ("comms", "comm_groups"))
        self._group_of = definitions.tables["locations"]["group"]
        self._world = definitions.worlds
        self.processes = self._processes()
        """See Trace.processes."""
        row_of_group = np.full(definitions.tables["groups"].rows + 1, -1, np.int64)
        row_of_group[self.processes["group"]] = np.arange(self.processes.rows)
        self._add_devices(row_of_group)
        self.process = row_of_group[self._group_of]
        """(locations,) the row in processes of each location, -1 for none."""
        self._flat: dict[str, tuple[Array, Array, Array]] = {}

    def _members(self, group: int) -> Array:
        groups = self._comm_groups
        first = int(groups["offset"][group])
        return self._definitions.members[first : first + int(groups["count"][group])]

    def _locations(self, ids: Array) -> Array:
        return self._definitions.ids["locations"].rows(ids)

    def _processes(self) -> Table:
        groups, nodes = (self._definitions.tables[name] for name in ("groups", "nodes"))
        world = self._world.get("MPI", np.empty(0, np.int64))
        ranked = list(dict.fromkeys(int(self._group_of[row]) for row in world.tolist() if row >= 0))
        known = set(ranked)
        others = [row for row in np.flatnonzero(groups["type"] != _DEVICE).tolist() if row not in known]
        on, names = groups["node"].tolist(), groups["name"].tolist()
        hosts = [
            host_of_node(str(nodes["name"][node]), str(nodes["class_name"][node]), (name,)) if node >= 0 else ""
            for node, name in zip(on, names, strict=True)
        ]
        order = [*ranked, *others]
        return Table(
            {
                "group": np.array(order, np.int64),
                "rank": np.array([*range(len(ranked)), *[-1] * len(others)], np.int64),
                "name": texts([str(groups["name"][row]) for row in order]),
                "host": texts([hosts[row] for row in order]),
            }
        )

    def _add_devices(self, row_of_group: Array) -> None:
        """The group of a device belongs to the process that uses it: its creator, or the only one."""
        groups = self._definitions.tables["groups"]
        for row in np.flatnonzero(groups["type"] == _DEVICE).tolist():
            creator = int(groups["creator"][row])
            row_of_group[row] = row_of_group[creator] if self.processes.rows != 1 else 0

    def group_members(self, group: int) -> Array:
        """The rows of locations of a group of locations or ranks (a row of comm_groups), in their order; -1: not
        defined."""
        groups = self._comm_groups
        kind, members = str(groups["type"][group]), self._members(group)
        if kind == "COMM_GROUP":
            world = self._world.get(str(groups["paradigm"][group]), np.empty(0, np.int64))
            inside = members < len(world)
            found = np.full(len(members), -1, np.int64)
            found[inside] = world[members[inside].astype(np.int64)]
            return found
        return self._locations(members) if kind in ("COMM_LOCATIONS", "LOCATIONS") else np.empty(0, np.int64)

    def is_self(self, comm: int) -> bool:
        """True for a communicator such as MPI_COMM_SELF: each location has a communicator of its own, all with this row
        of comms."""
        group = int(self._comms["group"][comm])
        return group >= 0 and self._comm_groups["type"][group] == "COMM_SELF"

    def members(self, comm: int, remote: bool = False) -> Array:
        """(ranks,) the row of locations of each rank of a communicator (a row of comms), -1: not defined; empty for a
        communicator such as MPI_COMM_SELF.

        remote: the other group of an inter-communicator.
        """
        group = int(self._comms["remote" if remote else "group"][comm])
        return self.group_members(group) if group >= 0 else np.empty(0, np.int64)

    def grids(self) -> Array:
        """The rows of topologies of MPI's communicators (MPI_Cart_create). Score-P writes others, such as Process x
        Thread, whose members are not ranks."""
        comms = self._definitions.tables["topologies"]["comm"]
        groups = np.append(self._comms["group"], -1)[comms]
        is_mpi = np.append(self._comm_groups["paradigm"] == "MPI", False)[groups]
        found: Array = np.flatnonzero(is_mpi & (comms >= 0))
        return found

    def _table(self, side: str) -> tuple[Array, Array, Array]:
        """All members of all communicators, where the members of each communicator begin, and their numbers."""
        if side not in self._flat:
            comms = range(self._comms.rows)
            lists = [self.members(comm, side == "remote") for comm in comms]
            counts = np.array([_SELF if self.is_self(c) else len(m) for c, m in zip(comms, lists, strict=True)], int)
            sizes = np.array([len(members) for members in lists], np.int64)
            starts = np.cumsum(sizes) - sizes
            self._flat[side] = (np.concatenate([*lists, [-1]]).astype(np.int64), starts, counts)
        return self._flat[side]

    def locate(self, comm: Array, rank: Array, location: Any) -> Array:
        """The rows of locations of ranks, as the events of a location name them; -1: not defined.

        comm: (n,) rows of comms, -1 for none. rank: (n,). location: the row of the events' location, one for all or
        (n,). In an inter-communicator a rank is a rank of the other group.
        """
        found = self._look_up("group", comm, rank, location)
        if self._comms.rows and np.any(self._comms["remote"] >= 0):
            between = (comm >= 0) & (self._comms["remote"][comm] >= 0)
            for row in np.unique(comm[between]).tolist():
                mine = (comm == row) & np.isin(location, self.members(row))
                found[mine] = self._look_up(
                    "remote", comm[mine], rank[mine], np.broadcast_to(location, len(comm))[mine]
                )
        return found

    def _look_up(self, side: str, comm: Array, rank: Array, location: Any) -> Array:
        flat, starts, counts = self._table(side)
        rank = rank.astype(np.int64)
        if not len(starts):
            return np.full(len(comm), -1, np.int64)
        known = (comm >= 0) & (rank >= 0) & (rank < counts[comm])
        found = np.where(known, flat[np.where(known, starts[comm] + rank, -1)], -1)
        return np.where((comm >= 0) & (counts[comm] == _SELF), location, found)
