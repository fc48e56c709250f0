# SPDX-License-Identifier: BSD-3-Clause
"""I/O: what was opened, read and written through each handle and file, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.io.readback import Rows
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


class _IoPart(Part):
    def __init__(self) -> None:
        self.sums: dict[int, Array] = {}
        self.begun: dict[tuple[int, int], tuple[int, int]] = {}

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
        """Begins and ends join by handle and matching id; most lie one behind the other in a batch."""
        found = dict(present(batch, "IoOperationBegin", "IoOperationComplete", "IoOperationCancelled"))
        begins = found.get("IoOperationBegin")
        if begins is not None:
            keys = zip(begins["ref"].tolist(), begins["matching"].tolist(), strict=True)
            values = zip(begins["time"].tolist(), begins["mode"].tolist(), strict=True)
            self.begun |= dict(zip(keys, values, strict=True))
        for key, done in (("IoOperationCancelled", False), ("IoOperationComplete", True)):
            if key in found:
                self.finish(found[key], done)

    def finish(self, ends: dict[str, Array], done: bool) -> None:
        keys = zip(ends["ref"].tolist(), ends["matching"].tolist(), strict=True)
        known = [self.begun.pop(key, (-1, -1)) for key in keys]
        times, modes = np.array(known, np.int64).T
        usable = (modes >= 0) & (modes < _MODES)
        handles, modes, times, ended = ends["ref"][usable], modes[usable], times[usable], ends["time"][usable]
        self.count(handles, ended - times, _TIMES + modes)
        if not done:
            self.count(handles, np.ones(len(handles), np.int64), _CANCELLED)
            return
        self.count(handles, np.ones(len(handles), np.int64), _READS + modes)
        moved = modes < 2
        self.count(handles[moved], ends["bytes"][usable][moved].astype(np.int64), _BYTES + modes[moved])


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
