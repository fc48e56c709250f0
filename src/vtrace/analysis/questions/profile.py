# SPDX-License-Identifier: BSD-3-Clause
"""Calls and times of each region on each location, and of each call path."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vtrace.analysis.question import Answer, Part, Question, ReplayPart
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.table import Array, Table, group, joined, stack
from vtrace.io.archive.reader_abi import STATS

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["mean_and_deviation", "path_names", "reduce"]

NUMBERS = dict.fromkeys("calls joined inclusive exclusive total min max".split(), np.int64) | {"deviations": np.float64}
"""The columns of a profile that are sums, minima and maxima over calls, and their types. joined: the calls that the
archive has in the Enter and Leave of another call (polls in a row that found nothing)."""


class _ProfilePart(Part):
    def __init__(self) -> None:
        self.rows, self.stats = np.empty(0, np.int64), np.empty(0, STATS)
        self.replay: Replay | KnownPaths | None = None

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.rows, self.stats = replay.stats()


class Profile(Question[_ProfilePart, Table]):
    """Answers Trace.profile."""

    replay = stats = True

    def part(self, trace: Source, location: int) -> _ProfilePart:
        return _ProfilePart()

    def answer(self) -> Table:
        stats = {location: part.stats for location, part in self.parts.items()}
        return numbers(stats, "region", {location: part.rows for location, part in self.parts.items()})


def numbers(stats_of: Mapping[int, Array], name: str, rows: Mapping[int, Array]) -> Table:
    """Rows (location, name) with NUMBERS.

    stats_of: the STATS of each location. rows: the region or path of each of them, by location.
    """
    stats = joined([*stats_of.values()], STATS)
    columns = {
        "location": np.repeat(np.array([*stats_of], np.int64), [len(each) for each in stats_of.values()]),
        name: np.concatenate([*rows.values(), np.empty(0, np.int64)]),
        **{number: stats[number].astype(kind) for number, kind in NUMBERS.items()},
    }
    return Table(columns).take(np.lexsort((columns[name], columns["location"])))


class PathPart(_ProfilePart):
    """The calls of a location by call path."""

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.rows, self.stats = replay.path_stats()
        self.replay = replay


class CallTree(Question[PathPart, tuple[Table, Table]]):
    """Answers Trace.call_tree."""

    replay = paths = path_stats = True

    def part(self, trace: Source, location: int) -> PathPart:
        return PathPart()

    def answer(self) -> tuple[Table, Table]:
        """Paths and their numbers."""
        tree, maps, _ = joined_paths(self.parts)
        paths = {location: maps[id(part.replay)][part.rows] for location, part in self.parts.items()}
        return tree, numbers({location: part.stats for location, part in self.parts.items()}, "path", paths)


class HasReplay(Protocol):
    """A part that keeps the replay of its thread."""

    replay: Replay | KnownPaths | None


def joined_paths(parts: Mapping[int, HasReplay]) -> tuple[Table, dict[int, Array], bool]:
    """The call paths of all parts, parents before children; by the id of each part's replay, the rows of the thread's
    own numbers; true if a thread met more paths than it can number.

    Each reading thread has numbered its own paths.
    """
    number: dict[tuple[int, int], int] = {}
    parents, regions, depths = [-1], [-1], [0]
    maps: dict[int, Array] = {}
    full = False
    for part in parts.values():
        assert part.replay is not None
        if id(part.replay) in maps:
            continue
        full |= part.replay.is_full
        known = part.replay.all_paths()
        own = np.zeros(len(known), np.int64)
        for i, (parent, region) in enumerate(known.tolist()[1:], 1):
            key = (int(own[parent]), region)
            if key not in number:
                number[key] = len(parents)
                parents.append(key[0])
                regions.append(region)
                depths.append(depths[key[0]] + 1)
            own[i] = number[key]
        maps[id(part.replay)] = own
    tree = Table({"parent": np.array(parents), "region": np.array(regions), "depth": np.array(depths)})
    return tree, maps, full


def reduce(table: Table, *keys: str) -> Table:
    """Joins rows of a profile or of call paths with equal keys: sums, minima and maxima over their calls, and
    deviations from their common mean.

    keys: names of columns. The column locations counts the joined rows.
    """
    columns = [table[key] for key in keys] or [np.zeros(table.rows, np.int64)]
    first, member = group(columns)
    n = len(first)
    found: dict[str, Any] = {key: table[key][first] for key in keys}
    for name, kind in NUMBERS.items():
        if name == "deviations":
            continue
        if name in ("min", "max"):
            ends = np.full(n, np.iinfo(np.int64).max if name == "min" else np.iinfo(np.int64).min)
            (np.minimum if name == "min" else np.maximum).at(ends, member, table[name])
            found[name] = ends
        else:
            sums = np.zeros(n, kind)
            np.add.at(sums, member, table[name])
            found[name] = sums
    away = _mean(table) - _mean(found)[member]
    found["deviations"] = np.bincount(member, table["deviations"] + table["calls"] * away**2, n)
    return Table(found | {"locations": np.bincount(member, minlength=n)}, **table.notes)


def _mean(table: Mapping[str, Array]) -> Array:
    mean: Array = table["total"] / np.maximum(table["calls"], 1)
    return mean


def mean_and_deviation(table: Table) -> tuple[Array, Array]:
    """Mean and standard deviation (of the population) of the time of a call in each row, ns."""
    return _mean(table), np.sqrt(table["deviations"] / np.maximum(table["calls"], 1))


class SlicePart(ReplayPart):
    def __init__(self, owner: KeptSlices[Any]) -> None:
        self.owner = owner
        self.found: list[Array] = []

    def add(self, replay: Replay) -> None:
        slices = replay.slices()
        if len(slices):
            with self.owner.lock:
                self.found.append(slices.copy())
                self.owner.more(len(slices))
        replay.fields.shortest = self.owner.shortest


class KeptSlices(Question[SlicePart, Answer]):
    """Keeps calls as slices. If there are too many calls, the shortest are left out."""

    replay = True

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.kept, self.shortest, self.dropped = most, 0, 0, False
        self.all: list[SlicePart] = []
        self.lock = Lock()
        """Held while a thread adds slices or shortens all."""

    def part(self, trace: Source, location: int) -> SlicePart:
        part = SlicePart(self)
        self.all.append(part)
        return part

    def configure(self, replay: Replay) -> None:
        replay.want_all_slices()

    def adopt(self, location: int, part: SlicePart) -> None:
        super().adopt(location, part)
        self.all.append(part)
        self.more(sum(map(len, part.found)))

    def arguments(self) -> tuple[Any, ...]:
        return (self.most,)

    def more(self, count: int) -> None:
        self.kept += count
        if self.kept > 2 * self.most:
            self.shorten()

    def shorten(self) -> None:
        """Keeps at most `most` slices. The bound is a time, so that it is the same for all threads and locations."""
        self.dropped = True
        times = np.concatenate([s["end"] - s["begin"] for part in self.all for s in part.found])
        bound = int(np.partition(times, len(times) - self.most)[len(times) - self.most])
        self.shortest = max(self.shortest, bound + 1 if np.count_nonzero(times >= bound) > self.most else bound)
        for part in self.all:
            kept = [s[s["end"] - s["begin"] >= self.shortest] for s in part.found]
            part.found = [np.concatenate(kept)] if kept else []
        self.kept = sum(len(s) for part in self.all for s in part.found)

    def left(self) -> list[tuple[int, list[Array]]]:
        """The slices of each location that were kept, after the pass."""
        if self.kept > self.most:
            self.shorten()
        return [(location, part.found) for location, part in self.parts.items()]


class Slices(KeptSlices[Table]):
    """Answers Trace.slices."""

    def answer(self) -> Table:
        found = []
        for location, parts in self.left():
            for slices in parts:
                columns = {name: slices[name] for name in slices.dtype.names or ()}
                found.append({"location": np.full(len(slices), location), **columns})
        like = dict.fromkeys(("location", "begin", "end", "region", "depth"), np.int64)
        table = stack(found, like, shortest=self.shortest if self.dropped else 0)
        return table.take(np.lexsort((table["depth"], table["begin"], table["location"])))


def pruned(tree: Table, numbers: Table) -> tuple[Table, Table]:
    """A call tree without the paths that neither have numbers nor lead to one that has."""
    kept = np.zeros(tree.rows, bool)
    kept[0] = True
    kept[numbers["path"]] = True
    for depth in range(int(tree["depth"].max(initial=0)), 1, -1):
        kept[tree["parent"][kept & (tree["depth"] == depth)]] = True
    if kept.all():
        return tree, numbers
    number, left = np.cumsum(kept) - 1, tree.take(kept)
    parent = np.where(left["parent"] >= 0, number[np.maximum(left["parent"], 0)], -1)
    return Table({**left, "parent": parent}), Table({**numbers, "path": number[numbers["path"]]})


def path_names(tree: Table, names: Array, path: int) -> list[str]:
    """The names of the regions of a call path, the outermost first."""
    found: list[str] = []
    while path > 0:
        found.append(str(names[tree["region"][path]]))
        path = int(tree["parent"][path])
    return found[::-1]
