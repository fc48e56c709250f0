# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the page of vtrace report about sections of the program: times, functions of MPI, counters and the
formulas that the recorded counters allow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vtrace.analysis.derived.event_set import Circle, EventSet
from vtrace.analysis.derived.known_events import known_files, recorded_pmu, unqualified
from vtrace.analysis.questions.sections import section_metrics
from vtrace.analysis.selection import Patterns, Selection
from vtrace.reports import metric_sheets, section_sheets
from vtrace.reports.metric_sheets import CounterRun
from vtrace.reports.sheet import Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace


def sheets(trace: Trace, window: Selection, most: int) -> list[Sheet]:
    """The tables; none without sections. most: rows of a table."""
    if not section_metrics(trace):
        return []
    found = section_sheets.time_sheets(trace, window, most)[0]
    if (trace.regions["paradigm"] == "MPI").any():
        found += section_sheets.mpi_sheets(trace, window, most)[0]
    return [*found, *_values(trace, window, most)]


def _values(trace: Trace, window: Selection, most: int) -> Iterator[Sheet]:
    """The counters by section, and the formulas of vtrace's files and the user's that they allow."""
    names = trace.metric_members["name"].tolist()
    counters = [str(names[row]) for row in metric_sheets.counters_of(trace)]
    files = known_files(os.environ.get("PAPI_USER_EVENTS_FILE"))
    events = EventSet(files, recorded_pmu(counters, files))
    formulas = [name for name in events.events if name not in counters and _is_known(name, events, counters)]
    for title, wanted in (("Counters", counters), ("Formulas", formulas)):
        if wanted:
            numbers = metric_sheets.read(
                [CounterRun(trace, window)], "section", patterns=Patterns(), wanted=wanted, events=events
            )
            made = metric_sheets.shown(metric_sheets.sheet(numbers, most))
            made.name, made.title = f"section_{title.lower()}", f"{title} by section"
            yield made


def _is_known(name: str, events: EventSet, counters: list[str]) -> bool:
    try:
        return {*map(unqualified, counters)}.issuperset(map(unqualified, events.natives(name)))
    except Circle:
        return False
