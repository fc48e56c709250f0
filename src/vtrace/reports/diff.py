# SPDX-License-Identifier: BSD-3-Clause
"""Differences between two runs, aligned by names, since ids differ between archives."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import IO, RUNTIME, RUNTIME_MARK
from vtrace.analysis.questions.activity_times import Extent
from vtrace.analysis.questions.collectives import CollectiveTotals, op_name
from vtrace.analysis.questions.cost_rows import CostRows
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.increases import Increases
from vtrace.analysis.questions.io_files import Io, reduce_io
from vtrace.analysis.questions.messages import MessageMatrix
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table, add_up
from vtrace.console import some
from vtrace.reports.comparison import matched
from vtrace.reports.metric_sheets import counters_of
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_CERTAIN = 2
"""A difference of samples counts as a change if it has at least this number of standard errors."""
_PATH = ("calls", "inclusive", "exclusive")
SumsByKey = dict[Hashable, dict[str, Any]]
"""Numbers by the name of the counted object."""


@dataclass
class DiffRun:
    """The sums of one archive over a selection. paths: by numbers of CallPaths. samples: of the program's own code, by
    function; variance: of the exclusive time, ns squared."""

    trace: Trace
    processes: int
    classes: SumsByKey = field(default_factory=dict)
    paths: SumsByKey = field(default_factory=dict)
    samples: SumsByKey = field(default_factory=dict)
    messages: SumsByKey = field(default_factory=dict)
    collectives: SumsByKey = field(default_factory=dict)
    files: SumsByKey = field(default_factory=dict)
    counters: SumsByKey = field(default_factory=dict)
    """Increases of counters, by name and unit."""
    problems: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    """trace.caveats of the selection."""
    elapsed: int = 0
    """ns from the first to the last event of the selection."""
    tree: tuple[Table, Table] = field(default_factory=lambda: (Table({}), Table({})))
    """The answer of Trace.call_tree."""


class CallPaths:
    """Call paths by the names of their regions, numbered for both runs; 0 is the root."""

    def __init__(self) -> None:
        self.number: dict[tuple[int, str], int] = {}
        self.around: list[tuple[int, str]] = [(0, "")]

    def of(self, parent: int, name: str) -> int:
        """The number of the path from parent to a region with this name."""
        key = parent, name
        if key not in self.number:
            self.number[key] = len(self.around)
            self.around.append(key)
        return self.number[key]

    def names(self, path: int) -> list[str]:
        """The names of a path's regions, the outermost first."""
        found: list[str] = []
        while path:
            path, name = self.around[path]
            found.insert(0, name)
        return found


def read(trace: Trace, window: Selection, paths: CallPaths) -> DiffRun:
    """Reads the events of a selection once."""
    tree, matrix, totals, io = CallTree(), MessageMatrix(), CollectiveTotals(), Io()
    inside = [CostQuestion()] if trace.contexts.rows else []
    extent, counted = Extent(), counters_of(trace)
    increases = [Increases(trace, counted)] if counted else []
    met = ask(trace, [tree, matrix, totals, io, extent, *increases, *inside], window)
    members = trace.places.process[window.rows(trace)]
    run = DiffRun(trace, max(1, len(np.unique(members[members >= 0]))), problems=met.problems)
    run.caveats = window.caveats(trace)
    run.elapsed, run.tree = _elapsed(window, extent.answer()), tree.answer()
    _paths(run, paths, *run.tree)
    for question in inside:
        _samples(run, window, question.answer())
    names = [str(name) for name in trace.processes["name"]]
    for pair in matrix.answer().table().records():
        _add(run.messages, (names[pair["sender"]], names[pair["receiver"]]), pair, ("count", "bytes"))
    comms = [*trace.comms["name"].tolist(), ""]
    for one in totals.answer().records():
        _add(run.collectives, (op_name(one["op"]), comms[one["comm"]]), one, ("calls", "sent", "received", "ns"))
    files = [*trace.files["name"].tolist(), "(no file)"]
    for one in reduce_io(io.answer(), "file").records():
        one["ns"] = one["read_ns"] + one["write_ns"] + one["flush_ns"]
        _add(run.files, files[one["file"]], one, ("opens", "reads", "writes", "bytes_read", "bytes_written", "ns"))
    of = list(zip(trace.metric_members["name"].tolist(), trace.metric_members["unit"].tolist(), strict=True))
    for (_, metric, _), value in (pair for question in increases for pair in question.answer().items()):
        _add(run.counters, of[metric], {"increase": int(value) if value == int(value) else value}, ("increase",))
    return run


def _elapsed(window: Selection, extent: Table) -> int:
    """ns from the first to the last event in a window."""
    if not extent.rows:
        return 0
    first, last = int(extent["first"].min()), int(extent["last"].max())
    first = first if window.start is None else max(first, window.start)
    return (last if window.stop is None else min(last, window.stop)) - first


def selected_time(run: DiffRun, patterns: Patterns) -> int:
    """The elapsed ns of a run; with patterns of regions, classes, domains or paths, the inclusive ns of these call
    paths on all locations."""
    if not patterns.all:
        return run.elapsed
    paths, numbers = run.tree
    kept = np.append(patterns.regions(run.trace), not patterns.limits_regions)[paths["region"]]
    kept &= patterns.paths(paths, run.trace.regions["name"])
    kept[0] = False
    kept &= outermost(paths["parent"], kept) == np.arange(paths.rows)
    return int(numbers["inclusive"][kept[numbers["path"]]].sum())


def _add(sums: SumsByKey, key: Hashable, values: dict[str, Any], names: tuple[str, ...]) -> None:
    known = sums.setdefault(key, dict.fromkeys(names, 0))
    for name in names:
        known[name] += values[name]


def _paths(run: DiffRun, paths: CallPaths, tree: Any, table: Any) -> None:
    regions = run.trace.regions
    names, classes = regions["name"].tolist(), regions["class"].tolist()
    columns = [add_up(table["path"], table[name], tree.rows).tolist() for name in _PATH]
    works, is_io = (run.trace.marks >> RUNTIME_MARK & 1).tolist(), (regions["class"] == IO).tolist()
    number, inside = [0] * tree.rows, [False] * tree.rows
    rows = zip(tree["parent"].tolist(), tree["region"].tolist(), *columns, strict=True)
    for row, (parent, region, *values) in enumerate(rows):
        if row:
            number[row] = paths.of(number[parent], str(names[region]))
            inside[row] = inside[parent] or bool(works[region])
            kind = RUNTIME if inside[parent] and is_io[region] else classes[region]
            numbers = dict(zip(_PATH, values, strict=True))
            if numbers["calls"]:
                _add(run.paths, number[row], numbers, _PATH)
                _add(run.classes, regions.classes[kind], numbers, ("exclusive", "calls"))


def _samples(run: DiffRun, window: Selection, costs: Costs) -> None:
    if not costs.samples.rows:
        return
    found = CostRows(run.trace, window, costs=costs, by="function", patterns=Patterns())
    names = run.trace.regions["name"].tolist()
    for row in found.table.records():
        if row["estimated"] and row["samples"]:
            row["variance"] = (row["error"] * found.whole) ** 2
            _add(run.samples, str(names[row["key"]]), row, ("exclusive", "samples", "variance"))


def compare(
    one: SumsByKey,
    other: SumsByKey,
    names: tuple[str, ...],
    key: Callable[[Any], Row],
    *,
    scales: tuple[float, float] | None,
) -> list[Row]:
    """Rows for the names of both runs.

    key: makes the first columns from a name. Each number has columns NAME_a, NAME_b, NAME_change and NAME_percent (of
    a; None if a is 0). only: "a" or "b" for a name that one run has. scales: a divisor for the numbers of each run.
    """
    rows = []
    for name, (in_one, in_other) in matched((one, other)):
        row = key(name) | {"only": "b" if in_one is None else "a" if in_other is None else ""}
        for what in names:
            a, b = ((values or {}).get(what, 0) for values in (in_one, in_other))
            if scales is not None:
                a, b = a / scales[0], b / scales[1]
            ends = {f"{what}_a": a, f"{what}_b": b, f"{what}_change": b - a}
            row |= ends | {f"{what}_percent": 100 * (b - a) / a if a else None}
        rows.append(row)
    return rows


def order(rows: list[Row], what: str, relative: bool) -> list[Row]:
    """The rows with a change, the largest change first. relative: by percent, names of one run only first."""
    changed = [row for row in rows if any(value for name, value in row.items() if name.endswith("_change"))]

    def size(row: Row) -> tuple[float, ...]:
        percent, change = row[f"{what}_percent"], abs(row[f"{what}_change"])
        if not relative:
            return (-change,)
        return (-np.inf if percent is None and change else -abs(percent or 0), -change)

    return sorted(changed, key=size)


def sheets(one: DiffRun, other: DiffRun, paths: CallPaths, sort: str, *, relative: bool, per_rank: bool) -> list[Sheet]:
    """The tables totals, regions, samples, messages, collectives, files and counters.

    sort: exclusive, inclusive or calls, for regions. per_rank: numbers are averages over the ranks.
    """
    scales = (one.processes, other.processes) if per_rank else None
    made = []
    for name, title, names, first, key, heads in (
        ("totals", "Time by class", ("exclusive", "calls"), "exclusive", _word("class"), _head("class")),
        ("regions", f"Call paths by the change of {sort}", _PATH, sort, lambda p: {"path": paths.names(p)},
         [Column("path", "call path", "path")]),
        ("messages", "Messages", ("count", "bytes"), "bytes", _pair("from", "to"), _head("from", "to")),
        ("collectives", "Collective operations", ("calls", "sent", "received", "ns"), "ns",
         _pair("operation", "communicator"), _head("operation", "communicator")),
        ("files", "Files", ("opens", "reads", "writes", "bytes_read", "bytes_written", "ns"), "ns", _word("file"),
         _head("file")),
        ("counters", "Counters: increase while they were recorded", ("increase",), "increase", _pair("counter", "unit"),
         _head("unit", "counter")),
    ):  # fmt: skip
        where = {"totals": "classes", "regions": "paths"}.get(name, name)
        rows = order(
            compare(getattr(one, where), getattr(other, where), names=names, key=key, scales=scales), first, relative
        )
        made.append(Sheet(name=name, title=title, columns=_columns(names, first, heads), rows=rows))
    made.insert(2, _sampled(one, other, scales, relative))
    return made


def _sampled(one: DiffRun, other: DiffRun, scales: tuple[float, float] | None, relative: bool) -> Sheet:
    """Functions by their samples; only rows whose change is larger than two standard errors of the difference."""
    by = (scales[0], scales[1]) if scales else (1.0, 1.0)
    names = ("exclusive", "samples")
    rows = order(
        compare(one.samples, other.samples, names=names, key=_word("function"), scales=scales), "exclusive", relative
    )
    certain = []
    for row in rows:
        variances = (run.samples.get(row["function"], {}).get("variance", 0.0) for run in (one, other))
        row["error_ns"] = math.sqrt(sum(variance / scale**2 for variance, scale in zip(variances, by, strict=True)))
        if abs(row["exclusive_change"]) > _CERTAIN * row["error_ns"]:
            certain.append(row)
    columns = _columns(names, "exclusive", [Column("error_ns", "\u00b1 s", "ns"), *_head("function")])
    made = Sheet(name="samples", title="Time inside the program, by samples", columns=columns, rows=certain)
    if certain and len(certain) < len(rows):
        left = some(len(rows) - len(certain), "function")
        made.notes.append(f"{left} left out: differences below {_CERTAIN} standard errors may be chance")
    return made


def _word(key: str) -> Callable[[Any], Row]:
    return lambda name: {key: str(name)}


def _pair(*keys: str) -> Callable[[Any], Row]:
    return lambda names: dict(zip(keys, map(str, names), strict=True))


def _head(*words: str) -> list[Column]:
    return [Column(word, word, "text") for word in words]


_TIMES = ("inclusive", "exclusive", "ns")


def _columns(names: tuple[str, ...], first: str, heads: list[Column]) -> list[Column]:
    """The columns. Text shows both runs' values of the number `first`, and only the change of other numbers."""
    found = []
    for name in (first, *(name for name in names if name != first)):
        time, chief = name in _TIMES, name == first
        kind, word = ("ns", "time s" if name == "ns" else f"{name} s") if time else ("count", name.replace("_", " "))
        found += [
            Column(f"{name}_change", f"{word} +/-" if not chief else "change" + " s" * time, f"{kind} difference"),
            Column(f"{name}_percent", "%" if chief else "", "percent"),
            Column(f"{name}_a", f"{word} A" if chief else "", kind),
            Column(f"{name}_b", f"{word} B" if chief else "", kind),
        ]
    return [*found, Column("only", "only in", "text"), *heads]
