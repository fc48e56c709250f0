# SPDX-License-Identifier: BSD-3-Clause
"""The chart of counters in the HTML report: their increases by rank, and in sections of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions import activity_bins, section_sums
from vtrace.analysis.questions.increases import Path
from vtrace.analysis.questions.sections import section_metrics
from vtrace.analysis.questions.timeline_data import process_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array
from vtrace.reports.section_levels import order_of

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_ROWS, _SECTIONS = 256, 30
"""The most rows (with more processes, processes share rows), and the most sections (the longest are shown)."""


def chart(trace: Trace, window: Selection, increases: Mapping[tuple[int, int, Path], float]) -> dict[str, Any] | None:
    """The data of the chart, None without counters. rows: names of processes. series: name, unit, and the increase by
    row. sections: names; in_sections: by counter, section and row; null for a row without values."""
    metrics = sorted({metric for _, metric, _ in increases})
    if not metrics:
        return None
    processes = np.unique(trace.places.process[window.rows(trace)])
    processes = processes[processes >= 0]
    row = np.full(trace.processes.rows, -1, np.int64)
    row[processes] = activity_bins.grouped(range(len(processes)), min(_ROWS, len(processes)))
    values = np.zeros((len(metrics), int(row.max(initial=-1)) + 1))
    for (location, metric, _), value in increases.items():
        at = row[trace.places.process[location]]
        values[metrics.index(metric), at] += value if at >= 0 else 0
    names, each = process_names(trace), [np.flatnonzero(row == place) for place in range(values.shape[1])]
    sections, inside = _in_sections(trace, window, metrics=metrics, row=row, rows=values.shape[1])
    members = trace.metric_members
    return {
        "rows": [names[of[0]] + (f" to {names[of[-1]]}" if len(of) > 1 else "") for of in each],
        "series": [
            {"name": str(members["name"][metric]), "unit": str(members["unit"][metric]), "values": of}
            for metric, of in zip(metrics, values.tolist(), strict=True)
        ],
        "sections": sections, "in_sections": inside,
    }  # fmt: skip


def _in_sections(
    trace: Trace, window: Selection, metrics: list[int], row: Array, *, rows: int
) -> tuple[list[str], list[list[list[float | None]]]]:
    if not section_metrics(trace):
        return [], []
    numbers = section_sums.read(trace, window, metrics)
    sections = order_of(numbers)[:_SECTIONS]
    found: list[list[list[float | None]]] = [[[None] * rows for _ in sections] for _ in metrics]
    for (process, section), of in numbers.processes.items():
        if section not in sections or row[process] < 0:
            continue
        for place, metric in enumerate(metrics):
            value, line = of.get(str(trace.metric_members["name"][metric])), found[place][sections.index(section)]
            if value is not None:
                line[row[process]] = (line[row[process]] or 0) + value
    return sections, found
