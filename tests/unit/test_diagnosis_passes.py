# SPDX-License-Identifier: BSD-3-Clause
"""A diagnosis reads the events once for all its questions, and has the answers of single questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.synthetic_runs.random_mpi import archive, program
from vtrace.analysis import source
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

NAMES = ("critical_path", "waits", "delays", "efficiencies")


def told(trace: Trace, table: Table) -> list[str]:
    """The rows of a table, with the names of call paths: threads number the paths as they meet them."""
    names = trace.regions["name"]
    rows = []
    for row in table.records():
        for column in row.keys() & {"path", "partner_path", "waiting_path"}:
            if row[column] >= 0:
                row[column] = tuple(path_names(table.paths, names, row[column]))
        rows.append(str({name: round(v, 3) if isinstance(v, float) else v for name, v in row.items()}))
    return sorted(rows)


@pytest.mark.parametrize(("window", "passes"), [(Selection(), 1), (Selection.of(500, 2000, None), 2)], ids=str)
def test_one_pass(window: Selection, passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the run needs a second pass: messages find their partners only among all events."""
    anchor = archive(tmp_path / "a.trace", program(1, causal=True))
    alone = Trace(anchor)
    expected = {name: getattr(alone, name)(**window.arguments()) for name in NAMES}
    met, scan = list[set[str]](), source.scan

    def counted(trace: Trace, questions: Sequence[AnyQuestion], places: Any, *more: Any, **named: Any) -> Any:
        if places is None or len(places) > 1:  # the iterations are those of the first process, if all repeat the same
            met.append({type(question).__name__ for question in questions})
        return scan(trace, questions, places, *more, **named)

    monkeypatch.setattr(source, "scan", counted)
    trace = Trace(anchor)
    found = trace.diagnosis(window)
    assert len(met) == passes, met
    assert found.mpi
    for name, table in expected.items():
        same = getattr(found.mpi, name)
        assert list(same) == list(table)
        assert same.notes["caveats"] == table.notes["caveats"]
        assert told(trace, same) == told(alone, table), name
