# SPDX-License-Identifier: BSD-3-Clause
"""Turns RMA windows, and groups of ranks that synchronize, of all processes into OTF2 definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.io.archive.definitions import PARADIGM_MPI, UNDEFINED
from vtrace.io.archive.writer import Definitions, Group, Window
from vtrace.io.local.records import COMM_KINDS
from vtrace.unify.merge.steps import GivenName, MapsBuilder, MergedDefinitions, Named, numbered
from vtrace.unify.model.id_tables import known_id, table
from vtrace.unify.model.process_definitions import MembersPiece as Piece

_Chosen = tuple[int, int | None, bytes]
"""A communicator, the process's index (in MPI_COMM_SELF, else None), and ranks in the communicator (i64)."""
_WindowKey = tuple[int, int]
"""The OTF2 id of a communicator, and its number of earlier windows."""
_WindowPart = tuple[MergedDefinitions[_WindowKey, GivenName], MergedDefinitions[_Chosen, None]]
WindowIds = tuple[dict[_WindowKey, int], dict[_Chosen, int]]
"""OTF2's ids of windows and of groups."""


class WindowStep:
    """Windows and groups of ranks that synchronize. Equal (communicator, number of earlier windows) is one window.

    Windows and groups of an unknown communicator have no id.
    """

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        """builders: with communicators."""
        self._known = [_ProcessWindows(builder) for builder in builders]
        self._definitions = definitions

    def contribute(self) -> _WindowPart:
        windows: Named[_WindowKey] = Named()
        groups: MergedDefinitions[_Chosen, None] = MergedDefinitions()
        for own in self._known:
            process = own.builder.process
            for local, window in own.windows.items():
                order, name = (process.number, local), process.definitions.window_names.get(local)
                windows.add(window, order, None if name is None else (order, name))
            for local, chosen in own.groups.items():
                groups.add(chosen, (process.number, local), None)
        return windows, groups

    def join(self, one: _WindowPart, other: _WindowPart) -> _WindowPart:
        return one[0].join(other[0]), one[1].join(other[1])

    def decide(self, everyone: _WindowPart) -> WindowIds:
        windows, groups = everyone
        group_numbers = _add_groups([chosen for chosen, _ in groups.in_order()], self._definitions)
        found = windows.in_order()
        for (comm, serial), given in found:
            name = given[1] if given else f"window {serial} of {self._definitions.comms[comm].name}"
            self._definitions.windows.append(Window(name, comm))
        return numbered([window for window, _ in found]), group_numbers

    def fill(self, numbers: WindowIds) -> None:
        """Sets the windows and groups of this rank's processes."""
        windows, groups = numbers
        for own in self._known:
            maps, definitions = own.builder.maps, own.builder.process.definitions
            maps.windows = table({local: windows[window] for local, window in own.windows.items()})
            offsets = {local: int(maps.comm_peer_offset[definitions.windows[local].comm]) for local in own.windows}
            maps.window_peer_offset = table(offsets)
            maps.rank_groups = table({n: g for n, c in own.groups.items() if (g := groups[c]) != UNDEFINED})


class _ProcessWindows:
    """Windows and groups of a process, by its own ids."""

    def __init__(self, builder: MapsBuilder) -> None:
        self.builder = builder
        process, maps = builder.process, builder.maps
        definitions = process.definitions
        self.windows = {
            local: (comm, window.serial)
            for local, window in sorted(definitions.windows.items())
            if (comm := known_id(maps.comms, window.comm)) is not None
        }
        self.groups: dict[int, _Chosen] = {}
        for local, pieces in sorted(definitions.groups.items()):
            own = pieces[0].comm
            if (comm := known_id(maps.comms, own)) is not None:
                is_self = definitions.comms[own].kind == COMM_KINDS["SELF"]
                chosen = (_ranks(pieces) + int(maps.comm_peer_offset[own])).tobytes()
                self.groups[local] = (comm, process.place.index if is_self else None, chosen)


def _add_groups(wanted: Sequence[_Chosen], definitions: Definitions) -> dict[_Chosen, int]:
    """Returns the id of each group, and adds groups with new members; UNDEFINED for groups with impossible ranks."""
    groups = enumerate(definitions.comm_groups)
    known = {bytes(np.asarray(g.members, np.uint64)): n for n, g in groups if g.kind == "COMM_GROUP"}
    numbers = {}
    for comm, index, data in wanted:
        group = definitions.comm_groups[definitions.comms[comm].group]
        members = np.array([index] if index is not None else group.members, np.uint64)
        ranks = np.frombuffer(data, np.int64)
        if len(ranks) and ranks.max() >= len(members):
            numbers[comm, index, data] = UNDEFINED
            continue
        chosen = members[ranks]
        number = known.setdefault(bytes(chosen), len(definitions.comm_groups))
        if number == len(definitions.comm_groups):
            definitions.comm_groups.append(Group("COMM_GROUP", PARADIGM_MPI, "", chosen))
        numbers[comm, index, data] = number
    return numbers


def _ranks(pieces: Sequence[Piece]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    ordered = sorted(set(pieces), key=lambda piece: piece.first)
    return np.concatenate([np.frombuffer(p.ranks[: len(p.ranks) // 4 * 4], "<u4") for p in ordered]).astype(np.int64)
