# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the times in which threads waited for a processor, and slept: by location, and each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.run_facts import location_text, place_text
from vtrace.analysis.findings.sleeping_calls import sleeping_call
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Patterns
from vtrace.analysis.table import Array
from vtrace.reports.diagnose_sheets import allowed_paths
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.findings.run_facts import RunFacts

_EACH = [
    Column("time_ns", "time s", "ns"), Column("from_ns", "from s", "ns"), Column("to_ns", "to s", "ns"),
    Column("location", "location", "text"), Column("place", "in", "text", missing="several calls"),
    Column("callpath", kind="path"),
]  # fmt: skip
"""The columns of single times."""


def sheets(facts: RunFacts, patterns: Patterns) -> list[Sheet]:
    """The waits that the finding about waits for a processor counts, and those in waits in MPI; the longest first.
    patterns: of --select."""
    trace, waits = facts.trace, facts.processor_waits
    path, ns = facts.path_of_wait, facts.counted_waits
    if patterns.all:
        ns *= (path >= 0) & allowed_paths(trace, facts.paths, patterns)[path]
    times = facts.times.sum(axis=1)
    locations: list[Row] = [
        {"time_ns": int(ns[mine].sum()), "share": float(ns[mine].sum() / max(1, times[at])),
         "count": int(np.count_nonzero(ns[mine])), "location": location_text(trace, at)}
        for at in np.unique(waits.location[ns > 0]).tolist() for mine in [waits.location == at]
    ]  # fmt: skip
    locations.sort(key=lambda row: -row["time_ns"])
    by_location = [
        Column("time_ns", "time s", "ns"), Column("share", "% of its time", "fraction"), Column("count", "waits"),
        Column("location", "location", "text"),
    ]  # fmt: skip
    return [
        Sheet(name="processor_waits_by_location", title="Waits for a processor", columns=by_location, rows=locations),
        _each(facts, ns),
        *_asleep(facts, patterns),
    ]


def _each(facts: RunFacts, ns: Array) -> Sheet:
    trace, waits, names = facts.trace, facts.processor_waits, facts.trace.regions["name"]
    rows: list[Row] = []
    for at in np.argsort(-ns, kind="stable")[: np.count_nonzero(ns)].tolist():
        path = int(facts.path_of_wait[at])
        rows.append({
            "time_ns": int(ns[at]), "from_ns": max(0, int(waits.begin[at])), "to_ns": int(waits.end[at]),
            "location": location_text(trace, int(waits.location[at])),
            "place": place_text(trace, facts.paths, path) if path >= 0 else None,
            "callpath": path_names(facts.paths, names, path) if path >= 0 else None,
        })  # fmt: skip
    return Sheet(name="processor_waits", title="The longest waits for a processor", columns=_EACH, rows=rows)


def _asleep(facts: RunFacts, patterns: Patterns) -> list[Sheet]:
    """The times in which threads slept, also in recorded waits; the longest first."""
    trace, blocked = facts.trace, facts.blocked
    path, ns = facts.path_of_blocked, blocked.within(facts.window.start or 0, facts.window.stop)
    ns *= np.isin(blocked.location, facts.rows)
    if patterns.all:
        ns *= (path >= 0) & allowed_paths(trace, facts.paths, patterns)[path]
    times = facts.times.sum(axis=1)
    at_work = ns * facts.asleep_at_work
    locations: list[Row] = [
        {"time_ns": int(ns[mine].sum()), "share": min(1.0, float(ns[mine].sum() / max(1, times[at]))),
         "at_work_ns": int(at_work[mine].sum()), "count": int(blocked.count[mine & (ns > 0)].sum()),
         "location": location_text(trace, at)}
        for at in np.unique(blocked.location[ns > 0]).tolist() for mine in [blocked.location == at]
    ]  # fmt: skip
    locations.sort(key=lambda row: -row["time_ns"])
    by_location = [
        Column("time_ns", "time s", "ns"), Column("share", "% of its time", "fraction"),
        Column("at_work_ns", "outside of waits, I/O s", "ns"), Column("count", "times"),
        Column("location", "location", "text"),
    ]  # fmt: skip
    rows: list[Row] = []
    for at in np.argsort(-ns, kind="stable")[: np.count_nonzero(ns)].tolist():
        row, call = int(path[at]), sleeping_call(blocked.sites[at])
        rows.append({
            "time_ns": int(ns[at]), "from_ns": max(0, int(blocked.begin[at])), "to_ns": int(blocked.end[at]),
            "location": location_text(trace, int(blocked.location[at])),
            "place": str(call) if call else place_text(trace, facts.paths, row) if row >= 0 else None,
            "callpath": [*call.names, call.sleeps] if call and not row else
            path_names(facts.paths, trace.regions["name"], row) if row >= 0 else None,
        })  # fmt: skip
    return [
        Sheet(name="blocked_by_location", title="Asleep in the kernel", columns=by_location, rows=locations),
        Sheet(name="blocked", title="The longest times asleep", columns=_EACH, rows=rows),
    ]
