# SPDX-License-Identifier: BSD-3-Clause
"""The parts of merging steps: the maps of a process while the steps fill them, definitions that several processes
share, and the two kinds of steps.

A union of definitions keeps the lesser place of each key, in any order, so that sets are joined in a tree, and ids
depend neither on the number of ranks nor on the distribution of processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from vtrace.io.archive.writer import Definitions
from vtrace.io.local.kernel import Maps
from vtrace.io.local.maps import U4, SampleMaps, empty8
from vtrace.parallel.exchange import Numbers
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_maps import ProcessMaps

Key = TypeVar("Key", bound=Hashable)
Data = TypeVar("Data")
Order = tuple[int, ...]
"""The number of a process, then its own numbers: the place of a definition."""


def _no_maps() -> Maps:
    return Maps(knot_ticks=empty8(), knot_ns=empty8(), unknown_region=0)


@dataclass(slots=True)
class MapsBuilder:
    """A process of this rank with its unfinished maps; each step sets the tables that it makes. See ProcessMaps."""

    process: Process
    maps: Maps = field(default_factory=_no_maps)
    samples: SampleMaps | None = None
    user_peers: dict[int, U4] = field(default_factory=dict)
    user_others: dict[int, Numbers] = field(default_factory=dict)

    def build(self, zero: int) -> ProcessMaps | None:
        """Returns the finished maps; None for a process without files. zero: the archive's, in ns since the epoch."""
        if self.process.curve is None:
            return None
        source = self.process.source()
        self.maps.knot_ticks, self.maps.knot_ns = self.process.curve.knots(zero, source.first, source.last)
        return ProcessMaps(
            common=self.maps, samples=self.samples, user_peers=self.user_peers, user_others=self.user_others
        )


class MergedDefinitions(Generic[Key, Data]):
    """Definitions by key, each with its first place and its value.

    The join is commutative and associative, so the result does not depend on the distribution of processes to ranks.
    """

    def __init__(self) -> None:
        self.found: dict[Key, tuple[Order, Data]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self.found

    def add(self, key: Key, order: Order, value: Data) -> None:
        """Adds a definition, or another process's value for a known definition."""
        known = self.found.get(key)
        if known is None:
            self.found[key] = order, value
        else:
            self.found[key] = min(known[0], order), self.combine(known[1], value)

    def combine(self, one: Data, other: Data) -> Data:
        """Returns the value from both, independent of their order. By default all values of a key are equal."""
        return one

    def join(self, other: MergedDefinitions[Key, Data]) -> MergedDefinitions[Key, Data]:
        """Returns the definitions of both; may change both."""
        large, small = (self, other) if len(self.found) >= len(other.found) else (other, self)
        for key, (order, value) in small.found.items():
            large.add(key, order, value)
        return large

    def in_order(self) -> list[tuple[Key, Data]]:
        """Returns all definitions in the order of their places."""
        return [(key, value) for key, (_, value) in sorted(self.found.items(), key=lambda item: item[1][0])]


GivenName = tuple[Order, str] | None
"""A name, and the place of the definition that gave it."""


class Named(MergedDefinitions[Key, GivenName]):
    """Definitions that some processes name: the name at the first place counts."""

    def combine(self, one: GivenName, other: GivenName) -> GivenName:
        return first_name(one, other)


def first_name(one: GivenName, other: GivenName) -> GivenName:
    """Returns the name with the first place."""
    return min(given) if (given := [name for name in (one, other) if name]) else None


def numbered(keys: Sequence[Key]) -> dict[Key, int]:
    """Returns the number of each key: its place in keys."""
    return {key: number for number, key in enumerate(keys)}


class EqualStep(ABC, Generic[Key]):
    """The step (parallel.exchange.Step) of definitions that are merged if they are equal. The decision is the list of
    all definitions, in their order."""

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        self._builders, self._definitions = builders, definitions

    @abstractmethod
    def own(self, process: Process) -> Mapping[int, Key]:
        """Returns the definitions of a process, by its own ids."""

    def contribute(self) -> MergedDefinitions[Key, None]:
        merged: MergedDefinitions[Key, None] = MergedDefinitions()
        seen: dict[int, Mapping[int, Key]] = {}  # many processes share a table
        for builder in self._builders:
            own = self.own(builder.process)
            if id(own) in seen:
                continue
            seen[id(own)] = own
            for local, key in sorted(own.items()):
                if key not in merged:
                    merged.add(key, (builder.process.number, local), None)
        return merged

    def join(
        self, one: MergedDefinitions[Key, None], other: MergedDefinitions[Key, None]
    ) -> MergedDefinitions[Key, None]:
        return one.join(other)

    def decide(self, everyone: MergedDefinitions[Key, None]) -> list[Key]:
        keys = [key for key, _ in everyone.in_order()]
        self.define(keys)
        return keys

    @abstractmethod
    def define(self, keys: Sequence[Key]) -> None:
        """On rank 0: adds the definitions, in their order, to those of the archive."""

    def ids(self, keys: Sequence[Key]) -> Iterator[tuple[MapsBuilder, dict[int, int]]]:
        """Yields for each of this rank's processes the place of each definition in keys, by its own ids."""
        numbers, known = numbered(keys), dict[int, tuple[Mapping[int, Key], dict[int, int]]]()
        for builder in self._builders:
            own = self.own(builder.process)
            if id(own) not in known:
                known[id(own)] = own, {local: numbers[key] for local, key in own.items()}
            yield builder, known[id(own)][1]


class ConcatStep(ABC, Generic[Data]):
    """The step of definitions that processes do not share: it concatenates the lists of all processes.

    Subclasses set own, the definitions by number of the process. The decision is the place of each process's first
    definition.
    """

    own: dict[int, list[Data]]

    def contribute(self) -> dict[int, list[Data]]:
        return self.own

    def join(self, one: dict[int, list[Data]], other: dict[int, list[Data]]) -> dict[int, list[Data]]:
        return one | other

    def decide(self, everyone: dict[int, list[Data]]) -> dict[int, int]:
        everyone = dict(sorted(everyone.items()))
        firsts = {}
        at = self.define(everyone)
        for number, items in everyone.items():
            firsts[number] = at
            at += len(items)
        return firsts

    @abstractmethod
    def define(self, everyone: dict[int, list[Data]]) -> int:
        """On rank 0: adds the definitions of all processes, in their order, to the archive's; returns the first id."""
