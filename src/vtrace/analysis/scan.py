# SPDX-License-Identifier: BSD-3-Clause
"""A pass: reads the events of a source once for several questions. Threads share the locations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast

from vtrace.analysis.counted_calls import CountedReplay
from vtrace.analysis.profile_replay import replays
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.errors import FormatError, VtraceError
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.archive.packed_reader import EventReader
from vtrace.reasons import AS_PROFILE, RECORD_EVENTS

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_FEW = 4000
"""With fewer events per location, threads would mostly wait for each other in the interpreter."""
CALLS = frozenset({"Enter", "Leave", "CallingContextEnter", "CallingContextLeave", "BufferFlush"})
"""The kinds of events that change the stack."""


@dataclass
class Pass:
    """Facts about the events of a pass."""

    events: dict[int, int] = field(default_factory=dict)
    """Events read, by row of locations."""
    unknown: int = 0
    """Events of kinds that the installed OTF2 does not know."""
    early: int = 0
    """Events with a time before that of their predecessor."""
    stray: int = 0
    """Leave events without an Enter."""
    closed: int = 0
    """Regions that were still open at the end of a location."""
    first: int = NEVER
    """The time of the first event, ns, if a question needs the stack."""
    last: int = ALWAYS
    """The time of the last event, as first."""
    problems: list[str] = field(default_factory=list)
    """One line for each location whose events could not all be read."""

    def is_within(self, start: int, stop: int) -> bool:
        """True if all events are from start to stop, ns, both included."""
        return start <= self.first and self.last <= stop

    def add(self, other: Pass) -> None:
        """Adds the facts about other locations."""
        self.events |= other.events
        self.problems += other.problems
        for name in ("unknown", "early", "stray", "closed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


class WholeLocations(Protocol):
    """Takes locations with few events in place of the parts of all questions of a pass."""

    fits: bool
    """False if it cannot take the events of this archive."""

    def take(self, location: int, batch: BatchBuffer, replay: Replay) -> None:
        """Takes all events of a location (row of trace.locations). replay: of the thread, for this location, too."""


def scan(
    trace: Source, questions: Sequence[AnyQuestion], selection: Selection = EVERYTHING, *, jobs: int | None = None,
    strict: bool = False, in_order: bool = False, whole: WholeLocations | None = None,
) -> Pass:  # fmt: skip
    """Reads the events of a selection once, in this process, and passes them to all questions.

    jobs: threads. A location with damage counts up to the damage, and Pass.problems has a line about it; with strict
    the damage raises FormatError. in_order: reads the locations in the order of the selection; else the largest first.
    whole: takes locations in place of the questions, on one thread. After the pass each question has its parts, and can
    answer.
    """
    all_times = (selection.start or 0) <= 0 and (selection.stop is None or selection.stop >= trace.duration)
    if trace.recorded_profile and not all_times:
        raise VtraceError(f"{trace.path.parent} is {AS_PROFILE}: it has no windows of time", RECORD_EVENTS)
    order = selection.all_rows(trace)
    jobs = max(1, min(jobs or len(os.sched_getaffinity(0)), len(order), 16))
    if int(trace.locations["events"][order].sum()) < _FEW * len(order):
        jobs = 1
    if not in_order and jobs > 1:
        order.sort(key=lambda row: -trace.bytes_of(row))
    job = Scanning(trace, questions, bounds=selection.bounds, strict=strict, order=iter(order))
    if jobs == 1 and whole is not None and whole.fits and selection.bounds == (ALWAYS, NEVER):
        job.whole = whole
    events = int(trace.locations["events"][order].sum())
    shown = trace.progress(events) if trace.progress and events else nullcontext(job.advance)
    with shown as job.advance, ThreadPoolExecutor(jobs) as pool:
        for worker in [pool.submit(job.work) for _ in range(jobs)]:
            worker.result()
    job.end()
    return job.met


class Scanning:
    """The state that the threads of a pass share."""

    def __init__(
        self,
        trace: Source,
        questions: Sequence[AnyQuestion],
        *,
        bounds: tuple[int, int] = (ALWAYS, NEVER),
        strict: bool,
        order: Iterator[int],
    ) -> None:
        self.trace, self.questions, self._strict, (self.start, self.stop) = trace, questions, strict, bounds
        self._order, self._lock, self.met = order, Lock(), Pass()
        self._known = [*zip(*(trace.locations[name].tolist() for name in ("id", "events")), strict=True)]
        self.advance: Callable[[int], object] = lambda events: None
        self.whole: WholeLocations | None = None
        profile = trace.recorded_profile
        self._profiles = replays(profile, trace.offset) if profile else {}
        counted = trace.counted_calls if bounds[0] <= 0 and bounds[1] >= trace.duration else None
        self._counted = counted.locations if counted else {}
        self._replays = any(question.replay for question in questions)
        self.kinds = frozenset({"Unknown"}).union(*(question.kinds for question in questions))
        if self._replays:
            self.kinds |= CALLS
        self.attributes = any(question.attributes for question in questions)
        for question in questions:
            question.begin(trace, *bounds)

    def replay(self) -> Replay | None:
        """The stack for a thread; None if no question needs the stack."""
        if not self._replays:
            return None
        replay = Replay(self.trace, any(q.paths for q in self.questions), self.start, self.stop)
        replay.fields.want_stats = any(q.stats for q in self.questions)
        replay.fields.want_path_stats = any(q.path_stats for q in self.questions)
        for question in self.questions:
            question.configure(replay)
        return replay

    def with_counted(self, location: int, replay: Replay | None) -> Replay | None:
        """The replay with the calls of a location that are not among its events, if the whole run is read."""
        if replay is None or location not in self._counted:
            return replay
        return cast("Replay", CountedReplay(replay, self._counted[location]))

    def end(self) -> None:
        """Called after the last location."""
        for question in self.questions:
            question.parts = dict(sorted(question.parts.items()))

    def work(self) -> None:
        """Reads locations until none is left."""
        replay = self.replay()
        with self.trace.reader() as reader:
            batch = BatchBuffer()
            while (location := self._next()) is not None:
                self._read(reader, batch, replay, location)

    def _next(self) -> int | None:
        with self._lock:
            return next(self._order, None)

    def _read(self, reader: EventReader, batch: BatchBuffer, replay: Replay | None, location: int) -> None:
        if location in self._profiles:
            self._take_profile(location)
            return
        number, expected = self._known[location]
        if self._take_whole(reader, batch, replay, location):
            return
        scanned = LocationScan(self, replay, location)
        first = self.start if replay is None else ALWAYS  # the stack needs the events before the window
        try:
            reader.read(
                number,
                batch,
                lambda: scanned.take(batch),
                kinds=self.kinds,
                start=first,
                stop=self.stop,
                attributes=self.attributes,
                expected=expected,
            )
        except FormatError as error:
            if self._strict:
                raise
            self.met.problems.append(str(error))
        scanned.end(batch, reader.events)

    def _take_whole(self, reader: EventReader, batch: BatchBuffer, replay: Replay | None, location: int) -> bool:
        """Gives a location to `whole`. Returns False if the questions must take it."""
        if self.whole is None or replay is None or location in self._counted:
            return False
        number, expected = self._known[location]
        if not reader.whole(number, batch, self.kinds, attributes=self.attributes, expected=expected):
            return False
        self.whole.take(location, batch, replay)
        self.count(batch, replay, location, reader.events)
        self.advance(reader.events)
        return True

    def _take_profile(self, location: int) -> None:
        """Ends the parts of a location without events with the sums of its profile."""
        known = self._profiles[location]
        for question in self.questions:
            part = question.part(self.trace, location)
            part.end(cast("Replay", known))
            question.parts[location] = part
        with self._lock:
            self.met.events[location] = 0
            self.met.first, self.met.last = (
                min(self.met.first, known.fields.first),
                max(self.met.last, known.fields.last),
            )

    def count(self, batch: BatchBuffer, replay: Replay | None, location: int, events: int) -> None:
        with self._lock:
            met, fields = self.met, batch.fields
            met.events[location] = events
            met.unknown += fields.unknown
            met.early += fields.early
            if replay is not None:
                met.stray += replay.fields.stray
                met.closed += replay.fields.closed
                if replay.fields.events:
                    met.first, met.last = min(met.first, replay.fields.first), max(met.last, replay.fields.last)


class LocationScan:
    """The parts of all questions in one location (row of trace.locations)."""

    def __init__(self, owner: Scanning, replay: Replay | None, location: int) -> None:
        self._owner, self._replay, self._location = owner, replay, location
        self._parts = [question.part(owner.trace, location) for question in owner.questions]
        self._told = 0
        if replay is not None:
            replay.begin()

    def take(self, batch: BatchBuffer) -> None:
        """Passes a batch to all parts."""
        owner, replay = self._owner, self._replay
        if replay is not None:
            replay.batch(batch)
        late = batch.since(owner.start) if replay is not None and owner.start > ALWAYS else batch
        for question, part in zip(owner.questions, self._parts, strict=True):
            part.batch(batch if question.early else late, replay)
        self._told += len(batch)
        owner.advance(len(batch))

    def end(self, batch: BatchBuffer, events: int) -> None:
        """Ends the location. batch: the last one; events: the number of all events, taken or not."""
        owner, replay = self._owner, self._replay
        if replay is not None:
            replay.end(min(owner.stop, batch.fields.last))
        whole = owner.with_counted(self._location, replay)
        for question, part in zip(owner.questions, self._parts, strict=True):
            part.end(whole)
            question.parts[self._location] = part
        owner.count(batch, replay, self._location, events)
        owner.advance(max(0, events - self._told))  # batches have only the events of wanted kinds
