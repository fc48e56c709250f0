# SPDX-License-Identifier: BSD-3-Clause
"""The ranks that share work: one process alone, or the ranks of vtunify-mpi (mpi.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

RankValue = TypeVar("RankValue")
WorkItem = TypeVar("WorkItem")

_BEAT = 0.5
"""Seconds between two sums of the progress of all ranks."""


class Ranks:
    """One process alone; MpiRanks has the same methods. All ranks call each method, in the same order."""

    rank = 0
    size = 1

    @property
    def root(self) -> bool:
        """True on rank 0, which prints messages and writes shared files."""
        return self.rank == 0

    def together(self, work: Callable[[], RankValue]) -> RankValue:
        """Works on all ranks and returns each rank's result; if ranks fail, all raise the first one's error."""
        return work()

    def first(self, work: Callable[[], RankValue]) -> RankValue:
        """Works on rank 0 and returns the result on all ranks; an error of rank 0 is raised on all."""
        return work()

    def reduce(self, value: RankValue, join: Callable[[RankValue, RankValue], RankValue]) -> RankValue:
        """Returns on rank 0 all ranks' values, joined in pairs in a tree, in any order; undefined on other ranks."""
        return value

    def scatter(self, values: Sequence[RankValue]) -> RankValue:
        """Returns this rank's value from rank 0's list of values by rank."""
        return values[0]

    def exchange(self, values: list[RankValue]) -> list[RankValue]:
        """Sends one value to each rank; returns the values that the ranks have sent to this rank, by rank."""
        return values

    def total(self, numbers: Sequence[int]) -> list[int]:
        """Returns the sums over all ranks."""
        return [*numbers]

    def split(self, group: int) -> Ranks:
        """Returns the ranks with the same group."""
        return self

    def broadcast_bytes(self, address: int, size: int, root: int) -> None:
        """Copies size bytes at an address from root to the same place on all other ranks; address: of this rank."""

    def gather(self, value: dict[int, RankValue]) -> dict[int, RankValue]:
        """Returns on rank 0 the entries of all ranks by ascending key, else none; no two ranks share a key."""
        everyone = self.reduce(value, _update)
        return dict(sorted(everyone.items())) if self.root else {}


ALONE = Ranks()


def _update(larger: dict[int, Any], smaller: dict[int, Any]) -> dict[int, Any]:
    if len(larger) < len(smaller):
        larger, smaller = smaller, larger
    larger.update(smaller)
    return larger


class _Work(Generic[WorkItem]):
    """Items that threads take one after the other. No step handles all items at once while threads work."""

    def __init__(
        self, items: Sequence[WorkItem], work: Callable[[WorkItem], None], weigh: Callable[[WorkItem], int]
    ) -> None:
        self._items, self._work, self._weigh = iter(items), work, weigh
        self._changed = Condition()
        self._busy = 0
        """Threads that have not ended."""
        self.stopped = False
        """True: no thread begins another item."""
        self.failure: BaseException | None = None
        """The first failure of any thread."""
        self.done = 0

    def start(self, threads: int) -> None:
        """Starts the threads."""
        for _ in range(threads):
            Thread(target=self._run).start()  # raises if no thread can be started: then the thread is not counted
            with self._changed:
                self._busy += 1

    def wait(self, seconds: float) -> bool:
        """Waits until all threads have ended, one has failed or the seconds have passed. Returns True if a thread still
        works."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy or self.failure is not None, seconds)
            return self._busy > 0

    def stop(self) -> None:
        """Stops the distribution of items, and waits until all threads have ended."""
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


_WORTH_A_THREAD = 1 << 14
"""Weight of an item, in bytes, from which a second thread saves time. Threads with lighter items only pass Python's
lock back and forth, which takes a third of the time."""


def work_on(
    ranks: Ranks, threads: int, items: Sequence[WorkItem], work: Callable[[WorkItem], None],
    *, weigh: Callable[[WorkItem], int], advance: Callable[[int], None], place: Callable[[WorkItem], int] | None = None,
) -> None:  # fmt: skip
    """Works on this rank's items in threads, by ascending place (None: the heaviest first), while the other ranks work
    on theirs.

    weigh: returns the bytes of an item, its amount of progress. advance: gets the progress of all ranks since its last
    call. After a failure no rank begins another item, and all ranks raise the first failure; an interrupt is raised at
    once.
    """
    todo = _Work(sorted(items, key=place or (lambda item: -weigh(item))), work, weigh)
    try:
        todo.start(min(threads, max(sum(weigh(item) >= _WORTH_A_THREAD for item in items), min(len(items), 1))))
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
