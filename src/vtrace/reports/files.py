# SPDX-License-Identifier: BSD-3-Clause
"""I/O: what was opened, read and written through each handle and file, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.io.batches import Rows
from vtrace.reports.details import number, present
from vtrace.reports.scan import Part, Question, Replay
from vtrace.reports.table import Array, Table, add_up, group

if TYPE_CHECKING:
    from vtrace.reports.base import TraceBase

_SUMS = "opens closes seeks reads writes flushes bytes_read bytes_written read_ns write_ns flush_ns cancelled".split()
_OPENS, _CLOSES, _SEEKS, _READS, _WRITES, _FLUSHES, _BYTES, _, _TIMES = range(9)
_CANCELLED = 11
_MODES = 3
"""OTF2's operation modes: READ 0, WRITE 1, FLUSH 2; as many columns of counts and of times in that order."""
_OPERATION = ("IoOperationBegin", "IoOperationComplete", "IoOperationCancelled")
_DONE = 1
_UNKNOWN = np.uint64(2**64 - 1)
_POINT = np.dtype("u4, u8, i8, i8, u1, u8")
_POINT.names = ("handle", "matching", "time", "row", "kind", "value")
"""A begin (value: mode) or an end (value: bytes) of an operation; kind: place in _OPERATION."""


class _IoPart(Part):
    def __init__(self) -> None:
        self.sums: dict[int, Array] = {}
        self.open = np.empty(0, _POINT)

    def batch(self, batch: Rows, replay: Replay | None) -> None:
        closed = batch.ref[batch.kind == number("IoDestroyHandle")]
        self.count(closed, np.ones(len(closed), np.int64), _CLOSES)
        kinds = {"IoCreateHandle": _OPENS, "IoSeek": _SEEKS}
        for kind, found in present(batch, *kinds):
            self.count(found["ref"], np.ones(len(found["ref"]), np.int64), kinds[kind])
        for _, found in present(batch, "IoDuplicateHandle"):
            self.count(found["duplicate"], np.ones(len(found["ref"]), np.int64), _OPENS)
        self.operations(batch)

    def count(self, handles: Array, values: Array, column: Array | int) -> None:
        if not len(handles):
            return
        first, member = group([handles])
        places = member * len(_SUMS) + column
        sums = add_up(places, values, len(first) * len(_SUMS)).reshape(len(first), len(_SUMS))
        for handle, row in zip(handles[first].tolist(), sums, strict=True):
            self.sums[handle] = self.sums[handle] + row if handle in self.sums else row

    def operations(self, batch: Rows) -> None:
        """Begins and ends join by handle and matching id: an end belongs to the begin that is next before it."""
        found = dict(present(batch, *_OPERATION))
        if not found:
            return
        rows = [self.open]
        for kind, name in enumerate(_OPERATION):
            if name in found:
                part = np.zeros(len(found[name]["time"]), _POINT)
                part["handle"], part["matching"], part["time"] = (found[name][n] for n in ("ref", "matching", "time"))
                part["row"], part["kind"] = found[name]["row"], kind
                part["value"] = found[name]["mode" if kind == 0 else "bytes"] if kind < 2 else 0
                rows.append(part)
        points = np.concatenate(rows)
        points = points[np.lexsort((points["row"], points["matching"], points["handle"]))]
        same = (points["handle"][1:] == points["handle"][:-1]) & (points["matching"][1:] == points["matching"][:-1])
        begins, ends = points[:-1], points[1:]
        joined = same & (begins["kind"] == 0) & (ends["kind"] > 0) & (begins["value"] < _MODES)
        self.finish(begins[joined], ends[joined])
        waiting = (points["kind"] == 0) & ~np.append(same, False)
        self.open = points[waiting]
        self.open["row"] = -1

    def finish(self, begins: Array, ends: Array) -> None:
        handles, modes = ends["handle"], begins["value"].astype(np.int64)
        done = ends["kind"] == _DONE
        self.count(handles, ends["time"] - begins["time"], _TIMES + modes)
        self.count(handles[~done], np.ones(np.count_nonzero(~done), np.int64), _CANCELLED)
        self.count(handles[done], np.ones(np.count_nonzero(done), np.int64), _READS + modes[done])
        moved = done & (modes < 2)
        told = np.where(ends["value"] == _UNKNOWN, 0, ends["value"]).astype(np.int64)
        self.count(handles[moved], told[moved], _BYTES + modes[moved])


class Io(Question):
    """Table of Trace.io."""

    kinds = frozenset(
        "IoCreateHandle IoDestroyHandle IoDuplicateHandle IoSeek IoOperationBegin IoOperationComplete "
        "IoOperationCancelled".split()
    )

    def part(self, trace: TraceBase, location: int) -> Part:
        return _IoPart()

    def table(self, trace: TraceBase) -> Table:
        rows = [
            (location, handle, *sums.tolist())
            for location, part in self.parts.items()
            if isinstance(part, _IoPart)
            for handle, sums in sorted(part.sums.items())
        ]
        columns = np.array(rows, np.int64).reshape(len(rows), len(_SUMS) + 2).T
        handles = trace.definitions.ids["io_handles"].rows(columns[1])
        files = np.append(trace.io_handles["file"], -1)[handles]
        return Table(
            {"location": columns[0], "handle": handles, "file": files, **dict(zip(_SUMS, columns[2:], strict=True))}
        )


def reduce_io(table: Table, *keys: str) -> Table:
    """The rows of Trace.io joined where all keys (location, handle, file) are equal."""
    first, member = group([table[key] for key in keys] or [np.zeros(table.rows, np.int64)])
    found = {key: table[key][first] for key in keys}
    for name in _SUMS:
        found[name] = add_up(member, table[name], len(first))
    return Table(found)
