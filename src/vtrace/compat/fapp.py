# SPDX-License-Identifier: BSD-3-Clause
"""The report of the Advanced Profiler: the output of fapppx for an archive with sections. docs/sections.md has the
formula of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.questions import section_sums
from vtrace.analysis.questions.allocation_calls import AllocationCalls, AllocationNumbers, AllocationsBySection
from vtrace.analysis.questions.section_calls import COLUMNS, SectionCalls, by_function
from vtrace.analysis.questions.section_sums import LEVELS, MEMORY, memory_of
from vtrace.analysis.questions.sections import ALL, TOFU
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.compat import fapp_hardware
from vtrace.compat.program_facts import (
    Collected,
    collection,
    inputs_of,
    not_there,
    pick,
    program_type,
    virtual_coordinate,
)

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CPU = ("ru_utime", "ru_stime")
PA_HEAD = ("Elapsed(s)", "Call")
"""Columns that the CSV of -Hpa has before those of the counters."""
_KINDS: dict[str, Callable[[Sequence[float]], float]] = {
    "AVG": lambda values: sum(values) / len(values), "MAX": max, "MIN": min
}  # fmt: skip
Values = Sequence[float | None]
Form = Callable[[float], str]
MemoryCalls = dict[str, dict[tuple[int, str], AllocationNumbers]]
"""By the guide's functions, then by row of processes and section."""
LIBRARIES = 32
"""The most source libraries in the guide's layout."""
_USAGE = (
    ("Memory_Total", False), ("Arena", False), ("Arena_Total", False), ("Arena_Inuse", False), ("Arena_Free", False),
    ("Arena_rate(S)", True), ("Arena_rate(E)", True), ("Mmapped", False), ("Mmapped_Total", False),
)  # fmt: skip
"""Large page information (Tables 3.43 to 3.46), as far as malloc and the memory shim show it: heads of Figure 3.25, and
whether the item is a rate."""
_SHOWN = {"posix_memalign": "p_memalign"}
"""Function -> the guide's name, where it differs."""
_ALLOCATORS = ("malloc", "calloc", "memalign", "valloc", "pvalloc", "p_memalign", "free")
_STATS = ("Count", "TimeMin", "TimeMax", "TimeAvg", "SizeMin", "SizeMax", "SizeAvg")
_UNKNOWN = (
    ("NewHeap", "DelHeap", "Expbrk", "Expmmap", "Newmmap", "Delmmap"),
    ("Fastbin", "AllMax", "AllAvg", "SuccMax", "SuccAvg", "FailMax", "FailAvg"),
)
"""Heads of the other tables of Figure 3.26. glibc's malloc does not count these items."""


@dataclass
class FappChoices:
    """The output of fapppx. items: of -I; first_processes: of -p, before the others; inputs: processes to read, most:
    to show, 0: all; limit: sections, 0: all."""

    items: frozenset[str] = frozenset({"mpi"})
    first_processes: tuple[int, ...] = ()
    inputs: int = 0
    most_processes: int = 16
    limit: int = 0


@dataclass
class FappCollected(Collected):
    """The notes of fapp -C. items: of -I; pa: the number of -Hpa, 0 without it."""

    items: list[str] = field(default_factory=lambda: ["mpi"])
    pa: int = 0


@dataclass
class FappRow:
    """kind: AVG, MAX, MIN or ""; function: "" without one; section: NAME/NUMBER."""

    kind: str
    cells: list[str]
    section: str
    function: str = ""


@dataclass
class FappTable:
    """Rows with one head; text has a rule between groups of rows. names: heads of the CSV, which text explains above
    the table; with names, text omits the columns of PA_HEAD."""

    head: list[str]
    groups: list[list[FappRow]]
    has_kinds: bool
    names: list[str] = field(default_factory=list)
    title: str = ""
    """A line above the table."""


@dataclass
class FappLevel:
    """The tables of the application, a process or a thread."""

    title: str
    tables: list[FappTable]


@dataclass
class FappPart:
    """A kind of information at all its levels."""

    title: str
    levels: list[FappLevel]


@dataclass
class FappReport:
    """The whole output of fapppx. environment: of Figure 3.13, without the version."""

    environment: list[tuple[str, str]]
    parts: list[FappPart]
    notes: list[str]


@dataclass
class FappProcess:
    """A process by its number, a rank with MPI, and its threads: rows of locations."""

    number: int
    row: int
    locations: list[int]


def seconds(value: float) -> str:
    """A time in s, or a rate."""
    return f"{value:z.4f}"


def number(value: float) -> str:
    """A count; the average of counts may have a fraction."""
    return str(int(value)) if value == int(value) else f"{value:z.4f}"


def spread(of: Sequence[Values], forms: Sequence[Form], section: str, function: str = "") -> list[FappRow]:
    """The rows AVG, MAX and MIN, each value computed separately. A value that one of the parts lacks is "-"."""
    rows = []
    for kind, join in _KINDS.items():
        cells = []
        for column, form in zip(zip(*of, strict=True), forms, strict=True):
            known = [value for value in column if value is not None]
            cells.append(form(join(known)) if known and len(known) == len(column) else "-")
        rows.append(FappRow(kind, cells, section, function))
    return rows


def single(values: Values, forms: Sequence[Form], section: str, function: str = "") -> list[FappRow]:
    """The row of a process or thread."""
    cells = ["-" if value is None else form(value) for value, form in zip(values, forms, strict=True)]
    return [FappRow("", cells, section, function)]


class _Measured(NamedTuple):
    """The numbers of a section, and the number of execution cores that contributed."""

    numbers: section_sums.SectionValues
    cores: int


class FappMaker:
    """Makes the parts of the report; reads the events twice with MPI, else once."""

    def __init__(
        self, trace: Source, choices: FappChoices, collected: FappCollected, events: EventSet,
        *, waits: Callable[[], Table],
    ) -> None:  # fmt: skip
        """waits: Trace.call_waits of the archive."""
        self.trace, self.choices, self.collected, self.events = trace, choices, collected, events
        known = _processes(trace)
        self.mpi = bool((trace.processes["rank"] >= 0).any())
        if self.mpi:  # the others are shells and launchers
            known = [process for process in known if trace.processes["rank"][process.row] >= 0]
        self.inputs = inputs_of(known, choices.inputs, choices.first_processes)
        self.locations = sorted(location for p in self.inputs for location in p.locations)
        counters = fapp_hardware.counters_of(trace)
        self.counters = [*counters.values()]
        window = Selection.of(None, None, self.locations)
        levels = [row for row, name in enumerate(trace.metric_members["name"].tolist()) if name in LEVELS]
        self.numbers = section_sums.read(trace, window, [*counters], levels)
        measured = {row for row, _ in self.numbers.processes}
        self.inputs = [process for process in self.inputs if process.row in measured] or self.inputs
        if line := not_there(known, choices.first_processes):
            self.numbers.notes.append(line)
        self.sections = self._order()
        costs = [round(self._process(p, ALL).get("elapsed_ns") or 0) for p in self.inputs]
        places = pick([p.number for p in self.inputs], costs, choices.first_processes, choices.most_processes)
        self.shown = [self.inputs[place] for place in places]
        self._waits = waits

    def _order(self) -> list[str]:
        totals: dict[str, float] = {}
        for (_, name), numbers in self.numbers.processes.items():
            if not name.startswith(TOFU):
                totals[name] = totals.get(name, 0) + (numbers["elapsed_ns"] or 0)
        order = sorted(totals, key=lambda name: (name != ALL, -totals[name], name))
        return order[: self.choices.limit or None]

    def _process(self, process: FappProcess, section: str) -> section_sums.SectionValues:
        return self.numbers.processes.get((process.row, section), {})

    def having(self, section: str) -> list[FappProcess]:
        """The processes that have a section."""
        return [p for p in self.inputs if self._process(p, section)]

    def environment(self) -> list[tuple[str, str]]:
        """Table 3.22, without the version."""
        most = max((len(p.locations) for p in self.inputs), default=0)
        kind = program_type(self.trace, self.mpi, most > 1, []).replace(" (", "(")
        found = collection(self.trace, self.collected.date, self.collected.frequency, [p.number for p in self.inputs])
        found.append(("Type of program", f"{kind} {most}" if most > 1 else kind))
        return [*found, ("Virtual coordinate", virtual_coordinate(self.trace))] if self.mpi else found

    # ---- Basic information, 3.4.3 ----

    def basic(self) -> FappPart:
        """Figure 3.14."""
        head, forms = ["Elapsed(s)", "User(s)", "System(s)", "Call"], [seconds, seconds, seconds, number]

        def values(process: FappProcess, section: str) -> list[float | None]:
            numbers = self._process(process, section)
            times = (numbers[key] for key in ("elapsed_ns", "user_ns", "system_ns"))
            return [*(None if ns is None else ns / 1e9 for ns in times), numbers["calls"]]

        return FappPart("Basic profile", [*self._levels(head, forms, values)])

    def _levels(
        self, head: list[str], forms: Sequence[Form], values: Callable[[FappProcess, str], Values]
    ) -> Iterator[FappLevel]:
        """The application, and the shown processes with one row for each section."""
        groups = [
            spread([values(p, section) for p in self.having(section)], forms, section) for section in self.sections
        ]
        yield FappLevel("Application", [FappTable(head, groups, True)])
        for process in self.shown:
            mine = [section for section in self.sections if self._process(process, section)]
            rows = [row for section in mine for row in single(values(process, section), forms, section)]
            yield FappLevel(f"Process {process.number}", [FappTable(head, [rows], False)])

    # ---- MPI information, 3.4.4 ----

    def mpi_information(self) -> FappPart:
        """Tables 3.24 and 3.25."""
        question = SectionCalls(self.trace, self.numbers.table, self._waits())
        ask(self.trace, [question], Selection.of(locations=self.locations))
        sums = by_function(self.trace, question.answer(), self.trace.places.process)
        order, names = self._functions(sums), self.trace.regions["name"].tolist()
        head = ["Elapsed(s)", "Wait(s)", "Byte", "Call", "0KB-4KB", "4KB-64KB", "64KB-1024KB", "1024KB-"]
        forms = [seconds, seconds, number, number, number, number, number, number]
        has_lengths = {names[region] for region in question.has_length}
        nothing = dict.fromkeys(COLUMNS, 0)

        def values(process: FappProcess, section: str, function: str) -> Values:
            row = sums.get((process.row, section), {}).get(function, nothing)
            wait = row["wait_ns"] / 1e9
            if function not in has_lengths:
                return [row["time_ns"] / 1e9, wait, None, row["calls"], None, None, None, None]
            byte = row["bytes"] / row["sized"] if row["sized"] else 0.0
            return [row["time_ns"] / 1e9, wait, byte, row["calls"], *(row[f"class_{place}"] for place in range(4))]

        return FappPart("MPI profile", [*self._mpi_levels(head, forms, order, values)])

    def _functions(self, sums: Mapping[tuple[int, str], Mapping[str, Any]]) -> dict[str, list[str]]:
        """The functions of each section, by name."""
        found: dict[str, set[str]] = {}
        for (_, section), of in sums.items():
            found.setdefault(section, set()).update(of)
        return {section: sorted(found.get(section, ())) for section in self.sections}

    def _mpi_levels(
        self, head: list[str], forms: Sequence[Form], order: Mapping[str, list[str]],
        values: Callable[[FappProcess, str, str], Values],
    ) -> Iterator[FappLevel]:  # fmt: skip
        groups = [
            spread([values(p, section, function) for p in self.having(section)], forms, section, function)
            for section, functions in order.items()
            for function in functions
        ]
        yield FappLevel("Application", [FappTable(head, groups, True)])
        calls = head.index("Call")
        for process in self.shown:
            groups = []
            for section in order:
                mine = order[section] if self._process(process, section) else []
                rows = [(function, values(process, section, function)) for function in mine]
                groups.append(
                    [row for function, of in rows if of[calls] for row in single(of, forms, section, function)]
                )
            yield FappLevel(f"Process {process.number}", [FappTable(head, [*filter(None, groups)], False)])

    # ---- Hardware monitor information, 3.4.5 ----

    def hardware(self, event: str) -> FappPart:
        """Figures 3.16 to 3.23: the application from processes, processes from threads."""
        about = fapp_hardware.EVENTS.get(event, fapp_hardware.EVENTS[fapp_hardware.STANDARD])

        def level(title: str, sections: list[str], of: Callable[[str], list[_Measured]], kinds: bool) -> FappLevel:
            tables = [self._hardware_table(items, sections, of, kinds) for items in about.tables]
            return FappLevel(title, tables)

        levels = [level("Application", self.sections, self._of_processes, True)]
        for process in self.shown:
            mine = [section for section in self.sections if self._of_threads(process, section)]
            levels.append(level(f"Process {process.number}", mine, partial(self._of_threads, process), True))
            for place, location in enumerate(process.locations):
                thread = FappProcess(process.number, process.row, [location])
                own = [section for section in mine if self._of_threads(thread, section)]
                levels.append(level(f"Thread {place}", own, partial(self._of_threads, thread), False))
        return FappPart(about.title, levels)

    def _hardware_table(
        self, items: Sequence[tuple[str, str]], sections: list[str], of: Callable[[str], list[_Measured]], kinds: bool
    ) -> FappTable:
        heads, names = zip(*items, strict=True)
        forms = [seconds, *(number if head in fapp_hardware.COUNTS else seconds for head in heads)]
        groups = [(section, [self._items(measured, names) for measured in of(section)]) for section in sections]
        if kinds:
            rows = [spread(values, forms, section) for section, values in groups]
        else:
            rows = [[row for section, values in groups for row in single(values[0], forms, section)]]
        return FappTable(["Elapsed(s)", *heads], rows, kinds)

    def _of_threads(self, process: FappProcess, section: str) -> list[_Measured]:
        known = self.numbers.threads
        return [_Measured(known[place, section], 1) for place in self._locations(process, section)]

    def _of_processes(self, section: str) -> list[_Measured]:
        """The sums over the threads of each process, with the time of the longest thread."""
        found = []
        for process in self.having(section):
            threads = self._of_threads(process, section)
            longest = max(thread.numbers["elapsed_ns"] or 0 for thread in threads)
            found.append(_Measured({**self._process(process, section), "elapsed_ns": longest}, len(threads)))
        return found

    def _items(self, measured: _Measured, items: Sequence[str]) -> Values:
        """The elapsed time and the items of a thread or process."""
        elapsed = (measured.numbers["elapsed_ns"] or 0) / 1e9
        counters = {name: measured.numbers.get(name) for name in self.counters}
        given = fapp_hardware.bases(counters, elapsed, measured.cores, self.collected.frequency)
        return [elapsed, *(fapp_hardware.value(name, given, self.events) for name in items)]

    # ---- Counters of precision PA, Figure 3.24 ----

    def own_counters(self) -> FappPart:
        """The counters themselves, of sections between start_collection and stop_collection."""
        sections = [section for section in self.sections if section.endswith("/0")]
        names = [name for name in self.counters if name not in _CPU]

        def level(title: str, of: Callable[[str], section_sums.SectionValues]) -> FappLevel:
            mine = [section for section in sections if of(section)]
            tables = [self._counter_table(mine, of, names[at : at + 4], at) for at in range(0, max(len(names), 1), 4)]
            return FappLevel(f"{title} - performance monitors", tables)

        levels = [level("Application", lambda section: self.numbers.counters.get(section, {}))]
        for process in self.shown:
            levels.append(level(f"Process {process.number}", partial(self._process, process)))
            for place, location in enumerate(process.locations):
                levels.append(level(f"Thread {place}", partial(self._thread, location)))
        return FappPart("Performance monitor - Procedures profile event:Internal", levels)

    def _thread(self, location: int, section: str) -> section_sums.SectionValues:
        return self.numbers.threads.get((location, section), {})

    def _counter_table(
        self, sections: list[str], of: Callable[[str], section_sums.SectionValues], names: list[str], first: int
    ) -> FappTable:
        head = [*PA_HEAD, *(f"Ev.{first + place:02}" for place in range(len(names))), "Start", "End"]
        rows = []
        for section in sections:
            numbers = of(section)
            values = [(numbers["elapsed_ns"] or 0) / 1e9, numbers["calls"], *(numbers.get(name) for name in names)]
            row = single(values, ["{:.9f}".format, *[number] * (len(names) + 1)], section)[0]
            rows.append(FappRow("", [*row.cells, "--", "--"], section))
        return FappTable(head, [rows], False, [*PA_HEAD, *names, "Start", "End"])

    # ---- Largepage information, 3.4.6 ----

    def memory_usage(self) -> FappPart:
        """Figure 3.25: of malloc, at the starts and stops of the first thread that has the section."""

        def values(process: FappProcess, section: str) -> Values:
            location = self._locations(process, section)[0]
            return _usage(memory_of(self.numbers.table, location, section))

        heads, forms = zip(*_USAGE, strict=True)
        return FappPart(
            "LPGUsage profile", [*self._levels([*heads], [seconds if f else number for f in forms], values)]
        )

    def memory_calls(self) -> FappPart:
        """Figure 3.26, its first table: the calls of malloc and the like in sections. Other items are "-"."""
        question = AllocationCalls(self.trace, self.numbers.table)
        ask(self.trace, [question], Selection.of(locations=self.locations))
        libraries = {name: self._by_function(of) for name, of in question.by_library().items() if name}
        return FappPart("LPGStats profile", [*self._memory_levels(self._by_function(question.answer()), libraries)])

    def _by_function(self, calls: AllocationsBySection) -> MemoryCalls:
        functions: MemoryCalls = {name: {} for name in _ALLOCATORS}
        for (location, section, name), numbers in calls.items():
            known = functions.get(_SHOWN.get(name, name), {})
            place = int(self.trace.places.process[location]), self.numbers.table.sections[section]
            known[place] = known[place].plus(numbers) if place in known else numbers
        return functions

    def _memory_levels(self, functions: MemoryCalls, libraries: Mapping[str, MemoryCalls]) -> Iterator[FappLevel]:
        head = list(_STATS)
        forms = [number, *[seconds] * 3, *[number] * 3]

        def values(of: MemoryCalls, process: FappProcess, section: str, name: str) -> Values:
            return _stats(of[name].get((process.row, section)), name)

        def calls(of: MemoryCalls, process: FappProcess, sections: list[str], title: str = "") -> FappTable:
            groups = [
                [row for name in of for row in single(values(of, process, s, name), forms, s, name)] for s in sections
            ]
            return FappTable(head, groups, False, title=title)

        pairs = [(section, name) for section in self.sections for name in functions]
        groups = [spread([values(functions, p, s, name) for p in self.having(s)], forms, s, name) for s, name in pairs]
        tables = [self._unknown(heads, self.sections, True) for heads in _UNKNOWN]
        yield FappLevel("Application", [FappTable(head, groups, True), *tables])
        for process in self.shown:
            mine = [section for section in self.sections if self._process(process, section)]
            tables = [self._unknown(heads, mine, False) for heads in _UNKNOWN]
            of = [
                calls(of_library, process, mine, library) for library, of_library in [*libraries.items()][:LIBRARIES]
                if any(place[0] == process.row for by in of_library.values() for place in by)
            ]  # fmt: skip
            total = calls(functions, process, mine, "allocstats_total" if of else "")
            yield FappLevel(f"Process {process.number}", [total, *of, *tables])

    def _unknown(self, heads: Sequence[str], sections: list[str], kinds: bool) -> FappTable:
        values, forms = [None] * len(heads), [number] * len(heads)
        rows = [spread([values], forms, section) if kinds else single(values, forms, section) for section in sections]
        return FappTable([*heads], rows if kinds else [[row for group in rows for row in group]], kinds)

    def _locations(self, process: FappProcess, section: str) -> list[int]:
        return [place for place in process.locations if (place, section) in self.numbers.threads]


def _processes(trace: Source) -> list[FappProcess]:
    found: dict[int, FappProcess] = {}
    for location, kind in enumerate(trace.locations["type"].tolist()):
        row = int(trace.places.process[location])
        if kind == "CPU_THREAD":
            found.setdefault(row, FappProcess(max(row, 0), row, [])).locations.append(location)
    return [found[row] for row in sorted(found)]


def _usage(memory: section_sums.SectionValues) -> list[float | None]:
    """The items of _USAGE. memory: of section_memory.memory_of."""
    percent = {"in_use_start", "in_use_end"}
    values = ((name, memory[name]) for name in MEMORY)
    return [100 * value if value is not None and name in percent else value for name, value in values]


def _stats(numbers: AllocationNumbers | None, name: str) -> list[float | None]:
    """The items of _STATS. Times in microseconds."""
    if numbers is None:
        return [0.0] * len(_STATS)
    times = [ns / 1000 for ns in (numbers.least_ns, numbers.most_ns, numbers.ns / numbers.count)]
    sizes = [numbers.least, numbers.most, numbers.bytes / numbers.count] if name != "free" else [0, 0, 0]
    return [numbers.count, *times, *sizes]


def make(maker: FappMaker) -> FappReport:
    """Makes the report."""
    items, parts = maker.choices.items, [maker.basic()]
    if "mpi" in items and maker.mpi:
        parts.append(maker.mpi_information())
    if "hwm" in items:
        parts.append(maker.hardware(maker.collected.event))
    if "pa" in items:
        parts.append(maker.own_counters())
    if "lpg" in items and "lpgusage" in maker.collected.items:
        parts.append(maker.memory_usage())
    if "lpg" in items and "lpgstats" in maker.collected.items:
        parts.append(maker.memory_calls())
    return FappReport(maker.environment(), parts, maker.numbers.notes)
