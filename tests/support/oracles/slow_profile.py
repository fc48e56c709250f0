# SPDX-License-Identifier: BSD-3-Clause
"""The rows of vtrace profile, computed event by event from the otf2 package's reader."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import otf2

Step = tuple[Any, str, int]
"""A region, and the file and line of a place in it ("" and 0: unknown)."""
Place = tuple[Step, ...]
"""A call stack with lines, the outermost call first."""


@dataclass
class Row:
    """The numbers of a row of a profile; times in ns. estimated: the time comes from samples."""

    exclusive: float = 0
    inclusive: float = 0
    calls: int = 0
    samples: int = 0
    mpi: float = 0
    barrier: float = 0
    estimated: bool = True
    seen: bool = False
    """Some of the time comes from samples."""
    ranks: dict[str, float] = field(default_factory=lambda: defaultdict(float))


@dataclass
class Piece:
    """A part of the time of a location in a recorded call, the call itself, or a sample.

    stack: the regions of the open recorded calls, the call's region last. inner: the innermost recorded call with its
    callers. place: for a call the same as inner, for a sample its own call stack. weight: of a sample, ns.
    """

    thread: str
    process: str
    stack: tuple[Any, ...]
    inner: Place
    place: Place
    ns: int = 0
    calls: int = 0
    weight: float = 0


class Flush:
    """A region that stands for the writing of a buffer."""

    name, source_file, begin_line_number = "(buffer flush)", None, 0
    region_role, paradigm = otf2.RegionRole.ARTIFICIAL, otf2.Paradigm.MEASUREMENT_SYSTEM


def name_of(region: Any) -> str:
    return str(region.name)


def _is_mpi(region: Any) -> bool:
    return bool(region.paradigm == otf2.Paradigm.MPI)


def _is_barrier(region: Any) -> bool:
    roles = (otf2.RegionRole.BARRIER, otf2.RegionRole.IMPLICIT_BARRIER)
    return not _is_mpi(region) and region.region_role in roles


def _is_measured(region: Any) -> bool:
    """True for regions whose time is that of their calls."""
    role = str(region.region_role).removeprefix("RegionRole.")
    other = role.startswith(("FILE_IO", "ALLOC", "DEALLOC", "REALLOC", "THREAD_"))
    own = (otf2.Paradigm.PTHREAD, otf2.Paradigm.MEASUREMENT_SYSTEM)
    return _is_mpi(region) or _is_barrier(region) or other or region.paradigm in own


def place_of(context: Any) -> Place:
    """The steps from the root to a calling context."""
    found: list[Step] = []
    while context is not None:
        source = context.source_code_location
        found.append((context.region, source.file or "", source.line_number) if source else (context.region, "", 0))
        context = context.parent
    return tuple(reversed(found))


def period_of(times: list[int], nominal: float) -> float:
    """The time that a sample stands for: the interval of samples without sleep between, or the generator's period."""
    steps = [b - a for a, b in itertools.pairwise(times)]
    if len(steps) < 2:
        return max([nominal, *steps])
    tenth = statistics.quantiles(steps, n=10, method="inclusive")[0]
    return max(nominal, statistics.median(step for step in steps if step <= 1.5 * tenth))


def pieces(path: Path, start: int = 0, stop: int = 2**62) -> list[Piece]:
    """All parts of the time of an archive in a window (ns since its start)."""
    found: list[Piece] = []
    with otf2.reader.open(str(path / "traces.otf2")) as trace:
        clock, locations = trace.definitions.clock_properties, defaultdict(list)

        def ns(ticks: int) -> int:
            return int((ticks - clock.global_offset) * 10**9 // trace.timer_resolution)

        for location, event in trace.events:
            locations[location].append((ns(event.time), event))
        for location, events in locations.items():
            found += _of_location(location, events, start, stop, ns)
    return found


def _of_location(
    location: Any, events: list[Any], start: int, stop: int, ticks_to_ns: Callable[[int], int]
) -> list[Piece]:  # fmt: skip
    who = location.name, location.group.name
    stack: list[tuple[Any, Place, int]] = []
    found: list[Piece] = []
    samples: dict[Any, list[tuple[int, Piece]]] = defaultdict(list)
    before = 0

    def pass_to(now: int) -> None:
        ns = min(now, stop) - max(before, start)
        if stack and ns > 0:
            regions, place = tuple(region for region, _, _ in stack), stack[-1][1]
            found.append(Piece(*who, regions, place, place, ns=ns))

    def leave(now: int) -> None:
        regions, (_, place, begun) = tuple(region for region, _, _ in stack), stack[-1]
        stack.pop()
        if begun <= stop and now >= start:
            found.append(Piece(*who, regions, place, place, calls=1))

    flush_stop = None
    for now, event in events:
        if now > stop:
            break
        if flush_stop is not None:
            written = min(flush_stop, now)
            pass_to(written)
            leave(written)
            before, flush_stop = written, None
        pass_to(now)
        before = now
        kind = type(event).__name__
        if kind == "Enter":
            stack.append((event.region, (*(stack[-1][1] if stack else ()), (event.region, "", 0)), now))
        elif kind == "BufferFlush":
            flush_stop = ticks_to_ns(event.stop_time)
            stack.append((Flush, (*(stack[-1][1] if stack else ()), (Flush, "", 0)), now))
        elif kind == "CallingContextEnter":
            stack.append((event.calling_context.region, place_of(event.calling_context), now))
        elif kind in ("Leave", "CallingContextLeave"):
            leave(now)
        elif kind == "CallingContextSample" and now >= start:
            regions, inner = tuple(region for region, _, _ in stack), stack[-1][1] if stack else ()
            piece = Piece(*who, regions, inner, place_of(event.calling_context))
            samples[event.interrupt_generator].append((now, piece))
    end = min(stop, max(now for now, _ in events)) if events else 0
    pass_to(end)
    while stack:
        leave(end)
    for generator, taken in samples.items():
        base = 10 if generator.base == otf2.Base.DECIMAL else 2
        nominal = generator.period * float(base) ** generator.exponent * 1e9
        for _, piece in taken:
            piece.weight = period_of([now for now, _ in taken], nominal)
            found.append(piece)
    return found


def _first(place: Place, wanted: Callable[[Any], bool]) -> int:
    """The depth of the outermost step whose region is wanted, -1: none."""
    return next((depth for depth, step in enumerate(place) if wanted(step[0])), -1)


def _is_part(region: Any) -> bool:
    return _is_mpi(region) or _is_barrier(region)


class Rows(dict[Any, Row]):
    """The rows of a profile by key: a name, a call path (names), or (file:line or "", function) for lines.

    loops: by function, file and line the names of the loops there, the outermost first.
    """

    def __init__(
        self, found: list[Piece], by: str, loops: Mapping[tuple[str, str, int], list[str]] | None = None
    ) -> None:
        super().__init__()
        self.loops = loops or {}
        self.by, self.sampled = by, any(piece.weight for piece in found)
        self.by_place = by in ("line", "loop")
        self.recorded: dict[Any, float] = defaultdict(float)
        """Inclusive time of the recorded calls of a region, by key."""
        self.around: dict[Any, float] = defaultdict(float)
        """Inclusive time from call stacks."""
        self.measured: set[Any] = set()
        for piece in found:
            (self.sample if piece.weight else self.call)(piece)
        for key, row in self.items():
            recorded = not self.sampled or (key in self.measured and self.recorded[key])
            row.inclusive = self.recorded[key] if recorded and by != "callpath" else self.around[key]
            if by in ("rank", "thread"):
                row.inclusive = row.exclusive
            row.estimated &= self.sampled

    def key(self, piece: Piece, place: Place) -> Any:
        """The key of the innermost step of a place."""
        region, file, line = place[-1]
        if self.by == "line":
            if not self.sampled:
                file, line = region.source_file, region.begin_line_number
            return (f"{file}:{line}" if file and line else "", name_of(region))
        if self.by == "loop":
            name = name_of(region)
            if loops := self.loops.get((name, file, line)):
                return loops[-1]
            return f"{name}, outside of its loops" if any(key[0] == name for key in self.loops) else name
        names = tuple(name_of(step[0]) for step in place)
        return {"function": names[-1], "callpath": names, "rank": piece.process, "thread": piece.thread}[self.by]

    def keys_around(self, piece: Piece, place: Place) -> set[Any]:
        """The keys of a place and of all its callers."""
        found = {self.key(piece, place[:depth]) for depth in range(1, len(place) + 1)}
        if self.by == "loop":
            for region, file, line in place:
                found.update(self.loops.get((name_of(region), file, line), ()))
        return found

    def row(self, key: Any) -> Row:
        return self.setdefault(key, Row())

    def call(self, piece: Piece) -> None:
        """Time in recorded calls, or a call."""
        region, place = piece.stack[-1], _without_lines(piece.place)
        row = self.row(self.key(piece, place))
        row.calls += piece.calls
        for open_region in set(piece.stack):
            key = self.key(piece, ((open_region, "", 0),))
            self.recorded[key] += piece.ns
            if _is_measured(open_region):
                self.measured.add(key)
        if self.sampled and not _is_measured(region):
            return
        row.estimated = row.seen
        row.exclusive += piece.ns
        row.ranks[piece.process] += piece.ns
        if not self.by_place:
            for key in self.keys_around(piece, place):
                self.around[key] += piece.ns
        self.parts(piece, place, piece.ns, callers=not self.by_place or not self.sampled)

    def sample(self, piece: Piece) -> None:
        inside = bool(piece.stack) and _is_measured(piece.stack[-1])
        place = _without_lines(piece.inner) if inside else piece.place
        row = self.row(self.key(piece, place))
        row.samples += 1
        around = self.keys_around(piece, piece.place)
        if self.by not in ("rank", "thread"):
            for key in around:
                self.row(key)
        if not inside:
            row.estimated = row.seen = True
            row.exclusive += piece.weight
            row.ranks[piece.process] += piece.weight
            self.parts(piece, place, piece.weight, callers=True)
        if not inside or self.by_place or (self.by == "function" and _first(piece.inner, _is_measured) == 0):
            for key in around:
                self.around[key] += piece.weight
        if inside:
            self.caller(piece)

    def parts(self, piece: Piece, place: Place, ns: float, callers: bool) -> None:
        """Adds time in MPI or barriers to the innermost row and to the row that calls MPI."""
        top = _first(place, _is_part)
        if top < 0:
            return
        own = self.key(piece, place)
        self.add_part(own, place[top][0], ns)
        if top and callers and self.by not in ("rank", "thread"):
            key = self.key(piece, place[:top])
            if key != own:
                self.add_part(key, place[top][0], ns)

    def caller(self, piece: Piece) -> None:
        """Takes the caller of a recorded MPI call from a sample inside, if the recorded call has no caller."""
        top = _first(piece.inner, _is_part)
        if top < 0 or self.by in ("rank", "thread") or (top > 0 and not self.by_place):
            return
        here = _first(piece.place, _is_part)
        place = piece.place if here < 0 else piece.place[:here]
        if place:
            self.add_part(self.key(piece, place), piece.inner[top][0], piece.weight)

    def add_part(self, key: Any, region: Any, ns: float) -> None:
        row = self.row(key)
        if _is_mpi(region):
            row.mpi += ns
        else:
            row.barrier += ns


def _without_lines(place: Place) -> Place:
    return tuple((region, "", 0) for region, _, _ in place)
