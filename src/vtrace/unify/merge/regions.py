# SPDX-License-Identifier: BSD-3-Clause
"""Regions of all processes: named regions, and called functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtrace.io.archive.writer import Definitions, Region
from vtrace.io.common.arrays import Array, distinct
from vtrace.io.common.interning import same_array
from vtrace.symbols.demangle import original
from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Function, Symbols, nameless
from vtrace.unify.merge.code_addresses import constructs
from vtrace.unify.merge.dedup import MergedDefinitions
from vtrace.unify.model import process_definitions as own_definitions
from vtrace.unify.model.id_tables import Ids, table
from vtrace.unify.model.process import Process

_FUNCTION, _UNKNOWN_ROLE, _COMPILER, _MEASUREMENT = 1, 0, 2, 6
"""Numbers of OTF2_RegionRole and OTF2_Paradigm."""


@dataclass(slots=True, kw_only=True)
class RegionMaps:
    """OTF2's regions of one process, by code offset and by address (both ascending), and by its own region ids."""

    offsets: Ids
    offset_regions: Ids
    addresses: np.ndarray[Any, np.dtype[np.uint64]]
    address_regions: Ids
    regions: Ids


class _Regions(MergedDefinitions[own_definitions.LocalRegion | Place, Region | None]):
    def combine(self, one: Region | None, other: Region | None) -> Region | None:
        """Takes the name from either side: only ranks that see the file of a function know its name."""
        return one or other


RegionKey = own_definitions.LocalRegion | Place
_MergedRegions = MergedDefinitions[RegionKey, Region | None]


class RegionStep:
    """Named regions and functions of all processes; the last region of the archive stands for unknown ones."""

    def __init__(self, processes: Sequence[Process], symbols: Symbols, definitions: Definitions) -> None:
        self._processes, self._symbols, self._definitions = processes, symbols, definitions
        self._places_of = _UsedFunctions()
        self._used: list[_Used] = []
        self._named: list[Mapping[int, own_definitions.LocalRegion]] = []

    def contribute(self) -> _MergedRegions:
        symbols = self._symbols
        self._used = [self._places_of(process) for process in self._processes]
        symbols.resolve(place for own in self._places_of.all for place in own.places)
        built = constructs([process.definitions for process in self._processes], symbols)
        self._named = [process.definitions.regions | own if own else process.definitions.regions
                       for process, own in zip(self._processes, built, strict=True)]  # fmt: skip
        merged = _Regions()
        added: set[int] = set()
        for process, regions, own in zip(self._processes, self._named, self._used, strict=True):
            if id(regions) not in added:
                added.add(id(regions))
                for local, region in sorted(regions.items()):
                    if region not in merged:
                        merged.add(region, (process.number, 0, local), _named(region))
            if id(own) not in added:
                added.add(id(own))
                for i, place in enumerate(own.places):
                    if place not in merged:
                        merged.add(place, (process.number, 1, i), _function(symbols, place))
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
        unknown = Region(name="UNKNOWN", canonical="UNKNOWN", description="", role=_UNKNOWN_ROLE, paradigm=_MEASUREMENT)
        self._definitions.regions = [*regions, unknown]
        return numbers

    def maps(self, numbers: Mapping[RegionKey, int]) -> list[RegionMaps]:
        """Returns the maps of each of this rank's processes."""
        tables = {
            id(regions): table({local: numbers[region] for local, region in regions.items()}) for regions in self._named
        }
        of_places = {
            id(own): np.array([numbers[place] for place in own.places], np.uint32) for own in self._places_of.all
        }
        maps = []
        for regions, own in zip(self._named, self._used, strict=True):
            ids, count = of_places[id(own)], len(own.offsets)
            maps.append(
                RegionMaps(
                    offsets=own.offsets,
                    offset_regions=ids[:count],
                    addresses=own.addresses,
                    address_regions=ids[count:],
                    regions=tables[id(regions)],
                )
            )
        return maps


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
    name, paradigm, role, file, line, description = region
    return Region(
        name=name, canonical=name, description=description or "", role=role, paradigm=paradigm, file=file, line=line
    )


def _function(symbols: Symbols, place: Place) -> Region | None:
    """Returns the region of a function; None if this rank does not know its name: another rank may see its file."""
    function = symbols.functions[place]
    return None if function == nameless(place) else _region(function)


def _unseen(key: own_definitions.LocalRegion | Place) -> Region:
    assert isinstance(key, Place)
    return _region(nameless(key))


def _region(function: Function) -> Region:
    name, canonical, file, line, _ = function
    return Region(
        name=name, canonical=canonical, description="", role=_FUNCTION, paradigm=_COMPILER, file=file, line=line
    )
