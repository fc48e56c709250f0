# SPDX-License-Identifier: BSD-3-Clause
"""The archive's property CLOCKS: error bounds of times on different clocks, and the results of the repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vtrace.io.local.repair_kernel import Repaired
from vtrace.unify.model.clock_curves import Clock

_MOST = 256
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
            {"host": clock.host, "measured": clock.measured, "error_ns": clock.error} for clock in others[:_MOST]
        ],
    }
    return found if repaired is None else found | {"repair": _repair(repaired)}


def _repair(r: Repaired) -> dict[str, int]:
    return {
        "messages": r.messages, "reversed_messages": r.reversed_messages, "collectives": r.collectives,
        "reversed_collectives": r.reversed_collectives, "most_ns": r.most, "left": r.left,
        "corrections": sum(len(ns) for ns, _ in r.knots), "largest_ns": r.largest, "unsure": r.ignored,
    }  # fmt: skip
