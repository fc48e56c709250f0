# SPDX-License-Identifier: BSD-3-Clause
"""The data of a report on two or three runs: the times by class, function, loop and line side by side, and the data of
each run for the charts by rank and thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.selection import Patterns
from vtrace.reports.comparison import comparison
from vtrace.reports.profile_sheets import ProfileNumbers
from vtrace.reports.sheet import Sheet
from vtrace.reports.spread import UNITS

if TYPE_CHECKING:
    from vtrace.reports.report_numbers import ReportNumbers

_MOST = 25
"""The most rows of each chart."""
_LEAST = 1000
"""Rows with less than 1/_LEAST of the largest row's time are not drawn."""


def add(names: Sequence[str], runs: Sequence[ReportNumbers]) -> None:
    """Adds the data of all runs to the charts of the first one, for report.js.

    run: the name of the first run. others: name, spread and topology of the other runs. compared: class_seconds, for
    each run the seconds in each class and outside of calls; units, for each unit the rows [name, s of each run (null if
    the run has no such row)]; ranks, see differences.
    """
    others = [
        {"run": name, "spread": run.charts["spread"], "topology": run.charts["topology"]}
        for name, run in zip(names[1:], runs[1:], strict=True)
    ]
    units = {
        by: _large([[row[by], *_seconds(row, len(runs))] for row in found.rows])
        for by, found in ((by, of(runs, by, _MOST)) for by in UNITS)
    }
    ranks = [differences(runs[0], run) for run in runs[1:]]
    compared = {"class_seconds": [_by_class(run) for run in runs], "units": units, "ranks": ranks}
    runs[0].charts.update({"run": names[0], "others": others, "compared": compared})


def differences(first: ReportNumbers, other: ReportNumbers) -> dict[str, list[Any]]:
    """rows: the ranks and threads that both runs have; seconds: for each, how much more time the other run has in each
    class and outside of calls."""
    known, found = (
        dict(zip((line := run.charts["timeline"])["rows"], line["seconds"], strict=True)) for run in (first, other)
    )
    rows = [name for name in known if name in found]
    return {"rows": rows, "seconds": [np.subtract(found[name], known[name]).round(9).tolist() for name in rows]}


def of(runs: Sequence[ReportNumbers], by: str, most: int | None = None) -> Sheet:
    """The rows of all runs side by side, like `vtrace profile RUN1 RUN2 RUN3`. by: function, loop or line."""
    every = []
    for run in runs:
        assert run.costs is not None
        every.append(
            ProfileNumbers(trace=run.trace, window=run.window, patterns=Patterns(), costs=run.costs, by=by, notes=[])
        )
    return comparison(every, most=most)


def _large(rows: list[list[Any]]) -> list[list[Any]]:
    times = [max(time or 0 for time in row[1:]) for row in rows]
    return [row for row, time in zip(rows, times, strict=True) if time * _LEAST > max(times)]


def _seconds(row: dict[str, Any], runs: int) -> list[float | None]:
    times = (row[f"exclusive_ns_{number}"] for number in range(1, runs + 1))
    return [None if ns is None else ns / 1e9 for ns in times]


def _by_class(run: ReportNumbers) -> list[float]:
    line = run.charts["timeline"]
    found: list[float] = np.array(line["seconds"]).reshape(len(line["rows"]), -1).sum(axis=0).round(9).tolist()
    return found
