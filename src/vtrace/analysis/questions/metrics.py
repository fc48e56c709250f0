# SPDX-License-Identifier: BSD-3-Clause
"""Values over time: metrics, and the heap from metrics and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import present, region_rows
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up, group, stack
from vtrace.errors import UsageError
from vtrace.io.archive.batches import Batch
from vtrace.text import near

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_COLUMNS = {"location": np.int64, "time": np.int64, "metric": np.int64, "value": np.float64, "integer": np.int64}
_DOUBLE, _INT64 = _otf2.TYPE_DOUBLE.value, _otf2.TYPE_INT64.value
BYTES, BLOCKS = "Host Memory", "Live Blocks"
"""Names of the metrics of the heap: bytes and blocks in use. vtrace writes both, Score-P the first."""
_NODE_WIDE = ("net/", "power/")


def is_node_wide(name: str) -> bool:
    """True for a counter of vtrace that counts for the whole node, whichever thread reads the value."""
    return name.startswith(_NODE_WIDE)


def doubles(bits: Array, kinds: Array) -> Array:
    """The values of Metric events as float64. bits: (n,) uint64, contiguous; kinds: OTF2's type of each."""
    found: Array = np.where(
        kinds == _DOUBLE, bits.view(np.float64),
        np.where(kinds == _INT64, bits.view(np.int64).astype(np.float64), bits.astype(np.float64)),
    )  # fmt: skip
    return found


class MetricMembers:
    """Finds the metric (row of Trace.metric_members) of each value of a Metric event."""

    def __init__(self, trace: Source) -> None:
        definitions, classes = trace.definitions, trace.metric_classes
        self._classes, self._instances = definitions.ids["metric_classes"], definitions.ids["metric_instances"]
        self._class_of = np.append(trace.metric_instances["metric_class"], -1)
        self._first = np.append(classes["offset"], 0)
        self._count = np.append(classes["count"], 0)
        self._metrics = np.append(definitions.ids["metric_members"].rows(definitions.members), -1)

    def rows(self, refs: Array, places: Array) -> Array:
        """Rows of metrics for values of Metric events; -1: not defined.

        refs: the metric class or instance of each event, OTF2's ids; places: of the values in their class.
        """
        classes = self._classes.rows(refs)
        classes = np.where(classes < 0, self._class_of[self._instances.rows(refs)], classes)
        return self.of_class(classes, places)

    def of_class(self, classes: Array, places: Array) -> Array:
        """Rows of metrics at places of metric classes (rows of metric_classes, -1: not defined)."""
        places = places.astype(np.int64)
        members = self._first[classes] + places
        known = (classes >= 0) & (places < self._count[classes]) & (members < len(self._metrics))
        found: Array = self._metrics[np.where(known, members, -1)]
        return found


class _MetricPart(Part):
    def __init__(self, owner: Metrics, location: int) -> None:
        self.owner, self.location = owner, location
        self.found: list[dict[str, Array]] = []
        self.rows = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, "Metric"):
            bits, kinds = found["value"], found["type"]
            values = doubles(bits, kinds)
            integers = np.where(kinds == _DOUBLE, 0, bits.view(np.int64))
            columns = {
                "location": np.full(len(values), self.location), "time": found["time"],
                "metric": self.owner.members.rows(found["ref"], found["member"]), "value": values, "integer": integers,
            }  # fmt: skip
            wanted = np.isin(columns["metric"], self.owner.wanted) if self.owner.wanted is not None else slice(None)
            self.found.append({name: column[wanted] for name, column in columns.items()})
            self.rows += len(self.found[-1]["time"])
        if self.rows > 4 * self.owner.most:
            self.thin()

    def end(self, replay: Replay | None) -> None:
        if self.rows > self.owner.most:
            self.thin()

    def thin(self) -> None:
        self.owner.thinned = True
        table = thinned(stack(self.found, _COLUMNS), self.owner.most)
        self.found, self.rows = [dict(table)], table.rows


class Metrics(Question[_MetricPart, Table]):
    """Answers Trace.metric_values and Trace.memory."""

    kinds = frozenset({"Metric"})

    def __init__(self, wanted: Array | None, most: int) -> None:
        super().__init__()
        self.wanted, self.most = wanted, most
        self.thinned = False
        """True if values are left out."""

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.members = MetricMembers(trace)

    def part(self, trace: Source, location: int) -> _MetricPart:
        return _MetricPart(self, location)

    def answer(self) -> Table:
        return stack([each for part in self.parts.values() for each in part.found], _COLUMNS)


def thinned(table: Table, most: int) -> Table:
    """At most about `most` rows: first, last, lowest and highest value of each metric in equal stretches of time."""
    metrics = max(1, len(np.unique(table["metric"])))
    stretches = max(1, most // (4 * metrics))
    begin, end = int(table["time"].min()), int(table["time"].max()) + 1
    stretch = (table["time"] - begin) * stretches // (end - begin)
    rows = np.arange(table.rows)
    _, member = group([table["metric"], stretch])
    by = np.lexsort((rows, table["value"], member))
    low = by[np.flatnonzero(np.diff(member[by], prepend=-1))]
    high = by[np.flatnonzero(np.diff(member[by], append=-1))]
    order = np.lexsort((rows, member))
    first = order[np.flatnonzero(np.diff(member[order], prepend=-1))]
    last = order[np.flatnonzero(np.diff(member[order], append=-1))]
    return table.take(np.unique(np.concatenate([first, last, low, high])))


def metric_rows(trace: Source, wanted: Sequence[int | str] | None) -> Array | None:
    """Rows of Trace.metric_members by names or rows; None stays. Raises UsageError: there is no metric of a name."""
    if wanted is None:
        return None
    found: list[int] = []
    names = trace.metric_members["name"]
    for one in wanted:
        if isinstance(one, str) and not (names == one).any():
            raise UsageError(f"the trace has no metric {one}", near(one, map(str, names)))
        found += np.flatnonzero(names == one).tolist() if isinstance(one, str) else [int(one)]
    return np.array(found, np.int64)


def heap_metrics(trace: Source) -> dict[str, int]:
    """The rows of Trace.metric_members for the heap, by name."""
    names = trace.metric_members["name"].tolist()
    return {name: names.index(name) for name in (BYTES, BLOCKS) if name in names}


def heap_curve(values: Table, trace: Source) -> Table:
    """Rows process, time (ns), bytes, blocks (-1: not recorded), from values of the heap's metrics."""
    known = heap_metrics(trace)
    first, member = group([values["location"], values["time"]])
    columns: dict[str, Any] = {
        "process": trace.places.process[values["location"][first]], "time": values["time"][first],
        "bytes": np.full(len(first), -1), "blocks": np.full(len(first), -1),
    }  # fmt: skip
    for name, column in ((BYTES, "bytes"), (BLOCKS, "blocks")):
        rows = np.flatnonzero(values["metric"] == known.get(name, -2))
        columns[column][member[rows]] = values["integer"][rows]
    table = Table(columns)
    return table.take(np.lexsort((table["time"], table["process"])))


SIZE, _FREED, _RESULT = "ALLOCATION_SIZE", "DEALLOCATION_SIZE", "RESULT_ADDRESS"
_SUMS = ("allocations", "allocated", "frees", "freed", "failed")
_POINT = ("region", "caller", "row", "value", "failed")


class _AllocationPart(Part):
    def __init__(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers
        self.sums: dict[tuple[int, int], Array] = {}
        self.last = {name: np.zeros(0, np.int64) for name in _POINT}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for name, number in self.numbers.items():
            found = batch.attributes[batch.attributes["attribute"] == number]
            if name == _FREED and len(found):
                self.add(found["region"], found["caller"], {2: 1, 3: found["value"].view(np.int64)})
        self.allocations(batch)

    def allocations(self, batch: Batch) -> None:
        """Joins sizes with failures: the Enter of a function has the size, its Leave has the address 0 if the function
        failed."""
        attributes = batch.attributes
        sizes = attributes[attributes["attribute"] == self.numbers.get(SIZE, -1)]
        nothing = attributes[(attributes["attribute"] == self.numbers.get(_RESULT, -1)) & (attributes["value"] == 0)]
        points = {name: np.append(self.last[name], sizes[name].view(np.int64) if name == "value" else sizes[name])
                  for name in _POINT[:-1]}  # fmt: skip
        points["failed"] = np.append(self.last["failed"], np.zeros(len(sizes), np.int64))
        if len(points["row"]):
            points["failed"][np.searchsorted(points["row"], nothing["row"], "right") - 1] = 1
            self.last = {name: column[-1:] for name, column in points.items()}
            self.last["row"] = np.array([-1])
            self.add_allocations({name: column[:-1] for name, column in points.items()})

    def end(self, replay: Replay | None) -> None:
        self.add_allocations(self.last)

    def add_allocations(self, points: dict[str, Array]) -> None:
        good = 1 - points["failed"]
        self.add(points["region"], points["caller"], {0: good, 1: points["value"] * good, 4: points["failed"]})

    def add(self, region: Array, caller: Array, values: dict[int, Any]) -> None:
        if not len(region):
            return
        region, caller = region_rows(region), region_rows(caller)
        first, member = group([region, caller])
        sums = np.zeros((len(first), len(_SUMS)), np.int64)
        for place, value in values.items():
            sums[:, place] = add_up(member, value, len(first))
        for at, row in zip(first.tolist(), sums, strict=True):
            key = int(region[at]), int(caller[at])
            self.sums[key] = self.sums[key] + row if key in self.sums else row


class Allocations(Question[_AllocationPart, Table]):
    """Answers Trace.allocations."""

    replay = attributes = True

    def part(self, trace: Source, location: int) -> _AllocationPart:
        attributes = trace.attributes
        pairs = zip(attributes["id"].tolist(), attributes["name"].tolist(), strict=True)
        return _AllocationPart({name: number for number, name in pairs if name in (SIZE, _FREED, _RESULT)})

    def answer(self) -> Table:
        rows = [
            (location, *key, *sums.tolist())
            for location, part in self.parts.items()
            for key, sums in sorted(part.sums.items())
        ]
        names = ("location", "region", "caller", *_SUMS)
        return Table(dict(zip(names, np.array(rows, np.int64).reshape(len(rows), len(names)).T, strict=True)))
