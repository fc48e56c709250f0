# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads waited for a processor, and slept, for the rows of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.sleeping_calls import sleeping_call
from vtrace.analysis.processor_waits import BlockedTimes, ProcessorWaits
from vtrace.analysis.table import Array
from vtrace.text import plain
from vtrace.timeline.answers import Content, pack

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

READY, BLOCKED = 0, 1
_MOST = 2000
"""The most single times of an answer: the longest."""


class OffCore:
    """These times of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def _kinds(self) -> tuple[ProcessorWaits, BlockedTimes]:
        return ProcessorWaits(self._trace), BlockedTimes(self._trace)

    @property
    def known(self) -> bool:
        """True if there are any."""
        return any(len(kind.location) for kind in self._kinds)

    def answer(self, rows: Sequence[Array], window: tuple[int, int], bins: int) -> Content:
        """The shares of rows (the locations of each) in a window by row and bin, 255: all of it. ready: threads could
        run but waited; blocked: they slept. And of rows with one location the longest single times: row, kind (READY,
        BLOCKED), begin, end, ns, text (a number in the notes; 0: none)."""
        edges = np.linspace(*window, bins + 1)
        shares = [self._shares(kind, rows, edges) for kind in self._kinds]
        single = {int(locations[0]): row for row, locations in enumerate(rows) if len(locations) == 1}
        found = [self._single(kind, number, single, window) for number, kind in enumerate(self._kinds)]
        columns = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
        longest = np.sort(np.argsort(-columns["ns"], kind="stable")[:_MOST])
        texts, number = np.unique(np.append("", columns.pop("text")[longest]), return_inverse=True)
        columns = {name: column[longest] for name, column in columns.items()}
        columns |= {"text": number[1:].astype(np.int32), "ready": shares[READY], "blocked": shares[BLOCKED]}
        return pack(columns, texts=[plain(str(text)) for text in texts])

    @staticmethod
    def _shares(times: ProcessorWaits, rows: Sequence[Array], edges: Array) -> Array:
        found = np.zeros((len(rows), len(edges) - 1))
        for row, locations in enumerate(rows):
            for location in np.intersect1d(locations, times.location).tolist():
                mine = times.location == location
                at = np.maximum.accumulate(np.stack([times.begin[mine], times.end[mine]], 1).ravel())
                sums = np.cumsum(np.stack([np.zeros(len(at) // 2), times.ns[mine]], 1).ravel())
                found[row] += np.diff(np.interp(edges, at, sums))
            found[row] /= max(1, len(locations)) * (edges[1] - edges[0])
        shares: Array = np.ceil(255 * np.clip(found, 0, 1) - 1e-3).astype(np.uint8).ravel()
        return shares

    def _single(
        self, times: ProcessorWaits, kind: int, row_of: dict[int, int], window: tuple[int, int]
    ) -> dict[str, Array]:
        inside = np.isin(times.location, [*row_of]) & (times.begin < window[1]) & (times.end > window[0])
        mine = np.flatnonzero(inside)
        mine = mine[np.argsort(-times.ns[mine], kind="stable")[:_MOST]]
        rows = [row_of[location] for location in times.location[mine].tolist()]
        calls = [sleeping_call(times.sites[at]) if isinstance(times, BlockedTimes) else None for at in mine.tolist()]
        return {
            "row": np.array(rows, np.int32), "kind": np.full(len(mine), kind, np.uint8),
            "begin": times.begin[mine], "end": times.end[mine], "ns": times.ns[mine],
            "text": np.array([str(call or "") for call in calls], np.str_),
        }  # fmt: skip
