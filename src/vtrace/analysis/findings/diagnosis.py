# SPDX-License-Identifier: BSD-3-Clause
"""The diagnosis of a selection: findings, waits, efficiencies and iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.questions.allocation_blocks import HeapBlocks
from vtrace.analysis.questions.efficiencies import efficiencies
from vtrace.analysis.questions.mpi_replay import MpiReplay
from vtrace.analysis.questions.mpi_waits import calls_table, critical_table, delays_table, waits_table
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table

_CALLS = 1_000_000
"""The most single waits to keep."""


@dataclass(kw_only=True)
class MpiAnswers:
    """Trace.critical_path, waits, delays and efficiencies for one selection, with one numbering of call paths.
    call_waits: gives Trace.call_waits, by another replay."""

    critical_path: Table
    waits: Table
    delays: Table
    efficiencies: Table
    call_waits: Callable[[], Table]

    @classmethod
    def of(cls, replay: MpiReplay, selection: Selection, profile: Table) -> MpiAnswers:
        """profile: of the same selection."""
        replayed = replay.of(selection)
        return cls(
            call_waits=lambda: calls_table(replay.of(selection, _CALLS), _CALLS),
            critical_path=critical_table(replayed),
            waits=waits_table(replayed),
            delays=delays_table(replayed),
            efficiencies=efficiencies(replayed, profile),
        )


@dataclass(kw_only=True)
class Diagnosis:
    """facts: times of the selection. thread_waits, io_waits: tables like Trace.thread_waits. lock_waits: single waits
    for locks and conditions (lock_waits.table). mpi: None if the program has no calls of MPI. blocks: of malloc; None:
    not recorded, or a part of the run. findings: the largest loss first. notes: limits of the numbers, one line each.
    to_record: a line about recordings that the place of a loss needs, "" if none."""

    facts: RunFacts
    thread_waits: Table
    lock_waits: Table
    io_waits: Table
    mpi: MpiAnswers | None
    blocks: HeapBlocks | None = None
    iterations: Iterations | None
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    to_record: str = ""

    @property
    def iteration_table(self) -> Table:
        """The table of Trace.iterations."""
        found = self.iterations
        if found is None:
            none = dict.fromkeys(("iteration", "begin", "end", "time_ns", "mean_ns", "location"), np.empty(0, np.int64))
            return Table(none, region="", source="", basis="", slow=[], drift=1.0)
        about = {"region": found.region, "source": found.source, "basis": found.basis}
        slow = [(first + found.first, last + found.first) for first, last in found.slow]
        return Table({**found.table}, **about, slow=slow, drift=found.drift)
