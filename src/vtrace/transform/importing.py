# SPDX-License-Identifier: BSD-3-Clause
"""Adds data that another tool recorded to a copy of an archive: intervals on lanes, values as metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.host_clocks import HostClock, HostClocks
from vtrace.console import some
from vtrace.errors import VtraceError
from vtrace.io.archive.properties import PID, TID
from vtrace.io.common.arrays import Array
from vtrace.io.sidecar.samples_archive import IN, OF
from vtrace.transform.external_data import ExternalData
from vtrace.transform.imported_lanes import ImportedLocation, ImportedValues, Lane, ValueLane, assign_lanes
from vtrace.transform.importer import ImportedArchive, write_import

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.console import Console

__all__ = ["ImportedArchive", "has_second_archive", "import_data"]


@dataclass(frozen=True)
class _LineOwner:
    """The owner of some lines. scope: thread, process, host or run; group: row of trace.groups; tid: -1 for none."""

    scope: str
    group: int
    name: str
    tid: int = -1


@dataclass
class _LanePlacing:
    """Finds the owners of lines in a trace. notes: lines for the user."""

    trace: Trace
    clocks: HostClocks
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        trace = self.trace
        processes = trace.processes
        self._host = dict(zip(processes["group"].tolist(), processes["host"].tolist(), strict=True))
        own = trace.group_properties
        self._pid = {
            int(group): int(value)
            for group, name, value in zip(*(own[name].tolist() for name in ("group", "name", "value")), strict=True)
            if name == PID and str(value).isdecimal()
        }
        self._threads: dict[int, list[int]] = {}
        self._of_pid: dict[tuple[str, int], int] = {}
        for group, pid in self._pid.items():
            self._of_pid.setdefault((self._host.get(group, ""), pid), group)
        own = trace.location_properties
        lanes = trace.locations["lane"]
        for row, name, value in zip(*(own[name].tolist() for name in ("location", "name", "value")), strict=True):
            if row >= 0 and not lanes[row] and (name == TID or str(name).startswith(f"{TID}.")):
                self._threads.setdefault(int(value), []).append(row)

    def first_of(self, host: str | None) -> int:
        """The group of the first process of a host; None: of all hosts."""
        groups: list[int] = self.trace.processes["group"].tolist()
        return next((group for group in groups if host is None or self._host[group] == host), groups[0])

    def place(self, host: str, pid: int, tid: int) -> _LineOwner:
        process = self._of_pid.get((host, pid), -1)
        if tid < 0:
            return _LineOwner("process", process, "") if process >= 0 else _LineOwner("host", self.first_of(host), "")
        groups = self.trace.locations["group"]
        here = [row for row in self._threads.get(tid, []) if self._host.get(int(groups[row])) == host]
        row = next((row for row in here if groups[row] == process), here[0] if here else -1)
        if row >= 0:
            return _LineOwner("thread", int(groups[row]), f" of {self.trace.locations['name'][row]}", tid)
        return _LineOwner("thread", process if process >= 0 else self.first_of(host), f" of thread {tid}", tid)


def has_second_archive(trace: Trace) -> bool:
    """The samples of the trace are in an archive of their own; in a copy of the trace they are events."""
    return IN in trace.vtrace or OF in trace.vtrace


def import_data(trace: Trace, files: Sequence[ExternalData], output: Path, console: Console) -> ImportedArchive:
    """Writes a copy of a trace with the data of files into the new directory output. Raises VtraceError."""
    if not trace.processes.rows:
        raise VtraceError(f"{trace.path} has no process")
    imported = _all_imported(trace, files)
    placing = _LanePlacing(trace, HostClocks(trace))
    lanes: list[Lane] = []
    values: list[ValueLane] = []
    for data in files:
        if data.rows:
            _add(placing, data, lanes, values)
        else:
            placing.notes.append(f"{data.path} has no line with data")
    made = write_import(trace, lanes, values=values, imported=imported, output=output, console=console)
    made.notes[:0] = placing.notes
    return made


def _all_imported(trace: Trace, files: Sequence[ExternalData]) -> list[dict[str, str | None]]:
    """The property IMPORTED of the new archive. Raises VtraceError for a file whose content the archive has already, as
    vtunify imports files beside the local files, or that is among the files twice."""
    before = [*trace.vtrace.get("IMPORTED", [])]
    known = {(one.get("host"), one["digest"]) for one in before}
    of: dict[tuple[str | None, str], Path] = {}
    for data in files:
        key = data.host, data.digest
        if key in known or of.setdefault(key, data.path) != data.path:
            raise VtraceError(f"{data.path}: {trace.archive.name} has these lines already", "leave this file out")
    return [*before, *({"file": path.name, "digest": key[1], "host": key[0]} for key, path in of.items())]


def _add(placing: _LanePlacing, data: ExternalData, lanes: list[Lane], values: list[ValueLane]) -> None:
    """Adds the lanes of a file."""
    owners, of_line = _owners(placing, data)
    known = data.host in placing.clocks.hosts
    moved = np.empty(data.rows, np.int64), np.empty(data.rows if data.end is not None else 0, np.int64)
    clocks = [_clock(placing, data, pid, known) for _, pid in owners]
    for clock in {id(clock): clock for clock in clocks}.values():
        chosen = np.isin(of_line, [n for n, one in enumerate(clocks) if one is clock])
        moved[0][chosen] = clock.to_archive(data.clock, data.begin[chosen])
        if data.end is not None:
            moved[1][chosen] = clock.to_archive(data.clock, data.end[chosen])
    begin, end = moved[0], moved[1] if data.end is not None else moved[0]
    _, offset, length, _ = placing.trace.definitions.clock
    inside = (end >= offset) & (begin <= offset + length)
    _tell(placing, data, int(inside.sum()), int((inside & ((begin < offset) | (end > offset + length))).sum()))
    begin, end = np.clip(begin, offset, offset + length), np.clip(end, offset, offset + length)
    for number, (owner, _) in enumerate(owners):
        mine = np.flatnonzero(inside & (of_line == number)) if len(owners) > 1 else np.flatnonzero(inside)
        if not len(mine):
            continue
        if data.name is None:
            parts = [column[mine] for column in data.values]
            title = data.title or f"Values{owner.name}"
            values.append(ValueLane(owner.scope, owner.group, tid=owner.tid, title=title, values=ImportedValues(
                begin[mine], parts, data.counters, data.modes
            )))  # fmt: skip
        else:
            title = data.title or f"{'Tasks' if owner.tid >= 0 else 'Frames'}{owner.name}"
            columns = begin[mine], end[mine], data.name[mine]
            wanted = ImportedLocation(owner.scope, owner.group, owner.tid, title)
            lanes += assign_lanes(wanted, *columns, data.names, str(data.path))


def _owners(placing: _LanePlacing, data: ExternalData) -> tuple[list[tuple[_LineOwner, int]], Array]:
    """The owners in a file with their pids, and the number of the owner of each line."""
    if data.host not in placing.clocks.hosts:
        return [(_LineOwner("run", placing.first_of(None), ""), -1)], np.zeros(data.rows, np.int64)
    assert data.host is not None
    key = (data.pid + 1).astype(np.uint64) << np.uint64(32) | (data.tid + 1).astype(np.uint64)
    if (key == key[0]).all():
        keys, of_line = key[:1], np.zeros(data.rows, np.int64)
    else:
        keys, of_line = np.unique(key, return_inverse=True)
    pairs = [((one >> 32) - 1, (one & 0xFFFFFFFF) - 1) for one in keys.tolist()]
    return [(placing.place(data.host, pid, tid), pid) for pid, tid in pairs], of_line.reshape(-1)


def _clock(placing: _LanePlacing, data: ExternalData, pid: int, known: bool) -> HostClock:
    """The clock of the times of a file. Raises VtraceError."""
    clocks, hosts = placing.clocks, ", ".join(placing.clocks.hosts)
    if not clocks.all:
        raise VtraceError(f"{placing.trace.path} does not state when it was recorded: no time can be converted")
    clock = clocks.of(str(data.host), pid) if known else None
    said = "names no host" if data.host is None else f"is of host {data.host}, which the trace lacks"
    said += f" ({hosts})"
    if clock is None and (data.clock == "UTC" or len(clocks.all) == 1):
        clock = clocks.all[0]
        note = f"{data.path.name} {said}: its data belong to no thread or process"
        if note not in placing.notes:
            placing.notes.append(note)
    if clock is None:
        hint = "rename it to NAME-hostname-HOST.csv, or give UTC times"
        raise VtraceError(f"{data.path} {said}: its {data.clock} times cannot be converted", hint)
    if not clock.knows(data.clock):
        why = f"{clock.host} did not record with this clock" if clocks.complete else "the trace has no table of clocks"
        raise VtraceError(f"{data.path}: {data.clock} times cannot be converted: {why}", "give UTC times")
    return clock


def _tell(placing: _LanePlacing, data: ExternalData, inside: int, cut: int) -> None:
    """Notes lines outside of the time of the run. Raises VtraceError if all of a file are."""
    outside = data.rows - inside
    if not inside and not data.title:
        raise VtraceError(f"{data.path}: no line is within the time of the run", "is the file of this run and host?")
    if outside:
        placing.notes.append(f"{data.path.name}: {some(outside, 'line')} before or after the run left out")
    if cut:
        placing.notes.append(f"{data.path.name}: {some(cut, 'interval')} cut at the start or end of the run")
