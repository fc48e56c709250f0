# SPDX-License-Identifier: BSD-3-Clause
"""What a trace's regions cost in bytes of buffer, and which functions to leave out for a wanted size.

The method is that of Score-P's scorep-score (Score-P User Manual, "Scoring a Profile Measurement").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.reports.gcc_list import exclude_list
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

BYTES = {"function": 16, "OMP": 32, "MPI": 48, "I/O": 64, "memory": 64, "other": 16}
"""Bytes of a call in the buffer: enter and leave are 8 each, and the records that come with a call of a library."""

_MEANT = "#;*"
"""In a filter # begins a comment, ; ends a name, and * matches any text."""


@dataclass
class Score:
    """A region: calls and exclusive ns in all of the trace; bytes: of its records in all buffers together; most: in the
    buffers of that process which has most of it."""

    name: str
    kind: str
    calls: int
    bytes: int
    most: int
    exclusive: int

    @property
    def each(self) -> float:
        """Exclusive ns of one call: what is left out first where it is least."""
        return self.exclusive / self.calls if self.calls else 0.0


def kind_of(paradigm: str, role: str) -> str:
    """One of BYTES, from OTF2's paradigm and role of a region."""
    if paradigm in ("COMPILER", "USER"):
        return "function"
    if paradigm == "OPENMP":
        return "OMP"
    if paradigm == "MPI":
        return "MPI"
    if "FILE_IO" in role:
        return "I/O"
    return "memory" if "ALLOCATE" in role else "other"


def scores(trace: Trace) -> list[Score]:
    """Of all regions that are called, the largest first."""
    profile, regions, locations = trace.profile(), trace.regions, trace.locations
    paradigms, roles, names = (regions[column].tolist() for column in ("paradigm", "role", "name"))
    groups = np.asarray(locations["group"])[profile["location"]] + 1  # 0: of no process
    found = []
    for region in np.unique(profile["region"]).tolist():
        if region == trace.definitions.flush_region:
            continue
        own = profile["region"] == region
        calls = profile["calls"][own].astype(np.int64)
        kind = kind_of(str(paradigms[region]), str(roles[region]))
        most = int(np.bincount(groups[own], calls).max()) * BYTES[kind]
        total = int(calls.sum())
        exclusive = int(profile["exclusive"][own].sum())
        found.append(Score(str(names[region]), kind, total, total * BYTES[kind], most, exclusive))
    return sorted(found, key=lambda score: (-score.bytes, score.name))


def total(found: Iterable[Score]) -> int:
    """Bytes that the fullest process needs, at most: each region where it has most."""
    return sum(score.most for score in found)


def to_leave_out(found: Sequence[Score], most: int) -> list[Score]:
    """The functions without which a process needs no more than so many bytes: those with the least time a call first,
    in whose time the cost of recording weighs most. main stays. They may not be enough.
    """
    left, chosen = total(found), []
    for score in sorted(
        (s for s in found if s.kind == "function" and s.name != "main"), key=lambda s: (s.each, s.name)
    ):
        if left <= most:
            break
        chosen.append(score)
        left -= score.most
    return chosen


def _pattern(name: str) -> str:
    """The pattern nearest to a name that a line of a filter can hold. ? stands for one byte, so a character of several
    bytes becomes *; so does the character that stands for bytes that are not UTF-8."""
    return "".join(
        ("?" if c.isascii() else "*") if c in _MEANT or c == "\ufffd" or not c.isprintable() else c for c in name
    )


def filter_text(chosen: Sequence[Score], title: str, functions: Collection[str]) -> tuple[str, dict[str, str]]:
    """A filter for VT_FILTER_SPEC, with gcc's flag for it in a comment, and the reasons why functions are not in that
    flag. functions: all compiled functions that are known of the program.
    """
    listed, reasons = exclude_list([score.name for score in chosen], functions)
    lines = [f"# {plain(title)}"]
    if listed:
        lines.append("# The same when compiling, without any cost at run time (gcc and g++):")
        lines.append(f"#   -finstrument-functions-exclude-function-list={','.join(listed)}")
    if reasons:
        lines.append("# Only this filter leaves these out, since gcc's flag compares with parts of names:")
        lines += [f"#   {plain(name)}: {plain(why)}" for name, why in reasons.items()]
    lines += [f"{_pattern(score.name)} -- 0" for score in chosen]
    return "\n".join(lines) + "\n", reasons
