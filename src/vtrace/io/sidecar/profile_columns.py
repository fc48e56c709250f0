# SPDX-License-Identifier: BSD-3-Clause
"""The columns of the tables of call paths (PROFILE, COUNTED) in the form that zstd packs best: half the bytes, which
counts in a file with 1000 ranks. Of a call path that was called once, or calls nothing, most of them are 0."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vtrace.io.common.arrays import Array

STORED = ("location", "path", "parent", "region", "calls", "inclusive", "inside", "below", "above", "deviations", "out",
          "in")  # fmt: skip
"""inside: inclusive less exclusive; below, above: from min to the mean of the calls, and from there to max, modulo
2**64."""
_LEFT_OUT = np.uint64((1 << 36) - 1)
"""The bits of a deviation that are not stored: it has a relative error of 2**-16."""


def stored(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The columns of a table in their stored form, from those of PROFILE and the location."""
    kept = {name: values for name, values in columns.items() if name not in ("exclusive", "min", "max")}
    mean = _mean(columns)
    bits = columns["deviations"].astype("<f8").view("<u8")
    return kept | {
        "inside": columns["inclusive"] - columns["exclusive"], "below": mean - columns["min"],
        "above": columns["max"] - mean, "deviations": (bits & ~_LEFT_OUT).view("<f8"),
    }  # fmt: skip


def restored(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The columns of PROFILE and the location, from the stored ones."""
    wide = {name: columns[name].astype(np.uint64) for name in ("calls", "inclusive", "inside", "below", "above")}
    mean = _mean(wide)
    return {name: values for name, values in columns.items() if name not in ("inside", "below", "above")} | {
        "exclusive": wide["inclusive"] - wide["inside"], "min": mean - wide["below"], "max": mean + wide["above"]
    }  # fmt: skip


def _mean(columns: Mapping[str, Array]) -> Array:
    mean: Array = columns["inclusive"] // np.maximum(columns["calls"], np.uint64(1))
    return mean
