# SPDX-License-Identifier: BSD-3-Clause
"""One process of a run: its local files, and the results of the phases."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.local.kernel import Kernel, Maps, SampledStream, SampleScan, Scan
from vtrace.io.local.local_files import FileHead, Stream, by_location, open_local, read_head, streams
from vtrace.io.local.maps import U4, SampleMaps, empty4
from vtrace.io.local.records import CLASS_ALL, CLASS_IO, CLASS_NEW_CODE, CLASS_USER, DEFINITION_DATA, EVENTS, SAMPLES
from vtrace.unify.model.clock_curves import ClockSource, Curve, Pair
from vtrace.unify.model.missing_records import (
    DAMAGE,
    FILE,
    WRITE,
    lacking,
    missing_parts,
    recorded_after_summaries,
    records_in,
)
from vtrace.unify.model.process_definitions import ProcessDefinitions, read
from vtrace.unify.model.running_processes import alive

_location = attrgetter("location")
Streams = dict[tuple[int, int], Stream]
_AT_ONCE = 4096
"""The number of rows of an index that become Python objects at once."""
_NO_TIME = 1 << 63
"""Limit of ticks and ns: a pair with a larger value is damaged."""

HEAP = -1
"""Number of the location for a process's heap, which has no thread."""
OPENING_A_FILE = 10_000
"""Cost of opening one file, in bytes of events. The distribution of work uses the sum of both."""
_SAMPLE_BYTES = 16
"""Cost of writing a sample, in bytes of events."""

_NOT_READ = ProcessDefinitions()
"""Shared by all processes with unread definitions, since an empty object has a dictionary for each kind."""


@dataclass(eq=False, slots=True)
class Process:
    """A process: its files, then the results of each phase. rank: None without a place of its own in a world."""

    head: FileHead
    files: list[FileHead] = field(default_factory=list)
    """Heads of its files, by location."""
    buffer: Path | None = None
    empty: list[Path] = field(default_factory=list)
    """Files without a head."""
    rank: int | None = None
    main: bool = False
    """True if the process belongs to the run's first world."""
    absent: bool = False
    """True for a rank without files, which gets a location without events."""
    number: int = 0
    """Place among all processes of the run."""
    views: frozenset[int] = frozenset()
    """Numbers of the directories in which all of its files were seen (list_files.SeenFile)."""
    bytes: int = 0
    """Size of its files."""
    seer: int | None = None
    """The rank that has found its buffer, if the buffer is not with the other files."""
    running: bool = False
    """True if the process still records."""
    in_memory: bool = False
    """True if a part of its left-over buffer was in memory."""
    owner: int | None = None
    """Set in the copy that a rank lends to others: the rank that has read the definitions."""

    definitions: ProcessDefinitions = field(default_factory=lambda: _NOT_READ)
    scans: dict[int, Scan] = field(default_factory=dict)
    samples: dict[int, SampleScan] = field(default_factory=dict)
    """By location; empty if the request leaves samples out."""
    usable_samples: dict[int, int] = field(default_factory=dict)
    """Like usable, for the blocks of samples."""
    damaged_locations: set[int] = field(default_factory=set)
    """Locations with cut events or missing blocks."""
    usable: dict[int, int] = field(default_factory=dict)
    """By location: number of blocks before the first damaged block; filled with --salvage only."""
    pairs: list[Pair] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    missing_files: list[str] = field(default_factory=list)
    """Files that are missing, or end too early."""
    missing_records: dict[int, tuple[str, int]] = field(default_factory=dict)
    """By location: the reason for missing records that its summary counts (missing_records.py), and their number."""
    uncounted: set[int] = field(default_factory=set)
    """Locations without a summary, of a process that ended normally: their number of records is unknown."""
    complete_locations: set[int] = field(default_factory=set)
    """Locations with exactly the number of records in their summaries: none is lost by damage."""

    index: int | None = None
    """Place among all MPI processes; None without MPI."""
    node: int = 0
    """OTF2 system node of its host."""
    first: int = 0
    """OTF2 location of the main thread; the locations of other threads follow."""
    heap: int | None = None
    """OTF2 location for the heap; None if the events do not include the heap."""
    curve: Curve | None = None
    maps: Maps | None = None
    sample_maps: SampleMaps | None = None
    """None if the archive has no calling contexts."""
    contexts: dict[int, U4] = field(default_factory=dict)
    """By location: OTF2's calling context for each of its own contexts."""
    user_peers: dict[int, np.ndarray[Any, np.dtype[np.uint32]]] = field(default_factory=dict)
    """By location: the ranks of the other ends of its messages of the user API."""
    user_others: dict[int, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)
    """By location: the OTF2 locations of these ends, -1 for none."""

    @property
    def world(self) -> int:
        """Random number that identifies the process's MPI_COMM_WORLD, 0 without one."""
        return self.head.world

    @property
    def label(self) -> str:
        """The name of the process in messages."""
        return f"rank {self.rank}" if self.main and self.world else f"process {self.head.host}:{self.head.pid}"

    @property
    def locations(self) -> list[int]:
        """The numbers of its locations, in order; there is always a main thread, 0."""
        return sorted({0} | self.scans.keys() | self.missing_records.keys() | self.samples.keys())

    @property
    def has_heap(self) -> bool:
        """True if its events include the heap in use."""
        return any(scan.memory for scan in self.scans.values())

    @property
    def has_thread_events(self) -> bool:
        """True if its events may include starts and ends of threads."""
        return any(scan.threads for scan in self.scans.values())

    def to_hand_on(self, owner: int) -> Process:
        """Returns a copy with the data that another rank needs to write the events; owner: this rank."""
        return Process(
            self.head, self.files, self.buffer, number=self.number, owner=owner, usable=self.usable, maps=self.maps,
            user_peers=self.user_peers, sample_maps=self.sample_maps, contexts=self.contexts,
            usable_samples=self.usable_samples,
        )  # fmt: skip

    def maps_of(self, location: int) -> Maps | None:
        """Returns the maps of one location; None if the process has none."""
        peers = self.user_peers.get(location)
        return self.maps if self.maps is None or peers is None else replace(self.maps, user_peers=peers)

    def sampled(self, location: int, samples: Stream | None) -> SampledStream | None:
        """Returns the samples of a location with their maps; None if the archive has no calling contexts."""
        if self.sample_maps is None:
            return None
        return SampledStream(samples, replace(self.sample_maps, contexts=self.contexts.get(location, empty4())))

    @property
    def complete(self) -> bool:
        """True if the process ended normally and wrote its summaries."""
        return 0 in self.definitions.summaries

    @property
    def died(self) -> bool:
        """True if the process ended without completing its files. A damaged file may hide that it completed them."""
        incomplete = not (self.absent or self.running or self.complete)
        return incomplete and (self.buffer is not None or not (self.problems or self.missing_files))

    @property
    def buffer_unseen(self) -> bool:
        """True if it did not complete its files and its buffer is not accessible. The definitions must be loaded. With
        missing files this may be wrong, since one of these may have the summary."""
        return bool(self.head.buffer) and not (self.absent or self.buffer or self.complete or self.missing_files)

    def is_accounted(self, location: int) -> bool:
        """Returns True if the summary of a location tells how many of its records are missing, or that none is."""
        return location in self.missing_records or location in self.complete_locations

    def archive_ns(self, ticks: int) -> int:
        """Returns a moment of a process with known clocks, in ns of the archive."""
        assert self.curve
        assert self.maps
        zero = self.curve.at(int(self.maps.knot_ticks[0])) - int(self.maps.knot_ns[0])
        return max(0, self.curve.at(ticks) - zero)

    @property
    def end_ns(self) -> int:
        """The end of the process, that is the time of its last clock pair, in ns of the archive; 0: unknown."""
        known = self.complete and self.curve is not None and self.maps is not None
        return self.archive_ns(self.pairs[-1].ticks) if known else 0

    def find_buffer(self) -> None:
        """Searches the left-over buffer that the head names. The buffer may be accessible on one machine only."""
        if self.buffer is None and self.head.buffer and os.path.exists(self.head.buffer):  # most leave no buffer
            path = Path(self.head.buffer)
            with suppress(VtraceError):
                self.buffer = path if read_head(path).process == self.head.process else None
        self.running = (self.buffer is not None or self.head.unbuffered) and alive(self.head)

    def all_files(self) -> list[Path]:
        """Returns every file of the process, definitions last: the other files need them."""
        order = sorted(self.files, key=lambda h: (h.content == DEFINITION_DATA, h.path.name))
        return self.empty + [head.path for head in order] + ([self.buffer] if self.buffer else [])

    @property
    def stored(self) -> int:
        """Bytes of the process's events."""
        return sum(scan.stored for scan in self.scans.values())

    def stored_of(self, location: int) -> int:
        """Returns the bytes of a location's events, and an estimate for its samples."""
        events = self.scans[location].stored if location in self.scans else 0
        return events + (_SAMPLE_BYTES * self.samples[location].samples if location in self.samples else 0)

    def _files_of(self, location: int) -> list[FileHead]:
        at = bisect_left(self.files, location, key=_location)
        return self.files[at : bisect_right(self.files, location, at, key=_location)]

    @contextmanager
    def _opened(self) -> Iterator[Iterator[Streams]]:
        """Yields the streams of one location after the other: a process may have more files than the limit of open
        files."""
        with ExitStack() as stack:
            buffer = stack.enter_context(open_local(self.buffer)) if self.buffer else None
            rows = by_location(buffer) if buffer else {}
            self.in_memory = buffer is not None and buffer.head.in_memory

            def each() -> Iterator[Streams]:
                for location in sorted({*map(_location, self.files)} | rows.keys()):
                    with ExitStack() as inner:
                        heads = self._files_of(location)
                        files = [inner.enter_context(open_local(head.path, head)) for head in heads]
                        yield streams(files + ([rows[location]] if location in rows else []))

            yield each()

    @contextmanager
    def _opened_events(self, heads: Sequence[FileHead]) -> Iterator[Streams]:
        with ExitStack() as stack:
            files = [stack.enter_context(open_local(head.path, head)) for head in heads if head.content == EVENTS]
            if self.buffer:
                files.append(stack.enter_context(open_local(self.buffer)))
            yield {key: self._usable(stream) for key, stream in streams(files).items()}

    @contextmanager
    def events(self, location: int) -> Iterator[tuple[Stream | None, Stream | None]]:
        """Opens the events and the samples of one location, up to the first damage; None for those that it lacks."""
        with self._opened_events(self._files_of(location)) as found:
            yield found.get((EVENTS, location)), found.get((SAMPLES, location))

    @contextmanager
    def all_events(self) -> Iterator[list[Stream]]:
        """Opens the events of all locations, up to the first damage of each."""
        with self._opened_events(self.files) as found:
            yield [stream for (content, _), stream in found.items() if content == EVENTS]

    def _usable(self, stream: Stream) -> Stream:
        limits = self.usable_samples if stream.content == SAMPLES else self.usable
        limit = limits.get(stream.location)
        return stream if limit is None else replace(stream, index=stream.index[:limit])

    def load(self, kernel: Kernel, salvage: bool, with_samples: bool = True) -> None:
        """Pass 1: reads the definitions, and those facts about the events that pass 2 needs in advance.

        with_samples: False if the samples are left out. Raises FormatError for damage; with salvage the damage goes
        into problems, and the records before it are used.
        """
        if self.absent:
            return
        arrays: list[list[object]] = []
        present: dict[int, int | None] = {}
        seen: set[int] = set()
        pairs = {Pair(*self.head.pair)}
        with self._opened() as locations:
            for found in locations:
                for (content, location), stream in sorted(found.items(), reverse=True):  # definitions first
                    seen.add(location)
                    if content == EVENTS:
                        self.scans[location] = self._scan(kernel, stream, salvage)
                        present[location] = records_in(self._usable(stream))
                    elif content == SAMPLES:
                        self._scan_samples(kernel, stream, salvage, with_samples)
                    else:
                        arrays += self._definitions(kernel, stream, salvage)
                    for at in range(0, len(stream.index), _AT_ONCE):
                        pairs |= {*map(Pair._make, stream.index["pair"][at : at + _AT_ONCE].tolist())}
        self.definitions = read(arrays, self.head.path.name)
        if self.buffer and recorded_after_summaries(self.definitions, present):
            self.definitions.summaries = {}
        if self.buffer is None and not self.head.unbuffered:  # a buffer may hold records that the files lack
            whole = {location: n for location, n in present.items() if not self._is_damaged(location)}
            damaged = dict.fromkeys(present.keys() - whole.keys())
            self.missing_files = missing_parts(self.files, self.definitions, whole | damaged)
        elif self.complete:
            self.uncounted = seen - self.definitions.summaries.keys()
        self.missing_records = self._missing_records(present)
        summaries = self.definitions.summaries
        self.complete_locations = {n for n, summary in summaries.items() if summary.records == present.get(n, 0)}
        pairs |= {Pair(*pair) for pair in self.definitions.pairs}
        self.pairs = sorted(pair for pair in pairs if pair.ticks and max(pair) < _NO_TIME) or [Pair(1, 1, 1)]

    def _missing_records(self, present: dict[int, int | None]) -> dict[int, tuple[str, int]]:
        """Returns missing_records. Records that could not be written at the end stay in a buffer that is a file."""
        whole = WRITE if self.buffer else FILE
        short = lacking(self.definitions, present)
        return {location: (DAMAGE if self._is_damaged(location) else whole, n) for location, n in short.items()}

    def _is_damaged(self, location: int) -> bool:
        return location in self.usable or location in self.damaged_locations

    def source(self) -> ClockSource:
        """Returns the data about the process's clock."""
        scans: list[Scan | SampleScan] = [*self.scans.values(), *self.samples.values()]
        spans = [(scan.first_ticks, scan.last_ticks) for scan in scans]
        known = self.definitions
        return ClockSource(
            self.head.host, self.head.clock, self.head.ticks_per_second, self.pairs, *self._span(spans),
            clock=str(known.properties.get("clock", "")), world=self.world, rank=self.rank, offsets=known.offsets,
            pid=self.head.pid,
        )  # fmt: skip

    def _span(self, spans: list[tuple[int, int]]) -> tuple[int, int]:
        start = self.pairs[0].ticks
        return min((s[0] for s in spans), default=start), max((s[1] for s in spans), default=start)

    def _definitions(self, kernel: Kernel, stream: Stream, salvage: bool) -> list[list[object]]:
        if not salvage:
            self._refuse(stream)
            return kernel.definitions(stream)
        self.problems += stream.problems
        arrays = []
        for i in range(len(stream.index)):
            try:
                arrays += kernel.definitions(replace(stream, index=stream.index[i : i + 1]))
            except FormatError as error:
                self.problems.append(str(error.args[0]))
                break
        return arrays

    def _scan(self, kernel: Kernel, stream: Stream, salvage: bool) -> Scan:
        classes = CLASS_NEW_CODE | CLASS_USER | (CLASS_IO if self.head.forked else 0)
        if not salvage:
            self._refuse(stream)
            return kernel.scan(stream, classes)
        self.problems += stream.problems
        self.damaged_locations |= {stream.location} if stream.problems else set()
        for i in range(len(stream.index)):
            try:
                kernel.scan(replace(stream, index=stream.index[i : i + 1]), CLASS_ALL)
            except FormatError as error:
                self.problems.append(str(error.args[0]))
                self.usable[stream.location] = i
                stream = replace(stream, index=stream.index[:i])
                break
        return kernel.scan(stream, classes)

    def _scan_samples(self, kernel: Kernel, stream: Stream, salvage: bool, wanted: bool) -> None:
        """Finds the frames and weights of samples."""
        if not wanted:
            return
        if not salvage:
            self._refuse(stream)
            found = kernel.samples(stream)
        else:
            self.problems += stream.problems
            for i in range(len(stream.index)):
                try:
                    kernel.samples(replace(stream, index=stream.index[i : i + 1]))
                except FormatError as error:
                    self.problems.append(str(error.args[0]))
                    self.usable_samples[stream.location] = i
                    break
            found = kernel.samples(self._usable(stream))
        if found.samples:
            self.samples[stream.location] = found

    def _refuse(self, stream: Stream) -> None:
        if stream.problems:
            raise VtraceError(stream.problems[0], "--salvage recovers the records before it")
