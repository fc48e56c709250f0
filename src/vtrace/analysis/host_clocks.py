# SPDX-License-Identifier: BSD-3-Clause
"""Converts times of the clocks of a host to times of the archive, and back, by the sidecar's table of clocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.archive.properties import CPU_MAX_MHZ
from vtrace.io.archive.reader_abi import readback
from vtrace.io.common.arrays import Array
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_COLUMNS = {"RDTSC": "ticks", "CLOCK_MONOTONIC_RAW": "mono", "UTC": "real"}
_COUNTER = "rdtsc"
_SECOND = 10**9


@dataclass
class HostClock:
    """A clock of a host. columns: knots by name, see unify/account/clock_facts.py; pids: processes that read it."""

    host: str
    columns: dict[str, Array]
    pids: frozenset[int] = frozenset()

    def knows(self, clock: str) -> bool:
        return _COLUMNS[clock] in self.columns

    def to_archive(self, clock: str, times: Array) -> Array:
        """Converts times of a clock that this host clock knows to times of the archive."""
        return self._between(_COLUMNS[clock], "time", times)

    def from_archive(self, clock: str, times: Array) -> Array:
        return self._between("time", _COLUMNS[clock], times)

    def _between(self, one: str, other: str, times: Array) -> Array:
        kept = np.append(True, np.diff(np.maximum.accumulate(self.columns[one])) > 0)  # real time may be set back
        knots = [np.ascontiguousarray(self.columns[name][kept], np.int64) for name in (one, other)]
        found: Array = np.array(times, np.int64)
        pointers = (array.ctypes.data for array in knots)
        readback().vt_host_times(found.ctypes.data, len(found), *pointers, len(knots[0]))
        return found


class HostClocks:
    """The clocks of a trace, the reference first. Without the table of clocks only the real time is known."""

    def __init__(self, trace: Source) -> None:
        self.all = [*_of_table(trace)]
        self.complete = bool(self.all)
        """True if the trace has the table of clocks."""
        hosts = list(dict.fromkeys(trace.processes["host"].tolist()))
        if not self.all:
            self.all = [HostClock(host, columns) for host in hosts for columns in _of_definitions(trace)]
        self.hosts = list(dict.fromkeys([*(clock.host for clock in self.all), *hosts]))

    def of(self, host: str, pid: int = -1) -> HostClock | None:
        """The clock of a process on a host, or else the first one there."""
        here = [clock for clock in self.all if clock.host == host]
        return next((clock for clock in here if pid in clock.pids), here[0] if here else None)


def clocks_of(trace: Source) -> sidecar.SidecarTable | None:
    """The table of clocks (unify/account/clock_facts.py); None: there is none, or it is damaged."""
    try:
        return sidecar.read(trace.anchor.parent, *sidecar.CLOCKS, sidecar.identity(trace.anchor, trace.properties))
    except FormatError:
        return None


def _of_table(trace: Source) -> Iterator[HostClock]:
    table = clocks_of(trace)
    if table is None:
        return
    try:
        columns = {name: table.columns[name] for name in ("ticks", "mono", "real", "time")}
        made = [*zip(*(table.names[name] for name in ("host", "ticks", "pids")), strict=True)]
        for number, (host, ticks, pids) in enumerate(made):
            own = {name: values[table.columns["clock"] == number] for name, values in columns.items()}
            if ticks != _COUNTER:
                del own["ticks"]
            rising = [np.diff(values) > 0 for name, values in own.items() if name != "real"]
            if len(own["time"]) > 1 and all(map(np.all, rising)) and own["real"][1] > own["real"][0]:
                yield HostClock(host, own, frozenset(_numbers(pids)))
    except (KeyError, ValueError):
        return


def _numbers(text: str) -> Iterator[int]:
    """The numbers of a text such as 0,2-5,9, with at most the first 4 million numbers of each range, as many as Linux
    has."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), min(int(last or first), int(first) + (1 << 22)) + 1)


def _of_definitions(trace: Source) -> Iterator[dict[str, Array]]:
    resolution, offset, _, real = trace.definitions.clock
    if real is not None:
        yield {"real": np.array([real, real + _SECOND]), "time": np.array([offset, offset + resolution])}


def clock_rate(trace: Source) -> float | None:
    """The clock rate of the processors in MHz that an archive with counters has; None if the rate is unknown or not the
    same for all processes."""
    properties = trace.group_properties
    found = {*properties["value"][properties["name"] == CPU_MAX_MHZ].tolist()}
    text = found.pop() if len(found) == 1 else ""
    return float(text) if text.isdecimal() else None
