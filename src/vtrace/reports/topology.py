# SPDX-License-Identifier: BSD-3-Clause
"""The times of processes at their places in a Cartesian topology (MPI_Cart_create), for a chart of the report."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.timeline_data import process_names
from vtrace.analysis.table import Array, Table

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_MOST = 65_536
"""The most places of a chart."""


@dataclass(frozen=True)
class DrawnTopology:
    """A topology to draw. row: in trace.topologies; lengths: of the dimensions x, y, z, 1 for a missing dimension."""

    row: int
    lengths: tuple[int, int, int]


def largest(trace: Source) -> DrawnTopology | None:
    """The topology with the most places; None if there is none, or it has too many places or more than 3 dimensions."""
    table = trace.topologies
    found = [
        DrawnTopology(row, (int(table["x"][row]), int(table["y"][row]) or 1, int(table["z"][row]) or 1))
        for row in trace.places.grids().tolist()
        if table["count"][row] <= 3 and table["x"][row] > 0
    ]
    found = [one for one in found if 1 < prod(one.lengths) <= _MOST]
    return max(found, key=lambda one: prod(one.lengths), default=None)


def chart(trace: Source, drawn: DrawnTopology, profile: Table, spans: Array) -> dict[str, Any]:
    """The data of the chart, for report.js: for each class of regions, and for the time outside of calls, the seconds
    at each place (null: no process), with z the fastest and x the slowest. process: the process (row) of each place.

    profile: of Trace.profile; spans: (locations,) ns from the first to the last call.
    """
    names, members = process_names(trace), trace.places.members(int(trace.topologies["comm"][drawn.row]))
    cells: list[int | None] = [None] * prod(drawn.lengths)
    for place in trace.coordinates.take(trace.coordinates["topology"] == drawn.row).records():
        x, y, z = (max(place[axis], 0) for axis in "xyz")
        inside = x < drawn.lengths[0] and y < drawn.lengths[1] and z < drawn.lengths[2]
        if inside and place["rank"] < len(members) and members[place["rank"]] >= 0:
            process = int(trace.places.process[members[place["rank"]]])
            cells[(x * drawn.lengths[1] + y) * drawn.lengths[2] + z] = process if process >= 0 else None
    seconds = _seconds(trace, profile, spans)
    times = [
        [None if process is None else round(float(seconds[process, kind]), 9) for process in cells]
        for kind in range(seconds.shape[1])
    ]
    shown = ["" if process is None else names[process] for process in cells]
    name = str(trace.topologies["name"][drawn.row])
    return {"name": name, "lengths": drawn.lengths, "names": shown, "process": cells, "seconds": times}


def _seconds(trace: Source, profile: Table, spans: Array) -> Array:
    """(processes, classes + 1): the times of the processes in each class, and outside of calls."""
    classes, processes = len(trace.regions.classes), trace.processes.rows
    found = np.zeros((processes + 1, classes + 1))  # the last row is for locations without a process
    where = trace.places.process[profile["location"]]
    np.add.at(found, (where, trace.regions["class"][profile["region"]]), profile["exclusive"] / 1e9)
    np.add.at(found[:, -1], trace.places.process, spans / 1e9)
    found[:, -1] = np.maximum(found[:, -1] - found[:, :-1].sum(axis=1), 0)
    return found[:-1]
