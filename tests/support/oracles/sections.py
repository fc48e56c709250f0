# SPDX-License-Identifier: BSD-3-Clause
"""The sections of an archive, computed slowly and simply from the events that the otf2 package reads."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import otf2

ADDED = ("calls", "elapsed_ns", "mpi_calls", "mpi_ns")
Opening = tuple[int, int, dict[str, int], dict[str, int]]
"""Start and end (ticks), and the values of the counters at both."""


class Thread:
    """The sections, calls of MPI and counters of a thread."""

    def __init__(self) -> None:
        self.openings: dict[str, list[Opening]] = {}
        self.mpi: list[tuple[int, int]] = []
        """Outermost calls of MPI."""
        self.times: list[int] = []
        self.readings: list[dict[str, int]] = []

    def mpi_within(self, begin: int, end: int) -> int:
        return sum(max(0, min(end, until) - max(begin, since)) for since, until in self.mpi)

    def sums(self, name: str, window: tuple[int, int] = (-(2**62), 2**62)) -> dict[str, int]:
        """The sums over the parts in the window; without counters if the window cuts one of them."""
        found: dict[str, int] = defaultdict(int)
        is_cut = False
        for since, until, before, after in self.openings[name]:
            begin, end = max(since, window[0]), min(until, window[1])
            if begin > end:
                continue
            found["calls"] += 1
            found["elapsed_ns"] += end - begin
            found["mpi_ns"] += self.mpi_within(begin, end)
            found["mpi_calls"] += sum(begin <= start < end for start, _ in self.mpi)
            is_cut |= (begin, end) != (since, until)
            for counter in after:
                found[counter] += after[counter] - before[counter]
        return {key: value for key, value in found.items() if not is_cut or key in ADDED}


def read(archive: Path) -> dict[tuple[str, str], Thread]:
    """The threads by name of the process and of the thread. Times in ns since the first event of the archive."""
    found: dict[tuple[str, str], Thread] = defaultdict(Thread)
    state: dict[Any, dict[str, Any]] = defaultdict(lambda: {"open": {}, "depth": 0, "since": 0, "read": (-1, {})})
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        assert trace.timer_resolution == 10**9
        for where, event in trace.events:
            one, now = found[where.group.name, where.name], state[where]
            event.time -= trace.definitions.clock_properties.global_offset
            if isinstance(event, otf2.events.Metric | otf2.events.Enter | otf2.events.Leave):
                one.times.append(event.time)
            if isinstance(event, otf2.events.Metric):
                members = event.metric.members
                if members[0].unit == "section":
                    values = now["read"][1] if now["read"][0] == event.time else {}
                    _section(one, now["open"], members[0].name, event, values)
                else:
                    values = {m.name: int(v) for m, v in zip(members, event.values, strict=True)}
                    now["read"] = event.time, values
                    one.readings.append(values)
            elif isinstance(event, otf2.events.Enter) and event.region.name.startswith("MPI_"):
                now["since"] = now["since"] if now["depth"] else event.time
                now["depth"] += 1
            elif isinstance(event, otf2.events.Leave) and event.region.name.startswith("MPI_"):
                now["depth"] -= 1
                if not now["depth"]:
                    one.mpi.append((now["since"], event.time))
    for one in found.values():
        readings = one.readings or [{}]
        one.openings["all/0"] = [(one.times[0], one.times[-1], readings[0], readings[-1])]
    return dict(found)


def _section(one: Thread, is_open: dict[str, Any], name: str, event: Any, values: dict[str, int]) -> None:
    if event.values[0]:
        is_open[name] = event.time, values
    elif name in is_open:
        begin, before = is_open.pop(name)
        one.openings.setdefault(name, []).append((begin, event.time, before, values))
