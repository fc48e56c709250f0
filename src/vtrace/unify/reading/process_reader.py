# SPDX-License-Identifier: BSD-3-Clause
"""Pass 1 over the files of one process: its definitions, and facts about its events that pass 2 needs in advance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array
from vtrace.io.local.kernel import Kernel, SampleScan, Scan
from vtrace.io.local.local_files import Stream, by_location, open_local, streams
from vtrace.io.local.profiles import count_rest, keeps_events, read_rows, scan_of, with_rows
from vtrace.io.local.records import (
    CLASS_ALL,
    CLASS_IO,
    CLASS_NEW_CODE,
    CLASS_USER,
    EVENTS,
    PROFILE,
    PROFILE_ROW,
    SAMPLES,
)
from vtrace.unify.model.clock_curves import Pair
from vtrace.unify.model.contents import NOT_READ, Contents
from vtrace.unify.model.missing_records import (
    DAMAGE,
    FILE,
    WRITE,
    lacking,
    missing_parts,
    recorded_after_summaries,
    records_in,
)
from vtrace.unify.model.process import Process, Streams
from vtrace.unify.model.process_definitions import ProcessDefinitions, read

_AT_ONCE = 4096
"""The number of rows of an index that become Python objects at once."""
_NO_TIME = 1 << 63
"""Limit of ticks and ns: a pair with a larger value is damaged."""


def read_contents(process: Process, kernel: Kernel, salvage: bool, with_samples: bool) -> Contents:
    """Returns the contents of a process's files.

    with_samples: False if the samples are left out. Raises FormatError for damage; with salvage the damage goes into
    problems, and the records before it are used.
    """
    return NOT_READ if process.missing else _ProcessReader(process, kernel, salvage, with_samples).read()


class _ProcessReader:
    """The contents of one process's files while they are read, location by location."""

    def __init__(self, process: Process, kernel: Kernel, salvage: bool, with_samples: bool) -> None:
        self._process, self._kernel, self._salvage, self._with_samples = process, kernel, salvage, with_samples
        self._arrays: list[list[object]] = []
        self._scans: dict[int, Scan] = {}
        self._profiles: dict[int, Array] = {}
        self._samples: dict[int, SampleScan] = {}
        self._usable: dict[int, int] = {}
        self._usable_samples: dict[int, int] = {}
        self._damaged: set[int] = set()
        """Locations with cut or damaged events, or missing blocks of them."""
        self._present: dict[int, int | None] = {}
        """The number of records of each location (records_in)."""
        self._problems: list[str] = []
        self._in_memory = self._has_last = False

    def read(self) -> Contents:
        process = self._process
        seen: set[int] = set()
        pairs = {Pair(*process.head.pair)}
        with self._opened() as locations:
            for of_location in locations:
                for (_, location), stream in sorted(of_location.items(), reverse=True):  # definitions first
                    seen.add(location)
                    self._read(stream)
                    for at in range(0, len(stream.index), _AT_ONCE):
                        pairs |= {*map(Pair._make, stream.index["pair"][at : at + _AT_ONCE].tolist())}
        definitions = read(self._arrays, process.head.path.name)
        if process.buffer and recorded_after_summaries(definitions, self._present):
            definitions.summaries = {}
        summaries = definitions.summaries
        pairs |= {Pair(*pair) for pair in definitions.pairs}
        may_lack_files = process.buffer is None and not process.head.unbuffered  # a buffer may hold their records
        return Contents(
            definitions=definitions,
            scans=self._scans,
            profiles=self._profiles,
            samples=self._samples,
            usable=self._usable,
            usable_samples=self._usable_samples,
            pairs=sorted(pair for pair in pairs if pair.ticks and max(pair) < _NO_TIME) or [Pair(1, 1, 1)],
            problems=self._problems,
            missing_files=self._missing_files(definitions) if may_lack_files else (),
            missing_records=self._missing_records(definitions),
            uncounted=seen - summaries.keys() if 0 in summaries and not may_lack_files else (),
            complete_locations={n for n, summary in summaries.items() if summary.records == self._present.get(n, 0)},
            in_memory=self._in_memory,
            has_last_events=self._has_last,
        )

    @contextmanager
    def _opened(self) -> Iterator[Iterator[Streams]]:
        """Yields the streams of one location after the other: a process may have more files than the limit of open
        files."""
        process = self._process
        with ExitStack() as stack:
            buffer = stack.enter_context(open_local(process.buffer)) if process.buffer else None
            rows = by_location(buffer) if buffer else {}
            self._in_memory = buffer is not None and buffer.head.in_memory

            def each() -> Iterator[Streams]:
                for location in sorted({head.location for head in process.files} | rows.keys()):
                    with ExitStack() as inner:
                        heads = process.files_of(location)
                        files = [inner.enter_context(open_local(head.path, head)) for head in heads]
                        yield streams(files + ([rows[location]] if location in rows else []))

            yield each()

    def _read(self, stream: Stream) -> None:
        if stream.content == SAMPLES and not self._with_samples:
            return
        if stream.problems and not self._salvage:
            raise VtraceError(stream.problems[0], "--salvage recovers the records before it")
        self._problems += stream.problems
        if stream.content == PROFILE and self._process.last_events:
            return
        if stream.content == PROFILE or (stream.content == EVENTS and self._process.counts):
            self._count(stream)
        elif stream.content == EVENTS:
            self._scan(stream)
        elif stream.content == SAMPLES:
            self._scan_samples(stream)
        else:
            self._undamaged(stream, lambda part: self._arrays.extend(self._kernel.definitions(part)))

    def _scan(self, stream: Stream) -> None:
        location = stream.location
        if stream.problems:
            self._damaged.add(location)
        if self._salvage:
            whole = len(stream.index)
            stream = self._undamaged(stream, lambda part: self._kernel.scan(part, CLASS_ALL))
            if len(stream.index) < whole:
                self._damaged.add(location)
                self._usable[location] = len(stream.index)
        classes = CLASS_NEW_CODE | CLASS_USER | (CLASS_IO if self._process.head.forked else 0)
        scan = self._kernel.scan(stream, classes)
        self._scans[location] = with_rows(scan, self._profiles[location]) if location in self._profiles else scan
        self._present[location] = records_in(stream)

    def _count(self, stream: Stream) -> None:
        """Takes the rows of a profile, then the events that they lack: those of a killed process."""
        known = self._profiles.get(stream.location, np.empty(0, PROFILE_ROW))
        parts: list[Array] = []
        if stream.content == PROFILE:
            self._undamaged(stream, lambda part: parts.append(read_rows(self._kernel, part)))
            known = np.concatenate([known, *parts])
        else:
            self._present[stream.location] = records_in(stream)
            if keeps_events(stream):
                self._has_last = True
                self._undamaged(stream, lambda part: self._kernel.scan(part, CLASS_ALL))
            known = count_rest(self._kernel, known, stream)
        self._profiles[stream.location] = known
        self._scans[stream.location] = scan_of(known)

    def _scan_samples(self, stream: Stream) -> None:
        """Finds the frames and weights of samples."""
        if self._salvage:
            whole = len(stream.index)
            stream = self._undamaged(stream, self._kernel.samples)
            if len(stream.index) < whole:
                self._usable_samples[stream.location] = len(stream.index)
        samples = self._kernel.samples(stream)
        if samples.samples:
            self._samples[stream.location] = samples

    def _undamaged(self, stream: Stream, check: Callable[[Stream], object]) -> Stream:
        """Returns the blocks before the first one that check refuses; without salvage, check gets all at once."""
        if not self._salvage:
            check(stream)
            return stream
        for i in range(len(stream.index)):
            try:
                check(replace(stream, index=stream.index[i : i + 1]))
            except FormatError as error:
                self._problems.append(str(error.args[0]))
                return replace(stream, index=stream.index[:i])
        return stream

    def _missing_files(self, definitions: ProcessDefinitions) -> list[str]:
        """Returns a text for each missing file; records of damaged locations may be there."""
        present = {location: n for location, n in self._present.items() if location not in self._damaged}
        damaged = dict.fromkeys(self._present.keys() - present.keys())
        return missing_parts(self._process.files, definitions, present | damaged)

    def _missing_records(self, definitions: ProcessDefinitions) -> dict[int, tuple[str, int]]:
        """Returns missing_records. Records that could not be written at the end stay in a buffer that is a file."""
        reason = WRITE if self._process.buffer else FILE
        short = lacking(definitions, self._present)
        return {location: (DAMAGE if location in self._damaged else reason, n) for location, n in short.items()}
