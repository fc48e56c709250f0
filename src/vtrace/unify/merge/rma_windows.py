# SPDX-License-Identifier: BSD-3-Clause
"""Windows of one-sided communication of all processes become OTF2's, and groups of ranks that synchronize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vtrace.io.archive.definitions import PARADIGM_MPI, UNDEFINED
from vtrace.io.archive.writer import Group, Window
from vtrace.io.local.records import COMM_KINDS
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.communicators import Communicators
from vtrace.unify.merge.dedup import Firsts, Named
from vtrace.unify.merge.regions import Ids, table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import MembersPiece as Piece


@dataclass
class Windows:
    """ids, peer_offsets and groups are per process, indexed by its own ids of windows and of groups."""

    windows: list[Window] = field(default_factory=list)
    ids: list[Ids] = field(default_factory=list)
    peer_offsets: list[Ids] = field(default_factory=list)
    groups: list[Ids] = field(default_factory=list)


def merge_windows(processes: Sequence[Process], comms: Communicators, ranks: Ranks) -> Windows:
    """Equal (communicator, number of earlier windows) is the same window.

    Adds groups to those of comms. A window or group of an unknown communicator has no id. Lists are at rank 0.
    """
    result = Windows()
    merged: Named[tuple[int, int]] = Named()
    groups: Firsts[_Chosen, None] = Firsts()
    known = [
        _KnownWindow(process, *tables)
        for process, *tables in zip(processes, comms.ids, comms.peer_offsets, strict=True)
    ]
    for one in known:
        for local, window in one.windows.items():
            order, name = (one.process.number, local), one.process.definitions.window_names.get(local)
            merged.add(window, order, None if name is None else (order, name))
        for local, chosen in one.groups.items():
            groups.add(chosen, (one.process.number, local), None)
    numbers, names = merged.number(ranks)
    collected = groups.collect(ranks)
    group_numbers = ranks.first(lambda: _add_groups([chosen for chosen, _ in collected], comms))
    for one in known:
        result.ids.append(table({local: numbers[window] for local, window in one.windows.items()}))
        result.peer_offsets.append(table({local: one.shift(local) for local in one.windows}))
        result.groups.append(table({n: g for n, c in one.groups.items() if (g := group_numbers[c]) != UNDEFINED}))
    for (comm, serial), told in zip(numbers, names, strict=False):
        name = told[1] if told else f"window {serial} of {comms.comms[comm].name}"
        result.windows.append(Window(name, comm))
    return result


_Chosen = tuple[int, int | None, bytes]
"""A communicator, the process's index, which counts in MPI_COMM_SELF only, and ranks in the communicator (i64)."""


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
        """What must be added to ranks in a window."""
        return int(self._offsets[self.process.definitions.windows[window].comm])


def _add_groups(wanted: Sequence[_Chosen], comms: Communicators) -> dict[_Chosen, int]:
    """The group of each; those that have no members like it get one. UNDEFINED where ranks are impossible."""
    known = {bytes(np.asarray(g.members, np.uint64)): n for n, g in enumerate(comms.groups) if g.kind == "COMM_GROUP"}
    numbers = {}
    for comm, index, data in wanted:
        group = comms.groups[comms.comms[comm].group]
        members = np.array([index] if index is not None else group.members, np.uint64)
        ranks = np.frombuffer(data, np.int64)
        if len(ranks) and ranks.max() >= len(members):
            numbers[comm, index, data] = UNDEFINED
            continue
        chosen = members[ranks]
        number = known.setdefault(bytes(chosen), len(comms.groups))
        if number == len(comms.groups):
            comms.groups.append(Group("COMM_GROUP", PARADIGM_MPI, "", chosen))
        numbers[comm, index, data] = number
    return numbers


def _ranks(pieces: Sequence[Piece]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    ordered = sorted(set(pieces), key=lambda piece: piece.first)
    return np.concatenate([np.frombuffer(p.ranks[: len(p.ranks) // 4 * 4], "<u4") for p in ordered]).astype(np.int64)
