# SPDX-License-Identifier: BSD-3-Clause
"""Tiles of rows of several locations, against sums over the bins of their locations one by one."""

from __future__ import annotations

import random
from math import ceil
from typing import Any

import numpy as np
import pytest

import vtrace
from support.synthetic_runs.archives import Foreign
from vtrace.analysis.activity import waits
from vtrace.analysis.trace import Trace
from vtrace.console import QUIET, Console
from vtrace.errors import TileDamageError
from vtrace.io.sidecar.tile_file import BINS, COLUMN, TileFile
from vtrace.timeline.row_tiles import RowTiles
from vtrace.timeline.tile_cache import tiles_of

LOCATIONS, LENGTH = 14, 1_000_000
NAMES = ("f", "g", "MPI_Recv", "MPI_Barrier")
FEW = 8
"""csrc/kernels/tile_rows.c: with so many candidates the times of a region are added."""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Locations with flat calls: many in the first one, which so has finer tiles; none in the last one."""
    made = Foreign(tmp_path_factory.mktemp("rows") / "odd.trace")
    for location in range(LOCATIONS):
        draw, events = random.Random(location), list[tuple[Any, ...]]()
        calls = 126_000 if not location else 400 * location if location + 1 < LOCATIONS else 0
        times = sorted(draw.sample(range(LENGTH), 2 * calls))
        for begin, end in zip(times[::2], times[1::2], strict=True):
            region = draw.randrange(len(NAMES))
            events += [(begin, "Enter", region), (end, "Leave", region)]
        made.events(location, events)
    made.begin_definitions()
    made.machine(groups=1, length=LENGTH)
    for location in range(LOCATIONS):
        made.location(location)
    for region, name in enumerate(NAMES):
        made.region(region, name, paradigm=4 if name.startswith("MPI") else 1)
    return vtrace.open(made.close())


@pytest.fixture(scope="module")
def tiles(trace: Trace) -> TileFile:
    return tiles_of(trace, Console("test", QUIET))


def share(ns: float, whole: int) -> int:
    return min(255, ceil(255 * (ns / whole)))


def candidates(columns: Any, joins: int) -> list[tuple[int, int]]:
    """The regions and times of a bin of a location: the largest of each bin that is joined, then all second ones."""
    names = (("REGION", "TIME"), ("SECOND", "SECOND_TIME"))
    rows = [[tuple(int(columns[COLUMN[name], at]) for name in pair) for at in range(joins)] for pair in names]
    return [*rows[0], *rows[1]]  # type: ignore[list-item]


def expected(trace: Trace, tiles: TileFile, row: list[int], level: int, begin: int) -> dict[str, int]:
    """The values of one bin of a row."""
    classes, whole = len(tiles.classes), len(row) * (1 << level)
    sums, found = np.zeros(COLUMN["FIRST_CLASS"] + classes, np.int64), list[tuple[int, int]]()
    for location in row:
        finer = max((each for each in tiles.levels(location) if each <= level), default=None)
        if finer is None:
            continue
        joins = 1 << (level - finer)
        bins = tiles.bins(location, finer, begin * joins, (begin + 1) * joins).astype(np.int64)
        bins = np.pad(bins, ((0, 0), (0, joins - bins.shape[1])))
        deepest = max(sums[COLUMN["DEPTH"]], bins[COLUMN["DEPTH"]].max())
        sums += bins.sum(axis=1)
        sums[COLUMN["DEPTH"]] = deepest
        found += candidates(bins, joins)
    kinds = trace.regions["class"].tolist()
    waiting = waits(trace.regions["name"].tolist(), trace.regions["activity"]).tolist()
    times = [sum(ns for other, ns in found if other == region) if len(found) <= FEW else own for region, own in found]
    best = times.index(max(times)) if times else 0
    values = {"region": found[best][0] if times else 0, "share": share(times[best], whole) if times else 0,
              "events": int(sums[COLUMN["EVENTS"]]), "depth": int(sums[COLUMN["DEPTH"]])}  # fmt: skip
    for c in range(classes):
        values[f"c{c}"] = share(int(sums[COLUMN["FIRST_CLASS"] + c]), whole)
        waited = sum(ns for region, ns in found if region and waiting[region - 1] and kinds[region - 1] == c)
        values[f"w{c}"] = min(values[f"c{c}"], share(waited, whole))
    return values


@pytest.mark.parametrize("size", [1, 2, 4, 5, LOCATIONS])
def test_rows(trace: Trace, tiles: TileFile, size: int) -> None:
    made, draw = RowTiles(trace, tiles), random.Random(size)
    rows = [[0, *draw.sample(range(1, LOCATIONS), size - 1)], draw.sample(range(1, LOCATIONS), min(size, 13))]
    finest = int(made.finest.min())
    assert finest < made.finest[1]
    for level in range(finest, made.top + 1):
        number = draw.randrange(-(-LENGTH // (BINS << level)))
        found = made.columns([np.array(row) for row in rows], [(level, number)], lambda: True)[0]
        for at, row in enumerate(rows):
            for b in draw.sample(range(BINS), 40):
                wanted = expected(trace, tiles, row, level, number * BINS + b)
                got = {name: int(found[name][at * BINS + b]) if name in found else 0 for name in wanted}
                assert got == wanted, (row, level, number, b)


def test_a_region_that_does_not_exist(trace: Trace, tiles: TileFile) -> None:
    made = RowTiles(trace, tiles)
    made._waits = made._waits[:1]
    with pytest.raises(TileDamageError, match="is damaged"):
        made.columns([np.arange(LOCATIONS)], [(made.top, 0)], lambda: True)
