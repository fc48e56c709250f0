# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of MPI by kind, call path, location and partner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from vtrace.analysis.questions.clock_bounds import ClockBounds
from vtrace.analysis.questions.mpi_replay import Replayed
from vtrace.analysis.table import Array, Table, add_up
from vtrace.io.archive.reader_abi import KINDS

BOUNDS = ("mpi_latereceiver",)
"""Kinds whose times are upper bounds: an archive does not show that a send waits for its receiver."""
_UNKNOWN = 0xFFFFFFFF
_KEYS = ("kind", "path", "location", "partner", "partner_path")


def waits_table(found: Replayed) -> Table:
    """Answers Trace.waits."""
    rows = found.waits
    columns: dict[str, Any] = {"kind": rows["kind"].astype(np.int64), "path": rows["node"].astype(np.int64)}
    columns |= {"location": rows["location"].astype(np.int64)}
    for name, field in (("partner", "partner"), ("partner_path", "partner_node")):
        columns[name] = _rows(rows[field])
    columns |= {"time_ns": rows["ns"], "count": rows["count"].astype(np.int64)}
    table = Table(columns, kinds=KINDS, bounds=BOUNDS, paths=found.paths)
    # Threads number the paths as they meet them, so rows of equal times are in the order of their names.
    return noted(table.take(np.lexsort([*(table[name] for name in _KEYS[::-1]), -table["time_ns"]])), found)


def calls_table(found: Replayed, most: int) -> Table:
    """Answers Trace.call_waits."""
    rows, shortest = found.calls, found.shortest
    if len(rows) > most:
        bound = int(np.partition(rows["ns"], len(rows) - most)[len(rows) - most])
        shortest = max(shortest, bound + 1 if np.count_nonzero(rows["ns"] >= bound) > most else bound)
    rows = rows[rows["ns"] >= shortest]
    rows = rows[np.lexsort((rows["kind"], rows["begin"], rows["location"]))]
    columns = {name: rows[name].astype(np.int64) for name in ("location", "begin", "end")}
    columns |= {"path": rows["node"].astype(np.int64), "kind": rows["kind"].astype(np.int64)}
    columns |= {"partner": _rows(rows["partner"]), "time_ns": rows["ns"]}
    return noted(Table(columns, kinds=KINDS, bounds=BOUNDS, paths=found.paths, shortest=shortest), found)


def critical_table(found: Replayed) -> Table:
    """Answers Trace.critical_path."""
    rows = found.critical
    columns = {"path": rows["node"].astype(np.int64), "location": rows["location"].astype(np.int64)}
    table = Table(columns | {"time_ns": rows["ns"]}).order("time_ns")
    sums = np.zeros(found.paths.rows, np.int64)
    np.add.at(sums, table["path"], table["time_ns"])
    own = found.totals.copy() if len(found.totals) else np.zeros(found.paths.rows, np.int64)
    sure = found.waits[~np.isin(found.waits["kind"], [KINDS.index(kind) for kind in BOUNDS])]
    np.subtract.at(own, sure["node"], sure["ns"])
    usable = found.wanted & (found.trace.places.process >= 0) & (found.sums["events"] > 0)
    processes = len(np.unique(found.trace.places.process[usable]))
    path = np.flatnonzero(sums)
    mean = own[path] / max(processes, 1)
    by_path = {"path": path, "time_ns": sums[path], "mean_ns": mean, "imbalance_ns": np.maximum(sums[path] - mean, 0)}
    table.notes |= {"paths": found.paths, "length_ns": found.counts["length"], "jumps": found.counts["jumps"]}
    table.notes["by_path"] = Table(by_path).order("time_ns")
    return noted(table, found)


def delays_table(found: Replayed) -> Table:
    """Answers Trace.delays."""
    rows = found.delays
    names = {"location": "location", "path": "node", "kind": "kind", "waiting_path": "waiting_node"}
    columns = {name: rows[field].astype(np.int64) for name, field in names.items()}
    columns |= {"direct_ns": rows["direct"], "indirect_ns": rows["indirect"], "excess_ns": rows["excess"]}
    table = Table(columns | {"count": rows["count"].astype(np.int64)}, kinds=KINDS, paths=found.paths)
    return noted(table.take(np.argsort(-(table["direct_ns"] + table["indirect_ns"]), kind="stable")), found)


def _rows(values: Array) -> Array:
    return np.where(values == _UNKNOWN, -1, values.astype(np.int64))


def noted(table: Table, found: Replayed) -> Table:
    """The table of an answer, with its caveats: also about waits that the replay cannot find or cannot verify."""
    doubt = _doubt(found)
    remarks = [*filter(None, [doubt]), *_lost(found), *_clocks(found)]
    table.notes |= {"caveats": found.selection.caveats(found.trace) + remarks, "doubt": doubt, "counts": found.counts}
    return table


def _doubt(found: Replayed) -> str:
    """A line if the replay may have joined sends and receives that do not belong together, "" otherwise: the n-th send
    belongs to the n-th receive only if no call is missing before them. Where recording was off on all processes alike
    both ends are missing, and all others have their partners."""
    counts, trace = found.counts, found.trace
    if not counts["unmatched_sends"] + counts["unmatched_receives"] + counts["unmatched_collectives"]:
        return ""
    gaps = trace.not_recorded().intervals
    wanted = [text == "all" or "mpi" in text for text in map(str, gaps["class"].tolist())]
    at = trace.definitions.ids["locations"].rows(gaps["location"])
    followed = trace.ns(gaps["to"]) < np.append(found.sums["last"], 0)[at]
    places = np.unique(at[np.array(wanted, bool) & (gaps["count"] != 0) & followed & (at >= 0)])
    if not len(places):
        return ""
    return (
        f"events are missing before others on {_many(len(places), 'location')}: it is unknown which messages and "
        "collective operations belong together, so waits and their causes are unknown"
    )


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _lost(found: Replayed) -> Iterable[str]:
    counts = found.counts
    sends, receives = counts["unmatched_sends"], counts["unmatched_receives"]
    if sends or receives:
        yield f"{_many(sends, 'send')} and {_many(receives, 'receive')} without a partner: their waits are unknown"
    if calls := counts["unmatched_collectives"]:
        yield f"{_many(calls, 'collective operation')} not joined by all their processes: waits in them may be too low"
    ranks, process = found.trace.processes["rank"], found.trace.places.process
    events = add_up(process + 1, found.sums["events"], len(ranks) + 1)[1:]
    silent = ranks[(ranks >= 0) & (events == 0)].tolist()
    if silent and len(silent) < np.count_nonzero(ranks >= 0):
        yield f"{_many(len(silent), 'rank')} without events (the first: {silent[0]}): waits for them are unknown"
    if found.full:
        yield "more than a million call paths: further calls count as those around them, and may miss waits"
    if flushed := int(found.sums["flushed"].sum()):
        yield f"{flushed / 1e9:.6g} s of writing the trace's buffers are neither useful time nor MPI"


def _clocks(found: Replayed) -> Iterable[str]:
    if reversed_ := found.counts["reversed"]:
        most = found.counts["most"] / 1e3
        yield (
            f"{_many(reversed_, 'message')} arrived before the send began, by {most:.6g} us at most: clocks differ, "
            "or messages are missing"
        )
    bounds, rows = ClockBounds(found.trace), found.waits
    if not np.isfinite(bounds.bound):
        yield "the clocks of the hosts were aligned by real time only: waits between hosts may be wrong"
        return
    between = bounds.between(rows["location"].astype(np.int64), _rows(rows["partner"]))
    apart = between > 0
    mean = int(rows["ns"][apart].sum()) / max(1, int(rows["count"][apart].sum()))
    if apart.any() and (bound := float(between[apart].max())) > mean:
        yield (
            f"clocks are known within {bound / 1e3:.6g} us, more than the mean wait between hosts ({mean / 1e3:.6g} us)"
        )
