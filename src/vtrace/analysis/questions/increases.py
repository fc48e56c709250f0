# SPDX-License-Identifier: BSD-3-Clause
"""Increases of counters by call path: hardware and software events, resource usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import _otf2
import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number, present
from vtrace.analysis.questions.metrics import MetricMembers
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Path = tuple[int, ...]
"""Regions (rows) from the outermost on; empty: outside of recorded calls."""
_DOUBLE = _otf2.TYPE_DOUBLE.value
_READING = np.dtype([
    ("time", np.int64), ("metric", np.int64), ("node", np.uint32), ("value", np.uint64), ("type", np.uint8),
    ("others", np.int64),
])  # fmt: skip
"""A value of a metric. others: the number of other events before it in the batch."""


def is_count(mode: str) -> bool:
    """True for a metric whose values are sums over time. mode: OTF2's name."""
    return mode.startswith("ACCUMULATED")


class _IncreasePart(Part):
    def __init__(self, owner: Increases) -> None:
        self.owner = owner
        self.latest: dict[int, float] = {}
        self.nodes: dict[tuple[int, int], float] = {}
        """(metric, call path of this location) -> increase."""
        self.kept = np.empty(0, _READING)
        """The readings at the end of the batch before, which a sample may follow."""
        self.sums: dict[tuple[int, Path], float] = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        others = np.append(0, np.cumsum(batch.kind != number("Metric")))
        """The number of events other than readings before each event, and in the batch."""
        found = [self.kept, *(self.readings(each, others) for _, each in present(batch, "Metric"))]
        read = np.concatenate(found)
        self.of_samples(batch, read, others)
        last = np.full(len(read), self.owner.has_samples) & (read["others"] == others[-1])
        self.kept = read[last]
        self.kept["others"] = 0
        self.add_all(read[~last])

    def readings(self, found: dict[str, Array], others: Array) -> Array:
        read = np.empty(len(found["row"]), _READING)
        for name in ("time", "node", "value", "type"):
            read[name] = found[name]
        read["metric"] = self.owner.members.rows(found["ref"], found["member"])
        read["others"] = others[found["row"]]
        return read

    def of_samples(self, batch: Batch, read: Array, others: Array) -> None:
        """A reading directly before a sample, at the same time, was made in the sample's call path."""
        for _, samples in present(batch, "CallingContextSample"):
            before = others[samples["row"]]
            at = np.minimum(np.searchsorted(before, read["others"]), len(before) - 1)
            mine = (before[at] == read["others"]) & (samples["time"][at] == read["time"])
            read["node"][mine] = self.owner.nodes_of(samples["ref"][at[mine]])

    def add_all(self, read: Array) -> None:
        for metric in self.owner.wanted:
            mine = read[read["metric"] == metric]
            if len(mine):
                self.add(metric, mine["node"], mine["value"], mine["type"])

    def add(self, metric: int, nodes: Array, bits: Array, kinds: Array) -> None:
        """An increase between two readings belongs to the call in which the second one was made."""
        bits = np.ascontiguousarray(bits)
        values = bits.view(np.float64) if kinds[0] == _DOUBLE else bits
        before = self.latest.get(metric, values[0])
        self.latest[metric] = values[-1]
        steps = (values - np.concatenate([[before], values[:-1]]).astype(values.dtype)).astype(np.float64)
        first, member = group([nodes])
        for node, value in zip(nodes[first].tolist(), np.bincount(member, steps, len(first)).tolist(), strict=True):
            self.nodes[metric, node] = self.nodes.get((metric, node), 0.0) + value

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.add_all(self.kept)
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

    kinds = frozenset({"Metric", "CallingContextSample"})
    replay = paths = True

    def __init__(self, trace: Source, metrics: Sequence[int]) -> None:
        """metrics: rows of trace.metrics, of counters (is_count)."""
        super().__init__()
        self.members, self.wanted = MetricMembers(trace), [*metrics]
        self._contexts, self._nodes = trace.definitions.ids["contexts"], np.append(trace.context_paths[1], 0)
        self.has_samples = len(self._nodes) > 1

    def nodes_of(self, contexts: Array) -> Array:
        """The call paths of calling contexts (OTF2's ids)."""
        found: Array = self._nodes[self._contexts.rows(contexts)]
        return found

    def part(self, trace: Source, location: int) -> _IncreasePart:
        return _IncreasePart(self)

    def answer(self) -> dict[tuple[int, int, Path], float]:
        return {
            (location, metric, path): value
            for location, part in self.parts.items()
            for (metric, path), value in part.sums.items()
        }
