# SPDX-License-Identifier: BSD-3-Clause
"""What goes into the kernel and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

UNMAPPED = 0xFFFFFFFF
"""In a map: there is no OTF2 id for this one."""

U1 = np.ndarray[Any, np.dtype[np.uint8]]
U4 = np.ndarray[Any, np.dtype[np.uint32]]
U8 = np.ndarray[Any, np.dtype[np.uint64]]


_EMPTY1, _EMPTY4, _EMPTY8 = np.empty(0, np.uint8), np.empty(0, np.uint32), np.empty(0, np.uint64)
_NO_MESSAGES = np.empty((0, 3), np.uint64)


def empty1() -> U1:
    return _EMPTY1


def empty4() -> U4:
    return _EMPTY4


def empty8() -> U8:
    return _EMPTY8


def no_messages() -> U8:
    return _NO_MESSAGES


@dataclass(slots=True)
class Scan:
    """What a location's records name, each array ascending, and when they begin and end (ticks)."""

    functions: U4
    """Offsets in the code space."""
    addresses: U8
    """Of functions without a place in the code space."""
    regions: U4
    """Local ids, as of comms and handles."""
    comms: U4
    handles: U4
    first_ticks: int
    last_ticks: int
    memory: bool
    """Whether any tell of the heap."""
    threads: bool = False
    """Whether any may tell of threads that begin and end."""
    messages: U8 = field(default_factory=no_messages)
    """Of the user API, in their order: ticks, local communicator (+ 2**32 where it is received), tag."""
    stored: int = 0
    """Bytes of the blocks."""
    classes: int = 0
    """Classes of records that they may have."""


@dataclass(slots=True)
class Maps:
    """From one location's ids and ticks to the archive's. UNMAPPED stands for "no such id in the archive"."""

    knot_ticks: U8
    """With knot_ns: ticks (ascending, at least two) and their ns since the archive's zero (not descending). Linear in
    between and beyond both ends, rounded down."""
    knot_ns: U8
    unknown_region: int
    """Region of a function or region that is not mapped."""
    function_offsets: U4 = field(default_factory=empty4)
    """Ascending; function_regions has their regions."""
    function_regions: U4 = field(default_factory=empty4)
    addresses: U8 = field(default_factory=empty8)
    """Ascending; address_regions has their regions."""
    address_regions: U4 = field(default_factory=empty4)
    regions: U4 = field(default_factory=empty4)
    """By local id."""
    user_regions: U1 = field(default_factory=empty1)
    """By local id: 1 for those that the program begins and ends itself; empty: none."""
    comms: U4 = field(default_factory=empty4)
    """By local id. Events of an unmapped communicator are left out, and counted as unmapped."""
    comm_peer_offset: U4 = field(default_factory=empty4)
    """By local id: added to peer and root (inter-communicators); empty: 0."""
    comm_ranks: U4 = field(default_factory=empty4)
    """By local id: the rank of the process itself. Only the repair wants them."""
    metrics: U4 = field(default_factory=empty4)
    """By local id; metric_types has OTF2's types (UINT64 4, INT64 8, DOUBLE 10)."""
    metric_types: U1 = field(default_factory=empty1)
    windows: U4 = field(default_factory=empty4)
    """By local id, as the next three; events of what is not mapped are left out, and counted."""
    window_peer_offset: U4 = field(default_factory=empty4)
    """As of communicators."""
    rank_groups: U4 = field(default_factory=empty4)
    files: U4 = field(default_factory=empty4)
    handles: U4 = field(default_factory=empty4)
    strings: U4 = field(default_factory=empty4)
    teams: U4 = field(default_factory=empty4)
    """By local id; team_first says where its members begin in team_members."""
    team_first: U4 = field(default_factory=empty4)
    team_members: U4 = field(default_factory=empty4)
    """Of all teams: locations of the process, ascending in each."""
    team_joined: U8 = field(default_factory=empty8)
    """Of each member: ticks until which it waited when it last waited for the end of a team, 0: not known."""
    attributes: U4 = field(default_factory=empty4)
    """By local id; attribute_types has OTF2's types."""
    attribute_types: U1 = field(default_factory=empty1)
    heap_attributes: int = UNMAPPED
    """Attribute of a size that is allocated; those of a size that is freed, of an argument's address and of a result's
    follow it."""
    user_comms: U4 = field(default_factory=empty4)
    """By local id."""
    user_peers: U4 = field(default_factory=empty4)
    """Of each message of the user API, in the location's order: rank of the other end; UNMAPPED: there is none."""
    shift_ns: U8 = field(default_factory=empty8)
    """From which ns on the clock is put forward by shifts, ascending: csrc/otf2_writer/times.h."""
    shifts: U8 = field(default_factory=empty8)
    thread_comm: int = UNMAPPED
    """Communicator of the process's threads."""


@dataclass(slots=True)
class Transcoded:
    """What was written for one location. Times in ns since the archive's zero."""

    counts: dict[str, int]
    """OTF2 event name ("Enter", "MpiSend" ...) -> how many; only those that occur."""
    first_ns: int
    """Of the first event."""
    last_ns: int
    """Of the last record, an event that was left out included; no event is later."""
    events: int
    lost: int
    """Events that were never recorded (LOST records)."""
    clamped: int
    """Times that would have run backwards, set to the event before."""
    unmapped: int
    closed: int
    """Regions that were still open at the end, at a hole, or when another thread took the location."""
    stray_leaves: int
    """Leaves without an enter, left out."""
    flush_ns: int
    off_ns: int
    limit_ns: int | None
    """When the location stopped recording, all or some classes of records, for good."""
    flushes: int
    limit_why: int = 0
    """Why it did (records.LOST_REASONS)."""
    limit_classes: int = 0
    """Classes of records (CLASS_...) that it then left out, CLASS_ALL: all; 0: it did not stop."""
    lost_by: dict[int, int] = field(default_factory=dict)
    """The same by reason (records.LOST_REASONS; 0 another one)."""
    dropped: int = 0
    """Records that a flight recorder (VT_MODE=RING) has overwritten."""
    dropped_ns: int = 0
    """When the last of them was over: from here on the location is recorded."""
    unended: int = 0
    """Regions of the user API that the program began and did not end."""
    unbegun: int = 0
    """Ends of such regions that it did not begin, left out."""
    unmatched: int = 0
    """Messages of the user API without another end, left out."""
    notes: Sequence[tuple[int, int, int]] = ()
    """Markers and comments: ns, local marker (UNMAPPED: a comment), local text."""
    gaps: Sequence[tuple[int, int, int, int, int, int]] = ()
    """When it did not record: from, to (records.GAP_OPEN: until the end of the process), ns of it, count of events
    (records.GAP_UNKNOWN), CLASS_ bits, reason (records.LOST_REASONS and GAP_REASONS)."""
