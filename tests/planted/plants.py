# SPDX-License-Identifier: BSD-3-Clause
"""The table of planted programs: what makes each one slow, and where; and healthy ones, which nothing makes slow."""

from __future__ import annotations

from dataclasses import dataclass

RUN = {
    "run": (),
    "sample": ("--sample",),
    "io": ("--io",),
    "memory": ("--memory",),
    "locks": ("--pthread=locks",),
    "python": ("--python",),
}
"""Modes of vtrace run and their options. The other mode is "cc": vtrace-cc -O2 compiles the program."""
KNOWS_FUNCTIONS = ("cc", "sample", "python")


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What a finding must tell. kinds: any of these kinds is right. function: the code that takes the time, where the
    mode knows functions. call: the call that waits or takes the time. culprits: ranks or threads, None: not one of
    them. loss: s of all threads that the cause costs; 0: not compared."""

    kinds: tuple[str, ...]
    function: str = ""
    call: str = ""
    culprits: tuple[int, ...] | None = None
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A program in its modes. cause: None for a healthy program."""

    name: str
    program: str
    """A file of programs/."""
    cause: Cause | None
    modes: tuple[str, ...] = ("run", "cc")
    words: tuple[str, ...] = ()
    ranks: int = 0
    """0: no MPI."""
    mpi: str = "mpich"
    computes: bool = False
    """Works by processor time; else the program sleeps."""


STEPS = 20
"""The steps of mpi_plants.c, but for periodic ones."""


def _of_ranks(n: int, *, computes: bool = False) -> list[Plant]:
    """The properties of mpi_plants.c on n ranks."""

    def plant(name: str, cause: Cause | None, *, steps: int = STEPS) -> Plant:
        return Plant(
            name=f"{name} {n}{' computing' * computes}",
            program="mpi_plants.c",
            words=(name, str(steps)),
            cause=cause,
            ranks=n,
            computes=computes,
            modes=("run", "cc", "sample") if computes else ("run", "cc"),
        )

    def longer(function: str, call: str, culprits: tuple[int, ...] | None, loss: float) -> Cause:
        return Cause(kinds=("imbalance",), function=function, call=call, culprits=culprits, loss=loss)

    last, others, pairs = n - 1, n - 1, n // 2
    even, odd = tuple(range(0, n, 2)), tuple(range(1, n, 2))
    of_receivers = Cause(
        kinds=("mpi_wait",), function="prepare", call="MPI_Ssend", culprits=odd, loss=0.020 * STEPS * pairs
    )
    slow = Cause(kinds=("slow_iterations",), function="rebuild_tree", culprits=(1,))
    return [
        plant("late_sender", longer("prepare", "MPI_Recv", even, 0.020 * STEPS * pairs)),
        plant("late_receiver", of_receivers),
        plant("late_broadcast", longer("prepare", "MPI_Bcast", (0,), 0.020 * STEPS * others)),
        plant("early_reduce", longer("prepare", "MPI_Reduce", None, 0)),
        plant("at_barrier", longer("chemistry", "MPI_Barrier", (last,), 0.020 * STEPS * others)),
        plant("at_nxn", longer("chemistry", "MPI_Allreduce", None, 0.015 * STEPS * n)),
        plant("straggler", longer("chemistry", "MPI_Allreduce", (n // 2,), 0.006 * STEPS * others)),
        plant("main_only", longer("main", "MPI_Allreduce", (last,), 0.008 * STEPS * others)),
        plant("periodic", slow, steps=90),
        plant("single_slow", slow),
        plant("drift", Cause(kinds=("drift",), function="compute")),
        plant("pipeline", Cause(kinds=("serialisation",), function="chemistry", call="MPI_Recv")),
        plant("healthy", None),
    ]


PLANTS: tuple[Plant, ...] = (*_of_ranks(2), *_of_ranks(4), *_of_ranks(2, computes=True))
