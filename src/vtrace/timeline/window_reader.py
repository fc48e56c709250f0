# SPDX-License-Identifier: BSD-3-Clause
"""The single events of some locations in a window of time, read from the archive: libotf2 seeks to a checkpoint before
the window, where the replay resumes."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.archive.reader_abi import CHECKPOINT_BLOCK, CHECKPOINT_CALL
from vtrace.timeline.tiles import event_count
from vtrace.timeline.window_events import WindowEvents, WindowRows, tables

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.archive.packed_reader import EventReader
    from vtrace.io.sidecar.tile_file import TileFile

MOST = 2_000_000
"""The most events to read for a window."""


class Checkpoint(NamedTuple):
    """The state before an event of a location: the event's number, the time of the previous event, the open calls
    (CHECKPOINT_CALL), the outermost first."""

    number: int
    time: int
    stack: Array


_START = Checkpoint(1, ALWAYS, np.empty(0, CHECKPOINT_CALL))


class _Replaying(NamedTuple):
    """One thread's."""

    reader: EventReader
    batch: BatchBuffer
    replay: Replay
    rows: WindowRows


class WindowReader:
    """Reads windows of an archive. Several threads may use a reader at once. tiles: have the checkpoints; None: reads
    each location from its start."""

    def __init__(self, trace: Source, tiles: TileFile | None) -> None:
        self._trace, self._tiles = trace, tiles
        self._spare: list[_Replaying] = []
        self._lock = Lock()
        self._jobs = min(len(os.sched_getaffinity(0)), 16)
        self._pool = ThreadPoolExecutor(self._jobs)

    def close(self) -> None:
        self._pool.shutdown()
        for tools in self._spare:
            tools.reader.close()
        self._spare.clear()

    @contextmanager
    def _tools(self) -> Iterator[_Replaying]:
        with self._lock:
            tools = self._spare.pop() if self._spare else None
        if tools is None:
            replay = Replay(self._trace, False, ALWAYS, NEVER)
            replay.fields.want_slices = replay.fields.want_slice_details = 1
            tools = _Replaying(self._trace.reader(), BatchBuffer(), replay, WindowRows())
        yield tools
        with self._lock:
            self._spare.append(tools)

    def window(self, locations: Sequence[int], start: int, stop: int, limit: int = MOST) -> WindowEvents:
        """The events of locations (rows) in [start, stop), ns. limit: the most events to read; locations beyond are in
        skipped. Raises FormatError."""
        chosen, skipped, left = [], [], limit
        for location in sorted(set(locations)):
            checkpoint = self.before(location, start)
            events = max(0, self._end(location, stop) - checkpoint.number)
            if events > left:
                skipped.append(location)
                continue
            left -= events
            chosen.append((location, checkpoint))
        size = -(-len(chosen) // self._jobs)
        parts = [chosen[n : n + size] for n in range(0, len(chosen), max(size, 1))]
        found = list(self._pool.map(lambda part: self._read(part, start, stop), parts))
        return tables(self._trace, start, found, skipped)

    def before(self, location: int, start: int) -> Checkpoint:
        """The last checkpoint before which all events are earlier than start."""
        return self._checkpoint(location, self._places(location, start) - 1)

    def _places(self, location: int, time: int) -> int:
        """The number of checkpoints of a location before a time."""
        times = np.empty(0, np.int64) if self._tiles is None else self._tiles.block_times(location)
        block = int(times.searchsorted(time)) - 1
        if block < 0 or self._tiles is None:
            return 0
        return block * CHECKPOINT_BLOCK + int(self._tiles.block(location, block).time.searchsorted(time))

    def _checkpoint(self, location: int, place: int) -> Checkpoint:
        """A checkpoint by its place in the location; -1: the start of the location."""
        if place < 0 or self._tiles is None:
            return _START
        block = self._tiles.block(location, place // CHECKPOINT_BLOCK)
        place %= CHECKPOINT_BLOCK
        return Checkpoint(int(block.number[place]), int(block.time[place]), block.stack(place))

    def _count(self, location: int) -> int:
        """The number of checkpoints of a location."""
        blocks = 0 if self._tiles is None else len(self._tiles.block_times(location))
        if not blocks or self._tiles is None:
            return 0
        return (blocks - 1) * CHECKPOINT_BLOCK + len(self._tiles.block(location, blocks - 1))

    def _end(self, location: int, stop: int) -> int:
        """The number of the first event that need not be read up to a time: too high by at most the events between two
        checkpoints."""
        times = np.empty(0, np.int64) if self._tiles is None else self._tiles.block_times(location)
        first = max(0, int(times.searchsorted(stop)) - 1)
        for number in range(first, min(first + 2, len(times))):
            assert self._tiles is not None
            block = self._tiles.block(location, number)
            place = int(block.time.searchsorted(stop))
            if place < len(block):
                return int(block.number[place])
        return event_count(self._trace, location) + 1

    def _read(self, chosen: Sequence[tuple[int, Checkpoint]], start: int, stop: int) -> tuple[Array, Array]:
        with self._tools() as tools:
            tools.rows.begin(start, stop)
            take = partial(tools.rows.batch, tools.batch, tools.replay)
            for location, checkpoint in chosen:
                self._resume(tools, checkpoint)
                tools.rows.location(location, tools.replay, checkpoint.number)
                self._replay(tools, location, checkpoint, take, stop=stop)
                tools.rows.end(tools.replay)
            return tools.rows.found()

    def _resume(self, tools: _Replaying, first: Checkpoint) -> None:
        if first.number > 1:
            tools.replay.resume(*first)
        else:
            tools.replay.begin()

    def _replay(
        self, tools: _Replaying, location: int, first: Checkpoint, take: Callable[[], object], *, stop: int = NEVER
    ) -> None:
        """Reads the batches of a location from a checkpoint to stop; calls take after the replay has followed a batch,
        until take returns True."""
        reader, batch, replay, _ = tools
        place = int(self._trace.locations["id"][location])

        def follow() -> object:
            replay.batch(batch)
            return take()

        reader.read(place, batch, follow, stop=stop - 1, first=(first.number, first.time))

    def whole(self, location: int, number: int) -> dict[str, int] | None:
        """The call whose Enter is event `number` of a location: location, begin, end, region, depth (0: outermost),
        exclusive (ns), calls, number. None: there is no such call, or its Leave is missing. Raises FormatError."""
        places = range(self._count(location))
        first = bisect_right(places, number, key=lambda place: self._checkpoint(location, place).number) - 1
        later = range(first + 1, len(places))
        open_ = bisect_left(later, True, key=lambda place: not self._is_open(location, place, number))
        with self._tools() as tools:
            checkpoint = self._checkpoint(location, first + open_)
            self._resume(tools, checkpoint)
            found: dict[str, int] = {}

            def search() -> bool:
                details = tools.replay.slice_details()
                at = np.flatnonzero(details["number"] == number)
                if not len(at):
                    return not open_ and not np.any(tools.replay.stack()["number"] == number)
                call = tools.replay.slices()[at[0]]
                found.update({name: int(call[name]) for name in ("begin", "end", "region", "depth", "calls")})
                found["exclusive"] = int(details["exclusive"][at[0]])
                return True

            self._replay(tools, location, checkpoint, search)
        return {"location": location, **found, "number": number} if found else None

    def _is_open(self, location: int, place: int, number: int) -> bool:
        return bool(np.any(self._checkpoint(location, place).stack["number"] == number))
