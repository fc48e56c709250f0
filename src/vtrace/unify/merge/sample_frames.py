# SPDX-License-Identifier: BSD-3-Clause
"""The frames of samples: functions and lines of all processes, and the steps of calling contexts that they become.

A step is a region of the archive, or a region with a line: numbers below the number of regions are regions, those from
that number on are pairs of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import _otf2
import numpy as np

from vtrace.io.archive.definitions import Definitions, InterruptGenerator
from vtrace.io.common.arrays import distinct
from vtrace.io.common.interning import same_array
from vtrace.io.local.maps import U8, SampleMaps
from vtrace.io.local.records import CODE_MASK, FRAME_OWN, FRAME_PYTHON, OPEN_ADDRESS, SCHEMA
from vtrace.io.local.samples import CLOCKS
from vtrace.symbols.demangle import original
from vtrace.symbols.loop_source import Loop
from vtrace.symbols.modules import Place, places
from vtrace.symbols.stack_frames import CallFrame, find_frames
from vtrace.symbols.symbols import Function, Symbols
from vtrace.unify.merge.regions import COMPILER, FUNCTION, function_region
from vtrace.unify.merge.steps import MapsBuilder, MergedDefinitions
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LocalRegion, RegionAt
from vtrace.unify.model.python_frames import PythonFrames

_KINDS = SCHEMA.enumerations["vt_frame_kind"]
_STARTS = {
    "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone",
    "clone3", "__clone", "__clone3",
}  # fmt: skip
"""Functions of libc around main and around the first function of a thread."""
_STARTERS = re.compile(r"\[(libc\.so\.6|libpthread\.so\.0|libc-2\.\d+\.so|ld-linux.*|ld-musl.*)\]")
"""The same code in libraries without symbols."""
_OPENMP = re.compile(r"(.*/)?lib(gomp|omp|iomp5|guide)(-\w+)?\.so[.\d]*")
"""Runtimes of OpenMP, whose code is around the work of their threads."""
_MEASUREMENT = _otf2.PARADIGM_MEASUREMENT_SYSTEM.value
_CALLS = {_otf2.PARADIGM_MPI.value, _otf2.PARADIGM_PTHREAD.value, _MEASUREMENT}
_ROLES = {
    getattr(_otf2, f"REGION_ROLE_{name}").value
    for name in "FILE_IO FILE_IO_METADATA ALLOCATE DEALLOCATE REALLOCATE THREAD_CREATE THREAD_WAIT BARRIER "
    "IMPLICIT_BARRIER TASK_WAIT".split()
}
_DECORATION = re.compile(r"_f08ts|_f08|_+$")
_CLOCKS = {"CPU": "CPU time", "WALL": "elapsed time"}
"""Names of interrupt generators by the clock of a process."""


class Weight(NamedTuple):
    """The clock of samples (one of vt_sample_clock), the amount of a sample (ns, or a number of events), and the name
    of the event, empty for a clock."""

    clock: int
    period: int
    event: str

    def generator(self) -> InterruptGenerator:
        """The definition of the origin of these samples."""
        return InterruptGenerator(self.event or _CLOCKS[CLOCKS[self.clock]], self.period, bool(self.event))


FramePlace = Place | CallFrame
"""The place of a frame: code in a file, or a line of a Python function."""


class _MergedFrames(MergedDefinitions[FramePlace, tuple[CallFrame, ...]]):
    def combine(self, one: tuple[CallFrame, ...], other: tuple[CallFrame, ...]) -> tuple[CallFrame, ...]:
        """Takes the frame with more knowledge: only ranks that see the file of a function know its name."""
        return max(one, other, key=_knowledge)


def _knowledge(frames: tuple[CallFrame, ...]) -> tuple[Any, ...]:
    nameless = frames[0].function.name.startswith("[")
    return len(frames), bool(frames[0].file), not nameless, [str(frame) for frame in frames]


@dataclass
class _FrameParts:
    frames: _MergedFrames
    weights: set[Weight]
    programs: set[str]
    """Executables, whose code is no library's."""


@dataclass(frozen=True, kw_only=True)
class FrameSteps:
    """The steps of all frames of the run. functions: symbol of the function that has the code of each place; own:
    places in code of vtrace."""

    steps: Mapping[FramePlace, tuple[int, ...]]
    functions: Mapping[FramePlace, str]
    own: Set[FramePlace]
    generators: Mapping[Weight, int]
    unknown_region: int
    regions: int
    """Number of the archive's regions."""


class FrameStep:
    """The frames of all processes. Adds the functions to the archive's regions, before the last one, for unknown
    functions."""

    def __init__(self, builders: Sequence[MapsBuilder], symbols: Symbols, definitions: Definitions) -> None:
        self._builders, self._symbols, self._definitions = builders, symbols, definitions
        self._places: dict[int, list[FramePlace]] = {}
        self.lines: list[tuple[int, int]] = []
        """On rank 0: region and source code location of each step that is no region."""

    def contribute(self) -> _FrameParts:
        processes = [builder.process for builder in self._builders]
        self._places = {process.number: _places_of(process) for process in processes}
        everywhere = {place for own in self._places.values() for place in own}
        stacks = find_frames(self._symbols, {place for place in everywhere if isinstance(place, Place)})
        programs = {str(process.definitions.properties.get("executable", "")) for process in processes}
        found = _FrameParts(_MergedFrames(), set(), programs)
        for process in processes:
            for i, place in enumerate(self._places[process.number]):
                if place not in found.frames:
                    frames = (place,) if isinstance(place, CallFrame) else stacks[place]
                    found.frames.add(place, (process.number, i), frames)
            found.weights |= {_weight(process, number) for number in _weights(process).tolist()}
        return found

    def join(self, one: _FrameParts, other: _FrameParts) -> _FrameParts:
        frames: _MergedFrames = one.frames.join(other.frames)  # type: ignore[assignment]
        return _FrameParts(frames, one.weights | other.weights, one.programs | other.programs)

    def decide(self, everyone: _FrameParts) -> FrameSteps:
        ordered = everyone.frames.in_order()
        stacks = dict(ordered)
        regions = _FunctionRegions(self._definitions, stacks, everyone.programs)
        count = len(self._definitions.regions)
        numbers: dict[tuple[int, int], int] = {}
        locations: dict[tuple[str, int], int] = {}
        steps = {}
        for place, frames in ordered:
            mine = []
            for frame in frames:
                region = regions.number(frame.function)
                if frame.file is not None:
                    line = locations.setdefault((frame.file, frame.line), len(locations))
                    region = count + numbers.setdefault((region, line), len(numbers))
                mine.append(region)
            steps[place] = tuple(mine)
        self.lines, self._definitions.source_lines = [*numbers], [*locations]
        self._definitions.loops = _loops(stacks.values(), regions)
        weights = sorted(everyone.weights)
        self._definitions.generators = [weight.generator() for weight in weights]
        symbols = {place: frames[0].function.canonical for place, frames in ordered}
        of_vtrace = {place for place, frames in ordered if frames[0].own}
        return FrameSteps(
            steps=steps,
            functions=symbols,
            own=of_vtrace,
            generators={w: n for n, w in enumerate(weights)},
            unknown_region=count - 1,
            regions=count,
        )

    def fill(self, decided: FrameSteps) -> None:
        """Sets the samples of this rank's processes, without calling contexts."""
        for builder in self._builders:
            builder.samples = self._maps_of(builder.process, decided)

    def _maps_of(self, process: Process, decided: FrameSteps) -> SampleMaps:
        known = process.definitions
        calls = {n: r.name for n, r in (known.regions_at | known.regions).items() if _is_call(r)}
        numbers = {name: i for i, name in enumerate(sorted({_plain(name) for name in calls.values()}), 1)}
        region_names = np.zeros(max(calls, default=-1) + 1, np.uint32)
        for local, name in calls.items():
            region_names[local] = numbers[_plain(name)]
        own = self._places[process.number]
        names = [decided.functions[place] for place in own]
        values = _frames(process)
        kinds = np.array(
            [_KINDS["STARTS" if _starts(*each) else "PLAIN"] for each in zip(names, own, strict=True)], np.uint8
        )
        of_vtrace = np.array([place in decided.own for place in own], bool)
        kinds[of_vtrace | (values & np.uint64(FRAME_OWN) != 0)] = _KINDS["HIDDEN"]
        steps = [decided.steps[place] for place in own]
        first = np.cumsum([0, *map(len, steps)])
        weights = _weights(process)
        return SampleMaps(
            frames=values, frame_kinds=kinds, frame_first=first.astype(np.uint32),
            frame_names=np.array([numbers.get(_plain(name), 0) for name in names], np.uint32),
            frame_steps=np.array([step for mine in steps for step in mine], np.uint32),
            region_names=same_array(region_names), weights=weights,
            generators=np.array([decided.generators[_weight(process, n)] for n in weights.tolist()], np.uint32),
        )  # fmt: skip


class _FunctionRegions:
    """The archive's regions by function. The functions of frames become regions unless a region exists. Functions of
    libraries get the library's path as description."""

    def __init__(
        self, definitions: Definitions, stacks: Mapping[FramePlace, tuple[CallFrame, ...]], programs: Set[str]
    ) -> None:
        self._regions = definitions.regions
        unknown = self._regions.pop()
        known = [(n, r) for n, r in enumerate(self._regions) if (r.role, r.paradigm) == (FUNCTION, COMPILER)]
        self._exact = {(original(r.canonical), r.file): n for n, r in reversed(known)}
        for place, frames in stacks.items():
            function = frames[0].function
            if _identity(function) not in self._exact:
                paradigm = _MEASUREMENT if frames[0].own else COMPILER
                self._exact[_identity(function)] = self._add(function, paradigm)
            region = self._regions[self._exact[_identity(function)]]
            region.end_line = function.end
            region.description = region.description or _library(place, programs)
        self._by_symbol = {symbol: n for (symbol, _), n in sorted(self._exact.items(), key=lambda i: -i[1])}
        for place, frames in stacks.items():
            for frame in frames[1:]:  # an inlined function: its declaration is not known
                symbol = original(frame.function.canonical)
                if symbol not in self._by_symbol:
                    self._by_symbol[symbol] = self._add(frame.function)
                    self._regions[-1].description = _library(place, programs)
        self._regions.append(unknown)

    def _add(self, function: Function, paradigm: int = COMPILER) -> int:
        self._regions.append(function_region(function, paradigm))
        return len(self._regions) - 1

    def number(self, function: Function) -> int:
        """Returns the region of a function."""
        found = self._exact.get(_identity(function))
        return self._by_symbol[original(function.canonical)] if found is None else found


def _library(place: FramePlace, programs: Set[str]) -> str:
    """The path of the library that has the code; "" for code of a program, and for lines of Python."""
    path = place.file[0] if isinstance(place, Place) and place.file else ""
    return "" if path in programs else path


def _identity(function: Function) -> tuple[str, str | None]:
    """Calls and samples may name a function differently."""
    return original(function.canonical), function.file


def _loops(stacks: Iterable[tuple[CallFrame, ...]], regions: _FunctionRegions) -> list[dict[str, Any]]:
    """The loops of frames, those around others first, in the form of the archive's property.

    A line with two loops belongs to the inner one.
    """
    inner: dict[tuple[int, int], Loop] = {}
    for frame in (frame for frames in stacks for frame in frames):
        if frame.loop and frame.file == frame.loop.file:
            place = regions.number(frame.function), frame.line
            known = inner.get(place)
            if known is None or (frame.loop.level, frame.loop.place) > (known.level, known.place):
                inner[place] = frame.loop
    numbers: dict[tuple[int, Loop], int] = {}
    found: list[dict[str, Any]] = []

    def number(region: int, loop: Loop) -> int:
        if (region, loop) not in numbers:
            outer = None if loop.outer is None else number(region, loop.outer)
            numbers[region, loop] = len(found)
            about = {"number": len(found), "outer": outer, "region": region, "file": loop.file, "first": loop.first}
            found.append(about | {"last": loop.last, "level": loop.level, "kind": loop.kind, "lines": []})
        return numbers[region, loop]

    for (region, line), loop in sorted(inner.items(), key=lambda item: item[0]):
        found[number(region, loop)]["lines"].append(line)
    return found


def _frames(process: Process) -> U8:
    return _union([scan.frames for scan in process.contents.samples.values()])


def _weights(process: Process) -> U8:
    return _union([scan.weights for scan in process.contents.samples.values()])


def _union(arrays: Sequence[U8]) -> U8:
    return same_array(distinct(np.concatenate([np.empty(0, np.uint64), *arrays])))


def _weight(process: Process, number: int) -> Weight:
    known = process.definitions.sampling
    return Weight(known[0].clock, number, known[0].event or "") if known else Weight(min(CLOCKS), number, "")


def _places_of(process: Process) -> list[FramePlace]:
    """The places of a process's frames, in their order."""
    values = _frames(process)
    in_python = values & np.uint64(FRAME_PYTHON) != 0
    in_memory = ~in_python & (values & np.uint64(OPEN_ADDRESS) != 0)
    in_module = ~(in_python | in_memory)
    offsets, addresses = values[in_module] & np.uint64(CODE_MASK), values[in_memory]
    addresses = addresses & ~np.uint64(OPEN_ADDRESS | FRAME_OWN)
    modules = process.definitions.modules
    found: list[FramePlace | None] = [None] * len(values)
    codes = PythonFrames(process.definitions.python_codes)
    for at in np.flatnonzero(in_python).tolist():
        found[at] = codes.of(int(values[at]))
    where = [*np.flatnonzero(in_module).tolist(), *np.flatnonzero(in_memory).tolist()]
    for at, place in zip(where, places(modules, offsets.astype(np.uint32), addresses), strict=True):
        found[at] = place
    return [place for place in found if place is not None]


def _starts(function: str, place: FramePlace) -> bool:
    file = place.file[0] if isinstance(place, Place) and place.file else ""
    known = function.removeprefix("__GI_") in _STARTS or _STARTERS.fullmatch(function)
    return bool(known or _OPENMP.fullmatch(file))


def _is_call(region: LocalRegion | RegionAt) -> bool:
    """Returns True for a recorded call of a library, in which no code of the program runs."""
    return region.paradigm in _CALLS or region.role in _ROLES


def _plain(name: str) -> str:
    """The name of a function without the decoration of Fortran's bindings."""
    return _DECORATION.sub("", name.lower())
