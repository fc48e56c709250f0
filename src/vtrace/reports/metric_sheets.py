# SPDX-License-Identifier: BSD-3-Clause
"""The table of vtrace profile --metrics: increases of counters, and values derived from them, by function, call path,
section, rank or thread."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from vtrace.analysis.counter_runs import unlike_first
from vtrace.analysis.definition_tables import is_count
from vtrace.analysis.derived.event_set import CLOCK_RATE, EventSet
from vtrace.analysis.derived.known_events import ELAPSED, LINUX, unqualified
from vtrace.analysis.host_clocks import clock_rate
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions import section_sums
from vtrace.analysis.questions.increases import Increases, Path
from vtrace.analysis.questions.metrics import heap_metrics
from vtrace.analysis.questions.profile import CallTree
from vtrace.analysis.questions.timeline_data import location_names, process_names
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.errors import UsageError, VtraceError
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

OUTSIDE = "(outside)"
_UnitSums = dict[Any, dict[str, float]]
TITLES = {"function": "Functions", "callpath": "Call paths", "rank": "Ranks", "thread": "Threads",
          "section": "Sections"}  # fmt: skip


class CounterRun(NamedTuple):
    """A run of the program, and the part of it to read."""

    trace: Trace
    window: Selection


@dataclass(kw_only=True)
class MetricNumbers:
    """Sums by row and metric's name: exclusive, and (for functions and call paths only) inclusive, with callees. units:
    of the wanted metrics, by name. notes: damage, one line each."""

    by: str
    wanted: list[str]
    units: dict[str, str]
    exclusive: _UnitSums
    inclusive: _UnitSums
    notes: list[str]


def read(
    runs: Sequence[CounterRun], by: str, patterns: Patterns, wanted: Sequence[str], *, events: EventSet
) -> MetricNumbers:
    """Reads the events of a selection once. runs: of one program, each with different counters; a counter of several
    runs and the times come from the first run that has them. by: one of table_names.METRIC_UNITS. wanted: names of
    metrics of the runs, or of derived events.

    Raises UsageError for a name that is neither, or for a metric that is no counter.
    """
    made = MetricNumbers(by=by, wanted=[*wanted], units={}, exclusive={}, inclusive={}, notes=[])
    for run, rows in zip(runs, _rows([run.trace for run in runs], wanted, events), strict=True):
        is_first = run is runs[0]
        if not rows and not is_first:
            continue
        found = (_of_sections if by == "section" else _of_calls)(run, by, patterns, wanted, rows, events, is_first)
        for into, sums in ((made.exclusive, found.exclusive), (made.inclusive, found.inclusive)):
            for key, values in sums.items():
                into[key] = values | into.get(key, {})
        made.units = found.units | {name: unit for name, unit in made.units.items() if unit}
        made.notes += found.notes
    for sums in (made.exclusive, made.inclusive):
        _derive(runs[0].trace, sums, wanted, events)
    made.notes += unlike_first([run.trace.duration / 1e9 for run in runs])
    return made


def _of_calls(  # noqa: PLR0917
    run: CounterRun, by: str, patterns: Patterns, wanted: Sequence[str], rows: dict[str, int], events: EventSet,
    timed: bool,
) -> MetricNumbers:  # fmt: skip
    """The sums of one run. timed: with the time of the calls, which an event needs."""
    trace, window = run
    question, tree = Increases(trace, [*rows.values()]), CallTree()
    has_time = timed and any(ELAPSED in events.natives(name) for name in wanted) and ELAPSED not in rows
    questions: list[AnyQuestion] = [question, tree] if has_time else [question]
    met = ask(trace, questions, window)
    exclusive: _UnitSums = {}
    inclusive: _UnitSums = {}
    names: dict[int, list[str]] = {}
    for name, row in rows.items():
        names.setdefault(row, []).append(name)
    regions = trace.regions["name"].tolist()
    chosen = patterns.regions(trace).tolist()
    found = [(place, names[metric], path, value) for (place, metric, path), value in sorted(question.answer().items())]
    found += [(place, [ELAPSED], path, value) for place, path, value in _seconds(tree)] if has_time else []
    for location, of, path, value in found:
        if not (all(chosen) or (path and chosen[path[-1]])):
            continue
        for name in of:
            _add(exclusive, _key(trace, by, location=location, path=path, regions=regions), name, value)
            for end in range(len(path) + 1) if by == "callpath" else ():
                _add(inclusive, tuple(regions[region] for region in path[:end]), name, value)
            for function in {regions[region] for region in path} if by == "function" else ():
                _add(inclusive, function, name, value)
    for key, sums in inclusive.items() if all(chosen) else ():
        for name in sums:
            exclusive.setdefault(key, {}).setdefault(name, 0.0)  # the counter was not read in these calls themselves
    units = {name: _unit(trace, rows, name) for name in wanted}
    return MetricNumbers(
        by=by, wanted=[*wanted], units=units, exclusive=exclusive, inclusive=inclusive, notes=met.problems
    )


def _of_sections(  # noqa: PLR0917
    run: CounterRun, by: str, patterns: Patterns, wanted: Sequence[str], rows: dict[str, int], events: EventSet,
    timed: bool,
) -> MetricNumbers:  # fmt: skip
    """As _of_calls."""
    trace, window = run
    found = section_sums.read(trace, window, [*rows.values()])
    names, notes = trace.metric_members["name"].tolist(), found.notes
    sums: _UnitSums = {}
    for section, numbers in found.counters.items():
        values = {name: numbers[names[row]] for name, row in rows.items()}
        sums[section] = {name: value for name, value in values.items() if value is not None}
        if len(sums[section]) < len(values):
            notes.append(f"section {section}: the counters were not read at each start and stop: no values")
        if timed:
            sums[section][ELAPSED] = (numbers["elapsed_ns"] or 0) / 1e9
    return MetricNumbers(
        by=by,
        wanted=[*wanted],
        units={name: _unit(trace, rows, name) for name in wanted},
        exclusive=sums,
        inclusive={},
        notes=notes,
    )


def _seconds(tree: CallTree) -> Iterator[tuple[int, Path, float]]:
    """Location, call path and its exclusive time in s."""
    paths, numbers = tree.answer()
    parents, regions = paths["parent"].tolist(), paths["region"].tolist()
    for location, path, ns in zip(*(numbers[name].tolist() for name in ("location", "path", "exclusive")), strict=True):
        found: list[int] = []
        while path > 0:
            found.insert(0, regions[path])
            path = parents[path]
        yield location, tuple(found), ns / 1e9


def _rows(traces: Sequence[Trace], wanted: Sequence[str], events: EventSet) -> list[dict[str, int]]:
    """For each trace, the rows of the metrics that the wanted names need and no earlier trace has."""
    known = [_known(trace) for trace in traces]
    every = [*dict.fromkeys(name for names in known for name in names)]
    found: list[dict[str, int]] = [{} for _ in traces]
    for name in wanted:
        for native in [name] if name in every else events.natives(name):
            if native == ELAPSED and native not in every:
                continue
            if native not in every:
                near = get_close_matches(native, [*every, *events.events], 3) or every[:8]
                hint = f"the trace has {', '.join(near)}" if near else "record with vtrace run --counters NAME"
                of = f" (of {name})" if native != name else ""
                raise UsageError(f"--metrics: the trace has no metric {native}{of}", hint)
            place = next(place for place, names in enumerate(known) if native in names)
            row = known[place][native]
            if not is_count(traces[place].metric_members["mode"][row]):
                raise UsageError(f"--metrics: {native} counts nothing", "vtrace view shows its values over time")
            found[place][native] = row
    return found


def _known(trace: Trace) -> dict[str, int]:
    names = trace.metric_members["name"].tolist()
    found = {unqualified(name): row for row, name in enumerate(names)} | {name: row for row, name in enumerate(names)}
    return {guide: found[linux] for guide, linux in LINUX.items() if linux in found} | found


def _unit(trace: Trace, rows: dict[str, int], name: str) -> str:
    return str(trace.metric_members["unit"][rows[name]]) if name in rows else ""


def _key(trace: Trace, by: str, location: int, path: Path, *, regions: list[str]) -> Any:
    if by == "thread":
        return location_names(trace)[location]
    if by == "rank":
        return [*process_names(trace), ""][trace.places.process[location]]
    if by == "callpath":
        return tuple(regions[region] for region in path)
    return regions[path[-1]] if path else OUTSIDE


def _add(sums: _UnitSums, key: Any, name: str, value: float) -> None:
    row = sums.setdefault(key, {})
    row[name] = row.get(name, 0.0) + value


def _derive(trace: Trace, sums: _UnitSums, wanted: Sequence[str], events: EventSet) -> None:
    clock = clock_rate(trace)
    rate = {} if clock is None else {CLOCK_RATE: clock}
    for row in sums.values():
        for name in wanted:
            if name in events.events and name not in row:
                try:
                    row[name] = float(events.value(name, row | rate))
                except VtraceError:  # a division by zero, or no reading here
                    continue


def sheet(numbers: MetricNumbers, most: int | None = None) -> Sheet:
    """The rows, the largest exclusive value of the first metric first. most: number of rows, None: all."""
    by, first = numbers.by, numbers.wanted[0]
    keys = {**numbers.inclusive, **numbers.exclusive}
    order = sorted(keys, key=lambda key: (-numbers.exclusive.get(key, {}).get(first, 0.0), str(key)))
    both = by in ("function", "callpath")
    rows: list[Row] = []
    for key in order[:most]:
        row: Row = {by: (list(key) or [OUTSIDE]) if by == "callpath" else key}
        for name in numbers.wanted:
            row[name] = _number(numbers.exclusive.get(key, {}).get(name))
            if both:
                row[f"{name}:inclusive"] = _number(numbers.inclusive.get(key, numbers.exclusive.get(key, {})).get(name))
        rows.append(row)
    columns = [Column(by, kind="path" if by == "callpath" else "text")]
    for name in numbers.wanted:
        unit = numbers.units[name]
        head = f"{name} ({unit})" if unit not in ("", "#") else name
        columns.append(Column(name, head))
        columns += [Column(f"{name}:inclusive", "with calls")] if both else []
    made = Sheet(name="metrics", title=f"{TITLES[by]} by {first}", columns=columns, rows=rows)
    if len(order) > len(rows):
        made.notes.append(f"the first {len(rows):,} of {len(order):,}: --top shows more, all with --json or --csv")
    return made


def _number(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def shown(made: Sheet) -> Sheet:
    """The table for people: the name of a row, which may be long, comes last."""
    name = made.columns[0]
    columns = [*made.columns[1:], Column(name.key, name.key, name.kind)]
    return Sheet(name=made.name, title=made.title, columns=columns, rows=made.rows, shown=made.shown, notes=made.notes)


def counters_of(trace: Trace) -> list[int]:
    """Rows of trace.metric_members that are counters, without the heap."""
    own = {*heap_metrics(trace).values()}
    return [row for row, mode in enumerate(trace.metric_members["mode"].tolist()) if is_count(mode) and row not in own]


def counters(trace: Trace, increases: Mapping[tuple[int, int, Path], float]) -> Sheet:
    """The increase of each counter in all functions, and on the location with the most."""
    sums: dict[int, dict[int, float]] = {}
    for (location, metric, _), value in increases.items():
        of = sums.setdefault(metric, {})
        of[location] = of.get(location, 0.0) + value
    names, labels = trace.metric_members, location_names(trace)
    rows: list[Row] = []
    for metric, of in sorted(sums.items()):
        most = max(of, key=lambda location: of[location])
        rows.append({
            "counter": str(names["name"][metric]), "unit": str(names["unit"][metric]),
            "total": _number(sum(of.values())), "mean": sum(of.values()) / len(of), "most": _number(of[most]),
            "location": labels[most], "description": str(names["description"][metric]),
        })  # fmt: skip
    columns = [
        Column("total", "total"), Column("unit", "unit", "text"), Column("mean", "mean of a thread", "ratio"),
        Column("most", "most of a thread"), Column("location", "which", "text"), Column("counter", "counter", "text"),
        Column("description", kind="text"),
    ]  # fmt: skip
    return Sheet(name="counters", title="Counters: increase while they were recorded", columns=columns, rows=rows)
