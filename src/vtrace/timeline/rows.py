# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the page: a location, or the locations of a process, of a node, or of neighbours that share a row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.timeline_data import process_names
from vtrace.analysis.table import Array
from vtrace.text import plain
from vtrace.timeline.answers import BadRequest

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.source import Source

_ROW = re.compile(r"([lpn])(\d{1,9})|r(\d{1,9}-\d{1,9}(?:_\d{1,9}-\d{1,9})*)")
MOST = 4096
"""The most rows of a request."""


class PageRows:
    """The locations of a selection in the order of the page: by node and process, the master thread first.

    A row has a name: l7 is location 7 (row of trace.locations), p3 process 3, n1 node 1, r8-15_17-17 the locations 8 to
    15 and 17 in this order.
    """

    def __init__(self, trace: Source, part: Selection) -> None:
        self._trace = trace
        chosen = np.array(part.rows(trace), np.int64)
        process = trace.places.process[chosen]
        hosts = trace.processes["host"].tolist()
        known: dict[str, int] = {}
        self._node = np.array([known.setdefault(str(host), len(known)) for host in hosts], np.int64)
        self.nodes = list(known)
        of_order = np.where(process >= 0, process, trace.processes.rows)
        self.order = chosen[np.lexsort((chosen, of_order))]
        self._process = trace.places.process[self.order]

    def locations(self, row: str) -> Array:
        """The rows of trace.locations that share a row of the page. Raises BadRequest."""
        found = _ROW.fullmatch(row)
        if not found:
            raise BadRequest(f"{row} is not a row")
        if found[3]:
            ends = [[int(end) for end in each.split("-")] for each in found[3].split("_")]
            of_places: Array = np.concatenate([self.order[first : last + 1] for first, last in ends])
            return of_places
        number = int(found[2])
        node = np.append(self._node, -1)[self._process]
        of = {"l": self.order, "p": self._process, "n": node}[found[1]]
        chosen: Array = self.order[of == number]
        return chosen

    def each(self, text: str) -> list[Array]:
        """The locations of each row of a request, such as l0,l1,p3. Raises BadRequest."""
        names = text.split(",") if text else []
        if len(names) > MOST:
            raise BadRequest(f"more than {MOST} rows")
        return [self.locations(name) for name in names]

    def of(self, text: str) -> list[int]:
        """The locations of the rows of a request, ascending; those of the page for no row. Raises BadRequest."""
        found = self.each(text)
        return [*np.unique(np.concatenate(found) if found else self.order).tolist()]

    def described(self) -> dict[str, Any]:
        """The rows for the page: the locations in their order with their processes (-1: none), and the
        names of all processes: those of other locations take part in messages."""
        names = self._trace.locations["name"].tolist()
        node = np.append(self._node, -1)
        used = sorted({int(p) for p in self._process.tolist() if p >= 0})
        return {
            "locations": self.order.tolist(),
            "names": [plain(str(names[row])) for row in self.order.tolist()],
            "processes": self._process.tolist(),
            "process_names": {p: plain(name) for p, name in enumerate(process_names(self._trace))},
            "process_nodes": {p: int(node[p]) for p in used},
            "nodes": [plain(name) for name in self.nodes],
        }


def with_metrics(trace: Source, locations: Array) -> Array:
    """The locations, and the locations of type METRIC in their processes."""
    process, kinds = trace.places.process, trace.locations["type"]
    processes = np.unique(process[locations])
    return np.union1d(locations, np.flatnonzero((kinds == "METRIC") & np.isin(process, processes[processes >= 0])))
