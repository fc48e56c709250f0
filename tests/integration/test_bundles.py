# SPDX-License-Identifier: BSD-3-Clause
"""Messages by pair of processes and bin, and collective operations as bands, agree with a slow computation."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import _otf2
import pytest
from test_tiles import one_archive, opened

import vtrace
from support.build.builder import Builder
from support.oracles.slow_window import ns
from support.readers.archive import Trace, read
from support.synthetic_runs.archives import Foreign
from vtrace.timeline.bands import COLUMNS, bands_of
from vtrace.timeline.bundles import Bundles, bundle_level, bundles_of

ARCHIVES = ("mpi_messages", "mpi_io", "scorep-heat2d", 2)


@pytest.fixture(scope="module", params=ARCHIVES)
def anchor(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_archive(request.param, build, tmp_path_factory.mktemp("bundles"))


def test_bundles(anchor: Path) -> None:
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    tiles, level = opened(trace), bundle_level(trace)
    known: Counter[tuple[int, int, int]] = Counter()
    for event in slow.events:
        if event.kind in ("MpiSend", "MpiIsend"):
            sender = int(trace.definitions.ids["locations"].rows([event.location])[0])
            receiver = slow_receiver(slow, event)
            place = int(trace.definitions.ids["locations"].rows([receiver])[0])
            time = min(max(0, ns(slow, event.time)), trace.duration) >> level
            process = trace.places.process
            known[time, int(process[sender]), int(process[place])] += event.attrs["msg_length"]
    found = bundles_of(trace, tiles, 0, trace.duration + 1)
    columns = (found[name].tolist() for name in ("begin", "sender", "receiver", "bytes"))
    got = {(begin >> level, sender, receiver): size for begin, sender, receiver, size in zip(*columns, strict=True)}
    assert got == dict(known)
    sends = sum(event.kind in ("MpiSend", "MpiIsend") for event in slow.events)
    assert int(found["count"].sum()) == sends
    half = trace.duration // 2
    parts = [bundles_of(trace, tiles, *ends) for ends in ((0, half), (half, trace.duration + 1))]
    shared = int(parts[0]["end"].max(initial=0)) > half >= int(parts[1]["begin"].min(initial=half + 1))
    assert shared or sum(int(part["count"].sum()) for part in parts) == sends


def test_bundles_are_added_up_early(anchor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A location with many bundles does not keep them all to its end."""
    trace, found = vtrace.open(anchor), []
    for enough in (1 << 16, 0):
        monkeypatch.setattr("vtrace.timeline.bundles._ENOUGH", enough)
        question = Bundles()
        trace.scan([question])
        table = question.answer()
        found.append({name: table[name].tolist() for name in ("bin", "sender", "receiver", "count", "bytes")})
    assert found[0] == found[1]


def slow_receiver(slow: Trace, event: object) -> int:
    from support.oracles.slow import member

    return member(slow, event.attrs["communicator"], event.attrs["receiver"], event.location)  # type: ignore[attr-defined]


def test_bands(anchor: Path) -> None:
    """Blocking operations: the n-th of each location on a communicator."""
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    tiles = opened(trace)
    known = defaultdict(list)
    for location in slow.locations:
        begins: list[int] = []
        turns: Counter[int] = Counter()
        for event in slow.of(location):
            if event.kind == "MpiCollectiveBegin":
                begins.append(ns(slow, event.time))
            elif event.kind == "MpiCollectiveEnd":
                comm = event.attrs["communicator"]
                row = int(trace.definitions.ids["comms"].rows([comm])[0])
                alone = location if trace.places.is_self(row) else -1
                known[row, alone, turns[comm]].append((begins.pop(), ns(slow, event.time)))
                turns[comm] += 1
    if any("NonBlockingCollective" in event.kind for event in slow.events):
        pytest.skip("the order of operations that do not block needs their requests")
    found = bands_of(tiles, 0, trace.duration + 1)
    names = ("comm", "begin", "last_begin", "first_end", "end", "locations")
    got = sorted(zip(*(found[name].tolist() for name in names), strict=True))
    expected = [
        (
            comm,
            min(b for b, _ in ends),
            max(b for b, _ in ends),
            min(e for _, e in ends),
            max(e for _, e in ends),
            len(ends),
        )
        for (comm, _, _), ends in known.items()
    ]
    assert got == sorted(expected)
    middle = trace.duration // 2
    some = bands_of(tiles, middle, middle + 1)
    assert some.rows == sum(begin <= middle <= end for _, begin, _, _, end, _ in expected)


OPS = [
    (1, "MpiCollectiveEnd", 3, 0, 0, 8, 8),  # without a start
    (2, "NonBlockingCollectiveRequest", 7),
    (3, "NonBlockingCollectiveRequest", 8),
    (4, "MpiCollectiveBegin"),
    (5, "MpiCollectiveBegin"),  # nested, as in a library
    (6, "MpiCollectiveEnd", 4, 1, 2**32 - 1, 2**64 - 1, 1),  # another communicator, no root, unknown bytes
    (7, "MpiCollectiveEnd", 5, 0, 1, 2, 3),
    (8, "NonBlockingCollectiveComplete", 6, 0, 0, 4, 4, 8),
    (8, "NonBlockingCollectiveRequest", 8),  # the same request once more
    (9, "NonBlockingCollectiveComplete", 6, 0, 0, 5, 5, 8),
    (9, "NonBlockingCollectiveComplete", 9, 0, 0, 6, 6, 7),
    (9, "NonBlockingCollectiveComplete", 1, 77, 0, 7, 7, 99),  # unknown communicator and request
]
KNOWN = [
    (-1, 0, 1, 0, 9, 9, 9, 9, 1, 7, 7),
    (0, -1, 3, 0, 1, 1, 1, 1, 2, 16, 16),
    (0, -1, 9, 0, 2, 2, 9, 9, 2, 12, 12),
    (0, -1, 6, 0, 3, 3, 8, 8, 2, 8, 8),
    (0, -1, 5, 1, 4, 4, 7, 7, 2, 4, 6),
    (0, -1, 6, 0, 8, 8, 9, 9, 2, 10, 10),
    (1, 0, 4, -1, 5, 5, 6, 6, 1, 0, 1),
]
"""COLUMNS of the bands of two locations with these operations: their own communicator 1, and a shared one. The second
location has no bands of its own here."""


def test_unusual_operations(tmp_path: Path) -> None:
    """Operations that do not block and overlap, a request that is used again, and unknown values."""
    made = Foreign(tmp_path / "a.trace")
    for location in (0, 1):
        made.events(location, OPS)
    made.begin_definitions()
    made.machine(groups=2, length=10)
    for location in (0, 1):
        made.location(location, location)
    made.define("Group", 0, "all", _otf2.GROUP_TYPE_COMM_LOCATIONS, 3, 0, [0, 1])
    made.define("Group", 1, "world", _otf2.GROUP_TYPE_COMM_GROUP, 3, 0, [0, 1])
    made.define("Group", 2, "self", _otf2.GROUP_TYPE_COMM_SELF, 3, 0, [])
    made.define("Comm", 0, "world", 1, 2**32 - 1, 0)
    made.define("Comm", 1, "self", 2, 2**32 - 1, 0)
    found = bands_of(opened(vtrace.open(made.close())), 0, 10)
    rows = sorted(zip(*(found[name].tolist() for name in COLUMNS), strict=True))
    own = [(comm, 1, *row) for comm, location, *row in KNOWN if location == 0]
    assert rows == sorted([*KNOWN, *own])


def test_too_many_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Foreign(tmp_path / "a.trace")
    made.events(
        0,
        [
            (t, kind, *more)
            for t in range(9)
            for kind, *more in (("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, 0, 1, 1))
        ],
    )
    made.begin_definitions()
    made.machine(length=10)
    made.location(0)
    path = made.close()
    monkeypatch.setattr("vtrace.timeline.bands.MOST", 8)
    found = bands_of(opened(vtrace.open(path)), 0, 10)
    assert (found.rows, found.left_out) == (0, 9)
