# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace summary about devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.device_activities import common, union
from vtrace.analysis.table import Table, add_up, group
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_COPY = "DATA_TRANSFER"
"""OTF2's role of copies."""


def _names(trace: Trace, found: Table) -> list[str]:
    """The device of each activity."""
    names = np.append(trace.definitions.tables["groups"]["name"], "")
    return [str(name) for name in names[trace.locations["group"][found["location"]]].tolist()]


def devices(trace: Trace, found: Table) -> Sheet:
    """The time in which each device is busy."""
    names = np.array(_names(trace, found), object)
    copies = trace.regions["role"][found["region"]] == _COPY
    rows: list[Row] = []
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        busy, moving, computing = (
            union(found["begin"][mine & which], found["end"][mine & which])
            for which in (copies | True, copies, ~copies)
        )
        busy_ns, moving_ns, computing_ns = (int((part[:, 1] - part[:, 0]).sum()) for part in (busy, moving, computing))
        whole = int(busy[-1, 1] - busy[0, 0])
        rows.append({
            "device": name, "busy_ns": busy_ns, "percent": 100 * busy_ns / max(1, whole), "kernels_ns": computing_ns,
            "copies_ns": moving_ns, "overlap_ns": common(moving, computing), "from_first_to_last_ns": whole,
            "kernels": int((mine & ~copies).sum()), "copies": int((mine & copies).sum()),
            "bytes": int(found["bytes"][mine].sum()),
        })  # fmt: skip
    columns = [
        Column("busy_ns", "busy s", "ns"), Column("percent", "% from first to last", "share"),
        Column("kernels_ns", "kernels s", "ns"), Column("copies_ns", "copies s", "ns"),
        Column("overlap_ns", "both s", "ns", minor=True), Column("from_first_to_last_ns", kind="ns"),
        Column("kernels", "kernels"), Column("copies", "copies"), Column("bytes", "bytes", minor=True),
        Column("device", "device", "text"),
    ]  # fmt: skip
    return Sheet(name="devices", title="Devices", columns=columns, rows=rows)


def kernels_and_copies(trace: Trace, streams: Table, targets: Table) -> Sheet:
    """The activities of all devices by kernel or kind of copy, the longest time first; and the calls in target regions
    of OpenMP, measured on the host."""
    rows = [*_activities(trace, streams, "device"), *_activities(trace, targets, "host")]
    rows.sort(key=lambda row: -row["time_ns"])
    columns = [
        Column("time_ns", "time s", "ns"), Column("calls", "number"), Column("mean_ns", "mean", "span"),
        Column("max_ns", "max", "span", minor=True), Column("bytes", "bytes"),
        Column("gigabytes_per_second", "GB/s", "ratio"),
        Column("queued_ns", "in the queue", "span", minor=True), Column("measured", "measured on", "text"),
        Column("role", kind="text"), Column("activity", "activity", "text"),
    ]  # fmt: skip
    return Sheet(name="kernels", title="Kernels and copies of devices", columns=columns, rows=rows)


def _activities(trace: Trace, found: Table, measured: str) -> list[Row]:
    first, member = group([found["region"]])
    lengths = found["end"] - found["begin"]
    sums = {
        name: add_up(member, values, len(first))
        for name, values in (("ns", lengths), ("bytes", found["bytes"]), ("queued", found["queued"]))
    }
    calls = np.bincount(member, minlength=len(first))
    rows: list[Row] = []
    for row, at in enumerate(first.tolist()):
        region, ns, size, n = int(found["region"][at]), int(sums["ns"][row]), int(sums["bytes"][row]), int(calls[row])
        rows.append({
            "activity": str(trace.regions["name"][region]), "role": str(trace.regions["role"][region]).lower(),
            "calls": n, "time_ns": ns, "mean_ns": ns / n, "max_ns": int(lengths[member == row].max()),
            "bytes": size, "gigabytes_per_second": size / ns if size and ns else None,
            "queued_ns": None if measured == "host" else int(sums["queued"][row]) / n, "measured": measured,
        })  # fmt: skip
    return rows
