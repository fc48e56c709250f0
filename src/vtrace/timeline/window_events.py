# SPDX-License-Identifier: BSD-3-Clause
"""The events of a window as tables, from the batches and replays of its locations."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.details import are, known_bytes, number, region_rows
from vtrace.analysis.questions.messages import RECEIVES, SENDS
from vtrace.analysis.questions.metrics import MetricMembers, doubles
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.batches import wanted_kinds
from vtrace.io.archive.reader_abi import BatchFields, ReplayFields
from vtrace.io.common.arrays import view
from vtrace.io.common.schema import Schema
from vtrace.timeline.kernels import kernels

if TYPE_CHECKING:
    from vtrace.analysis.replay import Replay
    from vtrace.analysis.source import Source
    from vtrace.io.archive.batches import BatchBuffer

_SCHEMA = Schema("vt_window_schema")
_EVENT = _SCHEMA.dtype("vt_window_event")
_WindowStructure = _SCHEMA.structure("vt_window")
_CALLS = [name.lower() for name in _SCHEMA.enumerations["vt_call_column"] if name != "COLUMNS"]
OPEN = _SCHEMA.constants["CALL_OPEN"]
"""Flag of a call that is still open at the end of the window."""
_pointer, _code = ctypes.c_void_p, ctypes.c_int
_library = kernels(
    vt_window_new=(ctypes.POINTER(_WindowStructure), []),
    vt_window_free=(None, [_pointer]),
    vt_window_begin=(None, [_pointer, ctypes.c_int64, ctypes.c_int64]),
    vt_window_location=(_code, [_pointer, ctypes.POINTER(ReplayFields), ctypes.c_uint64, ctypes.c_uint64]),
    vt_window_batch=(_code, [_pointer, ctypes.POINTER(ReplayFields), ctypes.POINTER(BatchFields)]),
    vt_window_end=(_code, [_pointer, ctypes.POINTER(ReplayFields)]),
)
_END, _REQUEST, _COMPLETE = (
    "MpiCollectiveEnd", "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"
)  # fmt: skip
_METRIC, _SAMPLE = "Metric", "CallingContextSample"
_DETAILS = (*SENDS, *RECEIVES, _END, _REQUEST, _COMPLETE, _METRIC, _SAMPLE)
_ANY_ROOT = 0xFFFFFFFD
"""Roots from this value on are no ranks: THIS_GROUP, SELF, UNDEFINED."""


@dataclass(kw_only=True)
class WindowEvents:
    """Tables sorted by location and number. Times in ns; location, region, comm, metric: rows of the trace's tables, -1
    if unknown; number: of the event in its location, from 1.

    calls, which touch the window: location, begin (maybe before the window), end, region, depth (0: outermost),
    exclusive, number (of the Enter), flags, calls (see LocationCalls). OPEN in flags: the call is still open at the
    window's end, where end and exclusive stop. messages: location, time, number, sent (1, 0: received), peer
    (location), comm, tag, bytes, region,
    request (-1: blocking). collectives, which end in the window: location, begin (-1: unknown), end, number, op, comm,
    root (-1: none), sent, received, region. metrics: location, time, number, metric, value. samples: location, time,
    number, region (-1: unknown). skipped: locations with too many events for the limit.
    """

    calls: Table
    messages: Table
    collectives: Table
    metrics: Table
    samples: Table
    skipped: list[int]


class WindowRows:
    """Collects the calls and events of a window in C (csrc/kernels/window_rows.h), location by location."""

    def __init__(self) -> None:
        self._library = _library()
        self._pointer = self._library.vt_window_new()
        if not self._pointer:
            raise MemoryError
        self._fields = self._pointer.contents
        wanted = wanted_kinds(frozenset(_DETAILS))
        ctypes.memmove(self._fields.wanted, wanted, len(wanted))

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.vt_window_free(self._pointer)
            self._pointer = None

    def begin(self, start: int, stop: int) -> None:
        """Starts a window [start, stop) (ns): drops all calls and events."""
        self._library.vt_window_begin(self._pointer, start, stop)

    def location(self, location: int, replay: Replay, first: int) -> None:
        """Starts a location, whose replay has just started, or resumed before the event `first`."""
        self._checked(self._library.vt_window_location(self._pointer, replay.fields, location, first))

    def batch(self, batch: BatchBuffer, replay: Replay) -> None:
        """Adds a batch that the replay has followed."""
        self._checked(self._library.vt_window_batch(self._pointer, replay.fields, batch.fields))

    def end(self, replay: Replay) -> None:
        """Ends the location."""
        self._checked(self._library.vt_window_end(self._pointer, replay.fields))

    def _checked(self, code: int) -> None:
        if code:
            raise MemoryError

    def found(self) -> tuple[Array, Array]:
        """Copies of the calls, (columns, n) int64, and of the events found so far."""
        fields, columns = self._fields, len(_CALLS)
        calls = view(fields.calls, columns * fields.calls_room, np.int64).reshape(columns, -1)[:, : fields.ncalls]
        return calls.copy(), view(fields.events, fields.nevents, _EVENT).copy()


def tables(trace: Source, start: int, found: list[tuple[Array, Array]], skipped: list[int]) -> WindowEvents:
    """The tables of a window that starts at `start`. found: results of WindowRows, ascending by location."""
    columns = np.concatenate([np.empty((len(_CALLS), 0), np.int64), *(calls for calls, _ in found)], axis=1)
    calls = Table(dict(zip(_CALLS, columns, strict=True)))
    events = joined([each for _, each in found], _EVENT)
    _complete_begins(events, calls)
    events = events[events["time"] >= start]
    return WindowEvents(
        calls=calls,
        messages=_messages(trace, events),
        collectives=_collectives(trace, events),
        metrics=_metrics(trace, events),
        samples=_samples(trace, events),
        skipped=skipped,
    )


def _of(events: Array, *kinds: str) -> Array:
    found: Array = events[are(events["kind"], *kinds)]
    return found


def _head(found: Array) -> dict[str, Array]:
    return {name: found[name].astype(np.int64) for name in ("location", "time", "number")}


def _complete_begins(events: Array, calls: Table) -> None:
    """Sets the start times that C leaves unknown: of nonblocking operations, and of blocking ones without a begin
    event."""
    kinds = events["kind"]
    if np.any(kinds == number(_COMPLETE)):
        _requested(events)
    for row in np.flatnonzero((kinds == number(_END)) & (events["begin"] < 0)).tolist():
        events["begin"][row] = _call_around(calls, *(int(events[name][row]) for name in ("location", "time", "region")))


def _requested(events: Array) -> None:
    """Sets the start times of nonblocking operations to the times of their requests."""
    started: dict[tuple[int, int], int] = {}
    rows = np.flatnonzero(are(events["kind"], _REQUEST, _COMPLETE))
    for row in rows.tolist():
        location, words = int(events["location"][row]), events["words"][row]
        if events["kind"][row] == number(_REQUEST):
            started[location, int(words[0])] = int(events["time"][row])
        else:
            events["begin"][row] = started.pop((location, int(words[4])), -1)


def _messages(trace: Source, events: Array) -> Table:
    found = _of(events, *SENDS, *RECEIVES)
    comm, words = trace.definitions.ids["comms"].rows(found["ref"]), found["words"]
    immediate = are(found["kind"], "MpiIsend", "MpiIrecv")
    head = _head(found)
    return Table(
        head | {
            "sent": are(found["kind"], *SENDS).astype(np.int64),
            "peer": trace.places.locate(comm, words[:, 0], head["location"]), "comm": comm,
            "tag": words[:, 1].astype(np.int64), "bytes": known_bytes(words[:, 2])[0],
            "region": region_rows(found["region"]), "request": np.where(immediate, words[:, 3].astype(np.int64), -1),
        }
    )  # fmt: skip


def _collectives(trace: Source, events: Array) -> Table:
    found = _of(events, _END, _COMPLETE)
    words, head = found["words"], _head(found)
    root = words[:, 1].astype(np.int64)
    return Table({
        "location": head["location"], "begin": found["begin"].copy(), "end": head["time"], "number": head["number"],
        "op": words[:, 0].astype(np.int64), "comm": trace.definitions.ids["comms"].rows(found["ref"]),
        "root": np.where(root >= _ANY_ROOT, -1, root), "sent": known_bytes(words[:, 2])[0],
        "received": known_bytes(words[:, 3])[0], "region": region_rows(found["region"]),
    })  # fmt: skip


def _call_around(calls: Table, location: int, time: int, region: int) -> int:
    """The start of the innermost call of a region that contains a time; -1: none."""
    here = (calls["location"] == location) & (calls["region"] == region)
    here &= (calls["begin"] <= time) & (calls["end"] >= time)
    return int(calls["begin"][here].max(initial=-1))


def _metrics(trace: Source, events: Array) -> Table:
    found = _of(events, _METRIC)
    member, kinds, bits = (found["words"][:, n] for n in range(3))
    values = doubles(np.ascontiguousarray(bits), kinds)
    return Table(_head(found) | {"metric": MetricMembers(trace).rows(found["ref"], member), "value": values})


def _samples(trace: Source, events: Array) -> Table:
    found = _of(events, _SAMPLE)
    contexts = trace.definitions.ids["contexts"].rows(found["ref"])
    return Table(_head(found) | {"region": np.append(trace.contexts["region"], -1)[contexts]})
