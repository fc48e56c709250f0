# SPDX-License-Identifier: BSD-3-Clause
"""Sums the bins of locations to the bins of processes, nodes and the whole trace with csrc/kernels/groups.c."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from vtrace.io.archive.reader_abi import readback
from vtrace.io.common.schema import Prototypes, declare
from vtrace.timeline.row_groups import row_groups, summed

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_pointer = ctypes.c_void_p
_OWN: Prototypes = {
    "vt_group_new": (_pointer, [_pointer, ctypes.c_int64]),
    "vt_group_free": (None, [_pointer]),
    "vt_group_add": (ctypes.c_int, [_pointer, _pointer]),
    "vt_group_join": (ctypes.c_int, [_pointer, _pointer]),
    "vt_group_tiles": (ctypes.c_int, [_pointer, _pointer]),
}


@cache
def _library() -> ctypes.CDLL:
    declare(readback(), _OWN)
    return readback()


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
