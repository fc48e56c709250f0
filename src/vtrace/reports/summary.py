# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of vtrace summary, from one pass, and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.definition_tables import source_text
from vtrace.analysis.processor_waits import BlockedTimes, ProcessorWaits
from vtrace.analysis.programs import of_processes
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.activity_times import Extent, activity_times, init_and_finalize_times
from vtrace.analysis.questions.collectives import CollectiveTotals, by_operation, operation_text
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.device_activities import device_activities, target_calls
from vtrace.analysis.questions.increases import Increases, Path
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import Matrix, MessageMatrix
from vtrace.analysis.questions.metrics import Allocations, Metrics, heap_curve, heap_metrics
from vtrace.analysis.questions.profile import Profile, mean_and_deviation
from vtrace.analysis.questions.rma import Rma
from vtrace.analysis.questions.timeline_data import location_names, process_names, span
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.console import some
from vtrace.reports import report_numbers
from vtrace.reports.byte_sheets import call_bytes
from vtrace.reports.device_sheets import devices, kernels_and_copies
from vtrace.reports.io_sheets import io
from vtrace.reports.metric_sheets import counters, counters_of
from vtrace.reports.rma_sheets import rma, rma_synchronization
from vtrace.reports.sample_sheets import samples
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_FEW = 8
"""The most values of a location's heap to keep, including the highest and the last value."""
_SIZE = "ALLOCATION_SIZE"


@dataclass(kw_only=True)
class SummaryNumbers:
    """The numbers; times in ns.

    classes: (locations, classes + 1), the last class is the time outside all regions. ends: (locations, 2), MPI's time
    in its initialisation and in its finalisation.
    """

    trace: Trace
    window: Selection
    profile: Table
    classes: Array
    ends: Array
    matrix: Matrix
    collectives: Table
    rma: Table
    io: Table
    heap: Table
    allocations: Table
    devices: Table
    """What devices do, from the question DeviceActivities."""
    targets: Table
    """The calls of threads in target regions of OpenMP, from the same question."""
    costs: Costs | None
    """None: the archive has no calling contexts, so no samples."""
    increases: dict[tuple[int, int, Path], float]
    """The increases of counters, from the question Increases."""
    events: int
    """The number of events read."""
    notes: list[str]
    """Damage and inconsistencies of the archive, one line each."""

    @property
    def caveats(self) -> list[str]:
        """trace.caveats of the selection."""
        return self.window.caveats(self.trace)


def read(trace: Trace, window: Selection) -> SummaryNumbers:
    """Reads the events of a selection once."""
    profile, extent, matrix, totals = Profile(), Extent(), MessageMatrix(), CollectiveTotals()
    rma, io, increases = Rma(), Io(), Increases(trace, counters_of(trace))
    heap = Metrics(np.array(list(heap_metrics(trace).values()), np.int64), _FEW)
    allocations = Allocations()
    questions: list[AnyQuestion] = [profile, extent, matrix, totals, rma, io]
    questions += [heap] if len(heap_metrics(trace)) else []
    questions += [increases] if increases.wanted else []
    questions += [allocations] if _SIZE in trace.attributes["name"].tolist() else []
    costs = CostQuestion() if trace.contexts.rows else None
    questions += [costs] if costs else []
    met = ask(trace, questions, window)
    notes = [f"{met.stray:,} Leave events without an Enter are left out"] if met.stray else []
    notes += [f"{met.unknown:,} events are of kinds that the installed OTF2 does not know"] if met.unknown else []
    table = profile.answer()
    return SummaryNumbers(
        trace=trace,
        window=window,
        profile=table,
        classes=activity_times(trace, table, extent.answer(), window),
        ends=init_and_finalize_times(trace, table),
        matrix=matrix.answer(),
        collectives=totals.answer(),
        rma=rma.answer(),
        io=io.answer(),
        heap=heap_curve(heap.answer(), trace),
        allocations=allocations.answer(),
        devices=device_activities(trace, window),
        targets=target_calls(trace, window),
        costs=costs.answer() if costs else None,
        increases=increases.answer(),
        events=sum(met.events.values()),
        notes=notes + met.problems,
    )


def class_times(numbers: SummaryNumbers) -> dict[str, Array]:
    """(locations,) ns by class, and outside of all regions. MPI's initialisation and finalisation are separate
    classes."""
    found = dict(zip([*numbers.trace.regions.classes, "outside"], numbers.classes.T, strict=True))
    ends = {"MPI init": numbers.ends[:, 0], "MPI finalize": numbers.ends[:, 1]}
    parts = found | {"MPI": found["MPI"] - numbers.ends.sum(axis=1)} | ends
    order = [name for first in found for name in ([first, *ends] if first == "MPI" else [first])]
    return {name: parts[name] for name in order}


def heap_peaks(numbers: SummaryNumbers) -> dict[int, dict[str, Any]]:
    """By process the largest bytes, the most blocks (None: not recorded), and the bytes at the end."""
    found = {}
    curve = numbers.heap
    bounds = np.flatnonzero(np.diff(curve["process"], prepend=-2, append=-2))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        sizes, blocks = curve["bytes"][first:last], curve["blocks"][first:last]
        found[int(curve["process"][first])] = {
            "peak_bytes": int(sizes.max()), "peak_blocks": int(blocks.max()) if blocks.max() >= 0 else None,
            "end_bytes": int(sizes[-1]),
        }  # fmt: skip
    return found


MOST_LOCATIONS = 24
"""With more locations than this, text shows only locations with extreme values."""
_NOTABLE = 0.001
"""Extremes are not shown for classes with a smaller share of the time."""
_NOTHING = "no calls were recorded here"
_COMMUNICATION = "MPI other"
"""Key of the class MPI without initialisation and finalisation."""
ALL = "all with --json or --csv"


def sheets(numbers: SummaryNumbers, sort: str = "exclusive", top: int = 20) -> list[Sheet]:
    """All tables. sort: order of regions; top: rows in text."""
    whole, more = float(numbers.classes.sum()), f"--top shows more, {ALL}"
    made = (
        classes(numbers), samples(numbers.trace, numbers.window, numbers.costs, whole=whole).cut(top, more),
        regions(numbers, sort).cut(top, more), call_bytes(numbers).cut(top, ALL), messages(numbers).cut(top, ALL),
        collectives(numbers).cut(top, ALL), rma(numbers).cut(top, ALL),
        rma_synchronization(numbers), devices(numbers.trace, numbers.devices).cut(top, ALL),
        kernels_and_copies(numbers.trace, numbers.devices, numbers.targets).cut(top, ALL), *io(numbers, top, ALL),
        heap(numbers).cut(top, ALL), counters(numbers.trace, numbers.increases).cut(top, ALL), coverage(numbers, top),
    )  # fmt: skip
    return list(made)


def lead(numbers: SummaryNumbers) -> str:
    """The time by class in one sentence: shares of the time of all locations."""
    sums = {name: int(times.sum()) for name, times in class_times(numbers).items()}
    whole = sum(sums.values())
    order = sorted(filter(sums.get, sums), key=lambda name: -sums[name])
    locations = np.count_nonzero(numbers.classes.sum(axis=1))
    left = numbers.window.left_out(numbers.trace)
    without = f" (without {left})" if left else ""
    parts = ", ".join(f"{100 * (sums[name] / whole):.3g} % {name}" for name in order)
    return f"{span(whole)} on {some(int(locations), 'location')}{without}: {parts}" if whole else _NOTHING


def processor_line(numbers: SummaryNumbers) -> str:
    """How the time of all locations splits into running, waiting for a processor and being blocked; "" if unknown.
    Shorter times off the processor than vtrace records count as running."""
    window, lives = numbers.window, numbers.classes.sum(axis=1)
    times = ProcessorWaits(numbers.trace), BlockedTimes(numbers.trace)
    if not lives.any() or not any(len(each.location) for each in times):
        return ""
    every = np.ones(numbers.trace.regions.rows + 1, bool)
    off = [each.by_location(window.start, window.stop, regions=every) * (lives > 0) for each in times]
    whole = np.maximum(lives, off[0] + off[1]).sum()  # a thread may sleep before its first event
    ready, blocked = (round(100 * each.sum() / whole, 2) for each in off)
    ran = round(100 - ready - blocked, 2)
    return f"{ran:.3g} % ran, {ready:.3g} % could run but waited for a processor, {blocked:.3g} % blocked"


def _class_key(name: str) -> str:
    return f"{name.replace(' ', '_').replace('/', '').lower()}_ns"


def classes(numbers: SummaryNumbers) -> Sheet:
    """Time by class of each location."""
    trace, times = numbers.trace, class_times(numbers)
    times = {_COMMUNICATION if name == "MPI" else name: ns for name, ns in times.items()}
    keys = {name: _class_key(name) for name in times}
    by_key = [(keys[name], ns.astype(np.int64).tolist()) for name, ns in times.items()]
    process, labels = trace.places.process.tolist(), location_names(trace)
    threads, helper = trace.locations["name"].tolist(), trace.locations["helper"].tolist()
    mpi, total = numbers.classes[:, MPI].tolist(), numbers.classes.sum(axis=1).astype(np.int64).tolist()
    of_process = [*zip(trace.processes["name"].tolist(), trace.processes["host"].tolist(), strict=True), ("", "")]
    programs = [*of_processes(trace), (-1, "", "")]
    rows = []
    for row in numbers.window.rows(trace):
        (name, host), (rank, executable, command) = of_process[process[row]], programs[process[row]]
        rows.append({
            "location": labels[row], "rank": rank if rank >= 0 else None, "process": name, "thread": threads[row],
            "helper": helper[row], "host": host, "executable": executable, "command": command,
            "total_ns": total[row], "mpi_ns": mpi[row], **{key: ns[row] for key, ns in by_key},
        })  # fmt: skip
    there = {name for name, ns in times.items() if ns.any()}
    columns = [
        Column("location", "location", "text"), Column("rank"), Column("process", kind="text"),
        Column("thread", kind="text"), Column("helper", kind="mark"), Column("host", kind="text"),
        Column("executable", kind="text"), Column("command", kind="text"), Column("total_ns", "total s", "ns"),
        Column("mpi_ns", kind="ns"),
        *(Column(key, f"{name.removesuffix(' other')} s" if name in there else "", "ns") for name, key in keys.items()),
    ]  # fmt: skip
    sheet = Sheet(name="classes", title="Time by class, each location", columns=columns, rows=rows)
    sums = {key: sum(row[key] for row in rows) for key in ("total_ns", *keys.values())}
    if len(rows) > 1:
        sheet.totals = {"location": "all", **sums}
    if len(rows) > MOST_LOCATIONS:
        _extremes(sheet, [key for key in sums if sums[key] > _NOTABLE * sums["total_ns"]])
    if left := numbers.window.left_out(trace):
        sheet.notes.append(f"{left} (class runtime) not in these times: --ranks helpers")
    return sheet


def _extremes(sheet: Sheet, keys: list[str]) -> None:
    """Shows only locations with the largest or smallest value of a column."""
    for key in keys:
        values = [row[key] for row in sheet.rows]
        if max(values) == min(values):
            continue
        sheet.marks[values.index(max(values)), key] = "^"
        sheet.marks.setdefault((values.index(min(values)), key), "v")
    sheet.shown = sorted({row for row, _ in sheet.marks} or range(MOST_LOCATIONS))
    left = len(sheet.rows) - len(sheet.shown)
    sheet.notes.append(f"^ the most and v the least of {len(sheet.rows):,}; {left:,} are left out here: {ALL}")


def regions(numbers: SummaryNumbers, sort: str) -> Sheet:
    """The profile by region; percent is of the time of all locations, as in lead."""
    trace = numbers.trace
    table = report_numbers.regions(trace, numbers.profile)
    mean, deviation = mean_and_deviation(table)
    whole, known = max(1, int(numbers.classes.sum())), trace.regions
    rows: list[Row] = []
    for place, r in enumerate(table.records()):
        at = r["region"]
        rows.append({
            "exclusive_ns": r["exclusive"], "percent": 100 * r["exclusive"] / whole, "inclusive_ns": r["inclusive"],
            "calls": r["calls"], "min_ns": r["min"], "mean_ns": float(mean[place]), "max_ns": r["max"],
            "deviation_ns": float(deviation[place]), "imbalance": float(r["imbalance"]),
            "class": str(known.classes[known["class"][at]]), "region": str(known["name"][at]),
            "source": source_text(known, at),
        })  # fmt: skip
    if sort == "name":
        rows.sort(key=lambda row: row["region"])
    else:
        key = sort if sort in ("calls", "imbalance") else f"{sort}_ns"
        rows.sort(key=lambda row: -row[key])
    columns = [
        Column("exclusive_ns", "exclusive s", "ns"), Column("percent", "%", "share"),
        Column("inclusive_ns", "inclusive s", "ns"), Column("calls", "calls"),
        Column("min_ns", "min", "span", minor=True), Column("mean_ns", "mean", "span"),
        Column("max_ns", "max", "span", minor=True), Column("deviation_ns"),
        Column("imbalance", "imbalance", "ratio", minor=True), Column("class", "class", "text", minor=True),
        Column("region", "region", "text"), Column("source", kind="text"),
    ]  # fmt: skip
    outside = int(class_times(numbers)["outside"].sum())
    below = {
        "exclusive_ns": outside,
        "percent": 100 * outside / whole,
        "class": "outside",
        "region": "outside of calls",
    }
    return Sheet(
        name="regions", title=f"Regions by {sort}", columns=columns, rows=rows, totals=below if outside else {}
    )


def messages(numbers: SummaryNumbers) -> Sheet:
    """Messages by sender and receiver, the most bytes first."""
    table, names = numbers.matrix.table().order("bytes"), process_names(numbers.trace)
    rows = [
        {"from": names[r["sender"]], "to": names[r["receiver"]], "messages": r["count"], "bytes": r["bytes"],
         "mean_bytes": r["bytes"] / r["count"]}
        for r in table.records()
    ]  # fmt: skip
    columns = [
        Column("from", "from", "text"), Column("to", "to", "text"), Column("messages", "messages"),
        Column("bytes", "bytes"), Column("mean_bytes", "mean", "ratio"),
    ]  # fmt: skip
    count, size = int(table["count"].sum()), int(table["bytes"].sum())
    return Sheet(
        name="messages",
        title=f"Messages: {count:,} with {size:,} bytes, {some(len(rows), 'pair')}",
        columns=columns,
        rows=rows,
    )


def collectives(numbers: SummaryNumbers) -> Sheet:
    """Collective operations by communicator, the longest time first."""
    names = [*numbers.trace.comms["name"].tolist(), ""]
    rows: list[Row] = [
        {"operation": operation_text(r["op"]), "communicator": str(names[r["comm"]]), "calls": r["calls"],
         "sent_bytes": r["sent"], "received_bytes": r["received"], "time_ns": r["ns"]}
        for r in by_operation(numbers.collectives).records()
    ]  # fmt: skip
    columns = [
        Column("time_ns", "time s", "ns"), Column("calls", "calls"), Column("sent_bytes", "bytes sent"),
        Column("received_bytes", "bytes received"), Column("operation", "operation", "text"),
        Column("communicator", "communicator", "text"),
    ]  # fmt: skip
    title = f"Collective operations: {some(sum(row['calls'] for row in rows), 'call')}"
    return Sheet(name="collectives", title=title, columns=columns, rows=rows)


_ALLOCATED = "allocations allocated frees freed failed".split()


def heap(numbers: SummaryNumbers) -> Sheet:
    """The heap of each process, the largest first."""
    trace = numbers.trace
    peaks, found = heap_peaks(numbers), numbers.allocations
    process = trace.places.process[found["location"]]
    first, member = group([process])
    sums = {name: add_up(member, found[name], len(first)) for name in _ALLOCATED}
    rows: dict[int, dict[str, Any]] = {of: dict(peak) for of, peak in peaks.items()}
    for row, of in enumerate(process[first].tolist()):
        rows.setdefault(of, {}).update({name: int(sums[name][row]) for name in _ALLOCATED})
    names = [*process_names(trace), ""]
    made: list[Row] = [{"process": names[of], **row} for of, row in sorted(rows.items())]
    made.sort(key=lambda row: -row.get("peak_bytes", 0))
    columns = [
        Column("process", "process", "text"), Column("peak_bytes", "largest bytes"),
        Column("peak_blocks", "most blocks"), Column("end_bytes", "bytes at the end"),
        Column("allocations", "allocations"), Column("allocated", "bytes allocated"), Column("frees", "frees"),
        Column("freed", "bytes freed"), Column("failed", "failed"),
    ]  # fmt: skip
    return Sheet(name="heap", title="Heap", columns=columns, rows=made)


def coverage(numbers: SummaryNumbers, top: int) -> Sheet:
    """The completeness of each location; text shows locations with losses."""
    trace = numbers.trace
    found, names = trace.coverage().take(numbers.window.threads(trace)), location_names(trace)
    losses = ("lost", "clamped", "dropped")
    rows: list[Row] = [
        {"location": names[r["location"]],
         **{key: r[key] if np.isfinite(r[key]) else None for key in ("seconds", "off", "flushing")},
         **{key: r[key] if r[key] >= 0 else None for key in losses}, "limit": bool(r["limit"] > 0),
         "died": bool(r["died"] > 0), "unknown": bool(r["unknown"] > 0)}
        for r in found.records()
    ]  # fmt: skip
    columns = [
        Column("location", "location", "text"), Column("seconds", "recorded s", "ratio"),
        Column("off", "off s", "ratio"), Column("flushing", "flushing s", "ratio"), Column("lost", "lost"),
        Column("clamped", "times clamped"), Column("dropped", "overwritten"),
        Column("limit", "stopped", "mark"), Column("died", "died", "mark"),
        Column("unknown", "more, unknown", "mark"),
    ]  # fmt: skip
    short = [
        at
        for at, row in enumerate(rows)
        if row["limit"] or row["died"] or row["off"] or row["unknown"] or any(row[key] for key in losses)
    ]
    return Sheet(name="coverage", title="Locations with incomplete recording", columns=columns, rows=rows).cut(
        top, ALL, short
    )
