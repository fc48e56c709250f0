# SPDX-License-Identifier: BSD-3-Clause
"""The differences of two traces that the server sends to the page, against the otf2 package's reader."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from support.oracles import slow
from support.readers import archive as reader
from support.synthetic_runs import stepping, viewed
from support.users.page_site import Asked
from vtrace.timeline.answers import BadRequest


def times(trace: reader.Trace, window: tuple[int, int], locations: list[int]) -> Counter[str]:
    """Exclusive ns by name of region."""
    found: Counter[str] = Counter()
    for (location, region), numbers in slow.profile(trace, *window).items():
        if location in locations:
            found[slow.name_of(trace, region)] += int(numbers[2])
    return found


def test_differences(tmp_path: Path) -> None:
    """In random windows, and in one row: times of regions of one name side by side, the largest difference first."""
    stepping.write(tmp_path / "one.trace")
    viewed.write(tmp_path / "two.trace")
    places = [tmp_path / "one.trace", tmp_path / "two.trace"]
    traces, asked, rng = [reader.read(place) for place in places], Asked(*places), random.Random(2)
    for number in range(9):
        windows = [tuple(sorted(rng.sample(range(trace.length), 2))) for trace in traces]
        if not number:
            windows = [(0, trace.length) for trace in traces]
        rows, locations = ("l1", [1]) if number % 2 else ("", [*range(stepping.RANKS)])
        words: dict[str, object] = {}
        for side, (start, stop) in enumerate(windows):
            words |= {f"from{side}": start, f"to{side}": stop, f"rows{side}": rows}
        found = asked.table("compare", **words)
        columns = [found.columns[f"{side}_ns"] for side in ("first", "second")]
        differences = [abs(b - a) for a, b in zip(*columns, strict=True)]
        assert differences == sorted(differences, reverse=True)
        for side, trace in enumerate(traces):
            right = times(trace, (windows[side][0], windows[side][1]), locations)
            got = {name: ns for name, ns in zip(found.notes["names"], columns[side], strict=True) if ns}
            assert got == {name: ns for name, ns in right.items() if ns}, (windows, side)
    assert {"MPI_Allreduce", "main"} <= {*found.notes["names"]}


def test_one_trace_has_nothing_to_compare(tmp_path: Path) -> None:
    stepping.write(tmp_path / "one.trace")
    with pytest.raises(BadRequest):
        Asked(tmp_path / "one.trace").table("compare", from0=0, to0=1, rows0="", from1=0, to1=1, rows1="")
