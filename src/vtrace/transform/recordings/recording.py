# SPDX-License-Identifier: BSD-3-Clause
"""What a tool recorded, in columns: intervals on tracks, remarks, and counters. Times are ns of the tool's clock."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.common.arrays import Array

THREAD, STREAM, LANE = "thread", "stream", "lane"
"""Kinds of tracks: of a thread, of a device's queue, of intervals that belong to no thread."""
Key = int | str
_DEEPEST = 64
"""The most intervals before the end of a flow that are searched for one that is still open then."""
_PLACE = re.compile(r"(.+) \((.+):(\d+)\)")
"""viztracer's name of a Python function."""
_TORCH_PLACE = re.compile(r"(.+)\((\d+)\): (.+)")
"""PyTorch's name of a Python function."""


class Activity(NamedTuple):
    """The kind of an interval. category: the tool's; file, line: of a function, "" and 0 if unknown; kind: function,
    kernel or transfer; api: OTF2's paradigm, such as CUDA or USER."""

    name: str
    category: str = ""
    file: str = ""
    line: int = 0
    kind: str = "function"
    api: str = "USER"

    @classmethod
    def of_python(cls, name: str, category: str) -> Activity:
        """The activity of a name that may hold the place of a Python function."""
        if found := _PLACE.fullmatch(name):
            return cls(found[1], category, found[2], int(found[3]))
        if category == "python_function" and (found := _TORCH_PLACE.fullmatch(name)):
            return cls(found[3], category, found[1], int(found[2]))
        return cls(name, category)


@dataclass(eq=False)
class Track:
    """Intervals of one place: begin, end in ns; activity: numbers in Recording.activities. pid: of the process, or a
    word of the tool; tid: the thread's id, or the tool's name of the track. name: "" if unknown."""

    kind: str
    pid: Key
    tid: Key
    name: str = ""
    begin: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    activity: array[int] = field(default_factory=lambda: array("I"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    """Bytes of the first intervals; those behind have none."""
    flow_time: array[int] = field(default_factory=lambda: array("q"))
    flow: array[int] = field(default_factory=lambda: array("q"))
    """Ends of flows: numbers; negative: of the next interval, not of the innermost one at that time."""

    def add(self, begin: int, end: int, activity: int, size: int = 0) -> None:
        """Adds an interval. size: the bytes that it copies."""
        self.begin.append(begin)
        self.end.append(end)
        self.activity.append(activity)
        if size > 0:
            self.sizes.extend([0] * (len(self.begin) - 1 - len(self.sizes)))
            self.sizes.append(size)

    def flows_of(self, begin: Array, end: Array) -> tuple[Array, int]:
        """(n,) the flow of each interval, 0: none; and the number of ends without a place: there is no interval, or it
        has another flow. begin, end: of take()."""
        time, flow = np.frombuffer(self.flow_time, np.int64), np.frombuffer(self.flow, np.int64)
        inside = flow > 0
        place = np.where(inside, np.searchsorted(begin, time, "right") - 1, np.searchsorted(begin, time, "left"))
        for _ in range(_DEEPEST):
            ended = inside & (place >= 0)
            ended[ended] = end[place[ended]] < time[ended]
            if not ended.any():
                break
            place[ended] -= 1
        there = (place >= 0) & (place < len(begin))
        there[there] = end[place[there]] >= time[there]
        found = np.zeros(len(begin), np.uint64)
        found[place[there][::-1]] = np.abs(flow[there])[::-1]  # the first flow of an interval stays
        return found, len(flow) - int(np.count_nonzero(found))

    def span(self) -> tuple[int, int]:
        """The first and the last time; the track has intervals."""
        return int(np.frombuffer(self.begin, np.int64).min()), int(np.frombuffer(self.end, np.int64).max())

    def take(self) -> tuple[Array, Array, Array, Array | None]:
        """(n,) begin, end, activity, and sizes if there are some: an interval before those inside of it. The track is
        empty afterwards, since the columns of a large file fit into memory once."""
        begin, end = np.frombuffer(self.begin, np.int64), np.frombuffer(self.end, np.int64)
        order = np.lexsort((-end, begin))
        sorted_begin = begin[order]
        del begin
        self.begin = array("q")
        sorted_end = end[order]
        del end
        self.end = array("q")
        activity = np.frombuffer(self.activity, np.uint32)[order]
        self.activity = array("I")
        sizes = None
        if self.sizes:
            self.sizes.extend([0] * (len(order) - len(self.sizes)))
            sizes = np.frombuffer(self.sizes, np.int64)[order]
        return sorted_begin, sorted_end, activity, sizes


@dataclass
class Remark:
    """A text at a time; track: its place, None for the process."""

    time: int
    category: str
    text: str
    pid: Key
    track: Track | None = None


@dataclass
class Values:
    """Values of a counter of a process at times."""

    pid: Key
    name: str
    times: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass
class Recording:
    """The content of a file. since: ns since the epoch of time 0 of the tool's clock; None: unknown. host: "" if
    unknown; rank: None if unknown; left_out: numbers of what no archive has, by its name; notes: lines for the user."""

    path: Path
    since: int | None = None
    host: str = ""
    rank: int | None = None
    processes: dict[Key, str] = field(default_factory=dict)
    """Names by pid, of processes that have a name."""
    tracks: dict[tuple[str, Key, Key], Track] = field(default_factory=dict)
    activities: dict[Activity, int] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    counters: dict[tuple[Key, str], Values] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def track(self, kind: str, pid: Key, tid: Key) -> Track:
        known = self.tracks.get((kind, pid, tid))
        if known is None:
            known = self.tracks[kind, pid, tid] = Track(kind, pid, tid)
        return known

    def activity(self, activity: Activity) -> int:
        """The number of an activity."""
        return self.activities.setdefault(activity, len(self.activities))

    def value(self, pid: Key, name: str, time: int, value: float) -> None:
        counter = self.counters.get((pid, name))
        if counter is None:
            counter = self.counters[pid, name] = Values(pid, name)
        counter.times.append(time)
        counter.values.append(value)

    @property
    def intervals(self) -> int:
        return sum(len(track.begin) for track in self.tracks.values())

    def owners(self) -> list[Key]:
        """The processes: pids of tracks of threads; without any, those of all tracks."""
        threads = dict.fromkeys(track.pid for track in self.tracks.values() if track.kind == THREAD)
        every = dict.fromkeys([*(track.pid for track in self.tracks.values()), *(pid for pid, _ in self.counters)])
        return [*(threads or every)]

    def span(self) -> tuple[int, int]:
        """The first and the last time. Raises VtraceError if there is neither an interval nor a value."""
        if not self.intervals and not self.counters:
            raise VtraceError(f"{self.path}: no interval or value", "is it a trace of a run?")
        spans = [track.span() for track in self.tracks.values() if track.begin]
        spans += [(remark.time, remark.time) for remark in self.remarks]
        spans += [(min(counter.times), max(counter.times)) for counter in self.counters.values()]
        return min(first for first, _ in spans), max(last for _, last in spans)
