# SPDX-License-Identifier: BSD-3-Clause
"""Marks of outliers and waits that the server sends to the page, against the otf2 package's reader, call by call."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from support.oracles import slow
from support.readers import archive as reader
from support.synthetic_runs import archives, viewed
from support.users.page_site import Asked, PageTable
from vtrace.analysis.findings.finding import store_findings
from vtrace.timeline import rare_calls, tile_pass
from vtrace.timeline.rare_calls import OUTLIER, PARTS, TIMES, WAIT

Mark = tuple[int, int, int, int, int, int, float]
"""Row, kind, begin, end, depth, region, size."""


def uneven(rng: random.Random, count: int) -> list[tuple[object, ...]]:
    """Calls of main to f, of which a few last much longer than the others; several begin at one time."""
    found: list[tuple[object, ...]] = [(0, "Enter", 0)]
    now = 1
    for _ in range(count):
        now += rng.choice((0, 1, 40))
        found.append((now, "Enter", 1))
        now += rng.choice((1, 2, 3)) if rng.random() < 0.97 else rng.randrange(20, 400)
        found.append((now, "Leave", 1))
    return [*found, (now + 5, "Leave", 0)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(11)
    events = {location: uneven(rng, 900) for location in range(3)}
    length = max(int(str(each[-1][0])) for each in events.values())
    return archives.simple(tmp_path_factory.mktemp("rare") / "rare.trace", events, length=length).parent


def marks(found: PageTable) -> list[Mark]:
    names = ("row", "kind", "begin", "end", "depth", "region", "size")
    return list(zip(*(found.columns[name] for name in names), strict=True))


def largest(calls: Iterable[tuple[Mark, int]], bins: int, start: int, stop: int) -> dict[tuple[int, int, int], float]:
    """The largest size by row, bin and kind."""
    found: dict[tuple[int, int, int], float] = defaultdict(float)
    for (row, kind, begin, _, _, _, size), _ in calls:
        key = row, kind, max(0, begin - start) * bins // (stop - start)
        found[key] = max(found[key], size)
    return dict(found)


def slow_outliers(trace: reader.Trace, row_of: Callable[[int], int]) -> list[tuple[Mark, int]]:
    """Marks of all outliers, and their locations."""
    every = slow.calls(trace)
    times: dict[int, list[int]] = defaultdict(list)
    for call in every:
        times[call.path[-1]].append(call.end - call.begin)
    found = []
    for call in every:
        same, region = times[call.path[-1]], call.path[-1]
        size = (call.end - call.begin) / (sum(same) / len(same)) if sum(same) else 0
        if size >= TIMES:
            mark = row_of(call.location), OUTLIER, call.begin, call.end, len(call.path) - 1, region, size
            found.append((mark, call.location))
    return found


@pytest.mark.parametrize(("rows", "row_of"), [("l2,l0,l1", [1, 2, 0]), ("r0-1,l2", [0, 0, 1])])
def test_outliers(place: Path, rows: str, row_of: list[int]) -> None:
    """The largest mark of each row and bin, in random windows."""
    trace, asked = reader.read(place), Asked(place)
    every = slow_outliers(trace, lambda location: row_of[location])
    assert 20 < len(every) < 300
    rng = random.Random(5)
    for bins in (1, 7, 300):
        begin, end = sorted(rng.sample(range(trace.length), 2))
        for start, stop in ((0, trace.length), (begin, end)):
            found = marks(asked.table("rare", rows=rows, bins=bins, every=0, **{"from": start, "to": stop}))
            inside = [one for one in every if one[0][2] < stop and one[0][3] > start]
            assert largest(((mark, 0) for mark in found), bins, start, stop) == pytest.approx(
                largest(inside, bins, start, stop)
            )
            keys = [(row, max(0, at - start) * bins // (stop - start)) for row, _, at, *_ in found]
            assert len(set(keys)) == len(keys)
            assert keys == sorted(keys)
            assert {mark[:6] for mark in found} <= {mark[:6] for mark, _ in inside}


def test_more_than_fit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest marks are kept, and a line says so."""
    monkeypatch.setattr(rare_calls, "_MOST", 9)
    trace = reader.read(place)
    words = {"rows": "r0-2", "from": 0, "to": trace.length, "bins": 4096}
    found = Asked(place).table("rare", every=0, **words)
    sizes = sorted((mark[6] for mark, _ in slow_outliers(trace, lambda _: 0)), reverse=True)
    assert found.notes["lines"][0] == "Only the 9 largest outliers are marked."
    assert 0 < len(found.columns["size"]) <= 9
    assert sorted(found.columns["size"], reverse=True) == pytest.approx(sizes[: len(found.columns["size"])])


def test_waits(tmp_path: Path) -> None:
    """Waits of at least a part of the trace's time: on request, or if a diagnosis is stored."""
    anchor = viewed.write(tmp_path / "odd.trace")
    trace = reader.read(anchor.parent)
    words = {"rows": "l0,l1", "from": 0, "to": trace.length, "bins": 4096}
    every = slow.calls(trace)
    begins = {(call.location, call.end): call.begin for call in every}
    sends = {(call.location, call.begin): call for call in every if call.path[-1] == viewed.SEND}
    late = []
    for sender, receiver, send, receive, *_ in slow.messages(trace):
        begin, waited = begins[receiver, receive], sends[sender, send].begin - begins[receiver, receive]
        if waited * PARTS >= trace.length:
            late.append((1, WAIT, begin, receive, 1, viewed.RECV, waited))
    assert len(late) == 100
    asked = Asked(anchor)
    assert [mark for mark in marks(asked.table("rare", every=0, **words)) if mark[1] == WAIT] == []
    assert [mark for mark in marks(asked.table("rare", every=1, **words)) if mark[1] == WAIT] == sorted(late)
    shown = asked.site.shown[0].trace
    store_findings(shown, shown.findings(), [])
    assert [mark for mark in marks(Asked(anchor).table("rare", every=0, **words)) if mark[1] == WAIT] == sorted(late)


def test_a_large_trace_is_read_on_wish(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_pass, "LARGE", -1)
    asked = Asked(place)
    words = {"rows": "r0-2", "from": 0, "to": 10**6, "bins": 1}
    first = asked.table("rare", every=0, **words)
    assert (first.columns["row"], first.notes["lines"]) == (
        [], ["In a large trace, Marks: all shows outliers and waits."],
    )  # fmt: skip
    assert len(asked.table("rare", every=1, **words).columns["row"]) == 1
