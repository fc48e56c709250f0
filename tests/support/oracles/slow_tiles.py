# SPDX-License-Identifier: BSD-3-Clause
"""The bins of a location's tiles, computed event by event from the otf2 package's reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from support.oracles.slow import FLUSH, is_runtime
from support.readers.archive import Trace


@dataclass
class Bin:
    """regions: exclusive ns by OTF2's id, or FLUSH. classes: ns by class."""

    regions: Counter[int] = field(default_factory=Counter)
    classes: Counter[int] = field(default_factory=Counter)
    events: int = 0
    depth: int = 0


def _ns(trace: Trace, ticks: int) -> int:
    return (ticks - trace.offset) * 10**9 // trace.resolution


def _steps(trace: Trace, location: int, end: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Start, end and stack of each span without a change of the stack."""
    stack: list[int] = []
    last = 0
    flush = 0
    for event in trace.of(location):
        now = _ns(trace, event.time)
        if stack and stack[-1] == FLUSH:
            yield last, min(now, flush), tuple(stack)
            last = min(now, flush)
            stack.pop()
        yield last, now, tuple(stack)
        last = now
        if event.kind == "BufferFlush":
            flush = _ns(trace, event.attrs["stop_time"])
            stack.append(FLUSH)
        if event.kind == "Enter":
            stack.append(event.attrs["region"])
        elif event.kind == "Leave" and event.attrs["region"] in stack:
            while stack.pop() != event.attrs["region"]:
                pass
    if stack and stack[-1] == FLUSH:
        yield last, max(last, flush), tuple(stack)
        stack.pop()
        last = max(last, flush)
    yield last, max(last, min(end, last)), tuple(stack)


@dataclass
class FollowedLocation:
    """A location's spans (begin, end, region, class, depth), and the times of its events."""

    spans: list[tuple[int, int, int, int, int]]
    events: list[int]


def follow(trace: Trace, location: int, end: int, classes: dict[int, int], runtime: int) -> FollowedLocation:
    """Follows the calls of a location up to `end`.

    classes: of regions by OTF2's id, and of FLUSH; runtime: the class of I/O inside MPI.
    """
    found = FollowedLocation([], [_ns(trace, event.time) for event in trace.of(location)])
    for begin, stop, stack in _steps(trace, location, end):
        begin, stop = max(0, begin), min(stop, end)
        if stack and begin < stop:
            region, calls = stack[-1], [r for r in stack if r != FLUSH]
            kind = runtime if region != FLUSH and is_runtime(trace, calls) else classes[region]
            found.spans.append((begin, stop, region, kind, len(stack)))
    return found


def bins(location: FollowedLocation, width: int, end: int) -> list[Bin]:
    """The bins of `width` ns up to `end`; the last bin also has all events after the end."""
    found = [Bin() for _ in range(end // width + 1)]
    for time in location.events:
        found[min(max(0, time) // width, len(found) - 1)].events += 1
    for begin, stop, region, kind, depth in location.spans:
        for number in range(begin // width, min(stop // width, len(found) - 1) + 1):
            inside = min(stop, (number + 1) * width) - max(begin, number * width)
            if inside > 0:
                found[number].regions[region] += inside
                found[number].classes[kind] += inside
                found[number].depth = max(found[number].depth, depth)
    return found
