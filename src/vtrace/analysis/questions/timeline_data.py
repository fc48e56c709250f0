# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a timeline, from one to three passes: calls, messages, collectives, counters, samples, gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.calls import Calls, CallSteps
from vtrace.analysis.questions.collectives import Collectives, CollectiveTotals
from vtrace.analysis.questions.counters import Moved
from vtrace.analysis.questions.messages import Messages
from vtrace.analysis.questions.metrics import Metrics
from vtrace.analysis.questions.stacks import SampleCount, SampleStacks, Stacks
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.left_out import WHOLE_RUN
from vtrace.reasons import FLUSH, NOT_LOST

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

MOST = 2_000_000
"""The most calls to show, by default."""
_VALUES = 20_000
"""The most values to show of a location's counters."""
_GAPS = 100_000
"""The most intervals without recording to draw."""


@dataclass(kw_only=True)
class Shown:
    """The contents of a timeline; times in ns since the trace's start."""

    trace: Source
    window: Selection
    calls: Calls
    messages: Table
    moved: Table
    counters: Table
    collectives: Table
    missing: Table
    """Intervals without recording: location (row), begin, end, reason, class, count (ledger.UNKNOWN: not counted).
    Flushes are drawn as calls and are not in the table, nor are classes that a setting leaves out of the whole run."""
    stacks: dict[int, SampleStacks] = field(default_factory=dict)
    """Samples by location."""
    waits: Table | None = None
    """Waits of calls of MPI, as export.wait_arguments reads them; None: not wanted."""
    notes: list[str] = field(default_factory=list)
    """Omitted contents, one line each."""


def gather(trace: Source, window: Selection, most: int = MOST) -> Shown:
    """Reads the contents of a timeline.

    most: number of calls, of collective operations and of samples to show; of messages a quarter of this number is
    shown.
    """
    calls, messages = CallSteps(most), Messages(max(most // 4, 1))
    moved, metrics, totals, samples = Moved(trace, _VALUES), Metrics(None, _VALUES), CollectiveTotals(), SampleCount()
    met = ask(trace, [calls, messages, moved, metrics, totals, samples], window)
    shown = Shown(
        trace=trace,
        window=window,
        calls=calls.answer(),
        messages=messages.answer(),
        moved=moved.answer(),
        counters=metrics.answer(),
        collectives=Table({}),
        missing=Table({}),
    )
    shown.missing = missing(trace, window, shown.notes)
    part = int(totals.answer()["calls"].sum())
    if 0 < part <= most:
        collectives = Collectives()
        ask(trace, [collectives], window)
        shown.collectives = collectives.answer()[0]
    step = -(-samples.answer() // most)
    if step:
        stacks = Stacks(step)
        ask(trace, [stacks], window)
        shown.stacks = stacks.answer()
    note = shown.notes.append
    if calls.dropped:
        note(f"calls shorter than {span(calls.shortest)} are left out; --from, --to, --ranks show all calls of a part")
    if shown.messages.share > 1:
        note(f"one of {shown.messages.share} messages has an arrow")
    if step > 1:
        note(f"one of {step} samples is shown")
    if part > most:
        note(f"no tracks for collective operations: {part:,} calls are too many")
    if met.stray:
        note(f"{met.stray:,} Leave events without an Enter are left out")
    for line in met.problems:
        note(line)
    return shown


def missing(trace: Source, window: Selection, notes: list[str]) -> Table:
    """The table Shown.missing; adds a line to notes if intervals are left out."""
    found = trace.not_recorded(**window.arguments()).intervals
    row = trace.definitions.ids["locations"].rows(found["location"])
    drawn = np.isin(row, window.rows(trace)) & ~np.isin(found["reason"].astype(str), [FLUSH, *WHOLE_RUN])
    for start in NOT_LOST:
        drawn &= ~np.char.startswith(found["reason"].astype(str), start)
    begin, end = (np.maximum(trace.ns(found[name]), window.start or 0) for name in ("from", "to"))
    if window.stop is not None:
        end = np.minimum(end, window.stop)
    rest = {name: found[name] for name in ("reason", "class", "count")}
    table = Table({"location": row, "begin": begin, "end": end, **rest}).take(drawn)
    if table.rows > _GAPS:
        notes.append(f"only the {_GAPS:,} longest of {table.rows:,} intervals without recording are drawn")
        table = table.take(np.argsort(table["begin"] - table["end"], kind="stable")[:_GAPS])
    return table.take(np.lexsort((table["begin"], table["location"])))


_ROUNDS_UP = 0.9995
"""A number from here on is 1 with three digits."""


def span(ns: float) -> str:
    """A time in a unit that fits, with three digits: 12.3 us."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= _ROUNDS_UP * size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * _ROUNDS_UP * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def label(region: str) -> str:
    """The name of a region in a timeline, without the prefix that all OpenMP regions share: short calls show the first
    letters only."""
    return region.removeprefix("!$omp ")


def process_names(trace: Source) -> list[str]:
    """The name of each process: MPI Rank 0 on node1, or the archive's name of the process."""
    hosts = len(set(trace.processes["host"].tolist())) > 1
    return [
        f"{row['name'] or 'process'}{' on ' + row['host'] if hosts and row['host'] else ''}"
        for row in trace.processes.records()
    ]


def location_names(trace: Source) -> list[str]:
    """(locations,) the process of each location, with the thread if the process has several."""
    processes, process = process_names(trace), trace.places.process
    several = np.bincount(process[process >= 0], minlength=trace.processes.rows) > 1
    pairs = zip(process.tolist(), trace.locations["name"].tolist(), strict=True)
    return [name if p < 0 else f"{processes[p]}, {name}" if several[p] else processes[p] for p, name in pairs]


def used_regions(calls: Calls) -> list[int]:
    """The rows of regions that have calls."""
    found: list[int] = np.unique(calls.region).tolist()
    return found
