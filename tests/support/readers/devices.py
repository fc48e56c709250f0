# SPDX-License-Identifier: BSD-3-Clause
"""The calls of each location of an archive, and the streams of devices."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from support.oracles.check import STREAMS
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
