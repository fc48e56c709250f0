# SPDX-License-Identifier: BSD-3-Clause
"""Runs with a launcher and an MPI library of different MPIs: each process is alone in its MPI_COMM_WORLD."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vtrace.errors import VtraceError
from vtrace.unify.model.process import Process


def find_alone(processes: Sequence[Process]) -> dict[int, str]:
    """Returns the notes of such processes, one sentence each, by number of the process.

    The definitions must be loaded: csrc/core/process.c writes the note into them at MPI_Init.
    """
    found = {}
    for process in processes:
        known = process.definitions.properties
        if said := known.get("alone"):
            found[process.number] = f"{said}, but in {known.get('shim.mpi', 'their MPI')} each of them was alone"
    return found


def refuse_alone(text: str, allowed: bool, warn: Callable[[str], None]) -> None:
    """Warns with a sentence of find_alone, if there is one; raises VtraceError unless the request allows such a run."""
    if text and not allowed:
        again = "srun --mpi=pmi2 or --mpi=pmix" if text.startswith("srun ") else "the mpiexec of its MPI"
        hint = f"run it again with {again}; --partial unifies each process as a world of one rank"
        raise VtraceError(f"{text}: MPI_COMM_WORLD had 1 rank", hint)
    if text:
        warn(text)
