# SPDX-License-Identifier: BSD-3-Clause
"""The waits of calls of MPI as arguments of the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.calls import Calls
from vtrace.analysis.table import Array, Table, group

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace

_MOST = 2_000_000
"""The most waits to keep; if there are more, the shortest are left out."""


def read_waits(trace: Trace, window: Selection) -> tuple[Table, list[str]]:
    """The table of Trace.call_waits for a selection, with the columns region and process (of the partner, -1: unknown),
    and lines about waits that are unknown or left out."""
    found = trace.call_waits(window.start, window.stop, window.locations, _MOST)
    notes = [*found.notes["caveats"]]
    if found.shortest:
        notes.append(f"waits shorter than {found.shortest} ns are left out")
    more = {"region": found.paths["region"][found["path"]]}
    more["process"] = np.append(trace.places.process, -1)[found["partner"]]
    return Table({**found, **more}, **found.notes), notes


def calls_of(calls: Calls, waits: Table) -> Array:
    """(waits,) the call of each wait, -1 if the call is left out."""
    sides = (
        (calls.track, waits["location"]), (calls.begin, waits["begin"]), (calls.end, waits["end"]),
        (calls.region, waits["region"]),
    )  # fmt: skip
    _, member = group([np.concatenate(pair) for pair in sides])
    call_of = np.full(len(member) + 1, -1, np.int64)
    call_of[member[: len(calls)]] = np.arange(len(calls))
    found: Array = call_of[member[len(calls) :]]
    return found


def arguments_of(calls: Calls, waits: Table, names: list[str]) -> dict[int, dict[str, int | str]]:
    """By call its arguments: the ns of each kind of wait, and the process that the longest one waits for.

    names: of the processes."""
    found: dict[int, dict[str, int | str]] = {}
    order = np.argsort(waits["time_ns"], kind="stable")  # the longest last
    call_of, kinds, processes = (
        each[order].tolist() for each in (calls_of(calls, waits), waits["kind"], waits["process"])
    )
    for call, kind, process, ns in zip(call_of, kinds, processes, waits["time_ns"][order].tolist(), strict=True):
        if call >= 0:
            told = found.setdefault(call, {})
            told[f"{waits.kinds[kind]} ns"] = ns
            if process >= 0:
                told["waits for"] = names[process]
    return found


WAIT_COLUMNS = {"wait": str, "wait_ns": int, "wait_for": str}
"""The columns of WaitColumns and their types."""


class WaitColumns:
    """Columns for the Leave of calls that wait: wait (kind of the longest wait), wait_ns (all waits of the call),
    wait_for (process)."""

    def __init__(self, waits: Table, names: Array) -> None:
        """names: of the processes, and a last one for none."""
        self._calls: dict[tuple[int, int, int], tuple[str, int, str | None]] = {}
        order = np.argsort(waits["time_ns"], kind="stable")  # the longest last
        for row in waits.take(order).records():
            key = row["location"], row["end"], row["region"]
            before = self._calls.get(key, ("", 0, ""))[1]
            self._calls[key] = waits.kinds[row["kind"]], before + row["time_ns"], names[row["process"]] or None

    def fill(self, columns: dict[str, Array], rows: Array, location: Array, time: Array, region: Array) -> None:  # noqa: PLR0917
        """Sets the columns of Leave events: their rows in columns, locations, times and regions."""
        for name in WAIT_COLUMNS:
            columns[name] = np.full(len(columns["time"]), None, object)
        keys = zip(location.tolist(), time.tolist(), region.tolist(), strict=True)
        for row, key in zip(rows.tolist(), keys, strict=True):
            if found := self._calls.get(key):
                for name, value in zip(WAIT_COLUMNS, found, strict=True):
                    columns[name][row] = value
