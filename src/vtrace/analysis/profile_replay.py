# SPDX-License-Identifier: BSD-3-Clause
"""Answers questions about calls from a recorded profile, in place of a replay of events."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from vtrace.analysis.recorded_profile import RecordedProfile
from vtrace.analysis.replay import KnownPaths
from vtrace.analysis.table import Array, Table, group
from vtrace.io.archive.reader_abi import PATH, SLICE, STATS

_NUMBERS = ("calls", "inclusive", "exclusive", "min", "max", "deviations")


def replays(profile: RecordedProfile, zero: int) -> dict[int, ProfileReplay]:
    """By location the replay whose sums are those of the profile. zero: begin of the archive."""
    return {location: ProfileReplay(table, zero) for location, table in profile.locations.items()}


class ProfileReplay(KnownPaths):
    """Has the sums of a Replay at the end of a location."""

    def __init__(self, table: Table, zero: int) -> None:
        """table: of RecordedProfile.locations. zero: begin of the archive."""
        super().__init__()
        self._table = table
        self.paths = np.zeros(table.rows, PATH)
        self.paths["parent"], self.paths["region"] = table["parent"], table["region"].astype(np.uint32)
        first = int(table["min"][0]) - zero
        last = first + int(table["inclusive"][0])
        self.fields = SimpleNamespace(
            events=1, first=first, last=last, runtime=0, stray=0, closed=0, begun=0, ended=0, depth=0
        )

    @staticmethod
    def slices() -> Array:
        """As Replay.slices: none."""
        return np.empty(0, SLICE)

    def path_stats(self) -> tuple[Array, Array]:
        """As Replay.path_stats."""
        made = np.zeros(self._table.rows, STATS)
        for name in _NUMBERS:
            made[name] = self._table[name]
        made["total"] = made["inclusive"]
        rows = np.flatnonzero(made["calls"][1:]) + 1
        return rows, made[rows]

    def stats(self) -> tuple[Array, Array]:
        """As Replay.stats: regions with calls, and their sums."""
        rows, paths = self.path_stats()
        if not len(rows):
            return rows, paths
        first, member = group([self._table["region"][rows]])
        made = np.zeros(len(first), STATS)
        for name in ("calls", "exclusive", "total"):
            np.add.at(made[name], member, paths[name])
        np.add.at(made["inclusive"], member, paths["inclusive"] * is_outermost(self._table)[rows])
        made["min"] = np.iinfo(np.int64).max
        np.minimum.at(made["min"], member, paths["min"])
        np.maximum.at(made["max"], member, paths["max"])
        mean = paths["total"] / paths["calls"] - (made["total"] / made["calls"])[member]
        np.add.at(made["deviations"], member, paths["deviations"] + paths["calls"] * mean**2)
        return self._table["region"][rows][first], made

    def mean_line(self, class_of: Array, shape: tuple[int, ...], window: tuple[int, int]) -> Array:
        """(classes + 1, bins) ns: the time by class, the last one outside all regions, spread evenly over the life of
        the location, since the profile has no times of calls. window: begin and end of the bins, ns."""
        rows, stats = self.stats()
        classes = np.zeros(shape[0])
        np.add.at(classes, class_of[rows], stats["exclusive"])
        classes[-1] = self._table["exclusive"][0]
        edges = np.linspace(*window, shape[1] + 1)
        first, last = self.fields.first, max(self.fields.last, self.fields.first + 1)
        shares = np.diff(edges.clip(first, last)) / (last - first)
        found: Array = classes[:, None] * shares
        return found


def is_outermost(table: Table) -> Array:
    """(paths,) bool: no path above is of the same region. table: of RecordedProfile.locations."""
    parents, regions = table["parent"].tolist(), table["region"].tolist()
    above: list[frozenset[int]] = [frozenset()]
    found = np.zeros(len(parents), bool)
    for path in range(1, len(parents)):
        around = above[parents[path]]
        found[path] = regions[path] not in around
        above.append(around | {regions[path]} if found[path] else around)
    return found
