# SPDX-License-Identifier: BSD-3-Clause
"""Lists of counters, as vtrace run --counters takes them."""

from __future__ import annotations

_SEPARATORS = ":,;|!"
"""Possible values of VT_METRICS_SEP."""


def split_names(text: str) -> list[str]:
    """The names of a list with commas. Commas between two slashes (cpu/event=0x3c,umask=0x1/) belong to a name."""
    names, inside = [""], False
    for letter in text:
        if letter == "," and not inside:
            names.append("")
            continue
        inside ^= letter == "/" and not f"{names[-1]}/".startswith(("/", "net/", "power/"))
        names[-1] += letter
    return [name for name in names if name]


def settings_of(names: list[str]) -> dict[str, str]:
    """VT_METRICS and VT_METRICS_SEP for names."""
    separator = next(one for one in _SEPARATORS if not any(one in name for name in names))
    return {"VT_METRICS": separator.join(names), "VT_METRICS_SEP": separator}
