# SPDX-License-Identifier: BSD-3-Clause
"""Parallel efficiencies: POP's multiplicative model, and BSC's split of hybrid programs; docs/diagnose.md has the
formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import MPI, TRACING
from vtrace.analysis.definition_tables import is_count
from vtrace.analysis.questions.increases import Increases
from vtrace.analysis.questions.mpi_replay import Replayed
from vtrace.analysis.questions.mpi_waits import noted
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up, texts

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["scaling"]

_MUCH = 0.05
_MODEL = "parallel load_balance communication serialisation transfer".split()
_HYBRID = "hybrid_parallel mpi_parallel mpi_load_balance mpi_communication".split()
_HYBRID += "openmp_parallel openmp_load_balance openmp_communication".split()
_COUNTERS = {
    "useful_instructions": re.compile(r"(perf::)?instructions(:[a-z]+)?|PAPI_TOT_INS", re.IGNORECASE),
    "useful_cycles": re.compile(r"(perf::)?(cpu-)?cycles(:[a-z]+)?|PAPI_TOT_CYC", re.IGNORECASE),
}
"""Names of these events in Linux, libpfm4 and PAPI."""
STARTING = "starting MPI took"
"""The line that begins so is about the efficiencies only: findings leave out the start of MPI."""


def efficiencies(found: Replayed, profile: Table) -> Table:
    """Answers Trace.efficiencies: one row. profile: of the same selection; it may have several rows for a location and
    region."""
    trace, remarks = found.trace, list[str]()
    elapsed = _elapsed(trace, found)
    masters = _masters(trace, found)
    useful = found.places["in_window"][masters].astype(np.float64)
    row: dict[str, Any] = dict.fromkeys(_MODEL + _HYBRID, float("nan"))
    ideal = int(found.places["ideal"][masters].max(initial=0))
    row |= {"elapsed_ns": elapsed, "ideal_ns": ideal, "processes": len(masters), "threads": 1}
    row |= {"useful_mean_ns": float(useful.mean()) if len(useful) else 0.0, "useful_max_ns": useful.max(initial=0.0)}
    row |= _counted(trace, found, masters)
    if not np.any(trace.regions["class"] == MPI) or not found.sums["calls"][masters].any():
        remarks.append("no calls of MPI: efficiencies are unknown")
    elif elapsed > 0 and useful.max(initial=0.0) > 0:
        if ideal > elapsed:
            remarks.append("the ideal time is longer than the run: messages arrived before they were sent")
        remarks += _starting(trace, profile, elapsed * len(masters))
        row |= _model(useful, elapsed, min(ideal, elapsed))
        threads = _thread_times(trace, found, profile, masters)
        if len(threads) > len(masters):
            row |= _hybrid(useful, threads, elapsed, row)
            row["threads"] = int(np.bincount(trace.places.process[_workers(trace, found)]).max(initial=0)) + 1
    table = noted(Table({name: np.array([value]) for name, value in row.items()}), found)
    table.notes["caveats"] += remarks
    return table


def _counted(trace: Source, found: Replayed, masters: Array) -> dict[str, float]:
    """The increases of instructions and cycles outside of MPI, on the masters; NaN where no master has the event."""
    sums = dict.fromkeys(_COUNTERS, float("nan"))
    rows: dict[int, str] = {}
    for row, metric in enumerate(trace.metric_members.records()):
        for name, pattern in _COUNTERS.items():
            if name not in rows.values() and is_count(str(metric["mode"])) and pattern.fullmatch(str(metric["name"])):
                rows[row] = name
    if rows:
        question = Increases(trace, [*rows])
        ask(trace, [question], replace(found.selection, locations=tuple(masters.tolist())))
        is_mpi = (trace.regions["class"] == MPI).tolist()
        for (_, counter, path), value in question.answer().items():
            if not any(is_mpi[region] for region in path if region >= 0):
                sums[rows[counter]] = value + (0 if np.isnan(sums[rows[counter]]) else sums[rows[counter]])
    return sums


def _starting(trace: Source, profile: Table, total: int) -> list[str]:
    """A line if starting MPI takes a large part of the time of all processes."""
    begins = trace.regions["activity"] == trace.regions.activities.index("mpi/management/init")
    share = float(profile["inclusive"][begins[profile["region"]]].sum()) / total
    text = f"{STARTING} {share:.0%} of the time and counts as transfer: choose a window after MPI_Init"
    return [text] if share >= _MUCH else []


def _model(useful: Array, elapsed: int, ideal: int) -> dict[str, float]:
    mean, most = useful.mean(), useful.max()
    return {
        "parallel": mean / elapsed, "load_balance": mean / most, "communication": most / elapsed,
        "serialisation": most / ideal, "transfer": ideal / elapsed,
    }  # fmt: skip


def _hybrid(outside: Array, threads: Array, elapsed: int, row: dict[str, Any]) -> dict[str, float]:
    """outside: ns outside of MPI by process; threads: useful ns by thread."""
    hybrid, balance = threads.mean() / elapsed, threads.mean() / threads.max()
    communication = threads.max() / elapsed
    return {
        "hybrid_parallel": hybrid, "mpi_parallel": row["parallel"], "mpi_load_balance": row["load_balance"],
        "mpi_communication": row["communication"], "openmp_parallel": hybrid / row["parallel"],
        "openmp_load_balance": balance / row["load_balance"],
        "openmp_communication": communication / row["communication"],
    }  # fmt: skip


def _elapsed(trace: Source, found: Replayed) -> int:
    """From the first event of the selection to the last one, within the window."""
    seen = found.wanted & (found.sums["events"] > 0) & ~trace.locations["helper"].astype(bool)
    if not seen.any():
        return 0
    start, stop = found.selection.start, found.selection.stop
    begin, end = int(found.sums["first"][seen].min()), int(found.sums["last"][seen].max())
    return (end if stop is None else min(end, stop)) - (begin if start is None else max(begin, start))


def _masters(trace: Source, found: Replayed) -> Array:
    """For each selected process, the location with the most calls of MPI, the first one of equals."""
    process = trace.places.process
    usable = found.wanted & (process >= 0) & (found.sums["events"] > 0) & ~trace.locations["helper"].astype(bool)
    if (trace.processes["rank"] >= 0).any():
        usable &= np.append(trace.processes["rank"], -1)[process] >= 0
    rows = np.flatnonzero(usable)
    rows = rows[np.lexsort((rows, -found.sums["calls"][rows], process[rows]))]
    first = np.ones(len(rows), bool)
    first[1:] = np.diff(process[rows]) != 0
    return rows[first]


def _workers(trace: Source, found: Replayed) -> Array:
    """Locations of OpenMP's threads besides the masters."""
    threads = np.array([str(name) for name in trace.locations["type"].tolist()]) == "CPU_THREAD"
    rows = np.flatnonzero(found.wanted & threads & ~trace.locations["helper"].astype(bool))
    return rows[~np.isin(rows, _masters(trace, found)) & (found.sums["events"][rows] > 0)]


def _thread_times(trace: Source, found: Replayed, profile: Table, masters: Array) -> Array:
    """Useful ns of each master and each thread with work in OpenMP: without MPI, waiting in OpenMP and tracing."""
    regions, paths = trace.regions, trace.regions.activities
    waits = regions["activity"] == paths.index("openmp/sync")
    openmp = np.isin(regions["activity"], [number for number, path in enumerate(paths) if path.startswith("openmp/")])
    idle = waits | (regions["class"] == MPI) | (regions["class"] == TRACING)
    rows, region = trace.locations.rows, profile["region"]
    waiting = add_up(profile["location"], np.where(waits[region], profile["exclusive"], 0), rows)
    busy = add_up(profile["location"], np.where(idle[region], 0, profile["exclusive"]), rows)
    works = add_up(profile["location"], openmp[region].astype(np.int64), rows) > 0
    workers = _workers(trace, found)
    own = np.maximum(found.places["in_window"][masters] - waiting[masters], 0)
    return np.append(own, busy[workers[works[workers]]]).astype(np.float64)


def scaling(traces: Sequence[Any]) -> Table:
    """The efficiencies of several runs of one program (Trace each), a row for each, with computation_scaling (useful
    time of all processes of the first run / the same of this run, as for a problem of one size), global_efficiency
    (parallel * computation_scaling) and basis: "time" or "instructions, cycles" ... Where all runs have these counters,
    computation_scaling = instruction_scaling * ipc_scaling * frequency_scaling; else these are NaN. Numbers of the
    first run are 1."""
    return scaled([trace.efficiencies() for trace in traces])


def scaled(tables: Sequence[Table]) -> Table:
    """scaling() of runs with these answers of Trace.efficiencies."""
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]} if tables else {}
    if not columns:
        return Table({})
    total = columns["useful_mean_ns"] * columns["processes"]
    computation = _ratio(total[0], total)
    columns |= {"computation_scaling": computation, "global_efficiency": columns["parallel"] * computation}
    instructions, cycles = columns["useful_instructions"], columns["useful_cycles"]
    columns["instruction_scaling"] = _of_first(instructions[0], instructions)
    ipc, frequency = _ratio(instructions, cycles), _ratio(cycles, total)
    columns |= {"ipc_scaling": _of_first(ipc, ipc[0]), "frequency_scaling": _of_first(frequency, frequency[0])}
    known = [name.removeprefix("useful_") for name in _COUNTERS if np.all(columns[name] > 0)]
    basis = ", ".join(known) or "time"
    caveats = [line for table in tables for line in table.notes["caveats"]]
    return Table(columns | {"basis": texts([basis] * len(total))}, caveats=list(dict.fromkeys(caveats)))


def _ratio(above: Any, below: Any) -> Array:
    """above / below, NaN where below is not positive or one of both is unknown."""
    over, under = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    found: Array = np.divide(over, under, out=np.full(under.shape, np.nan), where=under > 0)
    return found


def _of_first(above: Any, below: Any) -> Array:
    """_ratio if it is known for all runs, else NaN for all."""
    found = _ratio(above, below)
    return found if np.all(np.isfinite(found)) else np.full(found.shape, np.nan)
