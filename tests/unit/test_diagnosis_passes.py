# SPDX-License-Identifier: BSD-3-Clause
"""A diagnosis reads the events once for all its questions, and has the answers of single questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.recorded_archives import unpack
from support.synthetic_runs.random_mpi import archive, program
from vtrace.analysis import shared_scan
from vtrace.analysis.findings import iterations
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace, open_trace

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
    met, scan = list[set[str]](), shared_scan.scan

    def counted(trace: Trace, questions: Sequence[AnyQuestion], selection: Selection, **named: Any) -> Any:
        met.append({type(each).__name__ for each in questions})
        return scan(trace, questions, selection, **named)

    monkeypatch.setattr(shared_scan, "scan", counted)
    trace = Trace(anchor)
    found = trace.diagnosis(window)
    assert len(met) == passes, met
    assert found.mpi
    for name, table in expected.items():
        same = getattr(found.mpi, name)
        assert list(same) == list(table)
        assert same.notes["caveats"] == table.notes["caveats"]
        assert told(trace, same) == told(alone, table), name


@pytest.mark.parametrize("most", [iterations._OPEN, 10])
def test_iterations(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass keeps the calls of the path that the first process repeats: only of a process with too many calls are
    they read once more."""
    monkeypatch.setattr(iterations, "_OPEN", most)
    met, scan = list[Any](), shared_scan.scan

    def watched(trace: Trace, questions: Sequence[AnyQuestion], selection: Selection, **named: Any) -> Any:
        met.append(
            ("RepeatedCalls" in {type(each).__name__ for each in questions}, len(questions) > 1, selection.locations)
        )
        return scan(trace, questions, selection, **named)

    monkeypatch.setattr(shared_scan, "scan", watched)
    trace = open_trace(unpack("scorep-heat2d", tmp_path))
    found = trace.diagnosis(Selection()).iterations
    assert met == [(True, True, None), *([(True, False, (0,))] if most < 100 else [])]
    assert found
    assert (found.region, len(found.begins)) == ("exchange_halo", 99)
    calls = trace.slices()
    mine = calls["region"] == trace.regions["name"].tolist().index(found.region)
    for column, location in enumerate(found.locations):
        begins = calls["begin"][mine & (calls["location"] == location)].tolist()
        assert found.begins[:, column].tolist() == begins[:-1]


def test_best_path_has_too_many_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass keeps the calls of the first path that the diagnosis will try, not of one that it leaves out: else all
    processes are read once more."""
    best, met, scan = iterations._repeated, list[Any](), shared_scan.scan

    def most_calls_first(facts: Any) -> list[tuple[int, str]]:
        calls = iterations._calls(facts)
        return sorted(best(facts), key=lambda each: -calls[each[0]])

    def watched(trace: Trace, questions: Sequence[AnyQuestion], selection: Selection, **named: Any) -> Any:
        met.append(selection.locations)
        return scan(trace, questions, selection, **named)

    monkeypatch.setattr(iterations, "_repeated", most_calls_first)
    monkeypatch.setattr(iterations, "_MOST", 1000)  # MPI_Isend and MPI_Irecv have 1600 calls, exchange_halo 400
    monkeypatch.setattr(iterations, "_OPEN", 10)
    monkeypatch.setattr(shared_scan, "scan", watched)
    found = open_trace(unpack("scorep-heat2d", tmp_path)).diagnosis(Selection()).iterations
    assert found
    assert found.region == "exchange_halo"
    assert met == [None, (0,)]


@pytest.mark.parametrize(("name", "most"), [(None, 3), ("exchange_halo", 99), ("exchange_halo", 250)])
def test_too_many_iterations(name: str | None, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations that lack some of their calls would be compared with other ones: none are reported."""
    monkeypatch.setattr(iterations, "_MOST", most)
    found = open_trace(unpack("scorep-heat2d", tmp_path)).diagnosis(Selection(), name)
    assert found.iterations is None
    assert [line for line in found.notes if "are not compared" in line]
