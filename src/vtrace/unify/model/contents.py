# SPDX-License-Identifier: BSD-3-Clause
"""The contents of one process's files, the result of pass 1. reading/process_reader.py makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vtrace.io.common.arrays import Array
from vtrace.io.local.kernel import SampleScan, Scan
from vtrace.io.local.local_files import Stream
from vtrace.io.local.records import SAMPLES
from vtrace.unify.model.clock_curves import Pair
from vtrace.unify.model.openmp_threads import in_order
from vtrace.unify.model.process_definitions import ProcessDefinitions

_SAMPLE_BYTES = 16
"""Cost of writing a sample, in bytes of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The definitions of a process, facts about its events and samples, and the parts that its files lack."""

    definitions: ProcessDefinitions = field(default_factory=ProcessDefinitions)
    scans: Mapping[int, Scan] = field(default_factory=dict)
    profiles: Mapping[int, Array] = field(default_factory=dict)
    """By location: rows of struct vt_profile_row, of a process that counts instead of recording events."""
    samples: Mapping[int, SampleScan] = field(default_factory=dict)
    """By location; empty if the request leaves samples out."""
    usable: Mapping[int, int] = field(default_factory=dict)
    """By location: number of blocks before the first damaged block; filled with --salvage only."""
    usable_samples: Mapping[int, int] = field(default_factory=dict)
    """Like usable, for the blocks of samples."""
    pairs: Sequence[Pair] = ()
    problems: Sequence[str] = ()
    """Damage of its files, a text each."""
    missing_files: Sequence[str] = ()
    """Files that are missing, or end too early."""
    missing_records: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    """By location: the reason for missing records that its summary counts (missing_records.py), and their number."""
    uncounted: Collection[int] = ()
    """Locations without a summary, of a process that ended normally: their number of records is unknown."""
    complete_locations: Collection[int] = ()
    """Locations with exactly the number of records in their summaries: none is lost by damage."""
    has_last_events: bool = False
    """True for a profile whose files have the last events, too (VT_TRIGGER)."""
    in_memory: bool = False
    """True if a part of its left-over buffer was in memory."""

    @property
    def locations(self) -> list[int]:
        """The numbers of its locations, in the archive's order; there is always a main thread, 0."""
        return in_order(
            sorted({0} | self.scans.keys() | self.missing_records.keys() | self.samples.keys()), self.definitions
        )

    @property
    def has_heap(self) -> bool:
        """True if its events include the heap in use."""
        return any(scan.memory for scan in self.scans.values())

    @property
    def has_thread_events(self) -> bool:
        """True if its events may include starts and ends of threads."""
        return any(scan.threads for scan in self.scans.values())

    @property
    def complete(self) -> bool:
        """True if the process ended normally and wrote its summaries."""
        return 0 in self.definitions.summaries

    def is_accounted(self, location: int) -> bool:
        """Returns True if the summary of a location tells how many of its records are missing, or that none is."""
        return location in self.missing_records or location in self.complete_locations

    @property
    def ends(self) -> tuple[int, int]:
        """Ticks of the first and the last of its events and samples."""
        start = self.pairs[0].ticks
        scans: list[Scan | SampleScan] = [*self.scans.values(), *self.samples.values()]
        first = min((scan.first_ticks for scan in scans), default=start)
        return first, max((scan.last_ticks for scan in scans), default=start)

    @property
    def stored(self) -> int:
        """Bytes of the process's events."""
        return sum(scan.stored for scan in self.scans.values())

    def stored_of(self, location: int) -> int:
        """Returns the bytes of a location's events, and an estimate for its samples."""
        events = self.scans[location].stored if location in self.scans else 0
        return events + (_SAMPLE_BYTES * self.samples[location].samples if location in self.samples else 0)

    def before_damage(self, stream: Stream) -> Stream:
        """Returns the usable blocks of a stream of events or samples."""
        limits = self.usable_samples if stream.content == SAMPLES else self.usable
        limit = limits.get(stream.location)
        return stream if limit is None else replace(stream, index=stream.index[:limit])


NOT_READ = Contents()
"""Shared by all processes whose files are not read."""
