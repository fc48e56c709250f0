# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of the user-level timers of perf.hh: for each thread, each label with its calls by bytes and flops.

A timer of perf.hh has the bytes and flops of its own call, so counts of calls made from there are not added."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import present
from vtrace.analysis.questions.timers import Counted, timed_regions
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_Timers = dict[str, list[dict[str, Any]]]


class _TimerPart(Part):
    def __init__(self, question: _Timed, location: int) -> None:
        self.question = question
        self.counter = question.counted.part(question.trace, location)
        self.calls: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        """Calls of a call path, one after the other: number of the Enter event, ns, number of calls it stands for."""
        self.regions: dict[int, int] = {}
        """Call path -> region."""
        self.counts: list[tuple[int, int, str, float]] = []
        """Number of the event, call path, quantity, amount."""
        self.timers: _Timers = {}

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert replay is not None
        self.take_calls(replay)
        before = int(replay.fields.events) - len(batch) + 1
        for _, found in present(batch, "Metric"):
            metrics = self.question.counted.members.rows(found["ref"], found["member"])
            for metric, (what, factor) in self.question.counted.wanted.items():
                mine = np.flatnonzero(metrics == metric)
                if len(mine):
                    amounts = self.counter.values(metric, found["value"][mine], found["type"][mine]) * factor
                    numbers = (found["row"][mine].astype(np.int64) + before).tolist()
                    nodes = found["node"][mine].tolist()
                    self.counts += [
                        (number, node, what, amount)
                        for number, node, amount in zip(numbers, nodes, amounts.tolist(), strict=True)
                    ]

    def take_calls(self, replay: Replay) -> None:
        calls, more = replay.slices(), replay.slice_details()
        mine = np.isin(calls["region"], self.question.regions)
        paths = calls["path"][mine].tolist()
        self.regions |= zip(paths, calls["region"][mine].tolist(), strict=True)
        times = (calls["end"] - calls["begin"])[mine].tolist()
        counts = calls["calls"][mine].tolist()
        for path, number, ns, count in zip(paths, more["number"][mine].tolist(), times, counts, strict=True):
            self.calls[path].append((number, ns, count))

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.take_calls(replay)
        sums: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: {"bytes": 0, "flops": 0})
        enters = {path: np.array([number for number, *_ in of]) for path, of in self.calls.items()}
        for number, path, what, amount in self.counts:
            if path in enters:
                sums[path, int(np.searchsorted(enters[path], number)) - 1][what] += amount
        names = self.question.names
        times: dict[str, dict[tuple[float, float], list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
        for path, of in self.calls.items():
            for place, (_, ns, count) in enumerate(of):
                size = sums.get((path, place), {"bytes": 0, "flops": 0})
                times[names[self.regions[path]]][size["bytes"], size["flops"]].append((ns, count))
        self.timers = {label: _entries(by) for label, by in sorted(times.items())}


def _entries(by: dict[tuple[float, float], list[tuple[int, int]]]) -> list[dict[str, Any]]:
    """perf.hh's entries of a label, times in seconds. by: ns and number of calls. Stddev: of the population."""
    rows = []
    for (of_bytes, flops), calls in sorted(by.items()):
        number = sum(count for _, count in calls)
        mean = sum(ns for ns, _ in calls) / number
        times = [ns / count for ns, count in calls]
        squares = sum(count * (ns / count - mean) ** 2 for ns, count in calls)
        deviation = math.sqrt(squares / number)
        rows.append({
            "Bytes": _whole(of_bytes), "Flops": _whole(flops), "Calls": number, "Min": min(times) / 1e9,
            "Max": max(times) / 1e9, "Avg": mean / 1e9, "Stddev": deviation / 1e9,
        })  # fmt: skip
    return rows


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


class _Timed(Question[_TimerPart, list[_Timers]]):
    kinds = frozenset({"Metric"})
    replay = paths = True

    def __init__(self, trace: Source, patterns: Patterns) -> None:
        super().__init__()
        self.counted = Counted(trace)
        self.regions = np.flatnonzero(timed_regions(trace, patterns))
        self.names: list[str] = trace.regions["name"].tolist()

    def part(self, trace: Source, location: int) -> _TimerPart:
        return _TimerPart(self, location)

    def configure(self, replay: Replay) -> None:
        replay.fields.want_slices = replay.fields.want_slice_details = 1

    def answer(self) -> list[_Timers]:
        return [part.timers for part in self.parts.values()]


def timers(trace: Source, window: Selection, patterns: Patterns) -> tuple[list[_Timers], list[str]]:
    """A dictionary for each thread, in the order of locations, with the timers of timed_regions; and notes about the
    archive."""
    question = _Timed(trace, patterns)
    met = ask(trace, [question], window)
    return question.answer(), met.problems
