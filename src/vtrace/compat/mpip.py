# SPDX-License-Identifier: BSD-3-Clause
"""mpiP's report from a trace. Titles, columns and widths are those of mpiP 3.4.1, for programs that read mpiP's
files."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from vtrace.analysis.questions.callsites import (
    IO,
    NO_REGION,
    RMA,
    SENT,
    Bytes,
    CallSites,
    SiteCalls,
    SiteKey,
    SitesPart,
    short,
    span,
)
from vtrace.analysis.table import Table
from vtrace.compat.mpip_moments import ReportParts, app_time, site_parts
from vtrace.io.archive.batches import ALWAYS
from vtrace.io.archive.reader_abi import SITE_NAMED
from vtrace.short_names import shortened

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

UNKNOWN = "[unknown]"
_BETWEEN = " <- "
_FIRST = ("main", "MAIN__")


class Frame(NamedTuple):
    """A call in a stack: the function that makes the call, and the place. line: 0 if unknown; address: in module, if
    the file is unknown."""

    function: str = UNKNOWN
    file: str = UNKNOWN
    line: int = 0
    module: str = ""
    address: int = 0


Resolve = Callable[[list[Frame]], dict[Frame, Frame]]
"""Finds lines of frames without a line."""


@dataclass
class Site:
    """A call site of an MPI function. call: the function's name without MPI_; frames: innermost first."""

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
    """An MPI process. app: ns from the end of MPI_Init to the start of MPI_Finalize, less the time without recording
    and the time of flushes. mpi: ns in MPI calls."""

    rank: int
    host: str
    app: int = 0
    mpi: int = 0


class FunctionTime(NamedTuple):
    """The time in a function without the functions that it calls, estimated by samples. ns: of all tasks; error: one
    standard error of ns."""

    name: str
    ns: int
    error: float
    samples: int


@dataclass(kw_only=True)
class MpipProfile:
    """The numbers of the report. collective_ns, pt2pt_bytes: by call, bin of the communicator's size, bin of the
    message's size."""

    tasks: list[MpipTask]
    sites: list[Site]
    collective_ns: dict[tuple[str, int, int], int]
    pt2pt_bytes: dict[tuple[str, int, int], int]
    depth: int
    """The number of recorded calls in a stack; 0: no stacks, the regions around the calls are used."""
    problems: list[str]
    functions: list[FunctionTime] = field(default_factory=list)
    """The program's own functions as samples show them, the longest time first."""

    @property
    def app(self) -> int:
        """Sum of app over all tasks, ns."""
        return sum(task.app for task in self.tasks)

    @property
    def mpi(self) -> int:
        """Sum of mpi over all tasks, ns."""
        return sum(task.mpi for task in self.tasks)


def read(
    trace: Source, depth: int | None, full: bool, resolve: Resolve | None = None, *, windows: ReportParts | None = None
) -> MpipProfile | None:
    """Reads the events once. Returns None if the trace has no MPI.

    depth: calls of a stack that distinguish sites, None for all; full: full paths of files; resolve: finds lines;
    windows: the parts of processes that have fewer than all events.
    """
    question = CallSites(trace)
    ranks = {int(group): row for row, group in enumerate(trace.processes["group"].tolist())}
    mpi = [row for row in range(trace.processes.rows) if trace.processes["rank"][row] >= 0]
    if not question.has_mpi or not mpi:
        return None
    windows = windows or {}
    parts, problems = site_parts(trace, question, ranks, windows)
    tasks = {row: MpipTask(int(trace.processes["rank"][row]), str(trace.processes["host"][row])) for row in mpi}
    sites = _Sites(trace, depth, full, resolve)
    sites.learn({key for part in parts.values() for key in part.calls})
    collective: dict[tuple[str, int, int], int] = {}
    pt2pt: dict[tuple[str, int, int], int] = {}
    mains: dict[int, SitesPart] = {}
    for location, part in parts.items():
        row = ranks[int(trace.locations["group"][location])]
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
        tasks[row].app = app_time(part, *windows.get(row, (None, None)))
    return MpipProfile(
        tasks=list(tasks.values()),
        sites=sites.numbered(),
        collective_ns=collective,
        pt2pt_bytes=pt2pt,
        depth=sites.deepest,
        problems=problems,
    )


class _Sites:
    """The sites of all ranks; sites with the same call and stack are one."""

    def __init__(self, trace: Source, depth: int | None, full: bool, resolve: Resolve | None) -> None:
        self.trace, self.depth, self.full, self.resolve = trace, depth, full, resolve
        self.deepest = 0
        self._stacks: dict[int, tuple[Frame, ...]] = {}
        self._sites: dict[tuple[str, tuple[Frame, ...]], Site] = {}

    def learn(self, keys: set[SiteKey]) -> None:
        """Looks up the stacks of these places."""
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

    def add(self, key: SiteKey, rank: int, calls: SiteCalls) -> None:
        place, region = key
        name, stack = short(str(self.trace.regions["name"][region])), self._stacks[place]
        site = self._sites.setdefault((name, stack), Site(0, name, stack))
        site.by_rank.setdefault(rank, SiteCalls()).add(calls)

    def numbered(self) -> list[Site]:
        """Numbers the sites by file, line and call, so that equal programs get equal numbers."""

        def order(site: Site) -> tuple[object, ...]:
            return [(f.file, f.line, f.function, f.module, f.address) for f in site.frames], site.call

        sites = sorted(self._sites.values(), key=order)
        for number, site in enumerate(sites, 1):
            site.id = number
        return sites


def _is_named(place: int) -> bool:
    return place >= SITE_NAMED and place != NO_REGION


def parsed(text: str) -> Frame:
    """The frame of a text of vtunify: function@file:line or function@module+0xaddress."""
    function, _, where = text.partition("@")
    file, _, line = where.rpartition(":")
    if file and line.isdigit():
        return Frame(function, file, int(line))
    module, _, address = where.rpartition("+")
    try:
        return Frame(function, UNKNOWN, line=0, module=module, address=int(address, 16))
    except ValueError:
        return Frame(function or UNKNOWN)


def _bare(frame: Frame) -> Frame:
    return frame._replace(file=frame.file.rpartition("/")[2] or frame.file)


_WIDTH, _TOP, _LEAST_NAME = 75, 20, 16
_MS, _S = 1e6, 1e9
_RULE = "-" * _WIDTH


@dataclass(frozen=True, kw_only=True)
class Style:
    """Options of the text. floating: plain decimals instead of three digits; threshold: least MPI% of a rank's line;
    width: of the terminal, None for programs, which need whole names."""

    detail: bool = True
    floating: bool = False
    pt2pt: bool = False
    collective: bool = False
    threshold: float = 0.0
    width: int | None = None

    def number(self, value: float, width: int, digits: int = 3) -> str:
        """A value in a column."""
        return f"{value:{width}.{digits}{'f' if self.floating else 'g'}}"


def header(lines: Iterable[tuple[str, str]], command: str, caveats: Sequence[str]) -> list[str]:
    """The lines that begin with @: names and values. caveats: lines about events that the numbers lack."""
    caveat_lines = [f"@ {'Caveat':<25}: {line}" for line in caveats]
    return ["@ mpiP", f"@ Command : {command} ", *caveat_lines, *(f"@ {name:<25}: {value}" for name, value in lines)]


def verbose(profile: MpipProfile, style: Style) -> Iterator[str]:
    """The report with a line for each rank, after the header."""
    yield from (f"@ {'MPI Task Assignment':<25}: {task.rank} {task.host}" for task in profile.tasks)
    yield ""
    yield from _mpi_time(profile, style)
    if style.detail:
        yield from _callsites(profile.sites, style)
    yield from _aggregates(profile, style)
    if style.detail:
        yield from _times(profile, style)
        for what, title in _DETAILS.items():
            yield from _sizes(profile.sites, what, f"{title[0]} statistics (all, {title[1]})", style)
    yield from _heading("End of Report")


def concise(profile: MpipProfile, style: Style) -> Iterator[str]:
    """The report without lines for ranks, after the header."""
    yield ""
    yield from _task_statistics(profile.tasks)
    yield from _aggregates(profile, style)
    if style.detail:
        yield from _callsites(profile.sites, style)
        times = {site.id: {rank: calls.total / _MS for rank, calls in site.by_rank.items()} for site in profile.sites}
        yield from _by_site(profile.sites, times, "Callsite Time statistics (all callsites, milliseconds)", style)
        for what, title in _DETAILS.items():
            sizes = {site.id: _totals(site, what) for site in profile.sites}
            yield from _by_site(profile.sites, sizes, f"{title[0]} statistics (all callsites, {title[1]})", style)
    yield from _heading("End of Report")


_DETAILS = {
    SENT: ("Callsite Message Sent", "sent bytes"),
    IO: ("Callsite I/O", "I/O bytes"),
    RMA: ("Callsite RMA", "origin bytes"),
}
_TOPS = {SENT: ("Sent Message", "Sent%"), IO: ("I/O", "I/O%"), RMA: ("RMA Origin", "RMA%")}


def _heading(title: str) -> list[str]:
    return [_RULE, f"@--- {title} ".ljust(_WIDTH, "-"), _RULE]


def _word(text: str) -> str:
    """A name as one word, since readers split columns at blanks."""
    return "_".join(text.split()) or UNKNOWN


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole > 0 else 0.0


def _mpi_time(profile: MpipProfile, style: Style) -> Iterator[str]:
    yield from _heading("MPI Time (seconds)")
    yield f"{'Task':<4} {'AppTime':>10} {'MPITime':>10}    {'MPI%':>5}"
    for name, app, mpi in [*((t.rank, t.app, t.mpi) for t in profile.tasks), ("*", profile.app, profile.mpi)]:
        times = f"{style.number(app / _S, 10)} {style.number(mpi / _S, 10)}"
        yield f"{name:>4} {times}    {_percent(mpi, app):5.2f}"


def _task_statistics(tasks: Sequence[MpipTask]) -> Iterator[str]:
    yield from _heading("Task Time Statistics (seconds)")
    yield f"{'':>10} {'AppTime':>17} {'MPITime':>17} {'MPI%':>6} {'App Task':>10} {'MPI Task':>10}"
    columns = [[task.app / _S for task in tasks], [task.mpi / _S for task in tasks]]
    for name, choose in (("Max", max), ("Mean", statistics.fmean), ("Min", min), ("Stddev", _deviation)):
        values = [choose(column) for column in columns]
        line = f"{name:<10} {values[0]:17.6f} {values[1]:17.6f}"
        if name in ("Max", "Min"):
            app, mpi = (tasks[column.index(value)].rank for column, value in zip(columns, values, strict=True))
            line += f" {'':>6} {app:>10} {mpi:>10}"
        yield line
    whole, inside = map(math.fsum, columns)
    yield f"{'Aggregate':<10} {whole:17.6f} {inside:17.6f} {_percent(inside, whole):6.2f}"


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _short_words(texts: Iterable[str], used: int, width: int | None) -> dict[str, str]:
    """Names as words, shortened for a terminal on which other columns use part of the width."""
    words = {text: _word(text) for text in texts}
    short = shortened(words.values(), max(width - used, _LEAST_NAME)) if width else {}
    return {text: short.get(word, word) for text, word in words.items()}


def _callsites(sites: Sequence[Site], style: Style) -> Iterator[str]:
    frames = [frame for site in sites for frame in site.frames]
    if not frames:  # only the call distinguishes these sites
        return
    files = max(18, *(len(_word(frame.file)) for frame in frames))
    calls = max(len("MPI_Call"), *(len(site.call) for site in sites))
    functions = _short_words((frame.function for frame in frames), files + calls + 16, style.width)
    names = max(24, *map(len, functions.values()))
    yield from _heading(f"Callsites: {len(sites)}")
    yield f"{'ID':>3} {'Lev':>3} {'File/Address':<{files}} {'Line':>5} {'Parent_Funct':<{names}} MPI_Call"
    for site in sites:
        for level, frame in enumerate(site.frames):
            where = _where(frame, files)
            call = site.call if level == 0 else ""
            yield f"{site.id:>3} {level:>3} {where} {functions[frame.function]:<{names}} {call}".rstrip()


def _where(frame: Frame, width: int) -> str:
    if not frame.line and frame.module:
        return f"{frame.address:#x}".ljust(width + 6)
    return f"{_word(frame.file):<{width}} {frame.line:>5}"


def _aggregates(profile: MpipProfile, style: Style) -> Iterator[str]:
    yield from _top_times(profile, style)
    yield from _top_sizes(profile.sites, SENT, style)
    sent = sum(_size(site.all, SENT).total for site in profile.sites)
    if style.collective:
        title = "Aggregate Collective Time (top twenty, descending)"
        yield from _histogram(
            profile.collective_ns, profile.mpi, title=title, share="MPI Time %", what="collective", style=style
        )
    if style.pt2pt:
        title = "Aggregate Point-To-Point Sent (top twenty, descending)"
        yield from _histogram(
            profile.pt2pt_bytes, sent, title=title, share="MPI Sent %", what="point to point", style=style
        )
    yield from _top_sizes(profile.sites, IO, style)
    yield from _top_sizes(profile.sites, RMA, style)
    yield from _function_times(profile, style)


def _top(sites: Sequence[Site], value: Callable[[Site], int]) -> list[Site]:
    return sorted((site for site in sites if value(site) > 0), key=lambda site: (-value(site), site.id))[:_TOP]


def _function_times(profile: MpipProfile, style: Style) -> Iterator[str]:
    """A section that mpiP does not have: only for traces with samples."""
    if not profile.functions:
        return
    yield from _heading("Aggregate Function Time (top twenty, descending, milliseconds, sampled)")
    yield f"{'Function':<24} {'Time':>10}  {'App%':>6}  {'Err%':>6}  {'Samples':>8}"
    names = _short_words((function.name for function in profile.functions[:_TOP]), 38, style.width)
    for function in profile.functions[:_TOP]:
        shares = f"{_percent(function.ns, profile.app):6.2f}  {_percent(function.error, profile.app):6.2f}"
        yield f"{names[function.name]:<24} {style.number(function.ns / _MS, 10)}  {shares}  {function.samples:>8}"


def _top_times(profile: MpipProfile, style: Style) -> Iterator[str]:
    yield from _heading("Aggregate Time (top twenty, descending, milliseconds)")
    yield f"{'Call':<20} {'Site':>4} {'Time':>10}  {'App%':>6}  {'MPI%':>6}  {'COV':>6}"
    for site in _top(profile.sites, lambda site: site.all.total):
        time = site.all.total
        values = [calls.total for calls in site.by_rank.values()]
        spread = _deviation(values) / statistics.fmean(values)
        shares = f"{_percent(time, profile.app):6.2f}  {_percent(time, profile.mpi):6.2f}  {spread:6.2f}"
        yield f"{site.call:<20} {site.id:>4} {style.number(time / _MS, 10)}  {shares}"


def _size(calls: SiteCalls, what: str) -> Bytes:
    return calls.bytes.get(what, Bytes())


def _top_sizes(sites: Sequence[Site], what: str, style: Style) -> Iterator[str]:
    whole = sum(_size(site.all, what).total for site in sites)
    if not whole and what != SENT:
        return
    name, share = _TOPS[what]
    yield from _heading(f"Aggregate {name} Size (top twenty, descending, bytes)")
    yield f"{'Call':<20} {'Site':>4} {'Count':>10} {'Total':>10} {'Avrg':>10} {share:>6}"
    for site in _top(sites, lambda site: _size(site.all, what).total):
        calls, total = site.all.count, _size(site.all, what).total
        numbers = f"{style.number(total, 10)} {style.number(total / calls, 10)}"
        yield f"{site.call:<20} {site.id:>4} {calls:>10} {numbers} {_percent(total, whole):6.2f}"


def _histogram(
    values: Mapping[tuple[str, int, int], int], whole: int, title: str, share: str, *, what: str, style: Style
) -> Iterator[str]:
    yield from _heading(title)
    rows = sorted((-value, key) for key, value in values.items() if value > 0)[:_TOP]
    if not rows:
        yield f"No {what} operations to report"
        return
    yield f"{'Call':<20} {share:>10} {'Comm Size':>21} {'Data Size':>21}"
    for value, (call, comm, size) in rows:
        spans = "  ".join(f"{least:8} - {most:8}".rjust(20) for least, most in (span(comm), span(size)))
        yield f"{call:<20} {style.number(_percent(-value, whole), 10)}  {spans}"


def _times(profile: MpipProfile, style: Style) -> Iterator[str]:
    tasks = {task.rank: task for task in profile.tasks}
    sites = sorted(profile.sites, key=lambda site: (site.call, site.id))
    yield from _heading(f"Callsite Time statistics (all, milliseconds): {sum(len(site.by_rank) for site in sites)}")
    yield f"{'Name':<17} {'Site':>4} {'Rank':>4} {'Count':>6} {'Max':>8} {'Mean':>8} {'Min':>8} {'App%':>6} {'MPI%':>6}"
    for place, site in enumerate(sites):
        if place:
            yield ""
        for rank, calls in sorted(site.by_rank.items()):
            share = _percent(calls.total, tasks[rank].mpi)
            if tasks[rank].mpi and share >= style.threshold:
                yield _time_line(
                    site, str(rank), calls=calls, app=_percent(calls.total, tasks[rank].app), mpi=share, style=style
                )
        total = site.all.total
        yield _time_line(
            site, "*", calls=site.all, app=_percent(total, profile.app), mpi=_percent(total, profile.mpi), style=style
        )


def _time_line(site: Site, rank: str, calls: SiteCalls, app: float, *, mpi: float, style: Style) -> str:
    values = (calls.most / _MS, calls.total / calls.count / _MS, calls.least / _MS)
    numbers = " ".join(style.number(value, 8) for value in values)
    return f"{site.call:<17} {site.id:>4} {rank:>4} {calls.count:>6} {numbers} {app:6.2f} {mpi:6.2f}"


def _sizes(sites: Sequence[Site], what: str, title: str, style: Style) -> Iterator[str]:
    chosen = [site for site in sorted(sites, key=lambda s: (s.call, s.id)) if _size(site.all, what).total]
    if not chosen:
        return
    yield from _heading(title)
    yield f"{'Name':<17} {'Site':>4} {'Rank':>4} {'Count':>7} {'Max':>9} {'Mean':>9} {'Min':>9} {'Sum':>9}"
    for place, site in enumerate(chosen):
        if place:
            yield ""
        total = SiteCalls()
        for rank, calls in sorted(site.by_rank.items()):
            if _size(calls, what).total:
                total.add(calls)
                yield _size_line(site, str(rank), calls=calls, size=_size(calls, what), style=style)
        yield _size_line(site, "*", calls=total, size=_size(total, what), style=style)


def _size_line(site: Site, rank: str, calls: SiteCalls, size: Bytes, *, style: Style) -> str:
    values = (size.most, size.total / calls.count, size.least, size.total)
    numbers = " ".join(style.number(value, 9, 4) for value in values)
    return f"{site.call:<17} {site.id:>4} {rank:>4} {calls.count:>7} {numbers}"


def _totals(site: Site, what: str) -> dict[int, float]:
    """The totals by rank; empty if no rank has bytes."""
    sizes = {rank: float(_size(calls, what).total) for rank, calls in site.by_rank.items()}
    return sizes if any(sizes.values()) else {}


def _by_site(
    sites: Sequence[Site], values: Mapping[int, Mapping[int, float]], title: str, style: Style
) -> Iterator[str]:
    """One line for each site that compares the values of its ranks."""
    chosen = sorted((s for s in sites if values[s.id]), key=lambda s: (-math.fsum(values[s.id].values()), s.id))
    if not chosen:
        return
    yield from _heading(f"{title}: {len(chosen)}")
    yield f"{'Name':<17} {'Site':>4} {'Tasks':>7} {'Max':>9} {'Mean':>9} {'Min':>9} {'MaxRnk':>6} {'MinRnk':>6}"
    for site in chosen:
        of = values[site.id]
        most, least = max(of, key=lambda rank: of[rank]), min(of, key=lambda rank: of[rank])
        numbers = (of[most], statistics.fmean(of.values()), of[least])
        text = " ".join(style.number(value, 9, 4) for value in numbers)
        yield f"{site.call:<17} {site.id:>4} {len(of):>7} {text} {most:>6} {least:>6}"
