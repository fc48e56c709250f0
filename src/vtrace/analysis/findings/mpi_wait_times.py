# SPDX-License-Identifier: BSD-3-Clause
"""How long a thread waits in MPI between two times: then it does not let the other threads of its process wait."""

from __future__ import annotations

import numpy as np

from vtrace.analysis.table import Array, Table


def waited_in_mpi_between(call_waits: Table, locations: Array, begins: Array, ends: Array) -> Array:
    """(n,) ns that each location waits in MPI between two times (ns). call_waits: of Trace.call_waits."""
    found = np.zeros(len(locations))
    for location in np.intersect1d(locations, call_waits["location"]).tolist():
        calls = call_waits.take(call_waits["location"] == location)
        calls = calls.take(np.argsort(calls["begin"], kind="stable"))
        edges = np.stack([calls["begin"], calls["begin"] + calls["time_ns"]], 1).ravel()
        times = np.maximum.accumulate(np.append(0, edges))
        sums = np.cumsum(np.diff(times, prepend=0) * (np.arange(len(times)) % 2 == 0))
        mine = locations == location
        found[mine] = np.interp(ends[mine], times, sums) - np.interp(begins[mine], times, sums)
    return found
