# SPDX-License-Identifier: BSD-3-Clause
"""Local files of a process that are missing or end too early: its summaries against the files that are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local.local_files import FileHead, Stream
from vtrace.io.local.records import DEFINITION_DATA, EVENTS
from vtrace.unify.model.process_definitions import ProcessDefinitions

Paths = Mapping[int, Path]
"""By location."""
_SHOWN = 4
FILE, WRITE, DAMAGE = "FILE", "WRITE", "DAMAGE"
"""Why records that a summary counts are not there: their file is missing or ends too early; the process could not
write them; they stand behind damage."""
_NUMBERS = 8


def records_in(stream: Stream) -> int | None:
    """Returns the number of records in a stream of events; None: the process was still filling a chunk."""
    rows = stream.index[stream.index["raw_bytes"] > 0]
    return None if (rows["end_ticks"] == 0).any() else int(rows["records"].sum())


def went_on(known: ProcessDefinitions, present: Mapping[int, int | None]) -> bool:
    """Returns whether a process recorded more after its summaries, for example because its exec failed. Then the
    process has not come to its end.

    present: by location the records that are there, as records_in returns them.
    """
    counts = ((summary.records, present.get(location, 0)) for location, summary in known.summaries.items())
    return any(there is None or there > told for told, there in counts)


def lacking(known: ProcessDefinitions, present: Mapping[int, int | None]) -> dict[int, int]:
    """Returns by location how many records the newest summary counts that are not there."""
    counts = {location: summary.records - (present.get(location) or 0) for location, summary in known.summaries.items()}
    return {location: n for location, n in sorted(counts.items()) if n > 0}


def find_absent(heads: Collection[FileHead], known: ProcessDefinitions, present: Mapping[int, int | None]) -> list[str]:
    """Returns a text for each missing file of a process that has no buffer.

    present: by location the records that are there. At its end a location writes the number of its records into its
    def file, and a process the number of its locations.
    """
    summaries = known.summaries
    told = str(known.properties.get("locations", ""))
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
            texts.append(_events(location, definitions, events, summary.records - there, summary.records))
    gaps = _gaps(
        definitions.keys() | events.keys(),
        int(told) if told.isdecimal() and len(told) < 20 else None,
        definitions | events,
    )
    return texts + gaps


def _events(location: int, definitions: Paths, events: Paths, lacking: int, records: int) -> str:
    if location in events:
        return f"{events[location]} ends too early: {lacking:,} of {records:,} records are missing"
    return f"{_beside(definitions[location], '.def', '.events')} is missing, with {records:,} records"


def _beside(path: Path, kind: str, other: str) -> Path:
    before, _, behind = path.name.rpartition(kind)
    return path.with_name(f"{before}{other}{behind}")


def _gaps(there: Collection[int], told: int | None, paths: Paths) -> list[str]:
    """Returns a text about locations whose files are all missing. Location numbers have no gap, unless a thread began
    when the process ended."""
    if not there:
        return []
    numbers = max(*there, (told or 0) - 1) + 1
    if len(there) >= (numbers if told is None else told):
        return []
    # Damaged files give any numbers: the missing ones are counted, and only the first are looked up.
    whose = [] if 0 in there else ["the main thread"]
    if others := numbers - len(there) - len(whose):
        first = list(islice((n for n in range(1, numbers) if n not in there), min(others, _NUMBERS)))
        some = ", ".join(map(str, first)) + (" ..." if others > _NUMBERS else "")
        whose.append(f"{'thread' if others == 1 else 'threads'} {some}")
    return [f"the files of {' and '.join(whose)} beside {paths[min(there)]} are missing"]


def tell_absent(texts: Sequence[str], allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns with texts of find_absent; raises VtraceError unless missing files are allowed."""
    more = [f"{len(texts) - _SHOWN} more are missing or end too early"] if len(texts) > _SHOWN else []
    shown = [*texts[:_SHOWN], *more]
    if not allowed:
        raise VtraceError("; ".join(shown), "copy what is missing there, or use --partial to go on without")
    for text in shown:
        warn(text)
