# SPDX-License-Identifier: BSD-3-Clause
"""The source of batches: an OTF2 archive of any tool, with its definitions as tables. It reads no events."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.analysis import definition_tables as d
from vtrace.analysis.activity import marks
from vtrace.analysis.contexts import context_paths
from vtrace.analysis.ledger import Ledger, caveats, read_ledger
from vtrace.analysis.loops import Loops
from vtrace.analysis.places import Places
from vtrace.analysis.recorded_profile import RecordedProfile
from vtrace.analysis.table import Array, Table, caveats_html, texts
from vtrace.errors import VtraceError
from vtrace.io.archive.markers import read_markers
from vtrace.io.archive.packed_reader import EventReader, event_reader
from vtrace.io.archive.properties import PROPERTY
from vtrace.io.archive.reader import Reader
from vtrace.io.archive.reader_abi import LATEST
from vtrace.io.common.arrays import distinct
from vtrace.io.packed.opened import anchor_of, packed_of
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.samples_archive import open_with_samples
from vtrace.parallel.ranks import ALONE, Ranks
from vtrace.reasons import AS_PROFILE, RECORD_EVENTS
from vtrace.text import html_text

_COVERAGE = {
    "RECORDED_NS": ("seconds", 1e9), "OFF_NS": ("off", 1e9), "FLUSHED_NS": ("flushing", 1e9), "LOST": ("lost", 1),
    "CLAMPED": ("clamped", 1), "STOPPED": ("limit", 1), "DIED": ("died", 1),
    "DROPPED": ("dropped", 1), "UNKNOWN": ("unknown", 1), "USER_NS": ("user", 1e9), "SYSTEM_NS": ("system", 1e9),
    "MINOR_FAULTS": ("minor_faults", 1), "MAJOR_FAULTS": ("major_faults", 1), "IN_CALLS_NS": ("in_calls", 1e9),
    "RESIDENT_PAGES": ("resident", 1),
}  # fmt: skip
"""Properties of locations, and their columns."""
_OTF2_BYTES = 10
"""About the bytes of an event."""
CALLS = "number of calls that found nothing, recorded as one"


class Source:
    """An archive: its definitions, and what was not recorded. Times are int64, in ns since the archive's start.

    Tables (docs/python-api.md): locations, groups, regions, comms, windows, nodes, files, io_handles, io_paradigms,
    metric_members, metric_classes, attributes, parameters, comm_groups, topologies, coordinates, and
    location_properties, group_properties, node_properties. A reference to another definition is a row of that
    table, -1 for none.
    """

    def __init__(self, anchor: Path) -> None:
        self.path = anchor
        """The anchor file that the user names, or the packed archive."""
        outer = anchor_of(anchor)
        self.archive = anchor if outer != anchor else anchor.parent
        """The archive's directory, or the packed archive."""
        self.folder = outer.parent
        """The directory with the archive's folder of tables; of a packed archive a temporary one."""
        self._written = _state(anchor)
        self._caveats: dict[Any, list[str]] = {}
        self.ranks: Ranks = ALONE
        """Ranks that share the passes; see vtrace.analysis.shared_scan."""
        self.threads: int | None = None
        """The most reading threads on each rank; None: one per core."""
        self.progress: Callable[[int], AbstractContextManager[Callable[[int], object]]] | None = None
        """Shows how far a pass over the events is: gets the number of events; its context gives the function to call
        with the events read since its last call."""
        self.anchor, info, definitions = open_with_samples(outer)
        """anchor: of the archive with the events: path, or the archive with samples inside its directory, or the
        definitions of a packed archive."""
        self._folder = str(self.anchor.with_suffix(""))
        events = info.vtrace.get("EVENTS")  # other tools do not record this property
        self.definitions = d.build(definitions, not isinstance(events, dict) or "BufferFlush" in events)
        self.creator, self.machine, self.properties, self.vtrace = info.creator, info.machine, info.texts, info.vtrace
        """properties: of the archive, by name. vtrace: properties that vtunify wrote about the run, by name (ABOUT,
        SETTINGS, EVENTS, COVERAGE ...); empty for other tools' archives."""
        self.resolution, self.offset, length, self.start = self.definitions.clock
        """resolution: ticks a second of the file; start: ns since the epoch, None if unknown."""
        self.duration = min(length * 10**9 // self.resolution, LATEST)
        """From the start to the end, ns, by the archive's clock properties."""
        self.problems: list[str] = list(info.problems)
        """One line for each damaged part of the archive's description, and for each damaged location that a pass has
        read."""
        if length * 10**9 // self.resolution > LATEST:
            file = self.anchor.with_suffix(".def")
            self.problems.append(f"{file}: the clock properties are damaged: {length} ticks long")

    @property
    def is_replaced(self) -> bool:
        """The anchor file is not the one that was opened: another archive has its name, or none."""
        return _state(self.path) != self._written

    def __getattr__(self, name: str) -> Table:
        tables: dict[str, Table] = self.__dict__["definitions"].tables if "definitions" in self.__dict__ else {}
        if name in tables:
            return tables[name]
        raise AttributeError(f"a Trace has no {name}")

    def reader(self) -> EventReader:
        """Opens the archive again to read events. Raises FormatError."""
        reader = event_reader(self.anchor, self.locations["id"].tolist())
        reader.offset, reader.resolution = self.offset, self.resolution
        reader.calls_attribute = self.calls_attribute
        return reader

    @cached_property
    def calls_attribute(self) -> int | None:
        """OTF2's id of the attribute with the number of calls that a Leave ends, as csrc/mpiwrap/complete.c defines it;
        None: there is none."""
        mine = (self.attributes["name"] == "calls") & (self.attributes["description"] == CALLS)
        found = self.attributes["id"][mine].tolist()
        return int(found[0]) if found else None

    @cached_property
    def recorded_profile(self) -> RecordedProfile | None:
        """The profile of a run with VT_MODE=PROFILE, of which the archive has no events; None: it is no such run."""
        if "PROFILE" not in self.vtrace:
            return None
        return RecordedProfile(self.anchor, self.properties, self.definitions.ids, sidecar.PROFILE)

    @cached_property
    def counted_calls(self) -> RecordedProfile | None:
        """The calls that are not among the events, since they were only counted (VT_BUDGET); None: there are none."""
        if "COUNTED" not in self.vtrace:
            return None
        return RecordedProfile(self.anchor, self.properties, self.definitions.ids, sidecar.COUNTED)

    def need_events(self) -> None:
        """Raises VtraceError for a profile."""
        if self.recorded_profile:
            raise VtraceError(f"{self.path.parent} is {AS_PROFILE}", RECORD_EVENTS)

    @cached_property
    def _is_packed(self) -> bool:
        return packed_of(self.anchor) is not None

    def bytes_of(self, location: int) -> int:
        """The bytes of a location's events in OTF2: the numbers of events in the definitions may be wrong, but not in a
        packed archive, of which this is an estimate."""
        if self._is_packed:
            return _OTF2_BYTES * int(self.locations["events"][location])
        try:
            return os.stat(f"{self._folder}/{self.locations['id'][location]}.evt").st_size
        except OSError:
            return 0

    def ns(self, ticks: Array) -> Array:
        """Times of the file (uint64, ticks) as ns since the archive's start."""
        since = (ticks - np.uint64(self.offset)).astype(np.int64)
        scaled = since if self.resolution == 10**9 else since * (10**9 / self.resolution)
        found: Array = np.clip(scaled, -LATEST, LATEST).astype(np.int64)
        return found

    @cached_property
    def places(self) -> Places:
        """Finds locations by rank and communicator."""
        return Places(self.definitions)

    @cached_property
    def context_paths(self) -> tuple[Array, Array]:
        """The call paths of the calling contexts; see contexts.context_paths."""
        return context_paths(self.contexts["parent"], self.contexts["region"])

    @cached_property
    def loops(self) -> Loops:
        """The loops of sampled functions; none in other tools' archives."""
        return Loops(self.vtrace.get("LOOPS", []), self.definitions.ids["regions"])

    @cached_property
    def marks(self) -> Array:
        """(regions,) uint8: the layers of I/O that calls of each region belong to; see activity.marks."""
        present = distinct(self.io_handles["layer"]).tolist()
        return marks(self.regions["name"].tolist(), self.regions["activity"], present)

    @property
    def processes(self) -> Table:
        """Processes in the order of MPI's ranks, then those without a rank: group, rank (-1: none), name, host."""
        return self.places.processes

    def markers(self) -> Table:
        """The markers of the archive, in the order of the file: time (ns), duration (ns), group, category, severity,
        scope (GLOBAL, LOCATION ...), scope_id (OTF2's id of the scope), text."""
        with Reader(self.anchor) as reader:
            found = read_markers(reader)
        scale, zero = 10**9 / self.resolution, self.offset

        def ns(ticks: int) -> int:
            return int(min(max(ticks * scale, -LATEST), LATEST))

        table = Table(
            {
                "time": np.array([ns(marker.time - zero) for marker in found], np.int64),
                "duration": np.array([ns(marker.duration) for marker in found], np.int64),
                **{name: texts([getattr(m, name) for m in found]) for name in "group category severity scope".split()},
                "scope_id": np.array([marker.scope_id for marker in found], np.uint64),
                "text": texts([marker.text for marker in found]),
            }
        )
        table.notes["caveats"] = self.caveats()
        return table

    def coverage(self) -> Table:
        """The completeness of each location: location, seconds (recorded), off, flushing (seconds), lost, clamped
        (events), limit (1: recording ended early), died (1: its process died), dropped (records overwritten with
        VT_MODE=RING), unknown (1: more events may be lost than the column lost counts), user, system (seconds of CPU
        time of its threads, from their start to their end), minor_faults, major_faults (page faults without and with
        reading from a disk), in_calls (seconds of samples in system calls), resident (the most pages of the process in
        memory, for its first location). Values that the archive lacks, as in other tools' archives, are NaN or -1."""
        return self._coverage

    @cached_property
    def _coverage(self) -> Table:
        rows = self.locations.rows
        found: dict[str, Any] = {name: np.full(rows, np.nan if unit > 1 else -1) for name, unit in _COVERAGE.values()}
        owners, names, values = (self.location_properties[name] for name in ("location", "name", "value"))
        for key, (name, divisor) in _COVERAGE.items():
            mine = np.flatnonzero((owners >= 0) & ((names == PROPERTY + key) | (names == key)))
            for location, value in zip(owners[mine].tolist(), values[mine].tolist(), strict=True):
                if str(value).isdigit():
                    found[name][location] = int(value) / divisor
        return Table({"location": np.arange(rows), **found})

    @cached_property
    def ledger(self) -> Ledger:
        """The intervals without recording; see vtrace.analysis.ledger. Empty for other tools' archives."""
        coverage = self.vtrace.get("COVERAGE", {})
        return read_ledger(
            self.anchor, self.properties, coverage=coverage, ids=self.locations["id"], events=self.locations["events"]
        )

    def not_recorded(
        self, locations: Sequence[int] | None = None, start: int | None = None, stop: int | None = None
    ) -> Ledger:
        """The part of the ledger in a selection. locations: rows; start, stop: ns since the archive's start."""
        ids = None if locations is None else self.locations["id"][list(locations)].astype(np.uint64).tolist()
        ends = [None if ns is None else self.offset + ns * self.resolution // 10**9 for ns in (start, stop)]
        return self.ledger.select(ids, *ends)

    def caveats(
        self, locations: Sequence[int] | None = None, start: int | None = None, stop: int | None = None
    ) -> list[str]:
        """Lines about events that the numbers of a selection lack; no line: the numbers are complete. locations: rows;
        start, stop: ns since the archive's start."""
        key = None if locations is None else tuple(locations), start, stop
        if key not in self._caveats:
            missing = self.not_recorded(locations, start, stop)
            told = [AS_PROFILE] if "PROFILE" in self.vtrace else []
            self._caveats[key] = told + caveats(missing, self.offset, self.resolution)
        return list(self._caveats[key])

    def __repr__(self) -> str:
        where = self.path.parent if self.path.name == "traces.otf2" else self.path
        return f"Trace({str(where)!r}: {self.locations.rows} locations, {self._region_count} regions)"

    @property
    def _region_count(self) -> int:
        """The number of regions without the rows for undefined regions and flushes."""
        return int(np.count_nonzero(self.regions["id"] >= 0))

    def _repr_html_(self) -> str:
        """HTML for notebooks. Names are escaped."""
        events = int(np.sum(self.locations["events"]))
        rows = {
            "archive": str(self.path), "creator": self.creator, "machine": self.machine,
            "time": f"{self.duration / 1e9:.6g} s", "processes": f"{self.processes.rows:,}",
            "locations": f"{self.locations.rows:,}", "regions": f"{self._region_count:,}", "events": f"{events:,}",
        }  # fmt: skip
        body = "".join(f"<tr><th>{html_text(name)}</th><td>{html_text(text)}</td></tr>" for name, text in rows.items())
        return f"{caveats_html(self.caveats())}<table>{body}</table>"


def _state(file: Path) -> tuple[int, ...]:
    """Numbers that change if a file is written again or replaced; none if there is no such file."""
    try:
        found = os.stat(file)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
