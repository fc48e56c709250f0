# SPDX-License-Identifier: BSD-3-Clause
"""The costs of the Instant Profiler: the samples of an archive by procedure, line and loop, with the parts in MPI and
in barriers between threads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.activity import MPI, USER
from vtrace.analysis.definition_tables import has_line
from vtrace.analysis.questions import path_sums
from vtrace.analysis.questions.cost_rows import RegionParts
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

OTHER_NAME = "__other__"
_OTHER = -2
_OWN, _MPI, _BARRIER = 0, 1, 2
_BARRIER_NAMES = re.compile(
    r"gomp_(team_)?barrier_wait(_end|_final)?|gomp_team_barrier_wait_.*|GOMP_barrier|__kmpc?_.*barrier.*|"
    r"__kmp_(hyper|linear|tree|dist)_barrier_.*|pthread_barrier_wait"
)
"""Functions in which threads wait for each other, for archives without their recorded calls."""
_CREATED = (
    (re.compile(r"(?P<name>.+?)_?\._omp_fn\.(?P<number>\d+)"), "_OMP_", 1),
    (re.compile(r"(?P<name>.+?)_?\._loopfn\.(?P<number>\d+)"), "_PRL_", 1),
    (re.compile(r"(?P<name>.+?)\.omp_outlined(_debug__)?(\.(?P<number>\d+))?"), "_OMP_", 1),
    (re.compile(r"(?P<name>.+?)\._(?P<kind>OMP|PRL|TSK)_(?P<number>\d+)_?"), "", 0),
    (re.compile(r"(?P<name>.+?), parallel region at .*:(?P<number>\d+)"), "_OMP_", 0),
    (re.compile(r"(?P<name>.+?), task at .*:(?P<number>\d+)"), "_TSK_", 0),
)
"""Names that compilers give to procedures they create, the guide's word for them (Table 2.25), and the number that the
guide's numbers follow. clang's procedures, and those named by a line, keep their own numbers."""
_BY_LINE = re.compile(r"(?P<name>.+?), (?P<kind>parallel region|task) at .*")
_FORTRAN = re.compile(r"\.(f|for|ftn|f77|f90|f95|f03|f08|f18)$", re.IGNORECASE)


def procedure_name(name: str, symbol: str, file: str) -> str:
    """The guide's name of a procedure: those that the compiler has created for threads have its identifier. The symbol
    has the number of a construct that is named by its line."""
    by_line = _BY_LINE.fullmatch(name)
    for pattern, word, first in _CREATED:
        if found := (by_line and pattern.fullmatch(symbol)) or pattern.fullmatch(name):
            number = int(found["number"] or 0) + first
            word = word or f"_{found['kind']}_"
            if by_line and by_line["kind"] == "task":
                word = "_TSK_"
            function = by_line["name"] if by_line else found["name"]
            return f"{function}.{word}{number}{'_' if _FORTRAN.search(file) else ''}"
    return name


def execution(name: str) -> str:
    """The compilation type of a procedure's loops (Table 2.26), by the guide's name of the procedure."""
    if re.search(r"\._(OMP|TSK)_\d+_?$", name):
        return "OpenMP"
    return "AUTO" if re.search(r"\._PRL_\d+_?$", name) else "SERIAL"


class FippLoop(NamedTuple):
    """A loop: nest level (1: outermost), kind as in Table 2.26, lines."""

    nest: int
    kind: str
    start: int
    end: int


_LOOP_KINDS = {"for": "FOR", "while": "WHILE", "DO WHILE": "WHILE", "do": "UNTIL", "goto": "GOTO"}
"""Kinds of loops that the guide has other names for (Table 2.26)."""


@dataclass(order=True)
class FippRow:
    """A row of a cost table. cost, barrier, mpi: samples; operation, communication: ns, all of the row and those in
    MPI. start, end: lines, 0 if unknown; for a line both are its number."""

    name: str
    start: int = 0
    end: int = 0
    loop: FippLoop | None = None
    cost: int = 0
    barrier: int = 0
    mpi: int = 0
    operation: float = 0.0
    communication: float = 0.0


@dataclass
class FippThread:
    """A thread of a process. location: its row in the trace."""

    number: int
    location: int
    cost: int = 0


@dataclass
class FippProcess:
    """A process with its threads, both by the numbers that the guide gives them: ranks, and threads from 0."""

    number: int
    row: int
    threads: list[FippThread] = field(default_factory=list)

    @property
    def cost(self) -> int:
        """The samples of all threads."""
        return sum(thread.cost for thread in self.threads)

    @property
    def locations(self) -> list[int]:
        """The rows of the threads' locations."""
        return [thread.location for thread in self.threads]


class CallNode(NamedTuple):
    """A line of a call graph. nest: None if the route is uncertain, or 128 and more procedures deep."""

    nest: int | None
    name: str
    cost: int
    accumulation: int


MOST_NESTED = 128
"""Calls from this depth on have no level in the call graph."""


class FippCosts:
    """The samples of an archive, each with the procedure that it belongs to.

    A sample in MPI, or in a barrier of threads, belongs to the user's procedure that has called MPI or the barrier.
    Others belong to the function that ran; with userfunc, to the user's procedure around it. User's procedures are
    functions of the class user in the program itself. shared: procedures of libraries have lines and loops, too.
    """

    def __init__(self, trace: Source, *, userfunc: bool, shared: bool) -> None:
        self.trace = trace
        question = CostQuestion()
        window = Selection.of_options(trace, None, end=None, ranks=None, helpers=False)
        met = ask(trace, [question], window)
        self.problems = met.problems
        self.costs: Costs = question.answer()
        self.processes = self._processes(window.rows(trace))
        regions = trace.regions
        self.names = [
            procedure_name(*texts)
            for texts in zip(*(regions[key].tolist() for key in ("name", "canonical", "file")), strict=True)
        ]
        self._userfunc = userfunc
        self._parts = self._region_parts()
        self._user = (regions["class"] == USER) & (regions["description"] == "")
        self._lined = self._user | shared
        samples = self.costs.samples
        self._location, self._count = samples["location"], samples["count"]
        self._ns = self._count * samples["ns"]
        self._procedure_context, self._part = self._procedures_of_samples()
        self._procedure = np.append(trace.contexts["region"], regions.rows - 1)[self._procedure_context]
        for process in self.processes:
            for thread in process.threads:
                thread.cost = int(self._count[self._location == thread.location].sum())

    # ---- Processes, and the procedures of samples ----

    def _processes(self, locations: Iterable[int]) -> list[FippProcess]:
        found: dict[int, FippProcess] = {}
        for location in locations:
            row = int(self.trace.places.process[location])
            process = found.setdefault(row, FippProcess(max(row, 0), row))
            process.threads.append(FippThread(len(process.threads), location))
        return [found[row] for row in sorted(found)]

    def _region_parts(self) -> Array:
        """(regions,) _MPI, _BARRIER or _OWN."""
        known = RegionParts(self.trace)
        by_name = [bool(_BARRIER_NAMES.fullmatch(name)) for name in self.trace.regions["name"].tolist()]
        barrier = known.barrier | (np.array(by_name, bool) & ~known.mpi)
        return np.where(self.trace.regions["class"] == MPI, _MPI, np.where(barrier, _BARRIER, _OWN))

    def _procedures_of_samples(self) -> tuple[Array, Array]:
        """(samples,) the context of the procedure that each sample belongs to, -1: none; and the part of each."""
        samples, tree = self.costs.samples, self.costs.tree
        region_of = tree["region"].copy()
        region_of[0] = self.trace.regions.rows - 1
        tasks = RegionParts(self.trace).task[region_of]
        tops = path_sums.outermost(tree["parent"], (self._parts != _OWN)[region_of], tasks)
        around = np.where(tops > 0, self._parts[region_of[tops]], _OWN)[samples["inside"]]
        known: dict[int, tuple[int, int, int]] = {-1: (_OWN, -1, -1)}
        procedure, part = np.full(samples.rows, -1), np.zeros(samples.rows, np.int64)
        for row, (context, recorded) in enumerate(zip(samples["context"].tolist(), around.tolist(), strict=True)):
            kind, own, user = self._chain(context, known)
            if kind == _OWN and (recorded != _OWN or self._userfunc) and user >= 0:
                own = user
            procedure[row], part[row] = own, kind or recorded
        return procedure, part

    def _chain(self, context: int, known: dict[int, tuple[int, int, int]]) -> tuple[int, int, int]:
        """The part of a context, the context of its procedure, and of the user's procedure around it (-1: none)."""
        parents, regions = self.trace.contexts["parent"], self.trace.contexts["region"]
        waiting = []
        while context not in known:
            waiting.append(context)
            known[context] = (_OWN, context, -1)  # ends a circle of a damaged archive
            context = int(parents[context])
        for row in reversed(waiting):
            part, procedure, user = known[int(parents[row])] if int(parents[row]) != row else known[-1]
            region = int(regions[row])
            if part == _OWN:
                part = int(self._parts[region])
                procedure = row if part == _OWN else user if user >= 0 else procedure if procedure >= 0 else row
                user = row if part == _OWN and self._user[region] else user
            known[row] = (part, procedure, user)
            context = row
        return known[context]

    # ---- Tables ----

    def _mask(self, locations: Iterable[int]) -> Array:
        found: Array = np.isin(self._location, np.array(list(locations), np.int64))
        return found

    def keep_procedures(self, limit: int) -> None:
        """Makes one procedure, __other__, of all but the limit with the highest costs."""
        rows = np.bincount(self._procedure, self._count, self.trace.regions.rows)
        kept = np.argsort(-rows, kind="stable")[:limit]
        self._procedure = np.where(np.isin(self._procedure, kept), self._procedure, _OTHER)

    def total(self, locations: Iterable[int], name: str) -> FippRow:
        """The sums of threads."""
        mask = self._mask(locations)
        return self._summed({0: FippRow(name)}, np.zeros(len(mask), np.int64), mask)[0]

    def procedures(self, locations: Iterable[int]) -> list[FippRow]:
        """The costs of procedures in these threads, the highest first."""
        rows = {key: FippRow(self._name(key), *self._span(key)) for key in np.unique(self._procedure).tolist()}
        return _sorted(self._summed(rows, self._procedure, self._mask(locations)).values())

    def lines(self, locations: Iterable[int]) -> list[FippRow]:
        """The costs of lines in these threads, the highest first. Samples without a known line are in no row."""
        keys, number = self._lines()
        rows = {}
        for place, (procedure, _, line) in enumerate(keys):
            rows[place] = FippRow(self._name(procedure), line, line)
        return _sorted(self._summed(rows, number, self._mask(locations) & (number >= 0)).values())

    def loops(self, locations: Iterable[int]) -> list[FippRow]:
        """The costs of loops in these threads, each without the loops inside, the highest first."""
        keys, number = self._lines()
        rows: dict[int, FippRow] = {}
        places: dict[tuple[int, FippLoop], int] = {}
        loop_of = np.full(len(keys) + 1, -1)
        for place, (procedure, file, line) in enumerate(keys):
            if loop := self._find_loop(procedure, file, line):
                at = places.setdefault((procedure, loop), len(places))
                loop_of[place] = at
                rows.setdefault(at, FippRow(self._name(procedure), loop.start, loop.end, loop))
        key = loop_of[number]
        return _sorted(self._summed(rows, key, self._mask(locations) & (key >= 0)).values())

    def _find_loop(self, procedure: int, file: str, line: int) -> FippLoop | None:
        loops = self.trace.loops
        row = loops.at(procedure, file, line)
        if row < 0:
            return None
        level, first, last = (int(loops.table[name][row]) for name in ("level", "first", "last"))
        kind = str(loops.table["kind"][row])
        return FippLoop(level, _LOOP_KINDS.get(kind, kind), first, last)

    def sources(self, locations: Iterable[int]) -> dict[str, dict[int, int]]:
        """By source file, the one with the highest cost first: the samples of its lines."""
        keys, number = self._lines()
        mask = self._mask(locations) & (number >= 0)
        sums = np.bincount(number[mask], self._count[mask], len(keys)).astype(np.int64).tolist()
        found: dict[str, dict[int, int]] = {}
        for (_, file, line), cost in zip(keys, sums, strict=True):
            if cost:
                lines = found.setdefault(file, {})
                lines[line] = lines.get(line, 0) + cost
        return dict(sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0])))

    def _lines(self) -> tuple[list[tuple[int, str, int]], Array]:
        """The lines with samples: procedure, file, line; and the number of each sample's line, -1: unknown."""
        contexts = self.trace.contexts
        files = np.append(contexts["file"], "")[self._procedure_context]
        lines = np.append(contexts["line"], 0)[self._procedure_context]
        lined = (self._procedure == _OTHER) | self._lined[self._procedure]
        known = (files != "") & has_line(lines) & lined
        places: dict[tuple[int, str, int], int] = {}
        number = np.full(len(lines), -1)
        for row in np.flatnonzero(known).tolist():
            key = (int(self._procedure[row]), str(files[row]), int(lines[row]))
            number[row] = places.setdefault(key, len(places))
        return list(places), number

    def _summed(self, rows: dict[int, FippRow], keys: Array, mask: Array) -> dict[int, FippRow]:
        columns = (keys[mask], self._count[mask], self._ns[mask], self._part[mask])
        for key, count, ns, part in zip(*(column.tolist() for column in columns), strict=True):
            row = rows[key]
            row.cost += count
            row.operation += ns
            if part == _BARRIER:
                row.barrier += count
            elif part == _MPI:
                row.mpi += count
                row.communication += ns
        return rows

    def _name(self, procedure: int) -> str:
        return OTHER_NAME if procedure == _OTHER else self.names[procedure]

    def _span(self, procedure: int) -> tuple[int, int]:
        if procedure == _OTHER or not self._lined[procedure]:
            return 0, 0
        ends = [int(self.trace.regions[name][procedure]) for name in ("line", "end_line")]
        start, end = (line if has_line(line) else 0 for line in ends)
        return start, end

    # ---- The call graph ----

    def call_graph(self, location: int) -> list[CallNode]:
        """The call graph of a thread, each procedure followed by those that it calls."""
        paths, number = self.trace.context_paths
        mine = self._location == location
        at = np.append(number, 0)[self.costs.samples["context"][mine]].astype(np.int64)
        own = np.bincount(at, self._count[mine], len(paths) + 1).astype(np.int64)
        parents = np.append(0, paths["parent"]).astype(np.int64)
        sums = path_sums.below(parents, own.astype(np.float64)).astype(np.int64)
        children: dict[int, list[int]] = {}
        for path in range(len(paths), 0, -1):
            if sums[path]:
                children.setdefault(int(parents[path]), []).append(path)
        found: list[CallNode] = []
        waiting = [(path, 0, True) for path in sorted(children.get(0, []), key=lambda p: (sums[p], -p))]
        while waiting:
            path, nest, certain = waiting.pop()
            region = int(paths["region"][path - 1])
            certain &= not (nest == 0 and self.names[region].startswith("["))  # the stack ends in code without a name
            level = nest if certain and nest < MOST_NESTED else None
            found.append(CallNode(level, self.names[region], int(own[path]), int(sums[path])))
            below = sorted(children.get(path, []), key=lambda p: (sums[p], -p))
            waiting += [(child, nest + 1, certain) for child in below]
        return found


def _sorted(rows: Iterable[FippRow]) -> list[FippRow]:
    return sorted((row for row in rows if row.cost), key=lambda row: (-row.cost, row.name, row.start))
