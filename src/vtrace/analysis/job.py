# SPDX-License-Identifier: BSD-3-Clause
"""The row of a job in vtrace jobs: the numbers of a run with VT_MODE=PROFILE that its file keeps as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import IO, MPI
from vtrace.analysis.programs import of_processes
from vtrace.analysis.table import Array, Table, add_up
from vtrace.python_command import is_python, python_script
from vtrace.settings_file import YES

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_REGIONS = 20
"""The regions with most time that a row has, for comparing two runs."""
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


def job_of(trace: Trace, wall: float | None) -> dict[str, Any]:
    """The row: start (seconds since 1970), program, command, user, hosts, ranks, processes, wall (s), efficiency (the
    parallel efficiency of docs/diagnose.md), mpi, io (shares of the time of all threads), regions (name and exclusive
    seconds per process, the largest first; "": outside of calls). None: unknown. wall: the time of the program, None:
    that of the records."""
    about, settings = (trace.vtrace.get(name, {}) for name in ("ABOUT", "SETTINGS"))
    entries = of_processes(trace)
    _, executable, line = next((entry for entry in entries if entry[0] >= 0), entries[0] if entries else (-1, "", ""))
    processes = trace.processes.rows
    ranks = int((trace.processes["rank"] >= 0).sum())
    profile = trace.profile()
    time = _times(trace)
    shares = _shares(trace, profile, time)
    return {
        "start": None if trace.start is None else trace.start / 1e9,
        "program": program_name(executable or line, line.split()), "command": about.get("command", []),
        "user": about.get("user", ""), "hosts": sorted(set(trace.processes["host"].tolist())),
        "ranks": ranks, "processes": processes, "wall": trace.duration / 1e9 if wall is None else wall,
        "efficiency": _efficiency(trace, profile, time), "mpi": shares[MPI] if ranks else None,
        "io": shares[IO] if settings.get("VT_IOTRACE", "").lower() in YES else None,
        "regions": _regions(trace, profile, time, max(1, ranks or processes)),
    }  # fmt: skip


def program_name(executable: str, words: list[str]) -> str:
    """The file name of a program, and of the script that an interpreter runs."""
    name = os.path.basename(executable)
    script = python_script(words[1:]) if is_python(name) else None
    if name in _SHELLS and words[1:2] and words[1][0] not in "-+":
        script = words[1]
    return f"{name} {os.path.basename(script)}" if script else name


def _times(trace: Trace) -> Array:
    """(locations,) ns from the begin to the end of each location that is no helper thread."""
    found = np.zeros(trace.locations.rows, np.int64)
    recorded = trace.recorded_profile
    for row, table in (recorded.locations if recorded else {}).items():
        found[row] = 0 if trace.locations["helper"][row] else int(table["inclusive"][0])
    return found


def _by_class(trace: Trace, profile: Table, number: int) -> Array:
    """(locations,) ns in regions of a class."""
    mine = trace.regions["class"][profile["region"]] == number
    return add_up(profile["location"], np.where(mine, profile["exclusive"], 0), trace.locations.rows)


def _shares(trace: Trace, profile: Table, time: Array) -> dict[int, float | None]:
    total = int(time.sum())
    return {
        number: float(_by_class(trace, profile, number)[time > 0].sum()) / total if total else None
        for number in (MPI, IO)
    }


def _efficiency(trace: Trace, profile: Table, time: Array) -> float | None:
    """The mean time outside of MPI of the ranks, each on its thread with most calls of MPI, by the elapsed time."""
    calls = profile["calls"] * (trace.regions["class"][profile["region"]] == MPI)
    calls = add_up(profile["location"], calls, trace.locations.rows)
    process, known = trace.places.process, trace.recorded_profile
    usable = (process >= 0) & (time > 0) & (np.append(trace.processes["rank"], -1)[process] >= 0)
    rows = np.flatnonzero(usable)
    rows = rows[np.lexsort((rows, -calls[rows], process[rows]))]
    masters = rows[np.diff(process[rows], prepend=-1) != 0]
    if known is None or not len(masters) or not calls[masters].any():
        return None
    begins = np.array([int(known.locations[row]["min"][0]) for row in rows.tolist()])
    elapsed = int((begins + time[rows]).max() - begins.min())
    useful = time[masters] - _by_class(trace, profile, MPI)[masters]
    return float(useful.mean()) / elapsed if elapsed > 0 else None


def _regions(trace: Trace, profile: Table, time: Array, processes: int) -> list[tuple[str, float]]:
    sums = add_up(profile["region"], profile["exclusive"], trace.regions.rows)
    found = [(str(trace.regions["name"][row]), int(sums[row])) for row in np.argsort(-sums)[:_REGIONS].tolist()]
    found.append(("", max(0, int(time.sum() - sums.sum()))))
    return [(name, ns / 1e9 / processes) for name, ns in found if ns]
