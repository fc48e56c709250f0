# SPDX-License-Identifier: BSD-3-Clause
"""Writes a copy of an archive with further locations: lanes and values, and their definitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.io.archive.definitions import UNDEFINED, plain_text
from vtrace.io.archive.properties import LANE, PROPERTY, TID
from vtrace.io.archive.reader import Reader
from vtrace.io.common.arrays import Array
from vtrace.io.sidecar.samples_archive import IN, OF
from vtrace.transform.event_columns import value_type, write_calls, write_values
from vtrace.transform.external_data import ACCUMULATED
from vtrace.transform.imported_lanes import ImportedLocation, ImportedValues, Lane, ValueLane
from vtrace.transform.new_archive import CopiedArchive, CopiedDefinitions, new_archive
from vtrace.transform.rewrite import ArchivePart, Rewriter
from vtrace.transform.tables import copied_markers, write_tables

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.console import Console


@dataclass(kw_only=True)
class ImportedArchive:
    """A finished import: its new locations and their contents. left: tables of the source that it lacks; notes: lines
    for the user."""

    path: Path
    lanes: int
    intervals: int
    values: int
    left: Sequence[str]
    notes: list[str] = field(default_factory=list)


class _Added:
    """The numbers of the new definitions, which follow those of the source."""

    def __init__(self, trace: Trace, lanes: Sequence[Lane], values: Sequence[ValueLane]) -> None:
        self._trace = trace
        self._added: list[ImportedLocation] = [*lanes, *values]
        ids = trace.definitions.ids
        first = _next(trace.locations["id"])
        self.locations = range(first, first + len(lanes) + len(values))
        self.contexts = bool(trace.contexts.rows)
        """The archive has calling contexts, which exclude Enter and Leave."""
        names = dict.fromkeys(plain_text(text) for lane in lanes for text in lane.names)
        self.regions = {text: n for n, text in enumerate(names, _next(ids["regions"].pairs[0]))}
        first = _next(ids["contexts"].pairs[0])
        self.refs = {text: first + n for n, text in enumerate(names)} if self.contexts else self.regions
        self.members: dict[tuple[str, str, str], int] = {}
        self.classes: dict[tuple[int, ...], int] = {}
        self._member, self._class = (
            _next(ids["metric_members"].pairs[0]),
            max(_next(ids[kind].pairs[0]) for kind in ("metric_classes", "metric_instances")),
        )
        self.of_lane = [self._class_of(lane.values) for lane in values]

    def _class_of(self, values: ImportedValues) -> int:
        keys = zip(values.counters, values.modes, map(value_type, values.columns), strict=True)
        members = tuple(self.members.setdefault(key, self._member + len(self.members)) for key in keys)
        return self.classes.setdefault(members, self._class + len(self.classes))

    def write(self, writer: Any, counts: Sequence[int]) -> None:
        """Writes the definitions with an OTF2_GlobalDefWriter. counts: events of each new location."""
        string = self._strings(writer)
        groups = self._trace.groups["id"].tolist()
        for number, lane, count in zip(self.locations, self._added, counts, strict=True):
            kind = _otf2.LOCATION_TYPE_CPU_THREAD if isinstance(lane, Lane) else _otf2.LOCATION_TYPE_METRIC
            _otf2.GlobalDefWriter_WriteLocation(writer, number, string(lane.title), kind, count, groups[lane.group])
            scope = _otf2.AttributeValue(stringRef=string(lane.scope))
            _otf2.GlobalDefWriter_WriteLocationProperty(writer, number, string(LANE), _otf2.TYPE_STRING, scope)
            if lane.tid >= 0:
                tid = _otf2.AttributeValue(uint64=lane.tid)
                _otf2.GlobalDefWriter_WriteLocationProperty(writer, number, string(TID), _otf2.TYPE_UINT64, tid)
        for text, number in self.regions.items():
            _otf2.GlobalDefWriter_WriteRegion(
                writer, number, string(text), string(text), string(""), _otf2.REGION_ROLE_CODE, _otf2.PARADIGM_USER,
                _otf2.REGION_FLAG_NONE, UNDEFINED, 0, 0,
            )  # fmt: skip
            if self.contexts:
                about = (number, UNDEFINED, UNDEFINED)
                _otf2.GlobalDefWriter_WriteCallingContext(writer, self.refs[text], *about)
        for (name, mode, kind), number in self.members.items():
            type_of = getattr(_otf2, f"TYPE_{kind}")
            how = _otf2.METRIC_ACCUMULATED_START if mode == ACCUMULATED else _otf2.METRIC_ABSOLUTE_POINT
            _otf2.GlobalDefWriter_WriteMetricMember(
                writer, number, string(name), string(""), _otf2.METRIC_TYPE_OTHER, how, type_of,
                _otf2.BASE_DECIMAL, 0, string("#"),
            )  # fmt: skip
        for members, number in self.classes.items():
            kind = (_otf2.METRIC_ASYNCHRONOUS, _otf2.RECORDER_KIND_UNKNOWN)
            _otf2.GlobalDefWriter_WriteMetricClass(writer, number, list(members), *kind)

    def _strings(self, writer: Any) -> Any:
        known = {text: number for number, text in self._trace.definitions.strings.items()}
        first = max(known.values(), default=-1) + 1
        made: dict[str, int] = {}

        def string(text: str) -> int:
            text = plain_text(text)
            if text in known:
                return known[text]
            if text not in made:
                made[text] = first + len(made)
                _otf2.GlobalDefWriter_WriteString(writer, made[text], text)
            return made[text]

        return string


def _next(ids: Array) -> int:
    return int(ids.max()) + 1 if len(ids) else 0


def write_import(
    trace: Trace, lanes: Sequence[Lane], values: Sequence[ValueLane], imported: Sequence[dict[str, str | None]],
    *, output: Path, console: Console,
) -> ImportedArchive:  # fmt: skip
    """Writes the copy into the new directory output. imported: all files whose lines it has. Raises VtraceError."""
    lanes, values = _named(trace, lanes), _named(trace, values)
    part = ArchivePart(locations=tuple(range(trace.locations.rows)))
    total = int(trace.locations["events"].sum())
    counts = [2 * len(lane.begin) for lane in lanes] + [len(lane.values.times) for lane in values]
    with Rewriter(trace, part) as copy:
        added = _Added(trace, lanes, values)
        with console.steps("events", total, "events") as advance, new_archive(output) as archive:
            copy.prepare(advance)
            copy.write(archive, advance)
            _write_events(archive, added, lanes, values)
            archive.finish(_definitions(copy, added, counts, imported), copied_markers(copy))
            tables = write_tables(copy, archive.directory)
    known = {path.name for path in (trace.folder / "vtrace").glob("*")}
    intervals = sum(len(lane.begin) for lane in lanes)
    numbers = sum(len(lane.values.times) * len(lane.values.columns) for lane in values)
    return ImportedArchive(
        path=output, lanes=len(counts), intervals=intervals, values=numbers, left=sorted(known - {*tables})
    )


def _named(trace: Trace, lanes: Sequence[Any]) -> list[Any]:
    """Numbers distinguish locations of one name in a process."""
    used = set(zip(trace.locations["group"].tolist(), trace.locations["name"].tolist(), strict=True))
    for lane in lanes:
        title, number = lane.title, 1
        while (lane.group, lane.title) in used:
            number += 1
            lane.title = f"{title} {number}"
        used.add((lane.group, lane.title))
    return [*lanes]


def _write_events(archive: CopiedArchive, added: _Added, lanes: Sequence[Lane], values: Sequence[ValueLane]) -> None:
    numbers = iter(added.locations)
    for lane in lanes:
        refs = np.array([added.refs[plain_text(text)] for text in lane.names], np.uint32)[lane.name]
        write_calls(archive, next(numbers), lane.begin, lane.end, refs=refs, contexts=added.contexts)
    for data, metric in zip((value.values for value in values), added.of_lane, strict=True):
        write_values(archive, next(numbers), data.times, data.columns, metric=metric)


def _definitions(
    copy: Rewriter, added: _Added, counts: Sequence[int], imported: Sequence[dict[str, str | None]]
) -> CopiedDefinitions:
    trace = copy.trace
    with Reader(trace.anchor) as reader:
        description = _otf2.Reader_GetDescription(reader.handle) or ""
    resolution, offset, length, realtime = trace.definitions.clock
    since = 2**64 - 1 if realtime is None else realtime
    properties = {
        name: text
        for name, text in trace.properties.items()
        if name not in [PROPERTY + key for key in (IN, OF, "EVENT_BYTES")]
    }
    properties[PROPERTY + "IMPORTED"] = json.dumps(imported)
    if isinstance(events := trace.vtrace.get("EVENTS"), dict):
        properties[PROPERTY + "EVENTS"] = json.dumps(_all_events(events, added, counts))
    return CopiedDefinitions(
        resolution, offset, length, since, properties=properties, creator=trace.creator, machine=trace.machine,
        description=description, chunk=copy.chunk(),
        write=lambda writer: copy.write_definitions(writer, (resolution, offset, length, since)),
        more=lambda writer: added.write(writer, counts),
    )  # fmt: skip


def _all_events(events: dict[str, int], added: _Added, counts: Sequence[int]) -> dict[str, int]:
    calls = len(counts) - len(added.of_lane)
    enter, leave = ("CallingContextEnter", "CallingContextLeave") if added.contexts else ("Enter", "Leave")
    more = {enter: sum(counts[:calls]) // 2, leave: sum(counts[:calls]) // 2, "Metric": sum(counts[calls:])}
    found = events | {kind: events.get(kind, 0) + count for kind, count in more.items() if count}
    return dict(sorted(found.items()))
