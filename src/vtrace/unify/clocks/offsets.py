# SPDX-License-Identifier: BSD-3-Clause
"""Aligns the clocks of hosts by the offsets that the ranks measured during the run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vtrace.unify.model.clock_curves import Clock, ClockSource, Curve, ordered
from vtrace.unify.model.clock_curves import curves as host_curves

_SHORT = 10_000_000
"""A drift measured over fewer ns is worse than none."""
_DRIFT_PPM = 200
"""Parts per million by which the rates of two clocks may differ: each has an error of at most 0.01 %."""
_WORSE = 8
"""A measurement is left out if its error exceeds those of both neighbours by this factor."""


class _Point(NamedTuple):
    """A moment. own, other: ns on the two clocks; error: ns by which these may differ; ticks: of the own clock."""

    own: int
    other: int
    error: int
    ticks: int


@dataclass
class _ClockLine:
    """The difference between two clocks: linear between its points, and beyond them like between the outermost two."""

    points: list[_Point] = field(default_factory=list)

    def _segment(self, ns: int) -> tuple[_Point, _Point] | None:
        """Returns the points whose line applies at ns; None if the drift is not known there."""
        points = self.points
        i = min(max(bisect_right(points, ns, key=lambda p: p.own), 1), len(points) - 1)
        if len(points) == 1 or points[i].own - points[i - 1].own < _SHORT:
            return None
        return points[i - 1], points[i]

    def error(self, ns: int) -> int:
        """Returns the bound of the error at ns of this clock, at or beyond the outermost points."""
        first, last = self.points[0], self.points[-1]
        away = max(first.own - ns, ns - last.own, 0)
        near = first if ns < first.own else last
        segment = self._segment(ns)
        if segment is None:
            return near.error + away * _DRIFT_PPM // 1_000_000
        a, b = segment
        return near.error + away * (a.error + b.error) // (b.own - a.own)

    def at(self, ns: int) -> int:
        """Returns the other clock's ns at ns of this one."""
        segment = self._segment(ns)
        if segment is None:
            return ns + self.points[0].other - self.points[0].own
        a, b = segment
        return ns + (a.other - a.own) + (ns - a.own) * ((b.other - b.own) - (a.other - a.own)) // (b.own - a.own)


def align(sources: Mapping[int, ClockSource]) -> tuple[list[Clock], list[str]]:
    """Returns the clocks of all processes, the first process's first, and texts about doubtful clocks.

    sources: by number of the process. Clocks that were compared with the first one, directly or through others, get
    curves that agree with it.
    """
    curves, doubts = host_curves([*sources.values()])
    clocks: dict[int, Clock] = {}
    for (number, source), curve in zip(sources.items(), curves, strict=True):
        clocks.setdefault(id(curve), Clock(source.host, [], curve)).members.append(number)  # equal objects: one clock
    found = list(clocks.values())
    for clock in found:
        own = [sources[number] for number in clock.members]
        clock.kind, clock.pids = own[0].kind, sorted({source.pid for source in own})
        clock.pairs = ordered(pair for source in own for pair in source.pairs)
    of = {number: clock for clock in found for number in clock.members}
    compared = _compared(sources, of)
    found[0].error = 0
    known = [found[0]]
    for parent in known:  # the list grows in the loop
        for child, pairs in compared.get(id(parent), {}).values():
            if child.error is None:
                _adjust(child, parent, pairs, sources)
                known.append(child)
    return found, doubts


_TickPairs = list[tuple[int, int, int]]
"""Ticks of the child, ticks of its parent, error in ticks of the child."""


def _compared(
    sources: Mapping[int, ClockSource], of: dict[int, Clock]
) -> dict[int, dict[int, tuple[Clock, _TickPairs]]]:
    """Returns the measurements between two clocks, by the ids of parent and child."""
    found: dict[int, dict[int, tuple[Clock, _TickPairs]]] = {}
    ranks = {(source.world, source.rank): number for number, source in sources.items() if source.rank is not None}
    for number, source in sources.items():
        for offset in source.offsets:
            other = ranks.get((source.world, offset.peer))
            if other is None or of[other] is of[number]:
                continue
            child, parent = of[number], of[other]
            children = found.setdefault(id(parent), {})
            children.setdefault(id(child), (child, []))[1].append((offset.ticks, offset.peer_ticks, offset.error))
    return found


def _adjust(child: Clock, parent: Clock, pairs: _TickPairs, sources: Mapping[int, ClockSource]) -> None:
    curve = child.curve
    line = _ClockLine(_best([
        _Point(curve.at(own), parent.curve.at(other), error * curve.rate[1] // curve.rate[0] + 1, own)
        for own, other, error in pairs
    ]))  # fmt: skip
    ends = [t for n in child.members for t in (sources[n].first, sources[n].last)]
    ticks = sorted({*curve.ticks, *(point.ticks for point in line.points), min(ends), max(ends)})
    ns = [line.at(curve.at(t)) for t in ticks]
    child.own, child.curve = curve, Curve(ticks, ns, curve.rate)
    child.measured = len(line.points)
    errors = [line.error(curve.at(t)) for t in (min(ends), max(ends))]
    child.error = max(*errors, *(point.error for point in line.points)) + (parent.error or 0)


def _best(points: list[_Point]) -> list[_Point]:
    """Returns the points in order, without those that are much worse than both neighbours or do not ascend."""
    kept: list[_Point] = []
    points = sorted(points)
    for i, point in enumerate(points):
        near = points[max(i - 1, 0) : i] + points[i + 1 : i + 2]
        if len(near) == 2 and point.error > _WORSE * max(p.error for p in near):
            continue
        if kept and (point.own <= kept[-1].own or point.other <= kept[-1].other):
            continue
        kept.append(point)
    return kept
