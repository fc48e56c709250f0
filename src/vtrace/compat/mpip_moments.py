# SPDX-License-Identifier: BSD-3-Clause
"""The moments of mpiP's reports: the end of the run, and those at which MPI_Pcontrol asks for one; the calls and the
time of each rank until then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from vtrace.analysis.questions.callsites import CallSites, SitesPart
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.io.archive.batches import ALWAYS, NEVER

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

ReportParts = Mapping[int, tuple[int | None, int | None]]
"""By process (its row): the start and the end of its part of a report, in ns; None: that of the run."""


class Moment(NamedTuple):
    """A report that MPI_Pcontrol asks for: its level (3: verbose, 4: concise; 0: the end of the run), and the parts."""

    level: int
    windows: ReportParts


_CONTROL = {"level 2": 2, "level 3": 3, "level 4": 4}


def moments(trace: Source) -> list[Moment]:
    """The reports of a run, the last one at its end. Each has the calls since the last MPI_Pcontrol(2) of each rank."""
    found = trace.markers()
    controls = [row for row in found.records() if row["category"] == "MPI_Pcontrol" and row["text"] in _CONTROL]
    group_of = dict(zip(trace.locations["id"].tolist(), trace.locations["group"].tolist(), strict=True))
    rows = {int(group): row for row, group in enumerate(trace.processes["group"].tolist())}
    since: dict[int, int] = {}
    asked: dict[tuple[int, int], dict[int, tuple[int | None, int | None]]] = {}
    turns: dict[int, int] = {}
    for control in sorted(controls, key=lambda row: row["time"]):
        process = rows.get(int(group_of.get(int(control["scope_id"]), -1)), -1)
        level, time = _CONTROL[control["text"]], int(control["time"])
        if level == 2:
            since[process] = time
            continue
        turn = turns[process] = turns.get(process, 0) + 1
        asked.setdefault((turn, level), {})[process] = since.get(process), time
    end: ReportParts = {process: (time, None) for process, time in since.items()}
    return [*(Moment(level, windows) for (_, level), windows in sorted(asked.items())), Moment(0, end)]


def site_parts(
    trace: Source, question: CallSites, rows: Mapping[int, int], windows: ReportParts
) -> tuple[dict[int, SitesPart], list[str]]:
    """The calls of each location, in the part of its process, and problems. rows: of processes, by group."""
    of: dict[tuple[int | None, int | None], list[int]] = {}
    for location, group in enumerate(trace.locations["group"].tolist()):
        of.setdefault(windows.get(rows.get(int(group), -1), (None, None)), []).append(location)
    found: dict[int, SitesPart] = {}
    problems: list[str] = []
    for (start, stop), locations in of.items():
        problems += ask(trace, [question], Selection.of(start, stop, locations)).problems
        found |= question.answer()
    return found, problems


def app_time(part: SitesPart, start: int | None, stop: int | None) -> int:
    """The ns from the end of MPI_Init to the start of MPI_Finalize, less the time without recording and the time of
    flushes. start, stop: the part of the process; None: that of the run."""
    begin = (part.first if start is None else start) if part.begun == ALWAYS else part.begun
    end = (part.last if stop is None else stop) if part.ended == NEVER else part.ended
    off, since = 0, None
    for time, on in [*part.switched, (end, True)]:
        if not on and since is None:
            since = time
        elif on and since is not None:
            off += max(0, min(time, end) - max(since, begin))
            since = None
    flushed = sum(max(0, min(stop, end) - max(start, begin)) for start, stop in part.flushes)
    return max(0, end - begin - off - flushed)
