# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of vtunify-mpi. The only module that imports mpi4py; only the main thread calls MPI."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.parallel.ranks import Ranks, RankValue

_NAP, _LONGEST_NAP = 0.0001, 0.01
"""Seconds between two tests for the arrival of all ranks. MPI would spin, and take a core from working threads."""


class MpiRanks(Ranks):
    """The processes of a communicator, all of MPI_COMM_WORLD by default."""

    def __init__(self, comm: Any = None) -> None:
        """Raises ImportError or RuntimeError if mpi4py or its MPI library is missing."""
        import mpi4py

        mpi4py.rc.thread_level = "funneled"  # before MPI is initialized, which the next import does
        from mpi4py import MPI

        self._mpi = MPI
        self._comm: Any = MPI.COMM_WORLD if comm is None else comm
        self.rank, self.size = self._comm.rank, self._comm.size
        self.agreed = False
        """True while all ranks raise the same error."""

    def together(self, work: Callable[[], RankValue]) -> RankValue:
        """VtraceError and OSError are raised on all ranks; any other error is raised on this rank alone: see abort."""
        failure: Exception | None = None
        try:
            value = work()
        except (VtraceError, OSError) as error:
            failure = error
        if not self.total([failure is not None])[0]:
            return value
        _, first = self._comm.allreduce((self.rank if failure else self.size, failure), op=_least)
        self.agreed = True
        raise first

    def first(self, work: Callable[[], RankValue]) -> RankValue:
        task: Callable[[], Any] = work if self.root else _nothing
        value: RankValue = self._comm.bcast(self.together(task))
        return value

    def reduce(self, value: RankValue, join: Callable[[RankValue, RankValue], RankValue]) -> RankValue:
        self.total([])
        joined: RankValue = self._comm.reduce(value, op=join)  # mpi4py joins in a binomial tree
        return joined if self.root else value

    def scatter(self, values: Sequence[RankValue]) -> RankValue:
        value: RankValue = self._comm.scatter(values if self.root else None)
        return value

    def exchange(self, values: list[RankValue]) -> list[RankValue]:
        self.total([])
        result: list[RankValue] = self._comm.alltoall(values)
        return result

    def total(self, numbers: Sequence[int]) -> list[int]:
        sums = np.zeros(len(numbers) + 1, np.int64)
        request = self._comm.Iallreduce(np.array([*numbers, 0], np.int64), sums)
        nap = _NAP
        while not request.Test():
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)
        found: list[int] = sums[:-1].tolist()
        return found

    def split(self, group: int) -> MpiRanks:
        return MpiRanks(self._comm.Split(group, self.rank))

    def broadcast_bytes(self, address: int, size: int, root: int) -> None:
        self._comm.Bcast(self._mpi.buffer.fromaddress(address, size), root)

    def abort(self, code: int) -> None:
        """Ends all ranks immediately, after an error on this rank alone."""
        self._comm.Abort(code)
        os._exit(code)


def _least(first: tuple[int, Any], other: tuple[int, Any]) -> tuple[int, Any]:
    return first if first[0] <= other[0] else other


def _nothing() -> None:
    return None
