# SPDX-License-Identifier: BSD-3-Clause
"""What mpiP's report tells, gathered from a trace; compat/mpip_text.py writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from vtrace.analysis.callsites import NO_REGION, CallSites, Key, SiteCalls, SitesPart, short
from vtrace.analysis.table import Table
from vtrace.io.archive.reader import ALWAYS, NEVER
from vtrace.io.archive.reader_abi import SITE_NAMED

if TYPE_CHECKING:
    from vtrace.analysis.base import TraceBase

UNKNOWN = "[unknown]"
_BETWEEN = " <- "
_FIRST = ("main", "MAIN__")


class Frame(NamedTuple):
    """A call: the function that makes it, and where. line: 0 unknown; address: in module, where the file is unknown."""

    function: str = UNKNOWN
    file: str = UNKNOWN
    line: int = 0
    module: str = ""
    address: int = 0


Resolve = Callable[[list[Frame]], dict[Frame, Frame]]
"""Finds lines of frames that have none."""


@dataclass
class Site:
    """A place that an MPI function is called from. call: its name without MPI_; frames: innermost first."""

    id: int
    call: str
    frames: tuple[Frame, ...]
    by_rank: dict[int, SiteCalls] = field(default_factory=dict)

    @property
    def all(self) -> SiteCalls:
        """The calls of all ranks."""
        total = SiteCalls()
        for calls in self.by_rank.values():
            total.add(calls)
        return total


@dataclass
class MpipTask:
    """An MPI process. Times in ns: app from the end of MPI_Init to the begin of MPI_Finalize, less what was not
    recorded and what writing the buffer took."""

    rank: int
    host: str
    app: int = 0
    mpi: int = 0


@dataclass
class MpipProfile:
    """What the report tells. histograms: value by call, bin of the communicator's size, bin of the message's."""

    tasks: list[MpipTask]
    sites: list[Site]
    collective_ns: dict[tuple[str, int, int], int]
    pt2pt_bytes: dict[tuple[str, int, int], int]
    depth: int
    """Calls of a stack that were recorded; 0: the regions around calls stand in."""
    problems: list[str]

    @property
    def app(self) -> int:
        """Sum over all tasks, ns."""
        return sum(task.app for task in self.tasks)

    @property
    def mpi(self) -> int:
        """The same."""
        return sum(task.mpi for task in self.tasks)


def read(trace: TraceBase, depth: int | None, full: bool, resolve: Resolve | None = None) -> MpipProfile | None:
    """Reads the events once; None where there is no MPI.

    depth: calls of a stack that tell sites apart, None for as many as there are; full: whole paths of files.
    """
    question = CallSites(trace)
    ranks = {int(group): row for row, group in enumerate(trace.processes["group"].tolist())}
    mpi = [row for row in range(trace.processes.rows) if trace.processes["rank"][row] >= 0]
    if not question.has_mpi or not mpi:
        return None
    met = trace.scan([question])
    tasks = {row: MpipTask(int(trace.processes["rank"][row]), str(trace.processes["host"][row])) for row in mpi}
    sites = _Sites(trace, depth, full, resolve)
    sites.learn({key for part in question.parts.values() for key in _of(part).calls})
    collective: dict[tuple[str, int, int], int] = {}
    pt2pt: dict[tuple[str, int, int], int] = {}
    mains: dict[int, SitesPart] = {}
    for location, found in question.parts.items():
        part, row = _of(found), ranks[int(trace.locations["group"][location])]
        if row not in tasks or trace.locations["type"][location] != "CPU_THREAD":
            continue
        if row not in mains or (mains[row].begun == ALWAYS and part.begun != ALWAYS):
            mains[row] = part
        for key, calls in part.calls.items():
            tasks[row].mpi += calls.total
            sites.add(key, tasks[row].rank, calls)
        for into, values in ((collective, part.collective_ns), (pt2pt, part.pt2pt_bytes)):
            for (region, comm, size), value in values.items():
                name = short(str(trace.regions["name"][region])), comm, size
                into[name] = into.get(name, 0) + value
    for row, part in mains.items():
        tasks[row].app = _app_time(part)
    return MpipProfile(list(tasks.values()), sites.numbered(), collective, pt2pt, sites.deepest, met.problems)


def _of(part: object) -> SitesPart:
    assert isinstance(part, SitesPart)
    return part


def _app_time(part: SitesPart) -> int:
    begin = part.first if part.begun == ALWAYS else part.begun
    end = part.last if part.ended == NEVER else part.ended
    off, since = 0, None
    for time, on in [*part.switched, (end, True)]:
        if not on and since is None:
            since = time
        elif on and since is not None:
            off += max(0, min(time, end) - max(since, begin))
            since = None
    flushed = sum(max(0, min(stop, end) - max(start, begin)) for start, stop in part.flushes)
    return max(0, end - begin - off - flushed)


class _Sites:
    """Sites of all ranks: those of one call and one stack are one."""

    def __init__(self, trace: TraceBase, depth: int | None, full: bool, resolve: Resolve | None) -> None:
        self.trace, self.depth, self.full, self.resolve = trace, depth, full, resolve
        self.deepest = 0
        self._stacks: dict[int, tuple[Frame, ...]] = {}
        self._sites: dict[tuple[str, tuple[Frame, ...]], Site] = {}

    def learn(self, keys: set[Key]) -> None:
        """The stacks of these places."""
        raw = {place: self._frames(place) for place, _ in keys}
        self.deepest = max((len(raw[place]) for place in raw if _is_named(place)), default=0)
        wanted = list({frame for stack in raw.values() for frame in stack if not frame.line and frame.module})
        found = self.resolve(wanted) if self.resolve and wanted else {}
        for place, stack in raw.items():
            frames = [found.get(frame, frame) for frame in stack]
            self._stacks[place] = tuple(frame if self.full else _bare(frame) for frame in frames[: self.depth])

    def _frames(self, place: int) -> tuple[Frame, ...]:
        if _is_named(place):
            text = self.trace.definitions.strings.get(place - SITE_NAMED, "")
            return tuple(map(parsed, text.split(_BETWEEN)))
        if place == NO_REGION:
            return (Frame(),)
        regions: Table = self.trace.regions
        name, file, line = (regions[column][place] for column in ("name", "file", "line"))
        return (Frame(str(name), str(file) or UNKNOWN, int(line)),)

    def add(self, key: Key, rank: int, calls: SiteCalls) -> None:
        place, region = key
        name, stack = short(str(self.trace.regions["name"][region])), self._stacks[place]
        site = self._sites.setdefault((name, stack), Site(0, name, stack))
        site.by_rank.setdefault(rank, SiteCalls()).add(calls)

    def numbered(self) -> list[Site]:
        """By file, line and call, so that the numbers of equal programs are equal."""

        def order(site: Site) -> tuple[object, ...]:
            return [(f.file, f.line, f.function, f.module, f.address) for f in site.frames], site.call

        sites = sorted(self._sites.values(), key=order)
        for number, site in enumerate(sites, 1):
            site.id = number
        return sites


def _is_named(place: int) -> bool:
    return place >= SITE_NAMED and place != NO_REGION


def parsed(text: str) -> Frame:
    """A frame of the text that vtunify writes: function@file:line or function@module+0xaddress."""
    function, _, where = text.partition("@")
    file, _, line = where.rpartition(":")
    if file and line.isdigit():
        return Frame(function, file, int(line))
    module, _, address = where.rpartition("+")
    try:
        return Frame(function, UNKNOWN, 0, module, int(address, 16))
    except ValueError:
        return Frame(function or UNKNOWN)


def _bare(frame: Frame) -> Frame:
    return frame._replace(file=frame.file.rpartition("/")[2] or frame.file)
