# SPDX-License-Identifier: BSD-3-Clause
"""The table of planted programs: what makes each one slow, and where; and healthy ones, which nothing makes slow."""

from __future__ import annotations

from dataclasses import dataclass

RUN = {"run": (), "sample": ("--sample",), "locks": ("--locks",)}
"""Modes of vtrace run and their options. The other mode is "cc": vtrace-cc -O2 compiles the program."""
KNOWS_FUNCTIONS = ("cc", "sample", "locks")


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What a finding must tell. kind: of the finding. function: the code that takes the time, where the mode knows
    functions. culprits: ranks; None: not compared. loss: s of all ranks that the cause costs; 0: not compared."""

    kind: str
    function: str
    culprits: tuple[int, ...] | None = None
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A property of a program in its modes. cause: None for a healthy program. ranks: 0 without MPI."""

    name: str
    cause: Cause | None
    modes: tuple[str, ...]
    words: tuple[str, ...]
    ranks: int
    computes: bool
    """Works by processor time; else the program sleeps."""
    program: str = "mpi_plants.c"


STEPS, LONG = 20, 90
"""Steps of mpi_plants.c; of properties that only long runs show."""


def _of_ranks(n: int, *, computes: bool = False) -> list[Plant]:
    """The properties of mpi_plants.c on n ranks."""

    def plant(name: str, cause: Cause | None, *, steps: int = STEPS) -> Plant:
        return Plant(
            name=f"{name} {n}{' computing' * computes}",
            words=(name, str(steps)),
            cause=cause,
            ranks=n,
            computes=computes,
            modes=("run", "cc", "sample") if computes else ("run", "cc"),
        )

    def longer(function: str, culprits: tuple[int, ...] | None, loss: float) -> Cause:
        return Cause(kind="imbalance", function=function, culprits=culprits, loss=loss)

    last, others, pairs = n - 1, n - 1, n // 2
    even, odd = tuple(range(0, n, 2)), tuple(range(1, n, 2))
    of_receivers = Cause(kind="mpi_wait", function="prepare", culprits=odd, loss=0.020 * STEPS * pairs)
    slow = Cause(kind="slow_iterations", function="rebuild_tree", culprits=(1,))
    return [
        plant("late_sender", longer("prepare", even, 0.020 * STEPS * pairs)),
        plant("late_receiver", of_receivers),
        plant("late_broadcast", longer("prepare", (0,), 0.020 * STEPS * others)),
        plant("early_reduce", longer("prepare", None, 0)),
        plant("at_barrier", longer("chemistry", (last,), 0.020 * STEPS * others)),
        plant("at_nxn", longer("chemistry", None, 0.015 * STEPS * n)),
        plant("straggler", longer("chemistry", (n // 2,), 0.006 * LONG * others), steps=LONG),
        plant("main_only", longer("main_only", (last,), 0.008 * STEPS * others)),
        plant("periodic", slow, steps=LONG),
        plant("single_slow", slow),
        plant("drift", Cause(kind="drift", function="compute")),
        plant("pipeline", Cause(kind="serialisation", function="chemistry")),
        plant("healthy", None),
    ]


def _of_threads(*, computes: bool) -> list[Plant]:
    """The properties of thread_plants.c on two threads."""
    cause = Cause(kind="thread_imbalance", function="chemistry", loss=0.010 * STEPS)
    return [
        Plant(
            name=f"{name}{' computing' * computes}",
            words=(name, str(STEPS)),
            cause=of,
            ranks=0,
            computes=computes,
            modes=("run", "cc", "sample") if computes else ("run", "cc"),
            program="thread_plants.c",
        )
        for name, of in (("uneven_threads", cause), ("healthy_threads", None))
    ]


def _of_locks() -> list[Plant]:
    """Properties of thread_plants.c that runs with recorded locks show."""
    cause = Cause(kind="lock", function="hold_lock", loss=0.010 * STEPS)
    return [
        Plant(
            name=f"{name} with locks",
            words=(name, str(STEPS)),
            cause=of,
            ranks=0,
            computes=False,
            modes=("locks",),
            program="thread_plants.c",
        )
        for name, of in (("held_lock", cause), ("healthy_threads", None))
    ]


PLANTS: tuple[Plant, ...] = (
    *_of_ranks(2), *_of_ranks(4), *_of_ranks(2, computes=True), *_of_threads(computes=False),
    *_of_threads(computes=True), *_of_locks(),
)  # fmt: skip
