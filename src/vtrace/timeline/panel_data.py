# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the page's panels, for a window and locations, and the differences between two traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions import path_sums
from vtrace.analysis.questions.collectives import CollectiveTotals, by_operation, operation_text
from vtrace.analysis.questions.cost_rows import CostRows
from vtrace.analysis.questions.costs import CostQuestion, generator_names
from vtrace.analysis.questions.io_files import Io, reduce_io
from vtrace.analysis.questions.messages import MessageMatrix
from vtrace.analysis.questions.profile import CallTree, Profile, reduce
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table
from vtrace.text import plain
from vtrace.timeline.answers import BadRequest, Content, pack

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_MOST = 20_000
"""The most rows of a table that the page gets, the largest first."""
_COMPARED = 2000
"""The most regions of a comparison, those with the largest differences."""
_FINDINGS = 100
_FINDING_TEXTS = ("kind", "text", "region", "source", "culprit", "doubts", "command")
_SUMS = ("calls", "inclusive", "exclusive", "min", "max", "total")


class ComparedSide(NamedTuple):
    """One trace: rows (key: region, calls, exclusive), and the names and the classes of all regions."""

    table: Table
    names: Array
    classes: Array


class PanelData:
    """Tables about a window. findings: see Trace.findings. sampled: the trace may have samples; then profile and flame
    graph take the times of the program's own code from samples (cost_rows)."""

    def __init__(self, trace: Source, findings: Callable[..., Sequence[Any]], sampled: bool) -> None:
        self._trace, self._findings, self._sampled = trace, findings, sampled
        self._panels: dict[str, Callable[[dict[str, Any]], Content]] = {
            "findings": self._coverage, "profile": self._profile, "flame": self._flame, "matrix": self._matrix,
            "collectives": self._collectives, "files": self._files, "ranks": self._ranks,
        }  # fmt: skip
        if sampled:
            self._panels |= {"profile": self._sampled_profile, "flame": self._sampled_flame}

    def answer(self, name: str, window: tuple[int, int], locations: Sequence[int]) -> Content:
        """The table of a panel by the panel's name. Raises BadRequest."""
        if name not in self._panels:
            raise BadRequest(f"{name} is not a panel")
        return self._panels[name]({"start": window[0], "stop": window[1], "locations": list(locations)})

    def _ask(self, question: AnyQuestion, part: dict[str, Any]) -> Any:
        ask(self._trace, [question], Selection.of(**part))
        return question.answer()

    def _coverage(self, part: dict[str, Any]) -> Content:
        """Findings, and lines about missing events."""
        lines = [plain(line) for line in self._trace.caveats(part["locations"], part["start"], part["stop"])]
        found = []
        for each in self._findings(**part)[:_FINDINGS]:
            texts = {name: plain(str(getattr(each, name))) for name in _FINDING_TEXTS}
            times = {"loss_ns": each.loss_ns, "share": each.share, "start": each.start, "stop": each.stop}
            found.append(texts | times)
        return pack({}, lines=lines, findings=found)

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

    def regions(self, window: tuple[int, int], locations: Sequence[int]) -> ComparedSide:
        """Calls and exclusive time of each region, as the profile shows them."""
        part = {"start": window[0], "stop": window[1], "locations": list(locations)}
        if self._sampled:
            table = self._costs(part, "function")[0].table
        else:
            found = reduce(self._ask(Profile(), part), "region")
            table = Table({"key": found["region"], "calls": found["calls"], "exclusive": found["exclusive"]})
        return ComparedSide(table, self._trace.regions["name"], self._trace.regions["class"])

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
        matrix = self._ask(MessageMatrix(), part)
        table = matrix.table().order("bytes").take(slice(_MOST))
        return pack(dict(table.items()), processes=matrix.size)

    def _collectives(self, part: dict[str, Any]) -> Content:
        table = by_operation(self._ask(CollectiveTotals(), part)).take(slice(_MOST))
        return pack(dict(table.items()), ops=[operation_text(op) for op in table["op"].tolist()])

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
