# SPDX-License-Identifier: BSD-3-Clause
"""Local files of a process that are missing or end too early, found by comparing its summaries with its files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path

from vtrace.io.local.local_files import FileHead, Stream
from vtrace.io.local.records import DEFINITION_DATA, EVENTS
from vtrace.unify.model.process_definitions import ProcessDefinitions

Paths = Mapping[int, Path]
"""Paths by location."""
FILE, WRITE, DAMAGE = "FILE", "WRITE", "DAMAGE"
"""Reasons for missing records that a summary counts: their file is missing or ends too early; the process could not
write them; they follow damage."""
_NUMBERS = 8


def records_in(stream: Stream) -> int | None:
    """Returns the number of records in a stream of events; None if the process was still filling a chunk."""
    rows = stream.index[stream.index["raw_bytes"] > 0]
    return None if (rows["end_ticks"] == 0).any() else int(rows["records"].sum())


def recorded_after_summaries(known: ProcessDefinitions, present: Mapping[int, int | None]) -> bool:
    """Returns True if a process recorded more after its summaries, for example because its exec failed. Then the
    summaries are not those of its end.

    present: number of existing records by location, as records_in returns it.
    """
    counts = ((summary.records, present.get(location, 0)) for location, summary in known.summaries.items())
    return any(there is None or there > expected for expected, there in counts)


def lacking(known: ProcessDefinitions, present: Mapping[int, int | None]) -> dict[int, int]:
    """Returns by location the number of missing records according to the newest summary."""
    counts = {location: summary.records - (present.get(location) or 0) for location, summary in known.summaries.items()}
    return {location: n for location, n in sorted(counts.items()) if n > 0}


def missing_parts(
    heads: Collection[FileHead], known: ProcessDefinitions, present: Mapping[int, int | None]
) -> list[str]:
    """Returns a text for each missing file of a process that has no buffer.

    present: number of existing records by location. At its end a location writes the number of its records into its
    def file, and a process the number of its locations.
    """
    summaries = known.summaries
    expected = str(known.properties.get("locations", ""))
    definitions = {head.location: head.path for head in heads if head.content == DEFINITION_DATA}
    events = {head.location: head.path for head in heads if head.content == EVENTS}
    texts = []
    for location in sorted(definitions.keys() | events.keys()):
        summary, there = summaries.get(location), present.get(location, 0)
        if summary is None and location not in definitions:
            texts.append(f"{_beside(events[location], '.events', '.def')} is missing")
        elif summary is None and 0 in summaries:
            texts.append(f"{definitions[location]} ends too early")
        elif summary is not None and there is not None and there < summary.records:
            texts.append(
                _events(location, definitions, events=events, lacking=summary.records - there, records=summary.records)
            )
    gaps = _gaps(
        definitions.keys() | events.keys(),
        int(expected) if expected.isdecimal() and len(expected) < 20 else None,
        definitions | events,
    )
    return texts + gaps


def _events(location: int, definitions: Paths, events: Paths, lacking: int, *, records: int) -> str:
    if location in events:
        return f"{events[location]} ends too early: {lacking:,} of {records:,} records are missing"
    return f"{_beside(definitions[location], '.def', '.events')} is missing, with {records:,} records"


def _beside(path: Path, kind: str, other: str) -> Path:
    before, _, behind = path.name.rpartition(kind)
    return path.with_name(f"{before}{other}{behind}")


def _gaps(there: Collection[int], expected: int | None, paths: Paths) -> list[str]:
    """Returns a text about locations without any files. Location numbers have no gap, unless a thread started while the
    process ended."""
    if not there:
        return []
    numbers = max(*there, (expected or 0) - 1) + 1
    if len(there) >= (numbers if expected is None else expected):
        return []
    # A damaged file may have any number: missing locations are counted, and only the first ones are listed.
    whose = [] if 0 in there else ["the main thread"]
    if others := numbers - len(there) - len(whose):
        first = list(islice((n for n in range(1, numbers) if n not in there), min(others, _NUMBERS)))
        some = ", ".join(map(str, first)) + (" ..." if others > _NUMBERS else "")
        whose.append(f"{'thread' if others == 1 else 'threads'} {some}")
    return [f"the files of {' and '.join(whose)} beside {paths[min(there)]} are missing"]
