# SPDX-License-Identifier: BSD-3-Clause
"""I/O: operations, bytes and times of each handle and file, by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, HDF5, ISO_C, LAYERS, MPI_IO, OTHER, nested
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, number, present
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["by_layer", "reduce_io"]

_OWN = (
    "opens closes seeks reads writes flushes bytes_read bytes_written read_ns write_ns flush_ns cancelled "
    "unknown_reads unknown_writes"
).split()
_OPENS, _CLOSES, _SEEKS, _READS, _WRITES, _FLUSHES, _BYTES, _, _TIMES = range(9)
_CANCELLED, _UNKNOWNS = 11, 12
_INNER = len(_OWN)
"""The distance from a column to the same column for operations inside a call of a higher layer."""
_SUMS = _OWN + [f"nested_{name}" for name in _OWN]
_SYSTEM = ("/proc/", "/sys/")
_MODES = 3
"""Number of OTF2's operation modes: READ 0, WRITE 1, FLUSH 2. Columns of counts and of times have this order."""
_OPERATION = ("IoOperationBegin", "IoOperationComplete", "IoOperationCancelled")
_KINDS = ("IoCreateHandle", "IoDestroyHandle", "IoDuplicateHandle", "IoSeek", *_OPERATION)
_DONE = 1
_POINT = np.dtype("u4, u8, i8, i8, u1, u8, u2")
_POINT.names = ("handle", "matching", "time", "row", "kind", "value", "marks")
"""A begin (value: mode) or an end (value: bytes) of an operation; kind: place in _OPERATION."""


class IoSystem:
    """The files of a trace that belong to the system: sockets, and files that libraries read before the program starts,
    that is, before both MPI_Init and the program's first function."""

    def __init__(self, trace: Source) -> None:
        self.ids, self.kinds = trace.definitions.ids["io_handles"], [number(kind) for kind in _KINDS]
        self.layers = np.append(trace.io_handles["layer"], OTHER)
        regions = trace.regions
        init, user = (ACTIVITIES.index(path) for path in ("mpi/management/init", "user"))
        self.begins = np.append(np.isin(regions["activity"], (init, user)) & (regions["id"] >= 0), False)
        """(regions + 1,) True for regions whose first call starts the program. The last row stands for
        undefined regions."""
        names = np.append(trace.files["name"], "")[trace.io_handles["file"]].tolist()
        self.files = np.array([*(name.startswith(_SYSTEM) for name in names), False], bool)
        self.sockets = np.array([*(name.startswith("socket:") for name in names), False], bool)
        self.waits = bool((regions["activity"] == init).any() and self.files.any())
        """True: there are files of the system, and the program starts with MPI_Init or a function."""


class IoPart(Part):
    """The operations of one location, by handle."""

    def __init__(self, trace: Source, location: int, system: IoSystem) -> None:
        self.helper = bool(trace.locations["helper"][location])
        self.system, self.began = system, not system.waits
        self.early: set[int] = set()
        """Handles of the system's files that were opened before the program began."""
        self.sockets: set[int] = set()
        """Sockets that MPI uses inside its calls. MPI's exit handlers use them, too."""
        self.ids, self.layers, self.files = system.ids, system.layers, trace.io_handles["file"]
        self.running = dict.fromkeys((ISO_C, HDF5, OTHER), 0)
        """The number of operations in progress, by layer."""
        self.sums: dict[int, Array] = {}
        self.open = np.empty(0, _POINT)

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert replay is not None
        self.look_for_begin(batch, replay)
        if not any(map(batch.has, self.system.kinds)):
            return
        closed = batch.ref[batch.kind == number("IoDestroyHandle")]
        self.count(closed, np.ones(len(closed), np.int64), _CLOSES)
        kinds = {"IoCreateHandle": _OPENS, "IoSeek": _SEEKS}
        for kind, found in present(batch, *kinds):
            inner = self.inner(found["ref"], found["marks"])
            self.count(found["ref"], np.ones(len(found["ref"]), np.int64), kinds[kind] + inner)
        for _, found in present(batch, "IoDuplicateHandle"):
            inner = self.inner(found["duplicate"], found["marks"])
            self.count(found["duplicate"], np.ones(len(found["ref"]), np.int64), _OPENS + inner)
        self.operations(batch)

    def look_for_begin(self, batch: Batch, replay: Replay) -> None:
        """Finds handles of the system's files. In a window that starts later, the program has begun already."""
        self.began |= replay.fields.from_ > 0
        if self.began:
            return
        enters = np.flatnonzero(batch.kind == number("Enter"))
        regions = np.minimum(batch.ref[enters], len(self.system.begins) - 1)
        first = enters[self.system.begins[regions]][:1]
        for _, made in present(batch, "IoCreateHandle"):
            early = self.system.files[self.ids.rows(made["ref"])]
            early &= made["row"] < first[0] if len(first) else True
            self.early |= {*made["ref"][early].tolist()}
        self.began = bool(len(first))

    def end(self, replay: Replay | None) -> None:
        for handle in self.sockets & self.sums.keys():
            own, inner = np.split(self.sums[handle], 2)
            self.sums[handle] = np.concatenate([0 * own, own + inner])

    def inner(self, handles: Array, marked: Array) -> Array:
        """_INNER for operations inside a call of a higher layer and for operations of a library for itself, else 0."""
        rows = self.ids.rows(handles)
        if self.helper:
            return np.full(len(handles), _INNER, np.int64)
        inside = self.system.sockets[rows] & (marked & 1 << MPI_IO != 0)
        self.sockets |= {*handles[inside].tolist()}
        found = nested(self.layers[rows], marked)
        if self.early:
            found |= np.isin(handles, [*self.early])
        return _INNER * found.astype(np.int64)

    def count(self, handles: Array, values: Array, column: Array | int) -> None:
        if not len(handles):
            return
        first, member = group([handles])
        places = member * len(_SUMS) + column
        sums = add_up(places, values, len(first) * len(_SUMS)).reshape(len(first), len(_SUMS))
        for handle, row in zip(handles[first].tolist(), sums, strict=True):
            self.sums[handle] = self.sums[handle] + row if handle in self.sums else row

    def operations(self, batch: Batch) -> None:
        """Joins begins and ends by handle and matching id: an end belongs to the last begin before it."""
        found = dict(present(batch, *_OPERATION))
        if not found:
            return
        rows: list[Array] = []
        for kind, name in enumerate(_OPERATION):
            if name in found:
                part = np.zeros(len(found[name]["time"]), _POINT)
                part["handle"], part["matching"], part["time"] = (found[name][n] for n in ("ref", "matching", "time"))
                part["row"], part["kind"], part["marks"] = found[name]["row"], kind, found[name]["marks"]
                part["value"] = found[name]["mode" if kind == 0 else "bytes"] if kind < 2 else 0
                rows.append(part)
        points = np.concatenate([self.open, self.mark(np.concatenate(rows))])
        points = points[np.lexsort((points["row"], points["matching"], points["handle"]))]
        same = (points["handle"][1:] == points["handle"][:-1]) & (points["matching"][1:] == points["matching"][:-1])
        begins, ends = points[:-1], points[1:]
        joined = same & (begins["kind"] == 0) & (ends["kind"] > 0) & (begins["value"] < _MODES)
        self.finish(begins[joined], ends[joined])
        waiting = (points["kind"] == 0) & ~np.append(same, False)
        self.open = points[waiting]
        self.open["row"] = -1

    def mark(self, points: Array) -> Array:
        """Takes the points in their order. Operations that begin while an operation of a higher layer is in progress
        get its mark. Calls mark MPI-IO and HDF5, which move bytes in other calls than those that ask for it."""
        points = points[np.argsort(points["row"], kind="stable")]
        points["marks"] &= 1 << MPI_IO | 1 << HDF5
        layers = self.layers[self.ids.rows(points["handle"])]
        for layer in self.running:
            step = np.where(layers == layer, np.where(points["kind"] == 0, 1, -1), 0)
            count = self.running[layer] + np.cumsum(step)
            count -= np.minimum(0, np.minimum.accumulate(count))  # operations that begin before the window end in it
            points["marks"][(count > 0)] |= 1 << layer
            self.running[layer] = int(count[-1])
        return points

    def finish(self, begins: Array, ends: Array) -> None:
        handles, modes = ends["handle"], begins["value"].astype(np.int64)
        inner = self.inner(handles, begins["marks"])
        done = ends["kind"] == _DONE
        self.count(handles, ends["time"] - begins["time"], _TIMES + modes + inner)
        self.count(handles[~done], np.ones(np.count_nonzero(~done), np.int64), _CANCELLED + inner[~done])
        self.count(handles[done], np.ones(np.count_nonzero(done), np.int64), (_READS + modes + inner)[done])
        moved = done & (modes < 2)
        sizes, unknown = known_bytes(ends["value"])
        unsized = moved & unknown
        self.count(handles[unsized], np.ones(np.count_nonzero(unsized), np.int64), (_UNKNOWNS + modes + inner)[unsized])
        sized = moved & ~unsized
        self.count(handles[sized], sizes[sized], (_BYTES + modes + inner)[sized])


class Io(Question[IoPart, Table]):
    """Answers Trace.io."""

    replay = True
    kinds = frozenset(_KINDS)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.system = IoSystem(trace)

    def part(self, trace: Source, location: int) -> IoPart:
        return IoPart(trace, location, self.system)

    def answer(self) -> Table:
        trace = self.trace
        rows = [
            (location, handle, *sums.tolist())
            for location, part in self.parts.items()
            for handle, sums in sorted(part.sums.items())
        ]
        columns = np.array(rows, np.int64).reshape(len(rows), len(_SUMS) + 2).T
        _move_closes(columns[2:])
        handles = trace.definitions.ids["io_handles"].rows(columns[1])
        for column in (_OPENS, _CLOSES, _INNER + _OPENS, _INNER + _CLOSES):
            columns[2 + column, is_variable(trace)[handles]] = 0  # a dataset is opened in its file, which is open
        files = np.append(trace.io_handles["file"], -1)[handles]
        where = {
            "location": columns[0], "handle": handles, "file": files,
            "layer": np.append(trace.io_handles["layer"], OTHER)[handles].astype(np.int64),
        }  # fmt: skip
        return Table(where | dict(zip(_SUMS, columns[2:], strict=True)), layers=LAYERS)


def is_variable(trace: Source) -> Array:
    """(n + 1,) bool: True for handles of datasets of HDF5, whose parents are files of HDF5. The last one: unknown."""
    layers = np.append(trace.io_handles["layer"], OTHER)
    parents = np.append(trace.io_handles["parent"], -1)
    found: Array = (layers == HDF5) & (layers[parents] == HDF5)
    return found


def _move_closes(sums: Array) -> None:
    """Moves closes to the nested columns. OTF2 does not record the call that closes a handle, but the layer that opens
    a handle also closes it."""
    inside = (sums[_INNER + _OPENS] > 0) & (sums[_OPENS] == 0)
    sums[_INNER + _CLOSES, inside] += sums[_CLOSES, inside]
    sums[_CLOSES, inside] = 0


def reduce_io(table: Table, *keys: str) -> Table:
    """Joins rows of Trace.io with equal keys (location, handle, file, layer): sums of all other columns."""
    first, member = group([table[key] for key in keys] or [np.zeros(table.rows, np.int64)])
    found = {key: table[key][first] for key in keys}
    for name in _SUMS:
        found[name] = add_up(member, table[name], len(first))
    return Table(found, **table.notes)


def by_layer(table: Table) -> Table:
    """Rows (file, layer): reads, writes, bytes_read, bytes_written, read_ns, write_ns, unknown_reads, unknown_writes of
    all operations of a layer, also of those inside calls of a higher layer. Sums over layers would count bytes twice.
    """
    found = reduce_io(table, "file", "layer")
    names = [*_OWN[_READS:_FLUSHES], *_OWN[_BYTES : _TIMES + 2], *_OWN[_UNKNOWNS:]]
    sums = {name: found[name] + found[f"nested_{name}"] for name in names}
    return Table({"file": found["file"], "layer": found["layer"], **sums}, **table.notes)
