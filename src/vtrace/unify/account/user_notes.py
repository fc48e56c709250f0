# SPDX-License-Identifier: BSD-3-Clause
"""Markers and comments of the user API, and its unpaired calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from vtrace.io.archive.writer import Marker
from vtrace.io.local.kernel import UNMAPPED, Transcoded
from vtrace.io.local.records import MARKERS
from vtrace.unify.model.process_definitions import ProcessDefinitions

_SEVERITIES = {MARKERS["ERROR"]: "HIGH", MARKERS["WARNING"]: "MEDIUM", MARKERS["HINT"]: "LOW"}


class UserRow(Protocol):
    """The fields of a CoverageRow that this module reads."""

    @property
    def result(self) -> Transcoded | None: ...
    @property
    def lost(self) -> int: ...
    @property
    def died(self) -> bool: ...
    @property
    def notes(self) -> Sequence[str]: ...


def user_markers(location: int, known: ProcessDefinitions, result: Transcoded) -> Iterator[Marker]:
    """Yields a location's markers and comments."""
    for time, marker, text in result.notes:
        said = known.texts.get(text, "?")
        if marker == UNMAPPED:
            yield Marker(time, "comment", text=said, location=location, group="user", severity="NONE")
            continue
        kind = known.markers.get(marker)
        name, severity = (kind.name, _SEVERITIES[kind.severity]) if kind else ("?", "NONE")
        yield Marker(time, name, text=said, location=location, group="user", severity=severity)


def properties(rows: Sequence[UserRow]) -> dict[str, Any]:
    """Returns comments on the run, and counts of unpaired calls that are not 0."""
    comments = list(dict.fromkeys(note for row in rows for note in row.notes))
    found: dict[str, Any] = {"comments": comments} if comments else {}
    return found | {word: n for word, n in _mistakes(rows).items() if n}


def _mistakes(rows: Sequence[UserRow]) -> dict[str, int]:
    """Counts unpaired calls, of locations without losses."""
    whole = [row.result for row in rows if row.result and not row.lost and not row.died]
    unmatched = sum(row.result.unmatched for row in rows if row.result)
    return {"unended": sum(r.unended for r in whole), "unbegun": sum(r.unbegun for r in whole), "unmatched": unmatched}


def warnings(rows: Sequence[UserRow]) -> Iterator[str]:
    """Yields a text for each kind of unpaired calls."""
    found = _mistakes(rows)
    if n := found["unended"]:
        what = "region was begun" if n == 1 else "regions were begun"
        yield (
            f"{n:,} {what} by the user API and not ended (VT_USER_START without VT_USER_END): ended with the region "
            "around it"
        )
    if n := found["unbegun"]:
        what = "region was ended" if n == 1 else "regions were ended"
        yield f"{n:,} {what} by the user API and not begun (VT_USER_END without VT_USER_START): left out"
    if n := found["unmatched"]:
        what = "message of the user API has" if n == 1 else "messages of the user API have"
        yield f"{n:,} {what} no other end with the same communicator and tag: left out"
