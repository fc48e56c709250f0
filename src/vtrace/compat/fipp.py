# SPDX-License-Identifier: BSD-3-Clause
"""The report of the Instant Profiler: the output of fipppx for an archive with samples. docs/instant-profiler.md has
the formula of each item."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vtrace.compat.fipp_costs import CallNode, FippCosts, FippProcess, FippRow
from vtrace.compat.fipp_hardware import FippHardware, HardwareMaker, HardwarePlace
from vtrace.compat.program_facts import Collected, collection, inputs_of, pick, program_type, virtual_coordinate

if TYPE_CHECKING:
    from vtrace.analysis.derived.event_set import EventSet
    from vtrace.analysis.source import Source

_SECTION = re.compile(r"fipp_(start|stop)")
_SECTION_TIMES = re.compile(r".*; process: (\d+) us user, (\d+) us system")


@dataclass
class FippChoices:
    """The output of fipppx. items: of -I; first: numbers that -p or -T name, before the others; most: of processes or
    threads, 0: all; inputs: processes to read, 0: all; function: of -f."""

    items: frozenset[str] = frozenset({"cpu"})
    limit: int = 10
    function: str | None = None
    first_processes: tuple[int, ...] = ()
    inputs: int = 0
    most_processes: int = 16
    first_threads: tuple[int, ...] = ()
    most_threads: int = 0


@dataclass
class FippCollected(Collected):
    """The notes of fipp -C. limit: of procedures, 0: all; userfunc: of -P; sections: -Srange; shared: of -L, lines of
    libraries are shown."""

    limit: int = 0
    userfunc: bool = False
    sections: bool = False
    shared: bool = True


@dataclass
class FippTimes:
    """The time statistics of a level, in seconds; user is all CPU time if system is None."""

    elapsed: float
    user: float
    system: float | None
    level: str


@dataclass
class _MarkedSections:
    """The sections of a process: ns between the markers, and seconds of CPU time in user and in kernel mode, NaN:
    unknown."""

    elapsed: int = 0
    user: float = 0.0
    system: float = 0.0


@dataclass(kw_only=True)
class FippLevel:
    """The costs of the application, a process or a thread. title: in headings, name: in rows."""

    title: str
    name: str
    total: FippRow
    procedures: list[FippRow]
    loops: list[FippRow]
    lines: list[FippRow]


@dataclass
class FippBalance:
    """The cost of a procedure or loop by process or thread: (name, cost), and the share of the highest cost."""

    row: FippRow
    parts: list[tuple[str, int]]


@dataclass
class FippReport:
    """The whole output of fipppx."""

    environment: list[tuple[str, str]]
    times: list[FippTimes]
    levels: list[FippLevel]
    procedure_balance: list[FippBalance] = field(default_factory=list)
    loop_balance: list[FippBalance] = field(default_factory=list)
    graphs: list[tuple[str, int, list[CallNode]]] = field(default_factory=list)
    """Of threads: title, cost, nodes."""
    hardware: FippHardware | None = None
    sources: dict[str, dict[int, int]] = field(default_factory=dict)
    threads: bool = False
    """True if the application has parallel threads."""
    mpi: bool = False
    has_loops: bool = False


class _Maker:
    def __init__(self, costs: FippCosts, choices: FippChoices, collected: FippCollected) -> None:
        self.costs, self.choices, self.collected = costs, choices, collected
        self.trace: Source = costs.trace
        self.inputs = inputs_of(costs.processes, choices.inputs, choices.first_processes)
        self.mpi = bool((self.trace.processes["rank"] >= 0).any())
        self.threads = max((len(p.threads) for p in self.inputs), default=0) > 1
        self.locations = [location for p in self.inputs for location in p.locations]
        numbers, sums = [p.number for p in self.inputs], [p.cost for p in self.inputs]
        picked = pick(numbers, sums, choices.first_processes, choices.most_processes)
        self.shown = [self.inputs[place] for place in picked]

    def shown_threads(self, process: FippProcess) -> list[int]:
        """Places of the threads of a process that have tables of their own."""
        numbers, sums = [t.number for t in process.threads], [t.cost for t in process.threads]
        return pick(numbers, sums, self.choices.first_threads, self.choices.most_threads)

    def parts(self) -> Iterable[tuple[str, str, list[int], list[int]]]:
        """The levels that are shown: title, name, rows of locations, and the processes."""
        yield "Application", "Application", self.locations, [p.number for p in self.inputs]
        for process in self.shown:
            title = f"Process {process.number}"
            if len(self.inputs) > 1 or self.mpi:
                yield title, title, process.locations, [process.number]
            if self.threads:
                for place in self.shown_threads(process):
                    thread = process.threads[place]
                    name = f"Thread {thread.number}"
                    yield f"{title} - {name}", name, [thread.location], [process.number]

    # ---- Environment and times ----

    def environment(self) -> list[tuple[str, str]]:
        """Table 2.15, without the version."""
        samples = self.costs.costs.samples
        count = int(samples["count"].sum())
        interval = float((samples["count"] * samples["ns"]).sum()) / count if count else 0.0
        found = [
            *collection(self.trace, self.collected.date, self.collected.frequency, [p.number for p in self.inputs]),
            ("Type of program", program_type(self.trace, self.mpi, self.threads, self.costs.names)),
            ("Average at sampling interval", f"{interval / 1e6:.1f} (ms)"),
            ("Measured range", "selected range" if self.collected.sections else "All ranges"),
        ]
        if self.mpi:
            found.append(("Virtual coordinate", virtual_coordinate(self.trace)))
        return found

    def times(self) -> list[FippTimes]:
        """Table 2.16."""
        spans, sections = self._spans(), self._sections() if self.collected.sections else {}
        found = []
        for _, name, locations, numbers in self.parts():
            cpu = None
            if self.collected.sections:
                mine = [sections.get(number, _MarkedSections()) for number in numbers]
                elapsed = max((marked.elapsed for marked in mine), default=0)
                if all(set(p.locations) <= set(locations) for p in self.inputs if p.number in numbers):
                    cpu = sum(marked.user for marked in mine), sum(marked.system for marked in mine)
            else:
                elapsed = _elapsed(spans, locations)
                cpu = self._cpu_times(locations)
            known = cpu is not None and not math.isnan(sum(cpu))
            user, system = cpu if cpu and known else (self.costs.total(locations, name).operation / 1e9, None)
            found.append(FippTimes(elapsed / 1e9, user, system, name))
        return found

    def _cpu_times(self, locations: list[int]) -> tuple[float, float]:
        """Seconds of CPU time of these threads in user and in kernel mode; NaN: not known of all of them."""
        coverage = self.trace.coverage()
        user, system = (float(coverage[key][locations].sum()) for key in ("user", "system"))
        return user, system

    def hardware_levels(self) -> Iterable[tuple[str, list[HardwarePlace]]]:
        """The application with its processes, and each process with its threads."""
        spans = self._spans()

        def place(name: str, locations: Sequence[int]) -> HardwarePlace:
            return HardwarePlace(name, locations, _elapsed(spans, locations) / 1e9)

        shown = [place(f"Process {process.number}", process.locations) for process in self.shown]
        yield "Application", [place("Application", self.locations), *(shown if len(self.inputs) > 1 else [])]
        for process, whole in zip(self.shown, shown, strict=True):
            if self.threads:
                threads = [process.threads[at] for at in self.shown_threads(process)]
                yield whole.name, [whole, *(place(f"Thread {thread.number}", [thread.location]) for thread in threads)]

    def _spans(self) -> dict[int, tuple[int, int]]:
        """By location: its start and end in ns."""
        coverage = self.trace.coverage()
        recorded = dict(zip(coverage["location"].tolist(), coverage["seconds"].tolist(), strict=True))
        duration = self.trace.duration
        return {
            location: (0, int(seconds * 1e9) if seconds == seconds else duration)
            for location, seconds in recorded.items()
        }

    def _sections(self) -> dict[int, _MarkedSections]:
        """By process: its sections, between the markers of fipp_start and fipp_stop."""
        rows = {int(number): row for row, number in enumerate(self.trace.locations["id"].tolist())}
        numbers = {location: p.number for p in self.costs.processes for location in p.locations}
        begun: dict[int, tuple[int, float, float]] = {}
        found: dict[int, _MarkedSections] = {}

        def add(process: int, end: tuple[int, float, float]) -> None:
            start, sums = begun.pop(process), found.setdefault(process, _MarkedSections())
            sums.elapsed += end[0] - start[0]
            sums.user += end[1] - start[1]
            sums.system += end[2] - start[2]

        for mark in self.trace.markers().records():
            at = _SECTION.fullmatch(mark["category"])
            process = numbers.get(rows.get(int(mark["scope_id"]), -1))
            if not at or process is None:
                continue
            times = _SECTION_TIMES.fullmatch(mark["text"])
            user, system = (int(text) / 1e6 for text in times.groups()) if times else (math.nan, math.nan)
            if at[1] == "start":
                begun.setdefault(process, (mark["time"], user, system))
            elif process in begun:
                add(process, (mark["time"], user, system))
        for process in [*begun]:
            add(process, (self.trace.duration, math.nan, math.nan))
        return found

    # ---- Costs ----

    def level(self, title: str, name: str, locations: list[int]) -> FippLevel:
        """The tables of a level, each with its first rows."""
        loops = self.costs.loops(locations)
        return FippLevel(
            title=title,
            name=name,
            total=self.costs.total(locations, name),
            procedures=self._first(self.costs.procedures(locations)),
            loops=self._first(loops),
            lines=self._first(self.costs.lines(locations)),
        )

    def _first(self, rows: list[FippRow]) -> list[FippRow]:
        limit = self.choices.limit or len(rows)
        return [row for place, row in enumerate(rows) if place < limit or row.name == self.choices.function]

    def balance(self, rows: list[FippRow], loops: bool) -> list[FippBalance]:
        """The costs of rows of the application by process; of a single process by thread."""
        if len(self.inputs) > 1:
            parts = [(f"Process {p.number}", p.locations) for p in self.shown]
        else:
            parts = [(f"Thread {t.number}", [t.location]) for p in self.shown for t in p.threads]
        sums: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
        for name, locations in parts:
            found = self.costs.loops(locations) if loops else self.costs.procedures(locations)
            costs = {_key(row): row.cost for row in found}
            for row in rows:
                sums.setdefault(_key(row), []).append((name, costs.get(_key(row), 0)))
        return [FippBalance(row, sums[_key(row)]) for row in rows]


def _elapsed(spans: Mapping[int, tuple[int, int]], locations: Iterable[int]) -> int:
    """ns from the first begin to the last end of these locations."""
    ends = [spans[location] for location in locations if location in spans]
    return max((end for _, end in ends), default=0) - min((begin for begin, _ in ends), default=0)


def _key(row: FippRow) -> tuple[Any, ...]:
    return row.name, row.start, row.end, row.loop


def make(costs: FippCosts, choices: FippChoices, collected: FippCollected, events: EventSet) -> FippReport:
    """Makes the report. events: the formulas of the hardware monitor."""
    maker = _Maker(costs, choices, collected)
    report = FippReport(maker.environment(), maker.times(), [], threads=maker.threads, mpi=maker.mpi)
    report.has_loops = costs.trace.loops.table.rows > 0
    if collected.limit:
        costs.keep_procedures(collected.limit)
    if "cpu" in choices.items:
        report.levels = [maker.level(title, name, locations) for title, name, locations, _ in maker.parts()]
        if "balance" in choices.items and (maker.threads or len(maker.inputs) > 1):
            report.procedure_balance = maker.balance(report.levels[0].procedures, False)
            report.loop_balance = maker.balance(report.levels[0].loops, True)
    if "call" in choices.items:
        for process in maker.shown:
            for place in maker.shown_threads(process):
                thread = process.threads[place]
                title = f"Process {process.number} - Thread {thread.number}"
                report.graphs.append((title, thread.cost, costs.call_graph(thread.location)))
    if "hwm" in choices.items:
        monitor = HardwareMaker(
            maker.trace, maker.locations, event=collected.event, mhz=collected.frequency, events=events
        )
        report.hardware = monitor.make(maker.hardware_levels())
    if "src" in choices.items:
        report.sources = costs.sources(maker.locations)
    return report
