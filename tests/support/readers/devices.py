# SPDX-License-Identifier: BSD-3-Clause
"""The calls of each location of an archive, and the streams of devices."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from support.oracles.check_operations import STREAMS
from support.readers.archive import Trace


@dataclass
class Activity:
    """A kernel or copy, or a call: the event's times, region, and attributes."""

    begin: int
    end: int
    name: str
    values: dict[str, int]


def calls(trace: Trace) -> dict[int, list[Activity]]:
    """The finished calls of each location."""
    found: dict[int, list[Activity]] = defaultdict(list)
    stacks: dict[int, list[tuple[int, dict[str, int]]]] = defaultdict(list)
    for event in trace.events:
        if event.kind == "Enter":
            stacks[event.location].append((event.time, event.more))
        elif event.kind == "Leave":
            begin, values = stacks[event.location].pop()
            found[event.location].append(Activity(begin, event.time, trace.region_of(event).name, values))
    return dict(found)


def streams(trace: Trace) -> dict[int, str]:
    """The streams of devices: locations and names."""
    return {n: location.name for n, location in trace.locations.items() if location.kind in STREAMS}


def seen(activities: list[Activity]) -> list[tuple[str, int | None]]:
    """The names of activities, and their bytes."""
    return [(one.name, one.values.get("DEVICE_BYTES")) for one in activities]


def one_sided(trace: Trace, stream: int) -> list[tuple[str, int, int]]:
    """The copies of a stream as one-sided communication: Put or Get, the location of the other side, bytes. Each is one
    activity of the stream, from its begin to its end, between the creation and the end of the window."""
    found: list[tuple[str, int, int]] = []
    kinds = [event.kind for event in trace.of(stream) if event.kind.startswith("RmaWin")]
    assert kinds in ([], ["RmaWinCreate", "RmaWinDestroy"]), kinds
    last = None
    events = trace.of(stream)
    for begin, event, end, leave in zip(events, events[1:], events[2:], events[3:], strict=False):
        if event.kind in ("RmaPut", "RmaGet"):
            assert (begin.kind, end.kind, leave.kind) == ("Enter", "RmaOpCompleteBlocking", "Leave")
            assert (begin.time, end.time) == (event.time, leave.time)
            assert (end.attrs["win"], end.attrs["matching_id"]) == (event.attrs["win"], event.attrs["matching_id"])
            assert event.attrs["matching_id"] != last
            last = event.attrs["matching_id"]
            members = trace.comms[trace.windows[event.attrs["win"]].comm].members
            assert members is not None
            assert begin.more["DEVICE_BYTES"] == event.attrs["bytes"]
            found.append((event.kind, members[event.attrs["remote"]], event.attrs["bytes"]))
    return found
