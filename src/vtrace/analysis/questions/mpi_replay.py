# SPDX-License-Identifier: BSD-3-Clause
"""Replays the messages and collectives of an archive to find waits and their partners (csrc/kernels/matcher.h)."""

from __future__ import annotations

import os
import tempfile
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from vtrace.analysis.processor_waits import BlockedTimes, ProcessorWaits
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.lent_files import Offer, offered, opened
from vtrace.analysis.questions.mpi_comms import Comms, roles
from vtrace.analysis.questions.profile import joined_paths
from vtrace.analysis.questions.replay_parts import Matching, replayed
from vtrace.analysis.questions.rma_locks import lock_waits
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table
from vtrace.errors import VtraceError
from vtrace.io.archive.batches import Batch, BatchBuffer
from vtrace.io.archive.reader_abi import LOCK_EPOCH, PLACE, matcher
from vtrace.io.common.arrays import view

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_MEMORY = 160 << 20
"""The most bytes of ends and times to keep in memory; further ones go to the file."""
_BLOCK = 16 << 20
"""The least bytes to allocate for them at a time."""
_SUMMARY = ("first", "last", "useful", "flushed", "events", "calls", "between_polls")
_PLACES = {"ends": ("count", "offset"), "times": ("ntimes", "times_offset")}
"""The names in PLACE of the number of packed rows, and of their place in the file."""


class _MpiEndsPart(Part):
    """The ends of the messages and collectives of one location."""

    def __init__(self, owner: MpiReplay, location: int) -> None:
        self.owner, self.location, self.finder = owner, location, owner.finder(location)
        self.replay: Replay | KnownPaths | None = None
        self._idle = owner.idle(location)
        fields = self.finder.contents
        fields.idle_times, fields.asleep, fields.waited = (column.ctypes.data for column in self._idle)
        fields.nidle = len(self._idle[0])
        self.place: dict[str, Any] = {}
        self.kept: dict[str, Array] = {}
        self.sums: dict[str, int] = {}
        self.naps = np.empty(0, np.int64)
        """(paths,) ns that the location sleeps between polls in a row."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert replay is not None
        assert isinstance(batch, BatchBuffer)
        if matcher().vt_mpi_ends_batch(self.finder, replay.fields, batch.fields):
            raise MemoryError

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.replay = replay
        if matcher().vt_mpi_ends_end(self.finder, replay.fields.last):
            raise MemoryError
        fields = self.finder.contents
        self.sums = {name: int(getattr(fields, name)) for name in _SUMMARY}
        self.locks = view(fields.locks, fields.nlocks, LOCK_EPOCH).copy()
        self.naps = view(fields.naps, fields.nnaps, np.int64).copy()
        self._pack("ends", fields.ends, int(fields.nends))
        self._pack("times", fields.times, int(fields.ntimes))
        self.owner.give_back(self.finder)

    def _pack(self, kind: str, rows: int | None, count: int) -> None:
        """Packs rows at an address."""
        widths = int(getattr(self.finder.contents, f"{kind}_widths"))
        self.place |= {_PLACES[kind][0]: count, f"{kind}_widths": widths}
        packed, lasts = self.owner.room(self._size(kind))
        if count:
            getattr(matcher(), f"vt_{kind}_pack")(rows, count, widths, packed.ctypes.data)
        self._store(kind, packed, lasts)

    def _size(self, kind: str) -> int:
        """The bytes of packed rows."""
        count = self.place[_PLACES[kind][0]]
        return int(getattr(matcher(), f"vt_{kind}_bytes")(self.place[f"{kind}_widths"], count)) if count else 0

    def _store(self, kind: str, packed: Array, lasts: bool) -> None:
        """Keeps packed rows. lasts: in this memory; else in the file."""
        self.kept[kind] = packed if lasts else packed[:0]
        self.place[kind] = packed.ctypes.data if lasts and len(packed) else 0
        self.place[_PLACES[kind][1]] = 0 if lasts else self.owner.write(packed)
        self.place["file"] = self.owner.file

    def __getstate__(self) -> tuple[Any, ...]:
        """For another rank: with places in the file if that rank has opened the file, else with the packed rows."""
        borrowed, packed = self.owner.borrowed, None
        if borrowed is None or any(map(len, self.kept.values())):
            packed = {kind: self._packed(kind) for kind in _PLACES}
        place = self.place | {"file": borrowed}
        return self.owner, self.location, self.replay, self.sums, self.locks, self.naps, place, packed

    def _packed(self, kind: str) -> Array:
        kept = self.kept[kind]
        return kept if len(kept) else self.owner.read(self.place[_PLACES[kind][1]], self._size(kind))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.owner, self.location, self.replay, self.sums, self.locks, self.naps, self.place, packed = state
        self.kept = {}
        for kind, rows in (packed or {}).items():
            room, lasts = self.owner.room(len(rows))
            room[:] = rows
            self._store(kind, room, lasts)


class MpiReplay(Question[_MpiEndsPart, "MpiReplay"]):
    """Finds the ends of all messages and collectives, and replays them.

    A pass must have no window and all locations: the order of all sends and receives decides which belong together. The
    ends are in memory or, if they are many, in a temporary file.

    times: also keeps the times of call paths between the calls of MPI, for the causes of waits. alone: False if several
    ranks share the locations: they keep all ends in their files, which the other ranks may open.
    """

    replay = paths = True
    kinds = frozenset(
        "MpiSend MpiIsend MpiIsendComplete MpiRecv MpiIrecv MpiIrecvRequest MpiRequestCancelled MpiCollectiveEnd "
        "NonBlockingCollectiveRequest NonBlockingCollectiveComplete RmaCollectiveEnd RmaGroupSync RmaRequestLock "
        "RmaAcquireLock RmaReleaseLock".split()
    )

    def __init__(self, times: bool = False, alone: bool = True) -> None:
        super().__init__()
        self.times, self._memory = times, _MEMORY if alone else 0
        self._lock, self._spare, self._used = Lock(), list[Any](), 0
        self._kept, self._room = 0, np.empty(0, np.uint8)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # findings ask again, so that only the last reference may close it
        self._borrowed: list[BinaryIO] = []
        self._answers: dict[tuple[Selection, int], Replayed] = {}

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.comms, self._roles = Comms(trace), roles(trace)
        self._idle = BlockedTimes(trace), ProcessorWaits(trace)
        self._asleep = {*self._idle[0].location.tolist()}
        self._memory = self._memory if trace.ranks.size == 1 else 0

    def part(self, trace: Source, location: int) -> _MpiEndsPart:
        return _MpiEndsPart(self, location)

    def configure(self, replay: Replay) -> None:
        replay.fields.want_nodes = 1

    def finder(self, location: int) -> Any:
        """Returns an unused finder (csrc/kernels/mpi_ends.h) for a location."""
        with self._lock:
            found = self._spare.pop() if self._spare else None
        found = found or matcher().vt_mpi_ends_new()
        if not found:
            raise MemoryError
        fields = found.contents
        fields.comms, fields.role_of, fields.nregions = self.comms.address, self._roles.ctypes.data, len(self._roles)
        fields.want_times = self.times
        fields.process = int(self.trace.places.process[location]) & 0xFFFFFFFF
        matcher().vt_mpi_ends_begin(found)
        return found

    def idle(self, location: int) -> tuple[Array, Array, Array]:
        """Times, and the ns that a location has slept until then, and waited for a processor; empty without sleep."""
        if location not in self._asleep:
            return (np.empty(0),) * 3
        known = [kind.sums(kind.location == location) for kind in self._idle]
        times = np.unique(np.concatenate([times for times, _ in known]))
        asleep, waited = (np.interp(times, *one) if len(one[0]) else np.zeros(len(times)) for one in known)
        return times, asleep, waited

    def give_back(self, finder: Any) -> None:
        """Frees a finder after its location is complete."""
        with self._lock:
            self._spare.append(finder)

    def room(self, size: int) -> tuple[Array, bool]:
        """Memory for this number of bytes. True: they may stay there; False: they must go to the file."""
        with self._lock:
            if self._kept + size > self._memory:
                return np.empty(size, np.uint8), False
            if len(self._room) < size:
                self._room = np.empty(max(size, _BLOCK), np.uint8)
            found, self._room = self._room[:size], self._room[size:]
            self._kept += size
        return found, True

    def write(self, rows: Array) -> int:
        """Appends bytes to the file. Returns their place. Raises VtraceError."""
        data = memoryview(rows.data)
        with self._lock:
            place = self._used
            self._used += len(data)
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], place + written)
        except OSError as error:
            folder = tempfile.gettempdir()
            raise VtraceError(f"{folder}: {error.strerror}", "set TMPDIR to a directory with more room") from error
        return place

    def offer(self) -> Offer:
        """Offers the file to the ranks of this host."""
        return offered(self.file)

    def borrow(self, offer: Offer) -> int | None:
        """Opens the file of another rank. Returns the descriptor, or None if this rank cannot open the file."""
        if (file := opened(offer)) is None:
            return None
        self._borrowed.append(file)
        return file.fileno()

    def read(self, place: int, count: int) -> Array:
        """Reads bytes of the file."""
        self._file.seek(place)
        return np.fromfile(self._file, np.uint8, count)

    def arguments(self) -> tuple[bool, bool]:
        """The arguments on another rank."""
        return self.times, False

    def answer(self) -> MpiReplay:
        """The question itself: of() answers it for selections."""
        for finder in self._spare:
            matcher().vt_mpi_ends_free(finder)
        self._spare.clear()
        return self

    def of(self, selection: Selection, most: int = 0) -> Replayed:
        """The waits of the selected locations in the window. most: of single calls to keep."""
        key = selection, most
        if key not in self._answers:
            self._answers[key] = Replayed(self, selection, most)
        return self._answers[key]

    def between_polls(self) -> float:
        """The part of the time that is between polls of the same call that are no row."""
        sums = [part.sums for part in self.parts.values()]
        whole = sum(of["last"] - of["first"] for of in sums)
        return sum(of["between_polls"] for of in sums) / max(1, whole)

    def modelled(self, faster: Array, saved: float) -> int:
        """The length of the run in ns, if call paths (uint8, 1: chosen) took a part (saved, 0 to 1) less time."""
        found = Replayed(self, Selection(), faster=faster, saved=saved)
        return found.length("modelled")

    @property
    def file(self) -> int:
        """Descriptor of the temporary file."""
        return self._file.fileno()


class Replayed:
    """The waits in a selection.

    paths: call paths as in Trace.call_tree. waits: records WAIT. calls: records CALL_WAIT, if wanted; waits shorter
    than shortest (ns) are not among them. places: records PLACE by row of locations. sums: first, last (ns), useful (ns
    outside of MPI), flushed (ns), events, calls (of MPI), between_polls (ns between polls that are no row) by location,
    0 where nothing was read. naps: location, path and ns of the sleep between polls in a row. counts: messages,
    collectives, unmatched_sends ... With times: critical (SHARE), delays (DELAY), totals (ns by path, with waits).
    """

    def __init__(
        self, owner: MpiReplay, selection: Selection, most: int = 0, faster: Array | None = None, *, saved: float = 0
    ) -> None:
        trace, parts, rows = owner.trace, owner.parts, owner.trace.locations.rows
        self.trace, self.selection = trace, selection
        self.wanted = np.isin(np.arange(rows), range(rows) if selection.locations is None else selection.locations)
        self.paths, maps, self.full = joined_paths(parts)
        joined = {key: np.append(numbers, 0).astype(np.uint32) for key, numbers in maps.items()}
        self.sums = {name: np.zeros(rows, np.int64) for name in _SUMMARY}
        self.places = np.zeros(rows, PLACE)
        for row, part in parts.items():
            for name, value in part.sums.items():
                self.sums[name][row] = value
            for name, value in part.place.items():
                self.places[name][row] = value
            self.places["joined"][row] = joined[id(part.replay)].ctypes.data
        self.naps = _naps(parts, joined)
        self.places["useful"], self.places["last"] = self.sums["useful"], self.sums["last"]
        self.places["process"] = trace.places.process & 0xFFFFFFFF
        self.places["first"], self.places["wanted"] = self.sums["first"], self.wanted
        self.bounds = selection.bounds
        job = Matching(self.paths.rows, owner.times and faster is None, self.bounds, most, faster, saved)
        found = replayed(trace, owner.comms, job, self.places, paths=[*joined.values()])
        self.places, self.waits, self.calls, self.shortest = found.places, found.waits, found.calls, found.shortest
        self.critical, self.delays, self.totals, self.counts = found.critical, found.delays, found.totals, found.counts
        locks = [_owned(part.locks, row, joined[id(part.replay)]) for row, part in parts.items() if len(part.locks)]
        if locks:
            waits, calls = lock_waits(np.concatenate(locks), self.bounds, self.wanted)
            self.waits = np.concatenate([self.waits, waits])
            if most:
                self.calls = np.concatenate([self.calls, calls[calls["ns"] >= self.shortest]])

    def length(self, end: str = "last") -> int:
        """ns from the first begin to the last end of the locations with MPI. end: "last", with faster "modelled"."""
        calls = self.places["count"] > 0
        return int(self.places[end][calls].max() - self.places["first"][calls].min()) if calls.any() else 0


def _naps(parts: dict[int, _MpiEndsPart], joined: dict[int, Array]) -> Table:
    """location, path and ns of the sleep between polls in a row."""
    found = [np.empty((3, 0), np.int64)]
    for row, part in parts.items():
        nodes = np.flatnonzero(part.naps)
        found.append(np.stack([np.full(len(nodes), row), joined[id(part.replay)][nodes], part.naps[nodes]]))
    location, path, ns = np.concatenate(found, axis=1)
    return Table({"location": location, "path": path, "ns": ns})


def _owned(locks: Array, location: int, joined: Array) -> Array:
    """The locks of a location, with its row and joined call paths."""
    found = locks.copy()
    found["lock_node"], found["unlock_node"] = joined[locks["lock_node"]], joined[locks["unlock_node"]]
    found["location"] = location
    return found
