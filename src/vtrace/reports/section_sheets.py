# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace profile --by section: times; with --metrics mpi the MPI functions, with --metrics memory the
memory of malloc and its calls. The tables of vtrace report about sections."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.derived.event_set import Circle, EventSet
from vtrace.analysis.derived.known_events import known_files, recorded_pmu, unqualified
from vtrace.analysis.questions import section_sums
from vtrace.analysis.questions.allocation_calls import AllocationCalls, AllocationNumbers, AllocationsBySection
from vtrace.analysis.questions.message_lengths import CLASSES
from vtrace.analysis.questions.section_calls import SectionCalls, by_function
from vtrace.analysis.questions.section_sums import LEVELS, MEMORY, SectionNumbers, SectionValues, memory_of
from vtrace.analysis.questions.sections import section_metrics
from vtrace.analysis.questions.timeline_data import process_names
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.reports import metric_sheets
from vtrace.reports.metric_sheets import CounterRun
from vtrace.reports.section_levels import SectionTable, levels, order_of
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_TIMES = [
    Column("elapsed_ns", "elapsed s", "ns"), Column("user_ns", "user s", "ns"), Column("system_ns", "system s", "ns"),
    Column("calls", "calls"), Column("mpi_ns", "MPI s", "ns"), Column("mpi_calls", "MPI calls", minor=True),
    Column("share", "%", "fraction"),
]  # fmt: skip
_CLASSES = [f"calls_from_{least}" for least in CLASSES]
_MPI = [
    Column("time_ns", "elapsed s", "ns"), Column("wait_ns", "wait s", "ns"), Column("calls", "calls"),
    Column("mean_bytes", "bytes", missing="-"),
    *(Column(key, head, missing="-") for key, head in zip(
        _CLASSES, ("0-4 KiB", "4-64 KiB", "64-1024 KiB", "1 MiB-"), strict=True
    )),
]  # fmt: skip
_MEMORY = [
    Column("memory_bytes", "bytes", missing="-"),
    *(Column(key, head, kind, missing="-") for key, head, kind in zip(
        MEMORY[1:],
        ("arenas", "in arenas", "in use", "free", "% at start", "% at end", "mapped blocks", "in mapped blocks"),
        ("count", "count", "count", "count", "fraction", "fraction", "count", "count"), strict=True,
    )),
]  # fmt: skip
_CALLS = [
    Column("calls", "calls"), Column("least_ns", "least s", "ns"), Column("most_ns", "most s", "ns"),
    Column("mean_ns", "mean s", "ns"), Column("least_bytes", "least bytes"), Column("most_bytes", "most bytes"),
    Column("mean_bytes", "mean bytes"),
]  # fmt: skip
_UNSEEN = {
    "new_arenas": "new arenas", "ended_arenas": "ended", "grown_by_brk": "by brk", "grown_by_mmap": "by mmap",
    "new_mapped": "mapped", "ended_mapped": "unmapped", "fast_bins": "fast bins", "search_most": "search most",
    "search_mean": "mean", "found_most": "found most", "found_mean": "mean", "failed_most": "failed most",
    "failed_mean": "mean",
}  # fmt: skip
"""Tables 3.45 and 3.46 of the Advanced Profiler's guide: glibc's malloc does not count these."""


def time_sheets(trace: Trace, window: Selection, most: int | None) -> tuple[list[Sheet], list[str]]:
    """The total time and calls of MPI, and notes."""
    numbers = section_sums.read(trace, window)
    processes, threads = ({key: {"": one} for key, one in of.items()} for of in (numbers.processes, numbers.threads))
    table = SectionTable(name="sections", title="Sections", columns=_TIMES, processes=processes, threads=threads)
    return levels(trace, numbers, table, most), numbers.notes


def mpi_sheets(trace: Trace, window: Selection, most: int | None) -> tuple[list[Sheet], list[str]]:
    """The functions of MPI, and notes. Reads the events twice, and the MPI events once more for the waits."""
    numbers, locations = section_sums.read(trace, window), window.rows(trace)
    waits = trace.call_waits(locations=locations)
    if waits.shortest:
        numbers.notes.append(f"wait s: waits below {waits.shortest:,} ns are left out")
    question = SectionCalls(trace, numbers.table, waits)
    ask(trace, [question], Selection.of(locations=locations))
    rows, names = question.answer(), trace.regions["name"]
    has_length = {str(names[region]) for region in question.has_length}

    def values(function: str, sums: Mapping[str, int]) -> SectionValues:
        return _mpi_values(sums, function in has_length)

    processes, threads = (
        {key: {name: values(name, one) for name, one in of.items()} for key, of in by_function(trace, rows, at).items()}
        for at in (trace.places.process, np.arange(trace.locations.rows))
    )
    title = "MPI functions in sections"
    table = SectionTable(
        name="section_mpi",
        title=title,
        columns=_MPI,
        processes=processes,
        threads=threads,
        function=True,
        nothing=lambda name: values(name, {}),
    )
    return levels(trace, numbers, table, most), numbers.notes


def _mpi_values(sums: Mapping[str, int], has_length: bool) -> SectionValues:
    values: SectionValues = {key: sums.get(key, 0) for key in ("time_ns", "wait_ns", "calls")}
    if has_length:
        values["mean_bytes"] = sums.get("bytes", 0) / max(sums.get("sized", 0), 1)
        values |= {key: sums.get(f"class_{place}", 0) for place, key in enumerate(_CLASSES)}
    return values


def memory_sheets(trace: Trace, window: Selection, most: int | None) -> tuple[list[Sheet], list[str]]:
    """The memory of malloc, its calls by function, and the items without a counter; notes."""
    rows = [row for row, name in enumerate(trace.metric_members["name"].tolist()) if name in LEVELS]
    numbers = section_sums.read(trace, window, rows, rows)
    question = AllocationCalls(trace, numbers.table)
    ask(trace, [question], Selection.of(locations=window.rows(trace)))
    calls = question.answer()
    if not rows and not calls:
        asked = f"VT_METRICS_AT=user vtrace run --memory --counters {','.join(LEVELS)}"
        numbers.notes.append(f"neither the counters of malloc nor its calls were recorded: {asked}")
    made = levels(trace, numbers, _memory(trace, numbers), most)
    made += levels(trace, numbers, _allocations(trace, numbers, calls), most)
    made.append(_libraries(trace, numbers, question.by_library(), most))
    columns = [*(Column(key, head, missing="-") for key, head in _UNSEEN.items()), Column("section", "section", "text")]
    unseen: list[Row] = [{"section": name} for name in order_of(numbers)]
    made.append(
        Sheet(
            name="section_arenas", title="Arenas and searches, which glibc does not count", columns=columns, rows=unseen
        )
    )
    return made, numbers.notes


def _memory(trace: Trace, numbers: SectionNumbers) -> SectionTable:
    """The counters belong to a process, so a process has the values of its first thread that has the section."""
    threads = {key: {"": memory_of(numbers.table, *key)} for key in numbers.threads}
    processes: dict[tuple[int, str], dict[str, SectionValues]] = {}
    for (location, name), values in sorted(threads.items()):
        processes.setdefault((int(trace.places.process[location]), name), values)
    return SectionTable(
        name="section_memory",
        title="Memory of malloc, change in sections",
        columns=_MEMORY,
        processes=processes,
        threads=threads,
    )


def _allocations(
    trace: Trace, numbers: SectionNumbers, calls: Mapping[tuple[int, int, str], AllocationNumbers]
) -> SectionTable:
    of: tuple[dict[tuple[int, str], dict[str, AllocationNumbers]], ...] = ({}, {})
    for (location, section, function), one in calls.items():
        for found, place in zip(of, (int(trace.places.process[location]), location), strict=True):
            here = found.setdefault((place, numbers.table.sections[section]), {})
            here[function] = here[function].plus(one) if function in here else one
    processes, threads = (
        {key: {name: _call_values(one) for name, one in here.items()} for key, here in found.items()} for found in of
    )
    title = "Calls of malloc and the like in sections"
    nothing: SectionValues = dict.fromkeys([column.key for column in _CALLS], 0)
    return SectionTable(
        name="section_allocations",
        title=title,
        columns=_CALLS,
        processes=processes,
        threads=threads,
        function=True,
        nothing=lambda name: nothing,
    )


def _libraries(
    trace: Trace, numbers: SectionNumbers, libraries: Mapping[str, AllocationsBySection], most: int | None
) -> Sheet:
    """The calls of each process by calling library; no rows if libraries were not recorded."""
    labels, order, rows = process_names(trace), order_of(numbers), []
    for library, calls in libraries.items():
        of: dict[tuple[int, int, str], AllocationNumbers] = {}
        for (location, section, function), one in calls.items():
            key = int(trace.places.process[location]), order.index(numbers.table.sections[section]), function
            of[key] = of[key].plus(one) if key in of else one
        rows += [(process, place, library, one.count, function, one) for (process, place, function), one in of.items()]
    rows.sort(key=lambda row: (row[0], row[1], row[2], -row[3], row[4]))
    shown: list[Row] = [
        {"process": labels[process], "section": order[place], "library": library, "function": function,
         **_call_values(one)}
        for process, place, library, _, function, one in rows if library
    ]  # fmt: skip
    words = [Column(name, name, "text") for name in ("library", "function", "section")]
    columns = [Column("process", "process", "text"), *_CALLS, *words]
    made = Sheet(
        name="section_allocations_by_library",
        title="Calls of malloc and the like by calling library",
        columns=columns,
        rows=shown,
    )
    return made.cut(len(shown) if most is None else most, "--top shows more, all with --json or --csv")


def _call_values(one: AllocationNumbers) -> SectionValues:
    return {
        "calls": one.count, "least_ns": one.least_ns, "most_ns": one.most_ns, "mean_ns": one.ns / one.count,
        "least_bytes": one.least, "most_bytes": one.most, "mean_bytes": one.bytes / one.count,
    }  # fmt: skip


def page_sheets(trace: Trace, window: Selection, most: int) -> list[Sheet]:
    """The tables of vtrace report: times, functions of MPI, counters and the formulas that the recorded counters allow;
    none without sections. most: rows of a table."""
    if not section_metrics(trace):
        return []
    found = time_sheets(trace, window, most)[0]
    if (trace.regions["paradigm"] == "MPI").any():
        found += mpi_sheets(trace, window, most)[0]
    return [*found, *_counter_sheets(trace, window, most)]


def _counter_sheets(trace: Trace, window: Selection, most: int) -> Iterator[Sheet]:
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
