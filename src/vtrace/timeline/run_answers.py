# SPDX-License-Identifier: BSD-3-Clause
"""The answers to the questions of all panels about the whole run: the first one asked for reads the events for all, and
the answers for some locations are rows of those for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.questions.collectives import CollectiveTotals
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import MessageMatrix
from vtrace.analysis.questions.profile import CallTree, Profile, pruned
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.timeline.counter_bins import CounterSums

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.analysis.source import Source
    from vtrace.timeline.window_sums import WindowSums

_BY_LOCATION: dict[type[AnyQuestion], Callable[[Any, Callable[[Table], Table]], Any]] = {
    Profile: lambda found, take: take(found), CollectiveTotals: lambda found, take: take(found),
    Io: lambda found, take: take(found), CounterSums: lambda found, take: take(found),
    CallTree: lambda found, take: pruned(found[0], take(found[1])),
}  # fmt: skip
"""Makes an answer about some locations from that about all."""


class RunAnswers:
    """Threads may share it."""

    def __init__(self, trace: Source, sums: WindowSums | None) -> None:
        """sums: answers some of the questions without a pass."""
        kinds: list[type[AnyQuestion]] = [*_BY_LOCATION, MessageMatrix]
        if trace.contexts.rows:  # then panels have other questions about call paths
            kinds.remove(CallTree)
        self._trace, self._lock = trace, Lock()
        self._kinds = [kind for kind in kinds if not (sums and sums.answers(kind()))]
        self._found: dict[type[AnyQuestion], Any] = {}
        self._within = False

    def answers(self, questions: Sequence[AnyQuestion], selection: Selection) -> list[Any] | None:
        """The answers to questions of panels about the whole run; None: the questions or the selection are others.
        Reads the events at the first call."""
        kinds, (start, stop) = [type(question) for question in questions], selection.bounds
        if start > 0 or stop < self._trace.duration or not {*kinds} <= {*self._kinds}:
            return None
        rows = selection.all_rows(self._trace)
        some = len(rows) < self._trace.locations.rows
        if some and MessageMatrix in kinds:
            return None
        with self._lock:
            if not self._found:
                asked = [kind() for kind in self._kinds]
                self._within = ask(self._trace, asked).is_within(0, self._trace.duration)
                self._found = {type(each): each.answer() for each in asked}
        if selection.bounds != EVERYTHING.bounds and not self._within:
            return None  # events outside of the trace's time are not in the window
        if not some:
            return [self._found[kind] for kind in kinds]
        chosen = np.zeros(self._trace.locations.rows, bool)
        chosen[rows] = True

        def take(table: Table) -> Table:
            return table.take(chosen[table["location"]])

        return [_BY_LOCATION[kind](self._found[kind], take) for kind in kinds]
