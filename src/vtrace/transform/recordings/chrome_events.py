# SPDX-License-Identifier: BSD-3-Clause
"""Reads Chrome's JSON, as PyTorch's profiler (Kineto), viztracer, JAX and others write it.

Source: Trace Event Format (Google, 2016). Times are us, with a fraction; here they are whole ns.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from zlib import crc32

from vtrace.console import some
from vtrace.errors import FormatError
from vtrace.transform.recordings.json_stream import JsonStream
from vtrace.transform.recordings.recording import LANE, STREAM, THREAD, Activity, Recording, Remark, Track

_DEVICE_KINDS = {
    "kernel": "kernel",
    "gpu_memcpy": "transfer",
    "gpu_memset": "transfer",
    "gpu_user_annotation": "function",
}
"""Kineto's categories of what a device does, whose pid is the number of the device, and their kinds of activities."""
_DEVICE_RANGE = "gpu_user_annotation"
_HOST_APIS = ("cuda_runtime", "cuda_driver")
NO_PLACE = "flows without an interval"
_FLOW_BITS = 40
"""Of the id of a flow; above are the numbers of its category and of the file."""
_NAMES = {"N": "objects", "O": "objects", "D": "objects", "P": "samples"}
"""What no archive has, by phase."""
_KEPT = ("baseTimeNanoseconds", "distributedInfo", "host_name", "deviceProperties", "viztracer_metadata")
"""The members of a file beside its events that are read."""
_MOST_TIME = 2**62


def read_chrome(path: Path, advance: Callable[[int], None]) -> Recording:
    """Reads a whole file, also with gzip. advance: is told the bytes read. Raises VtraceError."""
    recording = Recording(path)
    about: dict[str, Any] = {}
    with JsonStream(path, advance) as stream:
        events = _Events(recording)
        if stream.peek() == "[":
            events.read(stream)
        else:
            for name in stream.members():
                if name == "traceEvents":
                    events.read(stream)
                else:
                    value = stream.value()
                    if name in _KEPT:
                        about[name] = value
            if not events.seen:
                raise FormatError(f"{path}: no member traceEvents", "expected: a trace in Chrome's JSON")
        if stream.cut:
            recording.notes.append(f"{path.name} ends early: {some(events.seen, 'event')} before it")
    events.finish()
    _describe(recording, about)
    return recording


def _describe(recording: Recording, about: dict[str, Any]) -> None:
    """Sets the clock, host and rank by the members beside the events."""
    base = about.get("baseTimeNanoseconds")
    metadata = about.get("viztracer_metadata")
    if isinstance(metadata, dict):
        base = metadata.get("baseTimeNanoseconds", base)
    recording.since = base if isinstance(base, int) and 0 <= base < _MOST_TIME else None
    recording.host = str(about.get("host_name") or "")
    job = about.get("distributedInfo")
    if isinstance(job, dict) and isinstance(job.get("rank"), int) and job["rank"] >= 0:
        recording.rank = job["rank"]
    devices = str(about.get("deviceProperties") or "")
    if any(word in devices for word in ("AMD", "Radeon", "gfx")):  # PyTorch's categories say cuda on AMD's devices, too
        recording.activities = {
            one._replace(api="HIP") if one.api == "CUDA" else one: number
            for one, number in recording.activities.items()
        }
        for track in recording.tracks.values():
            if track.kind == STREAM:
                track.tid = str(track.tid).replace("CUDA", "HIP")


def nanoseconds(value: Any) -> int:
    """A time in us, a whole number or a text, as ns. Raises ValueError."""
    if type(value) is int:
        found = value * 1000
    elif not isinstance(value, str):
        raise ValueError
    else:
        whole, _, part = value.partition(".")
        if len(part) <= 3 and whole.isdecimal() and (part.isdecimal() or not part):
            found = int(whole) * 1000 + int((part + "000")[:3])
        else:
            try:
                found = round(Decimal(value) * 1000)
            except (InvalidOperation, OverflowError):
                raise ValueError from None
    if not -_MOST_TIME < found < _MOST_TIME:
        raise ValueError
    return found


def _flow_number(key: Any) -> int:
    """A number above 0 of the id of a flow: an integer, also as text (0x1f), or anything else."""
    try:
        number = key if type(key) is int else int(key, 0)
    except (TypeError, ValueError):
        number = crc32(str(key).encode())
    return number % ((1 << _FLOW_BITS) - 1) + 1


class _Events:
    """Adds events to a recording, by their phase."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.seen = 0
        self._open: defaultdict[tuple[Track, str], list[tuple[int, int]]] = defaultdict(list)
        """Begins and activities of intervals without an end, by track, and by the id of those that do not nest."""
        self._threads: dict[tuple[str, str], str] = {}
        """Names by pid and tid, as texts."""
        self._activities: dict[tuple[Any, Any], int] = {}
        self._kinds: dict[tuple[Any, Any], int] = {}
        """Numbers of the kinds of flows, by category and name."""
        self._flows: defaultdict[tuple[Any, Any], tuple[array[int], array[int]]] = defaultdict(
            lambda: (array("q"), array("q"))
        )
        """Times and numbers of the ends of flows (Track.flow), by pid and tid."""
        self._streams: dict[tuple[Any, Any], Track] = {}
        self._phases: dict[Any, Callable[[dict[str, Any]], None]] = {
            "X": self._complete, "B": self._begin, "E": self._end, "b": self._begin, "e": self._end, "S": self._begin,
            "F": self._end, "i": self._remark, "I": self._remark, "R": self._remark, "n": self._remark,
            "C": self._count, "M": self._name, "s": self._flow, "t": self._flow, "f": self._flow,
        }  # fmt: skip

    def read(self, stream: JsonStream) -> None:
        """Raises FormatError for an event without a needed value."""
        phases, left_out = self._phases, self._recording.left_out
        for event in stream.items():
            self.seen += 1
            try:
                phase = event["ph"]
                known = phases.get(phase)
                if known is not None:
                    known(event)
                else:
                    left_out[_NAMES.get(phase, "events of other phases")] += 1
            except (KeyError, TypeError, ValueError, AttributeError):
                text = f"{stream.path}: event {self.seen} lacks a name, phase or time, or has a wrong one"
                raise FormatError(text, "expected: an event of Chrome's JSON") from None

    def finish(self) -> None:
        """Names the tracks. Intervals without an end have the end of their track."""
        missing = 0
        for (track, _), begins in self._open.items():
            for begin, activity in begins:
                track.add(begin, max([begin, *track.end[-1:]]), activity)
                missing += 1
        if missing:
            self._recording.notes.append(f"{self._recording.path.name}: {some(missing, 'interval')} without an end")
        tracks = self._recording.tracks
        for (pid, tid), (times, numbers) in self._flows.items():
            place = (
                self._streams.get((pid, tid))
                or tracks.get((THREAD, pid, tid))
                or tracks.get((LANE, str(pid), str(tid)))
            )
            if place:
                place.flow_time, place.flow = times, numbers
            else:
                self._recording.left_out[NO_PLACE] += len(numbers)
        for track in tracks.values():
            track.name = track.name or self._threads.get((str(track.pid), str(track.tid)), "")

    def _activity(self, event: dict[str, Any]) -> int:
        key = event["name"], event.get("cat", "")
        known = self._activities.get(key)
        if known is None:
            name, category = str(key[0]), str(key[1])
            made = Activity.of_python(name, category)
            if category in (*_HOST_APIS, *_DEVICE_KINDS) and category != _DEVICE_RANGE:
                made = Activity(name, category, kind=_DEVICE_KINDS.get(category, "function"), api="CUDA")
            known = self._activities[key] = self._recording.activity(made)
        return known

    def _track(self, event: dict[str, Any]) -> Track:
        pid, tid = event.get("pid", 0), event.get("tid", 0)
        if event["ph"] in "beSFn":
            return self._recording.track(LANE, pid, str(event.get("cat", "")) or "Asynchronous")
        if event.get("cat") in _DEVICE_KINDS:
            about = event.get("args") or {}
            found = self._recording.track(STREAM, "", f"CUDA[{about.get('device', pid)}:{about.get('stream', tid)}]")
            self._streams[pid, tid] = found
            return found
        if type(pid) is int:
            return self._recording.track(THREAD, pid, tid)
        return self._recording.track(LANE, str(pid), str(tid))

    def _complete(self, event: dict[str, Any]) -> None:
        begin, lasts = nanoseconds(event["ts"]), nanoseconds(event.get("dur", 0))
        if lasts < 0:
            raise ValueError
        track = self._track(event)
        size = (event.get("args") or {}).get("bytes") if track.kind == STREAM else 0
        track.add(begin, begin + lasts, self._activity(event), size if isinstance(size, int) else 0)

    def _begin(self, event: dict[str, Any]) -> None:
        key = self._track(event), str(event.get("id", ""))
        self._open[key].append((nanoseconds(event["ts"]), self._activity(event)))

    def _end(self, event: dict[str, Any]) -> None:
        track, end = self._track(event), nanoseconds(event["ts"])
        begins = self._open[track, str(event.get("id", ""))]
        if not begins:
            self._recording.left_out["ends without a begin"] += 1
            return
        begin, activity = begins.pop()
        track.add(begin, max(begin, end), activity)

    def _flow(self, event: dict[str, Any]) -> None:
        if "id" not in event or "name" not in event:
            self._recording.left_out["flows without an id or a name"] += 1
            return
        kind = self._kinds.setdefault((event.get("cat", ""), event["name"]), len(self._kinds))
        flow = kind << _FLOW_BITS | _flow_number(event["id"])
        times, numbers = self._flows[event.get("pid", 0), event.get("tid", 0)]
        times.append(nanoseconds(event["ts"]))
        numbers.append(-flow if event["ph"] == "f" and event.get("bp") != "e" else flow)

    def _remark(self, event: dict[str, Any]) -> None:
        pid, of_thread = event.get("pid", 0), event.get("s", "t") == "t" and event["ph"] in "iI"
        track = self._track(event) if of_thread and type(event.get("pid")) is int else None
        text, category = str(event["name"]), str(event.get("cat", "")) or "remark"
        self._recording.remarks.append(Remark(nanoseconds(event["ts"]), category, text, pid, track))

    def _count(self, event: dict[str, Any]) -> None:
        name, values, time = str(event["name"]), event.get("args") or {}, nanoseconds(event["ts"])
        for series, value in values.items():
            label = name if len(values) == 1 else f"{name}.{series}"
            self._recording.value(event.get("pid", 0), label, time, float(value))

    def _name(self, event: dict[str, Any]) -> None:
        what, name = event["name"], (event.get("args") or {}).get("name")
        if name and what == "process_name":
            self._recording.processes[event.get("pid", 0)] = str(name)
        elif name and what == "thread_name":
            self._threads[str(event.get("pid", 0)), str(event.get("tid", 0))] = str(name)
