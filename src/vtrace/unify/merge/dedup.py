# SPDX-License-Identifier: BSD-3-Clause
"""Definitions that several processes make, each once: how two sets of them are joined, and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from vtrace.unify.model.process import Process

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Order = tuple[int, ...]
"""The number of a process, then its own numbers: the place of a definition."""


class Firsts(Generic[Key, Value]):
    """Definitions by their key, with the first place of each and what is known of it.

    Joining is commutative and associative: the result does not depend on how processes are shared among ranks.
    """

    def __init__(self) -> None:
        self.found: dict[Key, tuple[Order, Value]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self.found

    def add(self, key: Key, order: Order, value: Value) -> None:
        """Adds a definition, or what one more process knows of it."""
        known = self.found.get(key)
        if known is None:
            self.found[key] = order, value
        else:
            self.found[key] = min(known[0], order), self.combine(known[1], value)

    def combine(self, one: Value, other: Value) -> Value:
        """Returns what is known from both, in whatever order they come; by default all know the same."""
        return one

    def join(self, other: Firsts[Key, Value]) -> Firsts[Key, Value]:
        """Returns the definitions of both; may change both."""
        large, small = (self, other) if len(self.found) >= len(other.found) else (other, self)
        for key, (order, value) in small.found.items():
            large.add(key, order, value)
        return large

    def in_order(self) -> list[tuple[Key, Value]]:
        """Returns all, in the order of their places."""
        return [(key, value) for key, (_, value) in sorted(self.found.items(), key=lambda item: item[1][0])]


Told = tuple[Order, str] | None
"""A name, and the place where it was given."""


class Named(Firsts[Key, Told]):
    """Definitions that some processes give a name: the name at the first place counts."""

    def combine(self, one: Told, other: Told) -> Told:
        return first_told(one, other)


def first_told(one: Told, other: Told) -> Told:
    """Returns the name that was given first."""
    return min(told) if (told := [name for name in (one, other) if name]) else None


def numbered(keys: Sequence[Key]) -> dict[Key, int]:
    """Returns the number of each key: its place in keys."""
    return {key: number for number, key in enumerate(keys)}


class EqualStep(ABC, Generic[Key]):
    """The step (parallel.exchange.Step) of definitions that are the same wherever they are equal."""

    def __init__(self, processes: Sequence[Process], own: Callable[[Process], Mapping[int, Key]]) -> None:
        """own: returns the definitions of a process, by its own ids."""
        self.processes, self.own = processes, own

    def contribute(self) -> Firsts[Key, None]:
        merged: Firsts[Key, None] = Firsts()
        for process in self.processes:
            for local, key in sorted(self.own(process).items()):
                if key not in merged:
                    merged.add(key, (process.number, local), None)
        return merged

    def join(self, one: Firsts[Key, None], other: Firsts[Key, None]) -> Firsts[Key, None]:
        return one.join(other)

    def decide(self, everyone: Firsts[Key, None]) -> list[Key]:
        keys = [key for key, _ in everyone.in_order()]
        self.define(keys)
        return keys

    @abstractmethod
    def define(self, keys: Sequence[Key]) -> None:
        """At rank 0: adds the definitions, in their order, to those of the archive."""

    def ids(self, keys: Sequence[Key]) -> list[dict[int, int]]:
        """Returns for each of this rank's processes the place of each definition in keys, by its own ids."""
        numbers = numbered(keys)
        return [{local: numbers[key] for local, key in self.own(process).items()} for process in self.processes]


class ConcatStep(ABC, Generic[Value]):
    """The step of definitions that each process has for itself: one process's behind another's.

    Subclasses set own, the definitions by number of the process. The decision is the place of each process's first.
    """

    own: dict[int, list[Value]]

    def contribute(self) -> dict[int, list[Value]]:
        return self.own

    def join(self, one: dict[int, list[Value]], other: dict[int, list[Value]]) -> dict[int, list[Value]]:
        return one | other

    def decide(self, everyone: dict[int, list[Value]]) -> dict[int, int]:
        everyone = dict(sorted(everyone.items()))
        firsts = {}
        at = self.define(everyone)
        for number, items in everyone.items():
            firsts[number] = at
            at += len(items)
        return firsts

    @abstractmethod
    def define(self, everyone: dict[int, list[Value]]) -> int:
        """At rank 0: adds the definitions of all processes, in their order, to the archive's; returns the first id."""
