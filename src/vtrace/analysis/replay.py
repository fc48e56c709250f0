# SPDX-License-Identifier: BSD-3-Clause
"""The stack of a location, from csrc/otf2_reader/stack_replay.c."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import IO, RUNTIME
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import BatchBuffer
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.reader_abi import (
    CHECKPOINT,
    CHECKPOINT_CALL,
    CROSSING,
    PATH,
    PATH_PART,
    SLICE,
    SLICE_DETAIL,
    STATS,
    Checkpoints,
    event_kinds,
    readback,
)  # fmt: skip
from vtrace.io.common.arrays import view

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


class KnownPaths:
    """The call paths of a Replay of another rank."""

    def __init__(self) -> None:
        self.paths = np.empty(0, PATH)
        self.is_full = False

    def all_paths(self) -> Array:
        """As Replay.all_paths."""
        return self.paths


class Replay:
    """Follows the stack of a location, and sums over its calls (csrc/otf2_reader/stack_replay.h)."""

    def __init__(self, trace: Source, paths: bool, start: int, stop: int) -> None:
        self._library = readback()
        self._pointer = self._library.vt_replay_new(trace.regions.rows, paths)
        if not self._pointer:
            raise MemoryError
        self.fields = self._pointer.contents
        self._checkpoints = ctypes.cast(self.fields.checkpoints, ctypes.POINTER(Checkpoints)).contents
        self.fields.from_, self.fields.to = start, stop
        self._marks = trace.marks
        self.fields.mark_of = self._marks.ctypes.data
        self._io = (trace.regions["class"] == IO).astype(np.uint8)
        self.fields.runtime_of, self.fields.runtime_class = self._io.ctypes.data, RUNTIME
        if trace.definitions.flush_region is not None:
            self.fields.flush_region = trace.definitions.flush_region
        self._ids = trace.definitions.ids["regions"]
        self._contexts = trace.definitions.ids["contexts"]
        self._context_regions = trace.definitions.tables["contexts"]["region"]
        self._nodes: Array | None = None
        self._context_nodes: Array | None = None
        if paths and len(self._contexts):
            known, self._context_nodes = trace.context_paths
            if self._library.vt_replay_add_paths(self._pointer, known.ctypes.data, len(known)):
                raise MemoryError
        self._slice_of = np.zeros(len(trace.regions["class"]), np.uint8)
        self._all_slices = self._all_now = False
        self.line = np.empty((0, 0))
        """Time of a location for a Timeline: (classes + 1, bins), ns; C fills the array."""

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.vt_replay_free(self._pointer)
            self._pointer = None

    def begin(self) -> None:
        self._library.vt_replay_begin(self._pointer)

    def resume(self, number: int, time: int, calls: Array) -> None:
        """Begins a location in the middle: like begin, with the time of the event before (ns), and the open calls
        (CHECKPOINT_CALL)."""
        calls = np.ascontiguousarray(calls)
        if self._library.vt_replay_resume(self._pointer, number, time, calls.ctypes.data, len(calls)):
            raise MemoryError

    def batch(self, batch: BatchBuffer) -> None:
        """Follows the calls of a batch. Afterwards Enter and Leave refer to rows of trace.regions."""
        if not self._ids.dense:
            calls = batch.kind <= event_kinds()["Leave"][0]
            batch.ref[calls] = self._ids.rows(batch.ref[calls]).astype(np.uint32)
        if len(self._contexts):
            self._plain_calls(batch)
        self.fields.node_of = None if self._nodes is None else self._nodes.ctypes.data
        self.follow(batch)

    def follow(self, batch: BatchBuffer) -> None:
        """Follows the calls of a batch that another replay has followed."""
        if self._library.vt_replay_batch(self._pointer, batch.address):
            raise MemoryError

    def divide(self, borders: Array, *, from_border: bool) -> None:
        """Sums call paths by the parts of time between borders (ns, ascending); see vt_replay."""
        self._borders = np.ascontiguousarray(borders, np.int64)
        self.fields.borders, self.fields.nborders = self._borders.ctypes.data, len(self._borders)
        self.fields.from_border = from_border

    def add_paths(self, paths: Array) -> None:
        """Gives call paths (PATH, parents first) the numbers from 1 on, before the first location."""
        if self._library.vt_replay_add_paths(self._pointer, paths.ctypes.data, len(paths)):
            raise MemoryError

    def cut(self, ns: int) -> None:
        """Ends the parts up to the borders that are not after ns, after the last event before ns."""
        if self._library.vt_replay_cut(self._pointer, ns):
            raise MemoryError

    def parts(self) -> Array:
        """The sums of the parts that have ended: PATH_PART, a copy."""
        return view(self.fields.parts, self.fields.nparts, PATH_PART).copy()

    def crossings(self) -> Array:
        """The calls that crossed a border and have ended: CROSSING, a copy."""
        return view(self.fields.crossings, self.fields.ncrossings, CROSSING).copy()

    def _plain_calls(self, batch: BatchBuffer) -> None:
        """Turns calls that name a calling context into calls of the context's region, on the context's call path."""
        known = event_kinds()
        self._nodes = None
        for name in ("Enter", "Leave"):
            rows = np.flatnonzero(batch.kind == known[f"CallingContext{name}"][0])
            contexts = self._contexts.rows(batch.ref[rows])
            if name == "Enter" and len(rows) and self._context_nodes is not None:
                self._nodes = np.full(len(batch), UNDEFINED, np.uint32)
                self._nodes[rows] = np.append(self._context_nodes, np.uint32(UNDEFINED))[contexts]
            batch.ref[rows] = np.append(self._context_regions, -1)[contexts].astype(np.uint32)
            batch.kind[rows] = known[name][0]

    def until(self, ns: int) -> None:
        """Ends a flush that ended before ns, after the last event before ns."""
        if self._library.vt_replay_until(self._pointer, ns):
            raise MemoryError

    def end(self, ns: int) -> None:
        if self._library.vt_replay_end(self._pointer, ns):
            raise MemoryError

    def stats(self) -> tuple[Array, Array]:
        """Rows of trace.regions with calls, and the STATS of these rows."""
        f = self.fields
        rows = view(f.touched, f.ntouched, np.uint32)
        return rows.astype(np.int64), view(f.regions, f.nregions, STATS)[rows]

    def path_stats(self) -> tuple[Array, Array]:
        """Numbers of the call paths with calls, and the STATS of these paths."""
        f = self.fields
        rows = view(f.touched_paths, f.ntouched_paths, np.uint32)
        return rows.astype(np.int64), view(f.path_stats, f.npaths, STATS)[rows]

    def all_paths(self) -> Array:
        """All call paths that this thread has seen: PATH, a copy."""
        return view(self.fields.paths, self.fields.npaths, PATH).copy()

    @property
    def is_full(self) -> bool:
        """True if the limit of call paths is reached: further paths count as those around them."""
        return bool(self.fields.npaths >= self.fields.paths_max)

    def want_all_slices(self) -> None:
        """Keeps the calls of all regions."""
        self._all_slices = True
        self._select_slices()

    def want_all_slices_now(self, on: bool) -> None:
        """Keeps the calls of all regions until this is off again."""
        self._all_now = on
        self._select_slices()

    def want_slices_of(self, wanted: Array) -> None:
        """Keeps the calls of these regions, too, and of others only if a question wants them. wanted: (regions,)
        bool."""
        self._slice_of |= wanted
        self._select_slices()

    def _select_slices(self) -> None:
        everything = self._all_slices or self._all_now
        self.fields.slice_of = None if everything else self._slice_of.ctypes.data
        self.fields.want_slices = everything or bool(self._slice_of.any())

    def has_slices_of(self, wanted: Array) -> bool:
        """True if the calls of these regions, and no others, are kept. wanted: (regions,) bool."""
        return not (self._all_slices or self._all_now) and self._slice_of.tobytes() == wanted.tobytes()

    def slices(self) -> Array:
        """The calls that ended in the last batch: SLICE, a view."""
        return view(self.fields.slices, self.fields.nslices, SLICE)

    def slice_details(self) -> Array:
        """The details of the calls of slices(): SLICE_DETAIL, a view."""
        return view(self.fields.slice_details, self.fields.nslices, SLICE_DETAIL)

    def stack(self) -> Array:
        """The open calls, the outermost first: CHECKPOINT_CALL, a view."""
        return view(self.fields.stack, self.fields.depth, CHECKPOINT_CALL)

    @property
    def checkpoints_count(self) -> int:
        """The number of checkpoints that are not dropped yet."""
        return int(self._checkpoints.count)

    def checkpoints(self) -> tuple[Array, Array]:
        """The checkpoints that are not dropped yet, and their calls: CHECKPOINT, CHECKPOINT_CALL, views."""
        found = self._checkpoints
        return view(found.list, found.count, CHECKPOINT), view(found.calls, found.ncalls, CHECKPOINT_CALL)

    def drop_checkpoints(self, count: int, calls: int) -> None:
        """Drops the first checkpoints and their calls."""
        self._library.vt_replay_drop_checkpoints(self._pointer, count, calls)
