# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of calls that are counted, in place of messages, operations on files and blocks of memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.reports.summary import SummaryNumbers


def call_bytes(numbers: SummaryNumbers) -> Sheet:
    """The bytes of each region, the most first, of the calls that are no events."""
    trace = numbers.trace
    is_whole = numbers.window.start is numbers.window.stop is None
    counted = trace.counted_calls if is_whole else None
    profile = trace.recorded_profile or counted
    sums = {name: Counter[int]() for name in ("calls", "out", "in")}
    for location in numbers.window.rows(trace) if profile else ():
        if profile and location in profile.locations:
            table = profile.locations[location]
            for name, found in sums.items():
                for region, count in zip(table["region"].tolist()[1:], table[name].tolist()[1:], strict=True):
                    found[region] += count
    known = trace.regions
    rows: list[Row] = [
        {"out_bytes": sums["out"][region], "in_bytes": sums["in"][region], "calls": sums["calls"][region],
         "class": str(known.classes[known["class"][region]]), "region": str(known["name"][region])}
        for region in sums["calls"] if sums["out"][region] or sums["in"][region]
    ]  # fmt: skip
    rows.sort(key=lambda row: -row["out_bytes"] - row["in_bytes"])
    columns = [
        Column("out_bytes", "sent, written, allocated"), Column("in_bytes", "received, read, freed"),
        Column("calls", "calls"), Column("class", "class", "text", minor=True), Column("region", "region", "text"),
    ]  # fmt: skip
    title = "Bytes of calls that are only counted" if counted else "Bytes of calls"
    return Sheet(name="bytes", title=title, columns=columns, rows=rows)
