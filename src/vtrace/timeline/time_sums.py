# SPDX-License-Identifier: BSD-3-Clause
"""Calls and times of the call paths of large traces by part of the run, as tables beside the tiles. Together with the
events of the parts in which a window begins and ends they give the profile of the window (window_sums.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.profile import joined_paths
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch, BatchBuffer
from vtrace.io.archive.reader_abi import CROSSING, PATH_PART
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.timeline.kernels import Spares

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_PARTS, _ALL_PARTS = 256, 16_384
"""The most parts of the run, and of all locations together, about: each has a row for each of its call paths."""
_ROWS = 2_000_000
"""With more rows there are no tables: the profile is read from the events."""
SUMS = dict.fromkeys("calls joined inclusive exclusive total min max".split(), np.int64)
_KINDS: dict[str, dict[str, Any]] = {
    "paths": {"parent": np.uint32, "region": np.int64, "depth": np.uint32},
    "sums": {"location": np.uint32, "path": np.uint32, "part": np.uint32} | SUMS,
    "crossings": {"location": np.uint32, "path": np.uint32, "begin": np.int64, "end": np.int64, "calls": np.int64},
}
TABLES = tuple(_KINDS)
"""paths: call paths, parents first; the root is row 0; names: ends, the times of the first and the last event, ns.
sums: see vt_path_part in csrc/otf2_reader/stack_replay.h, by location, path and part. crossings: calls that are in
several parts, by location."""


def has_sums(trace: Source) -> bool:
    """True if all calls of a trace are among its events, and their call paths come from these alone."""
    return not trace.contexts.rows and not {"PROFILE", "COUNTED"} & {*trace.vtrace}


def borders(trace: Source) -> Array:
    """The times that divide the run into parts, ns, ascending."""
    parts = max(1, min(_PARTS, _ALL_PARTS // max(1, trace.locations.rows)))
    level = max(0, (max(trace.duration, 1) // parts).bit_length())
    return np.arange(1 << level, max(trace.duration, 1), 1 << level, dtype=np.int64)


def path_replay(trace: Source, at: Array, *, from_border: bool = False) -> Replay:
    """A replay that sums the calls of call paths by part. at: the borders between parts; from_border: see vt_replay."""
    replay = Replay(trace, True, ALWAYS, NEVER)
    replay.fields.want_path_stats = 1
    replay.divide(np.append(at, NEVER), from_border=from_border)
    return replay


class _SumsPart(Part):
    def __init__(self, owner: TimeSums) -> None:
        self._owner, self._own = owner, owner.replays.take()
        self.replay: Replay | KnownPaths | None = self._own
        self._own.begin()
        self.sums, self.crossings = np.empty(0, PATH_PART), np.empty(0, CROSSING)
        self.ends = NEVER, ALWAYS

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert isinstance(batch, BatchBuffer)
        self._own.follow(batch)

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self._own.end(replay.fields.last)
        self.sums, self.crossings = self._own.parts(), self._own.crossings()
        if replay.fields.events:
            self.ends = replay.fields.first, replay.fields.last
        self._owner.replays.give_back(self._own)


class TimeSums(Question[_SumsPart, dict[str, Table]]):
    """The answer has the TABLES by their names."""

    replay = True

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        at = borders(trace)
        self.replays = Spares(lambda: path_replay(trace, at), lambda replay: None)

    def part(self, trace: Source, location: int) -> _SumsPart:
        return _SumsPart(self)

    def answer(self) -> dict[str, Table]:
        tree, maps, full = joined_paths(self.parts)
        tree, number = _in_order(tree)
        found: dict[str, Table] = {}
        for name, kind in (("sums", PATH_PART), ("crossings", CROSSING)):
            each = {location: getattr(part, name) for location, part in self.parts.items()}
            rows = joined([*each.values()], kind)
            path = [number[maps[id(part.replay)][each[location]["path"]]] for location, part in self.parts.items()]
            columns = {
                "location": np.repeat(np.array([*each], np.int64), [*map(len, each.values())]),
                **{column: rows[column] for column in rows.dtype.names or ()},
                "path": np.concatenate([np.empty(0, np.int64), *path]),
            }
            found[name] = Table({column: columns[column] for column in _KINDS[name]})
        if full or found["sums"].rows > _ROWS:
            return _nothing()
        found["sums"] = found["sums"].take(np.lexsort([found["sums"][key] for key in ("part", "path", "location")]))
        ends = np.array([part.ends for part in self.parts.values()], np.int64).reshape(-1, 2)
        first, last = ends[:, 0].min(initial=NEVER), ends[:, 1].max(initial=ALWAYS)
        return found | {"paths": Table({**tree}, ends=[str(first), str(last)])}


def _nothing() -> dict[str, Table]:
    return {name: Table({column: np.empty(0) for column in kinds}) for name, kinds in _KINDS.items()}


def _in_order(tree: Table) -> tuple[Table, Array]:
    """The tree in an order that does not depend on threads: by depth, caller and region; the new row of each row."""
    number = np.zeros(tree.rows, np.int64)
    order = [np.zeros(1, np.int64)]
    count = 1
    for depth in range(1, int(tree["depth"].max(initial=0)) + 1):
        rows = np.flatnonzero(tree["depth"] == depth)
        rows = rows[np.lexsort((tree["region"][rows], number[tree["parent"][rows]]))]
        number[rows] = np.arange(count, count + len(rows))
        count += len(rows)
        order.append(rows)
    found = tree.take(np.concatenate(order))
    parent = number[np.maximum(found["parent"], 0)]
    return Table({"parent": parent, "region": found["region"], "depth": found["depth"]}), number


def sum_tables(question: TimeSums | None) -> dict[str, SidecarTable]:
    """The tables of the sidecar; without rows if there is no question."""
    found = question.answer() if question else _nothing()
    return {
        name: SidecarTable(
            {column: found[name][column].astype(kind) for column, kind in kinds.items()}, dict(found[name].notes)
        )
        for name, kinds in _KINDS.items()
    }
