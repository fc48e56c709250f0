# SPDX-License-Identifier: BSD-3-Clause
"""Those that share the work of unifying: one process alone, or the ranks of vtunify-mpi (mpi.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
Item = TypeVar("Item")

_BEAT = 0.5
"""Seconds between two looks at how far all ranks are."""


class Ranks:
    """One process alone; MpiRanks has the same methods. Each is called by all ranks, in the same order."""

    rank = 0
    size = 1

    @property
    def root(self) -> bool:
        """Whether this rank talks to the user, and writes what is written once."""
        return self.rank == 0

    def together(self, work: Callable[[], Value]) -> Value:
        """What work returns, once it is done on all ranks; where it fails on some all raise the first one's error."""
        return work()

    def first(self, work: Callable[[], Value]) -> Value:
        """Rank 0 works, and all get what comes of it."""
        return work()

    def reduce(self, value: Value, join: Callable[[Value, Value], Value]) -> Value:
        """At rank 0 the values of all, joined pair by pair in a tree (in any order); undefined on other ranks."""
        return value

    def scatter(self, values: Sequence[Value]) -> Value:
        """Of rank 0's values, one for each rank, the own one."""
        return values[0]

    def exchange(self, values: list[Value]) -> list[Value]:
        """Sends one value to each rank; returns what each has sent to this one."""
        return values

    def total(self, numbers: Sequence[int]) -> list[int]:
        """The sums over all ranks."""
        return [*numbers]

    def split(self, group: int) -> Ranks:
        """Those that have named the same group."""
        return self

    def broadcast_bytes(self, address: int, size: int, root: int) -> None:
        """Memory of root gets to all others."""

    def gather(self, value: dict[int, Value]) -> dict[int, Value]:
        """At rank 0 the entries of all, which have keys of their own, in ascending order; elsewhere none."""
        everyone = self.reduce(value, _update)
        return dict(sorted(everyone.items())) if self.root else {}


ALONE = Ranks()


def _update(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    if len(one) < len(other):
        one, other = other, one
    one.update(other)
    return one


class _Work(Generic[Item]):
    """Items that threads take one after the other. Nothing is done once for all of them while they are worked on."""

    def __init__(self, items: Sequence[Item], work: Callable[[Item], None], weigh: Callable[[Item], int]) -> None:
        self._items, self._work, self._weigh = iter(items), work, weigh
        self._changed = Condition()
        self._busy = 0
        """Threads that have not ended."""
        self.stopped = False
        """Nobody begins with another item."""
        self.failure: BaseException | None = None
        """The first one in any thread."""
        self.done = 0

    def start(self, threads: int) -> None:
        """Begins in threads of its own."""
        for _ in range(threads):
            Thread(target=self._run).start()  # raises if there can be no more threads: then this one is not counted
            with self._changed:
                self._busy += 1

    def wait(self, seconds: float) -> bool:
        """Waits until all threads have ended, one has failed or the seconds have passed; returns whether any works."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy or self.failure is not None, seconds)
            return self._busy > 0

    def stop(self) -> None:
        """Lets no thread begin with another item, and waits until all have ended."""
        self.stopped = True
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)

    def _run(self) -> None:
        try:
            while not self.stopped:
                with self._changed:
                    item = next(self._items, None)
                if item is None:
                    return
                self._work(item)
                with self._changed:
                    self.done += self._weigh(item)
        except BaseException as error:
            self.stopped = True
            with self._changed:
                self.failure = self.failure or error
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()


def work_on(
    ranks: Ranks, threads: int, items: Sequence[Item], work: Callable[[Item], None], weigh: Callable[[Item], int],
    advance: Callable[[int], None],
) -> None:  # fmt: skip
    """Works on this rank's items in threads, the heaviest first, while all ranks do so with theirs.

    weigh: what an item counts in the progress, which advance is told of for all ranks. After a failure no rank begins
    with another item; an interrupt is raised at once.
    """
    todo = _Work(sorted(items, key=weigh, reverse=True), work, weigh)
    try:
        todo.start(min(threads, len(items)))
        _follow(ranks, todo, advance)
    except BaseException as error:
        todo.stopped = True
        if isinstance(error, Exception):
            todo.stop()
        raise


def _follow(ranks: Ranks, todo: _Work[Any], advance: Callable[[int], None]) -> None:
    shown = 0
    while True:
        busy = todo.wait(_BEAT)
        amount, busy_ranks, failures = ranks.total([todo.done, busy, todo.failure is not None])
        advance(amount - shown)
        shown = amount
        if failures:
            todo.stop()
        if failures or not busy_ranks:
            ranks.together(partial(_raise, todo.failure))
            return


def _raise(failure: BaseException | None) -> None:
    if failure is not None:
        raise failure
