# SPDX-License-Identifier: BSD-3-Clause
"""The global definitions of an archive, and how they are written: the index in its list is a definition's OTF2 id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import _otf2
import numpy as np

UNDEFINED = 0xFFFFFFFF
UNDEFINED_TIME = 0xFFFFFFFFFFFFFFFF
DEFINITION_CHUNK = 256 * 1024
"""Smallest definition chunk of OTF2: each local .def file costs 11 us with it, 1.5 ms with the default of 4 MiB."""
DEFINITION_CHUNK_MAX = 16 * 1024 * 1024
STRING_MAX = 60_000
"""A string must fit into a definition chunk; names beyond this are shortened."""


@dataclass
class SystemNode:
    """A machine or host. domain: OTF2's name (MACHINE, SHARED_MEMORY ...) or None."""

    name: str
    class_name: str
    parent: int | None = None
    domain: str | None = None


@dataclass
class LocationGroup:
    """A process on a system node."""

    name: str
    node: int


@dataclass
class Location:
    """A thread of a location group. events: as many as were written; 0 takes what the archive itself has counted.
    properties: whole numbers, at least 0, by name."""

    name: str
    group: int
    type: str = "CPU_THREAD"
    events: int = 0
    properties: dict[str, int] = field(default_factory=dict)


@dataclass
class Region:
    """A function or another piece of code. role, paradigm: OTF2's numbers. line: 0 unknown."""

    name: str
    canonical: str
    description: str = ""
    role: int = 1
    paradigm: int = 2
    file: str | None = None
    line: int = 0


@dataclass
class Group:
    """Locations (kind COMM_LOCATIONS: location ids) or ranks in those (COMM_GROUP); none for COMM_SELF."""

    kind: str
    paradigm: int
    name: str = ""
    members: Sequence[int] | np.ndarray[Any, Any] = ()


@dataclass
class Comm:
    """A communicator over a group. flags: 1 when it has CommCreate and CommDestroy events."""

    name: str
    group: int
    parent: int | None = None
    flags: int = 0


@dataclass
class Metric:
    """A value over time. value_type: "u", "i" or "f"; accumulated since the start, or as it is at that point."""

    name: str
    description: str = ""
    unit: str = "#"
    value_type: str = "u"
    accumulated: bool = False


@dataclass
class Marker:
    """A remark at a time (ns since the archive's zero, plus its offset), of one location or of all."""

    time: int
    category: str
    text: str
    location: int | None = None


@dataclass
class Definitions:
    """All that the global definition file says.

    resolution: ticks a second of the archive's times; offset: at or before the first; length: of the whole trace in
    ticks; realtime: of offset, in ns since the epoch. comm_groups with COMM_LOCATIONS stand before COMM_GROUPs.
    """

    resolution: int = 10**9
    offset: int = 0
    length: int = 0
    realtime: int = UNDEFINED_TIME
    nodes: list[SystemNode] = field(default_factory=list)
    groups: list[LocationGroup] = field(default_factory=list)
    locations: list[Location] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    comm_groups: list[Group] = field(default_factory=list)
    comms: list[Comm] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    """Archive properties: names of upper-case letters, digits and _, with :: between parts (VTRACE::EVENTS)."""
    creator: str = "vtrace"
    machine: str = ""
    description: str = ""


def chunk_bytes(definitions: Definitions) -> int:
    """Size of definition chunk into which the largest record fits (a power of two times 256 KiB).

    Raises ValueError when a group has more members (some 3 million) than OTF2 can store.
    """
    # A member below 2**32 takes at most 5 bytes.
    largest = max((len(group.members) for group in definitions.comm_groups), default=0)
    size = DEFINITION_CHUNK
    while size < largest * 5 + 4096:
        size *= 2
    if size > DEFINITION_CHUNK_MAX:
        raise ValueError(f"a group of {largest} members does not fit into an OTF2 archive")
    return size


def plain_text(text: str) -> str:
    """text as OTF2 and its readers take it: valid UTF-8, without NUL, not longer than STRING_MAX bytes."""
    data = text.replace("\0", " ").encode("utf-8", "replace")
    return data[:STRING_MAX].decode("utf-8", "ignore")


class _Strings:
    """Writes each string once, before the definition that names it."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._ids: dict[str, int] = {}
        self[""]  # id 0

    def __getitem__(self, text: str) -> int:
        known = self._ids.get(text)
        if known is None:
            known = self._ids[text] = len(self._ids)
            _otf2.GlobalDefWriter_WriteString(self._writer, known, plain_text(text))
        return known

    def optional(self, text: str | None) -> int:
        return UNDEFINED if text is None else self[text]


_PARADIGM_CLASSES = {3: "THREAD_FORK_JOIN", 4: "PROCESS", 7: "THREAD_CREATE_WAIT"}
_VALUE_TYPES = {"u": "UINT64", "i": "INT64", "f": "DOUBLE"}


def write_definitions(writer: Any, definitions: Definitions) -> None:
    """Writes all definitions to an OTF2_GlobalDefWriter, in the order that readers need. Raises _otf2.Error."""
    d = definitions
    _otf2.GlobalDefWriter_WriteClockProperties(writer, d.resolution, d.offset, d.length, d.realtime)
    strings = _Strings(writer)
    _write_paradigms(writer, strings, d)
    _write_system(writer, strings, d)
    for number, region in enumerate(d.regions):
        _otf2.GlobalDefWriter_WriteRegion(
            writer, number, strings[region.name], strings[region.canonical], strings[region.description],
            _otf2.RegionRole(region.role), _otf2.Paradigm(region.paradigm), _otf2.REGION_FLAG_NONE,
            strings.optional(region.file), region.line, 0,
        )  # fmt: skip
    for number, group in enumerate(d.comm_groups):
        kind = getattr(_otf2, f"GROUP_TYPE_{group.kind}")
        members = [int(member) for member in group.members]
        _otf2.GlobalDefWriter_WriteGroup(
            writer, number, strings[group.name], kind, _otf2.Paradigm(group.paradigm), _otf2.GROUP_FLAG_NONE, members
        )
    for number, comm in enumerate(d.comms):
        parent = UNDEFINED if comm.parent is None else comm.parent
        flags = _otf2.CommFlag(comm.flags)
        _otf2.GlobalDefWriter_WriteComm(writer, number, strings[comm.name], comm.group, parent, flags)
    _write_metrics(writer, strings, d)


def _write_paradigms(writer: Any, strings: _Strings, d: Definitions) -> None:
    used = {region.paradigm for region in d.regions} | {group.paradigm for group in d.comm_groups}
    for number in sorted(used & _PARADIGM_CLASSES.keys()):
        paradigm = _otf2.Paradigm(number)
        name = strings[_otf2.Paradigm._names[number]]
        kind = getattr(_otf2, f"PARADIGM_CLASS_{_PARADIGM_CLASSES[number]}")
        _otf2.GlobalDefWriter_WriteParadigm(writer, paradigm, name, kind)


def _write_system(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, node in enumerate(d.nodes):
        parent = UNDEFINED if node.parent is None else node.parent
        name, class_name = strings[node.name], strings[node.class_name]
        _otf2.GlobalDefWriter_WriteSystemTreeNode(writer, number, name, class_name, parent)
        if node.domain:
            domain = getattr(_otf2, f"SYSTEM_TREE_DOMAIN_{node.domain}")
            _otf2.GlobalDefWriter_WriteSystemTreeNodeDomain(writer, number, domain)
    for number, process in enumerate(d.groups):
        kind = _otf2.LOCATION_GROUP_TYPE_PROCESS
        _otf2.GlobalDefWriter_WriteLocationGroup(writer, number, strings[process.name], kind, process.node, UNDEFINED)
    for number, location in enumerate(d.locations):
        kind = getattr(_otf2, f"LOCATION_TYPE_{location.type}")
        name = strings[location.name]
        _otf2.GlobalDefWriter_WriteLocation(writer, number, name, kind, location.events, location.group)
        for key, value in location.properties.items():
            number_value = _otf2.AttributeValue(uint64=value)
            _otf2.GlobalDefWriter_WriteLocationProperty(writer, number, strings[key], _otf2.TYPE_UINT64, number_value)


def _write_metrics(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, metric in enumerate(d.metrics):
        mode = _otf2.METRIC_ACCUMULATED_START if metric.accumulated else _otf2.METRIC_ABSOLUTE_POINT
        value_type = getattr(_otf2, f"TYPE_{_VALUE_TYPES[metric.value_type]}")
        _otf2.GlobalDefWriter_WriteMetricMember(
            writer, number, strings[metric.name], strings[metric.description], _otf2.METRIC_TYPE_OTHER, mode,
            value_type, _otf2.BASE_DECIMAL, 0, strings[metric.unit],
        )  # fmt: skip
    for number in range(len(d.metrics)):
        # A class for each member: a Metric event names a class and carries all its values.
        _otf2.GlobalDefWriter_WriteMetricClass(
            writer, number, [number], _otf2.METRIC_ASYNCHRONOUS, _otf2.RECORDER_KIND_CPU
        )
