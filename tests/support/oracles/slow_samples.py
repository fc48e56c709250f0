# SPDX-License-Identifier: BSD-3-Clause
"""The samples of an archive as vtrace view shows them, computed one by one from the otf2 package's reader."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import otf2

from support.oracles.slow_profile import Place, period_of, place_of


@dataclass
class Sample:
    """A sample of a location. time: ns since the start; end: of its slice; place: its call stack; weight: ns; inside:
    True if a recorded call is open."""

    time: int
    place: Place
    weight: float
    inside: bool
    source: str
    end: int = 0

    @property
    def stack(self) -> tuple[Any, ...]:
        """The regions, the outermost first."""
        return tuple(region for region, _, _ in self.place)


def samples(path: Path, exact: bool) -> list[list[Sample]]:
    """The samples of each location. exact: an archive of vtrace, where the period of a sample is its weight."""
    found: dict[Any, list[tuple[int, Any, bool]]] = defaultdict(list)
    open_: Counter[Any] = Counter()
    with otf2.reader.open(str(path / "traces.otf2")) as trace:
        offset, resolution = trace.definitions.clock_properties.global_offset, trace.timer_resolution
        for location, event in trace.events:
            kind = type(event).__name__
            open_[location] += kind.endswith("Enter") - kind.endswith("Leave")
            if kind == "CallingContextSample":
                found[location].append(((event.time - offset) * 10**9 // resolution, event, open_[location] > 0))
        return [_of_location(found[location], exact) for location in trace.definitions.locations]


def _of_location(events: list[tuple[int, Any, bool]], exact: bool) -> list[Sample]:
    times: dict[Any, list[int]] = defaultdict(list)
    for now, event, _ in events:
        times[event.interrupt_generator].append(now)
    weight = {}
    for source, each in times.items():
        nominal = source.period * (10 if source.base == otf2.Base.DECIMAL else 2.0) ** source.exponent * 1e9
        weight[source] = nominal if exact else period_of(each, nominal)
    found = [
        Sample(now, place_of(e.calling_context), weight[e.interrupt_generator], inside, e.interrupt_generator.name)
        for now, e, inside in events
    ]
    for one in found:
        one.end = one.time + max(1, int(one.weight))
    for one, other in itertools.pairwise(found):
        awake = other.time - one.time <= 1.5 * max(one.weight, other.weight)
        one.end = other.time if awake else min(one.end, other.time)
    return found


def slices(found: list[Sample]) -> Counter[tuple[int, int, Any, int, int]]:
    """The call stacks over time: begin, end, region, depth, samples."""
    done: Counter[tuple[int, int, Any, int, int]] = Counter()
    open_: list[tuple[int, int, Any, int, int]] = []
    for one in found:
        kept = 0
        if open_ and one.time <= open_[0][1]:
            while kept < min(len(open_), len(one.stack)) and open_[kept][2] == one.stack[kept]:
                kept += 1
        done.update(open_[kept:])
        new = [(one.time, one.end, region, depth, 1) for depth, region in enumerate(one.stack)]
        open_ = [(b, one.end, region, depth, n + 1) for b, _, region, depth, n in open_[:kept]] + new[kept:]
    done.update(open_)
    return done
