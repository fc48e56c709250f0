# SPDX-License-Identifier: BSD-3-Clause
"""Describes which part of another archive a cut archive is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cut_line(known: Mapping[str, Any]) -> str:
    """A line about VTRACE::CUT, which `vtrace cut` writes; "" for other archives. known: the properties of vtunify."""
    cut = known.get("CUT")
    if not isinstance(cut, dict):
        return ""
    begin, end, whole = (cut[key] / 1e9 for key in ("from_ns", "to_ns", "duration_ns"))
    parts = [f"{begin:.6g} s to {end:.6g} s of {whole:.6g} s of {cut['of']}"]
    if cut.get("locations") != cut.get("of_locations"):
        parts.append(f"{cut.get('locations', 0):,} of {cut.get('of_locations', 0):,} locations")
    parts += cut.get("select", [])
    if cut.get("halves"):
        parts.append(f"{cut['halves']:,} halves of messages and operations left out")
    return ", ".join(parts)
