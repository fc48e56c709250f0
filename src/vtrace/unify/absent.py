# SPDX-License-Identifier: BSD-3-Clause
"""Local files of a process that are missing, or end too early: what it says that it wrote, against what is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local import FileHead, Stream
from vtrace.io.records import DEFINITION_DATA, EVENTS
from vtrace.unify.definitions import ProcessDefinitions

Paths = Mapping[int, Path]
"""By location."""
_SHOWN = 4


def records_in(stream: Stream) -> int | None:
    """Records of a stream of events; None where that cannot be said: it is damaged, or was still being filled."""
    unknown = stream.problems or (stream.index["end_ticks"] == 0).any()
    return None if unknown else int(stream.index["records"].sum())


def find_absent(
    heads: Collection[FileHead], known: ProcessDefinitions, present: Mapping[int, int | None]
) -> tuple[dict[int, int], list[str]]:
    """What a process that has no buffer lacks: records by location, and a text for each file.

    present: records that are there. At its end a location tells in its def file how many it has written, and a process
    how many locations it had.
    """
    summaries = known.summaries
    told = str(known.properties.get("locations", ""))
    definitions = {head.location: head.path for head in heads if head.content == DEFINITION_DATA}
    events = {head.location: head.path for head in heads if head.content == EVENTS}
    texts = []
    records = {}
    for location in sorted(definitions.keys() | events.keys()):
        summary, there = summaries.get(location), present.get(location, 0)
        if summary is None and location not in definitions:
            texts.append(f"{_beside(events[location], '.events', '.def')} is missing")
        elif summary is None and 0 in summaries:
            texts.append(f"{definitions[location]} ends too early")
        elif summary is not None and there is not None and there < summary.records:
            records[location] = summary.records - there
            texts.append(_events(location, definitions, events, records[location], summary.records))
    gaps = _gaps(definitions.keys() | events.keys(), int(told) if told.isdecimal() else None, definitions | events)
    return records, texts + gaps


def _events(location: int, definitions: Paths, events: Paths, lacking: int, records: int) -> str:
    if location in events:
        return f"{events[location]} ends too early: {lacking:,} of {records:,} records are missing"
    return f"{_beside(definitions[location], '.def', '.events')} is missing, with {records:,} records"


def _beside(path: Path, kind: str, other: str) -> Path:
    before, _, behind = path.name.rpartition(kind)
    return path.with_name(f"{before}{other}{behind}")


def _gaps(there: Collection[int], told: int | None, paths: Paths) -> list[str]:
    """Locations whose files are all missing. Numbers have no gap, unless a thread began when the process ended."""
    numbers = max(there, default=-1) + 1
    missing = sorted(set(range(max(numbers, told or 0))) - {*there})
    if not there or not missing or (told is not None and len(there) >= told):
        return []
    others = missing[1:] if missing[0] == 0 else missing
    whose = ["the main thread"] * (0 in missing)
    if others:
        some = ", ".join(map(str, others[:8])) + (" ..." if len(others) > 8 else "")
        whose.append(f"{'thread' if len(others) == 1 else 'threads'} {some}")
    return [f"the files of {' and '.join(whose)} beside {paths[min(there)]} are missing"]


def tell_absent(texts: Sequence[str], allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns of what find_absent has found; raises VtraceError where that is not allowed."""
    more = [f"{len(texts) - _SHOWN} more are missing or end too early"] if len(texts) > _SHOWN else []
    shown = [*texts[:_SHOWN], *more]
    if not allowed:
        raise VtraceError("; ".join(shown), "copy what is missing there, or use --partial to go on without")
    for text in shown:
        warn(text)
