# SPDX-License-Identifier: BSD-3-Clause
"""The definitions of one process: the arrays of its definition chunks, checked and sorted by kind."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from vtrace.errors import FormatError
from vtrace.io.common.interning import same, same_entry, same_table, share_empty
from vtrace.io.local.records import DEFINITIONS
from vtrace.symbols.modules import Module
from vtrace.unify.model.shapes import fits, fits_plain

HELPER = "helper."
"""Prefix of properties with the library that made a thread for itself; the location's number follows."""
LANE = "lane."
"""Prefix of properties of locations without a thread, for ranges of annotations; the location's number follows."""
STREAM, DEVICE = "stream.", "device."
"""Prefixes of properties of streams of devices, with the stream's name and the device's; the location's number
follows."""
UNSAMPLED = "unsampled."
"""Prefix of properties of locations that stopped sampling: ticks of the stop, and the reason."""
UNCOUNTED = "uncounted."
"""The same for counters."""
ITERATIONS = "iterations."
"""Prefix of properties of locations with numbers of iterations: of all, and of those that are left out (VT_KEEP)."""
ENDED = "ended."
"""Prefix of properties with the number of the signal that ended a child; the child's process id follows."""
LEFT_OUT = "left_out."
"""Prefix of properties with the reason why a process leaves out events: ticks of the begin, and their classes."""
OVERHEAD = "overhead."
"""Prefix of properties of a change of the functions that a process leaves out (csrc/funwrap/left_out.c); its number
follows."""
COUNTING = "overhead.counting"
"""The property with the process id, and the tenths of ns that a count of a call of such a function takes."""
EXCEEDED = "overhead.exceeded"
"""The property with the process id, and ticks and part in % since which recording takes more than VT_BUDGET."""
REFUSED = "refused."
"""Prefix of properties with the reason why a counter is not recorded; its name follows."""
NO_PYTHON = "missing.python"
"""The property with the reason why Python functions are not recorded (csrc/userwrap/python.c)."""


class LocalRegion(NamedTuple):
    """A region with a name of its own (not a function address). paradigm and role have OTF2's numbers."""

    name: str
    paradigm: int
    role: int
    file: str | None
    line: int
    description: str | None = None


class LocalComm(NamedTuple):
    """A communicator as one member saw its creation. serial: count of format.h; remote: size of the other group, 0 if
    there is none."""

    kind: int
    parent: int | None
    tag: int | str
    hash: int
    serial: int
    size: int
    rank: int
    remote: int


class CommMembers(NamedTuple):
    """A piece of a communicator's list of members: ranks of one world (u32 bytes), from index first on."""

    first: int
    world: int
    ranks: bytes


class CommGrid(NamedTuple):
    """The shape of a communicator of MPI_Cart_create. lengths: of its dimensions (u32 bytes); periodic: bit n is set if
    dimension n is periodic."""

    lengths: bytes
    periodic: int


class CommPeer(NamedTuple):
    """The view of a leader of MPI_Intercomm_create. peer: the peer communicator; leader: the other leader's rank in
    it."""

    peer: int
    leader: int


class LocalMetric(NamedTuple):
    """A counter. type: u, i or f; mode: a (accumulated), p (point) or n (holds until the next)."""

    name: str
    unit: str
    type: str
    mode: str
    per_process: bool


class MetricGroup(NamedTuple):
    """Counters whose unsigned values are read at one moment, at most seven. modes: as of LocalMetric, one letter
    each. at_calls: read at each chosen call, not by time."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    descriptions: tuple[str, ...]
    modes: str
    at_calls: bool


class Summary(NamedTuple):
    """The counts of a location when the runtime completed its files; times are ticks."""

    records: int
    lost: int
    flushes: int
    flush_ticks: int
    off_ticks: int
    clamped: int
    last: int
    stopped: int
    """Reason why the location stopped before its end (records.LOST_REASONS); 0: it recorded to its end."""
    usage: bytes | None = None
    """Numbers (u64) of struct vt_usage (csrc/core/location.h), or the first two of them; None: not known."""


class LocalAttribute(NamedTuple):
    """The meaning of a value that belongs to an event. type: OTF2_Type."""

    name: str
    description: str
    type: int


class Handle(NamedTuple):
    """An open file. name None: that of the file, without directory. paradigm: of records.IO_PARADIGMS; flags:
    OTF2_IoHandleFlag; comm, parent: local ids; access and status: of a handle that was open before recording began,
    else None."""

    name: str | None
    file: int | None
    paradigm: int
    flags: int
    comm: int | None
    parent: int | None
    access: int | None
    status: int | None


class LocalWindow(NamedTuple):
    """A window of one-sided communication. serial: number of earlier ones of the communicator."""

    comm: int
    serial: int


class DeviceWindow(NamedTuple):
    """A window for copies of devices, whose members are all locations of the process. paradigm: OTF2's number."""

    name: str
    paradigm: int


class MembersPiece(NamedTuple):
    """A piece of a group's list of members: ranks in a communicator (u32 bytes), from index first on."""

    comm: int
    first: int
    ranks: bytes


class RegionAt(NamedTuple):
    """A region with a place in the source that follows from an address in the code. name: of an OpenMP construct, else
    the full name of the region."""

    name: str
    paradigm: int
    role: int
    address: int


class TeamMember(NamedTuple):
    """A location in a team. thread: its number in the team; creator: the location that forks the team; joined: ticks of
    the join that ended the location's last wait, 0 if unknown."""

    thread: int
    creator: int
    joined: int


class ClockOffset(NamedTuple):
    """A comparison with the clock of another rank of the world. ticks, peer_ticks: of both clocks at one moment; error:
    ticks by which the two moments may differ."""

    ticks: int
    peer: int
    peer_ticks: int
    error: int


class Sampling(NamedTuple):
    """The sampling of a process. clock: one of vt_sample_clock; period: mean time between two samples of a thread, and
    tick: of the kernel, both in ns. event: the name of the event that is counted, and period the number; else None.
    sidecar: 1 if the samples are to be beside the archive's events (VT_SAMPLE_SIDECAR)."""

    clock: int
    period: int
    tick: int
    signal: int
    event: str | None = None
    sidecar: int | None = None


class PythonCode(NamedTuple):
    """A code object of CPython. line: its first line; lines: its co_linetable, empty if unknown."""

    name: str
    file: str
    line: int
    lines: bytes


class SampleSums(NamedTuple):
    """The samples of a location when the runtime completed its files. weight: ns; ends: bytes of a number (u64) for
    each of vt_sample_end."""

    samples: int
    weight: int
    overruns: int
    lost: int
    overwritten: int
    ends: bytes


class UserMarker(NamedTuple):
    """A kind of markers. severity: one of records.MARKERS."""

    name: str
    severity: int


@dataclass(slots=True)
class ProcessDefinitions:
    """All definitions of one process; keys are the process's own ids. Dictionaries do not change after reading, and
    processes share equal ones."""

    properties: dict[str, Any] = field(default_factory=dict)
    regions: dict[int, LocalRegion] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    comms: dict[int, LocalComm] = field(default_factory=dict)
    members: dict[tuple[int, int], list[CommMembers]] = field(default_factory=dict)
    comm_names: dict[int, str] = field(default_factory=dict)
    grids: dict[int, CommGrid] = field(default_factory=dict)
    """By communicator; only rank 0 of a grid knows its shape."""
    comm_peers: dict[int, CommPeer] = field(default_factory=dict)
    """By inter-communicator; only the leader of its own group knows the peer."""
    locations: dict[int, str | None] = field(default_factory=dict)
    first_ticks: dict[int, int] = field(default_factory=dict)
    """Of each location: the time of its first event, which a flight recorder may have overwritten."""
    threads: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The kernel's ids of the threads of each location, one after the other."""
    metrics: dict[int, LocalMetric] = field(default_factory=dict)
    metric_groups: dict[int, MetricGroup] = field(default_factory=dict)
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    summaries: dict[int, Summary] = field(default_factory=dict)
    attributes: dict[int, LocalAttribute] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    handles: dict[int, Handle] = field(default_factory=dict)
    inherited: set[int] = field(default_factory=set)
    """Handles of the parent that were open when the process began."""
    windows: dict[int, LocalWindow] = field(default_factory=dict)
    window_names: dict[int, str] = field(default_factory=dict)
    device_windows: dict[int, DeviceWindow] = field(default_factory=dict)
    groups: dict[int, list[MembersPiece]] = field(default_factory=dict)
    regions_at: dict[int, RegionAt] = field(default_factory=dict)
    teams: dict[tuple[int, int], TeamMember] = field(default_factory=dict)
    """By team and location."""
    thread_numbers: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    """The teams of each location, each with the thread number there; a location may have several in a team."""
    lost: dict[tuple[int, int], int] = field(default_factory=dict)
    """Lost events that no record counts, by location and reason (LOST_REASONS)."""
    call_sites: dict[int, tuple[int, ...]] = field(default_factory=dict)
    data_sites: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Addresses of calls, by the id of the text with their places."""
    call_times: dict[int, dict[tuple[int, int | None], tuple[int, int]]] = field(default_factory=dict)
    """Number and ticks of long calls, by location; by region, and id of the text with their place (None: others)."""
    offsets: list[ClockOffset] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    markers: dict[int, UserMarker] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    user_comms: dict[int, str] = field(default_factory=dict)
    sampling: list[Sampling] = field(default_factory=list)
    """One item, or none for a process without samples."""
    samples: dict[int, SampleSums] = field(default_factory=dict)
    python_codes: dict[int, PythonCode] = field(default_factory=dict)
    members_of: dict[tuple[int, int], str] = field(default_factory=dict)
    """Names of the user's groups, by the kind (DEFINITIONS: REGION or METRIC) and id of a member."""


def read(arrays: Iterable[list[Any]], origin: str) -> ProcessDefinitions:
    """Returns the definitions of decoded arrays.

    Raises FormatError, which names origin, for an array that is no definition of this format.
    """
    found = ProcessDefinitions()
    for array in arrays:
        if fits_plain(array):
            key, text = same_entry(array[1], array[2])
            found.properties[key] = text
            continue
        kind = fits(array)
        if kind is None:
            name = {number: name for name, number in DEFINITIONS.items()}.get(array[0], "unknown number")
            raise FormatError(f"{origin}: a definition ({name}) has a wrong shape", "the file is damaged")
        values = [*array[1:], None] if kind == "REGION" and len(array) == 7 else array[1:]
        _add(found, kind, values)
    for name in ("regions", "metrics", "metric_groups", "attributes"):  # the same in all processes of a program
        setattr(found, name, same_table(getattr(found, name)))
    share_empty(found, but="properties")
    return found


def _shared(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: same(kind(*values))


_TABLES: dict[str, tuple[str, Callable[..., Any]]] = {
    "REGION": ("regions", _shared(LocalRegion)), "COMM": ("comms", LocalComm), "COMM_NAME": ("comm_names", str),
    "COMM_GRID": ("grids", CommGrid), "COMM_PEER": ("comm_peers", CommPeer), "SUMMARY": ("summaries", Summary),
    "METRIC": ("metrics", _shared(LocalMetric)), "ATTRIBUTE": ("attributes", _shared(LocalAttribute)),
    "IO_FILE": ("files", _shared(str)), "IO_HANDLE": ("handles", _shared(Handle)), "RMA_WIN": ("windows", LocalWindow),
    "RMA_WIN_NAME": ("window_names", str), "DEVICE_WIN": ("device_windows", DeviceWindow),
    "REGION_AT": ("regions_at", RegionAt), "TEXT": ("texts", _shared(str)),
    "MARKER": ("markers", UserMarker), "USER_COMM": ("user_comms", str), "SAMPLES": ("samples", SampleSums),
    "PYTHON_CODE": ("python_codes", _shared(PythonCode)),
}  # fmt: skip
"""The definitions with an id: their table, and the type of its values."""


def _add(found: ProcessDefinitions, kind: str, values: list[Any]) -> None:
    if kind in _TABLES:
        name, make = _TABLES[kind]
        getattr(found, name)[values[0]] = make(*values[1:])
        return
    match kind:
        case "PROPERTY":
            found.properties[same(values[0])] = same(values[1] if isinstance(values[1], str) else tuple(values[1]))
        case "MODULE":
            found.modules.append(same(Module(*values)))
        case "COMM_MEMBERS":
            found.members.setdefault((values[0], values[1]), []).append(CommMembers(*values[2:]))
        case "LOCATION":
            found.locations[values[0]] = values[2] or found.locations.get(values[0])
            found.first_ticks[values[0]] = values[3]
            found.threads[values[0]] = (*dict.fromkeys((*found.threads.get(values[0], ()), values[1])),)
        case "CLOCK":
            found.pairs.append((values[0], values[1], values[2]))
        case "GROUP":
            found.groups.setdefault(values[0], []).append(MembersPiece(*values[1:]))
        case "TEAM":
            key, member = (values[0], values[1]), TeamMember(*values[2:])
            if member.joined or key not in found.teams:  # locations are in any order
                found.teams[key] = member
            found.thread_numbers.setdefault(values[1], set()).add((values[0], member.thread))
        case "LOST":
            found.lost[values[0], values[1]] = values[2]
        case "CALL_SITE":
            found.call_sites[values[0]] = struct.unpack(f"<{len(values[1]) // 8}Q", values[1][: len(values[1]) & ~7])
        case "DATA_SITE":
            found.data_sites[values[0]] = values[1], values[2]
        case "CALL_TIME":
            found.call_times.setdefault(values[0], {})[values[1], values[2]] = values[3], values[4]
        case "CLOCK_OFFSET":
            found.offsets.append(ClockOffset(*values))
        case "NOTE":
            found.notes.append(values[0])
        case "MEMBER":
            found.members_of[values[0], values[1]] = values[2]
        case "SAMPLING":
            found.sampling = [Sampling(*values)]
        case "METRIC_GROUP":
            names, units, descriptions = (tuple(map(str, texts)) for texts in values[1:4])
            if len({len(names), len(units), len(descriptions), len(values[4])}) == 1 and set(values[4]) <= set("apn"):
                found.metric_groups[values[0]] = same(MetricGroup(names, units, descriptions, *values[4:]))


_INHERITED = (
    "regions", "comms", "members", "comm_names", "grids", "comm_peers", "metrics", "metric_groups", "attributes",
    "files", "handles", "windows", "window_names", "device_windows", "groups", "regions_at", "call_sites", "data_sites",
    "texts", "markers", "user_comms", "members_of", "python_codes",
)  # fmt: skip
"""The tables whose definitions a forked child inherits."""
_TEXTS = ("texts", "call_sites", "data_sites")
"""The tables that share one series of ids."""


@lru_cache(256)
def _of_no_location(properties: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    of_locations = HELPER, STREAM, DEVICE, UNSAMPLED, UNCOUNTED, ITERATIONS, ENDED
    return {key: value for key, value in properties if not key.startswith(of_locations)}


def _joined(own: dict[Any, Any], inherited: dict[Any, Any]) -> dict[Any, Any]:
    """own, with the definitions of inherited that own lacks. If one table is empty, the other one itself: processes
    that share equal tables merge in a fraction of the time."""
    return inherited | own if own and inherited else own or inherited


def inherit(child: ProcessDefinitions, parent: ProcessDefinitions, fork_ticks: int) -> None:
    """Adds to a forked child's definitions those of its parent that the child does not have.

    fork_ticks: the first moment of the child, which does not have the modules that the parent loaded later.
    """
    common = _of_no_location(tuple(parent.properties.items()))
    child.properties = same_table(_joined(child.properties, common))
    child.inherited = parent.handles.keys() - child.handles.keys()
    own_texts = {number for name in _TEXTS for number in getattr(child, name)}
    for name in _INHERITED:
        inherited = getattr(parent, name)
        if name in _TEXTS and not own_texts.isdisjoint(inherited):
            inherited = {number: value for number, value in inherited.items() if number not in own_texts}
        setattr(child, name, _joined(getattr(child, name), inherited))
    child.sampling = child.sampling or parent.sampling
    own = {module.slot for module in child.modules}
    child.modules = [*child.modules, *(m for m in parent.modules if m.ticks <= fork_ticks and m.slot not in own)]
