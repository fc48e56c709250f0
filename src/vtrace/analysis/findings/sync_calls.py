# SPDX-License-Identifier: BSD-3-Clause
"""Calls in which threads may wait for others, with their call paths, and tables of waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Answer
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.profile import KeptSlices, SlicePart, joined_paths
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

CALL = np.dtype([
    ("location", "i8"), ("process", "i8"), ("begin", "i8"), ("end", "i8"), ("region", "i8"), ("path", "i8"),
    ("kind", "i8"),
])  # fmt: skip
"""A call: rows of locations, processes, regions and call paths; ns; the kind of its region."""
_MOST = 4_000_000
"""The most calls to keep; the shortest are left out."""


@dataclass(kw_only=True)
class Waits:
    """Single waits: columns of one length, like the columns of Trace.thread_waits; time: ns. since, partner_since: from
    then until `until` the location and its partner did the work whose difference is the wait (ns); None: unknown.
    processor_ns, locks_ns: the part of each wait that waits of the partner explain, for a processor and for locks.
    behind_ns: of a wait for a lock, the waits in barriers that this wait explains."""

    kind: Array
    path: Array
    location: Array
    partner: Array
    partner_path: Array
    time: Array
    since: Array | None = None
    partner_since: Array | None = None
    until: Array | None = None
    processor_ns: Array | None = None
    locks_ns: Array | None = None
    behind_ns: Array | None = None


class _SyncPart(SlicePart):
    """The wanted calls and events of one location."""

    def __init__(self, owner: SyncCalls[Any]) -> None:
        super().__init__(owner)
        self.wanted = owner.wanted
        self.wants_none = not owner.wanted.any()
        self.names = owner.events
        self.replay: Replay | KnownPaths | None = None
        self.events: dict[str, list[Array]] = {name: [] for name in self.names}
        self.attribute_ids, self.values = owner.attribute_ids, list[Array]()

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        super().batch(batch, replay)
        if self.attribute_ids and len(batch.attributes):
            self._keep_values(batch)
        for name, found in present(batch, *self.names):
            keys = ("lock", "order") if "Lock" in name else ("ref", "count")
            self.events[name].append(np.stack([found[key].astype(np.int64) for key in (*keys, "time")], axis=1))

    def _keep_values(self, batch: Batch) -> None:
        """Keeps time, place in attribute_names, value of attributes."""
        for number, attribute in self.attribute_ids.items():
            mine = batch.attributes[batch.attributes["attribute"] == attribute]
            value = mine["value"].astype(np.uint64) & np.uint64(0xFFFFFFFF)  # others are undefined in ids of strings
            number_of = np.full(len(mine), number, np.int64)
            self.values.append(np.stack([batch.time[mine["row"]], number_of, value.astype(np.int64)], axis=1))

    def add(self, replay: Replay) -> None:
        if self.wants_none or not len(slices := replay.slices()):
            return
        long = slices["end"] - slices["begin"] >= self.owner.shortest
        kept = slices.compress(self.wanted[slices["region"]] & long)  # ten times as fast as [mask]
        if len(kept):
            with self.owner.lock:
                self.found.append(kept)
                self.owner.more(len(kept))

    def end(self, replay: Replay | None) -> None:
        super().end(replay)
        self.replay = replay


class SyncCalls(KeptSlices[Answer]):
    """Keeps the calls of some regions with their call paths, and the events that end waits. One pass may have several
    SyncCalls and RepeatedCalls, but no other KeptSlices that leaves out calls."""

    paths = True
    events: tuple[str, ...] = ()
    """Kinds of events to keep: of locks and threads."""
    attribute_names: tuple[str, ...] = ()
    """Attributes whose values are kept if the pass reads attributes: numbers below 2**32, or ids of strings."""

    def __init__(self, most: int = _MOST, attributes: bool = False) -> None:
        super().__init__(most)
        self.attributes = attributes

    def arguments(self) -> tuple[Any, ...]:
        return self.most, self.attributes

    def region_kinds_of(self, trace: Source) -> Array:
        """(regions,) the kind of each region's calls, -1: not kept."""
        raise NotImplementedError

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.region_kinds = self.region_kinds_of(trace)
        self.wanted = self.region_kinds >= 0
        ids = dict(zip(trace.attributes["name"].tolist(), trace.attributes["id"].tolist(), strict=True))
        wanted = self.attribute_names if self.attributes else ()
        self.attribute_ids = {number: ids[name] for number, name in enumerate(wanted) if name in ids}

    def configure(self, replay: Replay) -> None:
        replay.want_slices_of(self.wanted)

    def part(self, trace: Source, location: int) -> SlicePart:
        part = _SyncPart(self)
        self.all.append(part)
        return part

    def calls(self) -> tuple[Array, Table, dict[str, Array]]:
        """The calls (CALL), sorted by location and begin; the call paths; by kind of event (n, 5): process, location,
        two ids, time."""
        place = self.trace.places.process
        paths, maps, _ = joined_paths({at: part for at, part in self.parts.items() if isinstance(part, _SyncPart)})
        parts = []
        events = {name: [np.empty((0, 5), np.int64)] for name in self.events}
        for location, found in self.left():
            part = self.parts[location]
            assert isinstance(part, _SyncPart)
            number = maps[id(part.replay)]
            parts += [self._rows(location, slices, number) for slices in found]
            for name, each in part.events.items():
                where = [np.broadcast_to([place[location], location], (len(rows), 2)) for rows in each]
                events[name] += [np.concatenate(pair, axis=1) for pair in zip(where, each, strict=True)]
        calls = np.concatenate([np.empty(0, CALL), *parts])
        by = np.lexsort((calls["begin"], calls["location"]))
        return calls[by], paths, {name: np.concatenate(each) for name, each in events.items()}

    def values(self) -> Array:
        """(n, 4) location, time, place in attribute_names, value."""
        parts = [np.empty((0, 4), np.int64)]
        for location, part in self.parts.items():
            assert isinstance(part, _SyncPart)
            parts += [np.insert(each, 0, location, axis=1) for each in part.values]
        return np.concatenate(parts)

    def _rows(self, location: int, slices: Array, number: Array) -> Array:
        rows = np.zeros(len(slices), CALL)
        rows["location"], rows["process"] = location, self.trace.places.process[location]
        for name in ("begin", "end", "region"):
            rows[name] = slices[name]
        rows["path"], rows["kind"] = number[slices["path"]], self.region_kinds[slices["region"]]
        return rows

    def table(self, found: list[Waits], kinds: tuple[str, ...], paths: Table, bounds: tuple[int, ...] = ()) -> Table:
        """One row for all waits with the same kind, path, location, partner and partner's path: time_ns, count."""
        lines = [f"waits in calls shorter than {self.shortest} ns are left out"] if self.dropped else []
        return add_up_waits(found, kinds, paths=paths, bounds=bounds, lines=lines)


def add_up_waits(
    found: list[Waits], kinds: tuple[str, ...], paths: Table, bounds: tuple[int, ...], *, lines: list[str]
) -> Table:
    """The table of SyncCalls.table. lines: about waits that are left out. With processor_ns, locks_ns,
    behind_ns if any waits have these."""
    names = ("kind", "path", "location", "partner", "partner_path")
    columns = {name: np.concatenate([np.empty(0, np.int64), *(getattr(w, name) for w in found)]) for name in names}
    time = np.concatenate([np.empty(0, np.int64), *(w.time for w in found)])
    first, member = group(list(columns.values()))
    sums = {"time_ns": add_up(member, time, len(first)), "count": np.bincount(member, minlength=len(first))}
    for name in ("processor_ns", "locks_ns", "behind_ns"):
        parts = [getattr(waits, name) for waits in found]
        if any(part is not None for part in parts):
            known = [np.zeros(len(w.time), np.int64) if p is None else p for w, p in zip(found, parts, strict=True)]
            sums[name] = add_up(member, np.concatenate(known), len(first))
    table = Table(
        {name: column[first] for name, column in columns.items()} | sums,
        kinds=kinds, paths=paths, bounds=tuple(kinds[kind] for kind in bounds), lines=lines,
    )  # fmt: skip
    return table.order("time_ns")


def outermost_calls(calls: Array) -> Array:
    """The calls that are not inside another of these calls, sorted by location and begin."""
    if not len(calls):
        return calls
    base = calls["location"] * (int(calls["end"].max()) + 1)
    latest = np.maximum.accumulate(base + calls["end"])
    found: Array = calls[np.append(True, base[1:] + calls["begin"][1:] >= latest[:-1])]
    return found
