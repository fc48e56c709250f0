# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the user API: finds the two ends of each message among all processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vtrace.io.archive.writer import Comm, Definitions, Group
from vtrace.io.common.arrays import distinct
from vtrace.io.local.kernel import UNMAPPED, Scan
from vtrace.parallel.exchange import Numbers
from vtrace.unify.merge.steps import EqualStep, MapsBuilder, numbered
from vtrace.unify.model.id_tables import table
from vtrace.unify.model.process import Process

_USER = 1  # OTF2_PARADIGM_USER
_ID = 0xFFFFFFFF
"""The bits of a communicator and of a tag in a message's words."""
MessageEnds = np.ndarray[Any, np.dtype[np.void]]
_END = np.dtype([("comm", "<i8"), ("tag", "<i8"), ("time", "<i8"), ("location", "<i8"), ("receives", "?")])


class UserCommStep(EqualStep[str]):
    """First step: the names of the communicators that messages use, in the order of the messages."""

    def own(self, process: Process) -> dict[int, str]:
        known = process.definitions.user_comms
        comms = dict.fromkeys(comm & _ID for _, scan in _scans(process) for comm in scan.messages[:, 1].tolist())
        return dict(enumerate(known[comm] for comm in comms if comm in known))

    def define(self, keys: Sequence[str]) -> None:
        """UserMessageStep defines the communicators: a message without another end needs none."""


def message_ends(processes: Sequence[Process], names: Sequence[str]) -> MessageEnds:
    """Returns the ends of all messages of this rank's processes. comm: place of the communicator's name in names."""
    numbers = numbered(names)
    return np.concatenate([np.empty(0, _END), *(row for process in processes for row in _ends(process, numbers))])


def meeting_ranks(ends: MessageEnds, size: int) -> Numbers:
    """Returns for each end one of size ranks: ends of one communicator and tag meet at the same rank."""
    return np.asarray((ends["comm"] * 1_000_003 + ends["tag"]) % size)


def other_locations(ends: MessageEnds) -> Numbers:
    """Returns the location of each end's other end, -1 without one.

    Ends match by the communicator's name and the tag; several ends with the same tag match in the order of time.
    """
    other = _match(ends)
    return np.where(other >= 0, ends["location"][other], -1)


class UserMessageStep:
    """Second step: the communicators of messages. Their members are the locations that use them."""

    def __init__(
        self,
        builders: Sequence[MapsBuilder],
        names: Sequence[str],
        ends: MessageEnds,
        others: Numbers,
        *,
        definitions: Definitions,
    ) -> None:
        """ends: of this rank's processes; others: the location of the other end of each."""
        self._builders, self._names, self._ends, self._others = builders, names, ends, others
        self._definitions = definitions

    def contribute(self) -> dict[int, Numbers]:
        return _members(self._ends[self._others >= 0])

    def join(self, one: dict[int, Numbers], other: dict[int, Numbers]) -> dict[int, Numbers]:
        for number, locations in other.items():
            one[number] = np.union1d(one[number], locations) if number in one else locations
        return one

    def decide(self, everyone: dict[int, Numbers]) -> tuple[dict[int, int], dict[int, Numbers]]:
        return _add(everyone, self._definitions, self._names), everyone

    def fill(self, decision: tuple[dict[int, int], dict[int, Numbers]]) -> None:
        """Sets the messages of this rank's processes; decision: OTF2's ids of the communicators, and their members."""
        comms, members = decision
        ends, others = self._ends, self._others
        peers = np.full(len(ends), UNMAPPED, np.uint32)
        for number, locations in members.items():
            chosen = (ends["comm"] == number) & (others >= 0)
            peers[chosen] = np.searchsorted(locations, others[chosen])
        by_location = np.argsort(ends["location"], kind="stable")
        sorted_locations = ends["location"][by_location]
        numbers = numbered(self._names)
        for builder in self._builders:
            process = builder.process
            own = {local: numbers.get(name, -1) for local, name in process.definitions.user_comms.items()}
            builder.maps.user_comms = table({local: comms[n] for local, n in own.items() if n in comms})
            builder.user_peers, builder.user_others = {}, {}
            for number, location in process.locations.items():
                own_ends = by_location[slice(*np.searchsorted(sorted_locations, (location, location + 1)))]
                builder.user_peers[number], builder.user_others[number] = peers[own_ends], others[own_ends]


def _scans(process: Process) -> Iterator[tuple[int, Scan]]:
    """Yields the OTF2 locations with events, and the scans of these."""
    scans = process.contents.scans
    return ((id, scans[number]) for number, id in process.locations.items() if number in scans)


def _ends(process: Process, names: dict[str, int]) -> Iterator[MessageEnds]:
    for location, scan in _scans(process):
        assert process.curve is not None  # it has files
        rows = []
        for ticks, comm, tag in scan.messages.tolist():
            name = process.definitions.user_comms.get(comm & _ID)
            merged = -1 if name is None else names[name]
            rows.append((merged, tag & _ID, process.curve.at(ticks), location, comm >> 32))
        yield np.array(rows, _END)


def _members(matched: MessageEnds) -> dict[int, Numbers]:
    """Returns by communicator the locations that have messages with two ends."""
    return {
        number: distinct(matched["location"][matched["comm"] == number])
        for number in distinct(matched["comm"]).tolist()
    }


def _add(used: dict[int, Numbers], definitions: Definitions, names: Sequence[str]) -> dict[int, int]:
    """Adds the communicators to the archive's definitions; returns their OTF2 ids."""
    if used:
        everyone = distinct(np.concatenate([*used.values()]))
        definitions.comm_groups.append(Group("COMM_LOCATIONS", _USER, "", everyone))
    comms = {}
    for number, members in sorted(used.items()):
        comms[number] = len(definitions.comms)
        definitions.comms.append(Comm(names[number], len(definitions.comm_groups)))
        definitions.comm_groups.append(Group("COMM_GROUP", _USER, names[number], np.searchsorted(everyone, members)))
    return comms


def _match(ends: MessageEnds) -> Numbers:
    """Returns the index of each end's other end, -1 without one."""
    if not len(ends):
        return np.empty(0, np.int64)
    order = np.lexsort((ends["location"], ends["time"], ends["receives"], ends["tag"], ends["comm"]))
    sorted_ends = ends[order]
    key = np.stack([sorted_ends["comm"], sorted_ends["tag"], sorted_ends["receives"].astype(np.int64)])
    first = np.ones(len(ends), bool)
    first[1:] = np.any(key[:, 1:] != key[:, :-1], axis=0)
    begins = np.flatnonzero(first)
    count = np.arange(len(ends)) - begins[np.cumsum(first) - 1]
    pairs, inverse = np.unique(np.stack([key[0], key[1], count]), axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    by_side: Any = np.full((2, pairs.shape[1]), -1, np.int64)
    by_side[key[2], inverse] = order
    other = np.full(len(ends), -1, np.int64)
    other[order] = by_side[1 - key[2], inverse]
    other[ends["comm"] < 0] = -1
    return other
