# SPDX-License-Identifier: BSD-3-Clause
"""Turns the windows of devices, in which copies are one-sided communication, into OTF2 definitions.

Like Score-P, one group lists the locations of all processes that use devices; the window of a process has a
communicator whose group has indices into that list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.writer import Comm, Definitions, Group, Window
from vtrace.unify.merge.steps import ConcatStep, MapsBuilder
from vtrace.unify.model.id_tables import table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LANE, DeviceWindow

_Found = tuple[DeviceWindow, str, list[int]]
"""A window, the label of its process, and the OTF2 locations of its members."""


class DeviceWindowStep(ConcatStep[_Found]):
    """Windows of devices. Ranks are in the order of the locations."""

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        """builders: with MPI's windows."""
        self._definitions = definitions
        self._builders = [builder for builder in builders if builder.process.definitions.device_windows]
        self.own = {builder.process.number: _windows(builder.process) for builder in self._builders}

    def define(self, everyone: dict[int, list[_Found]]) -> int:
        definitions = self._definitions
        base = len(definitions.windows)
        found = [one for own in everyone.values() for one in own]
        known: dict[int, np.ndarray] = {}
        for paradigm in sorted({window.paradigm for window, _, _ in found}):
            known[paradigm] = np.unique([n for window, _, them in found if window.paradigm == paradigm for n in them])
            definitions.comm_groups.append(Group("COMM_LOCATIONS", paradigm, "", known[paradigm].astype(np.uint64)))
        for window, label, members in found:
            ranks = np.searchsorted(known[window.paradigm], members).astype(np.uint64)
            definitions.comm_groups.append(Group("COMM_GROUP", window.paradigm, "", ranks))
            definitions.comms.append(Comm(f"{window.name} of {label}", len(definitions.comm_groups) - 1))
            definitions.windows.append(Window(window.name, len(definitions.comms) - 1))
        return base

    def fill(self, firsts: dict[int, int]) -> None:
        """Adds the windows of this rank's processes to their maps."""
        for builder in self._builders:
            maps, process = builder.maps, builder.process
            first = firsts[process.number]
            own = {local: first + i for i, local in enumerate(sorted(process.definitions.device_windows))}
            maps.windows = table(_entries(maps.windows) | own)
            maps.window_peer_offset = table(_entries(maps.window_peer_offset) | dict.fromkeys(own, UNDEFINED))
            maps.location_ranks = table({local: rank for rank, local in enumerate(_members(process))})


def _entries(known: np.ndarray) -> dict[int, int]:
    return {local: number for local, number in enumerate(known.tolist()) if number != UNDEFINED}


def _members(process: Process) -> list[int]:
    """The numbers of the process's threads and streams."""
    properties = process.definitions.properties
    return [number for number in process.locations if f"{LANE}{number}" not in properties]


def _windows(process: Process) -> list[_Found]:
    members = [process.locations[number] for number in _members(process)]
    return [(window, process.label, members) for _, window in sorted(process.definitions.device_windows.items())]
