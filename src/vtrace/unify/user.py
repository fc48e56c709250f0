# SPDX-License-Identifier: BSD-3-Clause
"""What programs say by the user API: groups, messages, markers and comments of all processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vtrace.io.archive import Comm, Definitions, Group, Marker
from vtrace.io.kernel import UNMAPPED, Transcoded
from vtrace.io.records import DEFINITIONS, MARKERS
from vtrace.unify.merge import UNDEFINED, Ids, Types, table, types
from vtrace.unify.process import Process

_USER = 1  # OTF2_PARADIGM_USER
_SEVERITIES = {MARKERS["ERROR"]: "HIGH", MARKERS["WARNING"]: "MEDIUM", MARKERS["HINT"]: "LOW"}
Numbers = npt.NDArray[np.int64]


class Row(Protocol):
    """What is needed of a location: its OTF2 id, its process, and what became of it."""

    @property
    def id(self) -> int: ...
    @property
    def process(self) -> Process: ...
    @property
    def result(self) -> Transcoded | None: ...
    @property
    def lost(self) -> int: ...


@dataclass
class Messages:
    """Of one process: OTF2's communicators by its own ids, and by location the rank of each message's other end."""

    comms: Ids = field(default_factory=lambda: np.empty(0, np.uint32))
    peers: dict[int, Ids] = field(default_factory=dict)


def users_own(process: Process) -> Types:
    """By local id of a region: 1 for those that the program itself begins and ends."""
    known = process.definitions
    paradigms = {local: at.paradigm for local, at in known.regions_at.items()}
    paradigms |= {local: region.paradigm for local, region in known.regions.items()}
    return types({local: int(paradigm == _USER) for local, paradigm in paradigms.items()})


def add_groups(
    processes: Sequence[Process], definitions: Definitions, regions: Sequence[Ids], metrics: Sequence[Ids]
) -> None:
    """Adds the program's groups of regions and of counters; both by process and its own ids."""
    members: dict[tuple[str, str], set[int]] = {}
    for process, own_regions, own_metrics in zip(processes, regions, metrics, strict=True):
        for (what, local), name in process.definitions.members_of.items():
            of_regions = what == DEFINITIONS["REGION"]
            numbers = own_regions if of_regions else own_metrics
            if local < len(numbers) and numbers[local] != UNDEFINED:
                kind = "REGIONS" if of_regions else "METRIC"
                members.setdefault((kind, name), set()).add(int(numbers[local]))
    for (kind, name), numbers_of in members.items():
        definitions.named_groups.append(Group(kind, _USER, name, sorted(numbers_of)))


def add_messages(processes: Sequence[Process], definitions: Definitions) -> list[Messages]:
    """Finds the two ends of each message and adds the communicators.

    Ends belong together by the communicator's name and the tag; where a tag is used again, in the order of time. A
    communicator's members are the locations that use it.
    """
    names: dict[str, int] = {}
    rows = [row for process in processes for row in _ends(process, names)]
    found = [Messages() for _ in processes]
    if not rows:
        return found
    ends = np.concatenate(rows)
    other = _match(ends)
    matched = ends[other >= 0]
    everyone = np.unique(matched["location"])
    if len(everyone):
        definitions.comm_groups.append(Group("COMM_LOCATIONS", _USER, "", everyone))
    numbers: dict[str, int] = {}
    ranks = np.full(len(ends), -1, np.int64)
    for name, comm in names.items():
        members = np.unique(matched["location"][matched["comm"] == comm])
        if not len(members):
            continue
        numbers[name] = len(definitions.comms)
        definitions.comms.append(Comm(name, len(definitions.comm_groups)))
        definitions.comm_groups.append(Group("COMM_GROUP", _USER, name, np.searchsorted(everyone, members)))
        chosen = ends["comm"] == comm
        ranks[chosen] = np.searchsorted(members, ends["location"][chosen])
    peers = np.where(other >= 0, ranks[other], UNMAPPED).astype(np.uint32)
    for process, messages in zip(processes, found, strict=True):
        own = process.definitions.user_comms.items()
        messages.comms = table({local: numbers[name] for local, name in own if name in numbers})
        for place, number in enumerate(process.locations):
            messages.peers[number] = peers[ends["location"] == process.first + place]
    return found


_END = np.dtype([("comm", "<i8"), ("tag", "<i8"), ("time", "<i8"), ("location", "<i8"), ("receives", "?")])


def _ends(process: Process, names: dict[str, int]) -> Iterator[npt.NDArray[np.void]]:
    for place, number in enumerate(process.locations):
        if number not in process.scans or process.curve is None:
            continue
        messages = process.scans[number].messages
        rows = []
        for ticks, comm, tag in messages.tolist():
            name = process.definitions.user_comms.get(comm & 0xFFFFFFFF)
            merged = -1 if name is None else names.setdefault(name, len(names))
            rows.append((merged, tag & 0xFFFFFFFF, process.curve.at(ticks), process.first + place, comm >> 32))
        yield np.array(rows, _END)


def _match(ends: npt.NDArray[np.void]) -> Numbers:
    """The index of each one's other end, -1 without one."""
    order = np.lexsort((ends["location"], ends["time"], ends["receives"], ends["tag"], ends["comm"]))
    sorted_ends = ends[order]
    key = np.stack([sorted_ends["comm"], sorted_ends["tag"], sorted_ends["receives"].astype(np.int64)])
    first = np.ones(len(ends), bool)
    first[1:] = np.any(key[:, 1:] != key[:, :-1], axis=0)
    begins = np.flatnonzero(first)
    count = np.arange(len(ends)) - begins[np.cumsum(first) - 1]
    pairs, inverse = np.unique(np.stack([key[0], key[1], count]), axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    by_side: Any = np.full((2, pairs.shape[1]), -1, np.int64)
    by_side[key[2], inverse] = order
    other = np.full(len(ends), -1, np.int64)
    other[order] = by_side[1 - key[2], inverse]
    other[ends["comm"] < 0] = -1
    return other


def user_markers(row: Row) -> Iterator[Marker]:
    """A location's markers and comments."""
    known = row.process.definitions
    for time, marker, text in row.result.notes if row.result else ():
        said = known.texts.get(text, "?")
        if marker == UNMAPPED:
            yield Marker(time, "comment", said, row.id, "user", "NONE")
            continue
        kind = known.markers.get(marker)
        name, severity = (kind.name, _SEVERITIES[kind.severity]) if kind else ("?", "NONE")
        yield Marker(time, name, said, row.id, "user", severity)


def properties(rows: Sequence[Row]) -> dict[str, Any]:
    """Comments on the run, and what the program did not do in pairs; only what there is."""
    processes = {id(row.process): row.process for row in rows}.values()
    comments = list(dict.fromkeys(note for process in processes for note in process.definitions.notes))
    found: dict[str, Any] = {"comments": comments} if comments else {}
    return found | {word: n for word, n in _mistakes(rows).items() if n}


def _mistakes(rows: Sequence[Row]) -> dict[str, int]:
    """Of locations of which all is known."""
    whole = [row.result for row in rows if row.result and not row.lost and not row.process.died]
    unmatched = sum(row.result.unmatched for row in rows if row.result)
    return {"unended": sum(r.unended for r in whole), "unbegun": sum(r.unbegun for r in whole), "unmatched": unmatched}


def warnings(rows: Sequence[Row]) -> Iterator[str]:
    """What should have been done in pairs."""
    found = _mistakes(rows)
    if n := found["unended"]:
        yield f"{n} regions were begun by the user API and not ended (VT_USER_START without VT_USER_END): they end with what is around them"  # noqa: E501
    if n := found["unbegun"]:
        yield f"{n} regions were ended by the user API and not begun (VT_USER_END without VT_USER_START): left out"
    if n := found["unmatched"]:
        yield f"{n} messages of the user API have no other end with the same communicator and tag: left out"
