# SPDX-License-Identifier: BSD-3-Clause
"""The global lists of an archive: hosts, processes, locations and regions of all processes, each with its number."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vtrace.io.archive import FIRST_STRING, Attribute, Definitions, Location, LocationGroup, Metric, Region, SystemNode
from vtrace.unify import definitions as own_definitions
from vtrace.unify.constructs import constructs
from vtrace.unify.process import Process
from vtrace.unify.symbols import Place, Symbols, places

UNDEFINED = 0xFFFFFFFF
_FUNCTION, _UNKNOWN_ROLE, _COMPILER, _MEASUREMENT = 1, 0, 2, 6
"""Numbers of OTF2_RegionRole and OTF2_Paradigm."""
Ids = npt.NDArray[np.uint32]
Types = npt.NDArray[np.uint8]


def add_system(definitions: Definitions, processes: Sequence[Process]) -> None:
    """Hosts, processes and threads; numbers each process's locations and gives MPI processes their index."""
    hosts = list(dict.fromkeys(process.head.host for process in processes))
    common = hosts[0] if len(hosts) == 1 else os.path.commonprefix(hosts).rstrip("0123456789-._") or "machine"  # noqa: RUF071 (host names)
    definitions.machine = common
    definitions.nodes.append(SystemNode(common, "machine", None, "MACHINE"))
    definitions.nodes += [SystemNode(host, "node", 0, "SHARED_MEMORY") for host in hosts]
    nodes = {host: number for number, host in enumerate(hosts, 1)}
    index = 0
    numbers = {process.head.process: number for number, process in enumerate(processes) if not process.absent}
    for process in processes:
        if process.world and process.rank is not None:
            process.index = index
            index += 1
        process.node = nodes[process.head.host]
        group = len(definitions.groups)
        parent = (process.head.host, *process.head.parent) if process.head.parent else None
        creator = numbers.get(parent) if parent else None
        definitions.groups.append(LocationGroup(_process_name(process), process.node, creator))
        process.first = len(definitions.locations)
        definitions.locations += [Location(name, group) for name in _thread_names(process)]
        if process.tells_heap:
            process.heap = len(definitions.locations)
            definitions.locations.append(Location("Memory", group, "METRIC"))


def _thread_names(process: Process) -> list[str]:
    """What the program calls its threads; numbers tell those of one name apart."""
    known = {number: process.definitions.locations.get(number) for number in process.locations}
    often = Counter(known.values())
    names = []
    for number, name in known.items():
        plain = f"Thread {number}" if number else "Master thread"
        names.append(plain if not name or not number else f"{name} {number}" if often[name] > 1 else name)
    return names


def _process_name(process: Process) -> str:
    if process.world and process.rank is not None:
        return f"MPI Rank {process.rank}" if process.main else f"MPI Rank {process.rank} of world {process.world:x}"
    program = os.path.basename(str(process.definitions.properties.get("executable", "")))
    return f"Process {process.head.host}:{process.head.pid}" + (f" ({program})" if program else "")


@dataclass
class RegionMaps:
    """From one process's numbers to OTF2's: code offsets and addresses (both ascending), and region ids as index."""

    offsets: Ids
    offset_regions: Ids
    addresses: npt.NDArray[np.uint64]
    address_regions: Ids
    regions: Ids


@dataclass
class Regions:
    """All regions, each once, numbered in the order of processes and of their own numbers."""

    regions: list[Region] = field(default_factory=list)
    _numbers: dict[object, int] = field(default_factory=dict)

    def number(self, key: object, region: Region) -> int:
        """The OTF2 id of the region that key stands for."""
        if key not in self._numbers:
            self._numbers[key] = len(self.regions)
            self.regions.append(region)
        return self._numbers[key]


def merge_regions(processes: Sequence[Process], symbols: Symbols) -> tuple[list[Region], list[RegionMaps]]:
    """Merges named regions and functions of all processes. The last region is for what nothing is known of."""
    used = []
    for process in processes:
        scans = process.scans.values()
        offsets = _union([scan.functions for scan in scans], np.uint32)
        addresses = _union([scan.addresses for scan in scans], np.uint64)
        used.append((offsets, addresses, places(process.definitions.modules, offsets, addresses)))
    symbols.resolve(place for _, _, found in used for place in found)
    merged, maps = Regions(), []
    built = constructs([process.definitions for process in processes], symbols)
    for process, own, (offsets, addresses, found) in zip(processes, built, used, strict=True):
        named = _named_regions(process.definitions.regions | own, merged)
        numbers = np.array([_function(merged, symbols, place) for place in found], np.uint32)
        maps.append(RegionMaps(offsets, numbers[: len(offsets)], addresses, numbers[len(offsets) :], named))
    merged.number(None, Region("UNKNOWN", "UNKNOWN", "", _UNKNOWN_ROLE, _MEASUREMENT))
    return merged.regions, maps


def _union(arrays: Sequence[npt.NDArray[np.generic]], kind: type[np.unsignedinteger]) -> npt.NDArray:  # type: ignore[type-arg]
    return np.unique(np.concatenate(arrays)).astype(kind) if arrays else np.empty(0, kind)


def _named_regions(regions: Mapping[int, own_definitions.Region], merged: Regions) -> Ids:
    numbers = {}
    for local, region in sorted(regions.items()):
        name, paradigm, role, file, line, description = region
        known = Region(name, name, description or "", role, paradigm, file, line)
        numbers[local] = merged.number(region, known)
    return table(numbers)


def _function(merged: Regions, symbols: Symbols, place: Place) -> int:
    name, canonical, file, line = symbols.functions[place]
    return merged.number(place, Region(name, canonical, "", _FUNCTION, _COMPILER, file, line))


_MODES = {"a": "ACCUMULATED_START", "p": "ABSOLUTE_POINT", "n": "ABSOLUTE_NEXT"}
_TYPES = {"u": 4, "i": 8, "f": 10}  # OTF2_TYPE_UINT64, INT64, DOUBLE


def merge_metrics(processes: Sequence[Process]) -> tuple[list[Metric], list[tuple[Ids, Types]]]:
    """Merges equal metrics of all processes; for each process the OTF2 ids and OTF2 types by its own ids."""
    numbers: dict[own_definitions.Metric, int] = {}
    maps = []
    for process in processes:
        own = process.definitions.metrics
        ids = {local: numbers.setdefault(metric, len(numbers)) for local, metric in sorted(own.items())}
        maps.append((table(ids), types({local: _TYPES[metric.type] for local, metric in own.items()})))
    return [Metric(m.name, "", m.unit, m.type, _MODES[m.mode]) for m in numbers], maps


_ATTRIBUTE_TYPES = {*range(1, 12), 14, 17, 19, 23, 24}
"""Numbers of OTF2_Type; references to strings, regions, communicators, windows, I/O files and I/O handles."""


def merge_attributes(processes: Sequence[Process]) -> tuple[list[Attribute], list[tuple[Ids, Types]]]:
    """The same for attributes. One whose type the kernel does not know is left out."""
    numbers: dict[own_definitions.Attribute, int] = {}
    maps = []
    for process in processes:
        own = {local: a for local, a in sorted(process.definitions.attributes.items()) if a.type in _ATTRIBUTE_TYPES}
        ids = {local: numbers.setdefault(attribute, len(numbers)) for local, attribute in own.items()}
        maps.append((table(ids), types({local: attribute.type for local, attribute in own.items()})))
    return [Attribute(*attribute) for attribute in numbers], maps


def merge_strings(processes: Sequence[Process]) -> tuple[list[str], list[Ids]]:
    """The texts of all processes, each once, and for each process OTF2's numbers of them by its own ids."""
    numbers: dict[str, int] = {}
    maps = []
    for process in processes:
        own = sorted(process.definitions.texts.items())
        maps.append(table({local: FIRST_STRING + numbers.setdefault(text, len(numbers)) for local, text in own}))
    return list(numbers), maps


def table(numbers: Mapping[int, int]) -> Ids:
    """Numbers by their key; UNDEFINED where there is none."""
    found = np.full(max(numbers, default=-1) + 1, UNDEFINED, np.uint32)
    found[list(numbers.keys())] = list(numbers.values())
    return found


def types(numbers: Mapping[int, int]) -> Types:
    """Numbers of types by their key."""
    return np.where(table(numbers) == UNDEFINED, 0, table(numbers)).astype(np.uint8)
