# SPDX-License-Identifier: BSD-3-Clause
"""Traces for Perfetto's user interface (perfetto.dev/docs/reference/trace-packet-proto), encoded in bulk.

All packets belong to one sequence, so that each name is written once. Each process and location is a track with a small
number.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from vtrace.analysis.definition_tables import has_line
from vtrace.analysis.ledger import UNKNOWN
from vtrace.analysis.questions.calls import Calls, lanes
from vtrace.analysis.questions.collectives import op_name
from vtrace.analysis.questions.counters import READ
from vtrace.analysis.questions.metrics import heap_metrics
from vtrace.analysis.questions.timeline_data import Shown, label, process_names, used_regions
from vtrace.analysis.table import Array, Table, group
from vtrace.export import protobuf as pb
from vtrace.export.perfetto_calls import CallWriter, PacketNumbers, counter_packets
from vtrace.export.perfetto_samples import SampleWriter
from vtrace.io.archive.reader_abi import SLICE
from vtrace.io.common.outfile import MARKS, complete

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SEQUENCE = pb.field(10, 1)  # TracePacket.trusted_packet_sequence_id
_CLEARED = pb.field(13, 1)  # sequence_flags: discards the earlier state
_EXPLICIT = pb.field(11, 3)  # TrackDescriptor.child_ordering: by sibling_order_rank


def _packet(*fields: bytes) -> bytes:
    return pb.field(1, b"".join((*fields, _SEQUENCE)))


class _Tracks:
    """Descriptors of tracks, numbered from 1 in the order of their creation."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []

    def add(self, name: str, *fields: bytes, parent: int = 0) -> int:
        number = len(self.packets) + 1
        about = [pb.field(1, number), pb.field(2, name) if name else b"", *fields]
        about += [pb.field(5, parent)] if parent else []
        about.append(pb.field(12, number))  # sibling_order_rank
        self.packets.append(_packet(pb.field(60, b"".join(about))))
        return number

    def counter(self, name: str, unit: str, parent: int) -> int:
        about = pb.field(3, 3) if unit == "bytes" else pb.field(6, unit) if unit else b""
        return self.add(name, pb.field(8, about), parent=parent)


def write(shown: Shown, path: Path) -> None:
    """Writes a timeline. The file appears when it is complete, or not at all."""
    with complete(path, "wb") as file:
        _Writer(shown, file).write()


class _Writer:
    def __init__(self, shown: Shown, file: IO[bytes]) -> None:
        self.shown, self.trace, self.file = shown, shown.trace, file
        self.tracks = _Tracks()
        self.process_track: dict[int, int] = {}
        self.location_track = np.zeros(self.trace.locations.rows, np.int64)
        self.thread_numbers: dict[int, tuple[int, int]] = {}
        """By location: the numbers of its process and its thread in Perfetto."""

    def write(self) -> None:
        shown = self.shown
        self.places()
        missing = self.missing()
        bulk = [*self.counters(), *self.heap(), *self.moved()]
        ops, wide = self.collectives()
        names = _Names(self.trace, shown.calls, ops)
        most = max(shown.window.ends(self.trace)[1], int(shown.calls.time.max(initial=0)), 1)
        numbers = PacketNumbers(
            pb.width(most), pb.width(len(self.tracks.packets) + len(shown.collectives) + 9), names.width
        )
        markers = self.markers()
        self.file.write(names.packet())
        self.file.writelines(self.tracks.packets)
        writer = CallWriter(
            shown.trace,
            numbers,
            names=names.of_region,
            sources=names.source_of_region,
            categories=names.category_of_region,
        )
        for part in writer.packets(shown.calls, self.location_track, shown.messages, shown.waits):
            self.file.write(part)
        for calls, tracks in wide:
            regions = CallWriter(
                shown.trace, numbers, names=names.of_op, sources=np.zeros_like(names.of_op), categories=names.collective
            )
            for part in regions.packets(calls, tracks, None):
                self.file.write(part)
        for track, times, values in bulk:
            self.file.write(counter_packets(numbers, track, times, values))
        self.file.writelines(missing)
        self.file.writelines(markers)
        self.samples()

    def places(self) -> None:
        """Makes the tracks of processes and threads.

        Perfetto shows names with numbers: MPI Rank 0 is process 0 of name MPI Rank. Perfetto sorts the threads of a
        process by their numbers, and takes the thread with the process's number for the main thread: so all threads
        have larger numbers, ascending from the master thread on.
        """
        trace, names = self.trace, process_names(self.trace)
        sizes = np.bincount(trace.places.process[trace.places.process >= 0], minlength=1)
        scale = 10 ** len(str(int(sizes.max())))
        met: dict[int, int] = {}
        calling = set(self.shown.window.rows(trace))
        inside = self.shown.window.locations
        for row in range(trace.locations.rows) if inside is None else inside:
            process = int(trace.places.process[row])
            if process not in self.process_track:
                about = pb.field(1, process) + pb.field(6, _without_number(names[process], process))
                self.process_track[process] = self.tracks.add("", pb.field(3, about), _EXPLICIT)
            if row not in calling:
                continue
            number = met[process] = met.get(process, -1) + 1
            name = pb.field(5, str(trace.locations["name"][row]))
            self.thread_numbers[row] = process, (process + 1) * scale + number
            about = pb.field(1, process) + pb.field(2, (process + 1) * scale + number) + name
            self.location_track[row] = self.tracks.add("", pb.field(4, about), parent=self.parent(row))

    def parent(self, location: int) -> int:
        return self.process_track[int(self.trace.places.process[location])]

    def missing(self) -> list[bytes]:
        """Intervals without recording, on tracks beside the thread: one lane, or several for overlapping intervals."""
        found = []
        for (row,), rows in _by(self.shown.missing, "location"):
            here = self.shown.missing.take(rows)
            lane = lanes(here["begin"], here["end"])
            parent = int(self.location_track[row])
            tracks = [self.tracks.add("not recorded", parent=parent) for _ in range(int(lane.max()) + 1)]
            for number, gap in zip(lane.tolist(), here.records(), strict=True):
                count = "unknown" if gap["count"] == UNKNOWN else f"{gap['count']:,}"
                said = b"".join(pb.field(4, pb.field(10, name) + pb.field(6, text)) for name, text in (
                    ("class", gap["class"]), ("events", count),
                ))  # fmt: skip
                begin = pb.field(9, 1) + pb.field(11, tracks[number]) + pb.field(22, "not recorded")
                begin += pb.field(23, gap["reason"]) + said
                found.append(_packet(pb.field(8, gap["begin"]), pb.field(11, begin)))
                end = pb.field(9, 2) + pb.field(11, tracks[number])
                found.append(_packet(pb.field(8, gap["end"]), pb.field(11, end)))
        return found

    def counters(self) -> list[tuple[int, Array, Array]]:
        """A track for each counter of each location."""
        values, metrics = self.shown.counters, self.trace.metric_members
        values = values.take(
            (values["metric"] >= 0) & ~np.isin(values["metric"], list(heap_metrics(self.trace).values()))
        )
        found = []
        for (location, metric), rows in _by(values, "location", "metric"):
            unit = str(metrics["unit"][metric])
            track = self.tracks.counter(str(metrics["name"][metric]), unit, self.parent(location))
            found.append((track, values["time"][rows], values["value"][rows]))
        return found

    def heap(self) -> list[tuple[int, Array, Array]]:
        known = heap_metrics(self.trace)
        values = self.shown.counters.take(np.isin(self.shown.counters["metric"], list(known.values())))
        names = {row: ("heap", "bytes") if n == "Host Memory" else ("heap blocks", "") for n, row in known.items()}
        process = self.trace.places.process[values["location"]]
        values = Table({"process": process, **values})
        values = values.take(np.argsort(values["time"], kind="stable"))
        found = []
        for (row, metric), rows in _by(values, "process", "metric"):
            track = self.tracks.counter(*names[metric], parent=self.process_track[row])
            found.append((track, values["time"][rows], values["value"][rows]))
        return found

    def moved(self) -> list[tuple[int, Array, Array]]:
        values, paradigms = self.shown.moved, self.trace.io_paradigms["name"]
        found = []
        for (location, paradigm, mode), rows in _by(values, "location", "paradigm", "mode"):
            what = f"{'read' if mode == READ else 'written'} by {paradigms[paradigm] if paradigm >= 0 else 'I/O'}"
            times, sums = values["time"][rows], values["bytes"][rows].astype(np.float64)
            track = self.tracks.counter(what, "bytes", self.parent(location))
            found.append((track, times, sums))
        return found

    def collectives(self) -> tuple[list[int], list[tuple[Calls, Array]]]:
        """Makes a track for each communicator, with lanes for operations that overlap. Returns the operations and the
        calls."""
        table = self.shown.collectives
        if not table.rows:
            return [], []
        group_track = self.tracks.add("Collective operations", _EXPLICIT)
        start, stop = self.shown.window.ends(self.trace)
        ops = sorted(set(table["op"].tolist()))
        parts: list[tuple[int, Array]] = []
        tracks: list[int] = []
        for comm in np.unique(table["comm"]).tolist():
            here = table.take(table["comm"] == comm).order("begin", descending=False)
            name = str(self.trace.comms["name"][comm]) if comm >= 0 else ""
            lane = lanes(here["begin"], here["end"])
            for number in range(int(lane.max()) + 1):
                rows = here.take(lane == number)
                calls = np.zeros(rows.rows, SLICE)
                calls["calls"] = 1
                calls["begin"], calls["end"] = np.clip(rows["begin"], start, stop), np.clip(rows["end"], start, stop)
                calls["region"] = np.searchsorted(ops, rows["op"])
                parts.append((len(tracks), calls))
                tracks.append(self.tracks.add(name or f"communicator {comm}", parent=group_track))
        return ops, [(Calls(parts), np.array(tracks))]

    def samples(self) -> None:
        stacks = {row: found for row, found in self.shown.stacks.items() if row in self.thread_numbers}
        if not stacks:
            return
        writer = SampleWriter(self.trace, stacks)
        self.file.write(_packet(pb.field(12, writer.interned())))
        for row, found in stacks.items():
            self.file.writelines(writer.packets(found, *self.thread_numbers[row]))

    def markers(self) -> list[bytes]:
        """Markers as instants on the track of their scope; markers of the whole run have a track of their own."""
        found, own = [], 0
        start, stop = self.shown.window.ends(self.trace)
        ids = self.trace.definitions.ids
        for row in self.trace.markers().records():
            if not start <= row["time"] <= stop:
                continue
            track = 0
            if row["scope"] == "LOCATION":
                at = int(ids["locations"].rows(np.array([row["scope_id"]], np.uint64))[0])
                track = int(self.location_track[at]) if at >= 0 else 0
            elif row["scope"] == "LOCATION_GROUP":
                at = int(ids["groups"].rows(np.array([row["scope_id"]], np.uint64))[0])
                process = np.flatnonzero(self.trace.processes["group"] == at)
                track = self.process_track.get(int(process[0]), 0) if len(process) else 0
            if not track:
                own = track = own or self.tracks.add("Markers")
            text = f"{row['category'] or row['group']}: {row['text']}".strip(": ")
            event = pb.field(9, 3) + pb.field(11, track) + pb.field(22, "marker") + pb.field(23, text)
            found.append(_packet(pb.field(8, row["time"]), pb.field(11, event)))
        return found


class _Names:
    """The names of a sequence, each written once: regions, collective operations, categories, source lines."""

    def __init__(self, trace: Source, calls: Calls, ops: list[int]) -> None:
        regions, used = trace.regions, used_regions(calls)
        self.of_region = np.zeros(regions.rows, np.int64)
        self.of_region[used] = np.arange(1, len(used) + 1)
        self.of_op = len(used) + 1 + np.arange(max(1, len(ops)))
        self.width = pb.width(len(used) + len(ops) + 1)
        self.category_of_region = regions["class"].astype(np.int64) + 1
        self.collective = np.full(len(self.of_op), len(regions.classes) + 1)
        known = has_line(regions["line"]) & (regions["file"] != "")
        self.source_of_region = np.where(known, self.of_region, 0)
        names = [(self.of_region[row], label(str(regions["name"][row]))) for row in used]
        names += [(number, op_name(op).capitalize()) for number, op in zip(self.of_op.tolist(), ops, strict=False)]
        self._names = b"".join(pb.field(2, _entry(number, name)) for number, name in names)
        categories = enumerate([*regions.classes, "collective"], 1)
        self._categories = b"".join(pb.field(1, _entry(number, name)) for number, name in categories)
        self._sources = b"".join(
            pb.field(4, _entry(self.of_region[row], str(regions["file"][row])) + pb.field(4, int(regions["line"][row])))
            for row in used if known[row]
        )  # fmt: skip
        words = enumerate([*CallWriter.ANNOTATIONS, MARKS["pftrace"].decode()], 1)  # no call has the mark
        self._annotations = b"".join(pb.field(3, _entry(number, name)) for number, name in reversed([*words]))

    def packet(self) -> bytes:
        return _packet(pb.field(12, self._annotations + self._categories + self._names + self._sources), _CLEARED)


def _entry(number: int, name: str) -> bytes:
    return pb.field(1, int(number)) + pb.field(2, name)


def _without_number(name: str, process: int) -> str:
    """The name of a process for Perfetto, which appends the number: MPI Rank 1 (solver) on node2 -> solver on node2:
    MPI Rank."""
    found = re.fullmatch(rf"(.*) {process}(?: \((.*?)\))?(?: on (.*))?", name)
    if not found:
        return name
    where = " on ".join(filter(None, found.groups()[1:]))
    return f"{where}: {found[1]}" if where else found[1]


def _by(table: Table, *keys: str) -> list[tuple[tuple[int, ...], Array]]:
    """The rows of each combination of values in some columns."""
    if not table.rows:
        return []
    first, member = group([table[key] for key in keys])
    order = np.argsort(member, kind="stable")
    ends = np.flatnonzero(np.diff(member[order], append=-1)) + 1
    rows = np.split(order, ends[:-1])
    return [(tuple(int(table[key][at]) for key in keys), part) for at, part in zip(first, rows, strict=True)]
