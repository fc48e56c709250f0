# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of the HTML report, from one pass; descriptions of a trace that several commands print."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis import programs
from vtrace.analysis.activity import MEMORY, TREE, USER
from vtrace.analysis.cut_line import cut_line
from vtrace.analysis.findings.allocation_callers import peak_paths
from vtrace.analysis.ledger import coverage_line
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions import activity_bins, path_sums
from vtrace.analysis.questions.activity_times import Spans
from vtrace.analysis.questions.allocation_blocks import AllocationBlocks, HeapBlocks, has_blocks
from vtrace.analysis.questions.collectives import CollectiveTotals
from vtrace.analysis.questions.cost_rows import CostRows
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.increases import Increases, Path
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import Matrix, MessageMatrix
from vtrace.analysis.questions.metrics import Metrics, heap_curve, heap_metrics
from vtrace.analysis.questions.profile import CallTree, Profile
from vtrace.analysis.questions.sizes import MessageSizes
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.console import some
from vtrace.reports import counter_charts, spread, topology
from vtrace.reports.metric_sheets import counters_of
from vtrace.text import shell_command

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_ROWS = 256
"""The most rows of the timeline, of the matrix and of the bars; more locations share rows."""
_BINS = 400
_PATHS = 3000
_PATH_SHARE = 2000
"""Call paths with less than 1/_PATH_SHARE of the time are not drawn."""
_CURVES = 16
"""Maximum number of processes with heap curves of their own; otherwise minimum, mean and maximum are drawn."""
_POINTS = 2000


@dataclass
class ReportNumbers:
    """The contents of the report; times in ns."""

    trace: Trace
    window: Selection
    profile: Table
    collectives: Table
    io: Table
    costs: Costs | None
    """None for an archive without calling contexts, unless runs are compared."""
    counters: dict[tuple[int, int, Path], float]
    """The answer of the question Increases."""
    charts: dict[str, Any]
    """The data of the charts, for report.js."""
    notes: list[str]


def read(trace: Trace, window: Selection, compared: bool = False) -> ReportNumbers:
    """Reads the events of a selection once. compared: keeps the costs of calls also without calling contexts."""
    locations, ends = window.rows(trace), window.ends(trace)
    shared = np.full(trace.locations.rows, -1, np.int64)
    shared[locations] = activity_bins.grouped(range(len(locations)), min(_ROWS, len(locations)))
    profile, tree, matrix, totals, io = Profile(), CallTree(), MessageMatrix(), CollectiveTotals(), Io()
    classes = trace.regions["class"]
    line = activity_bins.Timeline(_BINS, classes, classes=len(trace.regions.classes), rows=shared, window=ends)
    sizes = MessageSizes(_BINS // 2, ends)
    grid = topology.largest(trace)
    spans = Spans()
    heap = Metrics(np.array(list(heap_metrics(trace).values()), np.int64), 4 * _POINTS)
    blocks = [AllocationBlocks()] if has_blocks(trace) and not window.locations else []  # any thread may free a block
    inside = [CostQuestion()] if trace.contexts.rows or compared else []
    counted = [Increases(trace, wanted)] if (wanted := counters_of(trace)) else []
    questions: list[AnyQuestion] = [
        *counted, profile, tree, matrix, totals, io, line, sizes, heap, spans, *inside, *blocks,
    ]  # fmt: skip
    met = ask(trace, questions, Selection.of(*ends, window.locations))
    costs = inside[0].answer() if inside else None
    if costs is not None and costs.samples.rows:
        flame = _sampled_flame(trace, window, costs)
    else:
        flame = _flame_of_calls(trace, *tree.answer())
    increases = counted[0].answer() if counted else {}
    charts = {
        "classes": list(trace.regions.classes), "styles": [one.style for one in TREE], "begin": ends[0], "end": ends[1],
        "timeline": _timeline(trace, line.answer(), shared, ends), "flame": flame,
        "matrix": _matrix(trace, matrix.answer()), "sizes": _sizes(sizes.answer()),
        "heap": _heap(trace, heap_curve(heap.answer(), trace)),
        "peak": _peak(trace, blocks[0].answer()) if blocks else None,
        "topology": topology.chart(trace, grid, profile.answer(), spans.answer()) if grid else None,
        "counters": counter_charts.chart(trace, window, increases),
        "spread": spread.chart(trace, window, costs), "run": "", "others": [], "compared": None,
    }  # fmt: skip
    answers = profile.answer(), totals.answer(), io.answer()
    return ReportNumbers(trace, window, *answers, costs, increases, charts, met.problems)


def packed(values: Array) -> str:
    """The bytes of an array in base64, for JSON."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _timeline(trace: Trace, seconds: Array, shared: Array, ends: tuple[int, int]) -> dict[str, Any]:
    """The chart of times: seconds of each class by row; the share of each class in percent, by row and bin."""
    names = location_names(trace)
    rows = []
    for row in range(seconds.shape[0]):
        members = np.flatnonzero(shared == row)
        rows.append(names[members[0]] + (f" to {names[members[-1]]}" if len(members) > 1 else ""))
    total = seconds.sum(axis=1, keepdims=True)
    share = np.divide(seconds, total, out=np.zeros_like(seconds), where=total > 0)
    main = np.where(total[:, 0] > 0, seconds.argmax(axis=1), 255).astype(np.uint8)
    return {
        "rows": rows, "bins": seconds.shape[2], "main": packed(main),
        "share": packed(np.rint(share * 100).astype(np.uint8)), "seconds": seconds.sum(axis=2).round(9).tolist(),
        "locations": int(np.count_nonzero(shared >= 0)),
    }  # fmt: skip


def _flame_of_calls(trace: Trace, paths: Table, numbers: Table) -> dict[str, Any]:
    time, calls = (add_up(numbers["path"], numbers[name], paths.rows) for name in ("total", "calls"))
    return _flame(trace, paths, time, calls)


def _sampled_flame(trace: Trace, window: Selection, costs: Costs) -> dict[str, Any]:
    """The time of the program's own code from samples, of other calls as recorded, like `vtrace profile --by
    callpath`."""
    found = CostRows(trace, window, costs=costs, by="callpath", patterns=Patterns()).table
    own, calls = np.zeros(costs.tree.rows), np.zeros(costs.tree.rows, np.int64)
    own[found["key"]], calls[found["key"]] = found["exclusive"], found["calls"]
    time = path_sums.below(costs.tree["parent"], own).astype(np.int64)
    return _flame(trace, costs.tree, time, calls)


def _flame(trace: Trace, paths: Table, time: Array, calls: Array) -> dict[str, Any]:
    """The flame graph: the largest call paths, all locations together. time (ns), calls: of each path."""
    whole = int(time[paths["depth"] == 1].sum())
    time[0] = whole
    order = np.argsort(-time, kind="stable")[:_PATHS]
    shown = {0}
    for row in np.sort(order[time[order] * _PATH_SHARE >= whole]).tolist():
        if int(paths["parent"][row]) in shown:  # numbers of parents are smaller
            shown.add(row)
    kept = np.array(sorted(shown - {0}), np.int64)
    regions = paths["region"][kept]
    return {
        "path": kept.tolist(), "parent": paths["parent"][kept].tolist(), "time": time[kept].tolist(),
        "calls": calls[kept].tolist(), "name": [str(name) for name in trace.regions["name"][regions]],
        "class": trace.regions["class"][regions].tolist(), "whole": whole,
    }  # fmt: skip


def _peak(trace: Trace, blocks: HeapBlocks) -> dict[str, Any] | None:
    """The flame graph of the bytes in use when each process's heap is largest; calls: of all blocks of a path."""
    found = peak_paths(trace, blocks)
    number, kept = {path: row for row, path in enumerate(found)}, [*found][1:]
    of_memory = set(trace.regions["name"][trace.regions["class"] == MEMORY].tolist())
    return {
        "path": [number[path] for path in kept], "parent": [number[path[:-1]] for path in kept],
        "time": [found[path][0] for path in kept], "calls": [found[path][1] for path in kept],
        "name": [path[-1] for path in kept], "whole": found[()][0],
        "class": [MEMORY if path[-1] in of_memory else USER for path in kept],
    } if found else None  # fmt: skip


def _matrix(trace: Trace, found: Matrix) -> dict[str, Any] | None:
    if not len(found.sender):
        return None
    size = min(_ROWS, found.size)
    sums = {}
    for what in ("count", "bytes"):
        dense = np.zeros((size, size), np.int64)
        np.add.at(dense, (found.sender * size // found.size, found.receiver * size // found.size), getattr(found, what))
        sums[what] = packed(dense.astype(np.float64))
    names = process_names(trace)
    first = [next(p for p in range(found.size) if p * size // found.size == row) for row in range(size)]
    each = -(-found.size // size)
    pairs = found.table().order("bytes").take(slice(50))
    return sums | {
        "rows": [names[p] + (" ..." if each > 1 else "") for p in first], "messages": int(found.count.sum()),
        "total": int(found.bytes.sum()), "each": each, "pairs": len(found.sender),
        "largest": [[names[r["sender"]], names[r["receiver"]], r["count"], r["bytes"]] for r in pairs.records()],
    }  # fmt: skip


def _sizes(counts: Array) -> dict[str, Any] | None:
    used = np.flatnonzero(counts.sum(axis=1))
    if not len(used):
        return None
    kept = counts[used[0] : used[-1] + 1]
    return {
        "first": int(used[0]),
        "powers": len(kept),
        "bins": counts.shape[1],
        "counts": packed(kept.astype(np.float64)),
    }


def _heap(trace: Trace, curve: Table) -> dict[str, Any] | None:
    """The curve of each process; for many processes, the minimum, the maximum and the mean instead."""
    names, curves, all_of = process_names(trace), [], curve
    curve = curve.take(curve["bytes"] >= 0)  # with many values, those of bytes and of blocks are of different times
    if not curve.rows:
        return None
    processes = np.unique(curve["process"])
    peaks = []
    for process in processes.tolist():
        rows = curve.take(curve["process"] == process)
        blocks = int(all_of["blocks"][all_of["process"] == process].max())
        peaks.append([names[process], int(rows["bytes"].max()), blocks, int(rows["bytes"][-1])])
        if len(processes) <= _CURVES:
            some = rows.take(np.unique(np.linspace(0, rows.rows - 1, min(_POINTS, rows.rows)).astype(int)))
            curves.append({"name": names[process], "time": some["time"].tolist(), "bytes": some["bytes"].tolist()})
    if not curves:
        curves = _envelope(curve, processes)
    return {"curves": curves, "peaks": peaks}


def _envelope(curve: Table, processes: Array) -> list[dict[str, Any]]:
    times = np.linspace(int(curve["time"].min()), int(curve["time"].max()), 400).astype(np.int64)
    values = np.zeros((len(processes), len(times)))
    for row, process in enumerate(processes.tolist()):
        mine = curve.take(curve["process"] == process)
        at = np.searchsorted(mine["time"], times, "right") - 1
        values[row] = np.where(at >= 0, mine["bytes"][np.maximum(at, 0)], 0)
    lines = ("largest process", values.max(axis=0)), ("mean", values.mean(axis=0)), ("smallest", values.min(axis=0))
    return [{"name": name, "time": times.tolist(), "bytes": line.round().tolist()} for name, line in lines]


def _shown(trace: Trace, window: Selection) -> str:
    begin, end = window.ends(trace)
    span = f"{begin / 1e9:.6g} s to {end / 1e9:.6g} s, {some(len(window.rows(trace)), 'location')}"
    return span if window.text else ""


def about(trace: Trace, window: Selection) -> list[tuple[str, str]]:
    """Facts about the run and the archive: names and texts."""
    facts = trace.vtrace.get("ABOUT", {})
    hosts = list(dict.fromkeys(filter(None, trace.processes["host"].tolist())))
    when = datetime.fromtimestamp(trace.start / 1e9).astimezone().isoformat(" ", "seconds") if trace.start else ""
    command = "; ".join(programs.lines(trace)) or shell_command(facts.get("command", []))
    pairs = [
        ("command", command), ("recorded", when), ("by", facts.get("user", "")),
        ("directory", facts.get("directory", "")), ("hosts", ", ".join(hosts[:8]) + (" ..." if len(hosts) > 8 else "")),
        ("archive", str(trace.path)), ("written by", facts.get("recorded_by") or trace.creator),
        ("MPI", facts.get("shim.mpi", "")), ("processes", f"{trace.processes.rows:,}"),
        ("locations", f"{trace.locations.rows:,}"), ("events", f"{int(trace.locations['events'].sum()):,}"),
        ("time", f"{trace.duration / 1e9:.6g} s"), ("cut", cut_line(trace.vtrace)),
        ("shown", _shown(trace, window)),
    ]  # fmt: skip
    return [(name, text) for name, text in pairs if text]


def missing(trace: Trace, window: Selection) -> str:
    """The losses of a recording in one line; "" if the archive has no ledger."""
    found = trace.coverage().take(window.threads(trace))
    if (found["lost"] < 0).all() and not trace.ledger.has_intervals:
        return ""
    sums = {name: int(found[name][found[name] > 0].sum()) for name in ("lost", "dropped", "clamped")}
    sums |= {name: int((found[name] > 0).sum()) for name in ("limit", "unknown")}
    times = {"off": "off", "flushed": "flushing"}
    seconds = {name: float(np.nansum(found[column])) for name, column in times.items()}
    return coverage_line(trace.not_recorded(window.recorded, window.start, window.stop), sums | seconds)


def regions(trace: Trace, profile: Table) -> Table:
    """The profile by region: region, calls, inclusive, exclusive, total, min, max (ns), imbalance (exclusive time: the
    largest process divided by the mean of all processes), by exclusive time."""
    from vtrace.analysis.questions.profile import reduce

    process = trace.places.process[profile["location"]]
    first, member = group([profile["region"], process])
    each = add_up(member, profile["exclusive"], len(first))
    table = reduce(profile, "region")
    largest = np.zeros(trace.regions.rows, np.int64)
    np.maximum.at(largest, profile["region"][first], each)
    mean = table["exclusive"] / max(1, len(np.unique(process)))
    imbalance = np.divide(largest[table["region"]], mean, out=np.ones(table.rows), where=mean > 0)
    return Table({**table, "imbalance": imbalance}).order("exclusive")
