# SPDX-License-Identifier: BSD-3-Clause
"""What programs say by the user API: groups, markers and comments of all processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.writer import Definitions, Group, Marker
from vtrace.io.local.kernel import UNMAPPED, Transcoded
from vtrace.io.local.records import DEFINITIONS, MARKERS
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.dedup import Firsts
from vtrace.unify.merge.regions import Ids, Types, types
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import ProcessDefinitions

_USER = 1  # OTF2_PARADIGM_USER
_SEVERITIES = {MARKERS["ERROR"]: "HIGH", MARKERS["WARNING"]: "MEDIUM", MARKERS["HINT"]: "LOW"}


class UserRow(Protocol):
    """What is needed of a location: what became of it, and what its process says of the run."""

    @property
    def result(self) -> Transcoded | None: ...
    @property
    def lost(self) -> int: ...
    @property
    def died(self) -> bool: ...
    @property
    def notes(self) -> Sequence[str]: ...


def users_own(process: Process) -> Types:
    """By local id of a region: 1 for those that the program itself begins and ends."""
    known = process.definitions
    paradigms = {local: at.paradigm for local, at in known.regions_at.items()}
    paradigms |= {local: region.paradigm for local, region in known.regions.items()}
    return types({local: int(paradigm == _USER) for local, paradigm in paradigms.items()})


class _Members(Firsts[tuple[str, str], set[int]]):
    def combine(self, first: set[int], second: set[int]) -> set[int]:
        return first | second


def add_groups(
    processes: Sequence[Process], definitions: Definitions, regions: Sequence[Ids], metrics: Sequence[Ids], ranks: Ranks
) -> None:
    """Adds the program's groups of regions and of counters; both by process and its own ids."""
    members = _Members()
    for process, own_regions, own_metrics in zip(processes, regions, metrics, strict=True):
        for i, ((what, local), name) in enumerate(process.definitions.members_of.items()):
            of_regions = what == DEFINITIONS["REGION"]
            numbers = own_regions if of_regions else own_metrics
            if local < len(numbers) and numbers[local] != UNDEFINED:
                kind = "REGIONS" if of_regions else "METRIC"
                members.add((kind, name), (process.number, i), {int(numbers[local])})
    for (kind, name), numbers_of in members.collect(ranks):
        definitions.named_groups.append(Group(kind, _USER, name, sorted(numbers_of)))


def user_markers(location: int, known: ProcessDefinitions, result: Transcoded) -> Iterator[Marker]:
    """A location's markers and comments."""
    for time, marker, text in result.notes:
        said = known.texts.get(text, "?")
        if marker == UNMAPPED:
            yield Marker(time, "comment", said, location, "user", "NONE")
            continue
        kind = known.markers.get(marker)
        name, severity = (kind.name, _SEVERITIES[kind.severity]) if kind else ("?", "NONE")
        yield Marker(time, name, said, location, "user", severity)


def properties(rows: Sequence[UserRow]) -> dict[str, Any]:
    """Comments on the run, and what the program did not do in pairs; only what there is."""
    comments = list(dict.fromkeys(note for row in rows for note in row.notes))
    found: dict[str, Any] = {"comments": comments} if comments else {}
    return found | {word: n for word, n in _mistakes(rows).items() if n}


def _mistakes(rows: Sequence[UserRow]) -> dict[str, int]:
    """Of locations of which all is known."""
    whole = [row.result for row in rows if row.result and not row.lost and not row.died]
    unmatched = sum(row.result.unmatched for row in rows if row.result)
    return {"unended": sum(r.unended for r in whole), "unbegun": sum(r.unbegun for r in whole), "unmatched": unmatched}


def warnings(rows: Sequence[UserRow]) -> Iterator[str]:
    """What should have been done in pairs."""
    found = _mistakes(rows)
    if n := found["unended"]:
        what = "region was begun" if n == 1 else "regions were begun"
        yield (
            f"{n:,} {what} by the user API and not ended (VT_USER_START without VT_USER_END): ended with what is around"
        )
    if n := found["unbegun"]:
        what = "region was ended" if n == 1 else "regions were ended"
        yield f"{n:,} {what} by the user API and not begun (VT_USER_END without VT_USER_START): left out"
    if n := found["unmatched"]:
        what = "message of the user API has" if n == 1 else "messages of the user API have"
        yield f"{n:,} {what} no other end with the same communicator and tag: left out"
