# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's tables for mapping ids and ticks of one location to those of the archive."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtrace.io.common.arrays import Array
from vtrace.io.local.records import SCHEMA, UNMAPPED

U1 = np.ndarray[Any, np.dtype[np.uint8]]
U4 = np.ndarray[Any, np.dtype[np.uint32]]
U8 = np.ndarray[Any, np.dtype[np.uint64]]

_EMPTY1, _EMPTY4, _EMPTY8 = np.empty(0, np.uint8), np.empty(0, np.uint32), np.empty(0, np.uint64)


def empty1() -> U1:
    return _EMPTY1


def empty4() -> U4:
    return _EMPTY4


def empty8() -> U8:
    return _EMPTY8


@dataclass(slots=True)
class Maps:
    """Maps ids and ticks of one location to those of the archive. UNMAPPED: the archive has no such id."""

    knot_ticks: U8
    """With knot_ns: ticks (ascending, at least two) and their ns since the archive's zero (not descending). Times are
    linear in between and beyond both ends, rounded down."""
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
    """By local id: 1 for regions that the program begins and ends itself; empty: none."""
    comms: U4 = field(default_factory=empty4)
    """By local id. Events of an unmapped communicator are left out, and counted as unmapped."""
    comm_peer_offset: U4 = field(default_factory=empty4)
    """By local id: added to peer and root (inter-communicators); empty: 0."""
    comm_ranks: U4 = field(default_factory=empty4)
    """By local id: the rank of the process itself. Only the repair uses the ranks."""
    metrics: U4 = field(default_factory=empty4)
    """By local id; metric_types has OTF2's types (UINT64 4, INT64 8, DOUBLE 10)."""
    metric_types: U1 = field(default_factory=empty1)
    metric_sizes: U1 = field(default_factory=empty1)
    """By local id of a group of metrics: their number; 0: not a group."""
    windows: U4 = field(default_factory=empty4)
    """By local id, like the next three; events of unmapped ids are left out, and counted."""
    window_peer_offset: U4 = field(default_factory=empty4)
    """As for communicators; UNMAPPED: a peer is the number of a location."""
    location_ranks: U4 = field(default_factory=empty4)
    """By number of a location: its rank in the windows of devices."""
    rank_groups: U4 = field(default_factory=empty4)
    files: U4 = field(default_factory=empty4)
    handles: U4 = field(default_factory=empty4)
    strings: U4 = field(default_factory=empty4)
    teams: U4 = field(default_factory=empty4)
    """By local id; team_first: index of the first member in team_members."""
    team_first: U4 = field(default_factory=empty4)
    team_members: U4 = field(default_factory=empty4)
    """The locations of the process in all teams, ascending in each."""
    team_joined: U8 = field(default_factory=empty8)
    """By member: end of its last wait for the end of a team, in ticks; 0: unknown."""
    attributes: U4 = field(default_factory=empty4)
    """By local id; attribute_types has OTF2's types."""
    attribute_types: U1 = field(default_factory=empty1)
    heap_attributes: int = UNMAPPED
    """Attribute of an allocated size; the attributes of a freed size, an argument's address and a result's address
    follow."""
    user_comms: U4 = field(default_factory=empty4)
    """By local id."""
    user_peers: U4 = field(default_factory=empty4)
    """By message of the user API, in the location's order: rank of the other end; UNMAPPED: none."""
    shift_ns: U8 = field(default_factory=empty8)
    """Times (ns, ascending) from which on the clock is put forward by shifts: csrc/otf2_writer/times.h."""
    shifts: U8 = field(default_factory=empty8)
    thread_comm: int = UNMAPPED
    """Communicator of the process's threads."""
    is_forked: bool = False
    """The process is a forked child, which leaves calls that its parent has entered."""

    def pointers(self) -> tuple[ctypes.Structure, list[Array]]:
        """struct vt_maps, and the arrays that must live as long. Raises ValueError for bad lengths."""
        found, keep = _Pointers(), []
        for first, count, second in _TABLES:
            values = getattr(self, first)
            size = len(values)
            if not size:  # most tables of most processes are empty
                continue
            setattr(found, count, size)
            keep.append(_point(found, POINTED, first, values))
            if second:
                others = getattr(self, second)
                if not len(others) and second in _MAY_LACK:
                    others = np.zeros(size, np.uint32)
                if len(others) != size:
                    raise ValueError(f"{second} has {len(others)} entries, {first} {size}")
                keep.append(_point(found, POINTED, second, others))
        for name in ("unknown_region", "heap_attributes", "thread_comm", "is_forked"):
            setattr(found, name, getattr(self, name))
        return found, keep


@dataclass(slots=True)
class SampleMaps:
    """Maps the frames and weights of one process's samples, and the calling contexts of one location, to those of the
    archive. A step is a region, or a region and a line: FrameSteps in unify/merge/sample_frames.py."""

    frames: U8 = field(default_factory=empty8)
    """Ascending; frame_kinds has their kinds (FRAME_KINDS), frame_names the numbers of their functions' names."""
    frame_kinds: U1 = field(default_factory=empty1)
    frame_names: U4 = field(default_factory=empty4)
    """0: no region has the name."""
    frame_first: U4 = field(default_factory=empty4)
    """By frame, and for the end: the first of its steps in frame_steps."""
    frame_steps: U4 = field(default_factory=empty4)
    """By frame: the functions that are inlined into each other, outermost first."""
    region_names: U4 = field(default_factory=empty4)
    """By local id: the name of a region in which no code of the program runs, or 0."""
    weights: U8 = field(default_factory=empty8)
    """Ascending; generators has OTF2's interrupt generators."""
    generators: U4 = field(default_factory=empty4)
    contexts: U4 = field(default_factory=empty4)
    """By context of the location, 0 the root: OTF2's number."""

    def pointers(self, rows: Array) -> tuple[ctypes.Structure, list[Array]]:
        """struct vt_sampled for rows of samples, and the arrays that must live as long."""
        found, keep = _Sampled(), [rows]
        found.rows, found.nrows = rows.ctypes.data, len(rows)
        for name in SAMPLED:
            keep.append(_point(found, SAMPLED, name, getattr(self, name)))
        for count, name in _COUNTS.items():
            setattr(found, count, len(getattr(self, name)))
        return found, keep


def _point(found: ctypes.Structure, kinds: Mapping[str, Any], name: str, values: Array) -> Array:
    array = np.ascontiguousarray(values, kinds[name])
    setattr(found, name, array.__array_interface__["data"][0])
    return array


_Pointers, _Sampled = SCHEMA.structure("vt_maps"), SCHEMA.structure("vt_sampled")
POINTED, SAMPLED = SCHEMA.pointed("vt_maps"), SCHEMA.pointed("vt_sampled")
_COUNTS = {
    "nframes": "frames", "nframe_steps": "frame_steps", "nregion_names": "region_names", "nweights": "weights",
    "ncontexts": "contexts",
}  # fmt: skip
_TABLES = (
    ("function_offsets", "nfunctions", "function_regions"), ("addresses", "naddresses", "address_regions"),
    ("comms", "ncomms", "comm_peer_offset"), ("regions", "nregions", "user_regions"),
    ("metrics", "nmetrics", "metric_types"), ("windows", "nwindows", "window_peer_offset"),
    ("attributes", "nattributes", "attribute_types"), ("teams", "nteams", "team_first"),
    ("team_members", "nteam_members", "team_joined"), ("knot_ticks", "nknots", "knot_ns"),
    ("shift_ns", "nshifts", "shifts"), ("rank_groups", "nrank_groups", ""), ("files", "nfiles", ""),
    ("handles", "nhandles", ""), ("strings", "nstrings", ""), ("user_comms", "nuser_comms", ""),
    ("user_peers", "nuser_peers", ""), ("comm_ranks", "ncomm_ranks", ""),
    ("metric_sizes", "nmetric_sizes", ""), ("location_ranks", "nlocation_ranks", ""),
)  # fmt: skip
"""An array of struct vt_maps, its length, and another array of this length."""
_MAY_LACK = {"comm_peer_offset", "window_peer_offset", "user_regions"}
"""Arrays that may be empty: all values are 0."""
