# SPDX-License-Identifier: BSD-3-Clause
"""The global definitions of an archive: the OTF2 id of a definition is its index in its list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtrace.io.common.arrays import Array

UNDEFINED = 0xFFFFFFFF
PARADIGM_MPI = 4
"""OTF2_PARADIGM_MPI."""
UNDEFINED_TIME = 0xFFFFFFFFFFFFFFFF
SECTION_UNIT = "section"
"""The unit of the metric of a section of the program; csrc/core/format.h has the same word."""
DEFINITION_CHUNK = 256 * 1024
"""Smallest definition chunk of OTF2: with it a local .def file costs 11 us, with the default of 4 MiB 1.5 ms."""
DEFINITION_CHUNK_MAX = 16 * 1024 * 1024
FIRST_STRING = 1
"""OTF2 id of the first of the strings that events refer to; 0 is the empty string."""
STRING_MAX = 60_000
"""A string must fit into a definition chunk; longer names (bytes) are shortened."""


@dataclass
class SystemNode:
    """A machine or host. domain: OTF2's name (MACHINE, SHARED_MEMORY ...) or None."""

    name: str
    class_name: str
    parent: int | None = None
    domain: str | None = None


@dataclass
class LocationGroup:
    """A process on a system node. creator: the process that started it. properties: texts by name. type: PROCESS, or
    ACCELERATOR for a device, whose creator is the process that uses it."""

    name: str
    node: int
    creator: int | None = None
    properties: dict[str, str] = field(default_factory=dict)
    type: str = "PROCESS"


@dataclass
class Location:
    """A thread of a location group. events: number of events written; 0: the number that the archive has counted.
    properties: whole numbers, at least 0, by name."""

    name: str
    group: int
    type: str = "CPU_THREAD"
    events: int = 0
    properties: dict[str, int | str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Region:
    """A function or another piece of code. role, paradigm: OTF2's numbers. line, end_line: 0 unknown."""

    name: str
    canonical: str
    description: str = ""
    role: int = 1
    paradigm: int = 2
    file: str | None = None
    line: int = 0
    end_line: int = 0


@dataclass
class Group:
    """Locations (kind COMM_LOCATIONS: location ids) or ranks in those (COMM_GROUP); none for COMM_SELF."""

    kind: str
    paradigm: int
    name: str = ""
    members: Sequence[int] | Array = ()


@dataclass
class Comm:
    """A communicator over a group. flags: 1 if the communicator has CommCreate and CommDestroy events."""

    name: str
    group: int
    parent: int | None = None
    flags: int = 0


@dataclass
class Grid:
    """A Cartesian topology of a communicator. comm: its number; lengths, periodic: of each dimension. Ranks follow the
    last dimension first (MPI standard, "Cartesian Constructor")."""

    comm: int
    lengths: Sequence[int]
    periodic: Sequence[bool]


@dataclass
class Window:
    """An RMA window, with events of its creation and its destruction."""

    name: str
    comm: int


@dataclass
class IoFile:
    """A file that is the same for all processes below a system node."""

    path: str
    node: int


IO_PARADIGMS = (
    ("POSIX", "POSIX I/O", "SERIAL", "OS"),
    ("ISOC", "ISO C I/O", "SERIAL", "NONE"),
    ("MPI-IO", "MPI-IO", "PARALLEL", "NONE"),
    ("HDF5", "HDF5", "PARALLEL", "NONE"),
)
"""Identification, name, class and flag, as Score-P writes them; defined in an archive that has files or handles."""


@dataclass(kw_only=True)
class IoHandle:
    """An open file. paradigm: index in IO_PARADIGMS; parent: a handle with a smaller id; state: access mode and status
    flags (OTF2's) of a handle that was open before the first event."""

    name: str
    file: int | None
    paradigm: int
    flags: int = 0
    comm: int | None = None
    parent: int | None = None
    state: tuple[int, int] | None = None


@dataclass
class Attribute:
    """The meaning of a value that belongs to an event. type: OTF2's number."""

    name: str
    description: str
    type: int


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A value over time. value_type: "u", "i" or "f"; mode: OTF2's name (ACCUMULATED_START, ABSOLUTE_NEXT ...)."""

    name: str
    description: str = ""
    unit: str = "#"
    value_type: str = "u"
    mode: str = "ABSOLUTE_POINT"


@dataclass
class MetricClass:
    """Metrics with values in one event. threads: recorded by threads, not by a location of type METRIC. occurrence: a
    name of OTF2_MetricOccurrence."""

    metrics: Sequence[int]
    threads: bool = True
    occurrence: str = "ASYNCHRONOUS"


@dataclass
class InterruptGenerator:
    """The origin of samples. period: the ns that each of its samples stands for; counts: the number of events."""

    name: str
    period: int
    counts: bool = False


@dataclass
class Contexts:
    """Calling contexts, a number in each array: region, source code location (UNDEFINED: unknown) and the context
    around it (UNDEFINED: none), which has a smaller number."""

    regions: Array
    lines: Array
    parents: Array


@dataclass
class Marker:
    """A remark at a time (ns since the archive's zero, plus its offset), of one location or of all. group: vtrace, or
    user for remarks of the program; severity: HIGH, MEDIUM, LOW or NONE. scope: OTF2's name of the kind of place if
    this is not a location."""

    time: int
    category: str
    text: str
    location: int | None = None
    group: str = "vtrace"
    severity: str = "MEDIUM"
    duration: int = 0
    scope: str = "LOCATION"


@dataclass
class Definitions:
    """The content of the global definition file.

    resolution: ticks a second of the archive's times; offset: at or before the first; length: of the whole trace in
    ticks; realtime: of offset, in ns since the epoch. comm_groups with COMM_LOCATIONS precede COMM_GROUPs.
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
    grids: list[Grid] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    metric_classes: list[MetricClass] = field(default_factory=list)
    named_groups: list[Group] = field(default_factory=list)
    """Groups of the kinds REGIONS and METRIC (of metric classes); their ids follow those of comm_groups."""
    strings: list[str] = field(default_factory=list)
    """Values of attributes of type STRING: the OTF2 id of the first is FIRST_STRING."""
    attributes: list[Attribute] = field(default_factory=list)
    files: list[IoFile] = field(default_factory=list)
    handles: list[IoHandle] = field(default_factory=list)
    source_lines: Sequence[tuple[str, int]] = ()
    """File and line of each source code location."""
    contexts: Contexts | None = None
    """None for an archive with Enter and Leave."""
    generators: Sequence[InterruptGenerator] = ()
    loops: Sequence[Mapping[str, object]] = ()
    inlined: Sequence[Mapping[str, object]] = ()
    """Loops of sampled functions, and functions inlined into recorded ones; io/archive/properties.py has their form."""
    properties: dict[str, str] = field(default_factory=dict)
    """Archive properties: names of upper-case letters, digits and _, with :: between parts (VTRACE::EVENTS)."""
    creator: str = "vtrace"
    machine: str = ""
    description: str = ""


def chunk_bytes(definitions: Definitions) -> int:
    """Size of definition chunk into which the largest record fits (a power of two times 256 KiB).

    Raises ValueError if a group has more members (some 3 million) than OTF2 can store.
    """
    # A member below 2**32 takes at most 5 bytes.
    largest = max((len(group.members) for group in definitions.comm_groups + definitions.named_groups), default=0)
    size = DEFINITION_CHUNK
    while size < largest * 5 + 4096:
        size *= 2
    if size > DEFINITION_CHUNK_MAX:
        raise ValueError(f"a group of {largest} members does not fit into an OTF2 archive")
    return size


def plain_text(text: str) -> str:
    """text as OTF2 and its readers accept it: valid UTF-8, without NUL, at most STRING_MAX bytes."""
    data = text.replace("\0", " ").encode("utf-8", "replace")
    return data[:STRING_MAX].decode("utf-8", "ignore")
