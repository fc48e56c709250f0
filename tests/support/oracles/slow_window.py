# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a location, computed event by event from the otf2 package's reader, and the calls that touch a
window."""

from __future__ import annotations

from dataclasses import dataclass, field

from support.oracles.slow import FLUSH
from support.readers.archive import Trace

NEVER = 2**62


@dataclass
class WholeCall:
    """number: of the Enter among the location's events, from 1. end: NEVER for a call without a Leave. region: OTF2's
    id, or FLUSH. made: the callees."""

    begin: int
    region: int
    depth: int
    number: int
    end: int = NEVER
    made: list[WholeCall] = field(default_factory=list)

    def exclusive(self, stop: int = NEVER) -> int:
        """The exclusive ns of the call before stop."""
        inside = sum(min(call.end, stop) - call.begin for call in self.made if call.begin < stop)
        return min(self.end, stop) - self.begin - inside


def ns(trace: Trace, ticks: int) -> int:
    return (ticks - trace.offset) * 10**9 // trace.resolution


def whole_calls(trace: Trace, location: int) -> list[WholeCall]:
    found: list[WholeCall] = []
    stack: list[WholeCall] = []
    flush = 0

    def push(now: int, region: int, number: int) -> None:
        found.append(WholeCall(now, region, len(stack), number))
        if stack:
            stack[-1].made.append(found[-1])
        stack.append(found[-1])

    for number, event in enumerate(trace.of(location), 1):
        now = ns(trace, event.time)
        if stack and stack[-1].region == FLUSH:
            stack.pop().end = min(now, flush)
        if event.kind == "Enter":
            push(now, event.attrs["region"], number)
        elif event.kind == "BufferFlush":
            flush = ns(trace, event.attrs["stop_time"])
            push(now, FLUSH, number)
        elif event.kind == "Leave" and event.attrs["region"] in [call.region for call in stack]:
            while True:
                call = stack.pop()
                call.end = now
                if call.region == event.attrs["region"]:
                    break
    if stack and stack[-1].region == FLUSH:
        stack.pop().end = flush
    return found


def rows(calls: list[WholeCall], start: int, stop: int) -> list[tuple[int, ...]]:
    """begin, end, region, depth, exclusive, number, open (0, 1) of the calls that touch [start, stop), in the
    order of their Enters."""
    found = []
    for call in calls:
        if call.begin < stop and (call.end > start or call.begin >= start):
            is_open = call.end >= stop
            exclusive = call.exclusive(stop if is_open else NEVER)
            found.append(
                (call.begin, min(call.end, stop), call.region, call.depth, exclusive, call.number, int(is_open))
            )
    return sorted(found, key=lambda row: row[5])
