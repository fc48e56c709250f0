# SPDX-License-Identifier: BSD-3-Clause
"""Iterations: the calls of a region that repeats on every process; their slowest process, drift and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, CLASS_OF, MPI, OPENMP, USER
from vtrace.analysis.definition_tables import regions_named
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.questions.profile import CallTree, KeptSlices, PathPart, SlicePart
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up
from vtrace.errors import UsageError
from vtrace.reasons import FLUSH

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_LEAST = 4
"""A call path repeats if each process has at least this many of its calls."""
_COVERS = 0.4
"""The least part of a run that its iterations cover."""
_NEARLY_ALL = 0.8
"""Calls with this part of the run contain its iterations, whatever else repeats."""
_SLOW, _DEVIATIONS = 1.5, 5.0
"""An outlier takes at least _SLOW times the median, and at least _DEVIATIONS median deviations more than the median."""
_TRIED = 8
"""The most call paths to try."""
_RARE = 0.05
"""Rare call paths together have at most this share of all calls."""
_EVEN = 0.3
"""All iterations times the median iteration must be at least this part of the covered time, else the calls are a
cluster and not iterations."""
_MOST = 4_000_000
"""The most calls of all processes to compare."""
_OPEN = 250_000
"""The most calls to keep while the paths are unknown: 8 MB."""
_BASES = ("calls", "from one call to the next")
_FEW_WAITS, _WAITING = 0.01, 8
"""The share of waits for a processor from which on iterations are compared without them; of how many processes."""
_AT_ONCE = 0.7
"""The least part of the growth of iterations between three neighbouring eighths of them, if they grow at once."""
_LESS = 0.1
"""A quarter may be faster than the one before by so much of the growth of iterations."""
_SHORT = 0.25
"""The least part of a usual turn that may be its work."""
_BURSTS, _REGULAR = 8, 0.8
"""The most bursts of calls in a turn of a loop; the least part of long times with equal distances, and of the run."""


@dataclass
class Iterations:
    """The iterations of a run.

    region, source, path (names): of the repeated call. basis: "calls", or "from one call to the next" if no call
    contains an iteration, or "every N calls" if calls come in bursts. table: rows iteration, begin, end (ns, of all
    processes), time_ns (of the slowest process), mean_ns, location (of the slowest process). times:
    (iterations, locations) ns; -1 if a process lacks the iteration. locations: their rows. begins: start times, like
    times. net: times without the longest wait of a process for a processor meanwhile, at work or in MPI after what
    it waited for, for which others may wait. first: the number of the first iteration in the table.
    slow: ranges of outlier iterations: rows of the first and the last one, without iterations in which a process did
    not record. drift: the median time of the last quarter divided by that of the first quarter; 1 with fewer than 8
    iterations. usual_rows: the iterations that drift compares: no outliers, all processes recorded.
    """

    region: str
    source: str
    path: tuple[str, ...]
    basis: str
    table: Table
    times: Array
    begins: Array
    locations: list[int]
    net: Array
    first: int = 0
    slow: list[tuple[int, int]] = field(default_factory=list)
    drift: float = 1.0
    usual_rows: Array = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def median(self) -> float:
        """The median over all iterations of the slowest process's net time."""
        return _median(self.longest) if self.table.rows else 0.0

    @property
    def longest(self) -> Array:
        """(iterations,) ns of the slowest process in net."""
        found: Array = self.net.max(axis=1, initial=-1)
        return found

    def lost(self, first: int, last: int) -> Array:
        """(locations,) ns that each process loses in these iterations, by its own median iteration."""
        part = self.net[first : last + 1]
        found: Array = np.where(part >= 0, np.maximum(0, part - self._usual), 0).sum(axis=0)
        return found

    def loss(self, first: int, last: int) -> int:
        """ns that all processes together lose in these iterations."""
        return int(self.lost(first, last).sum())

    def drift_loss(self) -> int:
        """ns that all processes together lose since iterations take longer than in the first quarter: by the medians of
        the quarters of each process, where these differ by more than the scatter of both. 0 if a quarter is faster than
        the one before, by a part of the growth."""
        first, *later = np.array_split(self.net[self.usual_rows], 4)
        slowest = [_centre(each.max(axis=1)) for each in (first, *later)]
        least = _LESS * (slowest[-1][0] - slowest[0][0])
        if any(after < before - max(least, np.hypot(a, b)) for (before, a), (after, b) in pairwise(slowest)):
            return 0
        lost = 0.0
        for column in range(len(self.locations)):
            before, scatter = _centre(first[:, column])
            for quarter in later:
                median, more = _centre(quarter[:, column])
                lost += len(quarter) * (median - before) * (median - before > np.hypot(scatter, more))
        return int(lost)

    @property
    def step(self) -> int:
        """The row from which on iterations take longer, if these grow at once: by the medians of eighths; else 0."""
        longest = self.longest[self.usual_rows]
        middles = np.array([np.median(each) for each in np.array_split(longest, 8)])
        if (middles[2:] - middles[:-2]).max() < _AT_ONCE * (middles[-1] - middles[0]):
            return 0
        number = np.arange(1, len(longest))
        before = np.cumsum(longest)[:-1] / number
        after = (longest.sum() - np.cumsum(longest)[:-1]) / (len(longest) - number)
        first = int(np.argmax((after - before) ** 2 * number * (len(longest) - number))) + 1
        return int(self.usual_rows[first])

    def grown_waits(self) -> int:
        """ns that all processes together wait longer for a processor than if they waited for the same share of the time
        as in the first quarter."""
        times = np.array_split(self.times[self.usual_rows], 4)
        waits = np.array_split((self.times - self.net)[self.usual_rows], 4)
        share = waits[0].sum() / max(1, times[0].sum())
        return int(sum(each.sum() for each in waits) - share * sum(each.sum() for each in times))

    @cached_property
    def _usual(self) -> Array:
        """(locations,) ns of the median iteration of each process; see _median."""
        middle = (len(self.net) - 1) // 2, len(self.net) // 2
        ordered = np.partition(np.maximum(self.net, 0), middle, axis=0)
        found: Array = (ordered[middle[0]] + ordered[middle[1]]) / 2
        return found


@dataclass(frozen=True)
class RepeatedPath:
    """Calls of some regions (rows) on one call path (names; None: on every path)."""

    regions: tuple[int, ...]
    path: tuple[str, ...] | None

    def among(self, trace: Source, paths: Array) -> Array:
        """(paths,) bool: True for the call paths (PATH) of these calls."""
        wanted = np.append(_mask(self.regions, trace.regions.rows), False)
        region = np.where(np.arange(len(paths)) > 0, paths["region"], trace.regions.rows)
        if self.path is None:
            return wanted[region]
        names = np.append(trace.regions["name"], "")[region]
        good = region == trace.regions.rows
        for name in self.path:
            good = good[paths["parent"]] & (names == name) & (region < trace.regions.rows)
        found: Array = good & wanted[region]
        return found


class _RepeatedPart(SlicePart):
    """The calls of one location: of all regions while the paths are unknown (is_open)."""

    def __init__(self, owner: RepeatedCalls, location: int) -> None:
        super().__init__(owner)
        self.question, self.location, self.is_open = owner, location, owner.is_open
        self._choose(() if owner.dropped else owner.wanted)
        self.replay: Replay | KnownPaths | None = None

    def _choose(self, wanted: tuple[RepeatedPath, ...]) -> None:
        self.wanted, self._regions = wanted, _mask(_regions(wanted), self.question.trace.regions.rows)

    def add(self, replay: Replay) -> None:
        if (self.wanted or self.is_open) and len(slices := replay.slices()):
            with self.owner.lock:
                self.found.append(slices.copy() if self._takes_all(replay) else self._wanted_of(slices))
                self.owner.more(len(self.found[-1]))

    def _takes_all(self, replay: Replay) -> bool:
        return self.is_open or replay.has_slices_of(self._regions)

    def _wanted_of(self, slices: Array) -> Array:
        found: Array = slices.compress(self._regions[slices["region"]])
        return found

    def close(self, wanted: tuple[RepeatedPath, ...]) -> None:
        """Keeps the calls of these paths only. The caller holds the lock."""
        if self.is_open:
            self.is_open = False
            self._choose(wanted)
            self.found = [self._wanted_of(slices) for slices in self.found] if wanted else []

    def forget(self) -> None:
        """Drops the calls: there are too many."""
        self.found, self.wanted, self.is_open = [], (), False

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | ({} if self.wanted else {"found": []})

    def end(self, replay: Replay | None) -> None:
        super().end(replay)
        self.replay = replay
        if not self.wanted and isinstance(replay, Replay):
            self.question.learn(self.location, replay)


class RepeatedCalls(KeptSlices["RepeatedCalls"]):
    """The calls of repeated paths.

    If the paths are unknown, the first process whose events have been read decides, since most programs have the same
    iterations on all processes. Locations that were begun before have all calls until then; with too many of these, no
    calls. Iterations cannot be compared if some calls are missing, so with too many calls none are kept.
    """

    paths = path_stats = True

    def __init__(self, window: Selection, *wanted: RepeatedPath) -> None:
        super().__init__(_MOST)
        self.window, self.wanted, self._learns = window, wanted, not wanted
        self.is_open = self._learns
        """True while locations keep all calls, since the paths are unknown."""
        self.lines: list[str] = []
        """Lines about iterations that are not compared."""
        self._replays = list[Replay]()

    def arguments(self) -> tuple[Any, ...]:
        return self.window, *self.wanted

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        helper, events, process = trace.locations["helper"], trace.locations["events"], trace.places.process
        rows = [row for row in self.window.rows(trace) if events[row] and not helper[row]]
        self._masters = {int(process[row]): row for row in reversed(rows)}

    def order(self) -> list[int]:
        """The rows of all locations in the order of reading: one process first, which decides the paths early; then the
        largest first."""
        events = self.trace.locations["events"].tolist()
        first = min(self._masters.values(), default=-1)
        return sorted(range(len(events)), key=lambda row: (row != first, -events[row]))

    def configure(self, replay: Replay) -> None:
        with self.lock:
            self._replays.append(replay)
            replay.want_slices_of(_mask(_regions(self.wanted), self.trace.regions.rows))
            replay.want_all_slices_now(self.is_open)

    def part(self, trace: Source, location: int) -> SlicePart:
        part = _RepeatedPart(self, location)
        self.all.append(part)
        return part

    def learn(self, location: int, replay: Replay) -> None:
        """Chooses paths after the events of a location. replay: its sums of calls."""
        with self.lock:
            if not self._learns or location not in self._masters.values():
                return
            self._learns = False
        tree, part = CallTree(), PathPart()
        part.end(replay)
        tree.parts = {location: part}
        paths, numbers = tree.answer()
        extent = Table({"location": np.array([location])})
        facts = RunFacts(self.trace, self.window, paths=paths, numbers=numbers, extent=extent, times=np.empty((0, 0)))
        wanted = tuple(_calls_of(facts, row) for row in _candidates(facts, len(self._masters)))
        with self.lock:
            for each in self._replays:
                each.want_slices_of(_mask(_regions(wanted), self.trace.regions.rows))
            self.wanted = wanted  # set after the replays' filters, since new parts need their slices
            self._close(wanted)

    def _close(self, wanted: tuple[RepeatedPath, ...]) -> None:
        """Ends the time in which locations keep all calls; those with some keep calls of these paths. The caller holds
        the lock."""
        if self.is_open:
            self.is_open = False
            for part in self.all:
                cast(_RepeatedPart, part).close(wanted)
            for replay in self._replays:
                replay.want_all_slices_now(False)
            self.kept = sum(len(slices) for part in self.all for slices in part.found)

    def more(self, count: int) -> None:
        """Counts calls, and drops all calls if there are too many."""
        self.kept += count
        if self.is_open and self.kept > _OPEN:
            self._close(())
        self.dropped = self.kept > self.most
        if self.dropped:
            for part in self.all:
                cast(_RepeatedPart, part).forget()

    def knows(self, path: RepeatedPath) -> dict[int, _RepeatedPart]:
        """The parts, by location, with the calls of a path."""
        parts = {at: cast(_RepeatedPart, part) for at, part in self.parts.items()}
        return {at: part for at, part in parts.items() if path in part.wanted}

    def answer(self) -> RepeatedCalls:
        """The question itself; of() has the calls of a path."""
        return self

    def of(self, path: RepeatedPath) -> dict[int, Array]:
        """The outermost calls of a path, by location: (n, 2) begin and end, ascending."""
        good: dict[int, Array] = {}
        calls = {}
        for location, part in self.knows(path).items():
            if not part.found:
                continue
            assert part.replay is not None
            if id(part.replay) not in good:
                good[id(part.replay)] = path.among(self.trace, part.replay.all_paths())
            mine = [good[id(part.replay)][slices["path"]] for slices in part.found]
            begin, end = (
                np.concatenate([slices[name][kept] for slices, kept in zip(part.found, mine, strict=True)])
                for name in ("begin", "end")
            )
            if np.any(begin[1:] < begin[:-1]):  # a call inside another one ends first
                order = np.argsort(begin, kind="stable")
                begin, end = begin[order], end[order]
            outermost = begin >= np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end)[:-1])
            if not outermost.all():
                begin, end = begin[outermost], end[outermost]
            if len(begin):
                calls[location] = np.stack([begin, end], 1)
        return calls


def _regions(paths: Sequence[RepeatedPath]) -> list[int]:
    return sorted({region for path in paths for region in path.regions})


def _mask(rows: Sequence[int], count: int) -> Array:
    """(count,) bool: true at these rows."""
    found = np.zeros(count, bool)
    found[list(rows)] = True
    return found


def repeated_calls(trace: Source, window: Selection, name: str | None) -> RepeatedCalls:
    """The calls that iterations_of needs, as a question for one pass with other questions. name: see iterations_of.
    Raises UsageError if no region has this name."""
    if name is None:
        return RepeatedCalls(window)
    regions = regions_named(trace.regions, name)
    if not regions:
        raise UsageError(f"--iteration {name}: no region has this name", "vtrace summary lists the regions")
    return RepeatedCalls(window, RepeatedPath(tuple(regions), None))


def _calls_of(facts: RunFacts, row: int) -> RepeatedPath:
    """The calls of a call path."""
    return RepeatedPath((int(facts.paths["region"][row]),), facts.names(row))


def iterations_of(facts: RunFacts, name: str | None, known: RepeatedCalls) -> Iterations | None:
    """The iterations of a run, or None. name: of the region whose calls are the iterations; None: the outermost call
    path that repeats on all processes. known: from repeated_calls, after the pass."""
    if name is not None:
        row = _first_path(facts, _mask(_regions(known.wanted), facts.trace.regions.rows))
        calls = known.of(known.wanted[0]) if row else {}
        if len(known.knows(known.wanted[0])) < len(known.parts):
            known.lines.append(_too_many(name))
            calls = {}
        return _iterations(facts, row, _BASES[0], calls) if calls else None
    masters = {*facts.masters.values()}
    calls_of = _calls(facts)
    repeated = _repeated(facts)
    tried = [(row, basis) for row, basis in repeated if calls_of[row] <= _MOST][:_TRIED]
    if repeated and not tried:
        known.lines.append(_too_many(facts.region(repeated[0][0])))
    questions = [RepeatedCalls(facts.window, _calls_of(facts, row)) for row, _ in tried]
    for number, (row, basis) in enumerate(tried):
        if number == 0:
            _read(facts, questions[:1], known)
        elif number == 1:  # mostly the first path is right; the other paths share one more pass
            _read(facts, questions[1:], known)
        path = questions[number].wanted[0]
        calls = {at: each for at, each in (known.of(path) | questions[number].of(path)).items() if at in masters}
        covered = sum(int(times[-1, 1] - times[0, 0]) for times in calls.values())
        if calls and covered >= _COVERS * facts.running(list(calls)):
            iterations = _without_bursts(facts, row, _iterations(facts, row, basis, calls), calls)
            usual = _median(iterations.table["time_ns"])
            if usual * iterations.table.rows >= _EVEN * covered / len(calls):
                return iterations
    known.lines += [
        _too_many(facts.region(row)) for (row, _), each in zip(tried, questions, strict=True) if each.dropped
    ]
    return None


def _read(facts: RunFacts, questions: Sequence[RepeatedCalls], known: RepeatedCalls) -> None:
    """Reads the unknown calls of the processes' first locations."""
    have = [known.knows(each.wanted[0]) for each in questions]
    missing = [row for row in sorted(facts.masters.values()) if any(row not in parts for parts in have)]
    if missing and questions:
        ask(facts.trace, questions, replace(facts.window, locations=tuple(missing)))


def _iterations(facts: RunFacts, row: int, basis: str, calls: dict[int, Array]) -> Iterations:
    ends = basis == _BASES[1] and _end_turns(facts, calls)
    known = _table(calls, basis, by_ends=ends)
    net = _without_waits(facts, *known[1:])
    iterations = Iterations(facts.region(row), facts.source(row), facts.names(row), basis, *known, net, int(ends))
    _mark_outliers(iterations, _unrecorded(facts.trace, iterations.times, iterations.begins, iterations.locations))
    return iterations


def _without_waits(facts: RunFacts, times: Array, begins: Array, locations: list[int]) -> Array:
    """(iterations, locations) ns of Iterations.net. Of the processes that wait most. While a process waits for others
    in MPI, its waits for a processor make no iteration longer."""
    at_work = facts.waited_at_work()[locations]
    if not len(times) or at_work.sum() < _FEW_WAITS * facts.whole:
        return times
    start, end = begins.ravel(), (begins + times.clip(0)).ravel()
    call_waits = _for_others(facts.call_waits()) if facts.call_waits else None

    def waited(at: Array) -> Array:
        works = facts.waited_between(at, start, end)
        in_mpi = facts.waited_between(at, start, end, in_mpi=True) - works
        others = _waited_for_others(call_waits, at, start, end) if call_waits else 0
        found: Array = works + np.maximum(0, in_mpi - others)
        return found

    longest = waited(np.broadcast_to(np.array(locations), times.shape).ravel())
    for column in np.argsort(-at_work)[:_WAITING].tolist():
        np.maximum(longest, waited(np.full(len(start), locations[column])), out=longest)
    found: Array = np.where(times >= 0, np.maximum(0, times - longest.reshape(times.shape)), times).astype(np.int64)
    return found


def _for_others(call_waits: Table) -> Table:
    """The waits without those after the last process has come."""
    completes = [number for number, kind in enumerate(call_waits.kinds) if str(kind).endswith("_completion")]
    return call_waits.take(~np.isin(call_waits["kind"], completes))


def _waited_for_others(call_waits: Table, locations: Array, begins: Array, ends: Array) -> Array:
    """(n,) ns that each location waited for others in MPI between two times (ns)."""
    found = np.zeros(len(locations))
    for location in np.unique(locations).tolist():
        waits, rows = call_waits.take(call_waits["location"] == location), np.flatnonzero(locations == location)
        if waits.rows:
            begin, ns = waits["begin"], waits["time_ns"]
            times = np.maximum.accumulate(np.stack([begin, begin + ns], 1).ravel())
            sums = np.cumsum(np.stack([np.zeros(waits.rows), ns], 1).ravel())
            found[rows] = np.interp(ends[rows], times, sums) - np.interp(begins[rows], times, sums)
    return found


def _without_bursts(facts: RunFacts, row: int, iterations: Iterations, calls: dict[int, Array]) -> Iterations:
    """The iterations; if the calls come in bursts, the iterations of the loop around the bursts. A long time follows
    each burst, repeatedly after the same number of calls; the long times are most of the time, else these are slow
    iterations. Some processes may wait between the calls of a burst, the others show it."""
    if iterations.basis != _BASES[1]:
        return iterations
    there = np.where(iterations.times >= 0, iterations.times, np.iinfo(np.int64).max)
    quickest = np.minimum(there.min(axis=1, initial=np.iinfo(np.int64).max), iterations.table["time_ns"])
    size = next((size for times in (iterations.table["time_ns"], quickest) if (size := _bursts_in(times)) > 1), 1)
    if size < 2:
        return iterations
    return _iterations(facts, row, f"every {size} calls", {at: times[::size] for at, times in calls.items()})


def _bursts_in(times: Array) -> int:
    """The number of calls in a burst; 1: no bursts. times: from one call to the next."""
    longest_first = np.sort(times)[::-1]
    half = longest_first[np.searchsorted(np.cumsum(longest_first), times.sum() / 2)] if len(times) else 0
    return _burst_size(np.flatnonzero(2 * times > half), len(times))


def _burst_size(long: Array, count: int) -> int:
    """The number of times in a turn of the loop, if long times have the same places in each turn; else 1. long: the
    places of long times among `count` times."""
    for each in range(1, _BURSTS + 1):  # each: number of long times in a turn
        if len(long) < _LEAST * each:
            break
        distances = np.bincount(long[each:] - long[:-each])
        size = int(np.argmax(distances))
        if min(distances[size] / distances.sum(), size * len(long) / each / count) >= _REGULAR:
            return size
    return 1


def _first_path(facts: RunFacts, wanted: Array) -> int:
    """The call path with the most inclusive time among the wanted regions (a mask), 0: none."""
    mine = np.flatnonzero(np.append(wanted, False)[facts.paths["region"]])
    sums = add_up(facts.numbers["path"], facts.numbers["inclusive"], facts.paths.rows)
    return int(mine[np.argmax(sums[mine])]) if len(mine) else 0


def _repeated(facts: RunFacts) -> list[tuple[int, str]]:
    """Call paths to try as iterations with their basis, the best first. Calls that contain an iteration come before
    calls that only mark the start of the next iteration. A call with less than nearly all of the time is one of several
    calls in a loop if others beside it repeat, too."""
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
    contains = repeats & (inclusive >= _COVERS * of) & np.isin(kind, (USER, OPENMP)) & ~facts.waiting
    contains[0] = False
    if contains.any():
        rows = np.flatnonzero(contains)
        best = int(rows[np.lexsort((-inclusive[rows], paths["depth"][rows]))[0]])
        beside = repeats & (paths["parent"] == paths["parent"][best]) & np.isin(kind, (USER, MPI, OPENMP))
        beside[best] = False
        is_part = bool(beside.any()) and inclusive[best] < _NEARLY_ALL * of
        return [(best, _BASES[int(is_part)])]
    repeats[0] = False
    rows = np.flatnonzero(repeats & np.isin(kind, (USER, MPI, OPENMP)))
    rows = rows[np.lexsort((-inclusive[rows], paths["depth"][rows]))]
    return [(row, _BASES[1]) for row in rows.tolist()]


def _calls(facts: RunFacts) -> Array:
    """(paths,) calls of the processes' first locations."""
    n = facts.numbers.take(np.isin(facts.numbers["location"], [*facts.masters.values()]))
    return add_up(n["path"], n["calls"], facts.paths.rows)


def _too_many(name: str) -> str:
    return f"more than {_MOST:,} calls of {name}: these iterations are not compared"


def _candidates(facts: RunFacts, processes: int) -> list[int]:
    """Call paths of one process that all processes may repeat: the best path, and rare paths, whose calls are cheap to
    keep."""
    calls, most = _calls(facts), _MOST / processes
    rows = [row for row, _ in _repeated(facts) if calls[row] <= most]  # iterations_of tries no others
    rare = np.array(rows[1:], np.int64)[np.argsort(calls[rows[1:]], kind="stable")]
    rare = rare[np.cumsum(calls[rare]) <= min(_RARE * calls.sum(), most)]
    best = [row for row in rows[:1] if calls[row] + calls[rare].sum() <= most]
    return [*best, *rare.tolist()]


def _end_turns(facts: RunFacts, calls: dict[int, Array]) -> bool:
    """True if calls are the last ones in the turns of a loop: they are not its work themselves, and after the last of
    them no process does so much that it may be work of a turn."""
    final = facts.spent_in(facts.activity == ACTIVITIES.index("mpi/management/finalize"))
    last = dict(zip(facts.extent["location"].tolist(), facts.extent["last"].tolist(), strict=True))
    if min(map(len, calls.values()), default=0) < 2:
        return False
    least = {at: _SHORT * _median(np.diff(times[:, 0])) for at, times in calls.items()}
    is_short = any(_median(times[:, 1] - times[:, 0]) < least[at] for at, times in calls.items())
    return is_short and all(last[at] - times[-1, 1] - final[at] < least[at] for at, times in calls.items())


def _table(calls: dict[int, Array], basis: str, *, by_ends: bool = False) -> tuple[Table, Array, Array, list[int]]:
    """The table, the times and start times of each location, and the locations. by_ends: turns end with these calls;
    that of the first call has an unknown begin."""
    locations = sorted(calls)
    first, second = [calls[at][:, 0] for at in locations], [calls[at][:, 1] for at in locations]
    if basis != _BASES[0]:
        turns = second if by_ends else first
        first, second = [times[:-1] for times in turns], [times[1:] for times in turns]
    count = max(map(len, first))
    begins, ends = _padded(first, count), _padded(second, count)
    there = np.arange(count) < np.array([*map(len, first)])[:, None]
    times = ends - begins
    firsts, sums = begins, times
    if not there.all():
        times[~there] = -1
        firsts, sums = np.where(there, begins, np.iinfo(np.int64).max), np.where(there, times, 0)
    slowest = times.argmax(axis=0) if count else np.empty(0, np.int64)
    table = Table({
        "iteration": np.arange(count) + by_ends, "begin": firsts.min(axis=0, initial=np.iinfo(np.int64).max),
        "end": ends.max(axis=0, initial=-1), "time_ns": times.max(axis=0, initial=-1),
        "mean_ns": sums.sum(axis=0) // np.maximum(1, there.sum(axis=0)),
        "location": np.array(locations)[slowest],
    })  # fmt: skip
    return table, times.T, begins.T, locations


def _padded(rows: list[Array], count: int) -> Array:
    """(rows, count) of rows with at most so many values; -1 where a row has no value."""
    if all(len(row) == count for row in rows):
        return np.stack(rows)
    found = np.full((len(rows), count), -1, np.int64)
    for to, row in zip(found, rows, strict=True):
        to[: len(row)] = row
    return found


def _median(values: Array) -> float:
    """The median, without numpy.ma, which np.median loads for fractions."""
    ordered = np.sort(values)
    return float((ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2)


def _centre(times: Array) -> tuple[float, float]:
    """The median, and its error: the median deviation by the root of the number of times; infinite without times."""
    there = times[times >= 0]
    if not len(there):
        return 0.0, np.inf
    median = _median(there)
    return median, _median(np.abs(there - median)) / float(np.sqrt(len(there)))


def _unrecorded(trace: Source, times: Array, begins: Array, locations: list[int]) -> Array:
    """(iterations,) bool: those in which a location did not record events of any kind."""
    gaps = trace.not_recorded(locations).intervals
    gaps = gaps.take((gaps["class"].astype(str) == "all") & (gaps["reason"].astype(str) != FLUSH))
    at = trace.definitions.ids["locations"].rows(gaps["location"])
    gap_begin, gap_end = trace.ns(gaps["from"]), trace.ns(gaps["to"])
    found = np.zeros(len(times), bool)
    for column, location in enumerate(locations):
        mine = np.flatnonzero(at == location)
        mine = mine[np.argsort(gap_begin[mine], kind="stable")]
        begin = begins[:, column]
        before = np.searchsorted(gap_begin[mine], begin + times[:, column])  # gaps that begin before the end
        latest = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(gap_end[mine]))[before]
        found |= (times[:, column] >= 0) & (latest > begin)
    return found


def _outliers(time: Array, *, from_call_to_call: bool) -> Array:
    """(n,) bool: True for times much longer than the others. from_call_to_call: a time is longer, and one beside it
    shorter, where a call came late only."""
    if len(time) < _LEAST:
        return np.zeros(len(time), bool)
    median = _median(time)
    deviation = _median(np.abs(time - median))
    less = np.pad(np.maximum(0, median - time), 1)
    moved = (less[:-2] + less[2:]) * from_call_to_call
    found: Array = (time - moved > _SLOW * median) & (time > median + _DEVIATIONS * deviation)
    return found


def _mark_outliers(iterations: Iterations, unrecorded: Array) -> None:
    """Finds outliers and drift. unrecorded: (iterations,) bool, iterations that are neither."""
    time = iterations.longest.astype(np.float64)
    slow = _outliers(time, from_call_to_call=iterations.basis != _BASES[0])
    for row in np.flatnonzero(slow & ~unrecorded).tolist():
        if iterations.slow and row - iterations.slow[-1][1] <= 1:
            iterations.slow[-1] = iterations.slow[-1][0], row
        else:
            iterations.slow.append((row, row))
    iterations.usual_rows = np.flatnonzero(~slow & ~unrecorded)
    usual = time[iterations.usual_rows]
    if len(usual) >= 8:
        quarter = len(usual) // 4
        first = _median(usual[:quarter])
        iterations.drift = _median(usual[-quarter:]) / first if first else 1.0
