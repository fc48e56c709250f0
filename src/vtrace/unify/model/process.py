# SPDX-License-Identifier: BSD-3-Clause
"""A run of a traced program and its processes: their local files, and the results of the phases."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local.local_files import FileHead, Stream, open_local, read_head, streams
from vtrace.io.local.records import DEFINITION_DATA, EVENTS, SAMPLES
from vtrace.unify.model.clock_curves import ClockSource, Curve
from vtrace.unify.model.contents import NOT_READ, Contents
from vtrace.unify.model.process_definitions import ProcessDefinitions
from vtrace.unify.model.process_maps import UNPLACED, ProcessMaps, ProcessPlace
from vtrace.unify.model.running_processes import alive

_location = attrgetter("location")
Streams = dict[tuple[int, int], Stream]
"""Streams of one location or of several, by content and location."""

HEAP = -1
"""Number of the location for a process's heap, which has no thread."""
OPENING_A_FILE = 10_000
"""Cost of opening one file, in bytes of events. The distribution of work uses the sum of both."""


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
    missing: bool = False
    """True for a rank without files, which gets a location without events."""
    number: int = 0
    """Place among all processes of the run."""
    views: frozenset[int] = frozenset()
    """Numbers of the directories in which all of its files were seen (list_files.ListedFile)."""
    bytes: int = 0
    """Size of its files."""
    buffer_rank: int | None = None
    """The rank that has found its buffer, if the buffer is not with the other files."""
    running: bool = False
    """True if the process still records."""
    ended_by: str = ""
    """The signal that ended it, such as SIGTERM, if the process that started it has waited for it; else empty."""
    reader: int | None = None
    """Set in the copy that a rank lends to others: the rank that has read the definitions."""

    last_events: bool = False
    """True if the last events of a process that counts are read (VT_TRIGGER), and not its profile."""

    contents: Contents = NOT_READ

    curve: Curve | None = None
    """The curve of its clock; None without files."""
    place: ProcessPlace = UNPLACED
    maps: ProcessMaps | None = None
    """None without files."""

    @property
    def world(self) -> int:
        """Random number that identifies the process's MPI_COMM_WORLD, 0 without one."""
        return self.head.world

    @property
    def parent(self) -> tuple[str, int, int] | None:
        """Host, pid and start of the traced process that started it; None without one."""
        return (self.head.host, *self.head.parent) if self.head.parent else None

    @property
    def counts(self) -> bool:
        """True if its profile is read in place of events."""
        return self.head.counts and not self.last_events

    @property
    def label(self) -> str:
        """The name of the process in messages."""
        return f"rank {self.rank}" if self.main and self.world else f"process {self.head.host}:{self.head.pid}"

    @property
    def locations(self) -> dict[int, int]:
        """The OTF2 locations of its threads, by its own numbers, in order."""
        return {number: self.place.first + i for i, number in enumerate(self.contents.locations)}

    @property
    def definitions(self) -> ProcessDefinitions:
        """The definitions of its files."""
        return self.contents.definitions

    def lent_copy(self, reader: int) -> Process:
        """Returns a copy with the data that another rank needs to write the events; reader: this rank."""
        contents = Contents(usable=self.contents.usable, usable_samples=self.contents.usable_samples)
        return Process(
            self.head, self.files, self.buffer, number=self.number, reader=reader, last_events=self.last_events,
            contents=contents, maps=self.maps,
        )  # fmt: skip

    @property
    def died(self) -> bool:
        """True if the process ended without completing its files. A damaged file may hide that it completed them."""
        incomplete = not (self.missing or self.running or self.contents.complete)
        damaged = self.contents.problems or self.contents.missing_files
        return incomplete and (self.buffer is not None or not damaged)

    @property
    def buffer_unseen(self) -> bool:
        """True if it did not complete its files and its buffer is not accessible. The definitions must be loaded. With
        missing files this may be wrong, since one of these may have the summary."""
        found = self.missing or self.buffer or self.contents.complete or self.contents.missing_files
        return bool(self.head.buffer) and not found

    def archive_ns(self, ticks: int) -> int:
        """Returns a moment of a process with known clocks, in ns of the archive."""
        assert self.curve
        assert self.maps
        maps = self.maps.common
        zero = self.curve.at(int(maps.knot_ticks[0])) - int(maps.knot_ns[0])
        return max(0, self.curve.at(ticks) - zero)

    @property
    def end_ns(self) -> int:
        """The end of the process, that is the time of its last clock pair, in ns of the archive; 0: unknown."""
        known = self.contents.complete and self.maps is not None
        return self.archive_ns(self.contents.pairs[-1].ticks) if known else 0

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

    def files_of(self, location: int) -> list[FileHead]:
        """Returns the heads of a location's files."""
        at = bisect_left(self.files, location, key=_location)
        return self.files[at : bisect_right(self.files, location, at, key=_location)]

    @contextmanager
    def _opened_events(self, heads: Sequence[FileHead]) -> Iterator[Streams]:
        if self.counts:
            yield {}
            return
        with ExitStack() as stack:
            files = [stack.enter_context(open_local(head.path, head)) for head in heads if head.content == EVENTS]
            if self.buffer:
                files.append(stack.enter_context(open_local(self.buffer)))
            yield {key: self.contents.before_damage(stream) for key, stream in streams(files).items()}

    @contextmanager
    def events(self, location: int) -> Iterator[tuple[Stream | None, Stream | None]]:
        """Opens the events and the samples of one location, up to the first damage; None for those that it lacks."""
        with self._opened_events(self.files_of(location)) as found:
            yield found.get((EVENTS, location)), found.get((SAMPLES, location))

    @contextmanager
    def all_events(self) -> Iterator[list[Stream]]:
        """Opens the events of all locations, up to the first damage of each."""
        with self._opened_events(self.files) as found:
            yield [stream for (content, _), stream in found.items() if content == EVENTS]

    def source(self) -> ClockSource:
        """Returns the data about the process's clock."""
        known = self.definitions
        return ClockSource(
            self.head.host, self.head.clock, self.head.ticks_per_second, self.contents.pairs, *self.contents.ends,
            clock=str(known.properties.get("clock", "")), world=self.world, rank=self.rank, offsets=known.offsets,
            pid=self.head.pid,
        )  # fmt: skip


@dataclass(kw_only=True)
class Run:
    """The newest run under a prefix. After its distribution, each rank has only its own processes."""

    prefix: Path
    id: bytes
    processes: list[Process]
    """The processes, in the archive's order."""
    missing: list[int]
    """Ranks without any file."""
    ranks: int
    """Ranks of the first MPI_COMM_WORLD; 0 without MPI."""
    uctl: Path | None
    """The control file; None if there is none, or if another rank of vtunify-mpi removes it."""
    others: list[Path] = field(default_factory=list)
    """Files of other runs."""
    problems: list[str] = field(default_factory=list)
    """Files that were left out, a text each."""
    count: int = 0
    """Number of processes on all ranks of vtunify-mpi, including those without files."""

    @property
    def running(self) -> list[Process]:
        """Processes that still record."""
        return [process for process in self.processes if process.running]

    def local_files(self) -> list[Path]:
        """Returns all files of the run's processes, in the order for their removal."""
        paths = [path for process in self.processes for path in process.all_files()]
        begun = [f"{self.prefix.name}.uctl.tmp{p.head.pid}" for p in self.processes if p.main and not p.rank]
        paths += [path for path in map(self.prefix.with_name, begun) if path.exists()]  # left by a killed process
        return paths + ([self.uctl] if self.uctl else [])
