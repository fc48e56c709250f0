# SPDX-License-Identifier: BSD-3-Clause
"""The data that the server sends to the page of vtrace view, against the otf2 package's reader, event by event."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import BoundedSemaphore
from unittest.mock import Mock

import numpy as np
import pytest

import vtrace
from support.oracles import slow
from support.oracles.slow_tiles import bins, follow
from support.readers import archive as reader
from support.recorded_archives import unpack
from support.synthetic_runs import archives, stepping, uneven, viewed
from support.tools import ROOT
from support.users.page_site import Asked
from vtrace.analysis import trace as asked_trace
from vtrace.analysis.activity import RUNTIME, TRACING
from vtrace.analysis.selection import Selection
from vtrace.errors import VtraceError
from vtrace.io.sidecar.tile_file import BINS
from vtrace.timeline import call_store, prepared, tile_pass, viewer_site
from vtrace.timeline.answers import BadRequest, Outdated, pack
from vtrace.timeline.call_store import LocationCalls
from vtrace.timeline.viewer_site import ShownTrace


def nested(rng: random.Random, count: int) -> list[tuple[object, ...]]:
    """Random nested calls of two regions, with equal times."""
    found: list[tuple[object, ...]] = [(0, "Enter", 0)]
    stack, now = [0], 0
    for _ in range(count):
        now += rng.choice((0, 0, 1, 3, 50, 400))
        if len(stack) > 1 and rng.random() < 0.5:
            found.append((now, "Leave", stack.pop()))
        elif len(stack) < 9:
            stack.append(rng.randrange(2))
            found.append((now, "Enter", stack[-1]))
    for region in reversed(stack):
        now += 1
        found.append((now, "Leave", region))
    return found


@pytest.fixture(scope="module", params=["two ranks", "nested", "nested, read by windows"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("windows" if "windows" in request.param else "page") / "odd.trace"
    if request.param == "two ranks":
        return viewed.write(where).parent
    rng = random.Random(7)
    events = {location: nested(rng, 3000) for location in range(3)}
    return archives.simple(where, events, length=max(int(each[-1][0]) for each in events.values())).parent


@pytest.fixture(scope="module")
def asked(place: Path) -> Iterator[Asked]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewer_site, "_CALLS", 0)
        if place.parent.name.startswith("windows"):
            patch.setattr(call_store, "LARGE", 0)
            patch.setattr(call_store, "_NEAR", 700)
        yield Asked(place)


@pytest.fixture(scope="module")
def trace(place: Path) -> reader.Trace:
    return reader.read(place)


def windows(length: int, count: int) -> list[tuple[int, int]]:
    rng = random.Random(length)
    found = [sorted((rng.randrange(length), rng.randrange(length))) for _ in range(count)]
    return [(0, length), (length - 1, length), (0, 1), *((a, max(b, a + 1)) for a, b in found)]


def pieces(calls: list[slow.Call], start: int, stop: int, shortest: int) -> list[list[slow.Call]]:
    """The calls that are drawn as one, those shorter than shortest ns that begin in one pixel at one depth together."""
    found: dict[object, list[slow.Call]] = {}
    for number, call in enumerate(calls):
        if call.begin < stop and (call.end > start or call.begin >= start):
            is_short = call.end - call.begin < shortest and call.begin >= start
            pixel = (len(call.path), (call.begin - start) // (2 * shortest)) if is_short else (number,)
            found.setdefault(pixel, []).append(call)
    return list(found.values())


def test_calls(asked: Asked, trace: reader.Trace, place: Path) -> None:
    """The calls of windows, with their true ends and the time without the calls inside; those of a large location end
    with the window. Short ones are joined, with the region that takes the most time."""
    every, whole = slow.calls(trace), not place.parent.name.startswith("windows")
    for location in trace.locations:
        mine = [call for call in every if call.location == location]
        for start, stop in windows(trace.length, 12):
            seen = mine if whole else [replace(call, end=min(call.end, stop)) for call in mine if call.begin < stop]
            for shortest in (0, 3, 60):
                found = asked.table("calls", rows=f"l{location}", **{"from": start, "to": stop}, shortest=shortest)
                names = ("begin", "end", "depth", "calls", "exclusive", "region")
                rows = [*zip(*(found.columns[name] for name in names), strict=True)]
                joined = pieces(seen, start, stop, shortest)
                assert found.columns["begin"] == sorted(found.columns["begin"])
                expected, got = Counter[object](), Counter[object]()
                for calls in joined:
                    begin, end = min(c.begin for c in calls), max(c.end for c in calls)
                    own = sum(c.own for c in calls) if whole or end < stop else 0
                    expected[begin, end, len(calls[0].path) - 1, len(calls), own] += 1
                for row in rows:
                    got[(*row[:4], row[4] if whole or row[1] < stop else 0)] += 1
                assert got == expected, (location, start, stop, shortest)
                regions = {(c[0].begin, max(k.end for k in c), len(c[0].path) - 1, len(c)): most(c) for c in joined}
                assert all(row[5] in regions[row[:4]] for row in rows if row[1] > row[0])


def most(calls: list[slow.Call]) -> set[int]:
    """The regions that take the most time."""
    times = Counter[int]()
    for call in calls:
        times[call.path[-1]] += call.end - call.begin
    return {region for region, ns in times.items() if ns == max(times.values())}


def test_tiles(asked: Asked, trace: reader.Trace) -> None:
    """Shares of classes at all levels that a location has, and of all locations together; the parts that wait are those
    of the regions that a bin has."""
    (about,) = asked.json("traces")
    end = about["duration"]
    regions = asked.table("regions", rows="classes").columns
    classes = dict(enumerate(regions["class"])) | {slow.FLUSH: TRACING}
    waiting = {region for region, waits in enumerate(regions["waits"]) if waits}
    followed = {location: follow(trace, location, end, classes, RUNTIME) for location in trace.locations}
    finest = max(about["finest"])
    for level in range(finest, about["top"] + 1):
        width = 1 << level
        exact = {location: bins(each, width, end) for location, each in followed.items()}
        for row, members in [(f"l{n}", [n]) for n in exact] + [(f"r0-{len(exact) - 1}", list(exact))]:
            for number in range(-(-end // (BINS * width))):
                found = asked.table("tiles", rows=row, level=level, number=number).columns
                for at in range(BINS):
                    cells = [exact[n][number * BINS + at] for n in members if number * BINS + at < len(exact[n])]
                    times = sum((cell.classes for cell in cells), Counter[int]())
                    shares = {c: min(255, -(-255 * ns // (width * len(members)))) for c, ns in times.items() if ns}
                    got = {c: found[f"c{c}"][at] for c in range(9) if f"c{c}" in found and found[f"c{c}"][at]}
                    assert got == shares, (row, level, number, at)
                    waits = Counter[int]()
                    for cell in cells:
                        for region in waiting & set(cell.regions):
                            waits[classes[region]] += cell.regions[region]
                    few = all(len(cell.regions) <= 2 for cell in cells) and level == finest
                    for c in range(9):
                        most = min(shares.get(c, 0), -(-255 * waits[c] // (width * len(members))))
                        part = found[f"w{c}"][at] if f"w{c}" in found else 0
                        assert part == most if few else part <= most, (row, level, number, at, c)
                    assert found["events"][at] == sum(cell.events for cell in cells)
                    assert found["depth"][at] == max([cell.depth for cell in cells], default=0)


def test_messages(asked: Asked, trace: reader.Trace) -> None:
    """Messages of windows, as lines and as bundles, with filters."""
    every = [message for message in slow.messages(trace) if message[2] is not None]
    rows = ",".join(f"l{n}" for n in trace.locations)
    for start, stop in windows(trace.length, 8):
        words = {"rows": rows, "from": start, "to": stop}
        inside = [m for m in every if min(m[2:4]) < stop and max(m[2:4]) >= start]
        lines = asked.table("messages", **words, lines=10_000, smallest=0, comm=-1)
        names = ("sender", "receiver", "send", "receive", "tag", "bytes")
        columns = [lines.columns[name] for name in names]
        expected = sorted((m[0], m[1], m[2], m[3], m[5], m[6]) for m in inside)
        assert sorted(zip(*columns, strict=True)) == expected
        assert (lines.notes["messages"], lines.notes["bytes"]) == (len(inside), sum(m[6] for m in inside))
        bundles = asked.table("messages", **words, lines=0, smallest=0, comm=-1)
        assert bundles.notes["bundled"] == bool(inside)
        assert sum(bundles.columns.get("count", [])) == len(inside)
        assert not inside or sum(bundles.columns["bytes"]) == sum(m[6] for m in inside)
        tagged = asked.table("messages", **words, lines=10_000, smallest=0, comm=-1, tag=3)
        assert sorted(tagged.columns["send"]) == sorted(m[2] for m in inside if m[5] == 3)
        assert asked.table("messages", **words, lines=10, smallest=9, comm=-1).columns["send"] == []


def test_collectives(asked: Asked, trace: reader.Trace) -> None:
    every = slow.collectives(trace)
    rows = ",".join(f"l{n}" for n in trace.locations)
    found = asked.table("collectives", rows=rows, **{"from": 0, "to": trace.length})
    assert found.notes["collectives"] == len({row[:2] for row in every})
    columns = [found.columns[f"part_{name}"] for name in ("location", "begin", "end")]
    assert sorted(zip(*columns, strict=True)) == sorted((row[2], row[4], row[5]) for row in every)
    if every:
        assert found.columns["begin"] == [min(row[4] for row in every)]
        assert found.columns["end"] == [max(row[5] for row in every)]


def test_a_call_and_the_ways_from_it(asked: Asked, trace: reader.Trace) -> None:
    every = slow.calls(trace)
    rng = random.Random(1)
    for call in rng.sample(every, min(60, len(every))):
        mine = sorted((c for c in every if c.location == call.location), key=lambda c: (c.begin, len(c.path)))
        if sum((c.begin, len(c.path)) == (call.begin, len(call.path)) for c in mine) > 1:
            continue  # calls of no time: the name of a call does not distinguish them
        words = {"location": call.location, "begin": call.begin, "depth": len(call.path) - 1}
        found = asked.json("call", **words)
        assert (found["begin"], found["end"], found["exclusive"]) == (call.begin, call.end, call.own)
        assert found["name"] == slow.name_of(trace, call.path[-1])
        same = [c for c in mine if c.path[-1] == call.path[-1]]
        assert found.get("of", len(same)) == len(same)
        around = [c for c in mine if c.path == call.path[:-1] and c.begin <= call.begin and c.end >= call.end]
        caller = asked.json("go", **words, way="caller", rows="")
        assert (caller and caller["begin"]) in ([c.begin for c in around] or [None])
        times = [c.end - c.begin for c in every if c.path[-1] == call.path[-1]]
        for way, best in (("longest", max(times)), ("shortest", min(times))):
            other = asked.json("go", **words, way=way, rows="")
            assert other["end"] - other["begin"] == best
        later = asked.json("go", **words, way="next", rows="")
        assert later is None or (later["region"] == call.path[-1] and later["begin"] >= call.begin)
    time = trace.length // 3
    for location in trace.locations:
        open_then = [c for c in every if c.location == location and c.begin <= time < c.end]
        found = asked.json("at", location=location, time=time)
        assert found["depth"] == max(len(c.path) for c in open_then) - 1


def test_what_a_call_sends_and_receives(asked: Asked, trace: reader.Trace) -> None:
    for sender, receiver, send, receive, _, tag, size, _, _ in slow.messages(trace)[:20]:
        begin = max(c.begin for c in slow.calls(trace) if c.location == sender and c.begin <= send <= c.end)
        found = asked.json("call", location=sender, begin=begin, depth=1)
        (end,) = found["sends"]
        assert (end["partner"], end["far"], end["tag"], end["bytes"]) == (receiver, receive, tag, size)


def test_waits_of_a_call(asked: Asked, trace: reader.Trace) -> None:
    """The waits are those of Trace.call_waits; for each kind one of the longest and one of the shortest."""
    own = vtrace.open(trace.path)
    waits = own.call_waits()
    found = list(waits.order("time_ns").records())
    for row in {each["kind"]: each for each in [*found, *found[::-1]]}.values():
        depth = int(waits.paths["depth"][row["path"]]) - 1
        call = asked.json("call", location=row["location"], begin=row["begin"], depth=depth)
        same = [each for each in found if (each["location"], each["begin"]) == (row["location"], row["begin"])]
        expected = [(waits.kinds[each["kind"]], each["time_ns"], each["partner"]) for each in same]
        assert sorted((one["kind"], one["time"], one["partner"]) for one in call["waits"]) == sorted(expected)
    quiet = next(c for c in slow.calls(trace) if not own.regions["name"][c.path[-1]].startswith("MPI"))
    assert asked.json("call", location=quiet.location, begin=quiet.begin, depth=len(quiet.path) - 1)["waits"] == []


def test_search(asked: Asked, trace: reader.Trace) -> None:
    """The number, the time and the histogram of the calls that a search finds, their marks, and the longest."""
    every, rows = slow.calls(trace), ",".join(f"l{n}" for n in trace.locations)
    name = slow.name_of(trace, 1)
    for start, stop in windows(trace.length, 5):
        found = asked.table("search", rows=rows, text=name, exact=1, bins=50, **{"from": start, "to": stop})
        inside = [c for c in every if c.path[-1] == 1 and c.begin < stop and (c.end > start or c.begin >= start)]
        times = [c.end - c.begin for c in inside]
        assert (found.notes["count"], found.notes["total"]) == (len(inside), sum(times))
        assert [n for n in found.columns["histogram"] if n] == [
            n for _, n in sorted(Counter(max(1, time).bit_length() - 1 for time in times).items())
        ]
        assert [c["end"] - c["begin"] for c in found.notes["longest"]] == sorted(times, reverse=True)[:12]
        marks = np.array(found.columns["marks"]).reshape(-1, 50)
        for number, location in enumerate(trace.locations):
            for at in range(50):
                low, high = (start + (stop - start) * (at + n) / 50 for n in (0, 1))
                touching = [c for c in inside if c.location == location and c.begin < high and c.end > low]
                assert marks[number][at] > 0 or not touching, (number, at)


def test_a_search_reads_rows_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In passes of about as many events as one may have; later the page has their calls."""
    events = {location: [(location, "Enter", 0), (location + 10, "Leave", 0)] for location in range(40)}
    asked, reading = Asked(archives.simple(tmp_path / "many.trace", events, length=60).parent), Mock(wraps=prepared.ask)
    monkeypatch.setattr(prepared, "ask", reading)
    monkeypatch.setattr(call_store, "_TOGETHER", 100)
    monkeypatch.setattr(call_store, "LARGE", 60)
    words = {"rows": ",".join(f"l{n}" for n in events), "text": "main", "exact": 0, "bins": 60, "from": 0, "to": 60}
    for _ in range(2):
        found = asked.table("search", **words)
        marks = np.array(found.columns["marks"]).reshape(len(events), -1)
        assert [np.flatnonzero(line).tolist() for line in marks] == [[*range(n, n + 11)] for n in events]
        assert (found.notes["count"], reading.call_count) == (40, 2)


def test_findings_of_the_run_and_of_a_window(asked: Asked, trace: reader.Trace) -> None:
    """The list of the whole run stays the same in each window, and is that of the diagnosis."""
    shown = asked.site.shown[0].trace
    windows = [{"rows": "", "from": begin, "to": begin + trace.length // 4} for begin in (0, trace.length // 2)]
    told = [[one["text"] for one in asked.table("panel", name="findings", **w).notes["findings"]] for w in windows]
    assert told[0] == told[1] == [one.text for one in shown.diagnosis(Selection()).findings]
    assert told[0]
    here = [[one["text"] for one in asked.table("panel", name="findings_here", **w).notes["findings"]] for w in windows]
    expected = [shown.diagnosis(Selection.of(w["from"], w["to"])).findings for w in windows]
    assert here == [[one.text for one in each] for each in expected]


def test_panels(asked: Asked, trace: reader.Trace) -> None:
    """The profile and the matrix of a window, and of one row."""
    start, stop = trace.length // 4, trace.length // 2
    words = {"rows": "", "from": start, "to": stop}
    exact: Counter[int] = Counter()
    for (_, region), numbers in slow.profile(trace, start, stop).items():
        exact[region] += int(numbers[2])
    found = asked.table("panel", name="profile", **words).columns
    assert dict(zip(found["region"], found["exclusive"], strict=True)) == dict(exact)
    whole = {"rows": "", "from": 0, "to": trace.length}
    pairs = asked.table("panel", name="matrix", **whole).columns
    columns = [pairs[name] for name in ("sender", "receiver", "count", "bytes")]
    assert sorted(zip(*columns, strict=True)) == sorted((*key, *each) for key, each in slow.matrix(trace).items())
    process, ns = asked.site.shown[0].trace.places.process, Counter[tuple[int, int]]()
    for row in asked.site.shown[0].trace.messages().records():
        ns[process[row["sender"]], process[row["receiver"]]] += max(0, row["receive"] - row["send"])
    assert [ns[pair] for pair in zip(pairs["sender"], pairs["receiver"], strict=True)] == pairs["ns"]
    joined = asked.table("panel", name="collectives", **whole).columns
    for mine, every in (("cell_calls", "calls"), ("cell_ns", "ns")):
        cells: Counter[int] = Counter()
        for row, value in zip(joined["cell_row"], joined[mine], strict=True):
            cells[row] += value
        assert [cells[row] for row in range(len(joined["op"]))] == joined[every]
    flame = asked.table("panel", name="flame", **whole).columns
    paths: Counter[int] = Counter()
    for (_, path), numbers in slow.paths(trace).items():
        paths[path[-1]] += int(numbers[2])
    own: Counter[int] = Counter()
    for region, ns in zip(flame["region"][1:], flame["exclusive"][1:], strict=True):
        own[region] += ns
    assert own == paths


def answers_of(shown: ShownTrace, window: tuple[int, int]) -> list[bytes]:
    """Panels, orders of rows, collective operations, outliers and calls."""
    locations, rows = shown.rows.of(""), [shown.rows.order]
    found = [shown.panels.answer(name, window, locations) for name in shown.panels.names]
    found += [shown.panels.sums(window, shown.rows.order, "", exact=False), shown.data.bands(rows, window)]
    calls = shown.store.together(shown.rows.order.tolist(), *window)
    return [each.data for each in [*found, shown.rare.answer(rows, window, 100, every=False), pack(calls)]]


def test_answers_of_one_pass(place: Path) -> None:
    """A saved page reads the events once for its panels, findings, orders of rows, collective operations, outliers and
    calls: they are those that each read the events. Only the reading takes a turn."""
    alone, shown = Asked(place).site.shown[0], Asked(place).site.shown[0]
    end = shown.trace.duration
    for window in ((0, end), (end // 4, end // 2)):
        expected, turns, reading = answers_of(alone, window), BoundedSemaphore(1), Mock(wraps=prepared.ask)
        whole = window == (0, end)
        with pytest.MonkeyPatch.context() as patch:
            for module in (prepared, asked_trace):
                patch.setattr(module, "ask", reading)
            with shown.together(window, turns, calls=whole), turns:
                count = reading.call_count
                assert answers_of(shown, window) == expected
                assert reading.call_count <= count + (1 if whole else 3)  # findings_here; messages and calls of a part
                assert shown.panels.answer("profile", (0, 1), shown.rows.of("")).data != expected[0]
        assert count == 1, window  # later only the panels', since the page keeps all about the run


def test_answers_about_events_after_the_end(tmp_path: Path) -> None:
    """A window to the end of the trace leaves out later events of a damaged archive, which the whole has: one pass more
    reads its events."""
    events = {0: [(0, "Enter", 0), (10, "Enter", 1), (20, "Leave", 1), (90, "Enter", 1), (95, "Leave", 1)]}
    where = archives.simple(tmp_path / "late.trace", events, length=50).parent
    alone, shown = Asked(where).site.shown[0], Asked(where).site.shown[0]
    assert shown.trace.duration < 90
    window = 0, shown.trace.duration
    expected = answers_of(alone, window)
    reading = Mock(wraps=prepared.ask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "ask", reading)
        for most in (2, 4):  # later for the panels and for the calls
            with shown.together(window, BoundedSemaphore(1), calls=True):
                assert answers_of(shown, window) == expected
            assert reading.call_count <= most


def test_iterations_whatever_the_window(tmp_path: Path) -> None:
    """The iterations of the diagnosis, the slow ones, and the median one: half of the others take as long or longer."""
    begin, end = stepping.write(tmp_path / "steps.trace")
    asked = Asked(tmp_path / "steps.trace" / "traces.otf2")
    found = [asked.table("panel", name="iterations", rows=rows, **{"from": 0, "to": 10**6}) for rows in ("", "l1")]
    assert found[0] == found[1]
    columns, notes = found[0].columns, found[0].notes
    assert (notes["region"], notes["slow"]) == ("step", [[stepping.SLOW_STEP, stepping.SLOW_STEP]])
    assert (columns["begin"][stepping.SLOW_STEP], columns["end"][stepping.SLOW_STEP]) == (begin, end)
    assert columns["time_ns"][notes["median"]] == notes["median_ns"] == 820 * stepping.US


def test_times_of_locations(asked: Asked, trace: reader.Trace) -> None:
    """By class, waiting or not, by region, and of the regions with a name, for a window."""
    (about,) = asked.json("traces")
    order, names = about["rows"]["locations"], asked.site.shown[0].trace.regions["name"].tolist()
    kinds = asked.table("regions", rows="classes").columns
    start, stop = trace.length // 4, trace.length // 2
    found = asked.table("sums", text=names[0].upper(), exact=0, **{"from": start, "to": stop}).columns
    wide, ns = 2 * len(about["classes"]), Counter[tuple[int, int]]()
    regions, matching = Counter[int](), Counter[int]()
    for (location, region), numbers in slow.profile(trace, start, stop).items():
        ns[location, kinds["class"][region] + (wide // 2 if kinds["waits"][region] else 0)] += int(numbers[2])
        regions[location] += int(numbers[2])
        matching[location] += int(numbers[2]) if names[0].lower() in names[region].lower() else 0
    assert found["kinds"] == [ns[location, kind] for location in order for kind in range(wide)]
    assert found["found"] == [matching[location] for location in order]
    each = len(found["regions"]) // len(order)
    sums = [sum(found["regions"][each * at : each * (at + 1)]) for at in range(len(order))]
    assert sums == [regions[location] for location in order]
    exact = asked.table("sums", text=names[0].upper(), exact=1, **{"from": start, "to": stop}).columns
    assert sum(exact["found"]) == 0


def test_a_row_of_any_locations(asked: Asked) -> None:
    words = {"level": 3, "number": 0}
    assert asked.content("tiles", rows="r1-1_0-0", **words) == asked.content("tiles", rows="r0-1", **words)


def test_messages_between_rows(asked: Asked, trace: reader.Trace) -> None:
    """Only messages with both ends on the picked rows."""
    words = {"rows": "l0,l1", "from": 0, "to": trace.length, "lines": 1000, "smallest": 0, "comm": -1}
    every = asked.table("messages", **words)
    assert asked.table("messages", **words, between="l0,l1").columns == every.columns
    assert asked.table("messages", **words, between="l1").notes["messages"] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tiles", {"rows": "x1", "level": 3, "number": 0}), ("tiles", {"rows": "l0", "level": 99, "number": 0}),
        ("tiles", {"rows": "l0", "level": "a", "number": 0}), ("tiles", {"rows": "l0", "number": 0}),
        ("calls", {"rows": "l0", "from": 0, "to": 5}), ("call", {"location": 10**9, "begin": 0, "depth": 0}),
        ("call", {"location": 0, "begin": -1, "depth": 0}), ("panel", {"name": "x", "rows": "", "from": 0, "to": 1}),
        ("go", {"location": 0, "begin": 0, "depth": 0, "way": "x", "rows": ""}), ("regions", {"rows": "a"}),
        ("tiles", {"trace": 7, "rows": "l0", "level": 3, "number": 0}),
        ("tiles", {"rows": "l0," * 9999, "level": 3, "number": 0}),
    ],
)  # fmt: skip
def test_requests_without_meaning(asked: Asked, name: str, words: dict[str, object]) -> None:
    with pytest.raises((BadRequest, VtraceError)):
        asked.content(name, **words)


def test_words_without_meaning_together(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any endpoint: a line, not a closed connection."""
    with pytest.raises(BadRequest, match="level is not from 0 to "):
        asked.content("tiles", rows="l0", level=62, number=0)
    monkeypatch.setitem(viewer_site._ANSWERS, "at", lambda shown, words: int("x"))
    with pytest.raises(BadRequest, match=r"no meaning together \(ValueError\)"):
        asked.content("at")


def test_samples_of_a_row_without_locations(tmp_path: Path) -> None:
    found = Asked(unpack("scorep-sampling", tmp_path)).table("leaves", rows="l9,l0", bins=2, **{"from": 0, "to": 10**9})
    assert found.columns["region"][:2] == [0, 0]


def test_an_archive_that_is_replaced(tmp_path: Path) -> None:
    """The site gives no data until a page is loaded, and none to pages that were loaded before."""
    anchor = viewed.write(tmp_path / "a.trace")
    asked, words = Asked(anchor.parent), {"location": 0, "begin": 0, "depth": 0}
    assert asked.json("call", **words, loads=0)
    anchor.parent.rename(tmp_path / "old.trace")
    with pytest.raises(Outdated):
        asked.content("call", **words)
    uneven.write(anchor.parent, 3, 20)
    with pytest.raises(Outdated, match="the archive has changed: reload the page"):
        asked.content("call", **words, loads=0)
    (about,) = asked.json("traces")
    assert (len(about["rows"]["locations"]), about["loads"]) == (3, 1)
    with pytest.raises(Outdated):
        asked.content("call", **words, loads=0)
    assert asked.json("call", **words, loads=1)


def test_a_large_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages and collective operations from the tables beside the tiles, those of a call from its window."""
    monkeypatch.setattr(tile_pass, "LARGE", -1)
    anchor = viewed.write(tmp_path / "odd.trace")
    trace, asked = reader.read(anchor.parent), Asked(anchor)
    words = {"rows": "l0,l1", "from": 0, "to": trace.length}
    found = asked.table("messages", **words, lines=10_000, smallest=0, comm=-1)
    assert (sum(found.columns["count"]), sum(found.columns["bytes"])) == (100, 800)
    assert {*found.columns["from_row"], *found.columns["to_row"]} == {0, 1}
    near = asked.table("messages", rows="l0,l1", lines=9, smallest=0, comm=-1, **{"from": 5000, "to": 5100})
    assert near.columns["count"] == []
    bands = asked.table("collectives", **words).columns
    assert (bands["begin"], bands["end"]) == ([600_001], [699_999])
    assert bands["part_location"] == [0, 1]
    call = asked.json("call", location=1, begin=104_000, depth=1)
    assert [(end["partner"], end["time"], end["far"], end["bytes"]) for end in call["receives"]] == [
        (0, 107_000, -1, 8)
    ]
    assert asked.table("counters", **words).notes["series"] == []
    other_ends(trace, asked)


def other_ends(trace: reader.Trace, asked: Asked) -> None:
    """The other end of each message, from both sides; none for a missing message."""
    sends = [(event.time - trace.offset, event.attrs) for event in trace.of(0) if event.kind == "MpiSend"]
    receives = [(event.time - trace.offset, event.attrs) for event in trace.of(1) if event.kind == "MpiRecv"]
    assert len(sends) == len(receives) == 100
    for (send, sent), (receive, _) in [*zip(sends, receives, strict=True)][::9]:
        of = {"comm": 0, "tag": sent["msg_tag"]}
        assert asked.json("far", location=0, partner=1, time=send, sent=1, **of) == receive
        assert asked.json("far", location=1, partner=0, time=receive, sent=0, **of) == send
    assert asked.json("far", location=0, partner=1, time=sends[0][0] + 1, sent=1, **of) == -1


@pytest.mark.parametrize(("archive", "grid"), [("scorep-omp", None), ("scorep-heat2d", "heat grid")])
def test_grids_are_of_ranks(tmp_path: Path, archive: str, grid: str | None) -> None:
    """Score-P's topology Process x Thread is no grid of processes."""
    asked = Asked(unpack(archive, tmp_path))
    found = asked.table("panel", name="ranks", rows="", **{"from": 0, "to": 10**9}).notes["grid"]
    assert (found and found["name"]) == grid


def test_other_ends_of_score_p(tmp_path: Path) -> None:
    """Arrows of nonblocking messages: MPI_Waitall completes the receives."""
    archive = unpack("scorep-heat2d", tmp_path)
    asked, messages = Asked(archive), vtrace.open(archive).messages()
    assert messages.rows == 800
    for row in messages.take(slice(None, None, max(1, messages.rows // 12))).records():
        of = {"comm": row["comm"], "tag": row["tag"]}
        there, back = (
            asked.json("far", location=here, partner=partner, time=time, sent=sent, **of)
            for here, partner, time, sent in (
                (row["sender"], row["receiver"], row["send"], 1), (row["receiver"], row["sender"], row["receive"], 0),
            )
        )  # fmt: skip
        assert (there, back) == (row["receive"], row["send"])


def test_counters(tmp_path: Path) -> None:
    """The curves of an archive of Score-P, whose operations all have one matching id: 2000 reads of 130 000 bytes."""
    subprocess.run(["tar", "xJf", ROOT / "tests" / "archives" / "scorep-io.tar.xz"], cwd=tmp_path, check=True)
    (anchor,) = tmp_path.rglob("traces.otf2")
    asked = Asked(anchor)
    (about,) = asked.json("traces")
    found = asked.table("counters", rows="l0", **{"from": 0, "to": about["duration"]})
    last = dict(zip(found.columns["series"], found.columns["value"], strict=True))
    ends = {each["name"]: last[number] for number, each in enumerate(found.notes["series"])}
    assert ends["read by ISO C I/O"] == 130_000
    assert {"ru_utime", "ru_majflt", "ru_minflt"} <= ends.keys()
    assert found.columns["series"].count(0) > 1000


def test_parents_at_equal_times() -> None:
    """A call of no time, and a call that begins and ends with its caller."""
    from vtrace.io.archive.reader_abi import SLICE

    slices = np.zeros(4, SLICE)
    for at, (begin, end, region, depth) in enumerate([(0, 0, 1, 1), (0, 5, 3, 2), (0, 5, 2, 1), (0, 9, 0, 0)]):
        slices[at]["begin"], slices[at]["end"], slices[at]["region"], slices[at]["depth"] = begin, end, region, depth
    found = LocationCalls.of_slices(slices)
    assert found.region.tolist() == [0, 1, 2, 3]
    assert found.parent.tolist() == [-1, 0, 0, 2]
    assert found.exclusive.tolist() == [4, 0, 0, 5]
