# SPDX-License-Identifier: BSD-3-Clause
"""The input of a profile, from one pass: the calls of each region and call path, and the samples by their
calling contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.question import Question
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.profile import PathPart, joined_paths, numbers
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up, group, stack, texts
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SAMPLE = "CallingContextSample"
_TIME = "TIME"
SAMPLES = "SAMPLES"
"""The property of archives of vtunify in which each period is the time that its samples stand for."""
_INTERVALS = 4096
"""The most intervals between samples from which a period is estimated, for each location and generator."""
_KEYS = ("context", "node", "generator")
_AT_ONCE = 64
"""The number of batches whose counts are added up together."""


@dataclass(kw_only=True)
class Costs:
    """The answer of CostQuestion.

    regions, calls: rows (location, region) and (location, path) with the numbers of Trace.profile. tree: the call
    paths, as those of Trace.call_tree. samples: rows (location, context, path, inside, generator, count, ns). context:
    a row of trace.contexts, -1: undefined. path: the call path of the context; inside: that of the innermost recorded
    call around the samples; 0: none. ns: the time for which one of the count samples stands. periods: rows (location,
    generator, ns, nominal): the same ns, and the period that the generator was set to, 0 if it counts events. full:
    true if a reading thread met more call paths than it can number.
    """

    regions: Table
    calls: Table
    tree: Table
    samples: Table
    periods: Table
    full: bool


class Intervals:
    """The times between the samples of one generator on a location."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.kept: list[Array] = []
        self.count = 0

    def add(self, times: Array) -> None:
        if self.count < _INTERVALS:
            steps = np.diff(times) if self.last is None else np.diff(times, prepend=self.last)
            self.kept.append(steps[: _INTERVALS - self.count])
            self.count += len(self.kept[-1])
        self.last = int(times[-1])

    def period(self, nominal: float, exact: bool) -> float:
        """The ns for which one sample stands.

        nominal: the generator's period in ns, 0 if unknown. exact: each sample stands for the period. Otherwise a timer
        cannot be faster than the kernel's tick, so the samples themselves give the period, by the intervals in which
        the thread was not asleep.
        """
        if exact:
            return nominal
        steps = np.concatenate([*self.kept, np.empty(0, np.int64)])
        if not len(steps):
            return nominal
        busy = steps[steps <= 1.5 * np.quantile(steps, 0.1)]
        return max(nominal, float(np.median(busy if len(busy) else steps)))


class CostPart(PathPart):
    """The calls and samples of a location."""

    def __init__(self, trace: Source) -> None:
        super().__init__()
        self._contexts = trace.definitions.ids["contexts"]
        self._generators = trace.definitions.ids["interrupt_generators"]
        self._counts: list[dict[str, Array]] = []
        self.intervals: dict[int, Intervals] = {}
        self.region_rows, self.region_stats = self.rows, self.stats

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, _SAMPLE):
            generators = self._generators.rows(found["generator"])
            for number in np.unique(generators).tolist():
                times = found["time"][generators == number]
                self.intervals.setdefault(number, Intervals()).add(times)
            each = self._contexts.rows(found["ref"]), found["node"].astype(np.int64), generators
            ones = np.ones(len(generators), np.int64)
            self._counts.append(_counted(dict(zip(_KEYS, each, strict=True)) | {"count": ones}))
            if len(self._counts) > _AT_ONCE:
                self._counts = [self.counts()]

    def counts(self) -> dict[str, Array]:
        """The samples by _KEYS: the keys, and count."""
        columns = {name: [each[name] for each in self._counts] for name in (*_KEYS, "count")}
        return _counted({name: np.concatenate([*parts, np.empty(0, np.int64)]) for name, parts in columns.items()})

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        super().end(replay)
        self.region_rows, self.region_stats = replay.stats()


def _counted(columns: dict[str, Array]) -> dict[str, Array]:
    first, member = group([columns[name] for name in _KEYS])
    found = {name: columns[name][first] for name in _KEYS}
    return found | {"count": add_up(member, columns["count"], len(first))}


class CostQuestion(Question[CostPart, Costs]):
    """Answers with the times of calls and samples."""

    kinds = frozenset({_SAMPLE})
    replay = paths = stats = path_stats = True

    def part(self, trace: Source, location: int) -> CostPart:
        return CostPart(trace)

    def answer(self) -> Costs:
        tree, maps, full = joined_paths(self.parts)
        rows = {location: maps[id(part.replay)][part.rows] for location, part in self.parts.items()}
        stats = {location: part.stats for location, part in self.parts.items()}
        calls = numbers(stats, "path", rows)
        rows = {location: part.region_rows for location, part in self.parts.items()}
        regions = numbers({location: part.region_stats for location, part in self.parts.items()}, "region", rows)
        periods = self._periods()
        known = {(r["location"], r["generator"]): r["ns"] for r in periods.records()}
        nodes = np.append(self.trace.context_paths[1].astype(np.int64), 0)
        found: list[dict[str, Any]] = []
        for location, part in self.parts.items():
            if not part.intervals:  # no samples
                continue
            counts = part.counts()
            ns = np.array([known[location, number] for number in counts["generator"].tolist()], np.float64)
            found.append({
                "location": np.full(len(ns), location), "context": counts["context"],
                "path": nodes[counts["context"]], "inside": maps[id(part.replay)][counts["node"]],
                "generator": counts["generator"], "count": counts["count"], "ns": ns,
            })  # fmt: skip
        like = dict.fromkeys("location context path inside generator count".split(), np.int64) | {"ns": np.float64}
        return Costs(regions=regions, calls=calls, tree=tree, samples=stack(found, like), periods=periods, full=full)

    def _periods(self) -> Table:
        nominal = [*nominal_periods(self.trace), 0.0]
        exact = SAMPLES in self.trace.vtrace
        rows = [
            (location, number, intervals.period(nominal[number], exact and nominal[number] > 0), nominal[number])
            for location, part in self.parts.items()
            for number, intervals in sorted(part.intervals.items())
        ]
        names = ("location", "generator", "ns", "nominal")
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        kinds = (np.int64, np.int64, np.float64, np.float64)
        made = {name: np.array(c, kind) for name, c, kind in zip(names, columns, kinds, strict=True)}
        return Table(made)


def nominal_periods(trace: Source) -> list[float]:
    """The period of each interrupt generator in ns, 0 for one that counts events, and for an impossible period."""
    found = []
    for row in trace.interrupt_generators.records():
        base = 10 if row["base"] == _otf2.BASE_DECIMAL.value else 2
        possible = row["mode"] == _TIME and abs(row["exponent"]) < 64 and row["period"] > 0
        ns = row["period"] * float(base) ** row["exponent"] * 1e9 if possible else 0.0
        found.append(ns if ns < 1e15 else 0.0)
    return found


def generator_names(trace: Source) -> Array:
    """(generators + 1,) names; the last stands for undefined generators."""
    return texts([*trace.interrupt_generators["name"].tolist(), "(unknown generator)"])
