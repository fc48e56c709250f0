# SPDX-License-Identifier: BSD-3-Clause
"""The intervals of devices: when any is open, and what two kinds have in common."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vtrace.analysis.questions.device_activities import common, union

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=12)


def points(pairs: list[tuple[int, int]]) -> set[int]:
    """The ns that the intervals cover."""
    return {ns for begin, length in pairs for ns in range(begin, begin + length)}


def joined(pairs: list[tuple[int, int]]) -> np.ndarray:
    begin, length = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    return union(begin, begin + length)


@given(PAIRS)
def test_union(pairs: list[tuple[int, int]]) -> None:
    found = joined(pairs)
    assert {ns for begin, end in found.tolist() for ns in range(begin, end)} == points(pairs)
    assert (found[1:, 0] > found[:-1, 1]).all()


@given(PAIRS, PAIRS)
def test_common(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert common(joined(one), joined(other)) == len(points(one) & points(other))
