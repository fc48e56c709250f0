# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace summary about one-sided communication."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.rma import SUMS, operation_name, synchronization
from vtrace.analysis.table import add_up, group
from vtrace.console import some
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.reports.summary import SummaryNumbers


def rma(numbers: SummaryNumbers) -> Sheet:
    """Operations by their kind and window, the most bytes first."""
    found, trace = numbers.rma, numbers.trace
    first, member = group([found["operation"], found["window"]])
    sums = {name: add_up(member, found[name], len(first)) for name in SUMS}
    names = [*map(str, trace.windows["name"].tolist()), ""]
    rows: list[Row] = []
    for row, at in enumerate(first.tolist()):
        of = member == row
        rows.append({
            "operation": operation_name(int(found["operation"][at])), "window": names[found["window"][at]],
            "calls": int(sums["calls"][row]), "sent_bytes": int(sums["sent"][row]),
            "received_bytes": int(sums["received"][row]), "unknown": int(sums["unknown"][row]),
            "origins": len(np.unique(trace.places.process[found["location"][of]])),
            "targets": len(np.unique(found["target"][of])),
        })  # fmt: skip
    rows.sort(key=lambda row: -(row["sent_bytes"] + row["received_bytes"]))
    columns = [
        Column("calls", "operations"), Column("sent_bytes", "bytes to targets"),
        Column("received_bytes", "bytes from targets"), Column("unknown"), Column("origins", "origins", minor=True),
        Column("targets", "targets"), Column("operation", "operation", "text"), Column("window", "window", "text"),
    ]  # fmt: skip
    total = some(sum(row["calls"] for row in rows), "operation")
    sheet = Sheet(name="rma", title=f"One-sided communication: {total}", columns=columns, rows=rows)
    if unknown := sum(row["unknown"] for row in rows):
        sheet.notes.append(f"unknown bytes of {some(unknown, 'operation')}: not in the sums")
    return sheet


def rma_synchronization(numbers: SummaryNumbers) -> Sheet:
    """Time in calls that synchronize windows by kind, over all processes."""
    found = synchronization(numbers.trace, numbers.profile)
    whole = max(1, int(numbers.profile["exclusive"].sum()))
    rows: list[Row] = []
    for kind, name in enumerate(found.kinds):
        of = found.take(found["kind"] == kind)
        if of.rows:
            ns = int(of["ns"].sum())
            rows.append({"kind": name, "calls": int(of["calls"].sum()), "time_ns": ns, "percent": 100 * ns / whole})
    rows.sort(key=lambda row: -row["time_ns"])
    columns = [
        Column("time_ns", "time s", "ns"), Column("percent", "% of all calls' time", "share"),
        Column("calls", "calls"), Column("kind", "synchronization", "text"),
    ]  # fmt: skip
    return Sheet(name="rma_synchronization", title="Synchronization of windows", columns=columns, rows=rows)
