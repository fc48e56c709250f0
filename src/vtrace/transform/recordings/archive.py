# SPDX-License-Identifier: BSD-3-Clause
"""Writes recordings of other tools into a new archive: a rank each if each has one process, else all processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path

import _otf2
import numpy as np

from vtrace import __version__
from vtrace.analysis.questions.device_activities import BYTES
from vtrace.analysis.questions.links import FLOW
from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.io.archive.definitions import (
    PARADIGM_MPI,
    UNDEFINED_TIME,
    Attribute,
    Definitions,
    Group,
    Location,
    LocationGroup,
    Marker,
    Metric,
    MetricClass,
    Region,
    SystemNode,
)
from vtrace.io.archive.properties import LANE as LANE_PROPERTY
from vtrace.io.archive.properties import PID, PROPERTY, TID
from vtrace.io.archive.writer import Archive
from vtrace.io.common.arrays import Array
from vtrace.transform.event_columns import write_calls, write_values
from vtrace.transform.imported_lanes import ImportedLocation, assign_lanes
from vtrace.transform.new_archive import new_archive
from vtrace.transform.recordings.chrome_events import NO_PLACE
from vtrace.transform.recordings.recording import LANE, STREAM, THREAD, Activity, Key, Recording, Track, Values

_SIZE, _FLOW = range(2)
"""OTF2's ids of the attributes."""
_FILE_BITS = 48
"""Below the number of the file in the number of a flow."""
_ROLES = {"function": "FUNCTION", "kernel": "KERNEL", "transfer": "DATA_TRANSFER"}


@dataclass(kw_only=True)
class NewArchive:
    """A finished import. notes: lines for the user."""

    path: Path
    processes: int
    locations: int
    intervals: int
    notes: list[str] = field(default_factory=list)


def write_recordings(recordings: Sequence[Recording], output: Path, console: Console) -> NewArchive:
    """Writes an archive with all recordings into the new directory output. Raises VtraceError."""
    recordings, ranked = _by_rank(recordings)
    spans = [recording.span() for recording in recordings]
    shifts, since, notes = _clocks(recordings, [begin for begin, _ in spans])
    first = min(span[0] + shift for span, shift in zip(spans, shifts, strict=True))
    last = max(span[1] + shift for span, shift in zip(spans, shifts, strict=True))
    maker = _Maker(first, last, since, ranked)
    total = sum(recording.intervals for recording in recordings)
    with console.steps("intervals", total, "intervals") as advance, new_archive(output) as archive:
        for recording, shift in zip(recordings, shifts, strict=True):
            for count in maker.write(archive, recording, shift - first):
                advance(count)
        made = maker.finished(recordings)
        archive.finish(made, maker.markers)
    notes += [note for recording in recordings for note in [*recording.notes, *left_out(recording)]]
    processes = sum(group.type == "PROCESS" for group in made.groups)
    return NewArchive(path=output, processes=processes, locations=len(made.locations), intervals=total, notes=notes)


def left_out(recording: Recording) -> Iterator[str]:
    """A line about what an archive cannot have."""
    if left := +recording.left_out:
        words = [f"{what} ({count:,})" for what, count in sorted(left.items())]
        yield f"{recording.path.name}: left out: {', '.join(words)}"


def _by_rank(recordings: Sequence[Recording]) -> tuple[list[Recording], bool]:
    """The recordings in the order of ranks, and whether each is a rank: their own, or their places in the command."""
    if len(recordings) == 1 or any(len(one.owners()) != 1 or not one.intervals for one in recordings):
        return [*recordings], False
    known = sorted((recording.rank, n) for n, recording in enumerate(recordings) if recording.rank is not None)
    if [rank for rank, _ in known] == [*range(len(recordings))]:
        return [recordings[n] for _, n in known], True
    return [*recordings], True


def _clocks(recordings: Sequence[Recording], begins: Sequence[int]) -> tuple[list[int], int | None, list[str]]:
    """What is added to the times of each recording, the real time of the sums' zero (None: unknown), and notes. begins:
    the first time of each recording."""
    known = [one.since + begin for one, begin in zip(recordings, begins, strict=True) if one.since is not None]
    if not known:
        note = "no file says when it was recorded: their times are taken as those of one clock"
        return [0] * len(recordings), None, [note] if len(recordings) > 1 else []
    notes, shifts = [], []
    for recording, begin in zip(recordings, begins, strict=True):
        shifts.append(min(known) - begin if recording.since is None else recording.since)
        if recording.since is None:
            notes.append(f"{recording.path.name} does not say when it was recorded: it begins with the others")
    if len(hosts := {recording.host for recording in recordings if recording.host}) > 1:
        notes.append(f"times are those of the real-time clocks of {len(hosts)} hosts, which may differ")
    return shifts, 0, notes


class _Maker:
    """Writes the events of recordings, and collects the definitions."""

    def __init__(self, first: int, last: int, since: int | None, ranked: bool) -> None:
        realtime = UNDEFINED_TIME if since is None else since + first
        self._made = Definitions(creator=f"vtrace {__version__}", length=last - first, realtime=realtime)
        self._made.nodes.append(SystemNode("recordings of other tools", "machine", None, "MACHINE"))
        self.markers: list[Marker] = []
        self._ranked, self._masters = ranked, list[int]()
        self._hosts: dict[str, int] = {}
        self._devices: dict[tuple[int, str], int] = {}
        """The groups of devices, by process and name."""
        self._regions: dict[Activity, int] = {}
        self._files, self._has_flows = 0, False

    def write(self, archive: Archive, recording: Recording, shift: int) -> Iterator[int]:
        """Writes the events of a recording; yields the numbers of intervals written."""
        regions = np.array([self._region(activity) for activity in recording.activities], np.uint32)
        owners = recording.owners()
        groups = {pid: self._process(recording, pid) for pid in owners}
        firsts: dict[Track, int] = {}
        threads = [track for track in recording.tracks.values() if track.kind == THREAD and track.begin]
        others = [track for track in recording.tracks.values() if track.kind != THREAD and track.begin]
        if self._ranked:
            self._masters.append(len(self._made.locations))
        for track in [*sorted(threads, key=_main_first), *others]:
            firsts[track] = len(self._made.locations)
            group = groups.get(track.pid, groups[owners[0]])
            yield self._write_track(archive, recording, track, group, regions=regions, shift=shift)
        for counter in recording.counters.values():
            self._write_counter(archive, counter, groups.get(counter.pid, groups[owners[0]]), shift)
        for remark in recording.remarks:
            group, place = groups.get(remark.pid, groups[owners[0]]), firsts.get(remark.track) if remark.track else None
            about = (group, "LOCATION_GROUP") if place is None else (place, "LOCATION")
            text = Marker(remark.time + shift, remark.category, remark.text, about[0], "user", "NONE", scope=about[1])
            self.markers.append(text)
        self._files += 1

    def _write_track(
        self, archive: Archive, recording: Recording, track: Track, group: int, *, regions: Array, shift: int
    ) -> int:  # fmt: skip
        begin, end, activity, sizes = track.take()
        values = {} if sizes is None else {_SIZE: sizes}
        if track.flow:
            flows, left = track.flows_of(begin, end)
            values[_FLOW] = np.where(flows, flows | np.uint64(self._files << _FILE_BITS), np.uint64(0))
            self._has_flows, recording.left_out[NO_PLACE] = True, recording.left_out[NO_PLACE] + left
        rows = np.arange(len(begin), dtype=np.uint32) if values else activity
        refs = regions[activity] if values else regions
        begin += shift
        end += shift
        tid = track.tid if isinstance(track.tid, int) and track.tid >= 0 else -1
        title = (track.name or f"Thread {track.tid}") if track.kind == THREAD else str(track.tid)
        owner = ImportedLocation("thread" if track.kind == THREAD else "process", group, tid, title)
        if is_stream := track.kind == STREAM:
            group = self._device(group, title.partition(":")[0] + "]")
        for number, lane in enumerate(assign_lanes(owner, begin, end, rows, (), str(track.pid))):
            properties: dict[str, int | str] = {TID: tid} if tid >= 0 else {}
            if number or track.kind == LANE:
                properties[LANE_PROPERTY] = owner.scope
            kind = "ACCELERATOR_STREAM" if is_stream else "CPU_THREAD"
            of_lane = {attribute: each[lane.name] for attribute, each in values.items()}
            place = len(self._made.locations)
            write_calls(archive, place, lane.begin, lane.end, refs=refs[lane.name], values=of_lane)
            self._made.locations.append(Location(lane.title, group, kind, properties=properties))
        return len(begin)

    def _write_counter(self, archive: Archive, counter: Values, group: int, shift: int) -> None:
        values = np.frombuffer(counter.values, np.float64)
        whole = bool(np.all((values == np.trunc(values)) & (np.abs(values) < 2**53)))
        metric = Metric(name=counter.name, value_type="i" if whole else "f")
        self._made.metrics.append(metric)
        self._made.metric_classes.append(MetricClass([len(self._made.metrics) - 1], threads=False))
        times = np.frombuffer(counter.times, np.int64) + shift
        place, column = len(self._made.locations), values.astype(np.int64) if whole else values
        write_values(archive, place, times, [column], metric=len(self._made.metric_classes) - 1)
        self._made.locations.append(Location(counter.name, group, "METRIC", properties={LANE_PROPERTY: "process"}))

    def _region(self, activity: Activity) -> int:
        number = self._regions.setdefault(activity, len(self._regions))
        if number == len(self._made.regions):
            role = getattr(_otf2, f"REGION_ROLE_{_ROLES[activity.kind]}").value
            paradigm = getattr(_otf2, f"PARADIGM_{activity.api}").value
            self._made.regions.append(Region(
                name=activity.name, canonical=activity.name, description=activity.category, role=role,
                paradigm=paradigm, file=activity.file or None, line=activity.line,
            ))  # fmt: skip
        return number

    def _process(self, recording: Recording, pid: Key) -> int:
        """The number of a new process."""
        made = self._made
        host = recording.host or "host"
        if host not in self._hosts:
            self._hosts[host] = len(made.nodes)
            made.nodes.append(SystemNode(host, "node", 0, "SHARED_MEMORY"))
        name = " ".join(dict.fromkeys([recording.processes.get(pid, "process"), str(pid)]))
        if self._ranked:
            name = f"Rank {len(self._masters)}"
        properties = {PID: str(pid)} if isinstance(pid, int) and pid >= 0 else {}
        made.groups.append(LocationGroup(name, self._hosts[host], properties=properties))
        return len(made.groups) - 1

    def _device(self, process: int, name: str) -> int:
        """The number of the group of a device of a process."""
        groups = self._made.groups
        number = self._devices.setdefault((process, name), len(groups))
        if number == len(groups):
            owner = groups[process]
            groups.append(LocationGroup(f"{owner.name}: {name}", owner.node, process, type="ACCELERATOR"))
        return number

    def finished(self, recordings: Sequence[Recording]) -> Definitions:
        """The definitions of all that was written."""
        attributes = [(BYTES, "bytes that a device copies or fills")]
        attributes += [(FLOW, "number of a flow, whose intervals are linked")] if self._has_flows else []
        self._made.attributes += [Attribute(name, text, _otf2.TYPE_UINT64.value) for name, text in attributes]
        if self._ranked:
            self._made.comm_groups.append(Group("COMM_LOCATIONS", PARADIGM_MPI, members=self._masters))
        imported = [
            {"file": recording.path.name, "digest": digest_of(recording.path), "host": recording.host or None}
            for recording in recordings
        ]
        self._made.properties[PROPERTY + "IMPORTED"] = json.dumps(imported)
        return self._made


def _main_first(track: Track) -> bool:
    """The main thread of a process, whose id is that of the process, sorts before the others."""
    return track.tid != track.pid


def digest_of(path: Path) -> str:
    """SHA-256 of a file. Raises VtraceError."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
