# SPDX-License-Identifier: BSD-3-Clause
"""Lanes of random intervals: those of a lane nest, each is on the first possible lane, and none is lost."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vtrace.errors import VtraceError
from vtrace.transform.imported_lanes import LANES_MOST, ImportedLocation, assign_lanes

OWNER = ImportedLocation("thread", 0, 7, "Tasks")
Interval = tuple[int, int, int]
"""Begin, end, number of the name."""


def lanes(intervals: list[Interval]) -> list[list[Interval]]:
    begin, end, name = (np.array(column, np.int64) for column in zip(*intervals, strict=True))
    made = assign_lanes(OWNER, begin, end=end, name=name, names=["a", "b", "c"], origin="file")
    return [[*zip(*(c.tolist() for c in (lane.begin, lane.end, lane.name)), strict=True)] for lane in made]


def slow(intervals: list[Interval]) -> list[list[Interval]]:
    """The lanes by comparing each interval with all earlier ones of a lane."""
    found: list[list[Interval]] = []
    for one in sorted(intervals, key=lambda interval: (interval[0], -interval[1])):
        for lane in found:
            if all(other[1] <= one[0] or other[1] >= one[1] for other in lane):
                lane.append(one)
                break
        else:
            found.append([one])
    return found


@pytest.mark.parametrize("seed", range(30))
def test_random(seed: int) -> None:
    draw = random.Random(seed)
    longest = draw.choice((2, 20, 200))
    intervals = []
    for _ in range(draw.randint(1, 200)):
        begin = draw.randrange(300)
        intervals.append((begin, begin + draw.randrange(longest), draw.randrange(3)))
    assert lanes(intervals) == slow(intervals)


def test_too_many() -> None:
    overlapping = [(n, 10_000 + n, 0) for n in range(LANES_MOST + 1)]
    assert len(lanes(overlapping[1:])) == LANES_MOST
    with pytest.raises(VtraceError, match="file: too many intervals overlap"):
        lanes(overlapping)
