# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose launcher and MPI library do not belong together: each process is a world of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vtrace.errors import VtraceError
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.process import Process


def find_alone(processes: Sequence[Process], ranks: Ranks) -> str:
    """At rank 0, what such processes say of themselves, in one sentence; empty if there are none.

    The definitions must be loaded: csrc/core/process.c writes the note into them at MPI_Init.
    """
    found = {}
    for process in processes:
        known = process.definitions.properties
        if said := known.get("alone"):
            found[process.number] = f"{said}, but in {known.get('shim.mpi', 'their MPI')} each of them was alone"
    return next(iter(ranks.gather(found).values()), "")


def refuse_alone(text: str, allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns of what find_alone has found; raises VtraceError unless that is allowed."""
    if text and not allowed:
        hint = "run it again with the mpiexec of its MPI; --partial unifies them as worlds of one rank"
        raise VtraceError(f"{text}: MPI_COMM_WORLD had 1 rank", hint)
    if text:
        warn(text)
