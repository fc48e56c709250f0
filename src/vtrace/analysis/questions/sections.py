# SPDX-License-Identifier: BSD-3-Clause
"""Sections of the program: parts with a name and a number, which nest and overlap freely."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import _otf2
import numpy as np

from vtrace.analysis.activity import ACTIVITIES, MPI
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number, present
from vtrace.analysis.questions.increases import increases
from vtrace.analysis.questions.metrics import MetricMembers, doubles
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch
from vtrace.io.archive.definitions import SECTION_UNIT

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

ALL = "all/0"
"""The name of the whole run."""
TOFU, TOFU_ALL = "tofupa/", "tofupa/0"
"""The sections of Tofu PA; number 0 is the time from MPI_Init to MPI_Finalize."""
RESERVED = (ALL, TOFU_ALL)
_ASYNCHRONOUS = _otf2.METRIC_ASYNCHRONOUS.value
_INIT, _FINALIZE = (ACTIVITIES.index(f"mpi/management/{end}") for end in ("init", "finalize"))
_FIRST, _LAST, _FROM, _UNTIL, _AFTER_INIT, _BEFORE_FINALIZE = range(-6, 0)
"""Kinds of points other than starts and stops of sections, in place of the section's metric."""
_ALL, _TOFU_ALL = -1, -2
"""Kinds of sections without a metric, in place of a row of metric_members."""
_COLUMNS = ("location", "section", "begin", "end", "mpi_ns", "mpi_calls")
_ODD = ("location", "section", "starts", "stops")


def section_metrics(trace: Source) -> list[int]:
    """Rows of trace.metric_members that are sections of the program."""
    return _metrics(trace, ~np.isin(trace.metric_members["name"], RESERVED))


def _metrics(trace: Source, chosen: Array) -> list[int]:
    found: list[int] = np.flatnonzero((trace.metric_members["unit"] == SECTION_UNIT) & chosen).tolist()
    return found


def _as_floats(found: dict[str, Array], places: Array) -> Array:
    """The values of Metric events at these places."""
    return doubles(found["value"][places], found["type"][places])


def _is_read_apart(trace: Source, counter: int) -> bool:
    """True for a counter that is not read together with events, such as one of the whole node."""
    members = trace.definitions.ids["metric_members"].rows(trace.definitions.members)
    classes = trace.metric_classes
    of = [
        occurrence
        for occurrence, offset, count in zip(classes["occurrence"], classes["offset"], classes["count"], strict=True)
        if counter in members[offset : offset + count]
    ]
    return "CUT" not in trace.vtrace and all(occurrence == _ASYNCHRONOUS for occurrence in of)


class OutermostClock:
    """The time in calls of some regions, and the number of the outermost of these calls that have started, along a
    location."""

    def __init__(self, wanted: Array) -> None:
        """wanted: (regions,) bool."""
        self.wanted = wanted
        self.level = self.lowest = 0
        self.times = self.spent = self.calls = np.zeros(1, np.int64)
        self.inside = np.zeros(1, bool)
        """After the last event of the batch before, and after each event of the batch."""
        self.further = np.zeros(0, np.int64)
        """The number of calls that each event of the batch ends besides one."""

    def read(self, batch: Batch, is_first: bool) -> None:
        """Reads a batch. A leave without an enter does not count."""
        enters, leaves = batch.kind == number("Enter"), batch.kind == number("Leave")
        mpi = enters | leaves
        mpi[mpi] = self.wanted[batch.ref[mpi]]
        level = self.level + np.cumsum((enters & mpi).astype(np.int64) - (leaves & mpi))
        lowest = np.minimum.accumulate(np.minimum(level, self.lowest))
        last = batch.time[:1] if is_first else self.times[-1:]
        self.times = np.concatenate([last, batch.time])
        self.inside = np.concatenate([self.inside[-1:], level > lowest])
        began = self.inside[1:] & ~self.inside[:-1]
        self.spent = np.cumsum(np.append(self.spent[-1], np.diff(self.times) * self.inside[:-1]))
        self.further = batch.further_calls() * (self.inside[:-1] & ~self.inside[1:])
        self.calls = np.cumsum(np.append(self.calls[-1], began + self.further))
        self.level, self.lowest = int(level[-1]), int(lowest[-1])

    def ends(self) -> tuple[Array, Array]:
        """The events of the batch that start and end outermost calls."""
        before, after = self.inside[:-1], self.inside[1:]
        return np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)

    def at(self, ns: int) -> tuple[int, int]:
        """The time in these regions and the calls up to a place in the batch."""
        place = int(np.searchsorted(self.times, ns, "right")) - 1
        return int(self.spent[place] + self.inside[place] * (ns - self.times[place])), int(self.calls[place])


class _SectionPart(Part):
    def __init__(self, owner: Sections) -> None:
        self.owner, self.clock = owner, OutermostClock(owner.is_mpi)
        self.points: list[Array] = []
        """(n, 5) int64: metric of the section or kind of point, value, time, time in MPI, calls of MPI."""
        self.readings: list[Array] = []
        """(n, counters) float64: the values that were read at the points; NaN: none."""
        self.latest = dict.fromkeys(owner.counters, (ALWAYS, np.nan, 0))
        """Time, value and thread of the last reading."""
        self.earliest = dict.fromkeys(owner.counters, np.nan)
        self.lost = dict.fromkeys(owner.counters, 0.0)
        """Counts lost when a counter restarted or the location changed its thread."""
        self.threads = 0
        self.count = 0
        self.last: int | None = None
        """Time of the last call, section or counter."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if not len(batch):
            return
        self.clock.read(batch, not self.count)
        counted = batch.time[batch.kind != number("ThreadBegin")]
        if len(counted):
            if self.last is None:
                self.add(_FIRST, int(counted[0]), 0, 0)
            self.last = int(counted[-1])
        for kind, ns in ((_FROM, self.owner.window[0]), (_UNTIL, self.owner.window[1])):
            if self.clock.times[0] <= ns < self.clock.times[-1]:
                self.add(kind, ns, *self.clock.at(ns))
        self.ends_of_mpi(batch)
        begun = np.cumsum(batch.kind == number("ThreadBegin"))
        for _, found in present(batch, "Metric"):
            self.sections(found, self.threads + begun[found["row"]])
        self.threads += int(begun[-1])
        self.count += len(batch)

    def add(self, kind: int, ns: int, spent: int, calls: int, values: Array | None = None) -> None:  # noqa: PLR0917
        self.points.append(np.array([[kind, 1, ns, spent, calls]], np.int64))
        self.readings.append(np.full((1, len(self.owner.counters)), np.nan) if values is None else values)

    def ends_of_mpi(self, batch: Batch) -> None:
        """Keeps the leave of MPI_Init and the enter of MPI_Finalize."""
        if not self.owner.has_tofu:
            return
        for kind, event, activity in ((_AFTER_INIT, "Leave", _INIT), (_BEFORE_FINALIZE, "Enter", _FINALIZE)):
            rows = np.flatnonzero(batch.kind == number(event))
            rows = rows[self.owner.activity[batch.ref[rows]] == activity]
            if len(rows):
                row = int(rows[0])
                before = self.clock.calls[row + (event == "Leave")]
                time, values = int(batch.time[row]), self.read_before(batch, row)
                self.add(kind, time, spent=int(self.clock.spent[row + 1]), calls=int(before), values=values)

    def read_before(self, batch: Batch, row: int) -> Array:
        """(1, counters) The values that were read directly before an event, at the same time."""
        values = np.full((1, len(self.owner.counters)), np.nan)
        for _, found in present(batch, "Metric"):
            metrics = self.owner.members.rows(found["ref"], found["member"])
            mine = np.flatnonzero((found["row"] < row) & (found["time"] == batch.time[row]))
            read = _as_floats(found, mine)
            for place, counter in enumerate(self.owner.counters):
                of = read[metrics[mine] == counter]
                values[0, place] = of[-1] if len(of) else np.nan
        return values

    def sections(self, found: dict[str, Array], threads: Array) -> None:
        metrics = self.owner.members.rows(found["ref"], found["member"])
        mine = np.flatnonzero(np.isin(metrics, [*self.owner.metrics, *self.owner.whole]))
        rows, times = found["row"][mine].astype(np.int64), found["time"][mine]
        of = [metrics == counter for counter in self.owner.counters]
        readings = [
            self.at_sections(counter, here, found=found, threads=threads[here], sections=mine)
            for counter, here in zip(self.owner.counters, of, strict=True)
        ]
        if not len(mine):
            return
        values = found["value"][mine].astype(np.int64)
        clock = self.clock
        self.points.append(
            np.stack([metrics[mine], values, times, clock.spent[rows + 1], clock.calls[rows + 1]], axis=1)
        )
        self.readings.append(np.stack(readings, axis=1) if readings else np.empty((len(mine), 0)))

    def at_sections(
        self, counter: int, of: Array, found: dict[str, Array], threads: Array, *, sections: Array
    ) -> Array:  # fmt: skip
        """The values of a counter that were read directly before the events of sections, at the same time. threads: of
        the readings."""
        places = np.flatnonzero(of)
        read = _as_floats(found, places)
        time, value, thread = self.latest[counter]
        times, values = np.append(time, found["time"][places]), np.append(value, read)
        if len(places):
            steps = increases(values, np.append(thread, threads))
            self.lost[counter] += float(np.nansum(steps) - np.nansum(np.diff(values)))
            self.latest[counter] = int(times[-1]), float(values[-1]), int(threads[-1])
            if np.isnan(self.earliest[counter]):
                self.earliest[counter] = float(read[0])
        at = np.searchsorted(places, sections)
        return np.where(times[at] == found["time"][sections], values[at], np.nan)

    def end(self, replay: Replay | None) -> None:
        if self.last is None:
            return
        clock, counters = self.clock, self.owner.counters
        values = [
            self.latest[counter][1] + self.lost[counter] * (counter not in self.owner.levels) for counter in counters
        ]
        last = self.last, int(clock.spent[-1]), int(clock.calls[-1])
        self.add(_LAST, *last, np.array([values]).reshape(1, len(counters)))

    def rows(self, location: int) -> tuple[Array, Array, Array, Array]:
        """Rows of _COLUMNS, the counters at the starts and at the stops, and rows of _ODD."""
        points, readings = np.concatenate(self.points), np.concatenate(self.readings)
        special = {kind: row for row, kind in enumerate(points[:, 0].tolist()) if kind < 0}
        order = np.flatnonzero(points[:, 0] >= 0)
        order = order[np.argsort(points[order, 0], kind="stable")]
        metrics, opens = points[order, 0], points[order, 1] > 0
        paired = (metrics[:-1] == metrics[1:]) & opens[:-1] & ~opens[1:]
        begins, ends = order[:-1][paired], order[1:][paired]
        alone = np.ones(len(order), bool)
        alone[:-1] &= ~paired
        alone[1:] &= ~paired
        metrics = np.where(np.isin(metrics, self.owner.whole), _ALL, metrics)
        odd = [
            (location, metric, *(int(np.sum(metrics[alone & one] == metric)) for one in (opens, ~opens)))
            for metric in np.unique(metrics[alone]).tolist()
        ]
        kinds = metrics[:-1][paired].tolist()
        readings[special[_FIRST]] = [self.earliest[counter] for counter in self.owner.counters]
        whole = np.array(kinds, np.int64) == _ALL
        lone = (order[alone & (metrics == _ALL) & one] for one in (opens, ~opens))
        more = self.whole_run(readings, special, np.stack([begins[whole], ends[whole]], axis=1), *lone)
        if self.owner.whole and _ALL not in metrics:
            odd.append((location, _ALL, 0, 0))
        begins, ends = np.append(begins, more[:, 0]), np.append(ends, more[:, 1])
        kinds += [_ALL] * len(more)
        if {_AFTER_INIT, _BEFORE_FINALIZE} <= {*special}:
            begins, ends = np.append(begins, special[_AFTER_INIT]), np.append(ends, special[_BEFORE_FINALIZE])
            kinds.append(_TOFU_ALL)
        kept, begins, ends = self.cut(points, special, begins, ends)
        numbers = np.stack([np.array(kinds)[kept], points[begins, 2], points[ends, 2]], axis=1)
        differences = points[ends, 3:] - points[begins, 3:]
        located = np.column_stack([np.full(len(begins), location), numbers, differences])
        return located, readings[begins], readings[ends], np.array(odd, np.int64).reshape(len(odd), len(_ODD))

    def whole_run(self, readings: Array, special: dict[int, int], pairs: Array, starts: Array, stops: Array) -> Array:  # noqa: PLR0917
        """(n, 2) The points of the whole run besides its pairs of start and stop. starts, stops: those without the
        other one. Completes the readings of a single pair for counters that are read at other moments."""
        first, last = special[_FIRST], special[_LAST]
        if not self.owner.whole:
            return np.array([[first, last]])
        if len(pairs) == 1 and not len(starts) and not len(stops):
            for point, outermost in zip(pairs[0], (first, last), strict=True):
                lacking = np.isnan(readings[point]) & self.owner.apart
                readings[point] = np.where(lacking, readings[outermost], readings[point])
        readings[[first, last]] = np.nan  # an end that was not recorded is at the outermost event, without a reading
        more = [*((start, last) for start in starts[-1:]), *((first, stop) for stop in stops[:1])]
        if not len(pairs) and not more:
            more = [(first, last)]
        return np.array(more, np.int64).reshape(len(more), 2)

    def cut(self, points: Array, special: dict[int, int], begins: Array, ends: Array) -> tuple[Array, Array, Array]:
        """The sections that have a part in the window, and the points of that part."""
        start, stop = special.get(_FROM, special[_FIRST]), special.get(_UNTIL, special[_LAST])
        first, last, times = points[special[_FIRST], 2], points[special[_LAST], 2], points[:, 2]
        after = (times[ends] > times[start]) | (times[begins] >= times[start])
        kept = after & ((times[begins] < times[stop]) | (times[ends] <= times[stop]))
        kept &= self.owner.window[0] <= last and first < self.owner.window[1]
        begins, ends = begins[kept], ends[kept]
        begins = np.where(times[begins] < times[start], start, begins)
        return kept, begins, np.where(times[ends] > times[stop], stop, ends)


class Sections(Question[_SectionPart, Table]):
    """Answers Trace.sections. Reads the whole run: a section may have begun before the window."""

    kinds = frozenset({"Metric", "ThreadBegin"})
    replay = True

    def __init__(
        self, trace: Source, counters: Sequence[int] = (), window: tuple[int, int] = (ALWAYS, NEVER),
        levels: Collection[int] = (), *, tofu: bool = False,
    ) -> None:  # fmt: skip
        """counters: rows of trace.metric_members, whose increases the answer has. levels: counters of these whose
        values at both ends the answer also has. window: ns. tofu: answers with tofupa/0 even without other sections of
        Tofu PA."""
        super().__init__()
        self.levels = levels
        self.members, self.metrics, self.counters = MetricMembers(trace), section_metrics(trace), [*counters]
        self.whole = _metrics(trace, trace.metric_members["name"] == ALL)
        """The metric of the whole run, if it was recorded."""
        self.apart = np.array([_is_read_apart(trace, counter) for counter in self.counters], bool)
        """(counters,): those that are read at other moments than the starts and stops. A cut archive has none."""
        self.names: list[str] = trace.metric_members["name"].tolist()
        self.window = window
        self.activity = trace.regions["activity"]
        self.is_mpi = trace.regions["class"] == MPI
        self.has_tofu = tofu or any(self.names[metric].startswith(TOFU) for metric in self.metrics)

    def part(self, trace: Source, location: int) -> _SectionPart:
        return _SectionPart(self)

    def answer(self) -> Table:
        found = [part.rows(location) for location, part in self.parts.items() if part.last is not None]
        numbers = np.concatenate([np.empty((0, len(_COLUMNS)), np.int64), *(each[0] for each in found)])
        none = np.empty((0, len(self.counters)))
        before, after = (np.concatenate([none, *(each[place] for each in found)]) for place in (1, 2))
        odd = np.concatenate([np.empty((0, len(_ODD)), np.int64), *(each[3] for each in found)])
        place = {metric: row for row, metric in enumerate([_ALL, _TOFU_ALL, *self.metrics])}
        for rows in (numbers, odd):
            rows[:, 1] = [place[metric] for metric in rows[:, 1].tolist()]
        columns = dict(zip(_COLUMNS, numbers.T, strict=True))
        for counter, begin, end in zip(self.counters, before.T, after.T, strict=True):
            columns[f"@{self.names[counter]}"] = end - begin
            if counter in self.levels:
                columns[f"before@{self.names[counter]}"], columns[f"after@{self.names[counter]}"] = begin, end
        table = Table(columns).take(np.lexsort((numbers[:, 1], numbers[:, 2], numbers[:, 0])))
        table.notes["sections"] = [*RESERVED, *(self.names[metric] for metric in self.metrics)]
        table.notes["unpaired"] = Table(dict(zip(_ODD, odd.T, strict=True)))
        return table
