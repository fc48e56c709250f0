# SPDX-License-Identifier: BSD-3-Clause
"""The cost of regions in bytes of buffer, and the functions to leave out for a wanted size.

The method is that of Score-P's scorep-score (Score-P User Manual, "Scoring a Profile Measurement"). gcc's
-finstrument-functions-exclude-function-list leaves out each function whose name has an item of the list as a substring
(GCC manual, "Program Instrumentation Options"). gcc compares the names of its messages: for C++ scope::name, without
arguments and result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

BYTES = {"function": 16, "OMP": 32, "MPI": 48, "I/O": 64, "memory": 64, "other": 16}
"""Bytes of a call in the buffer: 8 each for enter and leave, and the records of a library call."""

_MEANT = "#;*"
"""In a filter # begins a comment, ; ends a name, and * matches any text."""
_LISTABLE = re.compile(r"([A-Za-z_]\w*)|([A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*)\(.*\).*")
"""Names that gcc and the trace write in the same way: of C functions, and of C++ functions without template arguments,
operators, lambdas and unnamed scopes. Other names may have commas, and an empty item of the list would leave out
all."""
_SPELLINGS = ("long long unsigned int", "short unsigned int", "std::basic_string<char>", "std::basic_iostream<char>")
"""Types that gcc and the demangler write differently in template arguments, as gcc writes them."""


@dataclass(kw_only=True)
class Score:
    """A region. exclusive: ns; bytes: of its records in the buffers of all processes; most: in the buffers of the
    process with the most of these bytes."""

    name: str
    kind: str
    calls: int
    bytes: int
    most: int
    exclusive: int

    @property
    def each(self) -> float:
        """Exclusive ns of one call. Functions with the least time a call are left out first."""
        return self.exclusive / self.calls if self.calls else 0.0


def kind_of(paradigm: str, role: str) -> str:
    """The kind of a region, a key of BYTES, by OTF2's paradigm and role."""
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
    """The scores of all regions with calls, the largest first. Raises VtraceError."""
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
        recorded = calls - profile["joined"][own]
        most = int(np.bincount(groups[own], recorded).max()) * BYTES[kind]
        total = int(calls.sum())
        exclusive = int(profile["exclusive"][own].sum())
        found.append(
            Score(
                name=str(names[region]),
                kind=kind,
                calls=total,
                bytes=int(recorded.sum()) * BYTES[kind],
                most=most,
                exclusive=exclusive,
            )
        )
    return sorted(found, key=lambda score: (-score.bytes, score.name))


def total(found: Iterable[Score]) -> int:
    """An upper bound for the bytes of a process: the sum over all regions of `most`."""
    return sum(score.most for score in found)


def to_leave_out(found: Sequence[Score], most: int) -> list[Score]:
    """Functions to leave out, so that a process needs at most this number of bytes.

    Functions with the least time a call come first, since recording them distorts the times most. main stays. Leaving
    out all functions may not be enough.
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


def left_out_by_budget(trace: Trace, found: Sequence[Score]) -> list[Score]:
    """The functions that VT_BUDGET has left out in the run, and those whose calls it has mostly only counted."""
    names, counted = set(trace.vtrace.get("LEFT_OUT", {}).get("functions", ())), trace.counted_calls
    known, calls = trace.regions["name"].tolist(), dict[str, int]()
    for table in counted.locations.values() if counted else ():
        for region, number in zip(table["region"].tolist()[1:], table["calls"].tolist()[1:], strict=True):
            calls[known[region]] = calls.get(known[region], 0) + number
    return [
        score
        for score in found
        if score.kind == "function" and (score.name in names or 2 * calls.get(score.name, 0) > score.calls)
    ]


def _pattern(name: str) -> str:
    """The pattern of a filter that is nearest to a name. ? matches one byte, so a character of several bytes becomes *,
    and so does the character that replaces invalid UTF-8."""
    return "".join(
        ("?" if c.isascii() else "*") if c in _MEANT or c == "\ufffd" or not c.isprintable() else c for c in name
    )


def filter_text(chosen: Sequence[Score], title: str, functions: Collection[str]) -> tuple[str, dict[str, str]]:
    """The text of a filter for VT_FILTER_SPEC, with gcc's flag in a comment, and reasons for functions that are not in
    the flag.

    functions: all known compiled functions of the program.
    """
    listed, reasons = exclude_list([score.name for score in chosen], functions)
    lines = [f"# {plain(title)}"]
    if listed:
        lines.append("# The same for the compiler, without any cost at run time (gcc and g++):")
        lines.append(f"#   -finstrument-functions-exclude-function-list={','.join(listed)}")
    if reasons:
        lines.append("# Only this filter leaves out these functions, since gcc's flag compares parts of names:")
        lines += [f"#   {plain(name)}: {plain(why)}" for name, why in reasons.items()]
    lines += [f"{_pattern(score.name)} -- 0" for score in chosen]
    return "\n".join(lines) + "\n", reasons


def exclude_list(chosen: Sequence[str], functions: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """The items of gcc's list for the chosen functions, so that gcc leaves out no other function, and a reason for each
    chosen function that must not be listed.

    functions: all known functions of the program, as the trace and the demangler name them.
    """
    leave = set(chosen)
    stay = sorted(name for name in functions if name not in leave)
    if any("<" in name or "{" in name for name in stay):
        stay += _SPELLINGS
    text = "\n".join(stay)
    items: dict[str, None] = {}
    reasons = {}
    for name in chosen:
        match = _LISTABLE.fullmatch(name)
        if name not in functions:
            reasons[name] = "no compiled function"
        elif match is None or ")::" in name:
            reasons[name] = "gcc writes its name in another way"
        elif (at := text.find(item := match[1] or match[2])) >= 0:
            begin = text.rfind("\n", 0, at) + 1
            reasons[name] = f"its name is a part of {text[begin:].partition(chr(10))[0]}"
        else:
            items[item] = None
    return list(items), reasons
