# SPDX-License-Identifier: BSD-3-Clause
"""Locations with few events, which tiles take at once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import vtrace
from support.synthetic_runs.archives import Foreign
from vtrace.console import QUIET, Console
from vtrace.io.archive import reader
from vtrace.io.archive.batches import ALWAYS, BatchBuffer
from vtrace.io.archive.packed_reader import EventReader
from vtrace.io.archive.reader import Reader
from vtrace.timeline.short_locations import ShortLocations
from vtrace.timeline.tile_cache import tiles_of

LENGTH = 1_000_000
SIZES = [0, 1, 30, 2000, 2500, 40_000, 12, 500]
"""Pairs of Enter and Leave of each location. 2500: events with a checkpoint; 40 000: too many to be taken at once."""


@pytest.fixture(scope="module")
def anchor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Foreign(tmp_path_factory.mktemp("short") / "odd.trace")
    for location, calls in enumerate(SIZES):
        draw, events = random.Random(location), list[tuple[Any, ...]]()
        times = sorted(draw.sample(range(LENGTH), 2 * calls))
        for begin, end in zip(times[::2], times[1::2], strict=True):
            region = draw.randrange(3)
            events += [(begin, "Enter", region), (end, "Leave", region)]
        made.events(location, events)
    made.begin_definitions()
    made.machine(groups=1, length=LENGTH)
    for location in range(len(SIZES)):
        made.location(location)
    for region, name in enumerate(("f", "g", "MPI_Recv")):
        made.region(region, name, paradigm=4 if name.startswith("MPI") else 1)
    return made.close()


def tile_bytes(anchor: Path, monkeypatch: pytest.MonkeyPatch, taken: list[int]) -> dict[str, bytes]:
    folder = anchor.parent / "vtrace"
    for file in folder.glob("tiles*"):
        file.unlink()
    take = ShortLocations.take

    def noted(self: ShortLocations, location: int, *others: Any) -> None:
        taken.append(location)
        take(self, location, *others)

    monkeypatch.setattr(ShortLocations, "take", noted)
    trace = vtrace.open(anchor)
    trace.threads = 1
    tiles_of(trace, Console("test", QUIET)).close()
    monkeypatch.undo()
    return {file.name: file.read_bytes() for file in sorted(folder.glob("tiles*"))}


def test_tiles_are_the_same(anchor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, none = list[int](), list[int]()
    at_once = tile_bytes(anchor, monkeypatch, taken)
    with monkeypatch.context() as changed:
        changed.setattr(Reader, "whole", lambda *words, **others: False)
        in_steps = tile_bytes(anchor, changed, none)
    assert at_once == in_steps
    assert sorted(taken) == [row for row, calls in enumerate(SIZES) if calls < 40_000]
    assert not none


def test_the_same_events(anchor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, batch = vtrace.open(anchor), BatchBuffer()
    monkeypatch.setattr(reader, "_TOGETHER", 3)  # several OTF2_Readers
    with trace.reader() as source, trace.reader() as steps:
        for location, calls in enumerate(SIZES):
            for kinds in (None, {"Leave"}):
                is_taken = source.whole(location, batch, kinds)
                batch.refresh()
                found = batch.time.tolist(), batch.kind.tolist(), batch.ref.tolist()
                with monkeypatch.context() as changed:
                    changed.setattr(steps, "_at_once", lambda *words, **others: False)
                    expected: tuple[list[int], list[int], list[int]] = [], [], []
                    for piece in steps.batches(location, BatchBuffer(), kinds):
                        for column, values in zip(expected, (piece.time, piece.kind, piece.ref), strict=True):
                            column += values.tolist()
                if is_taken:
                    assert found == expected
                    assert source.events == 2 * calls == steps.events
                else:
                    assert calls == 40_000


@pytest.mark.parametrize("first", [(1, ALWAYS), (1500, 7)])
def test_windows_are_read_at_once(anchor: Path, monkeypatch: pytest.MonkeyPatch, first: tuple[int, int]) -> None:
    """The events of a window of a location, from its start or from a checkpoint."""

    def events(source: EventReader) -> list[tuple[list[int], list[int]]]:
        found, batch, stop = list[tuple[list[int], list[int]]](), BatchBuffer(), LENGTH // 2

        def take() -> None:
            found.append((batch.time.tolist(), batch.ref.tolist()))

        source.read(4, batch, take, kinds={"Enter", "Leave"}, stop=stop, first=first)
        assert batch.fields.ended
        return found

    with vtrace.open(anchor).reader() as source:
        with monkeypatch.context() as changed:
            changed.setattr(source, "_at_once", lambda *words, **others: False)
            expected = events(source)
        monkeypatch.setattr(source, "_events", lambda *words: pytest.fail("read step by step"))
        assert events(source) == expected
        assert len(expected[0][0]) > 900


def test_a_cut_file_is_left_to_the_steps(anchor: Path) -> None:
    file = anchor.with_suffix("") / "3.evt"
    whole = file.read_bytes()
    try:
        file.write_bytes(whole[:-2])
        with vtrace.open(anchor).reader() as source:
            assert not source.whole(3, BatchBuffer())
            assert source.whole(2, BatchBuffer())
            assert not source.whole(2, BatchBuffer(), expected=61)
    finally:
        file.write_bytes(whole)
