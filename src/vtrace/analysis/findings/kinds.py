# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of findings: one row for each kind. docs/diagnose.md explains the kinds."""

from __future__ import annotations

from dataclasses import dataclass

SUBJECTS = ("waits", "io", "openmp")
"""The values of --about."""


@dataclass(frozen=True, kw_only=True)
class FindingKind:
    """about: the values of --about that show the findings. of_ranks: ranks wait for each other, so ranks that share
    cores make the loss doubtful. is_loss: False: the finding stands in for losses that were not found. action: what
    usually helps, "" if that depends on the program."""

    about: tuple[str, ...] = ()
    of_ranks: bool = False
    is_loss: bool = True
    action: str = ""


KINDS = {
    "imbalance": FindingKind(about=("waits",), of_ranks=True, action="distribute this work more evenly"),
    "serialisation": FindingKind(
        about=("waits",), of_ranks=True, action="let ranks do this work at the same time: in parts, in another order"
    ),
    "io_by_few_ranks": FindingKind(
        about=("waits", "io"), of_ranks=True, action="let all ranks do their part, for example with MPI-IO"
    ),
    "mpi_wait": FindingKind(about=("waits",), of_ranks=True),
    "transfer": FindingKind(
        about=("waits",), of_ranks=True, action="send fewer and larger messages, or work while they are under way"
    ),
    "omp_imbalance": FindingKind(
        about=("openmp",), action="distribute this work more evenly, for example schedule(dynamic)"
    ),
    "omp_serial": FindingKind(about=("openmp",), action="put this work into parallel regions, too"),
    "thread_imbalance": FindingKind(about=("waits",), action="distribute this work more evenly"),
    "lock": FindingKind(about=("waits", "openmp"), action="hold the lock for a shorter time, or use several locks"),
    "io_time": FindingKind(about=("io",), action="access files in fewer and larger pieces"),
    "slow_iterations": FindingKind(),
    "drift": FindingKind(),
    "tracing": FindingKind(),
    "computation": FindingKind(is_loss=False),
    "topdown": FindingKind(),
}
