# SPDX-License-Identifier: BSD-3-Clause
"""Counters of rows that the server sends to the page, against the otf2 package's reader, value by value."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import _otf2
import pytest

from support.readers import archive as reader
from support.recorded_archives import unpack
from support.synthetic_runs.archives import Foreign
from support.users.page_site import Asked
from vtrace.timeline import curves, large_data, tile_pass
from vtrace.timeline.answers import BadRequest

LENGTH = 1000
CLASSES = {0: ["width", "height"], 1: ["depth"]}
"""The counters of each metric class."""


NAMES = ("width", "height", "depth")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return written(tmp_path / "counted.trace", NAMES)


def written(where: Path, names: tuple[str, ...]) -> Path:
    """Two threads with two counters each, one location of type METRIC with a third one; values at equal times."""
    rng, archive = random.Random(4), Foreign(where)
    kinds = [_otf2.TYPE_DOUBLE, _otf2.TYPE_DOUBLE]
    for location in (0, 1):
        times = sorted(rng.choices(range(100 * location, 900), k=150))
        values = [
            [_otf2.MetricValue(floating_point=rng.randrange(-50, 50)), _otf2.MetricValue(floating_point=time / 4)]
            for time in times
        ]
        readings = [(time, "Metric", 0, kinds, two) for time, two in zip(times, values, strict=True)]
        archive.events(location, [(0, "Enter", 0), *readings, (LENGTH, "Leave", 0)])
    one = _otf2.MetricValue(floating_point=7)
    archive.events(2, [(300, "Metric", 1, kinds[:1], [one])])
    archive.begin_definitions()
    archive.machine(length=LENGTH)
    archive.location(0)
    archive.location(1)
    archive.location(2, kind=3)
    archive.region(0, "main")
    member = _otf2.METRIC_TYPE_OTHER.value, _otf2.METRIC_ABSOLUTE_POINT.value, _otf2.TYPE_DOUBLE.value
    for number, name in enumerate(names):
        archive.define("MetricMember", number, name, "", *member, 0, 0, "m")
    archive.define("MetricClass", 0, [0, 1], 0, 0)
    archive.define("MetricClass", 1, [2], 0, 0)
    return archive.close().parent


def values_of(trace: reader.Trace, location: int, name: str) -> list[tuple[int, float]]:
    """Times (ns) and values of a counter."""
    found = []
    for event in trace.of(location):
        if event.kind == "Metric" and name in CLASSES[event.attrs["metric"]]:
            value = event.attrs["values"][CLASSES[event.attrs["metric"]].index(name)]
            found.append(((event.time - trace.offset) * 10**9 // trace.resolution, float(value)))
    return found


def column(values: list[tuple[int, float]], low: int, high: int) -> tuple[float, ...] | None:
    """Lowest, mean and highest value of a counter in [low, high), else the last one before."""
    inside = [value for time, value in values if low <= time < high]
    if not inside:
        before = [value for time, value in values if time < low]
        return (before[-1],) * 3 if before else None
    return min(inside), sum(inside) / len(inside), max(inside)


Of = Callable[[list[tuple[int, float]], int, int], "tuple[float, ...] | None"]


def expected(
    trace: reader.Trace, rows: list[list[int]], name: str, window: tuple[int, int], bins: int, of: Of = column
) -> list[float]:
    """Low, mean and high of each column of each row, flat. of: gives those of a location."""
    (start, stop), found = window, []
    for locations in rows:
        every = [values_of(trace, location, name) for location in locations]
        for at in range(bins):
            low, high = (start - ((start - stop) * n // bins) for n in (at, at + 1))  # rounded up
            parts = [part for values in every if (part := of(values, low, high)) is not None]
            low_means_high = [*zip(*parts, strict=True)] or [[math.nan]] * 3
            means = low_means_high[1]
            found += [min(low_means_high[0]), sum(means) / len(means), max(low_means_high[2])]
    return found


def answered(asked: Asked, rows: str, counter: int, window: tuple[int, int], bins: int) -> list[float]:
    found = asked.table("curves", rows=rows, counter=counter, bins=bins, **{"from": window[0], "to": window[1]})
    assert found.notes["bins"] == bins
    return [
        value for three in zip(*(found.columns[n] for n in ("low", "mean", "high")), strict=True) for value in three
    ]


def test_curves(place: Path) -> None:
    """All counters of single and of joined rows in random windows."""
    trace, asked, rng = reader.read(place), Asked(place), random.Random(8)
    (about,) = asked.json("traces")
    names = [each["name"] for each in about["counters"]]
    assert names == [*NAMES]
    seen = 0
    for number in range(12):
        first, last = sorted(rng.sample(range(LENGTH), 2)) if number else (0, LENGTH)
        window = first, last
        for counter, name in enumerate(names):
            own = [[0], [1], [0, 1]] if name != "depth" else [[2], [2], [2]]
            for bins in (1, 9, 70):
                found = answered(asked, "l0,l1,r0-1", counter, window, bins)
                right = expected(trace, own, name, window, bins)
                assert found == pytest.approx(right, nan_ok=True), (window, name, bins)
                seen += sum(not math.isnan(value) for value in right)
    assert seen > 5000
    with pytest.raises(BadRequest):
        asked.table("curves", rows="l0", counter=3, bins=1, **{"from": 0, "to": 9})


def test_counters_beyond_the_most_are_not_in_the_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several members with one name are one counter, so the page has fewer names than members."""
    monkeypatch.setattr(curves, "_COUNTERS", 2)
    for names, shown, counts in (
        (NAMES, ["width", "height"], [300, 300]),
        (("width", "width", "depth"), ["width"], [600]),
    ):
        asked = Asked(written(tmp_path / f"{names[1]}.trace", names))
        (about,) = asked.json("traces")
        assert [each["name"] for each in about["counters"]] == shown
        found = asked.table("panel", name="counters", rows="", **{"from": 0, "to": LENGTH}).columns
        assert (found["counter"], found["count"]) == ([*range(len(shown))], counts)
        assert asked.table("panel", name="counters", rows="", **{"from": 950, "to": LENGTH}).columns["counter"] == []


def test_counters_of_score_p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are integers, and a tick of the clock is less than 1 ns."""
    monkeypatch.setitem(CLASSES, 0, ["ru_utime", "ru_majflt", "ru_minflt"])
    archive = unpack("scorep-io", tmp_path)
    trace, asked = reader.read(archive), Asked(archive)
    (about,) = asked.json("traces")
    names = [each["name"] for each in about["counters"]]
    assert {"ru_utime", "ru_majflt", "ru_minflt"} <= {*names}
    window = 0, about["duration"]
    found = answered(asked, "l0", names.index("ru_minflt"), window, 64)
    assert found == pytest.approx(expected(trace, [[0]], "ru_minflt", window, 64), nan_ok=True)
    assert found[-1] == 731


def test_too_many_values(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowest and highest values stay exact; of a large trace the events of the window are read, up to a limit."""
    monkeypatch.setattr(curves, "_VALUES", 3 * 40)
    trace, words = reader.read(place), {"rows": "l0,l1", "counter": 0, "bins": 1, "from": 0, "to": LENGTH}
    found = Asked(place).table("curves", **words)
    assert found.notes["lines"] == ["Many values: the lowest and highest are exact, means are approximate."]
    right = expected(trace, [[0], [1]], "width", (0, LENGTH), 1)
    assert [*found.columns["low"], *found.columns["high"]] == [right[0], right[3], right[2], right[5]]
    monkeypatch.setattr(tile_pass, "LARGE", -1)
    near = Asked(place).table("curves", **words)
    assert near.columns["mean"] == pytest.approx([right[1], right[4]])


BIN = 64


def of_bins(values: list[tuple[int, float]], low: int, high: int) -> tuple[float, ...] | None:
    """As column, of all values in the bins of BIN ns that touch [low, high)."""
    return column(values, low // BIN * BIN, -(-high // BIN) * BIN)


def test_bins_of_a_large_trace(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For locations with too many events in the window, the curves are those of bins, in wide and in narrow windows."""
    monkeypatch.setattr(tile_pass, "LARGE", -1)
    monkeypatch.setattr(large_data, "_NEAR", 10)
    monkeypatch.setattr("vtrace.timeline.counter_bins._MOST", LENGTH // BIN + 1)
    monkeypatch.setattr("vtrace.timeline.window_reader.WindowReader.window.__defaults__", (10,))
    trace, asked = reader.read(place), Asked(place)
    line = "2 locations: bins of 6.4e-05 ms; zoom in for single values."
    for bins, window in ((1, (0, LENGTH)), (7, (0, LENGTH)), (40, (100, 900)), (300, (333, 666)), (9, (850, LENGTH))):
        words = {"rows": "l0,l1,r0-1", "counter": 0, "bins": bins, "from": window[0], "to": window[1]}
        assert asked.table("curves", **words).notes["lines"] == [line]
        found = answered(asked, "l0,l1,r0-1", 0, window, bins)
        right = expected(trace, [[0], [1], [0, 1]], "width", window, bins, of_bins)
        assert found == pytest.approx(right, nan_ok=True), (window, bins)
    series = asked.table("counters", rows="l0", **{"from": 0, "to": LENGTH})
    pairs = zip(series.columns["series"], series.columns["value"], strict=True)
    shown = [value for number, value in pairs if series.notes["series"][number]["name"] == "width"]
    bins = {time // BIN for time, _ in values_of(trace, 0, "width")}
    means = [of_bins(values_of(trace, 0, "width"), place * BIN, place * BIN + 1) for place in sorted(bins)]
    assert shown == pytest.approx([three[1] for three in means if three])
