# SPDX-License-Identifier: BSD-3-Clause
"""Iterations: the calls of a region that repeats on every process; the slowest, drift and outliers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import CLASS_OF, MPI, OPENMP, USER
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.findings.sync_calls import SyncCalls, outermost_calls
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table, add_up
from vtrace.errors import UsageError

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_LEAST = 4
"""Calls on each process from which on a call path repeats."""
_COVERS = 0.4
"""The least part of a run that its iterations cover."""
_SLOW, _DEVIATIONS = 1.5, 5.0
"""An outlier takes so many times the median, and is so many median deviations above it."""
_TRIED = 8
"""Call paths that are tried."""
_EVEN = 0.3
"""The least part of the covered time that as many median iterations take: calls in a cluster are no iterations."""
_BASES = ("calls", "from one call to the next")


@dataclass
class Iterations:
    """The iterations of a run.

    region, source, path (names): of the repeated call. basis: "calls", or "from one call to the next" where no call
    contains an iteration. table: rows iteration, begin, end (ns, of all processes), time_ns (of the slowest process),
    mean_ns, location (the slowest one's). times: (iterations, locations) ns; -1 where a process has no such iteration.
    locations: their rows. begins: like times. slow: runs of iterations that are outliers: first, last (inclusive).
    drift: time of the last quarter by that of the first one (medians); 1 with fewer than 8 iterations.
    """

    region: str
    source: str
    path: tuple[str, ...]
    basis: str
    table: Table
    times: Array
    begins: Array
    locations: list[int]
    slow: list[tuple[int, int]] = field(default_factory=list)
    drift: float = 1.0

    @property
    def median(self) -> float:
        """ns of a usual iteration of the slowest process."""
        return float(np.median(self.table["time_ns"])) if self.table.rows else 0.0

    def loss(self, first: int, last: int) -> int:
        """ns that all processes together lose in these iterations, by the median iteration of each process."""
        usual = np.median(np.where(self.times >= 0, self.times, 0), axis=0)
        part = self.times[first : last + 1]
        return int(np.where(part >= 0, np.maximum(0, part - usual), 0).sum())


class RepeatedCalls(SyncCalls[dict[int, Array]]):
    """The calls of regions on one call path (names; None: on every path), outermost only. Answers with (n, 2) begin and
    end by location, ascending."""

    def __init__(self, wanted: Array, path: tuple[str, ...] | None) -> None:
        """wanted: (regions,) bool."""
        super().__init__()
        self.wanted, self.path = wanted, path

    def arguments(self) -> tuple[Array, tuple[str, ...] | None]:
        return self.wanted, self.path

    def same(self, other: RepeatedCalls) -> bool:
        """True if both ask for the same calls."""
        return self.path == other.path and np.array_equal(self.wanted, other.wanted)

    def region_kinds_of(self, trace: Source) -> Array:
        """The calls to keep."""
        return np.where(self.wanted, 0, -1)

    def answer(self) -> dict[int, Array]:
        calls, paths, _ = self.calls()
        if self.path is not None:
            calls = calls[self._is_path(paths)[calls["path"]]]
        calls = outermost_calls(calls)
        bounds = np.flatnonzero(np.diff(calls["location"], prepend=-1, append=-1))
        parts = [calls[first:last] for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        return {int(part["location"][0]): np.stack([part["begin"], part["end"]], 1) for part in parts}

    def _is_path(self, paths: Table) -> Array:
        """(paths,) bool: those with the names of the wanted path."""
        assert self.path is not None
        names = self.trace.regions["name"].tolist()
        depth_of = np.zeros(paths.rows, np.int64)
        good = np.zeros(paths.rows, bool)
        good[0] = True
        for row, (parent, region) in enumerate(zip(paths["parent"].tolist(), paths["region"].tolist(), strict=True)):
            if row and good[parent] and depth_of[parent] < len(self.path):
                depth_of[row] = depth_of[parent] + 1
                good[row] = names[region] == self.path[depth_of[parent]]
        found: Array = good & (depth_of == len(self.path))
        return found


def expected_calls(trace: Source, window: Selection, name: str | None) -> RepeatedCalls | None:
    """The calls that iterations_of will need, to be read in one pass with other questions. Without a name the first
    process tells: if a call contains its iterations, those of the others mostly are the same. None: there is no such
    call, or few processes. Raises UsageError: no region has this name."""
    if name is not None:
        wanted = np.array([str(each) == name for each in trace.regions["name"].tolist()], bool)
        if not wanted.any():
            raise UsageError(f"--iteration {name}: no region has this name", "vtrace summary lists the regions")
        return RepeatedCalls(wanted, None)
    helper, events = trace.locations["helper"], trace.locations["events"]
    rows = [row for row in window.rows(trace) if events[row] and not helper[row]]
    if not rows or 2 * events[rows[0]] > events[rows].sum():
        return None  # to read the first one twice would cost more than a second pass
    facts = RunFacts.read(trace, Selection(window.start, window.stop, (rows[0],)))
    found = _repeated(facts)
    return _calls_of(facts, found[0][0]) if found and found[0][1] == _BASES[0] else None


def _calls_of(facts: RunFacts, row: int) -> RepeatedCalls:
    """The question for the calls of a call path."""
    wanted = np.zeros(facts.trace.regions.rows, bool)
    wanted[facts.paths["region"][row]] = True
    return RepeatedCalls(wanted, facts.names(row))


def iterations_of(facts: RunFacts, name: str | None, expected: RepeatedCalls | None) -> Iterations | None:
    """The iterations of a run. name: of the region whose calls are the iterations; None: the outermost call path that
    repeats on all processes. expected: of expected_calls, after the pass. None: there are none."""
    if name is not None:
        assert expected is not None
        row = _first_path(facts, expected.wanted)
        calls = expected.answer() if row else {}
        return _made(facts, row, _BASES[0], calls) if calls else None
    masters = {*facts.masters.values()}
    tried = _repeated(facts)
    questions = [_calls_of(facts, row) for row, _ in tried]
    for number, (row, basis) in enumerate(tried):
        if not number and expected and expected.same(questions[0]):
            questions[0] = expected
        elif number < 2:  # the first one mostly is right; else the others share a pass
            asked = questions[1:] if number else questions[:1]
            facts.trace.scan(asked, sorted(masters), facts.window.start, facts.window.stop)
        calls = {at: found for at, found in questions[number].answer().items() if at in masters}
        covered = sum(int(times[-1, 1] - times[0, 0]) for times in calls.values())
        if calls and covered >= _COVERS * facts.running(list(calls)):
            made = _made(facts, row, basis, calls)
            if made.median * made.table.rows >= _EVEN * covered / len(calls):
                return made
    return None


def _made(facts: RunFacts, row: int, basis: str, calls: dict[int, Array]) -> Iterations:
    made = Iterations(facts.region(row), facts.source(row), facts.names(row), basis, *_table(calls, basis))
    _judge(made)
    return made


def _first_path(facts: RunFacts, wanted: Array) -> int:
    """The call path of a region with the most time, 0 for none."""
    mine = np.flatnonzero(np.append(wanted, False)[facts.paths["region"]])
    sums = add_up(facts.numbers["path"], facts.numbers["inclusive"], facts.paths.rows)
    return int(mine[np.argmax(sums[mine])]) if len(mine) else 0


def _repeated(facts: RunFacts) -> list[tuple[int, str]]:
    """Call paths to take as iterations, the best first, and how. A call that contains an iteration comes before one
    that only marks where the next iteration begins."""
    numbers, paths = facts.numbers, facts.paths
    masters = [*facts.masters.values()]
    mine = np.isin(numbers["location"], masters)
    path, calls = numbers["path"][mine], numbers["calls"][mine]
    least = np.full(paths.rows, np.iinfo(np.int64).max)
    np.minimum.at(least, path, calls)
    most = np.zeros(paths.rows, np.int64)
    np.maximum.at(most, path, calls)
    everywhere = np.bincount(path, minlength=paths.rows) == len(masters)
    repeats = everywhere & (least >= _LEAST) & (most <= 1.1 * least)
    inclusive = add_up(path, numbers["inclusive"][mine], paths.rows)
    of = facts.running(masters)
    kind = CLASS_OF[facts.activity]
    contains = repeats & (inclusive >= _COVERS * of) & np.isin(kind, (USER, OPENMP))
    contains[0] = False
    if contains.any():
        rows = np.flatnonzero(contains)
        return [(int(rows[np.lexsort((-inclusive[rows], paths["depth"][rows]))[0]]), _BASES[0])]
    repeats[0] = False
    rows = np.flatnonzero(repeats & np.isin(kind, (USER, MPI, OPENMP)))
    rows = rows[np.lexsort((-inclusive[rows], paths["depth"][rows]))]
    return [(row, _BASES[1]) for row in rows[:_TRIED].tolist()]


def _table(calls: dict[int, Array], basis: str) -> tuple[Table, Array, Array, list[int]]:
    """The table, the times and begins of each location, and the locations."""
    if basis == _BASES[1]:
        calls = {at: np.stack([times[:-1, 0], times[1:, 0]], 1) for at, times in calls.items()}
    locations = sorted(calls)
    count = max(len(times) for times in calls.values())
    times, begins, ends = (np.full((count, len(locations)), -1, np.int64) for _ in range(3))
    for column, at in enumerate(locations):
        n = len(calls[at])
        begins[:n, column], ends[:n, column] = calls[at][:, 0], calls[at][:, 1]
        times[:n, column] = ends[:n, column] - begins[:n, column]
    there = times >= 0
    slowest = times.argmax(axis=1) if count else np.empty(0, np.int64)
    first = np.where(there, begins, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    table = Table({
        "iteration": np.arange(count), "begin": first,
        "end": ends.max(axis=1, initial=-1), "time_ns": times.max(axis=1, initial=-1),
        "mean_ns": np.where(there, times, 0).sum(axis=1) // np.maximum(1, there.sum(axis=1)),
        "location": np.array(locations)[slowest],
    })  # fmt: skip
    return table, times, begins, locations


def _judge(found: Iterations) -> None:
    """Finds outliers and drift."""
    time = found.table["time_ns"].astype(np.float64)
    if len(time) < _LEAST:
        return
    median = np.median(time)
    deviation = np.median(np.abs(time - median))
    slow = np.flatnonzero((time > _SLOW * median) & (time > median + _DEVIATIONS * deviation))
    for row in slow.tolist():
        if found.slow and row - found.slow[-1][1] <= 1:
            found.slow[-1] = found.slow[-1][0], row
        else:
            found.slow.append((row, row))
    usual = np.delete(time, slow)
    if len(usual) >= 8:
        quarter = len(usual) // 4
        first = np.median(usual[:quarter])
        found.drift = float(np.median(usual[-quarter:]) / first) if first else 1.0


def slow_path(facts: RunFacts, found: Iterations, first: int, last: int) -> tuple[int, int, int, tuple[str, ...]]:
    """The call path that took longer in these iterations than in the others: location, ns more (of all its iterations),
    path (row of facts.paths; 0 if only these iterations have the call), and the path's names. The path where a process
    waits for others counts only if nothing else took longer."""
    begin, end = int(found.table["begin"][first]), int(found.table["end"][last])
    rows = found.locations
    part = RunFacts.read(facts.trace, Selection(begin, end, tuple(rows)))
    inside = 1.0 * (last - first + 1) / max(1, found.table.rows - (last - first + 1))
    whole = _by_name(facts, rows)
    best: tuple[bool, float, int, int, tuple[str, ...]] = (False, 0.0, rows[0], 0, ())
    for (location, path), (ns, row) in _by_name(part, rows).items():
        usual, known = whole.get((location, path), (0, 0))
        more = ns - max(0, usual - ns) * inside
        best = max(best, (not part.waiting[row] and more > 0, more, location, known, path))
    return best[2], int(best[1]), best[3], best[4]


def _by_name(facts: RunFacts, locations: list[int]) -> dict[tuple[int, tuple[str, ...]], tuple[int, int]]:
    """Exclusive ns, and the row of the path, by location and the names of the path."""
    known: dict[int, tuple[str, ...]] = {}
    found = {}
    for row in facts.numbers.take(np.isin(facts.numbers["location"], locations)).records():
        path = row["path"]
        if path not in known:
            known[path] = facts.names(path)
        found[row["location"], known[path]] = (row["exclusive"], path)
    return found
