# SPDX-License-Identifier: BSD-3-Clause
"""All panels of the whole run need one pass over the events, and have the numbers of a pass of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.synthetic_runs import archives, viewed
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.collectives import CollectiveTotals
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import MessageMatrix
from vtrace.analysis.questions.profile import CallTree, Profile, path_names
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.timeline.counter_bins import CounterSums
from vtrace.timeline.prepared import Prepared

KINDS = (Profile, CallTree, CollectiveTotals, Io, CounterSums, MessageMatrix)


def plain(found: Any) -> Any:
    """The answer as lists."""
    if isinstance(found, tuple):
        tree, numbers = found
        names = ["/".join(path_names(tree, np.arange(99), path)) for path in range(tree.rows)]
        path = np.array(names)[numbers["path"]]
        return sorted(names), sorted(
            zip(path.tolist(), *(each.tolist() for key, each in numbers.items() if key != "path"), strict=True)
        )
    if isinstance(found, Table):
        return {name: column.tolist() for name, column in found.items()}
    return plain(found.table())


def alone(trace: Trace, question: AnyQuestion, selection: Selection) -> Any:
    ask(trace, [question], selection)
    return plain(question.answer())


@pytest.mark.parametrize("locations", [None, (0,), (1,)])
@pytest.mark.parametrize("end", [None, 0])
def test_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locations: tuple[int, ...] | None, end: int | None
) -> None:
    trace = vtrace.open(viewed.write(tmp_path / "a.trace"))
    bounds = (None, None) if end is None else (0, trace.duration)
    selection = Selection(start=bounds[0], stop=bounds[1], locations=locations)
    prepared, passes, reader = Prepared(trace), list[int](), trace.reader
    monkeypatch.setattr(trace, "reader", lambda: passes.append(1) or reader())  # type: ignore[func-returns-value]
    got = {
        kind: plain(prepared.answers([kind()], selection)[0])
        for kind in KINDS
        if locations is None or kind != MessageMatrix
    }
    assert got[Profile]["calls"]
    assert len(passes) <= 2, "threads of one pass"
    for kind, found in got.items():
        assert found == alone(trace, kind(), selection), kind


def test_events_outside(tmp_path: Path) -> None:
    """A window from the start to the end leaves out events outside of the trace's time, which the whole run has."""
    trace = vtrace.open(archives.simple(tmp_path / "a.trace", {0: archives.calls(10)}, length=13))
    for selection in (Selection(start=0, stop=trace.duration), EVERYTHING, Selection(start=0, stop=trace.duration)):
        found = Prepared(trace).answers([Profile()], selection)[0]
        assert plain(found) == alone(trace, Profile(), selection)
