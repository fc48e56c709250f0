# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a profile: the times of calls and samples by function, loop, line, call path, rank or thread.

Without samples all numbers are those of the calls. With samples the time of the program's own code comes from the
samples, since functions without events share the time of the recorded function around them. The time in calls of MPI,
I/O, memory and threads, and in barriers, always comes from the calls; samples in these calls only count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, IO, MEMORY, MPI, THREADS, TRACING
from vtrace.analysis.definition_tables import has_line
from vtrace.analysis.questions import path_sums
from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.table import Array, Table, add_up, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_BARRIERS = ("BARRIER", "IMPLICIT_BARRIER")
_WAIT = "pthread_barrier_wait"
CPU_CLOCK = "CPU time"
"""Name of vtrace's interrupt generator for the CPU clocks of threads."""
_MPI_PART, _BARRIER_PART = 1, 2
_Add = Callable[[Array, Array, Array, Array], None]


class RegionParts:
    """The regions of a trace by their part in a profile."""

    def __init__(self, trace: Source) -> None:
        regions = trace.regions
        kinds, sync = regions["class"], regions["activity"] == ACTIVITIES.index("openmp/sync")
        self.mpi = kinds == MPI
        self.barrier = (np.isin(regions["role"].astype(str), _BARRIERS) | (regions["name"] == _WAIT)) & ~self.mpi
        self.task = regions["role"].astype(str) == "TASK"
        """Regions of tasks, which a thread also runs while it is in a barrier."""
        self.exact = np.isin(kinds, [MPI, IO, MEMORY, THREADS, TRACING]) | sync | self.barrier
        """Regions whose time comes from their calls, even with samples."""


@dataclass
class _Cells:
    """Parts of the profile's time: location, region, path, context (-1: none), ns, squares (of the weights of samples),
    calls, samples, and measured: true for times of calls."""

    location: Array
    region: Array
    path: Array
    context: Array
    ns: Array
    squares: Array
    calls: Array
    samples: Array
    measured: Array

    def take(self, rows: Array) -> _Cells:
        return _Cells(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def join(self, other: _Cells) -> _Cells:
        names = self.__dataclass_fields__
        return _Cells(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


class CostRows:
    """The profile of a selection by one kind of row.

    table: one row per key: exclusive, inclusive (ns), share and error (of the time of all rows before patterns), calls,
    samples, mpi and barrier (ns: parts of the row's own time, and the calls of MPI and barriers that its code makes),
    min, mean, max (exclusive ns of a rank), estimated (bool: from samples), not_running (ns in which the threads of a
    rank, or a thread, had no processor outside of calls with exact times; NaN: unknown).

    key: a row of regions, call paths, processes or locations; for lines and loops the argument of lines() and loop().
    The time of a loop excludes its inner loops.
    """

    def __init__(self, trace: Source, window: Selection, costs: Costs, by: str, *, patterns: Patterns) -> None:
        self.trace, self.window, self.costs, self.by = trace, window, costs, by
        self._known = RegionParts(trace)
        self._sampled = costs.samples.rows > 0
        self._region_of = costs.tree["region"].copy()
        self._region_of[0] = trace.regions.rows - 1
        cells = self._calls(with_paths=by == "callpath" or bool(patterns.of("path")))
        cells = cells.join(self._samples)
        if by not in ("rank", "thread"):
            cells = cells.join(self._around)
        self.whole = float(cells.ns.sum())
        """ns of all rows before patterns: the denominator of share."""
        self._estimated = float(cells.ns[~cells.measured].sum())
        cells = cells.take(self._chosen(cells, patterns))
        self._keys_used, self._row = self._keys(cells)
        self._cells, self._all = cells, patterns == Patterns()
        self.processes = _compared(trace, np.unique(trace.places.process[window.rows(trace)]))
        """Rows of processes in the selection: the ranks, if there are any, without the commands that these start."""
        self.table = self._table()

    # ---- Cells ----

    def _calls(self, with_paths: bool) -> _Cells:
        table = self.costs.calls if with_paths else self.costs.regions
        path = table["path"] if with_paths else np.zeros(table.rows, np.int64)
        region = self._region_of[path] if with_paths else table["region"]
        measured = self._known.exact[region] | (not self._sampled)
        nothing = np.zeros(table.rows, np.int64)
        return _Cells(
            table["location"],
            region,
            path=path,
            context=nothing - 1,
            ns=np.where(measured, table["exclusive"], 0).astype(np.float64),
            squares=nothing.astype(np.float64),
            calls=table["calls"],
            samples=nothing,
            measured=measured,
        )

    @cached_property
    def _in_calls(self) -> Array:
        """(samples,) bool: inside a call whose time is measured."""
        inside = self.costs.samples["inside"]
        found: Array = (inside > 0) & self._known.exact[self._region_of[inside]]
        return found

    @cached_property
    def _samples(self) -> _Cells:
        found, inner = self.costs.samples, self._in_calls
        own = np.append(self.trace.contexts["region"], self.trace.regions.rows - 1)[found["context"]]
        ns = np.where(inner, 0.0, found["count"] * found["ns"])
        return _Cells(
            found["location"], np.where(inner, self._region_of[found["inside"]], own),
            path=np.where(inner, found["inside"], found["path"]), context=np.where(inner, -1, found["context"]), ns=ns,
            squares=ns * found["ns"], calls=np.zeros(found.rows, np.int64), samples=found["count"], measured=inner,
        )  # fmt: skip

    @cached_property
    def _around(self) -> _Cells:
        """Cells without time for the contexts around those of samples: functions that only called others have rows,
        too."""
        trace = self.trace
        seen = np.zeros(trace.contexts.rows + 1, bool)
        level = np.unique(self.costs.samples["context"])
        while len(level := level[(level >= 0) & ~seen[level]]):
            seen[level] = True
            level = np.unique(trace.contexts["parent"][level])
        rows = np.flatnonzero(seen)
        nothing = np.zeros(len(rows), np.int64)
        location = nothing + (self.costs.samples["location"][0] if len(rows) else 0)
        path = trace.context_paths[1][rows].astype(np.int64)
        return _Cells(
            location,
            trace.contexts["region"][rows],
            path=path,
            context=rows,
            ns=nothing * 0.0,
            squares=nothing * 0.0,
            calls=nothing,
            samples=nothing,
            measured=nothing > 0,
        )

    def _chosen(self, cells: _Cells, patterns: Patterns) -> Array:
        chosen = patterns.regions(self.trace)[cells.region]
        if patterns.of("path"):
            chosen &= patterns.paths(self.costs.tree, self.trace.regions["name"])[cells.path]
        return chosen

    # ---- Keys ----

    @cached_property
    def _line_of_context(self) -> tuple[Array, Array]:
        """The lines with samples as rows (file, line, region), by their first contexts; and (contexts + 1,) the number
        of each context's line, -1: unknown."""
        contexts = self.trace.contexts
        number: dict[str, int] = {}
        file = np.array([number.setdefault(name, len(number)) for name in contexts["file"].tolist()], np.int64)
        known = has_line(contexts["line"]) & (contexts["file"] != "")
        first, member = group([file, contexts["line"], contexts["region"]])
        return first, np.append(np.where(known, member, -1), -1)

    def _line(self, region: Array, context: Array) -> Array:
        """Keys of lines: the number of a region, or from regions.rows on of a line with samples."""
        line = self._line_of_context[1][context]
        return np.where(line >= 0, self.trace.regions.rows + line, region)

    @cached_property
    def _loop_of_context(self) -> Array:
        """(contexts + 1,) the loop of each context, -1: none."""
        return np.append(self.trace.loops.of_contexts(self.trace.contexts), -1)

    def _loop(self, region: Array, context: Array) -> Array:
        """Keys of loops: the number of a region, or from regions.rows on of a loop."""
        loop = self._loop_of_context[context]
        return np.where(loop >= 0, self.trace.regions.rows + loop, region)

    def _raw(self, location: Array, region: Array, path: Array, context: Array) -> Array:
        if self.by == "line":
            return self._line(region, context)
        if self.by == "loop":
            return self._loop(region, context)
        kinds = {
            "function": region, "callpath": path, "rank": self.trace.places.process[location], "thread": location
        }  # fmt: skip
        return kinds[self.by]

    def _keys(self, cells: _Cells) -> tuple[Array, Array]:
        raw = self._raw(cells.location, cells.region, cells.path, cells.context)
        first, member = group([raw])
        if self.by != "loop":
            return raw[first], member
        regions, loops = self.trace.regions.rows, self.trace.loops  # a loop may have samples in inner loops only
        outer = [regions + n for key in raw[first].tolist() if key >= regions for n in loops.around(key - regions)]
        keys = np.unique(np.append(raw[first], np.array(outer, np.int64)))
        return keys, np.searchsorted(keys, raw)

    def _rows(self, raw: Array) -> tuple[Array, Array]:
        """Places of raw keys in the table, and a mask of the keys in the table."""
        at = np.searchsorted(self._keys_used, raw)
        at = np.minimum(at, max(len(self._keys_used) - 1, 0))
        there = self._keys_used[at] == raw if len(self._keys_used) else np.zeros(len(raw), bool)
        return at, there

    def lines(self, key: int) -> tuple[int, str, int]:
        """The region (row), file and line of the key of a line; "" and 0: unknown. Without samples the line of a
        function is the line at which it begins."""
        regions = self.trace.regions
        if key < regions.rows:
            return (key, "", 0) if self._sampled else (key, str(regions["file"][key]), int(regions["line"][key]))
        at = int(self._line_of_context[0][key - regions.rows])
        contexts = self.trace.contexts
        return int(contexts["region"][at]), str(contexts["file"][at]), int(contexts["line"][at])

    def loop(self, key: int) -> tuple[int, int]:
        """The region and the loop (rows) of the key of a loop; -1: the region's time outside of loops."""
        loop = key - self.trace.regions.rows
        return (key, -1) if loop < 0 else (int(self.trace.loops.table["region"][loop]), loop)

    # ---- Numbers ----

    def _table(self) -> Table:
        cells, row, count = self._cells, self._row, len(self._keys_used)
        exclusive = np.bincount(row, cells.ns, count)
        estimate = np.bincount(row, np.where(cells.measured, 0.0, cells.ns), count)
        part = estimate / max(self._estimated, 1.0)
        error = np.sqrt(np.bincount(row, cells.squares, count) * np.maximum(1 - part, 0))
        mpi, barrier = self._parts(count)
        least, mean, most = self._of_ranks(count)
        measured = np.bincount(row, cells.measured & (cells.samples == 0), count) > 0
        seen = np.bincount(row, ~cells.measured & (cells.samples > 0), count) > 0
        return Table({
            "key": self._keys_used, "exclusive": exclusive, "inclusive": self._inclusive(exclusive),
            "share": exclusive / max(self.whole, 1.0), "error": error / max(self.whole, 1.0),
            "calls": add_up(row, cells.calls, count), "samples": add_up(row, cells.samples, count),
            "mpi": mpi, "barrier": barrier, "min": least, "mean": mean, "max": most,
            "estimated": seen | ~measured, "not_running": self._not_running(),
        })  # fmt: skip

    def _not_running(self) -> Array:
        """(rows,) recorded time less the time in calls and samples, for samples by CPU time of the whole trace."""
        trace, window, found = self.trace, self.window, np.full(len(self._keys_used), np.nan)
        clocks = set(trace.interrupt_generators["name"].tolist())
        whole = self._all and window.start is None and window.stop is None
        if self.by not in ("rank", "thread") or not whole or not self._sampled or clocks != {CPU_CLOCK}:
            return found
        spent = np.bincount(self._cells.location, self._cells.ns, trace.locations.rows)
        locations = np.array(window.rows(trace), np.int64)
        idle = np.maximum(0, trace.coverage()["seconds"][locations] * 1e9 - spent[locations])
        key = trace.places.process[locations] if self.by == "rank" else locations
        at, there = self._rows(key)
        found[np.unique(at[there])] = 0
        np.add.at(found, at[there], idle[there])
        return found

    @cached_property
    def by_rank(self) -> Table:
        """Rows (row of table, process, ns): exclusive time of self.processes, where it is not 0."""
        found = _sums("process", self._row, self.trace.places.process[self._cells.location], self._cells.ns)
        return found.take(np.isin(found["process"], self.processes))

    @cached_property
    def by_location(self) -> Table:
        """Rows (row of table, location, ns): exclusive time, where it is not 0."""
        return _sums("location", self._row, self._cells.location, self._cells.ns)

    def _of_ranks(self, count: int) -> tuple[Array, Array, Array]:
        """The least, mean and most exclusive time of a rank, by row."""
        sums = self.by_rank
        most, least = np.zeros(count), np.full(count, np.inf)
        np.maximum.at(most, sums["row"], sums["ns"])
        np.minimum.at(least, sums["row"], sums["ns"])
        everywhere = np.bincount(sums["row"], minlength=count) == len(self.processes)
        mean = np.bincount(sums["row"], sums["ns"], count) / max(len(self.processes), 1)
        return np.where(everywhere, least, 0.0), mean, most

    def _inclusive(self, exclusive: Array) -> Array:
        if self.by in ("rank", "thread"):
            return exclusive
        cells, tree, count = self._samples, self.costs.tree, len(self._keys_used)
        calls = self._calls(with_paths=True)
        if self.by == "callpath":
            own = np.bincount(calls.path, calls.ns, tree.rows) + np.bincount(cells.path, cells.ns, tree.rows)
            return path_sums.below(tree["parent"], own)[self._keys_used]
        regions = self.costs.regions
        found = np.zeros(count)
        at, there = self._rows(regions["region"])
        np.add.at(found, at[there], regions["inclusive"][there])
        if not self._sampled:
            return found
        weights = self.costs.samples["count"] * self.costs.samples["ns"]
        if self.by == "line":
            contexts = self.trace.contexts
            own = np.bincount(self.costs.samples["context"] + 1, weights, contexts.rows + 1)[1:]
            raw = self._line(contexts["region"], np.arange(contexts.rows))
            keys, parents = raw, contexts["parent"]
        elif self.by == "loop":
            keys, parents = self._loop_tree()
            own = np.bincount(self.costs.samples["context"] + 1, weights, len(keys) + 1)[1:]
        else:
            loose = self._in_calls & (self._callers("exact")[self.costs.samples["inside"]] == 0)
            own = np.bincount(calls.path, calls.ns, tree.rows) + np.bincount(cells.path, cells.ns, tree.rows)
            own += np.bincount(self.costs.samples["path"], np.where(loose, weights, 0.0), tree.rows)
            keys, parents = self._region_of, tree["parent"]
        at, there = self._rows(keys)
        sums = path_sums.inclusive(parents, np.where(there, at, -1), own, count)
        exact = self._keys_used < len(self._known.exact)
        exact[exact] = self._known.exact[self._keys_used[exact]] & (found[exact] > 0)
        return np.where(exact, found, sums)

    def _loop_tree(self) -> tuple[Array, Array]:
        """Keys and parents of the calling contexts, followed by those of nodes for the outer loops around contexts."""
        contexts, loops = self.trace.contexts, self.trace.loops
        keys = self._loop(contexts["region"], np.arange(contexts.rows)).tolist()
        parents = contexts["parent"].tolist()
        for context, loop in enumerate(self._loop_of_context[:-1].tolist()):
            for outer in loops.around(loop) if loop >= 0 else ():
                parents.append(parents[context])
                keys.append(self.trace.regions.rows + outer)
                parents[context] = len(keys) - 1
        return np.array(keys, np.int64), np.array(parents, np.int64)

    # ---- The parts in MPI and in barriers ----

    def _tops(self, which: str) -> Array:
        """(paths,) the outermost call of MPI or of a barrier ("part"), or of a measured region ("exact"); 0: none."""
        known, parents = self._known, self.costs.tree["parent"]
        if which == "exact":
            return path_sums.outermost(parents, known.exact[self._region_of])
        marked = known.mpi | known.barrier
        return path_sums.outermost(parents, marked[self._region_of], known.task[self._region_of])

    def _callers(self, which: str) -> Array:
        """(paths,) the path that made the call _tops(which), 0 for none."""
        tops = self._tops(which)
        return np.where(tops > 0, self.costs.tree["parent"][tops], 0)

    def sampled_callers(self) -> Table:
        """Rows (path, caller, ns): the outermost calls with times of their own around samples, the call paths that made
        these calls by the contexts of the samples, and the time of the samples."""
        samples, tops = self.costs.samples, self._tops("exact")
        path, seen = tops[samples["inside"]], tops[samples["path"]]
        same = (path > 0) & (seen > 0) & (self._region_of[path] == self._region_of[seen])
        path, caller = path[same], self.costs.tree["parent"][seen[same]]
        first, member = group([path, caller])
        ns = np.bincount(member, (samples["count"] * samples["ns"])[same], len(first))
        return Table({"path": path[first], "caller": caller[first], "ns": ns})

    @cached_property
    def _part_cells(self) -> tuple[Array, Array, Array, Array]:
        """Times in MPI and in barriers: rows of table, parts (_MPI_PART or _BARRIER_PART), locations, ns."""
        tops, callers = self._tops("part"), self._callers("part")
        mpi = self._known.mpi[self._region_of[tops]]
        part = np.where(tops > 0, np.where(mpi, _MPI_PART, _BARRIER_PART), 0)
        found: list[tuple[Array, Array, Array, Array]] = []

        def add(raw: Array, parts: Array, location: Array, ns: Array) -> None:
            at, there = self._rows(raw)
            there &= parts > 0
            found.append((at[there], parts[there], location[there], ns[there]))

        calls = self._calls(with_paths=True)
        cells = calls.join(self._samples)
        own = self._raw(cells.location, cells.region, cells.path, cells.context)
        add(own, part[cells.path], cells.location, cells.ns)
        if self.by not in ("rank", "thread"):
            by_line = self.by in ("line", "loop") and self._sampled  # a recorded call has no line
            self._add_callers(add, part, callers, self._samples if by_line else cells)
            self._add_callers_of_samples(add, part, callers, by_line)
        row, parts, location, ns = (np.concatenate(each) for each in zip(*found, strict=True))
        return row, parts, location, ns

    def _parts(self, count: int) -> tuple[Array, Array]:
        """(rows,) ns in MPI, and in barriers."""
        row, part, _, ns = self._part_cells
        found = np.zeros((_BARRIER_PART + 1, count))
        np.add.at(found, (part, row), ns)
        return found[_MPI_PART], found[_BARRIER_PART]

    def parts_by_location(self) -> tuple[Table, Table]:
        """In MPI, and in barriers: rows (row of table, location, ns), where ns is not 0."""
        row, part, location, ns = self._part_cells
        mpi = part == _MPI_PART
        return (
            _sums("location", row[mpi], location[mpi], ns[mpi]),
            _sums("location", row[~mpi], location[~mpi], ns[~mpi]),
        )

    def _add_callers(self, add: _Add, part: Array, callers: Array, cells: _Cells) -> None:
        """Adds the time in MPI and in barriers to the rows that make the calls."""
        caller = callers[cells.path]
        context = self._context_of(cells.context, caller)
        raw = self._raw(cells.location, self._region_of[caller], caller, context)
        mine = self._raw(cells.location, cells.region, cells.path, cells.context)
        wanted = (caller > 0) & (raw != mine)
        add(raw[wanted], part[cells.path][wanted], cells.location[wanted], cells.ns[wanted])

    def _add_callers_of_samples(self, add: _Add, part: Array, callers: Array, by_line: bool) -> None:
        """Adds the samples inside recorded calls to the rows that make the calls, if the calls do not show which
        rows."""
        samples, inside = self.costs.samples, self.costs.samples["inside"]
        loose = self._in_calls & (part[inside] > 0) & (by_line | (callers[inside] == 0))
        path = samples["path"]
        caller = np.where(part[path] > 0, callers[path], path)
        context = self._context_of(samples["context"], caller)
        raw = self._raw(samples["location"], self._region_of[caller], caller, context)
        wanted = loose & (caller > 0)
        ns = samples["count"] * samples["ns"]
        add(raw[wanted], part[inside][wanted], samples["location"][wanted], ns[wanted])

    def _context_of(self, contexts: Array, paths: Array) -> Array:
        """(n,) for each path, the context with that path among a context and the contexts around it, -1: none."""
        number = np.append(self.trace.context_paths[1].astype(np.int64), 0)
        parents = np.append(self.trace.contexts["parent"], -1)
        found = contexts.copy()
        for _ in range(self.trace.contexts.rows):
            other = (found >= 0) & (number[found] != paths)
            if not other.any():
                break
            found[other] = parents[found[other]]
        return found


def _compared(trace: Source, processes: Array) -> Array:
    """The ranks of MPI_COMM_WORLD among processes (rows); all of these without a rank."""
    ranks = processes[trace.processes["rank"][processes] >= 0]
    return ranks if len(ranks) else processes


def _sums(name: str, row: Array, where: Array, ns: Array) -> Table:
    first, member = group([row, where])
    sums = np.bincount(member, ns, len(first))
    return Table({"row": row[first], name: where[first], "ns": sums}).take(sums > 0)
