# SPDX-License-Identifier: BSD-3-Clause
"""Lists of counters, as vtrace run --counters takes them, and groups that this machine can count together."""

from __future__ import annotations

import os

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
    separator = next(letter for letter in _SEPARATORS if not any(letter in name for name in names))
    return {"VT_METRICS": separator.join(names), "VT_METRICS_SEP": separator}


def counter_groups(names: list[str]) -> list[list[str]]:
    """The counters, each in the first group where it fits. The first group also gets counters that cannot be counted;
    the runtime reports them."""
    groups: list[list[str]] = []
    left = names
    while left:
        out = _left_out(left)
        now = [name for name in left if name not in out]
        groups.append(now or left)
        left = [name for name in left if name in out] if now else []
    return groups


def _left_out(names: list[str]) -> set[str]:
    from vtrace.settings import lines_of_runtime

    before = {name: os.environ.get(name) for name in settings_of(names)}
    os.environ.update(settings_of(names))
    try:
        return {row[0] for row in lines_of_runtime("vt_counters_left_out")}
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
