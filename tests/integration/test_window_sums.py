# SPDX-License-Identifier: BSD-3-Clause
"""Profile and call tree of windows of a large trace: the tables beside the tiles give the numbers of a plain pass over
the events, to the nanosecond."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from test_tiles import MANY_BINS, one_archive, opened, tiles_made

import vtrace
from support.build.builder import Builder
from support.synthetic_runs.archives import Foreign
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.profile import CallTree, Profile
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.source import CALLS, Source
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.io.archive.reader_abi import event_kinds
from vtrace.io.sidecar import sidecar
from vtrace.timeline import tile_pass, time_sums
from vtrace.timeline.prepared import Prepared
from vtrace.timeline.window_sums import WindowSums

ARCHIVES = ("mpi_messages", "polls", "nested", *range(MANY_BINS + 1))
NUMBERS = ("calls", "joined", "inclusive", "exclusive", "total", "min", "max")


@pytest.fixture(params=ARCHIVES)
def trace(request: pytest.FixtureRequest, build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setattr(tile_pass, "LARGE", -1)
    made = polls(tmp_path / "a.trace") if request.param == "polls" else one_archive(request.param, build, tmp_path)
    return vtrace.open(made)


def polls(where: Path) -> Path:
    """Calls of several thousand ns that stand for many polls in a row, on two locations, and a call that never ends."""
    made, draw = Foreign(where), random.Random(2)
    for location in range(2):
        events: list[tuple[Any, ...]] = [(0, "Enter", 0), (5, "Enter", 2)]
        time = 10
        for _ in range(300):
            time += draw.randrange(1, 900)
            events.append((time, "Enter", 1))
            time += draw.randrange(1, 9000)
            events.append((time, "Leave", 1, {0: draw.randrange(2, 500)}))
        made.events(location, [*events, (time + 7, "Leave", 2)])
    made.begin_definitions()
    made.machine(length=1_500_000)
    for location in range(2):
        made.location(location)
    for region, name in enumerate(("main", "MPI_Test", "f")):
        made.region(region, name)
    made.define("Attribute", 0, "calls", CALLS, 4)
    return made.close()


def windows(trace: Trace, at: list[int], seed: int) -> list[tuple[int | None, int | None]]:
    """Windows of all widths, some of which begin or end at a border, before the start or after the end."""
    draw, duration = random.Random(seed), trace.duration
    found: list[tuple[int | None, int | None]] = [(None, None), (0, duration), (0, 1), (duration, duration + 10)]
    for _ in range(12):
        start = draw.randrange(-10, duration + 1)
        found.append((start, start + 1 + draw.randrange(max(1, duration // draw.choice([1, 3, 100, 10**5])))))
    if at:
        found += [(draw.choice(at), duration + 1), (0, draw.choice(at)), (at[0], at[-1]), (at[0] + 1, at[-1] + 1)]
    return [(start, stop) for start, stop in found if start is None or stop is None or start < stop]


class EveryEvent(Question[Part, None]):
    """Lets a pass read all events, as the tables have them: any event ends a flush."""

    kinds = frozenset(event_kinds())

    def part(self, trace: Source, location: int) -> Part:
        return Part()


def rows(table: Table, *keys: str) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[name].tolist() for name in (*keys, *NUMBERS)), strict=True))


def by_path(found: tuple[Table, Table]) -> list[tuple[Any, ...]]:
    """The numbers with the regions of each path."""
    tree, numbers = found
    texts = [""]
    for parent, region in zip(tree["parent"].tolist()[1:], tree["region"].tolist()[1:], strict=True):
        texts.append(f"{texts[parent]} {region}")
    return sorted((texts[path], *rest) for path, *rest in rows(numbers, "path", "location"))


def test_windows(trace: Trace) -> None:
    sums = WindowSums(trace, opened(trace))
    assert sums.known
    if "MPI_Test" in trace.regions["name"].tolist():
        assert sums.answer(Profile(), Selection())["joined"].sum()
    for number, (start, stop) in enumerate(windows(trace, time_sums.borders(trace).tolist(), 5)):
        locations = None if number % 3 else tuple(range(0, trace.locations.rows, 1 + number % 2))
        selection = Selection(start=start, stop=stop, locations=locations)
        profile, tree = Profile(), CallTree()
        ask(trace, [profile, tree, EveryEvent()], selection)
        assert rows(sums.answer(Profile(), selection), "location", "region") == rows(
            profile.answer(), "location", "region"
        )
        assert by_path(sums.answer(CallTree(), selection)) == by_path(tree.answer())


@pytest.mark.parametrize("trace", [MANY_BINS], indirect=True)
def test_whole_run_without_a_pass(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the profile of the run nor that of some of its parts reads events."""
    sums = WindowSums(trace, opened(trace))
    prepared = Prepared(trace, sums)
    at = time_sums.borders(trace).tolist()
    monkeypatch.setattr(trace, "reader", lambda: pytest.fail("events are read"))
    whole = prepared.answers([Profile()], Selection())[0]
    assert whole.rows
    part = prepared.answers([Profile()], Selection(start=at[len(at) // 2], stop=trace.duration + 1))[0]
    assert 0 < part["exclusive"].sum() < whole["exclusive"].sum()


@pytest.mark.parametrize("trace", [MANY_BINS], indirect=True)
def test_too_many_rows(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tables the events are read."""
    monkeypatch.setattr(time_sums, "_ROWS", 3)
    sums = WindowSums(trace, opened(trace))
    assert not sums.known
    assert Prepared(trace, sums).answers([Profile()], Selection())[0].rows


@pytest.mark.parametrize("trace", [MANY_BINS], indirect=True)
def test_same_tables_for_any_threads(trace: Trace) -> None:
    folder, made = trace.anchor.parent, []
    for threads in (1, 3):
        trace.threads = threads
        opened(trace)
        made.append(tiles_made(folder))
        for name in made[-1]:
            (folder / sidecar.FOLDER / name).unlink()
    assert made[0] == made[1]


@pytest.mark.parametrize("trace", [MANY_BINS], indirect=True)
@pytest.mark.parametrize("column", ["parent", "depth"])
def test_damaged_paths(trace: Trace, column: str) -> None:
    """A path that is above itself, or of a wrong depth: the events are read."""
    tiles = opened(trace)
    columns = tiles.tables["paths"].columns
    columns[column] = columns[column].copy()
    columns[column][1] = 1 if column == "parent" else 4_000_000_000
    assert not WindowSums(trace, tiles).known
