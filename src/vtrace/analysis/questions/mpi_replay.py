# SPDX-License-Identifier: BSD-3-Clause
"""Replays the messages and collectives of an archive to find waits and their partners (csrc/kernels/matcher.h)."""

from __future__ import annotations

import os
import tempfile
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.lent_files import Offer, offered, opened
from vtrace.analysis.questions.mpi_comms import Comms, roles
from vtrace.analysis.questions.profile import joined_paths
from vtrace.analysis.questions.replay_parts import Matching, replayed
from vtrace.analysis.questions.rma_locks import lock_waits
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array
from vtrace.errors import VtraceError
from vtrace.io.archive.batches import Batch, BatchBuffer
from vtrace.io.archive.reader_abi import LOCK_EPOCH, MPI_END, PATH_TIME, PLACE, matcher
from vtrace.io.common.arrays import view

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_MEMORY = 160 << 20
"""The most bytes of ends, and of times, to keep in memory; further ones go to the file."""
_BLOCK = 16 << 20
"""The least bytes to allocate for them at a time. NumPy takes huge pages for large arrays."""
_SUMMARY = ("first", "last", "useful", "flushed", "events", "calls")


class _MpiEndsPart(Part):
    """The ends of the messages and collectives of one location."""

    def __init__(self, owner: MpiReplay, location: int) -> None:
        self.owner, self.location, self.finder = owner, location, owner.finder(location)
        self.replay: Replay | KnownPaths | None = None
        self.place: dict[str, int] = {}
        self.sums: dict[str, int] = {}

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
        ends, times = view(fields.ends, fields.nends, MPI_END), view(fields.times, fields.ntimes, PATH_TIME)
        self.locks = view(fields.locks, fields.nlocks, LOCK_EPOCH).copy()
        self._store(ends, times)
        self.owner.give_back(self.finder)

    def _store(self, ends: Array, times: Array) -> None:
        self.kept, self.kept_times = self.owner.keep(ends), self.owner.keep(times)
        self.place = {"count": len(ends), "ntimes": len(times), "file": self.owner.file}
        for rows, kept, address, offset in (
            (ends, self.kept, "ends", "offset"),
            (times, self.kept_times, "times", "times_offset"),
        ):
            self.place[address] = kept.ctypes.data if len(kept) else 0
            self.place[offset] = 0 if len(kept) else self.owner.write(rows)

    def __getstate__(self) -> tuple[Any, ...]:
        """For another rank: with places in the file if that rank has opened the file, else with the ends and times."""
        place, read = self.place, self.owner.read
        state = self.owner, self.location, self.replay, self.sums, self.locks
        if self.owner.borrowed is not None and not len(self.kept) and not len(self.kept_times):
            return *state, place | {"file": self.owner.borrowed}
        ends = self.kept if len(self.kept) else read(place["offset"], place["count"], MPI_END)
        times = self.kept_times if len(self.kept_times) else read(place["times_offset"], place["ntimes"], PATH_TIME)
        return *state, ends, times

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.owner, self.location, self.replay, self.sums, self.locks, *rest = state
        self.kept, self.kept_times = np.empty(0, MPI_END), np.empty(0, PATH_TIME)
        if len(rest) == 1:
            self.place = rest[0]
        else:
            self._store(*rest)


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
        self._kept, self._room = dict[Any, int](), dict[Any, Array]()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # findings ask again, so that only the last reference may close it
        self._borrowed: list[BinaryIO] = []
        self._answers: dict[tuple[Selection, int], Replayed] = {}

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.comms, self._roles = Comms(trace), roles(trace)
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

    def give_back(self, finder: Any) -> None:
        """Frees a finder after its location is complete."""
        with self._lock:
            self._spare.append(finder)

    def keep(self, rows: Array) -> Array:
        """A copy of rows, if there is room for them in memory; else no rows."""
        with self._lock:
            size = self._kept.get(rows.dtype, 0) + rows.nbytes
            if not rows.nbytes or size > self._memory:
                return rows[:0]
            room = self._room.get(rows.dtype)
            if room is None or len(room) < rows.nbytes:
                try:
                    room = np.empty(max(rows.nbytes, _BLOCK), np.uint8)
                except MemoryError:
                    return rows[:0]
            kept, self._room[rows.dtype] = room[: rows.nbytes], room[rows.nbytes :]
            self._kept[rows.dtype] = size
        kept[:] = rows.view(np.uint8)  # as bytes: NumPy copies records one by one
        return kept.view(rows.dtype)

    def write(self, rows: Array) -> int:
        """Appends rows to the file. Returns their place. Raises VtraceError."""
        data = memoryview(np.ascontiguousarray(rows).view(np.uint8).data)
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

    def read(self, place: int, count: int, kind: np.dtype[Any]) -> Array:
        """Reads rows of the file."""
        self._file.seek(place)
        return np.fromfile(self._file, kind, count)

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
    outside of MPI), flushed (ns), events, calls (of MPI) by location, 0 where nothing was read. counts: messages,
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


def _owned(locks: Array, location: int, joined: Array) -> Array:
    """The locks of a location, with its row and joined call paths."""
    found = locks.copy()
    found["lock_node"], found["unlock_node"] = joined[locks["lock_node"]], joined[locks["unlock_node"]]
    found["location"] = location
    return found
