# SPDX-License-Identifier: BSD-3-Clause
"""Calls with their messages, and values of counters, as packets of Perfetto, encoded in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.calls import Calls
from vtrace.analysis.table import Array, Table, add_up
from vtrace.export import protobuf as pb
from vtrace.export.wait_arguments import calls_of
from vtrace.io.archive.reader_abi import KINDS

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_AT_ONCE = 1 << 18
"""The number of steps that are encoded together."""
_BEGIN, _END, _COUNTER = 1, 2, 4
"""TrackEvent.Type"""
_PACKET, _TIMESTAMP, _EVENT = 1, 8, 11
"""Trace.packet; fields of TracePacket."""
_CATEGORY, _ANNOTATION, _TYPE, _NAME, _TRACK, _SOURCE, _VALUE, _FLOW, _LAST_FLOW = 3, 4, 9, 10, 11, 34, 44, 47, 48
"""Fields of TrackEvent."""
_SEQUENCE = pb.field(10, 1)  # TracePacket.trusted_packet_sequence_id
_FIRST_WAIT = 9
"""Number of the annotation for the first kind of waits; the number before is that of the rank that a call waits for."""


@dataclass(frozen=True)
class PacketNumbers:
    """Bytes of a time, of a track and of a name as varints."""

    time: int
    track: int
    name: int


class CallWriter:
    """Encodes calls. names, sources, categories: numbers for each region, 0 for none."""

    ANNOTATIONS = (
        "bytes sent", "bytes received", "messages sent", "messages received", "to rank", "from rank", "tag",
        "waits for rank", *(f"{kind} ns" for kind in KINDS), "calls",
    )  # fmt: skip
    """The arguments of a call with messages or waits, or of several calls; their numbers begin at 1."""

    def __init__(
        self, trace: Source, numbers: PacketNumbers, names: Array, sources: Array, *, categories: Array
    ) -> None:
        self.trace, self.numbers = trace, numbers
        self.names, self.sources, self.categories = names, sources, categories

    def packets(
        self, calls: Calls, tracks: Array, messages: Table | None, waits: Table | None = None
    ) -> Iterator[memoryview]:
        """tracks: the number in Perfetto of each track of calls. waits: see wait_arguments."""
        more = _of_messages(self.trace, calls, messages) if messages is not None and messages.rows else None
        if waits is not None and waits.rows:
            more = more or (_More(len(calls)), _More(len(calls)))
            more[0].add_waits(calls_of(calls, waits), waits)
        if len(several := np.flatnonzero(calls.count > 1)):
            more = more or (_More(len(calls)), _More(len(calls)))
            more[0].add_counts(several, calls.count[several])
        for first in range(0, len(calls.time), _AT_ONCE):
            steps = np.arange(first, min(first + _AT_ONCE, len(calls.time)))
            yield self._some(calls, tracks, steps, more).data

    def _some(self, calls: Calls, tracks: Array, steps: Array, more: tuple[_More, _More] | None) -> Array:
        which, is_end = calls.call[steps], calls.is_end[steps]
        has_source = self.sources[calls.region[which]] > 0
        follow = (
            np.where(is_end, more[1].sizes[which], more[0].sizes[which]) if more else np.zeros(len(steps), np.int64)
        )
        shapes = is_end * 1 + (~is_end & has_source) * 2 + (follow > 0) * 4
        sizes = np.zeros(len(steps), np.int64)
        kept = []
        for shape in np.unique(shapes).tolist():
            rows = np.flatnonzero(shapes == shape)
            here, call = steps[rows], which[rows]
            more_bytes = follow[rows] if shape & 4 else None
            track = tracks[calls.track[call]]
            region = None if shape & 1 else calls.region[call]
            data = self._packets(calls.time[here], track, region=region, source=bool(shape & 2), more=more_bytes)
            sizes[rows] = data.shape[1] + follow[rows]
            kept.append((rows, data))
        layout = pb.Layout(sizes)
        for rows, data in kept:
            layout.put(rows, data)
            if more and shapes[rows[0]] & 4:
                more[shapes[rows[0]] & 1].put(layout, rows, which[rows], data.shape[1])
        return layout.bytes

    def _packets(self, time: Array, track: Array, region: Array | None, source: bool, *, more: Array | None) -> Array:
        """Packets of one shape; region None: ends of calls."""
        rows, n = len(time), self.numbers
        inside = [
            pb.constant(pb.field(_TYPE, _END if region is None else _BEGIN), rows), pb.row_field(_TRACK, n.track, track)
        ]  # fmt: skip
        if region is not None:
            inside += [
                pb.row_field(_NAME, n.name, self.names[region]), pb.row_field(_CATEGORY, 1, self.categories[region])
            ]  # fmt: skip
        if source and region is not None:
            inside.append(pb.row_field(_SOURCE, n.name, self.sources[region]))
        head = [pb.row_field(_TIMESTAMP, n.time, time), pb.constant(_SEQUENCE, rows)]
        return pb.message(_PACKET, [*head, pb.message(_EVENT, inside, more)], more)


def _of_messages(trace: Source, calls: Calls, messages: Table) -> tuple[_More, _More]:
    """Fields after the starts and the ends of calls.

    Flows have numbers from 1. An arrow leads from the start of the sending call to the end of the receiving call: the
    receiving call may have begun earlier, and Perfetto requires arrows in the order of time.
    """
    begins, ends = _More(len(calls)), _More(len(calls))
    flows = np.arange(1, messages.rows + 1, dtype=np.uint64)
    for side, (here, when, there) in enumerate((("sender", "send", "receiver"), ("receiver", "receive", "sender"))):
        call = calls.around(messages[here], messages[when], messages[f"{when}_region"])
        known = np.flatnonzero(call >= 0)
        kind = (_FLOW, _LAST_FLOW)[side]
        arrow = np.hstack([pb.constant(pb.tag(kind, pb.FIXED64), len(known)), pb.fixed64(flows[known])])
        (begins, ends)[side].add_arrows(call[known], arrow)
        rank = trace.places.process[messages[there][known]]
        begins.add_sums(call[known], messages["bytes"][known], rank=rank, tag=messages["tag"][known], side=side)
    return begins, ends


class _More:
    """Fields after the starts or ends of some calls: arrows, and sums of their messages."""

    def __init__(self, calls: int) -> None:
        self.sizes = np.zeros(calls, np.int64)
        """(calls,) bytes."""
        self.parts: list[tuple[Array, Array]] = []
        """Pairs (calls, bytes of each). The calls of a part are distinct."""

    def add_arrows(self, call: Array, data: Array) -> None:
        """Distributes the arrows of calls with several arrows to parts: a call's n-th arrow goes to the n-th part."""
        order = np.argsort(call, kind="stable")
        call, data = call[order], data[order]
        begins = np.flatnonzero(np.diff(call, prepend=-1))
        turn = np.arange(len(call)) - np.repeat(begins, np.diff([*begins, len(call)]))
        by = np.argsort(turn, kind="stable")
        ends = np.flatnonzero(np.diff(turn[by], append=-1)) + 1
        for rows in np.split(by, ends[:-1]) if len(by) else []:
            self._add(call[rows], data[rows])

    def add_sums(self, call: Array, sizes: Array, rank: Array, tag: Array, *, side: int) -> None:
        """Arguments of each call: the sum of bytes, and the number of messages, or for a single message its peer and
        tag."""
        if not len(call):
            return
        calls, first, member = np.unique(call, return_index=True, return_inverse=True)
        count = np.bincount(member)
        total = add_up(member, sizes, len(calls))
        single = np.flatnonzero(count == 1)
        several = np.flatnonzero(count > 1)
        self._add(calls, _annotation(1 + side, total))
        self._add(calls[several], _annotation(3 + side, count[several]))
        self._add(
            calls[single], np.hstack([_annotation(5 + side, rank[first[single]]), _annotation(7, tag[first[single]])])
        )

    def add_waits(self, call: Array, waits: Table) -> None:
        """Arguments of each call that waits: the ns of each kind, and the rank that the longest wait is for."""
        for kind in np.unique(waits["kind"][call >= 0]).tolist():
            here = np.flatnonzero((waits["kind"] == kind) & (call >= 0))
            self._add(call[here], _annotation(_FIRST_WAIT + kind, waits["time_ns"][here]))
        known = np.flatnonzero((call >= 0) & (waits["process"] >= 0))
        order = known[np.argsort(-waits["time_ns"][known], kind="stable")]
        calls, first = np.unique(call[order], return_index=True)
        self._add(calls, _annotation(_FIRST_WAIT - 1, waits["process"][order[first]]))

    def add_counts(self, call: Array, counts: Array) -> None:
        """The number of calls that a call stands for (polls in a row that found nothing)."""
        self._add(call, _annotation(len(CallWriter.ANNOTATIONS), counts))

    def _add(self, calls: Array, data: Array) -> None:
        if len(calls):
            order = np.argsort(calls)
            self.sizes[calls] += data.shape[1]
            self.parts.append((calls[order], data[order]))

    def put(self, layout: pb.Layout, rows: Array, calls: Array, after: int) -> None:
        """Stores the fields of these calls after their packets."""
        at = np.full(len(rows), after, np.int64)
        for known, data in self.parts:
            place = np.minimum(np.searchsorted(known, calls), len(known) - 1)
            hit = np.flatnonzero(known[place] == calls)
            if len(hit):
                layout.put(rows[hit], data[place[hit]], at[hit])
                at[hit] += data.shape[1]


def _annotation(number: int, values: Array) -> Array:
    """A DebugAnnotation with a whole number for each row."""
    rows = len(values)
    return pb.message(_ANNOTATION, [pb.constant(pb.field(1, number), rows), pb.row_field(4, 10, values)])


def counter_packets(numbers: PacketNumbers, track: int, times: Array, values: Array) -> memoryview:
    """The packets of the values (float64) of one counter track."""
    rows = len(times)
    value = np.hstack([pb.constant(pb.tag(_VALUE, pb.FIXED64), rows), pb.fixed64(values)])
    inside = [pb.constant(pb.field(_TYPE, _COUNTER) + pb.field(_TRACK, track), rows), value]
    head = [pb.row_field(_TIMESTAMP, numbers.time, np.maximum(times, 0)), pb.constant(_SEQUENCE, rows)]
    return np.ascontiguousarray(pb.message(_PACKET, [*head, pb.message(_EVENT, inside)])).data
