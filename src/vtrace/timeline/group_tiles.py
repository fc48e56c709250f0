# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a timeline above the rows of locations: processes, nodes, all. csrc/kernels/groups.c sums their bins."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from vtrace.timeline.kernels import kernels

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_pointer = ctypes.c_void_p
_library = kernels(
    vt_group_new=(_pointer, [_pointer, ctypes.c_int64]),
    vt_group_free=(None, [_pointer]),
    vt_group_add=(ctypes.c_int, [_pointer, _pointer]),
    vt_group_join=(ctypes.c_int, [_pointer, _pointer]),
    vt_group_tiles=(ctypes.c_int, [_pointer, _pointer]),
)
PROCESS, NODE, ALL = "process", "node", "all"


class RowGroup(NamedTuple):
    """The locations of a process, a node or the trace. kind: PROCESS, NODE or ALL; number: row of trace.processes or of
    trace.nodes (-1: unknown), 0 for ALL; members: rows of trace.locations, ascending; row: of the group's tiles. Groups
    with the same members have the same row; a group of one location has the location's row."""

    kind: str
    number: int
    members: tuple[int, ...]
    row: int


def row_groups(trace: Source) -> list[RowGroup]:
    """The groups of processes, of nodes, and of all locations, in this order."""
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    nodes = trace.groups["node"].tolist()
    groups = trace.locations["group"].tolist()
    for location, process in enumerate(trace.places.process.tolist()):
        node = nodes[groups[location]] if groups[location] >= 0 else -1
        if process >= 0:
            members[PROCESS, process].append(location)
        members[NODE, node].append(location)
        members[ALL, 0].append(location)
    order = {PROCESS: 0, NODE: 1, ALL: 2}
    rows: dict[tuple[int, ...], int] = {}
    found, free = [], trace.locations.rows
    for (kind, number), each in sorted(members.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        same = tuple(each)
        if same not in rows:
            rows[same] = each[0] if len(each) == 1 else free
            free += len(each) > 1
        found.append(RowGroup(kind, number, same, rows[same]))
    return found


def summed(groups: list[RowGroup]) -> list[RowGroup]:
    """The groups with tiles of their own, each once, ascending by row: inner groups before outer ones."""
    found = {group.row: group for group in groups if len(group.members) > 1}
    return [found[row] for row in sorted(found)]


class _OpenGroup:
    """A group with unfinished members. around: the group that gets its sums; left: the number of unfinished members,
    which are inner groups, and locations outside of these."""

    def __init__(self, row: int) -> None:
        self.row, self.left = row, 0
        self.sums: Any = None
        self.around: _OpenGroup | None = None


class GroupTiles:
    """Adds locations to their groups. Calls `finished` with a group when all members are done, and drops the group."""

    def __init__(self, trace: Source, sizes: Sequence[int], finished: Callable[[int, Any], None]) -> None:
        """sizes: of the locations; finished: called with the row of a group and its struct vt_group."""
        self._end, self._finished, self._lock = trace.duration, finished, Lock()
        self._inner: dict[int, _OpenGroup] = {}
        outer: dict[int, _OpenGroup] = {}
        keys: list[list[int]] = [[-size, location] for location, size in enumerate(sizes)]
        for group in summed(row_groups(trace)):
            made = _OpenGroup(group.row)
            size = sum(sizes[location] for location in group.members)
            for location in group.members:
                keys[location][:0] = [-size, group.row]
                self._inner.setdefault(location, made)
                below = outer.get(location)
                if below is None or below.around is None:
                    made.left += 1
                if below is not None:
                    below.around = made
                outer[location] = made
        self.order = sorted(range(len(keys)), key=keys.__getitem__)
        """All locations in the order of reading: a group's locations together, so few groups are open; the largest
        first."""

    def has(self, location: int) -> bool:
        """True if a location belongs to a group with tiles of its own."""
        return location in self._inner

    def add(self, location: int, pyramid: Any) -> None:
        """Adds a location whose events have all been read."""
        if (group := self._inner.get(location)) is None:
            return
        with self._lock:
            if group.sums is None:
                group.sums = self._new(pyramid)
            if _library().vt_group_add(group.sums, pyramid):
                raise MemoryError
            while group is not None:
                group.left -= 1
                if group.left:
                    return
                group = self._end_group(group, pyramid)

    def _new(self, pyramid: Any) -> Any:
        found = _library().vt_group_new(pyramid, self._end)
        if not found:
            raise MemoryError
        return found

    def _end_group(self, group: _OpenGroup, pyramid: Any) -> _OpenGroup | None:
        """Adds the sums of a finished group to the enclosing group, and returns that group."""
        around = group.around
        if around is not None:
            if around.sums is None:
                around.sums = self._new(pyramid)
            if _library().vt_group_join(around.sums, group.sums):
                raise MemoryError
        self._finished(group.row, group.sums)
        _library().vt_group_free(group.sums)
        group.sums = None
        return around


def fill(sums: Any, pyramid: Any) -> None:
    """Builds the pyramid of a group."""
    if _library().vt_group_tiles(sums, pyramid):
        raise MemoryError
