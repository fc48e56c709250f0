# SPDX-License-Identifier: BSD-3-Clause
"""Regions, metrics, attributes and strings of all processes: what is equal gets one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.ids import distinct
from vtrace.io.archive.writer import FIRST_STRING, Attribute, Metric, Region
from vtrace.io.common.interning import same_array
from vtrace.parallel.ranks import Ranks
from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Function, Symbols, nameless
from vtrace.unify.merge.constructs import constructs
from vtrace.unify.merge.dedup import Firsts, merge_equal
from vtrace.unify.model import process_definitions as own_definitions
from vtrace.unify.model.process import Process

_FUNCTION, _UNKNOWN_ROLE, _COMPILER, _MEASUREMENT = 1, 0, 2, 6
"""Numbers of OTF2_RegionRole and OTF2_Paradigm."""
Ids = np.ndarray[Any, np.dtype[np.uint32]]
Types = np.ndarray[Any, np.dtype[np.uint8]]


_NONE: Ids = np.empty(0, np.uint32)
_NO_TYPES: Types = np.empty(0, np.uint8)


@dataclass(slots=True)
class RegionMaps:
    """From one process's numbers to OTF2's: code offsets and addresses (both ascending), and region ids as index."""

    offsets: Ids
    offset_regions: Ids
    addresses: np.ndarray[Any, np.dtype[np.uint64]]
    address_regions: Ids
    regions: Ids


class _Regions(Firsts[own_definitions.LocalRegion | Place, Region | None]):
    def combine(self, one: Region | None, other: Region | None) -> Region | None:
        """A function is known where its file can be seen."""
        return one or other


def merge_regions(
    processes: Sequence[Process], symbols: Symbols, ranks: Ranks
) -> tuple[list[Region], list[RegionMaps], int]:
    """Merges named regions and functions of all processes: all regions (at rank 0), and the number of the last one,
    which is for what nothing is known of.
    """
    places_of = _Places()
    used = [places_of(process) for process in processes]
    symbols.resolve(place for own in places_of.all for place in own.places)
    built = constructs([process.definitions for process in processes], symbols)
    merged = _Regions()
    added: set[int] = set()
    named = [process.definitions.regions | own if own else process.definitions.regions
             for process, own in zip(processes, built, strict=True)]  # fmt: skip
    for process, regions, own in zip(processes, named, used, strict=True):
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
    numbers, everyone = merged.number(ranks)
    unknown = Region("UNKNOWN", "UNKNOWN", "", _UNKNOWN_ROLE, _MEASUREMENT)
    keys = [*numbers] if ranks.root else []
    everything = [region or _unseen(key) for key, region in zip(keys, everyone, strict=True)]
    tables = {id(regions): table({local: numbers[region] for local, region in regions.items()}) for regions in named}
    of_places = {id(own): np.array([numbers[place] for place in own.places], np.uint32) for own in places_of.all}
    maps = []
    for regions, own in zip(named, used, strict=True):
        ids, count = of_places[id(own)], len(own.offsets)
        maps.append(RegionMaps(own.offsets, ids[:count], own.addresses, ids[count:], tables[id(regions)]))
    return [*everything, unknown], maps, len(numbers)


@dataclass(slots=True)
class _Used:
    """The functions that a process has called."""

    offsets: Ids
    addresses: np.ndarray[Any, np.dtype[np.uint64]]
    places: list[Place]


class _Places:
    """Processes that have called the same functions of the same files, as most have, get one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], _Used] = {}

    def __call__(self, process: Process) -> _Used:
        scans = process.scans.values()
        offsets = _union([scan.functions for scan in scans], np.uint32)
        addresses = _union([scan.addresses for scan in scans], np.uint64)
        key = (offsets.tobytes(), addresses.tobytes(), *process.definitions.modules)
        if key not in self._known:
            self._known[key] = _Used(offsets, addresses, places(process.definitions.modules, offsets, addresses))
        return self._known[key]

    @property
    def all(self) -> Iterable[_Used]:
        """All there are."""
        return self._known.values()


def _union(
    arrays: Sequence[np.ndarray[Any, np.dtype[np.generic]]], kind: type[np.unsignedinteger]
) -> np.ndarray[Any, Any]:
    if len(arrays) == 1:
        return arrays[0].astype(kind, copy=False)  # ascending
    return same_array(distinct(np.concatenate(arrays)).astype(kind)) if arrays else np.empty(0, kind)


def _named(region: own_definitions.LocalRegion) -> Region:
    name, paradigm, role, file, line, description = region
    return Region(name, name, description or "", role, paradigm, file, line)


def _function(symbols: Symbols, place: Place) -> Region | None:
    """None where its name is not known here: another rank may see the file."""
    function = symbols.functions[place]
    return None if function == nameless(place) else _region(function)


def _unseen(key: own_definitions.LocalRegion | Place) -> Region:
    assert isinstance(key, Place)
    return _region(nameless(key))


def _region(function: Function) -> Region:
    name, canonical, file, line = function
    return Region(name, canonical, "", _FUNCTION, _COMPILER, file, line)


_MODES = {"a": "ACCUMULATED_START", "p": "ABSOLUTE_POINT", "n": "ABSOLUTE_NEXT"}
_TYPES = {"u": 4, "i": 8, "f": 10}  # OTF2_TYPE_UINT64, INT64, DOUBLE


def merge_metrics(processes: Sequence[Process], ranks: Ranks) -> tuple[list[Metric], list[tuple[Ids, Types]]]:
    """Merges equal metrics of all processes; for each process the OTF2 ids and OTF2 types by its own ids."""
    merged, numbers = merge_equal(processes, ranks, lambda process: process.definitions.metrics)
    maps = []
    for process, ids in zip(processes, numbers, strict=True):
        own = process.definitions.metrics
        maps.append((table(ids), types({local: _TYPES[metric.type] for local, metric in own.items()})))
    return [Metric(m.name, "", m.unit, m.type, _MODES[m.mode]) for m in merged], maps


_ATTRIBUTE_TYPES = {*range(1, 12), 14, 17, 19, 23, 24}
"""Numbers of OTF2_Type; references to strings, regions, communicators, windows, I/O files and I/O handles."""


def _attributes(process: Process) -> dict[int, own_definitions.LocalAttribute]:
    return {local: a for local, a in process.definitions.attributes.items() if a.type in _ATTRIBUTE_TYPES}


def merge_attributes(processes: Sequence[Process], ranks: Ranks) -> tuple[list[Attribute], list[tuple[Ids, Types]]]:
    """The same for attributes. One whose type the kernel does not know is left out."""
    merged, numbers = merge_equal(processes, ranks, _attributes)
    maps = []
    for process, ids in zip(processes, numbers, strict=True):
        own = _attributes(process)
        maps.append((table(ids), types({local: attribute.type for local, attribute in own.items()})))
    return [Attribute(*attribute) for attribute in merged], maps


def merge_strings(processes: Sequence[Process], ranks: Ranks) -> tuple[list[str], list[Ids]]:
    """The texts of all processes, each once, and for each process OTF2's numbers of them by its own ids."""
    merged, numbers = merge_equal(processes, ranks, lambda process: process.definitions.texts)
    return merged, [table({local: FIRST_STRING + number for local, number in own.items()}) for own in numbers]


def table(numbers: Mapping[int, int]) -> Ids:
    """Numbers by their key; UNDEFINED where there is none."""
    if not numbers:
        return _NONE
    found = np.full(max(numbers) + 1, UNDEFINED, np.uint32)
    found[[*numbers]] = [*numbers.values()]
    return same_array(found)


def types(numbers: Mapping[int, int]) -> Types:
    """Numbers of types by their key."""
    found = table(numbers)
    return same_array(np.where(found == UNDEFINED, 0, found).astype(np.uint8)) if len(found) else _NO_TYPES
