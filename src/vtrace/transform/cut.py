# SPDX-License-Identifier: BSD-3-Clause
"""Writes a part of an archive as an archive: window, locations, regions."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.selection import Patterns, Selection
from vtrace.io.archive.definitions import UNDEFINED_TIME
from vtrace.io.archive.properties import PROPERTY
from vtrace.io.archive.reader import Reader
from vtrace.io.sidecar.samples_archive import IN, OF
from vtrace.transform.new_archive import CopiedDefinitions, new_archive
from vtrace.transform.rewrite import NEVER, ArchivePart, Rewriter, by_id
from vtrace.transform.tables import copied_markers, left_tables, write_tables

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.console import Console

OF_THE_RUN = (
    "RECORDED_NS", "OFF_NS", "FLUSHED_NS", "LOST", "CLAMPED", "STOPPED", "DROPPED", "USER_NS", "SYSTEM_NS",
    "MINOR_FAULTS", "MAJOR_FAULTS", "IN_CALLS_NS", "RESIDENT_PAGES",
)  # fmt: skip
"""Properties of locations that count events or time of the whole run."""


@dataclass(frozen=True, kw_only=True)
class CutArchive:
    """A finished cut. tables: of the sidecar, rewritten; left: tables that are not in the cut."""

    path: Path
    locations: int
    events: int
    halves: int
    duration: int
    tables: Sequence[str]
    left: Sequence[str]
    early: int
    stray: int


def part_of(trace: Trace, window: Selection, patterns: Patterns) -> ArchivePart:
    regions = contexts = selects_path = None
    table, inside = trace.regions, trace.contexts
    context_ids = trace.definitions.ids["contexts"].pairs[0].astype(np.int64)
    if patterns.limits_regions:
        matching = patterns.regions(trace)
        regions = by_id(table["id"], matching)
        contexts = by_id(context_ids, np.append(matching, False)[inside["region"]])
    if patterns.of("path"):
        selects_path = functools.partial(_selects, patterns)
        names = [str(name) for name in table["name"].tolist()]
        texts: list[str] = []
        for parent, region in zip(inside["parent"].tolist(), inside["region"].tolist(), strict=True):
            around = texts[parent] if 0 <= parent < len(texts) else ""
            texts.append(" > ".join(filter(None, (around, names[region] if region >= 0 else ""))))
        chosen = np.array([selects_path(text) for text in texts], np.uint8)
        by_path = by_id(context_ids, chosen)
        contexts = by_path if contexts is None else contexts & by_path
    rows = range(trace.locations.rows) if window.locations is None else window.locations
    start = 0 if window.start is None else _ticks(trace, window.start)
    stop = NEVER if window.stop is None else _ticks(trace, window.stop)
    return ArchivePart(
        locations=tuple(rows), start=start, stop=stop, regions=regions, contexts=contexts, selects_path=selects_path
    )


def _selects(patterns: Patterns, path: str) -> bool:
    return bool(patterns.matching("path", np.array([path], object))[0])


def _ticks(trace: Trace, ns: int) -> int:
    """The first tick at or after a time."""
    resolution, offset, *_ = trace.definitions.clock
    return offset - (-ns * resolution // 10**9)


def cut(trace: Trace, window: Selection, patterns: Patterns, output: Path, *, console: Console) -> CutArchive:
    """Writes a part of a trace into the new directory output. Raises VtraceError."""
    part = part_of(trace, window, patterns)
    total = int(trace.locations["events"][list(part.locations)].sum())
    with Rewriter(trace, part) as copy:
        windowed = part.start > 0 or part.stop < NEVER
        with console.steps("events", total * copy.passes(), "events") as advance:
            copy.prepare(advance, [PROPERTY + name for name in OF_THE_RUN] if windowed else ())
            with new_archive(output) as archive:
                copy.write(archive, advance)
                made = _definitions(copy, window, patterns)
                archive.finish(made, copied_markers(copy))
                tables = write_tables(copy, archive.directory)
        return CutArchive(
            path=output,
            locations=len(part.locations),
            events=sum(copy.result.events.values()),
            halves=sum(copy.result.halves.values()),
            duration=made.length * 10**9 // made.resolution,
            tables=tables,
            left=left_tables(trace, tables),
            early=copy.result.early,
            stray=copy.result.stray,
        )


def _definitions(copy: Rewriter, window: Selection, patterns: Patterns) -> CopiedDefinitions:
    """The clock has the times of the source; its offset and length are those of the window."""
    trace, part = copy.trace, copy.part
    resolution, offset, length, realtime = trace.definitions.clock
    begin = max(offset, min(part.start, offset + length))
    end = max(begin, min(part.stop, offset + length))
    since = UNDEFINED_TIME if realtime is None else realtime + (begin - offset) * 10**9 // resolution
    with Reader(trace.anchor) as reader:
        description = _otf2.Reader_GetDescription(reader.handle) or ""
    return CopiedDefinitions(
        resolution, begin, end - begin, since,
        properties=_properties(copy, window, patterns), creator=trace.creator, machine=trace.machine,
        description=description, chunk=copy.chunk(),
        write=lambda writer: copy.write_definitions(writer, (resolution, begin, end - begin, since)),
    )  # fmt: skip


def _properties(copy: Rewriter, window: Selection, patterns: Patterns) -> dict[str, str]:
    """The properties of the source, with counts of the cut, and VTRACE::CUT."""
    trace, own = copy.trace, copy.trace.vtrace
    found = {
        name: text
        for name, text in trace.properties.items()
        if name not in [PROPERTY + key for key in (IN, OF, "EVENT_BYTES")]
    }
    begin, end = window.ends(trace)
    values: dict[str, Any] = {
        "CUT": {
            "of": trace.archive.name, "from_ns": begin, "to_ns": min(end, trace.duration),
            "duration_ns": trace.duration, "window": window.text,
            "select": [f"{kind}={','.join(each)}" for kind, each in patterns.all],
            "locations": len(copy.part.locations), "of_locations": trace.locations.rows,
            "halves": sum(copy.result.halves.values()),
        }
    }  # fmt: skip
    if "EVENTS" in own:
        values["EVENTS"] = copy.result.events
    if isinstance(own.get("SAMPLES"), dict):
        values["SAMPLES"] = own["SAMPLES"] | {"samples": copy.result.events.get("CallingContextSample", 0)}
    if isinstance(own.get("LOOPS"), list) and not copy.whole:
        values["LOOPS"] = _loops(copy, own["LOOPS"])
    return found | {PROPERTY + name: json.dumps(value) for name, value in values.items()}


def _loops(copy: Rewriter, loops: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The loops of regions that stay, with the numbers of regions and source lines in the cut."""
    found = []
    for loop in loops:
        region = copy.number("Region", loop["region"])
        if region is not None:
            lines = (copy.number("SourceCodeLocation", line) for line in loop.get("lines", []))
            found.append(loop | {"region": region, "lines": [line for line in lines if line is not None]})
    return found
