# SPDX-License-Identifier: BSD-3-Clause
"""Messages, collective operations, counters, markers and losses of a window of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.collectives import Collectives, op_name
from vtrace.analysis.questions.counters import READ, Moved
from vtrace.analysis.questions.links import Links
from vtrace.analysis.questions.messages import Messages
from vtrace.analysis.questions.metrics import Metrics
from vtrace.analysis.questions.timeline_data import missing
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, group
from vtrace.text import plain
from vtrace.timeline.answers import Content, pack
from vtrace.timeline.rows import with_metrics

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.timeline.prepared import Prepared

MOST = 4_000_000
"""The most messages and collective operations in memory; with more messages, a sample is kept."""
_BUNDLES, _BANDS, _VALUES = 600, 400, 20_000
"""The most bundles of messages, collective operations, and values of a location's counters in an answer."""
LINK = -2
"""The communicator of a link between calls, which the page draws as a message."""
_ERROR = "HIGH"
"""The severity of markers for errors."""
BANDS = ("begin", "last_begin", "first_end", "end", "op", "comm", "locations", "sent", "received", "root")
"""Columns of collective operations that the page gets."""
_MARKERS = 100_000
"""The most markers that the page gets, errors first."""
_STEPS = 24
"""Steps of time in a window; a bundle joins messages that are sent in one step."""


class WindowData:
    """Answers about windows of a trace. Reads the messages and operations of the whole trace at the first request, and
    keeps them."""

    def __init__(self, prepared: Prepared, part: Selection) -> None:
        self._trace, self._prepared, self._part, self._lock = prepared.trace, prepared, part, Lock()

    def questions(self) -> list[AnyQuestion]:
        """The questions whose answers are kept: messages, counters, bytes moved, collective operations; none if they
        are answered."""
        if "_read" in self.__dict__:
            return []
        links = [Links(MOST)] if Links.are_in(self._trace) else []
        return [Messages(MOST), Metrics(None, _VALUES), Moved(self._trace, _VALUES), Collectives(MOST), *links]

    @cached_property
    def _read(self) -> tuple[Table, tuple[Table, Table], Table, Table]:
        """Messages, collective operations with participants, counters, bytes moved."""
        with self._lock:
            if "_read" in self.__dict__:  # another thread has read the events meanwhile
                return self.__dict__["_read"]  # type: ignore[no-any-return]
            messages, values, moved, collectives, *links = self._prepared.answers(self.questions(), EVERYTHING)
            messages = _with_links(messages, *links)
            found = messages, collectives, values, moved
            self.__dict__["_read"] = found
            return found

    def messages(self) -> Table:
        """All messages; see Trace.messages. Also the links between calls, with the communicator LINK."""
        return self._read[0]

    def messages_of(self, location: int, begin: int, end: int) -> Table:
        """The messages that a call of a location sends or receives; see Trace.messages."""
        found = self.messages()
        chosen = np.zeros(found.rows, bool)
        for mine, time in (("sender", "send"), ("receiver", "receive")):
            chosen |= (found[mine] == location) & (found[time] >= begin) & (found[time] <= end)
        return found.take(chosen)

    def other_end(self, location: int, partner: int, comm: int, tag: int, *, time: int, sent: bool) -> int:
        """The time (ns) of the other end of a message that a location sends to (sent) or receives from a partner at a
        time, if messages_of has only one end. Reads all events of both locations. -1: there is no other end."""
        sender, receiver = (location, partner) if sent else (partner, location)
        question = Messages(MOST, (sender, receiver, comm, tag))
        ask(self._trace, [question], Selection.of(locations=sorted({location, partner})))
        found = question.answer()
        mine, other = (found["send"], found["receive"]) if sent else (found["receive"], found["send"])
        return next(iter(other[mine == time].tolist()), -1)

    def collectives(self) -> tuple[Table, Table]:
        """All collective operations; none if there are more than MOST. See Trace.collectives."""
        return self._read[1]

    def links(
        self, rows: Sequence[Array], window: tuple[int, int], lines: int, smallest: int, *, tag: int | None, comm: int,
        between: Sequence[int] | None = None,
    ) -> Content:  # fmt: skip
        """The messages of a window between rows as lines. Many messages become bundles, the largest first: count and
        bytes of the messages between two rows that are sent in one step of time.

        rows: the locations of each row; lines: the most messages to show as lines; smallest: the least bytes of a
        message; tag: None for any; comm: row of trace.comms, -1 for any; between: the locations of both ends, None
        for any.
        """
        found, (begin, end) = self.messages(), window
        first, last = np.minimum(found["send"], found["receive"]), np.maximum(found["send"], found["receive"])
        place = np.full(self._trace.locations.rows + 1, -1, np.int64)
        for number, locations in enumerate(rows):
            place[locations] = number
        chosen = (first < end) & (last >= begin) & (found["bytes"] >= smallest)
        chosen &= (place[found["sender"]] >= 0) & (place[found["receiver"]] >= 0)
        if tag is not None:
            chosen &= found["tag"] == tag
        if comm >= 0:
            chosen &= found["comm"] == comm
        if between is not None:
            chosen &= np.isin(found["sender"], between) & np.isin(found["receiver"], between)
        inside = found.take(chosen)
        count = int(np.count_nonzero(inside["comm"] != LINK))
        notes = {"messages": count * found.share, "bytes": int(inside["bytes"].sum()) * found.share,
                 "share": found.share}  # fmt: skip
        if inside.rows <= lines:
            names = ("sender", "receiver", "send", "receive", "bytes", "tag", "comm")
            return pack({name: inside[name] for name in names}, **notes, bundled=False)
        ends = {"from": place[inside["sender"]], "to": place[inside["receiver"]], "count": np.ones(inside.rows)}
        return bundled(Table({**inside, **ends}), window, notes)

    def bands(self, rows: Sequence[Array], window: tuple[int, int]) -> Content:
        """The collective operations of a window with participants on these rows: instances, and by instance the
        location, begin and end of each participant. If there are many, only the longest."""
        instances, parts = self.collectives()
        shown = np.zeros(self._trace.locations.rows, bool)
        shown[np.concatenate([np.empty(0, np.int64), *rows])] = True
        inside = np.flatnonzero((instances["begin"] < window[1]) & (instances["end"] > window[0]))
        count = len(inside)
        inside = longest(instances, inside)
        number = np.full(instances.rows, -1, np.int64)
        number[inside] = np.arange(len(inside))
        own = parts.take((number[parts["instance"]] >= 0) & shown[parts["location"]])
        some = instances.take(inside)
        ops = sorted(set(some["op"].tolist()))
        columns = {name: some[name] for name in BANDS}
        columns |= {f"part_{name}": own[name] for name in ("location", "begin", "end")}
        columns["part_instance"] = number[own["instance"]].astype(np.int32)
        return pack(columns, collectives=count, ops={op: op_name(op) for op in ops})

    def counters(self, locations: Sequence[int], window: tuple[int, int]) -> Content:
        """The counters in a window of locations and of the METRIC locations in their processes: values of series,
        ascending by time, starting with the last value before the window."""
        every = with_metrics(self._trace, np.array(locations, np.int64))
        mine = np.zeros(self._trace.locations.rows, bool)
        mine[every] = True
        series: list[dict[str, Any]] = []
        times, numbers, owner = list[Array](), list[Array](), list[Array]()
        for table, key in self.values(every.tolist(), window):
            kind = "" if key == "metric" else "moved"
            own = table.take(mine[table["location"]] & (table[key] >= 0))
            mode = own["mode"] if kind else np.zeros(own.rows, np.int64)
            keys = own["location"], own[key], mode
            firsts, member = group([*keys])
            for number, each in enumerate(firsts.tolist()):
                location, what, way = (int(column[each]) for column in keys)
                chosen = own.take(member == number)
                chosen = chosen.take(np.argsort(chosen["time"], kind="stable"))
                first = max(0, int(np.searchsorted(chosen["time"], window[0], "right")) - 1)
                last = int(np.searchsorted(chosen["time"], window[1], "right")) + 1
                times.append(chosen["time"][first:last])
                numbers.append(chosen["bytes" if kind else "value"][first:last].astype(np.float64))
                owner.append(np.full(len(times[-1]), len(series), np.int32))
                series.append({"location": location, **self._owner(location), **self._counter(kind, what, way)})
        empty = [np.empty(0)]
        return pack(
            {"series": np.concatenate([*owner, *empty]).astype(np.int32), "time": np.concatenate([*times, *empty]),
             "value": np.concatenate([*numbers, *empty])}, series=series,
        )  # fmt: skip

    def _owner(self, location: int) -> dict[str, Any]:
        """The process of a location, and whether its values are those of all locations of the process."""
        process, kind = self._trace.places.process[location], self._trace.locations["type"][location]
        return {"process": int(process), "metric": bool(kind == "METRIC")}

    def values(self, locations: Sequence[int], window: tuple[int, int]) -> list[tuple[Table, str]]:
        """Tables with at least the values of these locations, each with the name of the column that has the counter."""
        return [(self._read[2], "metric"), (self._read[3], "paradigm")]

    def _counter(self, kind: str, what: int, way: int) -> dict[str, str]:
        if kind:
            paradigm = plain(str(self._trace.io_paradigms["name"][what]))
            return {"name": f"{'read' if way == READ else 'written'} by {paradigm}", "unit": "bytes"}
        metrics = self._trace.metric_members
        return {"name": plain(str(metrics["name"][what])), "unit": plain(str(metrics["unit"][what]))}

    def marks(self) -> Content:
        """The markers of the trace, and the intervals in which locations did not record (see timeline_data.missing).
        Markers outside of the trace's time are at its border."""
        markers, notes = self._trace.markers(), list[str]()
        if markers.rows > _MARKERS:
            notes.append(f"only {_MARKERS:,} of {markers.rows:,} markers are shown, errors first")
            order = np.argsort(markers["severity"] != _ERROR, kind="stable")[:_MARKERS]
            markers = markers.take(np.sort(order))
        lost = missing(self._trace, self._part, notes)
        columns = {"time": np.clip(markers["time"], 0, self._trace.duration), "duration": markers["duration"]}
        scopes = {"LOCATION": "locations", "LOCATION_GROUP": "groups"}
        of = [
            int(self._trace.definitions.ids[scopes[scope]].rows(np.array([number]))[0]) if scope in scopes else -1
            for scope, number in zip(markers["scope"].tolist(), markers["scope_id"].tolist(), strict=True)
        ]
        columns["location"] = np.array(
            [row if scope == "LOCATION" else -1 for row, scope in zip(of, markers["scope"].tolist(), strict=True)],
            np.int64,
        )
        columns |= {f"lost_{name}": lost[name] for name in ("location", "begin", "end")}
        texts = [plain(str(text)) for text in markers["text"].tolist()]
        kinds = [plain(str(text)) for text in markers["severity"].tolist()]
        reasons = [f"{r}: {c}" for r, c in zip(lost["reason"].tolist(), lost["class"].tolist(), strict=True)]
        return pack(columns, texts=texts, severities=kinds, reasons=reasons, notes=notes)


def _with_links(messages: Table, *links: Table) -> Table:
    """The messages, and links as messages without bytes."""
    parts: list[dict[str, Array]] = [{**messages}]
    for each in links:
        parts.append({**each, "comm": np.full(each.rows, LINK)})
    like = {name: np.zeros(0, np.int64) for name in messages}
    columns = {
        name: np.concatenate([part.get(name, np.zeros(len(part["send"]), np.int64)) for part in parts]) for name in like
    }
    return Table(columns, **messages.notes)


def longest(instances: Table, inside: Array) -> Array:
    """Rows of collective operations to draw, in their order; if there are many, the longest."""
    if len(inside) <= _BANDS:
        return inside
    length = instances["end"][inside] - instances["begin"][inside]
    found: Array = np.sort(inside[np.argsort(-length, kind="stable")[:_BANDS]])
    return found


def bundled(inside: Table, window: tuple[int, int], notes: dict[str, int]) -> Content:
    """Joins messages (from, to: rows of the page; send, receive: ns; bytes; count) to bundles."""
    begin, end = window
    step = np.clip((inside["send"] - begin) * _STEPS // max(1, end - begin), -1, _STEPS)
    first, member = group([inside["from"], inside["to"], step])
    messages = inside["count"].astype(float)
    count, size = (np.bincount(member, inside[name].astype(float)) for name in ("count", "bytes"))
    send, receive = (np.bincount(member, inside[name] * messages) / count for name in ("send", "receive"))
    order = np.argsort(-size, kind="stable")[:_BUNDLES]
    columns = {"from_row": inside["from"][first], "to_row": inside["to"][first], "count": count, "bytes": size}
    columns |= {"send": send, "receive": receive}
    return pack({name: column[order] for name, column in columns.items()}, **notes, bundled=True, bundles=len(count))
