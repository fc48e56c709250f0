# SPDX-License-Identifier: BSD-3-Clause
"""The calls and messages of a part of an archive, computed slowly from the events that the otf2 package reads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

from support.oracles.check import rank_in
from support.readers.archive import Event, Trace

CallStep = tuple[str, int, str]
"""Enter or Leave, time, name of the region."""
SentMessage = tuple[str, str, str, int, int, int, int]
"""Communicator, sender, receiver, tag, bytes, and the times of both events."""
ENTERS, LEAVES = ("Enter", "CallingContextEnter"), ("Leave", "CallingContextLeave")


def steps(trace: Trace, location: int, start: int, stop: int) -> list[CallStep]:
    """The starts and ends of all calls of a location, cut at the edges of a window (ticks)."""
    calls: list[tuple[int, int, str, int, int]] = []  # begin, end, region, and their places
    stack: list[tuple[int, str, int]] = []
    events = trace.of(location)
    for place, event in enumerate(events):
        if event.kind in ENTERS:
            stack.append((event.time, name_of(trace, event), place))
        elif event.kind in LEAVES and stack:
            begin, name, first = stack.pop()
            calls.append((begin, event.time, name, first, place))
    end = events[-1].time if events else 0
    calls += [
        (begin, min(end, stop), name, first, len(events) + n) for n, (begin, name, first) in enumerate(stack[::-1])
    ]
    found: list[tuple[int, CallStep]] = []
    for begin, until, name, first, last in calls:
        if begin < stop and until >= start:
            found.append((first, ("Enter", max(begin, start), name)))
            found.append((last, ("Leave", min(until, stop), name)))
    return [step for _, step in sorted(found)]


def name_of(trace: Trace, event: Event) -> str:
    """The name of the region that an event enters or leaves."""
    attrs = event.attrs
    return trace.regions[attrs["region"]].name if "region" in attrs else str(attrs["calling_context"])


def messages(trace: Trace) -> list[SentMessage]:
    """All messages with both ends: the n-th send meets the n-th receive that is posted on its channel."""
    names = {number: f"{one.group} {one.process}" for number, one in trace.locations.items()}
    requests: dict[tuple[int, int], Event] = {}
    cancelled: set[int] = set()
    sends: dict[Any, list[tuple[int, Event]]] = defaultdict(list)
    receives: dict[Any, list[tuple[int, Event, int]]] = defaultdict(list)
    order = {id(event): number for number, event in enumerate(trace.events)}
    for event in trace.events:
        request = trace.locations[event.location].process, event.attrs.get("request_id", -1)
        if event.kind in ("MpiIsend", "MpiIrecvRequest"):
            requests[request] = event
        elif event.kind == "MpiRequestCancelled":
            cancelled.add(id(requests[request]))
    for event in trace.events:
        attrs = event.attrs
        if event.kind not in ("MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv") or id(event) in cancelled:
            continue
        comm = attrs["communicator"]
        own, sent = rank_in(trace, comm, event.location), "receiver" in attrs
        ends = (own, attrs["receiver"]) if sent else (attrs["sender"], own)
        alone = trace.locations[event.location].process if trace.comms[comm].members is None else -1
        channel = comm, alone, *ends, attrs["msg_tag"]
        if sent:
            sends[channel].append((order[id(event)], event))
        else:
            post = requests.get((trace.locations[event.location].process, attrs.get("request_id", -1)), event)
            receives[channel].append((order[id(post)], event, post.time))
    found = []
    for channel, list_ in sends.items():
        both = zip(sorted(list_, key=_first), sorted(receives[channel], key=_first), strict=False)
        for (_, send), (_, receive, posted) in both:
            sender, receiver = names[send.location], names[receive.location]
            about = trace.comms[channel[0]].name, sender, receiver, channel[4], receive.attrs["msg_length"]
            found.append((*about, send.time, receive.time, posted))
    return found  # type: ignore[return-value]


_EDGED = re.compile(
    "Enter|Leave|CallingContext(Enter|Leave)|Mpi.*|NonBlocking.*|Rma.*|Io(Create|Destroy|Duplicate|Change|Operation).*|"
    "Thread(Fork|Join|Team.*|AcquireLock|ReleaseLock)|Program.*|BufferFlush|MeasurementOnOff"
)
"""Kinds of events that a cut moves or leaves out."""


def others(trace: Trace, start: int = 0, stop: int = 2**63) -> Counter[tuple[str, int]]:
    """Kinds and times of the events that belong to no call and have no counterpart."""
    inside = (event for event in trace.events if start <= event.time < stop and not _EDGED.fullmatch(event.kind))
    return Counter((event.kind, event.time) for event in inside)


def balanced(trace: Trace, location: int) -> bool:
    """Each call of a location ends, in the order of a stack."""
    stack: list[str] = []
    for event in trace.of(location):
        if event.kind in ENTERS:
            stack.append(name_of(trace, event))
        elif event.kind in LEAVES and (not stack or stack.pop() != name_of(trace, event)):
            return False
    return not stack


def _first(row: tuple[Any, ...]) -> int:
    return int(row[0])
