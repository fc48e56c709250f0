# SPDX-License-Identifier: BSD-3-Clause
"""Turns RMA windows, and groups of ranks that synchronize, of all processes into OTF2 definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtrace.io.archive.definitions import PARADIGM_MPI, UNDEFINED
from vtrace.io.archive.writer import Definitions, Group, Window
from vtrace.io.local.records import COMM_KINDS
from vtrace.unify.merge.communicators import Communicators
from vtrace.unify.merge.dedup import GivenName, MergedDefinitions, Named, numbered
from vtrace.unify.model.id_tables import Ids, table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import MembersPiece as Piece

_Chosen = tuple[int, int | None, bytes]
"""A communicator, the process's index (in MPI_COMM_SELF, else None), and ranks in the communicator (i64)."""
_WindowKey = tuple[int, int]
"""The OTF2 id of a communicator, and its number of earlier windows."""
_WindowPart = tuple[MergedDefinitions[_WindowKey, GivenName], MergedDefinitions[_Chosen, None]]
WindowIds = tuple[dict[_WindowKey, int], dict[_Chosen, int]]
"""OTF2's ids of windows and of groups."""


@dataclass
class Windows:
    """Tables per process, indexed by its own ids of windows (ids, peer_offsets) and of groups."""

    ids: list[Ids]
    peer_offsets: list[Ids]
    groups: list[Ids]


class WindowStep:
    """Windows and groups of ranks that synchronize. Equal (communicator, number of earlier windows) is one window.

    Windows and groups of an unknown communicator have no id.
    """

    def __init__(self, processes: Sequence[Process], comms: Communicators, definitions: Definitions) -> None:
        self._known = [
            _KnownWindow(process, *tables)
            for process, *tables in zip(processes, comms.ids, comms.peer_offsets, strict=True)
        ]
        self._definitions = definitions

    def contribute(self) -> _WindowPart:
        windows: Named[_WindowKey] = Named()
        groups: MergedDefinitions[_Chosen, None] = MergedDefinitions()
        for one in self._known:
            for local, window in one.windows.items():
                order, name = (one.process.number, local), one.process.definitions.window_names.get(local)
                windows.add(window, order, None if name is None else (order, name))
            for local, chosen in one.groups.items():
                groups.add(chosen, (one.process.number, local), None)
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

    def maps(self, numbers: WindowIds) -> Windows:
        """Returns the tables of this rank's processes."""
        windows, groups = numbers
        found = Windows([], [], [])
        for one in self._known:
            found.ids.append(table({local: windows[window] for local, window in one.windows.items()}))
            found.peer_offsets.append(table({local: one.shift(local) for local in one.windows}))
            found.groups.append(table({n: g for n, c in one.groups.items() if (g := groups[c]) != UNDEFINED}))
        return found


class _KnownWindow:
    """Windows and groups of a process, by its own ids."""

    def __init__(self, process: Process, ids: Ids, offsets: Ids) -> None:
        self.process, self._offsets = process, offsets
        definitions = process.definitions

        def comm_of(local: int) -> int:
            return int(ids[local]) if local < len(ids) else UNDEFINED

        self.windows = {
            local: (comm, window.serial)
            for local, window in sorted(definitions.windows.items())
            if (comm := comm_of(window.comm)) != UNDEFINED
        }
        self.groups: dict[int, _Chosen] = {}
        for local, pieces in sorted(definitions.groups.items()):
            own = pieces[0].comm
            if comm_of(own) != UNDEFINED:
                alone = definitions.comms[own].kind == COMM_KINDS["SELF"]
                chosen = (_ranks(pieces) + int(offsets[own])).tobytes()
                self.groups[local] = (comm_of(own), process.index if alone else None, chosen)

    def shift(self, window: int) -> int:
        """Returns the offset of ranks in a window."""
        return int(self._offsets[self.process.definitions.windows[window].comm])


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
