# SPDX-License-Identifier: BSD-3-Clause
"""The events of a window as tables, from the batches and replays of its locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import _otf2
import numpy as np

from vtrace.analysis.questions.details import known_bytes, number, region_rows
from vtrace.analysis.questions.messages import RECEIVES, SENDS
from vtrace.analysis.questions.metrics import MetricMembers
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.reader_abi import CHECKPOINT_CALL, DETAIL, SLICE, SLICE_DETAIL

if TYPE_CHECKING:
    from vtrace.analysis.replay import Replay
    from vtrace.analysis.source import Source
    from vtrace.io.archive.batches import Batch

OPEN = 1
"""Flag of a call that does not end before the end of the window."""
_BEGIN, _END, _REQUEST, _COMPLETE = (
    "MpiCollectiveBegin", "MpiCollectiveEnd", "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"
)  # fmt: skip
_METRIC, _SAMPLE = "Metric", "CallingContextSample"
_DETAILS = (*SENDS, *RECEIVES, _END, _REQUEST, _COMPLETE, _METRIC, _SAMPLE)
_ANY_ROOT = 0xFFFFFFFD
"""Roots from here on are no ranks: THIS_GROUP, SELF, UNDEFINED."""


@dataclass
class WindowEvents:
    """Tables sorted by location and time. Times in ns; location, region, comm, metric: rows of the trace's tables, -1
    for unknown; number: of the event in its location, from 1.

    calls: location, begin, end, region, depth (0: outermost), exclusive, number (of the Enter), flags. The calls that
    touch the window, whole: begin may be before it. OPEN in flags: the call is still open at the window's end, and end
    and exclusive are those up to there. messages: location, time, number, sent (1, 0: received), peer (location), comm,
    tag, bytes, region, request (-1: blocking). collectives: those that end in the window: location, begin (-1:
    unknown), end, number, op, comm, root (-1: none), sent, received, region. metrics: location, time, number, metric,
    value. samples: location, time, number, region (-1: unknown). skipped: locations with too many events for the limit.
    """

    calls: Table
    messages: Table
    collectives: Table
    metrics: Table
    samples: Table
    skipped: list[int]


class LocationEvents:
    """The events of one location in a window, as they are read."""

    def __init__(self, location: int, start: int, stop: int) -> None:
        self.location, self.start, self.stop = location, start, stop
        self.slices: list[Array] = []
        self.more: list[Array] = []
        self.details: list[tuple[Array, Array, Array]] = []
        """Details, their times and the numbers of their events."""
        self.begins: list[Array] = []
        """Times of MpiCollectiveBegin and MpiCollectiveEnd (the latter as -1 - time), in their order."""
        self.stack = np.empty(0, CHECKPOINT_CALL)

    def add(self, batch: Batch, replay: Replay, number_of_first: int) -> None:
        """Adds a batch that the replay has followed."""
        self._add_calls(replay)
        details = batch.details
        wanted = details[_wanted()[details["kind"]]]
        if len(wanted):
            rows = wanted["row"].astype(np.int64)
            self.details.append((wanted.copy(), batch.time[rows], number_of_first + rows))
        kinds = batch.kind
        rows = np.flatnonzero((kinds == number(_BEGIN)) | (kinds == number(_END)))
        if len(rows):
            self.begins.append(np.where(kinds[rows] == number(_BEGIN), batch.time[rows], -1 - batch.time[rows]))

    def end(self, replay: Replay) -> None:
        """Ends the window: keeps the calls that are still open."""
        replay.until(self.stop)
        self._add_calls(replay)
        stack = replay.stack()
        self.stack = stack[stack["enter"] < self.stop].copy()

    def _add_calls(self, replay: Replay) -> None:
        slices = replay.slices()
        inside = (slices["end"] > self.start) | (slices["begin"] >= self.start)
        self.slices.append(slices[inside])
        self.more.append(replay.slice_details()[inside])


_WANTED = np.zeros(256, bool)


def _wanted() -> Array:
    if not _WANTED.any():
        _WANTED[[number(kind) for kind in _DETAILS]] = True
    return _WANTED


class _Details(NamedTuple):
    rows: Array
    time: Array
    numbers: Array
    location: Array

    def of(self, *kinds: str) -> _Details:
        chosen = np.isin(self.rows["kind"], [number(kind) for kind in kinds])
        return _Details(*(column[chosen] for column in self))

    def head(self) -> dict[str, Array]:
        return {"location": self.location, "time": self.time, "number": self.numbers}


def tables(trace: Source, found: list[LocationEvents], skipped: list[int]) -> WindowEvents:
    """The tables of a window. found: ascending by location."""
    calls = _calls(found)
    pieces = [(each.location, *part) for each in found for part in each.details]
    sizes = [len(rows) for _, rows, _, _ in pieces]
    everything = _Details(
        joined([rows for _, rows, _, _ in pieces], DETAIL), joined([time for _, _, time, _ in pieces], np.int64),
        joined([numbers for _, _, _, numbers in pieces], np.int64),
        np.repeat(np.array([piece[0] for piece in pieces], np.int64), sizes),
    )  # fmt: skip
    starts = dict(zip((each.location for each in found), (each.start for each in found), strict=True))
    begins = _collective_begins(found, everything, calls)
    start = next(iter(starts.values()), 0)
    inside = everything.time >= start
    details, begins = _Details(*(column[inside] for column in everything)), begins[inside]
    return WindowEvents(
        calls, _messages(trace, details), _collectives(trace, details, begins), _metrics(trace, details),
        _samples(trace, details), skipped,
    )  # fmt: skip


def _calls(found: list[LocationEvents]) -> Table:
    ended, more = (
        joined([part for each in found for part in each.slices], SLICE),
        joined([part for each in found for part in each.more], SLICE_DETAIL),
    )
    sizes = [sum(map(len, each.slices)) for each in found]
    here = np.array([each.location for each in found], np.int64)
    open_ = joined([each.stack for each in found], CHECKPOINT_CALL)
    depths = [len(each.stack) for each in found]
    stop = np.repeat(np.array([each.stop for each in found], np.int64), depths)
    depth = np.concatenate([np.empty(0, np.int64), *(np.arange(n) for n in depths)])
    # The time of an open call until the window's end, without the calls made from it: the call inside it is open, too.
    inner = np.where(np.append(depth[1:], 0) > 0, np.append(open_["enter"][1:], 0), stop) if len(stop) else stop
    columns = {
        "location": (np.repeat(here, sizes), np.repeat(here, depths)), "begin": (ended["begin"], open_["enter"]),
        "end": (ended["end"], stop), "region": (ended["region"], open_["region"]), "depth": (ended["depth"], depth),
        "exclusive": (more["exclusive"], np.maximum(0, inner - open_["enter"] - open_["inside"])),
        "number": (more["number"], open_["number"]),
        "flags": (np.zeros(len(ended), np.int64), np.full(len(open_), OPEN)),
    }  # fmt: skip
    table = Table({name: np.concatenate(parts).astype(np.int64) for name, parts in columns.items()})
    return table.take(np.lexsort((table["depth"], table["begin"], table["location"])))


def _messages(trace: Source, details: _Details) -> Table:
    found = details.of(*SENDS, *RECEIVES)
    comm, words = trace.definitions.ids["comms"].rows(found.rows["ref"]), found.rows["words"]
    immediate = np.isin(found.rows["kind"], [number("MpiIsend"), number("MpiIrecv")])
    return Table(
        found.head() | {
            "sent": np.isin(found.rows["kind"], [number(kind) for kind in SENDS]).astype(np.int64),
            "peer": trace.places.locate(comm, words[:, 0], found.location), "comm": comm,
            "tag": words[:, 1].astype(np.int64), "bytes": known_bytes(words[:, 2])[0],
            "region": region_rows(found.rows["region"]), "request": np.where(immediate, words[:, 3].view(np.int64), -1),
        }
    )  # fmt: skip


def _collectives(trace: Source, details: _Details, begins: Array) -> Table:
    chosen = np.isin(details.rows["kind"], [number(_END), number(_COMPLETE)])
    found, words = details.of(_END, _COMPLETE), details.rows["words"][chosen]
    root = words[:, 1].astype(np.int64)
    return Table({
        "location": found.location, "begin": begins[chosen], "end": found.time, "number": found.numbers,
        "op": words[:, 0].astype(np.int64), "comm": trace.definitions.ids["comms"].rows(found.rows["ref"]),
        "root": np.where(root >= _ANY_ROOT, -1, root), "sent": known_bytes(words[:, 2])[0],
        "received": known_bytes(words[:, 3])[0], "region": region_rows(found.rows["region"]),
    })  # fmt: skip


def _collective_begins(found: list[LocationEvents], details: _Details, calls: Table) -> Array:
    """(details,) the begin of each collective operation, ns; -1 for other details and where it is unknown."""
    begins = np.full(len(details.time), -1, np.int64)
    kinds = details.rows["kind"]
    for each in found:
        first, last = np.searchsorted(details.location, [each.location, each.location + 1])
        blocking = first + np.flatnonzero(kinds[first:last] == number(_END))
        if len(blocking):
            begins[blocking] = _nested(joined(each.begins, np.int64))
        if np.any(kinds[first:last] == number(_COMPLETE)):
            _requested(begins, details, range(first, last))
    for row in np.flatnonzero((kinds == number(_END)) & (begins < 0)).tolist():
        place = int(details.location[row]), int(details.time[row]), int(details.rows["region"][row])
        begins[row] = _call_around(calls, *place)
    return begins


def _nested(steps: Array) -> Array:
    """The begin of each end of blocking operations, which nest; -1: before the first event that was read."""
    open_: list[int] = []
    found = []
    for step in steps.tolist():
        if step >= 0:
            open_.append(step)
        else:
            found.append(open_.pop() if open_ else -1)
    return np.array(found, np.int64)


def _requested(begins: Array, details: _Details, rows: range) -> None:
    started: dict[int, int] = {}
    for row in rows:
        kind, words = details.rows["kind"][row], details.rows["words"][row]
        if kind == number(_REQUEST):
            started[int(words[0])] = int(details.time[row])
        elif kind == number(_COMPLETE):
            begins[row] = started.pop(int(words[4]), -1)


def _call_around(calls: Table, location: int, time: int, region: int) -> int:
    """The begin of the innermost call of a region around a time; -1: none."""
    here = (calls["location"] == location) & (calls["region"] == region)
    here &= (calls["begin"] <= time) & (calls["end"] >= time)
    return int(calls["begin"][here].max(initial=-1))


def _metrics(trace: Source, details: _Details) -> Table:
    found = details.of(_METRIC)
    member, kinds, bits = (found.rows["words"][:, n] for n in range(3))
    bits = np.ascontiguousarray(bits)
    values = np.where(
        kinds == _otf2.TYPE_DOUBLE.value, bits.view(np.float64),
        np.where(kinds == _otf2.TYPE_INT64.value, bits.view(np.int64).astype(np.float64), bits.astype(np.float64)),
    )  # fmt: skip
    return Table(found.head() | {"metric": MetricMembers(trace).rows(found.rows["ref"], member), "value": values})


def _samples(trace: Source, details: _Details) -> Table:
    found = details.of(_SAMPLE)
    contexts = trace.definitions.ids["contexts"].rows(found.rows["ref"])
    return Table(found.head() | {"region": np.append(trace.contexts["region"], -1)[contexts]})
