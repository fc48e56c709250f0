# SPDX-License-Identifier: BSD-3-Clause
"""Export in VTune's format of external data: imported intervals and values, or the calls and metrics of all threads.

There is a file for the intervals of each host, and one for each set of metrics with values at the same moments. Times
are those of CLOCK_MONOTONIC_RAW, or dates in UTC if the archive has no clocks of its hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.definition_tables import is_count
from vtrace.analysis.host_clocks import HostClock, HostClocks
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array
from vtrace.errors import VtraceError
from vtrace.io.archive.properties import LANE, PID, TID
from vtrace.io.common.outfile import complete
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_RAW, _UTC = "CLOCK_MONOTONIC_RAW", "UTC"
_SECOND = 10**9
_ALL = 1 << 40
"""Calls and values of a location: all of them."""


@dataclass(frozen=True)
class WrittenData:
    """A file and the number of its lines."""

    path: Path
    lines: int


@dataclass(frozen=True)
class _Scope:
    """host: "" for none; ids: fields of pid and tid."""

    host: str
    ids: str


class _Exporter:
    def __init__(self, trace: Trace, window: Selection) -> None:
        self.trace, self.clocks = trace, HostClocks(trace)
        rows = range(trace.locations.rows) if window.locations is None else window.locations
        lanes = [row for row in rows if trace.locations["lane"][row]]
        self.imported = bool(lanes)
        self.window: dict[str, Any] = {"start": window.start, "stop": window.stop, "locations": lanes or [*rows]}
        own, groups = trace.location_properties, trace.group_properties
        columns = ("location", "name", "value")
        self._known = {(row, name): value for row, name, value in zip(*map(own.__getitem__, columns), strict=True)}
        columns = ("group", "name", "value")
        self._pids = {
            row: value for row, name, value in zip(*map(groups.__getitem__, columns), strict=True) if name == PID
        }

    def scope(self, row: int) -> _Scope:
        """The thread, process, host or run that the events of a location belong to."""
        trace = self.trace
        process = int(trace.places.process[row])
        host = str(trace.processes["host"][process]) if process >= 0 else ""
        pid = self._pids.get(int(trace.locations["group"][row]), "")
        tid = self._known.get((row, TID), "")
        kind = self._known.get((row, LANE), "thread")
        if kind == "run":
            return _Scope("", ",")
        return _Scope(host, "," if kind == "host" else f"{pid},{tid if kind == 'thread' else ''}")

    def stamps(self, scope: _Scope, ns: Array) -> tuple[str, list[str]]:
        """The clock of a scope's file, and times since the start of the trace as texts."""
        resolution, offset, *_ = self.trace.definitions.clock
        ticks = ns if resolution == _SECOND else (ns.astype(np.longdouble) * resolution / _SECOND).astype(np.int64)
        clock = self.clock(scope)
        name = _RAW if scope.host and clock.knows(_RAW) else _UTC
        found = clock.from_archive(name, offset + ticks).tolist()
        return name, [*map(str, found)] if name == _RAW else [_utc(time) for time in found]

    def clock(self, scope: _Scope) -> HostClock:
        clock = self.clocks.of(scope.host) or (self.clocks.all[0] if self.clocks.all else None)
        if clock is None:
            raise VtraceError(f"{self.trace.path} does not state when it was recorded: VTune cannot take its times")
        return clock


def write(trace: Trace, window: Selection, path: Path, replace: bool) -> list[WrittenData]:
    """Writes files whose names begin with path without .csv; replace: even if they exist. Raises VtraceError."""
    writer = _Exporter(trace, window)
    files: dict[tuple[str, str, str], list[tuple[int, int, str]]] = {}
    for host, head, lines in [*_intervals(writer), *_values(writer)]:
        kind = "intervals" if head.startswith("name,") else "values"
        files.setdefault((host, kind, head), []).extend(lines)
    made: list[WrittenData] = []
    used: dict[Path, int] = {}
    for (host, kind, head), lines in sorted(files.items()):
        suffix = f"-hostname-{host.replace('/', '_')}" if host else ""
        stem = path.with_suffix("") if path.suffix == ".csv" else path
        first = stem.with_name(f"{stem.name}-{kind}{suffix}.csv")
        number = used[first] = used.get(first, 0) + 1
        target = first if number == 1 else stem.with_name(f"{stem.name}-{kind}{number}{suffix}.csv")
        if not replace and target.exists():
            raise VtraceError(f"{target} exists", "replace it with -o, or give -o another name")
        with complete(target) as file:
            file.write(f"{head}\n")
            file.writelines(line for _, _, line in sorted(lines, key=lambda one: one[:2]))
        made.append(WrittenData(target, len(lines)))
    return made


_Lines = tuple[str, str, Iterable[tuple[int, int, str]]]
"""Host, first line, and lines with their start and the negative duration."""


def _intervals(writer: _Exporter) -> Iterator[_Lines]:
    trace = writer.trace
    calls = trace.slices(**writer.window, most=_ALL)
    names = np.array([_quoted(str(name)) for name in trace.regions["name"].tolist()], object)
    for row in np.unique(calls["location"]).tolist():
        mine = calls.take(calls["location"] == row)
        scope = writer.scope(row)
        clock, begin = writer.stamps(scope, mine["begin"])
        end = writer.stamps(scope, mine["end"])[1]
        texts = zip(names[mine["region"]].tolist(), begin, end, strict=True)
        keys = mine["begin"].tolist(), (mine["begin"] - mine["end"]).tolist()
        lines = [
            (first, second, f"{name},{a},{b},{scope.ids}\n")
            for first, second, (name, a, b) in zip(*keys, texts, strict=True)
        ]
        yield scope.host, f"name,start_tsc.{clock},end_tsc,pid,tid", lines


def _values(writer: _Exporter) -> Iterator[_Lines]:
    trace = writer.trace
    values = trace.metric_values(**writer.window, most=_ALL)
    real = np.array([kind in ("DOUBLE", "FLOAT") for kind in trace.metric_members["value_type"].tolist()], bool)
    mode = np.where([is_count(mode) for mode in trace.metric_members["mode"].tolist()], "COUNT", "INST")
    for row in np.unique(values["location"]).tolist():
        mine = values.take(values["location"] == row)
        scope = writer.scope(row)
        for metrics, chosen in _together(mine["metric"]):
            clock, times = writer.stamps(scope, mine["time"][chosen[:, 0]])
            heads = [_quoted(f"{trace.metric_members['name'][metric] or '?'}.{mode[metric]}") for metric in metrics]
            columns = [
                mine["value"][at].tolist() if real[metric] else mine["integer"][at].tolist()
                for metric, at in zip(metrics, chosen.T, strict=True)
            ]
            keys = mine["time"][chosen[:, 0]].tolist()
            lines = [
                (key, 0, f"{time},{','.join(map(repr, numbers))},{scope.ids}\n")
                for key, time, *numbers in zip(keys, times, *columns, strict=True)
            ]
            yield scope.host, f"tsc.{clock},{','.join(heads)},pid,tid", lines


def _together(metrics: Array) -> Iterator[tuple[list[int], Any]]:
    """Metrics with values at the same moments, and their rows: (moments, metrics). Values of one event are adjacent,
    in the order of the metrics."""
    order = list(dict.fromkeys(metrics[metrics >= 0].tolist()))
    count = len(order)
    if count and len(metrics) % count == 0 and (metrics.reshape(-1, count) == order).all():
        yield order, np.arange(len(metrics)).reshape(-1, count)
        return
    for metric in order:
        yield [metric], np.flatnonzero(metrics == metric).reshape(-1, 1)


def _quoted(name: str) -> str:
    name = plain(name)
    return '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name or "?"


def _utc(ns: int) -> str:
    return datetime.fromtimestamp(ns // _SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S") + f".{ns % _SECOND:09d}"
