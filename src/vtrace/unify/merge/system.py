# SPDX-License-Identifier: BSD-3-Clause
"""Turns hosts, processes and threads into OTF2's system nodes, location groups and locations."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vtrace.io.archive.properties import COMMAND, CORES, CPU_MAX_MHZ, EXECUTABLE, HELPER_PROPERTY, PID, PMUS, TID
from vtrace.io.archive.properties import LANE as LANE_PROPERTY
from vtrace.io.archive.writer import Definitions, Location, LocationGroup, SystemNode
from vtrace.python_command import is_python, python_script
from vtrace.unify.model.openmp_threads import openmp_threads
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import DEVICE, HELPER, LANE, STREAM
from vtrace.unify.model.process_maps import ProcessPlace

_TEXT_MAX = 16_384
"""Maximum number of characters of a command line, since OTF2 reads an anchor file of 256 KiB at most."""
_TIDS = 16
"""Most kernel ids of a location in the archive: a location may have thousands of threads, one after the other."""
_NUMBERS = 3
"""Most numbers in the name of a thread."""


class About(NamedTuple):
    """Rank 0's facts about a process. id, parent: host, pid, start."""

    id: tuple[str, int, int]
    parent: tuple[str, int, int] | None
    name: str
    world: int
    rank: int | None
    missing: bool
    threads: tuple[str, ...]
    """Names of its threads."""
    helpers: frozenset[int]
    """Places in `threads` of helper threads, which a library made for itself."""
    lanes: frozenset[int]
    """Places in `threads` of locations without a thread, which have the ranges of annotations."""
    streams: Mapping[int, str]
    """Places in `threads` of streams of devices, with the name of the device."""
    kernel_ids: tuple[tuple[int, ...], ...]
    """The kernel's ids of the threads of each location."""
    has_heap: bool
    has_thread_events: bool
    executable: str
    command: tuple[str, ...]
    """Words of its command line."""
    cores: str
    """The cores that the process may use, such as 0-3,8; empty if unknown."""
    cpu_max_mhz: str
    pmus: str
    """As the properties CPU_MAX_MHZ and PMUS; empty without counters."""

    @property
    def mpi(self) -> bool:
        """True if the process belongs to a world."""
        return bool(self.world) and self.rank is not None

    @property
    def program(self) -> str:
        """The name of the program; empty if unknown."""
        return program_name(self.executable, self.command)


@dataclass
class System:
    """All processes in the order of the archive, with their places."""

    about: list[About]
    places: list[ProcessPlace]

    @property
    def masters(self) -> list[int]:
        """The location of the main thread of each MPI process, by its index."""
        return [place.first for place in self.places if place.index is not None]

    @property
    def indices(self) -> dict[tuple[int, int | None], int]:
        """The index of each MPI process, by world and rank."""
        pairs = zip(self.about, self.places, strict=True)
        return {(one.world, one.rank): place.index for one, place in pairs if place.index is not None}


class Placing(NamedTuple):
    """The part of the system known to all ranks. places: by number of the process; newest: start of the newest process,
    in ns since the epoch; mpi: number of processes that belong to a world."""

    places: dict[int, ProcessPlace]
    newest: int
    mpi: int


class SystemStep:
    """Hosts, location groups and locations."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        self._processes, self._definitions = processes, definitions
        self.system = System([], [])
        """On rank 0 all processes."""

    def contribute(self) -> dict[int, About]:
        return {process.number: _about(process) for process in self._processes}

    def join(self, one: dict[int, About], other: dict[int, About]) -> dict[int, About]:
        return one | other

    def decide(self, everyone: dict[int, About]) -> Placing:
        known = dict(sorted(everyone.items()))
        places = _place(self._definitions, [*known.values()])
        self.system = System([*known.values()], places)
        newest = max((about.id[2] for about in known.values()), default=0)
        return Placing(dict(zip(known, places, strict=True)), newest, len(self.system.masters))

    def place(self, placing: Placing) -> None:
        """Gives each of this rank's processes its place."""
        for process in self._processes:
            process.place = placing.places[process.number]


def _about(process: Process) -> About:
    head, properties, threads = process.head, process.definitions.properties, process.definitions.threads
    kernel_ids = tuple(tuple(filter(None, threads.get(n, ())))[:_TIDS] for n in process.contents.locations)
    return About(
        head.process, process.parent, _process_name(process), process.world, process.rank, process.missing,
        tuple(_thread_names(process)), _marked(process, HELPER), _marked(process, LANE),
        _streams(process), kernel_ids,
        process.contents.has_heap, process.contents.has_thread_events, str(properties.get("executable", "")),
        tuple(shortened(properties.get("command", ()))),
        *(str(properties.get(name, "")) for name in ("cores", "cpu_max_mhz", "pmus")),
    )  # fmt: skip


def _place(definitions: Definitions, processes: Sequence[About]) -> list[ProcessPlace]:
    hosts = list(dict.fromkeys(process.id[0] for process in processes))
    common = hosts[0] if len(hosts) == 1 else os.path.commonprefix(hosts).rstrip("0123456789-._") or "machine"  # noqa: RUF071 (host names)
    definitions.machine = common
    definitions.nodes.append(SystemNode(common, "machine", None, "MACHINE"))
    definitions.nodes += [SystemNode(host, "node", 0, "SHARED_MEMORY") for host in hosts]
    nodes = {host: number for number, host in enumerate(hosts, 1)}
    numbers = {process.id: number for number, process in enumerate(processes) if not process.missing}
    worlds = {world: n for n, world in enumerate(dict.fromkeys(p.world for p in processes if p.mpi), 1)}
    several = len({p.program for p in processes if p.mpi and p.program}) > 1
    index = 0
    places = []
    devices: dict[tuple[int, str], int] = {}
    for group, process in enumerate(processes):
        creator = numbers.get(process.parent) if process.parent else None
        world = worlds[process.world] if process.mpi else 1
        name = process.name if world == 1 else f"{process.name} of world {world}"
        if process.mpi and several and process.program:
            name += f" ({process.program})"
        texts = {EXECUTABLE: process.executable, COMMAND: shlex.join(process.command), CORES: process.cores}
        texts |= {CPU_MAX_MHZ: process.cpu_max_mhz, PMUS: process.pmus}
        texts[PID] = "" if process.missing else str(process.id[1])
        texts = {key: text for key, text in texts.items() if text}
        definitions.groups.append(LocationGroup(name, nodes[process.id[0]], creator, texts))
        first = len(definitions.locations)
        for place, thread in enumerate(process.threads):
            marked: dict[str, int | str] = {HELPER_PROPERTY: 1} if place in process.helpers else {}
            marked |= {LANE_PROPERTY: "process"} if place in process.lanes else {}
            marked |= {TID if n == 1 else f"{TID}.{n}": tid for n, tid in enumerate(process.kernel_ids[place], 1)}
            if place in process.streams:
                key = group, f"{name}: {process.streams[place]}"
                device = devices.setdefault(key, len(processes) + len(devices))
                definitions.locations.append(Location(thread, device, "ACCELERATOR_STREAM", properties=marked))
            else:
                definitions.locations.append(Location(thread, group, properties=marked))
        heap = None
        if process.has_heap:
            heap = len(definitions.locations)
            definitions.locations.append(Location("Memory", group, "METRIC"))
        places.append(ProcessPlace(index if process.mpi else None, nodes[process.id[0]], first, heap))
        index += process.mpi
    for creator, name in devices:
        node = definitions.groups[creator].node
        definitions.groups.append(LocationGroup(name, node, creator, type="ACCELERATOR"))
    return places


def _marked(process: Process, prefix: str) -> frozenset[int]:
    """The places of the locations that have a property with this prefix."""
    properties = process.definitions.properties
    return frozenset(
        n for n, location in enumerate(process.contents.locations) if location and f"{prefix}{location}" in properties
    )


def _streams(process: Process) -> dict[int, str]:
    """The places of streams of devices, and the names of their devices."""
    numbers, properties = process.contents.locations, process.definitions.properties
    return {n: str(properties.get(f"{DEVICE}{numbers[n]}", "")) for n in sorted(_marked(process, STREAM))}


def _thread_names(process: Process) -> list[str]:
    """Returns the names that the program gave its threads, or their numbers; these also distinguish threads of one
    name."""
    helpers, lanes = _marked(process, HELPER), sorted(_marked(process, LANE))
    properties = process.definitions.properties
    openmp = _openmp_names(process)
    given = process.definitions.locations
    known = {number: given.get(number) or openmp.get(number) for number in process.contents.locations}
    often = Counter(known.values())
    names = []
    for place, (number, name) in enumerate(known.items()):
        if place in lanes:
            names.append(f"Ranges {lanes.index(place) + 1}")
            continue
        if stream := properties.get(f"{STREAM}{number}"):
            names.append(str(stream))
            continue
        plain = f"{'Helper thread' if place in helpers else 'Thread'} {number}" if number else "Master thread"
        names.append(plain if not name or not number else f"{name} {number}" if often[name] > 1 else name)
    return names


def _openmp_names(process: Process) -> dict[int, str]:
    """Returns Score-P's names of OpenMP's threads. One with several numbers keeps its own number before them."""
    threads = openmp_threads(process.definitions)
    often = Counter(number for numbers in threads.values() for number in numbers)
    names = {}
    for location, numbers in threads.items():
        of = f" of Thread {root}" if (root := numbers[0].root) else ""
        name = f"OMP thread {' or '.join(map(str, numbers[:_NUMBERS]))}{' or others' * (len(numbers) > _NUMBERS)}{of}"
        plain = len(numbers) == 1 and often[numbers[0]] == 1
        names[location] = name if plain else f"Thread {location} ({name})"
    return names


def _process_name(process: Process) -> str:
    if process.world and process.rank is not None:
        return f"MPI Rank {process.rank}"
    properties = process.definitions.properties
    program = program_name(str(properties.get("executable", "")), properties.get("command", ()))
    return f"Process {process.head.host}:{process.head.pid}" + (f" ({program})" if program else "")


def shortened(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line that fit into _TEXT_MAX characters; "..." replaces the other words."""
    kept: list[str] = []
    size = 0
    for word in words:
        size += len(word) + 4
        if size > _TEXT_MAX:
            return [*kept, "..."]
        kept.append(word)
    return kept


def program_name(executable: str, command: Sequence[str]) -> str:
    """Returns the name of the executable without its directory; for a Python interpreter, the name of its script or
    module. Empty if it is unknown."""
    name = os.path.basename(executable)
    script = python_script([*command[1:]]) if is_python(name) else None
    return os.path.basename(script) if script else name
