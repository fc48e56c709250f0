# SPDX-License-Identifier: BSD-3-Clause
"""The calls that remain of a trace of all functions after rules are applied call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from support.readers.archive import Trace, short


def left(
    whole: Trace, selects: Callable[[str], bool], limits: Mapping[str, int] | None = None, depth: int = 0
) -> Counter[tuple[str | None, str]]:
    """The edges of a trace with only some functions: functions whose short name `selects` accepts, each at most as
    often as `limits` says, and at most `depth` below each other (0: any number). For traces in which only one thread at
    a time makes calls."""
    taken: Counter[str] = Counter()
    stacks: dict[int, list[tuple[str, bool]]] = {}
    found: Counter[tuple[str | None, str]] = Counter()
    for event in whole.events:
        stack = stacks.setdefault(event.location, [])
        if event.kind == "Enter":
            name = short(whole.region_of(event).name)
            open_calls = [caller for caller, shown in stack if shown]
            shown = selects(name) and not (depth and len(open_calls) >= depth)
            shown = shown and taken[name] < (limits or {}).get(name, taken[name] + 1)
            taken[name] += shown
            if shown:
                found[(open_calls[-1] if open_calls else None, name)] += 1
            stack.append((name, shown))
        elif event.kind == "Leave":
            stack.pop()
    return found
