# SPDX-License-Identifier: BSD-3-Clause
"""Regions as timers: each label on each thread, with the bytes and flops that the program counts inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.definition_tables import has_line, is_count
from vtrace.analysis.question import AnyQuestion, Part, Question
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.metrics import MetricMembers, is_node_wide
from vtrace.analysis.questions.profile import Profile, mean_and_deviation
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, add_up, group
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

UNITS = {"b": "bytes", "byte": "bytes", "bytes": "bytes", "flop": "flops", "flops": "flops"}
"""Units of counters, in lower case, and the quantity of each."""
_DOUBLE, _INT64 = _otf2.TYPE_DOUBLE.value, _otf2.TYPE_INT64.value
_SUM = float | int


class _CountedPart(Part):
    def __init__(self, trace: Source, owner: Counted) -> None:
        self.owner, self.members = owner, owner.members
        self.paths: dict[tuple[int, int], _SUM] = {}
        """(metric, call path) -> sum."""
        self.latest: dict[int, _SUM] = {}
        self.regions: dict[int, dict[str, _SUM]] = {}
        """Sums during the calls of a region, by its row."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        for _, found in present(batch, "Metric"):
            metric = self.members.rows(found["ref"], found["member"])
            for row in self.owner.wanted:
                mine = np.flatnonzero(metric == row)
                if len(mine):
                    self.add(row, found["node"][mine], self.values(row, found["value"][mine], found["type"][mine]))

    def values(self, metric: int, bits: Array, kinds: Array) -> Array:
        """The amount that each event adds to the count."""
        double = bool(np.any(kinds == _DOUBLE))
        values = (
            np.where(kinds == _DOUBLE, bits.view(np.float64), bits.view(np.int64)) if double else bits.view(np.int64)
        )
        mode = self.owner.modes[metric]
        if not is_count(mode):
            return values
        before = self.latest.get(metric, 0 if mode.endswith("START") else values[0].item())
        self.latest[metric] = values[-1].item()
        steps: Array = np.diff(values, prepend=np.array([before], values.dtype))
        return steps

    def add(self, metric: int, nodes: Array, values: Array) -> None:
        first, member = group([nodes])
        if values.dtype == np.int64:
            sums: list[_SUM] = add_up(member, values, len(first)).tolist()
        else:
            sums = np.bincount(member, values, len(first)).tolist()
        for node, value in zip(nodes[first].tolist(), sums, strict=True):
            self.paths[metric, node] = self.paths.get((metric, node), 0) + value

    def end(self, replay: Replay | None) -> None:
        """Adds the counts of a call path to each region of the path."""
        assert replay is not None
        if not self.paths:
            return
        paths = replay.all_paths()
        for (metric, node), value in self.paths.items():
            around = set()
            while node:
                around.add(int(paths["region"][node]))
                node = int(paths["parent"][node])
            what, factor = self.owner.wanted[metric]
            for region in around:
                sums = self.regions.setdefault(region, {})
                sums[what] = sums.get(what, 0) + value * factor


class Counted(Question[_CountedPart, dict[tuple[int, int], dict[str, _SUM]]]):
    """Answers with the bytes and flops that the program counted during the calls of regions."""

    kinds = frozenset({"Metric"})
    replay = paths = True

    def __init__(self, trace: Source) -> None:
        super().__init__()
        self.members = MetricMembers(trace)
        self.modes: list[str] = trace.metric_members["mode"].tolist()
        rows = enumerate(trace.metric_members.records())
        self.wanted: dict[int, tuple[str, _SUM]] = {
            row: (UNITS[unit], _scale(one))
            for row, one in rows
            if (unit := one["unit"].strip().lower()) in UNITS and not is_node_wide(one["name"])
        }
        """By row of metric_members: the quantity, and the amount of a value of 1."""

    def part(self, trace: Source, location: int) -> _CountedPart:
        return _CountedPart(trace, self)

    def answer(self) -> dict[tuple[int, int], dict[str, _SUM]]:
        """By location and region: bytes and flops; only quantities that were counted."""
        return {
            (location, region): {what: int(value) if value == int(value) else value for what, value in sums.items()}
            for location, part in self.parts.items()
            for region, sums in part.regions.items()
        }


def _scale(metric: dict[str, Any]) -> _SUM:
    factor: _SUM = (10 if metric["base"] == _otf2.BASE_DECIMAL.value else 2) ** metric["exponent"]
    return factor


def timed_regions(trace: Source, patterns: Patterns) -> Array:
    """(regions,) bool: the regions that match patterns of regions, classes and domains; without these, those of the
    user API."""
    return patterns.regions(trace) if patterns.limits_regions else np.asarray(trace.regions["paradigm"] == "USER")


def timers(trace: Source, window: Selection, patterns: Patterns) -> tuple[list[dict[str, Any]], list[str]]:
    """The timers of timed_regions, by location and then by time (largest first), and notes about the archive. Times in
    ns."""
    profile, counted = Profile(), Counted(trace)
    questions: list[AnyQuestion] = [profile, counted] if counted.wanted else [profile]
    met = ask(trace, questions, window)
    table, sums_of = profile.answer(), counted.answer()
    table = table.take(timed_regions(trace, patterns)[table["region"]])
    table = table.take(np.lexsort((-table["total"], table["location"])))
    mean, deviation = mean_and_deviation(table)
    processes, regions, found = trace.processes, trace.regions, []
    for row, r in enumerate(table.records()):
        at, of = r["region"], int(trace.places.process[r["location"]])
        rank, sums = int(processes["rank"][of]) if of >= 0 else -1, sums_of.get((r["location"], at), {})
        line = int(regions["line"][at])
        found.append({
            "rank": rank if rank >= 0 else None, "process": str(processes["name"][of]) if of >= 0 else "",
            "thread": str(trace.locations["name"][r["location"]]), "label": str(regions["name"][at]),
            "class": str(regions.classes[regions["class"][at]]), "file": str(regions["file"][at]),
            "line": line if has_line(line) else None, "calls": r["calls"], "total_ns": r["total"],
            "min_ns": r["min"], "max_ns": r["max"], "mean_ns": float(mean[row]),
            "deviation_ns": float(deviation[row]), "bytes": sums.get("bytes"), "flops": sums.get("flops"),
        })  # fmt: skip
    return found, met.problems
