# SPDX-License-Identifier: BSD-3-Clause
"""Parallel unification: vtunify-mpi under mpiexec, and ranks of vtunify-mpi as threads of one process."""

from __future__ import annotations

import filecmp
import os
import threading
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from support.build.mpis import Mpi
from support.tools import Done, call, command
from vtrace.parallel.ranks import Ranks, RankValue


def unify_mpi(mpi: Mpi, cwd: Path, *args: str | Path, ranks: int, check: bool = True, **env: str) -> Done:
    """Runs vtunify-mpi on ranks."""
    words = [*mpi.launch, "-n", str(ranks), *command("vtunify-mpi"), *args]
    return call(words, cwd, {**mpi.env, **mpi.yielding, **env}, check=check)


def assert_same(one: Path, other: Path) -> None:
    """All files of two archives are equal, except the anchor file: OTF2 writes a random number there."""
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file())
    assert any(name.endswith(".evt") for name in names)
    compared = [name for name in names if Path(name).name != "traces.otf2"]
    _, different, failed = filecmp.cmpfiles(one, other, compared, shallow=False)
    assert (different, failed) == ([], [])
    assert os.path.getsize(one / "traces.otf2") == os.path.getsize(other / "traces.otf2")


class ThreadRanks(Ranks):
    """Ranks as threads: each method synchronises all ranks with a barrier."""

    def __init__(self, rank: int, shared: _Shared) -> None:
        self.rank, self.size, self._shared = rank, shared.size, shared

    def _all(self, value: Any) -> list[Any]:
        self._shared.values[self.rank] = value
        self._shared.barrier.wait(60)
        values = [*self._shared.values]
        self._shared.barrier.wait(60)
        return values

    def together(self, work: Callable[[], RankValue]) -> RankValue:
        try:
            value, failure = work(), None
        except Exception as error:
            failure = error
        for error in self._all(failure):
            if error is not None:
                raise error
        return value

    def first(self, work: Callable[[], RankValue]) -> RankValue:
        done: Callable[[], Any] = work if self.root else lambda: None
        value: RankValue = self._all(self.together(done))[0]
        return value

    def reduce(self, value: RankValue, join: Callable[[RankValue, RankValue], RankValue]) -> RankValue:
        values = self._all(value)
        joined = reduce(join, values[1:] + values[:1]) if self.root else value
        self._all(None)
        return joined

    def scatter(self, values: Sequence[RankValue]) -> RankValue:
        value: RankValue = self._all(values)[0][self.rank]
        return value

    def exchange(self, values: list[RankValue]) -> list[RankValue]:
        return [each[self.rank] for each in self._all(values)]

    def total(self, numbers: Sequence[int]) -> list[int]:
        return [sum(column) for column in zip(*self._all([*numbers]), strict=True)]


class _Shared:
    def __init__(self, size: int) -> None:
        self.size = size
        self.values: list[Any] = [None] * size
        self.barrier = threading.Barrier(size)


def in_threads(size: int, work: Callable[[Ranks], RankValue]) -> list[RankValue]:
    """Calls work on size ranks, and returns its results by rank."""
    shared = _Shared(size)
    results: dict[int, RankValue] = {}
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadRanks(rank, shared))
        except BaseException as error:
            errors.append(error)
            shared.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return [results[rank] for rank in range(size)]
