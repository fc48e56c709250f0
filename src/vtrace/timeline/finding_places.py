# SPDX-License-Identifier: BSD-3-Clause
"""The locations that a finding names, for the page: those that cause a loss, and those that lose time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.findings.finding import Finding
    from vtrace.analysis.source import Source

_RANKS = re.compile(r"\branks? (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)")
_SHORTEST = 3
"""Shorter names are too often parts of other words."""
_MOST = 512
_RANGES = 12
"""A text lists at most this many ranges of ranks."""


def guilty(trace: Source, finding: Finding) -> list[int]:
    """The locations (rows) in the words of the culprit; findings have no others. With a thread's name after a rank only
    this thread. Empty if the words name none, or more than _MOST."""
    ranks, process = trace.processes["rank"], trace.places.process
    names, helper = trace.locations["name"].tolist(), trace.locations["helper"]
    found: list[int] = []
    for match in _RANKS.finditer(finding.culprit):
        mine = np.flatnonzero(np.isin(process, np.flatnonzero(np.isin(ranks, _numbers(match[1])))) & ~helper).tolist()
        rest = finding.culprit[match.end() :]
        of_thread = [row for row in mine if rest.startswith(f", {names[row]}")]
        found += [row for row in of_thread if re.match(rf", {re.escape(names[row])}(?!\w)", rest)] or mine
    if not found and trace.processes.rows > 1:
        named = [row for row, name in enumerate(trace.processes["name"].tolist()) if _is_in(name, finding.culprit)]
        found = np.flatnonzero(np.isin(process, named) & ~helper).tolist()
    if not found and trace.processes.rows < 2:
        found = [row for row, name in enumerate(names) if _is_in(name, finding.culprit)]
    return sorted({*found}) if len(found) <= _MOST else []


def losers(trace: Source, finding: Finding) -> list[int]:
    """The locations (rows) of the processes that lose time, or none if these are more than _MOST."""
    of_them = np.isin(trace.places.process, finding.ranks) & ~trace.locations["helper"]
    found: list[int] = np.flatnonzero(of_them).tolist()
    return found if len(found) <= _MOST else []


def without_long_lists(text: str) -> str:
    """The text of a finding with the first and the last of many ranges of ranks, and the number of these ranks."""

    def listed(match: re.Match[str]) -> str:
        parts = match[1].split(",")
        if len(parts) <= _RANGES:
            return match[0]
        return f"ranks {','.join(parts[:3])} ... {parts[-1]} ({len(_numbers(match[1])):,} ranks)"

    return _RANKS.sub(listed, text)


def is_own_code(trace: Source, finding: Finding) -> bool:
    """True if the region is of the program: the guilty locations run the region; else the others wait in the region."""
    rows: Array = np.flatnonzero(trace.regions["name"] == finding.region)
    return bool(len(rows)) and bool(np.all(CLASS_OF[trace.regions["activity"][rows]] == USER))


def _numbers(text: str) -> list[int]:
    """The numbers of a list such as 0-2,5."""
    ends = [part.split("-") for part in text.split(",")]
    return [n for part in ends for n in range(int(part[0]), min(int(part[-1]), int(part[0]) + 10**6) + 1)]


def _is_in(name: str, text: str) -> bool:
    if len(name) < _SHORTEST or name not in text:  # quick, and enough for most of thousands of names
        return False
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
