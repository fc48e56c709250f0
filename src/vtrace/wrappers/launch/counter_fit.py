# SPDX-License-Identifier: BSD-3-Clause
"""Groups of counters that this machine can count together."""

from __future__ import annotations

import os

from vtrace.settings import lines_of_runtime
from vtrace.wrappers.launch.counter_names import settings_of


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
