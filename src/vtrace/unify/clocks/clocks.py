# SPDX-License-Identifier: BSD-3-Clause
"""Aligning the clocks, the third phase of unifying: conversion of each process's ticks to one time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtrace.unify.clocks.offsets import align
from vtrace.unify.model.clock_curves import Clock, span_text
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import Run

_NEVER = 1 << 64


@dataclass(frozen=True)
class Clocks:
    """The clocks of a run. Each process has the curve of its clock."""

    zero: int
    """The archive's zero: time of the first event, in ns since the epoch."""
    count: int
    clocks: Sequence[Clock]
    """Set on rank 0; the first clock is the reference."""


def align_clocks(run: Run, context: Context) -> Clocks:
    """Gives each of this rank's processes a curve from its ticks to ns since the epoch; all ranks call align_clocks."""
    ranks, console = context.ranks, context.console
    processes = [process for process in run.processes if not process.missing]
    sources = ranks.gather({process.number: process.source() for process in processes})
    clocks, doubts = ranks.together(lambda: align(sources) if ranks.root else ([], []))
    for text in doubts:
        console.warn(text)
    for text in _lines(clocks):
        console.detail(text)
    own = ranks.first(lambda: {number: clock.curve for clock in clocks for number in clock.members})
    starts = []
    for process in processes:
        process.curve = own[process.number]
        starts.append(process.curve.at(process.source().first))
    earliest = ranks.reduce(min(starts, default=_NEVER), min)
    zero, count = ranks.first(lambda: (earliest, len(clocks)))
    return Clocks(zero, count, clocks)


def _lines(clocks: Sequence[Clock]) -> list[str]:
    """Returns the lines about the clocks for -v."""
    if not clocks:
        return []
    if len(clocks) == 1:
        return [f"clocks: all processes share that of {clocks[0].host}"]
    known = [clock for clock in clocks[1:] if clock.error is not None]
    lines = [f"clocks: {len(clocks)}, times are those of {clocks[0].host}"]
    if known:
        worst = max(known, key=lambda clock: clock.error or 0)
        moments = sum(clock.measured for clock in known)
        lines.append(f"clocks: {len(known)} were compared with it {moments} times, the worst ({worst.host}) within "
                     f"{span_text(worst.error or 0)}")  # fmt: skip
    if len(known) < len(clocks) - 1:
        lines.append(f"clocks: {len(clocks) - 1 - len(known)} are aligned by real time only")
    return lines
