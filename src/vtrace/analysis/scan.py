# SPDX-License-Identifier: BSD-3-Clause
"""One pass over the events of an archive for several questions at once, the locations shared by threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import IO, RUNTIME
from vtrace.errors import FormatError
from vtrace.io.archive.batches import Batch, BatchBuffer, view
from vtrace.io.archive.reader import ALWAYS, NEVER, Reader
from vtrace.io.archive.reader_abi import PATH, SLICE, STATS, event_kinds, readback

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Array = np.ndarray[Any, Any]
_CALLS = frozenset({"Enter", "Leave", "CallingContextEnter", "CallingContextLeave", "BufferFlush"})


class Part:
    """What a question learns of one location. One thread at a time uses it."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """More events of the location, in order. Their arrays are views: copy what is kept."""

    def end(self, replay: Replay | None) -> None:
        """The location has no more events."""


class Question:
    """Something to find out in a pass. Subclasses say what they need and make a Part for each location."""

    kinds: frozenset[str] = frozenset()
    """Events that its parts look at, besides Enter and Leave of a replay."""
    replay = False
    """Whether the stack is followed, which fills region, caller and node of details."""
    paths = False
    """Whether call paths are."""
    attributes = False
    early = False
    """Whether its parts want what was before the window, too."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        """By location row, when the pass is over."""

    def part(self, trace: Source, location: int) -> Part:
        """For this row of trace.locations."""
        raise NotImplementedError

    def configure(self, replay: Replay) -> None:
        """May change what the replay of a thread gathers."""


class Replay:
    """The stack of a location, and the sums over its calls (csrc/otf2_reader/replay.h)."""

    def __init__(self, trace: Source, paths: bool, start: int, stop: int) -> None:
        self._library = readback()
        self._pointer = self._library.vt_replay_new(trace.regions.rows, paths)
        if not self._pointer:
            raise MemoryError
        self.fields = self._pointer.contents
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
        self.line = np.empty((0, 0))
        """Of a timeline: classes x bins, ns; the C side fills it."""

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.vt_replay_free(self._pointer)
            self._pointer = None

    def begin(self) -> None:
        self._library.vt_replay_begin(self._pointer)

    def batch(self, batch: BatchBuffer) -> None:
        """Follows the batch. Its Enter and Leave refer to rows of trace.regions from then on."""
        if not self._ids.dense:
            calls = batch.kind <= event_kinds()["Leave"][0]
            batch.ref[calls] = self._ids.rows(batch.ref[calls]).astype(np.uint32)
        if len(self._contexts):
            self._plain_calls(batch)
        if self._library.vt_replay_batch(self._pointer, batch.address):
            raise MemoryError

    def _plain_calls(self, batch: BatchBuffer) -> None:
        """Calls by calling context become calls of its region."""
        known = event_kinds()
        for name in ("Enter", "Leave"):
            rows = batch.kind == known[f"CallingContext{name}"][0]
            regions = np.append(self._context_regions, -1)[self._contexts.rows(batch.ref[rows])]
            batch.ref[rows] = regions.astype(np.uint32)
            batch.kind[rows] = known[name][0]

    def end(self, ns: int) -> None:
        if self._library.vt_replay_end(self._pointer, ns):
            raise MemoryError

    def stats(self) -> tuple[Array, Array]:
        """Rows of trace.regions with calls, and their STATS."""
        f = self.fields
        rows = view(f.touched, f.ntouched, np.uint32)
        return rows.astype(np.int64), view(f.regions, f.nregions, STATS)[rows]

    def path_stats(self) -> tuple[Array, Array]:
        """Numbers of the call paths with calls, and their STATS."""
        f = self.fields
        rows = view(f.touched_paths, f.ntouched_paths, np.uint32)
        return rows.astype(np.int64), view(f.path_stats, f.npaths, STATS)[rows]

    def all_paths(self) -> Array:
        """All call paths that this thread has met: PATH."""
        return view(self.fields.paths, self.fields.npaths, PATH).copy()

    def slices(self) -> Array:
        """Calls that ended in the last batch: SLICE, a view."""
        return view(self.fields.slices, self.fields.nslices, SLICE)


@dataclass
class Pass:
    """What a pass met besides the answers."""

    events: dict[int, int] = field(default_factory=dict)
    """By location row."""
    unknown: int = 0
    """Events of kinds that this OTF2 does not know."""
    early: int = 0
    """Times before the event before it."""
    stray: int = 0
    """Leaves without an enter."""
    closed: int = 0
    """Regions that were still open at the end of a location."""
    problems: list[str] = field(default_factory=list)
    """One line for each location whose events could not all be read."""


def scan(
    trace: Source, questions: Sequence[Question], locations: Sequence[int] | None = None, start: int | None = None,
    stop: int | None = None, jobs: int | None = None, strict: bool = False,
) -> Pass:  # fmt: skip
    """Reads the events of locations (rows; None: all) once for all questions, whose parts are filled then.

    start, stop: ns; what lies outside does not count. jobs: threads. A location that cannot be read to its end counts
    as far as it can be, and is told in Pass.problems; strict raises its FormatError instead.
    """
    rows = range(trace.locations.rows) if locations is None else locations
    order = sorted(rows, key=lambda row: -trace.bytes_of(row))
    jobs = max(1, min(jobs or len(os.sched_getaffinity(0)), len(order), 16))
    job = _Job(
        trace, questions, ALWAYS if start is None else start, NEVER if stop is None else stop, strict, iter(order)
    )
    with ThreadPoolExecutor(jobs) as pool:
        for worker in [pool.submit(job.work) for _ in range(jobs)]:
            worker.result()
    for question in questions:
        question.parts = dict(sorted(question.parts.items()))
    return job.met


class _Job:
    """What the threads of a pass share."""

    def __init__(
        self, trace: Source, questions: Sequence[Question], start: int, stop: int, strict: bool, order: Any
    ) -> None:
        self.trace, self.questions, self.start, self.stop, self.strict = trace, questions, start, stop, strict
        self.order, self.lock, self.met = order, Lock(), Pass()
        self.replays = any(question.replay for question in questions)
        self.kinds = frozenset({"Unknown"}).union(*(question.kinds for question in questions))
        if self.replays:
            self.kinds |= _CALLS
        self.attributes = any(question.attributes for question in questions)

    def next(self) -> int | None:
        with self.lock:
            return next(self.order, None)

    def work(self) -> None:
        replay = None
        if self.replays:
            replay = Replay(self.trace, any(q.paths for q in self.questions), self.start, self.stop)
            for question in self.questions:
                question.configure(replay)
        with self.trace.reader() as reader:
            batch = BatchBuffer()
            while (location := self.next()) is not None:
                self.read(reader, batch, replay, location)

    def read(self, reader: Reader, batch: BatchBuffer, replay: Replay | None, location: int) -> None:
        parts = [question.part(self.trace, location) for question in self.questions]
        first = self.start if replay is None else ALWAYS  # the stack needs what was before
        number, expected = (int(self.trace.locations[name][location]) for name in ("id", "events"))
        if replay is not None:
            replay.begin()
        try:
            for _ in reader.batches(number, batch, self.kinds, first, self.stop, self.attributes, expected):
                if replay is not None:
                    replay.batch(batch)
                late = batch.since(self.start) if first < self.start else batch
                for question, part in zip(self.questions, parts, strict=True):
                    part.batch(batch if question.early else late, replay)
        except FormatError as error:
            if self.strict:
                raise
            self.met.problems.append(str(error))
        if replay is not None:
            replay.end(min(self.stop, batch.fields.last))
        for question, part in zip(self.questions, parts, strict=True):
            part.end(replay)
            question.parts[location] = part
        self.count(batch, replay, location, reader.events)

    def count(self, batch: BatchBuffer, replay: Replay | None, location: int, events: int) -> None:
        with self.lock:
            met, fields = self.met, batch.fields
            met.events[location] = events
            met.unknown += fields.unknown
            met.early += fields.early
            if replay is not None:
                met.stray += replay.fields.stray
                met.closed += replay.fields.closed
