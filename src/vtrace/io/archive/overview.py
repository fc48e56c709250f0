# SPDX-License-Identifier: BSD-3-Clause
"""Reads an OTF2 archive without its events: anchor file, properties, definitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtrace.errors import VtraceError
from vtrace.io.archive.properties import COMMAND, EXECUTABLE, LANE, read_properties
from vtrace.io.archive.properties import PROPERTY as PROPERTY
from vtrace.io.common.names import ANCHOR as ANCHOR
from vtrace.io.common.names import PACKED

if TYPE_CHECKING:
    from vtrace.io.common.arrays import Array


_DEVICE = 2
"""OTF2_LOCATION_GROUP_TYPE_ACCELERATOR."""


def host_of_node(name: str, class_name: str, processes: Iterable[str]) -> str:
    """The host of a system node. processes: the names of its processes. rocprofv3 names the node as the
    process, and its class as the host."""
    return class_name if class_name and name in processes else name


@dataclass(frozen=True, kw_only=True)
class LocationLine:
    """A location with its process and host; properties: whole numbers of vtunify, names without VTRACE::."""

    id: int
    name: str
    process: str
    host: str
    events: int
    properties: dict[str, int]


class Locations:
    """All locations of an archive by id, as columns: there may be very many."""

    def __init__(self, raw: dict[str, Array]) -> None:
        """raw: the tables of io.readback."""
        import numpy as np

        from vtrace.io.archive.ids import IdRows, ascending

        self._table, self._properties = ascending(raw["Location"]), raw["LocationProperty"]
        self._groups, self._nodes, self._strings = (
            ascending(raw[kind]) for kind in ("LocationGroup", "SystemTreeNode", "String")
        )
        self._group_properties, self._comm_groups, self._members = (
            raw[kind] for kind in ("LocationGroupProperty", "Group", "Members")
        )
        self._text, self._ids = raw["Text"]["bytes"].tobytes(), self._strings["id"].astype(np.int64)
        self._group = IdRows(self._groups["id"]).rows(self._table["group"])
        self._node = IdRows(self._nodes["id"]).rows(self._groups["node"])

    def __len__(self) -> int:
        return len(self._table)

    @property
    def ids(self) -> Array:
        """(n,) OTF2's ids."""
        return self._table["id"]

    @property
    def events(self) -> Array:
        """(n,) numbers of events in the definitions."""
        return self._table["events"]

    @property
    def threads(self) -> int:
        """The number of threads: locations without metrics, lanes and streams of devices."""
        import _otf2
        import numpy as np

        marked = [name for name in self._ids.tolist() if self.text(name) == LANE]
        lanes = self._properties["location"][np.isin(self._properties["name"], marked)]
        others = _otf2.LOCATION_TYPE_METRIC.value, _otf2.LOCATION_TYPE_ACCELERATOR_STREAM.value
        threads = ~np.isin(self._table["type"], others)
        return int((threads & ~np.isin(self._table["id"], lanes)).sum())

    def line(self, row: int) -> LocationLine:
        """All facts about one location."""
        number, name, _, events, _ = self._table[row].tolist()
        group = int(self._group[row])
        node = int(self._node[group]) if group >= 0 else -1
        known = {word: int(values[row]) for word, (values, present) in self.properties.items() if present[row]}
        process, host = self._name(self._groups, group), self._hosts[node] if node >= 0 else ""
        return LocationLine(
            id=number, name=self.text(name), process=process, host=host, events=events, properties=known
        )

    def __iter__(self) -> Iterator[LocationLine]:
        return map(self.line, range(len(self)))

    @property
    def processes(self) -> int:
        """The number of processes with a location."""
        owners = set((self._groups["type"] != _DEVICE).nonzero()[0].tolist()) | {-1}
        return len({self._name(self._groups, group) for group in set(self._group.tolist()) & owners})

    @property
    def hosts(self) -> list[str]:
        """Each host once, in the order of the locations."""
        groups = dict.fromkeys(self._group.tolist())
        nodes = dict.fromkeys(int(self._node[group]) if group >= 0 else -1 for group in groups)
        return list(dict.fromkeys(self._hosts[node] if node >= 0 else "" for node in nodes))

    @cached_property
    def _hosts(self) -> list[str]:
        """The host of each system node. That of a device, as Score-P has it, is the node above."""
        from vtrace.io.archive.ids import IdRows

        used: dict[int, list[str]] = {}
        for row in (self._groups["type"] != _DEVICE).nonzero()[0].tolist():
            used.setdefault(int(self._node[row]), []).append(self._name(self._groups, row))
        devices = {*self._node.tolist()} - used.keys()
        parents = IdRows(self._nodes["id"]).rows(self._nodes["parent"]).tolist()
        found = []
        for row, parent in enumerate(parents):
            at = parent if row in devices and parent >= 0 else row
            name, class_name = self._name(self._nodes, at), self.text(int(self._nodes["class_name"][at]))
            found.append(host_of_node(name, class_name, used.get(at, ())))
        return found

    def programs(self) -> list[tuple[int, str, str]]:
        """MPI rank (-1: none), executable and command line of each process, if the archive has them."""
        import _otf2

        own = self._group_properties[self._group_properties["type"] == _otf2.TYPE_STRING.value]
        texts = {(group, self.text(name)): self.text(text) for group, name, _, text in own.tolist()}
        ranks = self._ranks()
        found = []
        for group in self._groups["id"].tolist():
            executable, command = (texts.get((group, name), "") for name in (EXECUTABLE, COMMAND))
            if executable or command:
                found.append((ranks.get(group, -1), executable, command))
        return sorted(found, key=lambda one: (one[0] < 0, one[0]))

    def _ranks(self) -> dict[int, int]:
        """The MPI rank of each location group: its place in OTF2's group of all locations of MPI."""
        import _otf2

        from vtrace.io.archive.ids import IdRows

        kind, paradigm = _otf2.GROUP_TYPE_COMM_LOCATIONS.value, _otf2.PARADIGM_MPI.value
        world = self._comm_groups[(self._comm_groups["type"] == kind) & (self._comm_groups["paradigm"] == paradigm)]
        if not len(world):
            return {}
        first = int(world["offset"][-1])
        members = self._members["member"][first : first + int(world["count"][-1])]
        rows = IdRows(self._table["id"]).rows(members)
        groups = dict.fromkeys(self._table["group"][rows[rows >= 0]].tolist())
        return {group: rank for rank, group in enumerate(groups)}

    @cached_property
    def properties(self) -> dict[str, tuple[Array, Array]]:
        """Properties of vtunify by name without VTRACE::. Each has (n,) values, and (n,) bool, True for set values."""
        import _otf2
        import numpy as np

        from vtrace.io.archive.ids import IdRows
        from vtrace.io.common.arrays import distinct

        found = {}
        numbers = self._properties[self._properties["type"] == _otf2.TYPE_UINT64.value]
        rows = IdRows(self._table["id"]).rows(numbers["location"])
        for name in distinct(numbers["name"]).tolist():
            mine = (numbers["name"] == name) & (rows >= 0)
            values, present = np.zeros(len(self), np.uint64), np.zeros(len(self), bool)
            values[rows[mine]], present[rows[mine]] = numbers["value"][mine], True
            if (text := self.text(name)).startswith(PROPERTY):
                found[text.removeprefix(PROPERTY)] = values, present
        return found

    def _name(self, table: Array, row: int) -> str:
        return self.text(int(table["name"][row])) if row >= 0 else ""

    def text(self, ref: int) -> str:
        """OTF2's string with this id; empty if there is none."""
        row = int(self._ids.searchsorted(ref))
        if row == len(self._ids) or self._ids[row] != ref:
            return ""
        _, offset, length = self._strings[row].tolist()
        return self._text[offset : offset + length].decode("utf-8", "replace")


@dataclass(frozen=True)
class Overview:
    """An archive. start: real time of its first event in ns since the epoch, None if unknown. vtrace: its own
    properties by name, without VTRACE::; empty for archives of other tools."""

    archive: Path
    """Its directory, or a packed archive."""
    anchor: Path
    creator: str
    machine: str
    start: int | None
    seconds: float
    locations: Locations
    regions: int
    communicators: list[str]
    vtrace: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """A line for each damaged part of the archive's own description."""
    properties: dict[str, str] = field(default_factory=dict)
    """All properties, with their whole names."""
    clock: tuple[int, int] = 10**9, 0
    """Ticks a second, and the first tick."""


def find_anchor(operand: Path) -> Path | None:
    """The anchor file of an archive given as its directory, its anchor file or its prefix, or a packed archive; None:
    there is none. Of several archives of a prefix, the newest counts, and of both forms of one the directory.

    Raises VtraceError for a directory that the user may not enter."""
    if operand.suffix in (".otf2", PACKED) and os.path.isfile(operand):
        return operand
    found = _directory_anchor(operand)
    beside = [operand.with_name(f"{mark}{operand.name}{PACKED}") for mark in ("", "u_") if operand.name]
    packed = next((path for path in beside if os.path.isfile(path)), None)
    if found is None or packed is None or os.stat(found).st_mtime >= os.stat(packed).st_mtime:
        return found or packed
    return packed


def _directory_anchor(operand: Path) -> Path | None:
    beside = [operand.with_name(f"{mark}{operand.name}.trace") for mark in ("", "u_") if operand.name]
    for directory in [operand, *beside]:
        if os.path.isfile(directory / ANCHOR):
            return directory / ANCHOR
        if os.path.isdir(directory) and not os.access(directory, os.X_OK):
            raise VtraceError(f"cannot look into {directory}: Permission denied")
    found = sorted(operand.glob("*.otf2")) if os.path.isdir(operand) else []
    return found[0] if len(found) == 1 else None


def read_overview(anchor: Path) -> Overview:
    """Reads all but the events. Raises FormatError if this is not a readable archive."""
    from vtrace.io.archive.ids import ascending
    from vtrace.io.archive.reader import Reader, clock_of
    from vtrace.io.packed.opened import anchor_of

    archive = anchor if anchor.suffix == PACKED else anchor.parent
    anchor = anchor_of(anchor)
    with Reader(anchor) as reader:
        raw = reader.definitions()
        about = read_properties(reader.handle, anchor)
    locations = Locations(raw)
    resolution, offset, length, start = clock_of(raw["ClockProperties"])
    return Overview(
        archive=archive,
        anchor=anchor,
        creator=about.creator,
        machine=about.machine,
        start=start,
        seconds=length / resolution,
        locations=locations,
        regions=len(set(raw["Region"]["id"].tolist())),
        communicators=[locations.text(name) for name in ascending(raw["Comm"])["name"].tolist()],
        vtrace=about.vtrace,
        problems=about.problems,
        properties=about.texts,
        clock=(resolution, offset),
    )
