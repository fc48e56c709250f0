# SPDX-License-Identifier: BSD-3-Clause
"""Increases of counters by call path: hardware and software events, resource usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import _otf2
import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.metrics import MetricMembers
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Path = tuple[int, ...]
"""Regions (rows) from the outermost on; empty: outside of recorded calls."""
_DOUBLE = _otf2.TYPE_DOUBLE.value


def is_count(mode: str) -> bool:
    """True for a metric whose values are sums over time. mode: OTF2's name."""
    return mode.startswith("ACCUMULATED")


class _IncreasePart(Part):
    def __init__(self, owner: Increases) -> None:
        self.owner = owner
        self.latest: dict[int, float] = {}
        self.nodes: dict[tuple[int, int], float] = {}
        """(metric, call path of this location) -> increase."""
        self.sums: dict[tuple[int, Path], float] = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, "Metric"):
            metrics = self.owner.members.rows(found["ref"], found["member"])
            for metric in self.owner.wanted:
                mine = np.flatnonzero(metrics == metric)
                if len(mine):
                    self.add(metric, found["node"][mine], found["value"][mine], found["type"][mine])

    def add(self, metric: int, nodes: Array, bits: Array, kinds: Array) -> None:
        """An increase between two readings belongs to the call in which the second one was made."""
        values = bits.view(np.float64) if kinds[0] == _DOUBLE else bits.view(np.uint64)
        before = self.latest.get(metric, values[0])
        self.latest[metric] = values[-1]
        steps = (values - np.concatenate([[before], values[:-1]]).astype(values.dtype)).astype(np.float64)
        first, member = group([nodes])
        for node, value in zip(nodes[first].tolist(), np.bincount(member, steps, len(first)).tolist(), strict=True):
            self.nodes[metric, node] = self.nodes.get((metric, node), 0.0) + value

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        if not self.nodes:
            return
        paths = replay.all_paths()
        for (metric, node), value in self.nodes.items():
            path: list[int] = []
            while node:
                path.insert(0, int(paths["region"][node]))
                node = int(paths["parent"][node])
            self.sums[metric, tuple(path)] = value


class Increases(Question[_IncreasePart, dict[tuple[int, int, Path], float]]):
    """Answers with the increase of each counter by location, metric (row of metrics) and call path.

    The first reading of a thread has nothing to compare with: what was before does not count.
    """

    kinds = frozenset({"Metric"})
    replay = paths = True

    def __init__(self, trace: Source, metrics: Sequence[int]) -> None:
        """metrics: rows of trace.metrics, of counters (is_count)."""
        super().__init__()
        self.members, self.wanted = MetricMembers(trace), [*metrics]

    def part(self, trace: Source, location: int) -> _IncreasePart:
        return _IncreasePart(self)

    def answer(self) -> dict[tuple[int, int, Path], float]:
        return {
            (location, metric, path): value
            for location, part in self.parts.items()
            for (metric, path), value in part.sums.items()
        }
