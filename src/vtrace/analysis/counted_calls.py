# SPDX-License-Identifier: BSD-3-Clause
"""Adds the calls that a run has only counted (VT_BUDGET) to those of its events."""

from __future__ import annotations

from typing import Any

import numpy as np

from vtrace.analysis.profile_replay import is_outermost
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.table import Array, Table, group
from vtrace.io.archive.reader_abi import PATH, STATS

_SUMS = ("calls", "joined", "inclusive", "exclusive", "total")


class CountedReplay(KnownPaths):
    """A Replay at the end of a location, whose sums have the counted calls, too. All else is that of the Replay."""

    def __init__(self, replay: Replay, table: Table) -> None:
        """table: of RecordedProfile.locations."""
        super().__init__()
        self._replay: Replay | None = replay
        known = replay.all_paths()
        self.is_full = replay.is_full
        self._region = table["region"]
        self._row, extra = _placed(known, table)
        self.paths = np.concatenate([known, extra])
        made = np.zeros(table.rows, STATS)
        for name in ("calls", "min", "max", "deviations"):
            made[name] = table[name]
        made["inclusive"] = made["total"] = table["inclusive"]
        # a counted call is in the time of a recorded one around it, too
        made["exclusive"] = table["inclusive"]
        np.subtract.at(made["exclusive"], table["parent"][1:], table["inclusive"][1:])
        made["min"][made["max"] == 0] = np.iinfo(np.int64).max  # no calls, or calls without times
        self._stats = made
        self._outermost = is_outermost(table)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__dict__.get("_replay") is None:
            raise AttributeError(name)
        return getattr(self._replay, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_replay": None}

    def stats(self) -> tuple[Array, Array]:
        """As Replay.stats."""
        assert self._replay is not None
        own = self._stats[1:].copy()
        own["inclusive"] *= self._outermost[1:]
        return _added(*self._replay.stats(), self._region[1:], own)

    def path_stats(self) -> tuple[Array, Array]:
        """As Replay.path_stats."""
        assert self._replay is not None
        return _added(*self._replay.path_stats(), self._row[1:], self._stats[1:])


def _placed(known: Array, table: Table) -> tuple[Array, Array]:
    """The numbers of a table's paths among known ones (PATH), and the paths that are not among these."""
    number = {(parent, region): n for n, (parent, region) in enumerate(known.tolist()) if n}
    rows, extra = [0], list[tuple[int, int]]()
    for parent, region in zip(table["parent"][1:].tolist(), table["region"][1:].tolist(), strict=True):
        key = rows[parent], region
        if key not in number:
            number[key] = len(known) + len(extra)
            extra.append(key)
        rows.append(number[key])
    return np.array(rows, np.int64), np.array(extra, PATH) if extra else np.empty(0, PATH)


def _added(rows: Array, stats: Array, more_rows: Array, more: Array) -> tuple[Array, Array]:
    """The sums over the calls of both, by row."""
    keys, all_stats = np.concatenate([rows, more_rows]), np.concatenate([stats, more])
    first, member = group([keys])
    made = np.zeros(len(first), STATS)
    for name in _SUMS:
        np.add.at(made[name], member, all_stats[name])
    made["min"] = np.iinfo(np.int64).max
    np.minimum.at(made["min"], member, all_stats["min"])
    np.maximum.at(made["max"], member, all_stats["max"])
    calls = all_stats["calls"] * (all_stats["max"] > 0)  # those with times
    of_all = np.bincount(member, calls, len(first))
    away = all_stats["total"] / np.maximum(calls, 1) - (made["total"] / np.maximum(of_all, 1))[member]
    np.add.at(made["deviations"], member, all_stats["deviations"] + calls * away**2)
    has_calls = made["calls"] > 0
    return keys[first][has_calls], made[has_calls]
