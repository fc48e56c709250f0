# SPDX-License-Identifier: BSD-3-Clause
"""The archive's property CLOCKS: how far times of different clocks may be wrong, and what the repair did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vtrace.io.local.repair_kernel import Repaired
from vtrace.unify.model.clock_curves import Clock

_MOST = 256
"""Most clocks that are listed one by one: OTF2 reads an anchor file of 256 KiB at most."""


def accuracy(clocks: Sequence[Clock], repaired: Repaired | None) -> dict[str, Any]:
    """Returns the bounds of the clocks, and what ran backwards between them; repaired: None without a repair.

    Times are in ns. bounds: of each clock but the first; error_ns None: it was never compared, real time alone aligns
    it.
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
