# SPDX-License-Identifier: BSD-3-Clause
"""Reads the events of a packed archive: the kernel turns its blocks into events, as in vtunify, for a batch in place of
OTF2 files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from vtrace.errors import FormatError
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.archive.reader import Reader
from vtrace.io.local.kernel import Kernel, Listener
from vtrace.io.local.local_files import Stream
from vtrace.io.local.starts import events_from
from vtrace.io.packed.opened import Packed, PackedLocation, packed_of

Take = Callable[[], object]


class _BatchListener(Listener):
    """Passes full batches on. The pass ends early after the batch's last time."""

    def __init__(self, batch: BatchBuffer, take: Take) -> None:
        super().__init__(batch.address, self.rest)
        self._buffer, self._on = batch, take

    def skip(self, events: int) -> None:
        """Passes over the next events."""
        self._buffer.fields.skip = events

    def rest(self) -> None:
        """Passes on the events so far."""
        self._buffer.refresh()
        if len(self._buffer) and self._on() is True:
            self._buffer.fields.to = ALWAYS  # the next event ends the pass
        self._buffer.clear()

    @property
    def is_done(self) -> bool:
        return bool(self._buffer.fields.ended)


class PackedReader:
    """Reads events as vtrace.io.archive.reader.Reader does. One thread may use it."""

    def __init__(self, packed: Packed, anchor: Path) -> None:
        """anchor: of the archive in it."""
        self._packed, self._kernel = packed, Kernel()
        self._with_samples = packed.has_samples(anchor)
        self.offset, self.resolution = 0, 10**9
        self.calls_attribute: int | None = None
        self.events = 0

    def __enter__(self) -> PackedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing: the packed archive stays open for others."""

    def path(self, location: int) -> Path:
        """The file with the events of a location."""
        return self._packed.path

    def whole(
        self, location: int, batch: BatchBuffer, kinds: Collection[str] | None = None, *, attributes: bool = False,
        expected: int = 0,
    ) -> bool:  # fmt: skip
        """As Reader.whole: packed archives have no such way."""
        return False

    def read(
        self, location: int, batch: BatchBuffer, take: Take, *, kinds: Collection[str] | None = None,
        start: int = ALWAYS, stop: int = NEVER, attributes: bool = False, expected: int = 0,
        first: tuple[int, int] = (1, ALWAYS),
    ) -> None:  # fmt: skip
        """As Reader.read."""
        number, last = first
        batch.begin((self.offset, self.resolution), kinds, start, stop, attributes, last, self.calls_attribute)
        heard = _BatchListener(batch, take)
        try:
            problems = self._give(location, heard, number, (start, stop))
        finally:
            self.events = heard.events + heard.is_done  # the event that ended the pass counts, as in OTF2 files
            heard.rest()
        if batch.fields.out_of_room:
            raise MemoryError
        if batch.fields.ended:
            return
        if problems:
            raise FormatError(problems[0])
        if stop == NEVER and self.events < expected:
            raise FormatError(f"{self._packed.path}: location {location} has {self.events:,} of {expected:,} events")

    def _give(self, location: int, heard: _BatchListener, number: int, window: tuple[int, int]) -> list[str]:
        """Gives the events to a listener. Returns the problems of their streams."""
        start, stop = window
        if (heap := self._packed.heap(location)) is not None:
            streams, maps = heap
            heard.skip(number - 1)
            self._kernel.heap(None, streams, maps, self._packed.index.heap_class, heard)
            return _problems(streams)
        time = max(0, start + self.offset) if start > ALWAYS else 0
        end = min(NEVER, max(0, stop) + self.offset)
        found = self._packed.location(location, self._with_samples, time=time, number=number, stop=end)
        if found is None:
            return []
        self._give_from(found, heard, number)
        sampled = [found.sampled.stream] if found.sampled and found.sampled.stream else []
        return _problems([*([found.events] if found.events else []), *sampled])

    def _give_from(self, found: PackedLocation, heard: _BatchListener, number: int) -> None:
        if found.start is None or found.events is None:
            heard.skip(number - 1)
            self._kernel.transcode(None, found.events, maps=found.maps, sampled=found.sampled, listener=heard)
            return
        before = int(found.start["events"])
        heard.skip(max(0, number - 1 - before))
        events_from(self._kernel, found.start, found.starts, found.events, maps=found.maps, listener=heard)


def _problems(streams: list[Stream]) -> list[str]:
    return [problem for stream in streams for problem in stream.problems]


EventReader = Reader | PackedReader


def event_reader(anchor: Path, locations: Sequence[int]) -> EventReader:
    """The reader of the events of locations (OTF2's ids). Raises FormatError."""
    packed = packed_of(anchor)
    return Reader(anchor, locations) if packed is None else PackedReader(packed, anchor)
