# SPDX-License-Identifier: BSD-3-Clause
"""Error bounds of the hosts' clocks: a wait shorter than the error of two clocks is uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_FEW = 0.05


class ClockBounds:
    """The error bounds of the clocks by VTRACE::CLOCKS of an archive; 0 in archives of other tools.

    bound: of the worst clock, ns; infinite if a clock is aligned by real time only.
    """

    def __init__(self, trace: Source) -> None:
        clocks: Any = trace.vtrace.get("CLOCKS")
        told = clocks if isinstance(clocks, dict) else {}
        bounds = {
            str(one.get("host")): float("inf") if one.get("error_ns") is None else float(one["error_ns"])
            for one in told.get("bounds") or []
        }
        self.bound = max([float(told.get("error_ns") or 0), *bounds.values()])
        hosts = [str(host) for host in trace.processes["host"].tolist()]
        number = {host: place for place, host in enumerate(dict.fromkeys(hosts))}
        bounds.setdefault(str(told.get("reference")), 0.0)
        # The list may lack hosts of a large run.
        self._error = np.array([*(bounds.get(host, self.bound) for host in hosts), self.bound])
        self._host = np.array([*(number[host] for host in hosts), -1], np.int64)
        of_host = np.zeros(len(number) + 1)
        of_host[self._host] = self._error
        first, second = np.sort(of_host[:-1])[::-1][:2] if len(number) > 1 else (0.0, 0.0)
        largest = int(np.argmax(of_host[:-1])) if len(number) else -1
        # For waits with an unknown partner: the largest bound of another host.
        self._worst_beside = np.where(self._host == largest, second, first)
        self._process = np.append(trace.places.process, -1)

    def between(self, locations: Array, partners: Array) -> Array:
        """(n,) the most ns by which the clocks of two locations differ; 0 on one host. partners: -1 for unknown
        ones."""
        one, other = self._process[locations], self._process[partners]
        beyond = np.where(other >= 0, self._error[other], self._worst_beside[one])
        found: Array = np.where(self._host[one] == self._host[other], 0.0, self._error[one] + beyond)
        return found

    def doubt(self, locations: Array, partners: Array, times: Array, counts: Array) -> tuple[float, str]:
        """The share of waits (ns, and their numbers) whose mean is shorter than the error of the clocks, and a
        line about them, "" if they are less than a twentieth."""
        between = self.between(locations, partners)
        short = between * counts > times
        share = float(times[short].sum()) / max(1, int(times.sum()))
        if share < _FEW:
            return share, ""
        worst = float(between[short].max())
        if not np.isfinite(worst):
            return share, f"clocks of hosts were aligned by real time only: {share:.0%} of this loss may be wrong"
        return share, f"clocks are known within {worst / 1e3:.6g} us: waits of {share:.0%} of this loss are shorter"
