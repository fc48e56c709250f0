# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of findings: one row for each kind. docs/diagnose.md explains the kinds."""

from __future__ import annotations

from dataclasses import dataclass

SUBJECTS = ("waits", "io", "openmp")
"""The values of --about."""


@dataclass(frozen=True, kw_only=True)
class FindingKind:
    """about: the values of --about that show the findings. of_ranks: ranks wait for each other, so ranks that share
    cores make the loss doubtful. is_loss: False: the finding stands in for losses that were not found."""

    about: tuple[str, ...] = ()
    of_ranks: bool = False
    is_loss: bool = True


KINDS = {
    "imbalance": FindingKind(about=("waits",), of_ranks=True),
    "serialisation": FindingKind(about=("waits",), of_ranks=True),
    "io_by_few_ranks": FindingKind(about=("waits", "io"), of_ranks=True),
    "mpi_wait": FindingKind(about=("waits",), of_ranks=True),
    "transfer": FindingKind(about=("waits",), of_ranks=True),
    "omp_imbalance": FindingKind(about=("openmp",)),
    "omp_serial": FindingKind(about=("openmp",)),
    "thread_imbalance": FindingKind(about=("waits",)),
    "lock": FindingKind(about=("waits", "openmp")),
    "join": FindingKind(about=("waits",)),
    "io_time": FindingKind(about=("io",)),
    "slow_iterations": FindingKind(),
    "drift": FindingKind(),
    "tracing": FindingKind(),
    "computation": FindingKind(is_loss=False),
    "topdown": FindingKind(),
}
