# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the page's panels, for a window and locations, and the differences between two traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.analysis.activity import waits
from vtrace.analysis.findings.allocation_callers import peak_paths
from vtrace.analysis.findings.finding import stored_notes
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions import path_sums
from vtrace.analysis.questions.allocation_blocks import has_blocks
from vtrace.analysis.questions.collectives import CollectiveTotals, by_operation, operation_text
from vtrace.analysis.questions.cost_rows import CostRows
from vtrace.analysis.questions.costs import CostQuestion, generator_names
from vtrace.analysis.questions.efficiencies import STARTING
from vtrace.analysis.questions.io_files import Io, reduce_io
from vtrace.analysis.questions.messages import MessageMatrix, Messages
from vtrace.analysis.questions.profile import CallTree, Profile, reduce
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.table import Array, Table
from vtrace.text import plain
from vtrace.timeline.answers import BadRequest, Content, pack
from vtrace.timeline.call_data import named
from vtrace.timeline.counter_bins import CounterSums
from vtrace.timeline.curves import counter_names
from vtrace.timeline.finding_places import guilty, is_own_code, losers, without_long_lists
from vtrace.timeline.iteration_ticks import apart
from vtrace.timeline.rows import with_metrics
from vtrace.timeline.window_data import LINK

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis import Diagnosis
    from vtrace.timeline.prepared import Prepared

_MOST = 20_000
"""The most rows of a table that the page gets, the largest first."""
_COMPARED = 2000
"""The most regions of a comparison, those with the largest differences."""
_CLUSTERED = 32
"""The most regions by whose times rows are alike."""
_FINDINGS = 100
_TIMED = 1_000_000
"""The most messages whose times from send to receive are summed."""
_FINDING_TEXTS = ("kind", "text", "region", "source", "culprit", "doubts", "action", "command")
_SUMS = ("calls", "inclusive", "exclusive", "min", "max", "total")


class ComparedSide(NamedTuple):
    """One trace: rows (key: region, calls, exclusive), and the names and the classes of all regions."""

    table: Table
    names: Array
    classes: Array


class PanelData:
    """Tables about a window. findings, diagnosis: see Trace.findings and Trace.diagnosis. sampled: the trace may have
    samples; then profile and flame graph take the times of the program's own code from samples (cost_rows)."""

    def __init__(
        self, prepared: Prepared, findings: Callable[..., Sequence[Any]], diagnosis: Callable[[Selection], Diagnosis],
        *, sampled: bool, messages: Callable[[], Table] | None = None,
    ) -> None:  # fmt: skip
        """messages: as WindowData.messages; None: they do not fit into memory."""
        self._trace, self._prepared, self._sampled, self._messages = prepared.trace, prepared, sampled, messages
        self._findings, self._diagnosis = findings, diagnosis
        self._found: tuple[Sequence[Any], Sequence[str]] | None = None
        self._panels: dict[str, Callable[[dict[str, Any]], Content]] = {
            "findings": self._of_run, "findings_here": self._of_part, "profile": self._profile, "flame": self._flame,
            "matrix": self._matrix, "collectives": self._collectives, "files": self._files, "ranks": self._ranks,
            "iterations": self._iterations,
        }  # fmt: skip
        if sampled:
            self._panels |= {"profile": self._sampled_profile, "flame": self._sampled_flame}
        if has_blocks(self._trace):
            self._panels["memory"] = self._memory
        if self._trace.metric_members.rows:
            self._panels["counters"] = self._counters

    def answer(self, name: str, window: tuple[int, int], locations: Sequence[int]) -> Content:
        """The table of a panel by the panel's name. Raises BadRequest."""
        if name not in self._panels:
            raise BadRequest(f"{name} is not a panel")
        return self._panels[name]({"start": window[0], "stop": window[1], "locations": list(locations)})

    def questions(self) -> list[AnyQuestion]:
        """The questions of all panels but findings and iterations."""
        costs: AnyQuestion = CostQuestion() if self._sampled else CallTree()
        return [Profile(), costs, MessageMatrix(), CollectiveTotals(), Io(), CounterSums()]

    def _ask(self, question: AnyQuestion, part: dict[str, Any]) -> Any:
        return self._prepared.answers([question], Selection.of(**part))[0]

    def _of_run(self, part: dict[str, Any]) -> Content:
        """Findings of the whole run, whatever the window, lines about missing events, and the limits of the numbers."""
        if self._found is None:
            notes = stored_notes(self._trace)
            self._found = self._findings(), self._diagnosis(Selection()).notes if notes is None else notes
        findings, lines = self._found
        return self._told(findings, part, lines)

    def _of_part(self, part: dict[str, Any]) -> Content:
        return self._told(self._findings(**part), part, ())

    def _told(self, findings: Sequence[Any], part: dict[str, Any], notes: Sequence[str]) -> Content:
        lines = [plain(line) for line in self._trace.caveats(part["locations"], part["start"], part["stop"])]
        found = []
        for one in findings[:_FINDINGS]:
            each = replace(one, caveats=tuple(line for line in one.caveats if line not in notes))
            texts = {name: plain(str(getattr(each, name))) for name in _FINDING_TEXTS}
            texts["text"] = without_long_lists(texts["text"])
            times = {"loss_ns": each.loss_ns, "share": each.share, "start": each.start, "stop": each.stop}
            places = {"guilty": guilty(self._trace, each), "losers": losers(self._trace, each)}
            found.append(texts | times | places | {"own": is_own_code(self._trace, each)})
        return pack(
            {}, lines=lines, findings=found, limits=[plain(line) for line in notes if not line.startswith(STARTING)]
        )

    def _iterations(self, part: dict[str, Any]) -> Content:
        """The iterations of the whole run, whatever the window: begin, end, ns of the slowest process, its location."""
        columns, notes = self._loop
        return pack(columns, **notes)

    @property
    def names(self) -> list[str]:
        """Of the panels that the trace has."""
        return [*self._panels]

    @property
    def is_diagnosed(self) -> bool:
        """True after keep_iterations."""
        return "_loop" in self.__dict__

    def keep_iterations(self) -> None:
        """Takes the iterations from the latest diagnosis, if this is of the whole run."""
        self.ticks(1)

    @cached_property
    def _loop(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Columns and notes of the iterations of the whole run. Kept, since a trace keeps its latest diagnosis only."""
        found = self._diagnosis(Selection()).iterations
        if found is None or not found.table.rows:
            return {}, {"region": ""}
        order = np.argsort(found.table["time_ns"], kind="stable")
        columns = {name: found.table[name] for name in ("begin", "end", "time_ns", "mean_ns", "location")}
        return columns, {
            "region": plain(found.region), "basis": found.basis, "slow": found.slow, "median_ns": found.median,
            "first": found.first,
            "median": int(order[(len(order) - 1) // 2]), "drift": found.drift,
        }  # fmt: skip

    def ticks(self, most: int) -> Content:
        """The iterations to mark in a strip of the run with room for `most` marks, slow ones first: iteration, begin,
        time of the slowest process, slow (1 or 0)."""
        columns, notes = self._loop
        if not columns:
            return pack({})
        begin, time = columns["begin"], columns["time_ns"]
        slow = np.zeros(len(begin), np.uint8)
        for first, last in notes["slow"]:
            slow[first : last + 1] = 1
        marked = np.flatnonzero(slow)
        rows = apart(begin, marked[np.argsort(-time[marked], kind="stable")], self._trace.duration / most)
        return pack(
            {"iteration": rows + notes["first"], "begin": begin[rows], "time_ns": time[rows], "slow": slow[rows]}
        )

    def _profile(self, part: dict[str, Any]) -> Content:
        table = reduce(self._ask(Profile(), part), "region").order("exclusive").take(slice(_MOST))
        columns = {name: table[name] for name in ("region", *_SUMS, "locations")}
        return pack(columns | {"class": self._trace.regions["class"][table["region"]]})

    def _flame(self, part: dict[str, Any]) -> Content:
        """Call paths with time, parents before children; path 0 is the time outside of all calls."""
        tree, numbers = self._ask(CallTree(), part)
        sums = reduce(numbers, "path")
        columns = {name: np.zeros(tree.rows, np.int64) for name in ("calls", "inclusive", "exclusive")}
        for name, column in columns.items():
            column[sums["path"]] = sums[name]
        return pack({name: tree[name] for name in ("parent", "region", "depth")} | columns)

    def _memory(self, part: dict[str, Any]) -> Content:
        """Like _flame, the bytes in use when the heaps of the whole run are largest, and the names of the paths."""
        blocks = self._diagnosis(Selection()).blocks
        found = (peak_paths(self._trace, blocks) if blocks else {}) or {(): (0, 0)}
        number = {path: row for row, path in enumerate(found)}
        parent = np.array([number[path[:-1]] if path else -1 for path in found])
        size, calls = np.array([*found.values()], np.int64).T
        regions = {name: row for row, name in enumerate(self._trace.regions["name"].tolist())}
        columns = {
            "parent": parent, "depth": np.array([len(path) for path in found]), "inclusive": size, "calls": calls,
            "region": np.array([regions.get(path[-1], 0) if path else 0 for path in found]),
            "exclusive": size - np.bincount(parent[1:], size[1:], len(size)).astype(np.int64),
        }  # fmt: skip
        return pack(columns, names=[plain(path[-1]) if path else "" for path in found])

    def _counters(self, part: dict[str, Any]) -> Content:
        """The recorded values of each counter by its place in counter_names: count, low, mean, high, sum."""
        locations = with_metrics(self._trace, np.array(part["locations"], np.int64)).tolist()
        found = self._ask(CounterSums(), part | {"locations": locations})
        number = {name: at for at, name in enumerate(counter_names(self._trace))}
        of_member = np.array([number.get(name, -1) for name in self._trace.metric_members["name"].tolist()], np.int64)
        found = found.take(of_member[found["metric"]] >= 0)
        counter, member = np.unique(of_member[found["metric"]], return_inverse=True)
        count = np.bincount(member, found["count"], len(counter))
        total = np.bincount(member, found["count"] * found["mean"], len(counter))
        low, high = np.full(len(counter), np.inf), np.full(len(counter), -np.inf)
        np.minimum.at(low, member, found["low"])
        np.maximum.at(high, member, found["high"])
        columns = {"counter": counter, "count": count, "low": low, "high": high, "sum": total}
        return pack(columns | {"mean": total / np.maximum(count, 1)})

    def regions(self, window: tuple[int, int], locations: Sequence[int]) -> ComparedSide:
        """Calls and exclusive time of each region, as the profile shows them."""
        part = {"start": window[0], "stop": window[1], "locations": list(locations)}
        if self._sampled:
            table = self._costs(part, "function")[0].table
        else:
            found = reduce(self._ask(Profile(), part), "region")
            table = Table({"key": found["region"], "calls": found["calls"], "exclusive": found["exclusive"]})
        return ComparedSide(table, self._trace.regions["name"], self._trace.regions["class"])

    def sums(self, window: tuple[int, int], order: Array, text: str, *, exact: bool) -> Content:
        """Exclusive ns of each location of order, row by row: kinds, by class in calls that work, then by class in
        calls that wait; regions, in the regions with the most time; found, in the regions whose names contain text."""
        trace = self._trace
        table = self._ask(Profile(), {"start": window[0], "stop": window[1], "locations": np.sort(order).tolist()})
        place = np.zeros(trace.locations.rows, np.int64)
        place[order] = np.arange(len(order))
        at, region, ns = place[table["location"]], table["region"], table["exclusive"].astype(float)
        names, classes = trace.regions["name"].astype(str), len(trace.regions.classes)
        kind = trace.regions["class"].astype(np.int64) + classes * waits(names.tolist(), trace.regions["activity"])
        top = np.argsort(-np.bincount(region, ns, trace.regions.rows), kind="stable")[:_CLUSTERED]
        column = np.full(trace.regions.rows, -1)
        column[top] = np.arange(len(top))
        wanted = named(names, text, exact=exact)

        def summed(columns: Array, wide: int) -> Array:
            known = columns >= 0
            return np.bincount(at[known] * wide + columns[known], ns[known], len(order) * wide)

        columns = {
            "kinds": summed(kind[region], 2 * classes), "regions": summed(column[region], len(top)),
            "found": summed(np.where(wanted[region], 0, -1), 1),
        }  # fmt: skip
        return pack(columns)

    def _costs(self, part: dict[str, Any], by: str) -> tuple[CostRows, dict[str, Any]]:
        """The rows of calls and samples, and notes: the number of samples, and their sources."""
        costs = self._ask(CostQuestion(), part)
        samples, names = costs.samples, generator_names(self._trace)
        sources = dict.fromkeys(plain(str(names[row])) for row in np.unique(samples["generator"]).tolist())
        notes = {"samples": int(samples["count"].sum()), "sources": [*sources]}
        return CostRows(self._trace, Selection.of(**part), costs=costs, by=by, patterns=Patterns()), notes

    def _sampled_profile(self, part: dict[str, Any]) -> Content:
        found, notes = self._costs(part, "function")
        table = found.table.order("exclusive").take(slice(_MOST))
        columns = {name: table[name] for name in ("samples", "calls", "exclusive", "inclusive", "estimated")}
        columns |= {"region": table["key"], "class": self._trace.regions["class"][table["key"]]}
        return pack(columns, **notes)

    def _sampled_flame(self, part: dict[str, Any]) -> Content:
        """Like _flame, with the number of samples in each path itself."""
        found, notes = self._costs(part, "callpath")
        tree, table = found.costs.tree, found.table
        columns = {name: np.zeros(tree.rows) for name in ("calls", "exclusive", "samples")}
        for name, column in columns.items():
            column[table["key"]] = table[name]
        columns["inclusive"] = path_sums.below(tree["parent"], columns["exclusive"])
        return pack({name: tree[name] for name in ("parent", "region", "depth")} | columns, **notes)

    def _matrix(self, part: dict[str, Any]) -> Content:
        """Messages by pair of processes. ns: from send to receive, summed over the messages with both ends here."""
        matrix = self._ask(MessageMatrix(), part)
        table = matrix.table().order("bytes").take(slice(_MOST))
        timed = bool(table.rows) and int(matrix.count.sum()) <= _TIMED
        ns = np.zeros(table.rows)
        if timed:
            ends, process = self._ends(part), self._trace.places.process
            pairs = process[ends["sender"]] * matrix.size + process[ends["receiver"]]
            times = np.maximum(0, ends["receive"] - ends["send"])
            known, member = np.unique(pairs, return_inverse=True)
            sums = np.bincount(member, times, len(known))
            mine = table["sender"] * matrix.size + table["receiver"]
            at = np.minimum(np.searchsorted(known, mine), max(len(known) - 1, 0))
            ns = np.where(known[at] == mine, sums[at], 0) if len(known) else ns
        return pack(dict(table.items()) | {"ns": ns}, processes=matrix.size, timed=timed)

    def _ends(self, part: dict[str, Any]) -> Table:
        """The messages with both ends in a part."""
        found = self._messages() if self._messages else None
        if found is None or found.share > 1:
            return self._ask(Messages(_TIMED), part)  # type: ignore[no-any-return]
        here = np.zeros(self._trace.locations.rows, bool)
        here[part["locations"]] = True
        inside = here[found["sender"]] & here[found["receiver"]] & (found["comm"] != LINK)
        for end in ("send", "receive"):
            inside &= (found[end] >= part["start"]) & (found[end] <= part["stop"])
        return found.take(inside)

    def _collectives(self, part: dict[str, Any]) -> Content:
        """Operations by communicator, and cells: the row of an operation with a process and its sums."""
        totals, process = self._ask(CollectiveTotals(), part), self._trace.places.process
        table = by_operation(totals).take(slice(_MOST))
        rows = {pair: row for row, pair in enumerate(zip(table["op"].tolist(), table["comm"].tolist(), strict=True))}
        pairs = zip(totals["op"].tolist(), totals["comm"].tolist(), strict=True)
        cells = {"row": np.array([rows.get(pair, -1) for pair in pairs], np.int64), "calls": totals["calls"],
                 "process": process[totals["location"]], "ns": totals["ns"],
                 "bytes": totals["sent"] + totals["received"]}  # fmt: skip
        known = (cells["row"] >= 0) & (cells["process"] >= 0)
        columns = dict(table.items()) | {f"cell_{name}": column[known] for name, column in cells.items()}
        ops = [operation_text(op) for op in table["op"].tolist()]
        return pack(columns, ops=ops, processes=self._trace.processes.rows)

    def _files(self, part: dict[str, Any]) -> Content:
        table = reduce_io(self._ask(Io(), part), "file")
        moved = table["bytes_read"] + table["bytes_written"]
        table = table.take(np.argsort(-moved, kind="stable")[:_MOST])
        files = [*self._trace.files["name"].tolist(), "(no file)"]  # row -1
        names = [plain(str(files[row])) for row in table["file"].tolist()]
        shown = ("reads", "writes", "bytes_read", "bytes_written", "read_ns", "write_ns", "opens")
        return pack({name: table[name] for name in shown}, names=names)

    def _ranks(self, part: dict[str, Any]) -> Content:
        """Exclusive time by process and class: (processes, classes), row by row; the coordinates in the largest
        grid."""
        trace = self._trace
        table = self._ask(Profile(), part)
        process, classes = trace.places.process[table["location"]], len(trace.regions.classes)
        known = process >= 0
        cell = process[known] * classes + trace.regions["class"][table["region"][known]]
        size = trace.processes.rows
        times = np.bincount(cell, table["exclusive"][known].astype(float), size * classes)
        threads = np.bincount(trace.places.process[part["locations"]].clip(-1) + 1, minlength=size + 1)[1:]
        columns: dict[str, Array] = {"ns": times, "threads": threads}
        grid = self._grid(columns)
        return pack(columns, processes=size, classes=classes, grid=grid)

    def _grid(self, columns: dict[str, Array]) -> dict[str, Any] | None:
        """The name and lengths of the largest Cartesian topology; adds process, x, y, z of its members to columns."""
        topologies, places, grids = self._trace.topologies, self._trace.coordinates, self._trace.places.grids()
        if not len(grids) or not places.rows:
            return None
        best = int(grids[np.argmax(_cells(topologies)[grids])])
        own = places.take(places["topology"] == best)
        members = self._trace.places.members(int(topologies["comm"][best]))
        inside = own["rank"] < len(members)
        own = own.take(inside)
        columns["process"] = self._trace.places.process[members[own["rank"]]]
        columns |= {axis: own[axis] for axis in "xyz"}
        lengths = [int(topologies[axis][best]) for axis in "xyz" if topologies[axis][best] > 0]
        return {"name": plain(str(topologies["name"][best])), "lengths": lengths}


def _cells(topologies: Table) -> Array:
    """The number of places in each topology."""
    lengths = np.stack([np.maximum(topologies[axis], 1) for axis in "xyz"])
    found: Array = lengths.prod(axis=0)
    return found


def compared(sides: tuple[ComparedSide, ComparedSide]) -> Content:
    """The regions of two traces, matched by name, by the difference of their exclusive time: first_calls, first_ns,
    second_calls, second_ns, class; names."""
    every = np.concatenate([side.names[side.table["key"]].astype(str) for side in sides])
    names, member = np.unique(every, return_inverse=True)
    columns: dict[str, Array] = {}
    classes, begin = np.zeros(len(names), np.uint8), 0
    for word, side in zip(("first", "second"), sides, strict=True):
        mine = member[begin : begin + side.table.rows]
        begin += side.table.rows
        classes[mine] = side.classes[side.table["key"]]
        for column, name in (("calls", "calls"), ("ns", "exclusive")):
            columns[f"{word}_{column}"] = np.bincount(mine, side.table[name].astype(float), len(names))
    order = np.lexsort((names, -np.abs(columns["second_ns"] - columns["first_ns"])))[:_COMPARED]
    columns = {name: column[order] for name, column in columns.items()}
    return pack(columns | {"class": classes[order]}, names=[plain(name) for name in names[order].tolist()])
