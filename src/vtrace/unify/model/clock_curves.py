# SPDX-License-Identifier: BSD-3-Clause
"""Converts each process's clock ticks to one time, nanoseconds since the archive's zero, with integer knots."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vtrace.io.local.records import CLOCK_NANOSECONDS
from vtrace.unify.model.process_definitions import ClockOffset

Ticks = np.ndarray[Any, np.dtype[np.uint64]]

_SPACING = 1_000_000_000
"""Least ns between two knots. The error of a pair is up to 100 ns, so the error of a slope is at most 1e-7."""
_SHORT = 10_000_000
"""A slope measured over fewer ns is worse than the nominal rate."""
_MOST_NS = (1 << 63) - 1
_DISORDER = 10_000
"""Pairs of processes that share a clock differ by less than this many ns."""


class Pair(NamedTuple):
    """The same moment in ticks, CLOCK_MONOTONIC_RAW ns, CLOCK_REALTIME ns."""

    ticks: int
    mono: int
    real: int


class ClockSource(NamedTuple):
    """The clock of one process. nominal: ticks per second, 0: unknown; first, last: ticks of its events."""

    host: str
    kind: int
    nominal: int
    pairs: Sequence[Pair]
    first: int
    last: int
    clock: str = ""
    """The clock that the process reads, if the runtime found several."""
    world: int = 0
    rank: int | None = None
    offsets: Sequence[ClockOffset] = ()
    pid: int = 0


class Curve(NamedTuple):
    """Knots: ticks, and ns since the epoch on the host's clock; rate: (ticks, ns) beyond the ends."""

    ticks: list[int]
    ns: list[int]
    rate: tuple[int, int]

    def at(self, ticks: int) -> int:
        """Returns the ns since the epoch at these ticks, rounded down."""
        i = bisect_right(self.ticks, ticks)
        if 0 < i < len(self.ticks):
            t0, n0, t1, n1 = self.ticks[i - 1], self.ns[i - 1], self.ticks[i], self.ns[i]
            return n0 + (ticks - t0) * (n1 - n0) // (t1 - t0)
        end = -1 if i else 0
        return self.ns[end] + (ticks - self.ticks[end]) * self.rate[1] // self.rate[0]

    def knots(self, zero: int, first: int, last: int) -> tuple[Ticks, Ticks]:
        """Returns the ticks and ns of two or more knots that cover all ticks from first to last.

        zero: ns since the epoch, not later than the time of first; origin of the knots' ns. The last knot is one of the
        curve or lies whole rates behind it, so that last has no influence on the rounding of times if first is not
        behind the curve.
        """
        last = max(last, first + 1)
        end = bisect_left(self.ticks, last) + 1
        ticks = [first, *self.ticks[bisect_right(self.ticks, first) : end]]
        if end > len(self.ticks):
            behind = self.ticks[-1] + ((last - self.ticks[-1] - 1) // self.rate[0] + 1) * self.rate[0]
            fits = behind - ticks[-1] <= _MOST_NS and behind < 1 << 64  # a damaged rate may be any number
            ticks.append(behind if fits else last)
        return np.array(ticks, np.uint64), np.array(
            [min(max(self.at(t) - zero, 0), _MOST_NS) for t in ticks], np.uint64
        )


@dataclass
class Clock:
    """A clock of one or more processes."""

    host: str
    members: list[int]
    """Numbers of the processes that read the clock."""
    curve: Curve
    measured: int = 0
    """Number of comparisons with another clock."""
    kind: int = 0
    """The kind of its ticks (VT_CLOCKS in format.h)."""
    pids: Sequence[int] = ()
    """Process ids of the members."""
    pairs: Sequence[Pair] = ()
    """The clock pairs of the members, ascending."""
    own: Curve | None = None
    """curve before its comparison with other clocks; None: the same. Its first knot is the first pair."""
    error: int | None = None
    """Maximum difference to the time of the first clock in ns; None: both clocks are aligned by real time only."""


def curves(sources: Sequence[ClockSource]) -> tuple[list[Curve], list[str]]:
    """Returns one curve for each source, and texts about doubtful clocks.

    Processes of one host share CLOCK_MONOTONIC_RAW, and also the counter if it is the same on all cores. Their pairs
    make one curve, so that the counter gives their order in time. Hosts are aligned by real time, at their first pair.
    A source without a clock's name (a program that a rank has started) reads its host's clock, if the host has only
    one known clock.
    """
    named: dict[str, set[str]] = {}
    for source in sources:
        named.setdefault(source.host, set()).update({source.clock} - {""})
    hosts: dict[tuple[str, str], list[int]] = {}
    for i, source in enumerate(sources):
        known = named[source.host]
        clock = source.clock or (min(known) if len(known) == 1 else "")
        hosts.setdefault((source.host, clock), []).append(i)
    found: dict[int, Curve] = {}
    doubts: list[str] = []
    for (host, _), members in hosts.items():
        own = [sources[i] for i in members]
        first = min((p for s in own for p in s.pairs), key=lambda p: p.mono)
        offset = first.real - first.mono
        together = ordered(p for s in own for p in s.pairs)
        if len({s.kind for s in own}) == 1 and _agree(together):
            curve = _curve(together, offset, near=own, doubts=doubts, host=host)
            found.update(dict.fromkeys(members, curve))
        else:
            if len(own) > 1:
                doubts.append(f"the processes on {host} do not share a clock: their times are aligned one by one")
            for i in members:
                found[i] = _curve(ordered(sources[i].pairs), offset, near=own, doubts=doubts, host=host)
    return [found[i] for i in range(len(sources))], doubts


def ordered(pairs: Iterable[Pair]) -> list[Pair]:
    """Returns each pair once, ascending."""
    return sorted(set(pairs))


def _agree(pairs: list[Pair]) -> bool:
    mono = np.array([p.mono for p in pairs], np.int64)
    return bool((np.diff(mono) > -_DISORDER).all())


def _curve(pairs: list[Pair], offset: int, near: Sequence[ClockSource], doubts: list[str], *, host: str) -> Curve:
    """Returns a curve through rising pairs, far enough from each other for a good slope; the last pair stays."""
    kept = [pairs[0]]
    for pair in pairs[1:]:
        if pair.mono - kept[-1].mono >= _SPACING and pair.ticks > kept[-1].ticks:
            kept.append(pair)
    last = max(pairs, key=lambda p: p.mono)
    if last.ticks > kept[-1].ticks and last.mono > kept[-1].mono:
        kept[1 if len(kept) == 1 else -1 :] = [last]
    rate = _rate(kept, near)
    if not rate[0]:
        doubts.append(f"the clock rate of {host} is not known: times there may be wrong by a constant factor")
        rate = (1, 1)
    return Curve([p.ticks for p in kept], [p.mono + offset for p in kept], rate)


def _rate(kept: list[Pair], near: Sequence[ClockSource]) -> tuple[int, int]:
    """Returns the clock's rate as (ticks, ns): measured over a long time, else the nominal rate, else measured over any
    time; (0, 0) if unknown."""
    span = kept[-1].mono - kept[0].mono
    if len(kept) > 1 and span >= _SHORT:
        return kept[-1].ticks - kept[0].ticks, span
    if near[0].kind == CLOCK_NANOSECONDS:
        return _SPACING, _SPACING
    nominal = next((s.nominal for s in near if s.nominal), 0)
    if nominal:
        return nominal, _SPACING
    return (kept[-1].ticks - kept[0].ticks, span) if len(kept) > 1 and span else (0, 0)


def span_text(ns: int) -> str:
    """Returns a duration as text: in microseconds, from 10 ms on in seconds."""
    return f"{ns / 1000:.1f} us" if ns < 10_000_000 else f"{ns / 1e9:.3f} s"
