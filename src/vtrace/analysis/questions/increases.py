# SPDX-License-Identifier: BSD-3-Clause
"""Increases of counters by call path: hardware and software events, resource usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import _otf2
import numpy as np

from vtrace.analysis.definition_tables import is_count
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number, present
from vtrace.analysis.questions.metrics import MetricMembers, is_node_wide, metric_rows
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, group
from vtrace.errors import UsageError
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Path = tuple[int, ...]
"""Regions (rows) from the outermost on; empty: outside of recorded calls."""
_DOUBLE = _otf2.TYPE_DOUBLE.value
_READING = np.dtype([
    ("time", np.int64), ("metric", np.int64), ("node", np.uint32), ("value", np.uint64), ("type", np.uint8),
    ("others", np.int64), ("thread", np.int64),
])  # fmt: skip
"""A value of a metric. others: the number of other events before it in the batch. thread: the number of threads that
have begun on the location."""


def increases(values: Array, threads: Array) -> Array:
    """The increase from each reading to the next as float64; 0 between readings of two threads (threads: their numbers)
    and where the counter restarted."""
    steps = (values[1:] - values[:-1]).astype(np.float64)
    steps[(threads[1:] != threads[:-1]) | (values[1:] < values[:-1])] = 0
    return steps


def counter_rows(trace: Source, wanted: Sequence[int | str] | None) -> list[int]:
    """Rows of Trace.metric_members of counters, by names or rows; None: all counters. Raises UsageError: there is no
    metric of a name, or the metric counts nothing."""
    counts = [is_count(mode) for mode in trace.metric_members["mode"].tolist()]
    rows = metric_rows(trace, wanted)
    if rows is None:
        return [row for row, count in enumerate(counts) if count]
    for row in rows.tolist():
        if not counts[row]:
            raise UsageError(f"{trace.metric_members['name'][row]} counts nothing", "metric_values() has its values")
    found: list[int] = rows.tolist()
    return found


def increase_table(found: Mapping[tuple[int, int, Path], float]) -> Table:
    """The answer of Increases by location, region and metric."""
    sums: dict[tuple[int, int, int], list[float]] = {}
    for (location, metric, path), value in found.items():
        sums.setdefault((location, path[-1] if path else -1, metric), [0.0, 0.0])[0] += value
        for region in {*path} or {-1}:
            sums.setdefault((location, region, metric), [0.0, 0.0])[1] += value
    keys = np.array(sorted(sums), np.int64).reshape(-1, 3)
    values = np.array([sums[key] for key in sorted(sums)], np.float64).reshape(-1, 2)
    return Table({
        "location": keys[:, 0], "region": keys[:, 1], "metric": keys[:, 2], "exclusive": values[:, 0],
        "inclusive": values[:, 1],
    })  # fmt: skip


class _IncreasePart(Part):
    def __init__(self, owner: Increases) -> None:
        self.owner = owner
        self.latest: dict[int, Array] = {}
        """The last reading of each metric."""
        self.threads = 0
        self.nodes: dict[tuple[int, int], float] = {}
        """(metric, call path of this location) -> increase."""
        self.kept = np.empty(0, _READING)
        """The readings at the end of the batch before, which a sample may follow."""
        self.sums: dict[tuple[int, Path], float] = {}
        self.shared: dict[int, list[Array]] = {metric: [] for metric in owner.shared}
        """The readings of counters of the node."""
        self.paths: list[Path] = []
        """By node, only of a location with such readings."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        others = np.append(0, np.cumsum(batch.kind != number("Metric")))
        """The number of events other than readings before each event, and in the batch."""
        threads = self.threads + np.append(0, np.cumsum(batch.kind == number("ThreadBegin")))
        self.threads = int(threads[-1])
        found = [self.kept, *(self.readings(each, others, threads) for _, each in present(batch, "Metric"))]
        read = np.concatenate(found)
        self.of_samples(batch, read, others)
        last = np.full(len(read), self.owner.has_samples) & (read["others"] == others[-1])
        self.kept = read[last]
        self.kept["others"] = 0
        self.add_all(read[~last])

    def readings(self, found: dict[str, Array], others: Array, threads: Array) -> Array:
        read = np.empty(len(found["row"]), _READING)
        for name in ("time", "node", "value", "type"):
            read[name] = found[name]
        read["metric"] = self.owner.members.rows(found["ref"], found["member"])
        read["others"], read["thread"] = others[found["row"]], threads[found["row"]]
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
            if metric in self.shared:
                self.shared[metric].append(mine)
            elif len(mine):
                self.add(metric, np.append(self.latest.get(metric, mine[:1]), mine))
                self.latest[metric] = mine[-1:]

    def add(self, metric: int, read: Array) -> None:
        """An increase between two readings belongs to the call in which the second one was made."""
        bits, nodes = np.ascontiguousarray(read["value"]), read["node"][1:]
        steps = increases(bits.view(np.float64) if read["type"][0] == _DOUBLE else bits, read["thread"])
        first, member = group([nodes])
        for node, value in zip(nodes[first].tolist(), np.bincount(member, steps, len(first)).tolist(), strict=True):
            self.nodes[metric, node] = self.nodes.get((metric, node), 0.0) + value

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.add_all(self.kept)
        if not self.nodes and not self.shared:
            return
        paths = replay.all_paths()

        def path(node: int) -> Path:
            found: list[int] = []
            while node:
                found.insert(0, int(paths["region"][node]))
                node = int(paths["parent"][node])
            return tuple(found)

        for (metric, node), value in self.nodes.items():
            self.sums[metric, path(node)] = value
        if any(map(len, self.shared.values())):
            self.paths = [path(node) for node in range(len(paths))]


class Increases(Question[_IncreasePart, dict[tuple[int, int, Path], float]]):
    """Answers with the increase of each counter by location, metric (row of metric_members) and call path.

    The first reading of a thread has nothing to compare with: counts before it are left out.
    """

    kinds = frozenset({"Metric", "CallingContextSample", "ThreadBegin"})
    replay = paths = True

    def __init__(self, trace: Source, metrics: Sequence[int]) -> None:
        """metrics: rows of trace.metric_members, of counters (is_count)."""
        super().__init__()
        self.members, self.wanted = MetricMembers(trace), [*metrics]
        self.shared = [metric for metric in metrics if is_node_wide(str(trace.metric_members["name"][metric]))]
        self._process = trace.places.process
        self._contexts, self._nodes = trace.definitions.ids["contexts"], np.append(trace.context_paths[1], 0)
        self.has_samples = len(self._nodes) > 1

    def nodes_of(self, contexts: Array) -> Array:
        """The call paths of calling contexts (OTF2's ids)."""
        found: Array = self._nodes[self._contexts.rows(contexts)]
        return found

    def part(self, trace: Source, location: int) -> _IncreasePart:
        return _IncreasePart(self)

    def answer(self) -> dict[tuple[int, int, Path], float]:
        found = {
            (location, metric, path): value
            for location, part in self.parts.items()
            for (metric, path), value in part.sums.items()
        }
        for metric in self.shared:
            for process in {int(self._process[location]) for location in self.parts}:
                self._add_shared(metric, [one for one in self.parts if self._process[one] == process], found)
        return found

    def _add_shared(self, metric: int, locations: list[int], found: dict[tuple[int, int, Path], float]) -> None:
        """Adds the increases of a counter of the node, which several threads of a process read in turn."""
        read = [np.concatenate([np.empty(0, _READING), *self.parts[one].shared[metric]]) for one in locations]
        places = np.repeat(locations, [len(one) for one in read])
        every = np.concatenate([np.empty(0, _READING), *read])
        order = np.argsort(every["time"], kind="stable")
        every, places = every[order], places[order]
        bits = np.ascontiguousarray(every["value"])
        steps = increases(bits, np.zeros(len(every)))
        for location, node, step in zip(places[1:].tolist(), every["node"][1:].tolist(), steps.tolist(), strict=True):
            key = location, metric, self.parts[location].paths[node]
            found[key] = found.get(key, 0.0) + step
