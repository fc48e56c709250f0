# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the clocks: the property CLOCKS with error bounds and results of the repair, and the sidecar's
table `clocks`, with the same moments on all clocks of each host, for data that another tool recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vtrace.console import ranges
from vtrace.io.local.repair_kernel import Repaired
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.unify.account.archive_texts import CLOCK_NAMES
from vtrace.unify.clocks.clocks import Clocks
from vtrace.unify.model.clock_curves import Clock, Curve

_BEYOND = 86_400 * 10**9
"""ns between an end of a clock's curve and the row that shows the rate beyond this end."""
_MOST = 1 << 63
_MOST_LISTED = 256
"""Maximum number of clocks in the list, since OTF2 reads an anchor file of 256 KiB at most."""


def accuracy(clocks: Sequence[Clock], repaired: Repaired | None) -> dict[str, Any]:
    """Returns the error bounds of the clocks, and the repair's counts; repaired: None without a repair.

    Times are in ns. bounds: of each clock but the first. error_ns: None for a clock that was never compared, and is
    aligned by real time alone.
    """
    others = clocks[1:]
    known = [clock.error for clock in others if clock.error is not None]
    found: dict[str, Any] = {"count": len(clocks), "reference": clocks[0].host if clocks else ""}
    if not others:
        return found
    found |= {
        "compared": len(known),
        "measured": sum(clock.measured for clock in others),
        "error_ns": max(known, default=None),
        "bounds": [
            {"host": clock.host, "measured": clock.measured, "error_ns": clock.error} for clock in others[:_MOST_LISTED]
        ],
    }
    return found if repaired is None else found | {"repair": _repair(repaired)}


def _repair(r: Repaired) -> dict[str, int]:
    return {
        "messages": r.messages, "reversed_messages": r.reversed_messages, "collectives": r.collectives,
        "reversed_collectives": r.reversed_collectives, "most_ns": r.most, "left": r.left,
        "corrections": sum(len(ns) for ns, _ in r.knots), "largest_ns": r.largest, "unsure": r.ignored,
    }  # fmt: skip


def clock_table(clocks: Clocks) -> SidecarTable:
    """Returns the table. Between two rows of a clock all columns are linear, and beyond the ends as at the ends.

    Columns: clock; ticks, mono (CLOCK_MONOTONIC_RAW, ns), real (CLOCK_REALTIME, ns) and time (of events in the archive)
    of a moment. Names, by clock: host, ticks (the counter's name) and pids of the processes that read the clock.
    """
    rows = [(number, *row) for number, clock in enumerate(clocks.clocks) for row in _rows(clock, clocks.zero)]
    rows = [row for row in rows if all(abs(value) < _MOST for value in row)]  # others come from damaged values
    names = ("clock", "ticks", "mono", "real", "time")
    columns = {name: np.array([row[n] for row in rows], "<i8") for n, name in enumerate(names)}
    about = {
        "host": [clock.host for clock in clocks.clocks],
        "ticks": [CLOCK_NAMES.get(clock.kind, "unknown") for clock in clocks.clocks],
        "pids": [ranges(clock.pids) for clock in clocks.clocks],
    }
    return SidecarTable(columns, about)


def _rows(clock: Clock, zero: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields the knots of a clock's curve, and a row beyond each of its ends."""
    curve, own = clock.curve, clock.own or clock.curve
    offset = own.ns[0] - clock.pairs[0].mono
    reals = {(pair.ticks, pair.mono): pair.real for pair in clock.pairs}
    real = Curve(own.ticks, [reals[t, ns - offset] for t, ns in zip(own.ticks, own.ns, strict=True)], own.rate)
    steps = _BEYOND // curve.rate[1] + 1
    run = steps * curve.rate[0]
    for ticks in (curve.ticks[0] - run, *curve.ticks, curve.ticks[-1] + run):
        yield ticks, own.at(ticks) - offset, real.at(ticks), curve.at(ticks) - zero
