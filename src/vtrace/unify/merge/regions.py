# SPDX-License-Identifier: BSD-3-Clause
"""Regions of all processes: named regions, and called functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vtrace.io.archive.writer import Definitions, Region
from vtrace.io.common.arrays import Array, distinct
from vtrace.io.common.interning import same_array
from vtrace.symbols.demangle import original, readable
from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Function, Symbols, nameless
from vtrace.unify.merge.code_addresses import constructs
from vtrace.unify.merge.steps import MapsBuilder, MergedDefinitions
from vtrace.unify.model import process_definitions as own_definitions
from vtrace.unify.model.id_tables import Ids, table
from vtrace.unify.model.process import Process

FUNCTION, _UNKNOWN_ROLE, _KERNEL, COMPILER, _CUDA, _MEASUREMENT = 1, 0, 40, 2, 5, 6
"""Numbers of OTF2_RegionRole and OTF2_Paradigm."""


class _Regions(MergedDefinitions[own_definitions.LocalRegion | Place, Region | None]):
    def combine(self, one: Region | None, other: Region | None) -> Region | None:
        """Takes the name from either side: only ranks that see the file of a function know its name."""
        return one or other


RegionKey = own_definitions.LocalRegion | Place
_MergedRegions = MergedDefinitions[RegionKey, Region | None]


class RegionStep:
    """Named regions and functions of all processes; the last region of the archive stands for unknown ones."""

    def __init__(self, builders: Sequence[MapsBuilder], symbols: Symbols, definitions: Definitions) -> None:
        self._builders, self._symbols, self._definitions = builders, symbols, definitions
        self._used = _UsedFunctions()
        self._own: list[_OwnRegions] = []

    @property
    def called(self) -> list[Place]:
        """The places of the functions that this rank's processes have called."""
        return [place for own in self._used.all for place in own.places]

    def contribute(self) -> _MergedRegions:
        symbols = self._symbols
        processes = [builder.process for builder in self._builders]
        used = [self._used(process) for process in processes]
        symbols.resolve(self.called)
        built = constructs([process.definitions for process in processes], symbols)
        for builder, functions, more in zip(self._builders, used, built, strict=True):
            known = builder.process.definitions.regions
            self._own.append(_OwnRegions(builder, known | more if more else known, functions))
        merged = _Regions()
        added: set[int] = set()
        for builder, regions, own in self._own:
            if id(regions) not in added:
                added.add(id(regions))
                for local, region in sorted(regions.items()):
                    if region not in merged:
                        merged.add(region, (builder.process.number, 0, local), _named(region))
            if id(own) not in added:
                added.add(id(own))
                for i, place in enumerate(own.places):
                    if place not in merged:
                        merged.add(place, (builder.process.number, 1, i), _function(symbols, place))
        return merged

    def join(self, one: _MergedRegions, other: _MergedRegions) -> _MergedRegions:
        return one.join(other)

    def decide(self, everyone: _MergedRegions) -> dict[RegionKey, int]:
        regions: list[Region] = []
        numbers: dict[RegionKey, int] = {}
        clones = _Clones()
        for key, seen in everyone.in_order():
            region = seen or _unseen(key)
            numbers[key] = clones.number(key, region, len(regions))
            if numbers[key] == len(regions):
                regions.append(region)
        unknown = Region(name="UNKNOWN", canonical="UNKNOWN", role=_UNKNOWN_ROLE, paradigm=_MEASUREMENT)
        self._definitions.regions = [*regions, unknown]
        return numbers

    def fill(self, numbers: Mapping[RegionKey, int]) -> None:
        """Sets the regions of this rank's processes."""
        tables: dict[int, Ids] = {}
        of_places = {id(own): np.array([numbers[place] for place in own.places], np.uint32) for own in self._used.all}
        for builder, regions, own in self._own:
            if id(regions) not in tables:
                tables[id(regions)] = table({local: numbers[region] for local, region in regions.items()})
            maps, ids, count = builder.maps, of_places[id(own)], len(own.offsets)
            maps.regions = tables[id(regions)]
            maps.function_offsets, maps.function_regions = own.offsets, ids[:count]
            maps.addresses, maps.address_regions = own.addresses, ids[count:]


class _Clones:
    """Finds functions that the compiler has copied (work, work.constprop.0): a function is one region."""

    def __init__(self) -> None:
        self._regions: dict[object, int] = {}
        self._met: Counter[object] = Counter()

    def number(self, key: RegionKey, region: Region, new: int) -> int:
        """The region of an earlier copy, else new. Two functions of one name in a module are copies of one function if
        both have the same place in the source, or if only one of them has this very symbol."""
        if not isinstance(key, Place) or key.file is None:
            return new
        function: tuple[object, ...] = (key.file, region.name, original(region.canonical), region.file, region.line)
        if region.file is None:
            symbol = (*function, region.canonical)
            function = (*function, self._met[symbol])
            self._met[symbol] += 1
        return self._regions.setdefault(function, new)


@dataclass(slots=True)
class _Used:
    """The functions that a process has called: code offsets, addresses, and their places, in this order."""

    offsets: Ids
    addresses: np.ndarray[Any, np.dtype[np.uint64]]
    places: list[Place]


class _OwnRegions(NamedTuple):
    """The named regions of a process, by its own ids, and the functions that it has called."""

    builder: MapsBuilder
    named: Mapping[int, own_definitions.LocalRegion]
    used: _Used


class _UsedFunctions:
    """The used functions of processes. Most processes call the same functions of the same files, and share one
    object."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], _Used] = {}

    def __call__(self, process: Process) -> _Used:
        scans = process.contents.scans.values()
        offsets = _union([scan.functions for scan in scans], np.uint32)
        addresses = _union([scan.addresses for scan in scans], np.uint64)
        key = (offsets.tobytes(), addresses.tobytes(), *process.definitions.modules)
        if key not in self._known:
            self._known[key] = _Used(offsets, addresses, places(process.definitions.modules, offsets, addresses))
        return self._known[key]

    @property
    def all(self) -> Iterable[_Used]:
        """The distinct objects."""
        return self._known.values()


def _union(arrays: Sequence[np.ndarray[Any, np.dtype[np.generic]]], kind: type[np.unsignedinteger]) -> Array:
    if len(arrays) == 1:
        return arrays[0].astype(kind, copy=False)  # ascending
    return same_array(distinct(np.concatenate(arrays)).astype(kind)) if arrays else np.empty(0, kind)


def _named(region: own_definitions.LocalRegion) -> Region:
    canonical, paradigm, role, file, line, description = region
    about = description or ""
    name = readable(canonical, fortran=False) if (role, paradigm) == (_KERNEL, _CUDA) else canonical
    return Region(name=name, canonical=canonical, description=about, role=role, paradigm=paradigm, file=file, line=line)


def _function(symbols: Symbols, place: Place) -> Region | None:
    """Returns the region of a function; None if this rank does not know its name: another rank may see its file."""
    function = symbols.functions[place]
    return None if function == nameless(place) else function_region(function)


def _unseen(key: own_definitions.LocalRegion | Place) -> Region:
    assert isinstance(key, Place)
    return function_region(nameless(key))


def function_region(function: Function, paradigm: int = COMPILER) -> Region:
    """Returns the region of a function."""
    name, canonical, file, line, _ = function
    return Region(name=name, canonical=canonical, role=FUNCTION, paradigm=paradigm, file=file, line=line)
