# SPDX-License-Identifier: BSD-3-Clause
"""Archives of threads, their findings, and sidecars of waits for a processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.random_mpi import region
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.local import records
from vtrace.io.sidecar import sidecar

Event = tuple[Any, ...]


def threads(where: Path, events: dict[int, list[Event]], name: str, role: int, paradigm: int) -> Trace:
    """An archive of the threads of one process. Region 0 is main, region 1 the one with the name."""
    made = Foreign(where)
    for thread, each in events.items():
        made.events(thread, each)
    made.begin_definitions()
    made.machine(length=max(each[-1][0] for each in events.values()))
    for thread in events:
        made.location(thread)
    made.region(0, "main")
    made.region(1, name, role, paradigm)
    return Trace(made.close())


def told(trace: Trace, kind: str, window: Selection | None = None) -> Finding:
    """The only finding of a kind."""
    (found,) = (one for one in trace.diagnosis(window or Selection()).findings if one.kind == kind)
    return found


def asleep(anchor: Path, *times: tuple[int, int, int, str, tuple[int, ...]]) -> Trace:
    """The archive with times in which threads slept: location, begin, end, call site, ids of the regions around."""
    sites, rows = sorted({time[3] for time in times}), []
    for location, begin, end, site, regions in times:
        path = records.PATH_START
        for each in regions:
            path = (path ^ each) * records.PATH_FACTOR % 2**64
        innermost = regions[-1] if regions else UNDEFINED
        rows.append((location, begin, end, end - begin, innermost, 1, path, sites.index(site)))
    names = ("location", "from", "to", "ns", "region", "count", "path", "site")
    columns = {name: np.array(column, "<u8") for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    identity = sidecar.identity(anchor, Trace(anchor).properties)
    sidecar.write(anchor.parent, *sidecar.BLOCKED, identity, sidecar.SidecarTable(columns, {"site": sites}))
    return Trace(anchor)


def without_processor(anchor: Path, *waits: tuple[Any, ...]) -> None:
    """Writes waits for a processor: location, begin, end, ns, and the names of the call path."""
    rows = []
    for *numbers, innermost in ((*wait[:4], [region(name) for name in wait[4:]]) for wait in waits):
        path = 0xCBF29CE484222325
        for each in innermost:
            path = (path ^ each) * 0x100000001B3 % 2**64
        rows.append((*numbers, innermost[-1] if innermost else UNDEFINED, 1, path))
    names = ("location", "from", "to", "ns", "region", "count", "path")
    table = sidecar.SidecarTable({
        name: np.array(column, "<u8") for name, column in zip(names, zip(*rows, strict=True), strict=True)
    })  # fmt: skip
    sidecar.write(anchor.parent, *sidecar.WAITS, sidecar.identity(anchor, Trace(anchor).properties), table)
