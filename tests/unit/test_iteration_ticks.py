# SPDX-License-Identifier: BSD-3-Clause
"""The iterations that get a tick: none too close, slow ones first, and no room left."""

from __future__ import annotations

import numpy as np
import pytest

from vtrace.timeline.iteration_ticks import apart


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_apart_and_fill_the_room(seed: int) -> None:
    random = np.random.default_rng(seed)
    begin = np.cumsum(random.integers(0, 30, 200))
    slow = random.permutation(200)[: random.integers(0, 40)]
    gap = float(random.integers(1, 100))
    rows = apart(begin, slow, gap)
    assert (np.diff(begin[rows]) >= gap).all()
    assert all(np.abs(begin[rows] - each).min() < gap for each in begin)
    kept = [row for row in slow.tolist() if row in rows]
    taken = list[int]()
    for row in slow.tolist():  # a slow one gives way to an earlier one of the order only
        if all(abs(begin[row] - begin[other]) >= gap for other in taken):
            taken.append(row)
    assert kept == taken


@pytest.mark.parametrize(("begin", "gap"), [([0, 5, 9], 0.0), ([2**60, 2**60 + 3, 2**60 + 6], 10.0)])
def test_a_gap_below_the_precision_of_times(begin: list[int], gap: float) -> None:
    assert len(apart(np.array(begin), np.empty(0, np.int64), gap)) <= len(begin)


def test_no_iterations() -> None:
    assert apart(np.empty(0, np.int64), np.empty(0, np.int64), 1.0).tolist() == []
