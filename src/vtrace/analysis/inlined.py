# SPDX-License-Identifier: BSD-3-Clause
"""The functions that the compiler has inlined into recorded ones, which vtunify keeps as a property of the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vtrace.console import few
from vtrace.short_names import short_line

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CALLERS, _NAMES, _LONGEST = 3, 4, 40
"""The most callers and functions of each that the line names, and the most characters of a name."""


def inlined(trace: Source) -> list[dict[str, Any]]:
    """The functions: into and name (names of the recorded function and of the inlined one), loop (whether it has one),
    bytes (of code); those with loops first, then by size. Empty with samples, which have inlined functions, too."""
    found: list[dict[str, Any]] = trace.vtrace.get("INLINED", []) if not trace.contexts.rows else []
    return found


def inlined_line(trace: Source) -> str:
    """The functions in one line; empty for none."""
    of: dict[str, list[str]] = {}
    for one in inlined(trace):
        of.setdefault(short_line(one["into"], _LONGEST), []).append(short_line(one["name"], _LONGEST))
    shown = [f"into {caller}: {few(names, _NAMES)}" for caller, names in [*of.items()][:_CALLERS]]
    more = [f"into {len(of) - _CALLERS:,} more functions"] if len(of) > _CALLERS else []
    return f"inlined {'; '.join([*shown, *more])}" if of else ""
