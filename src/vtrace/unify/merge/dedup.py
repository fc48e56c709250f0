# SPDX-License-Identifier: BSD-3-Clause
"""Things that several processes define, each once: how they are joined in a tree, and get their numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.process import Process

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Order = tuple[int, ...]
"""The number of a process, then its own numbers: where a thing was defined."""


class Firsts(Generic[Key, Value]):
    """Things by what they consist of, with the place where each comes first and what is known of it.

    Joining them is commutative and associative: the same comes out however processes are shared among ranks.
    """

    def __init__(self) -> None:
        self.found: dict[Key, tuple[Order, Value]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self.found

    def add(self, key: Key, order: Order, value: Value) -> None:
        """Adds a thing, or what one more process knows of it."""
        known = self.found.get(key)
        if known is None:
            self.found[key] = order, value
        else:
            self.found[key] = min(known[0], order), self.combine(known[1], value)

    def combine(self, one: Value, other: Value) -> Value:
        """What is known from both, in whatever order they come; by default all know the same."""
        return one

    def join(self, other: Firsts[Key, Value]) -> Firsts[Key, Value]:
        """Those of both."""
        large, small = (self, other) if len(self.found) >= len(other.found) else (other, self)
        for key, (order, value) in small.found.items():
            large.add(key, order, value)
        return large

    def collect(self, ranks: Ranks) -> list[tuple[Key, Value]]:
        """At rank 0 those of all ranks, in the order of their places."""
        everyone = ranks.reduce(self, Firsts.join)
        places = sorted(everyone.found.items(), key=lambda item: item[1][0]) if ranks.root else []
        return [(key, value) for key, (_, value) in places]

    def number(self, ranks: Ranks) -> tuple[dict[Key, int], list[Value]]:
        """The number of each, in the order of their places; and, at rank 0, their values in this order."""
        collected = self.collect(ranks)
        keys = ranks.first(lambda: [key for key, _ in collected])
        return {key: number for number, key in enumerate(keys)}, [value for _, value in collected]


Told = tuple[Order, str] | None
"""A name, and the place where it was given."""


class Named(Firsts[Key, Told]):
    """Things that some processes give a name: the one in the first place counts."""

    def combine(self, one: Told, other: Told) -> Told:
        return first_told(one, other)


def first_told(one: Told, other: Told) -> Told:
    """The name that was given first."""
    return min(told) if (told := [name for name in (one, other) if name]) else None


def merge_equal(
    processes: Sequence[Process], ranks: Ranks, own: Callable[[Process], Mapping[int, Key]]
) -> tuple[list[Key], list[dict[int, int]]]:
    """What is equal is the same for all processes. Returns all there are, and the number of each by the processes' own.

    own: what a process defines, by its own numbers.
    """
    merged: Firsts[Key, None] = Firsts()
    for process in processes:
        for local, key in sorted(own(process).items()):
            if key not in merged:
                merged.add(key, (process.number, local), None)
    numbers, _ = merged.number(ranks)
    return list(numbers), [{local: numbers[key] for local, key in own(process).items()} for process in processes]


class Concatenated(Generic[Value]):
    """What each process has for itself, behind each other in the order of the processes."""

    def __init__(self, own: dict[int, list[Value]], ranks: Ranks) -> None:
        """own: by the number of the process."""
        everyone = ranks.gather(own)
        self.items = everyone
        """At rank 0, of all processes."""
        sizes = ranks.first(lambda: {number: len(items) for number, items in everyone.items()})
        self.first: dict[int, int] = {}
        """Place of each process's first."""
        at = 0
        for number, size in sizes.items():
            self.first[number] = at
            at += size
