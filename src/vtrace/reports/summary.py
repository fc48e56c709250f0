# SPDX-License-Identifier: BSD-3-Clause
"""What a trace tells in short, out of one pass over its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, IO, RUNTIME
from vtrace.analysis.collectives import CollectiveTotals
from vtrace.analysis.io_files import Io
from vtrace.analysis.messages import Matrix, MessageMatrix
from vtrace.analysis.metrics import Allocations, Metrics, heap_curve, heap_metrics
from vtrace.analysis.profile import Profile
from vtrace.analysis.rma import Rma
from vtrace.analysis.scan import Part, Question, Replay
from vtrace.analysis.table import Array, Table
from vtrace.analysis.time_range import TimeRange

if TYPE_CHECKING:
    from vtrace.analysis.base import TraceBase
    from vtrace.analysis.trace import Trace

_FEW = 8
"""Values of a location's heap that are kept: its highest and its last one are among them."""
_SIZE = "ALLOCATION_SIZE"


@dataclass
class SummaryNumbers:
    """Times in ns. classes: (locations, classes + 1), the last class is the time outside all regions. ends: (locations,
    2), the part of MPI's time in its initialisation and in its finalisation."""

    trace: Trace
    window: TimeRange
    profile: Table
    classes: Array
    ends: Array
    matrix: Matrix
    collectives: Table
    rma: Table
    io: Table
    heap: Table
    allocations: Table
    events: int
    """How many were read."""
    notes: list[str]
    """What of the archive could not be read or does not fit, one line each."""

    @property
    def caveats(self) -> list[str]:
        """What these numbers cannot know, one line each."""
        return self.trace.caveats(**self.window.of_recording())


def read(trace: Trace, window: TimeRange) -> SummaryNumbers:
    """Reads the events in the window once."""
    profile, extent, matrix, totals = Profile(), Extent(), MessageMatrix(), CollectiveTotals()
    rma, io = Rma(), Io()
    heap = Metrics(np.array(list(heap_metrics(trace).values()), np.int64), _FEW)
    allocations = Allocations()
    questions: list[Question] = [profile, extent, matrix, totals, rma, io]
    questions += [heap] if len(heap_metrics(trace)) else []
    questions += [allocations] if _SIZE in trace.attributes["name"].tolist() else []
    met = trace.scan(questions, window.locations, window.start, window.stop)
    notes = [f"{met.stray:,} ends of calls without a begin are left out"] if met.stray else []
    notes += [f"{met.unknown:,} events are of kinds that this OTF2 does not know"] if met.unknown else []
    table = profile.table()
    return SummaryNumbers(
        trace, window, table, extent.classes(trace, table, window), _ends(trace, table), matrix.matrix(trace),
        totals.table(), rma.table(), io.table(trace), heap_curve(heap.table(), trace), allocations.table(),
        sum(met.events.values()), notes + met.problems,
    )  # fmt: skip


def _ends(trace: Trace, profile: Table) -> Array:
    found = np.zeros((trace.locations.rows, 2), np.int64)
    for column, end in enumerate(("init", "finalize")):
        rows = trace.regions["activity"][profile["region"]] == ACTIVITIES.index(f"mpi/management/{end}")
        np.add.at(found[:, column], profile["location"][rows], profile["exclusive"][rows])
    return found


class _ExtentPart(Part):
    def __init__(self, owner: Extent, location: int) -> None:
        self.owner, self.location = owner, location

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        if replay.fields.events:
            self.owner.ends.append((self.location, replay.fields.first, replay.fields.last))
            self.owner.runtime[self.location] = replay.fields.runtime


class Extent(Question):
    """From when to when each location has events."""

    replay = True

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[int, int, int]] = []
        self.runtime: dict[int, int] = {}
        """By location: ns of the I/O that MPI does for itself."""

    def part(self, trace: TraceBase, location: int) -> Part:
        return _ExtentPart(self, location)

    def classes(self, trace: Trace, profile: Table, window: TimeRange) -> Array:
        """(locations, classes + 1) int64 ns: the time in calls of each class, and the time outside all regions."""
        class_of, outside = np.append(trace.regions["class"], len(trace.regions.classes)), len(trace.regions.classes)
        found = np.zeros((trace.locations.rows, outside + 1), np.int64)
        np.add.at(found, (profile["location"], class_of[profile["region"]]), profile["exclusive"])
        ends = np.array(self.ends, np.int64).reshape(len(self.ends), 3)
        first, last = np.zeros((2, trace.locations.rows), np.int64)
        first[ends[:, 0]], last[ends[:, 0]] = ends[:, 1], ends[:, 2]
        first = first if window.start is None else np.maximum(first, window.start)
        last = last if window.stop is None else np.minimum(last, window.stop)
        rows = np.array(window.rows(trace), np.int64)
        found[rows, outside] = np.maximum(0, (last - first)[rows] - found[rows].sum(axis=1))
        for row, ns in self.runtime.items():
            found[row, [IO, RUNTIME]] += np.array([-ns, ns])
        helpers = trace.locations["helper"]
        found[helpers, RUNTIME], found[helpers, :RUNTIME], found[helpers, outside] = found[helpers].sum(axis=1), 0, 0
        return found


def class_times(numbers: SummaryNumbers) -> dict[str, Array]:
    """(locations,) ns of each class, and outside all regions. MPI's initialisation and finalisation stand apart."""
    found = dict(zip([*numbers.trace.regions.classes, "outside"], numbers.classes.T, strict=True))
    ends = {"MPI init": numbers.ends[:, 0], "MPI finalize": numbers.ends[:, 1]}
    parts = found | {"MPI": found["MPI"] - numbers.ends.sum(axis=1)} | ends
    order = [name for first in found for name in ([first, *ends] if first == "MPI" else [first])]
    return {name: parts[name] for name in order}


def heap_peaks(numbers: SummaryNumbers) -> dict[int, dict[str, Any]]:
    """By process: largest bytes, most blocks (None: not recorded), bytes at the end."""
    found = {}
    curve = numbers.heap
    bounds = np.flatnonzero(np.diff(curve["process"], prepend=-2, append=-2))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        sizes, blocks = curve["bytes"][first:last], curve["blocks"][first:last]
        found[int(curve["process"][first])] = {
            "peak_bytes": int(sizes.max()), "peak_blocks": int(blocks.max()) if blocks.max() >= 0 else None,
            "end_bytes": int(sizes[-1]),
        }  # fmt: skip
    return found
