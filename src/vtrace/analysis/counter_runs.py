# SPDX-License-Identifier: BSD-3-Clause
"""Several runs of a program, each with different counters: vtrace run --repeat-groups. The archives of later runs are
in that of the first one, below vtrace/counters/."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace.io.sidecar.sidecar import FOLDER

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_RUNS = "counters"
_LEAST, _MOST = 95, 105
"""A run with a time in these bounds is like the first run, % of the first run's time (Advanced Profiler's guide,
3.5)."""


def adopt_run(first: Path, archive: Path, number: int) -> None:
    """Moves the archive of a run into that of the first run, both directories. number: from 2 on. Raises OSError."""
    place = first / FOLDER / _RUNS / str(number)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    archive.rename(place)


def later_runs(trace: Source) -> list[Path]:
    """The archives of the other runs, in their order."""
    numbered = [path for path in (trace.folder / FOLDER / _RUNS).glob("*") if path.name.isdecimal()]
    return sorted(numbered, key=lambda path: int(path.name))


def unlike_first(seconds: Sequence[float]) -> list[str]:
    """A line for each run that took 5 % more or less time than the first one. seconds: of each run."""
    rates = [100 * one / seconds[0] if seconds[0] else 100.0 for one in seconds]
    return [
        f"run {place} took {rate:.1f} % of the time of run 1: for high precision collect the data again"
        for place, rate in enumerate(rates, 1)
        if not _LEAST < rate < _MOST
    ]
