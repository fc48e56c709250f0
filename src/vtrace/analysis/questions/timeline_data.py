# SPDX-License-Identifier: BSD-3-Clause
"""What a timeline shows, out of one or two passes: calls, messages, collectives, counters, markers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.ledger import FLUSH
from vtrace.analysis.questions.calls import Calls, CallSteps
from vtrace.analysis.questions.collectives import Collectives, CollectiveTotals
from vtrace.analysis.questions.counters import Moved
from vtrace.analysis.questions.messages import Messages
from vtrace.analysis.questions.metrics import Metrics
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.left_out import WHOLE_RUN

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

MOST = 2_000_000
"""Calls that are shown."""
_VALUES = 20_000
"""Values of a location's counters."""
_GAPS = 100_000
"""Intervals without events that are drawn."""


@dataclass
class Shown:
    """What is shown; times in ns since the trace's start."""

    trace: Source
    window: Selection
    calls: Calls
    messages: Table
    moved: Table
    counters: Table
    collectives: Table
    missing: Table
    """Intervals that were not recorded: location (row), begin, end, reason, class, count (ledger.UNKNOWN: not counted).
    Flushes are not among them, since they are drawn as calls, nor is what a setting leaves out of the whole run."""
    notes: list[str] = field(default_factory=list)
    """What is left out, one line each."""


def gather(trace: Source, window: Selection, most: int = MOST) -> Shown:
    """Reads what a timeline of the window shows: at most so many calls and collectives, a quarter as many messages."""
    calls, messages = CallSteps(most), Messages(max(most // 4, 1))
    moved, metrics, totals = Moved(trace, _VALUES), Metrics(None, _VALUES), CollectiveTotals()
    met = trace.scan([calls, messages, moved, metrics, totals], **window.arguments())
    shown = Shown(
        trace, window, calls.answer(), messages.answer(), moved.answer(), metrics.answer(), Table({}), Table({})
    )
    shown.missing = _missing(trace, window, shown.notes)
    part = int(totals.answer()["calls"].sum())
    if 0 < part <= most:
        collectives = Collectives()
        trace.scan([collectives], **window.arguments())
        shown.collectives = collectives.answer()[0]
    note = shown.notes.append
    if calls.dropped:
        note(
            f"the shortest calls are left out: those below {span(calls.shortest)}. All of a part: --from, --to, --ranks"
        )
    if shown.messages.share > 1:
        note(f"of the messages one of {shown.messages.share} has an arrow")
    if part > most:
        note(f"{part:,} collective calls are too many for tracks of their own")
    if met.stray:
        note(f"{met.stray:,} ends of calls without a begin are left out")
    for line in met.problems:
        note(line)
    return shown


def _missing(trace: Source, window: Selection, notes: list[str]) -> Table:
    found = trace.not_recorded(**window.arguments()).intervals
    row = trace.definitions.ids["locations"].rows(found["location"])
    drawn = np.isin(row, window.rows(trace)) & ~np.isin(found["reason"].astype(str), [FLUSH, *WHOLE_RUN])
    begin, end = (np.maximum(trace.ns(found[name]), window.start or 0) for name in ("from", "to"))
    if window.stop is not None:
        end = np.minimum(end, window.stop)
    rest = {name: found[name] for name in ("reason", "class", "count")}
    table = Table({"location": row, "begin": begin, "end": end, **rest}).take(drawn)
    if table.rows > _GAPS:
        notes.append(f"of {table.rows:,} intervals that were not recorded the {_GAPS:,} longest are drawn")
        table = table.take(np.argsort(table["begin"] - table["end"], kind="stable")[:_GAPS])
    return table.take(np.lexsort((table["begin"], table["location"])))


def span(ns: float) -> str:
    """A time as one says it: 12.3 us."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def label(region: str) -> str:
    """What a timeline calls a region. Short calls show only the start of a name, which is the same for all OpenMP
    regions."""
    return region.removeprefix("!$omp ")


def process_names(trace: Source) -> list[str]:
    """What to call each process: MPI Rank 0 on node1, or as the archive has it."""
    hosts = len(set(trace.processes["host"].tolist())) > 1
    return [
        f"{row['name'] or 'process'}{' on ' + row['host'] if hosts and row['host'] else ''}"
        for row in trace.processes.records()
    ]


def used_regions(calls: Calls) -> list[int]:
    """Rows of regions with calls."""
    found: list[int] = np.unique(calls.region).tolist()
    return found
