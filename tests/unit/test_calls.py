# SPDX-License-Identifier: BSD-3-Clause
"""Calls as steps, compared with a stack that a slow loop follows event by event."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vtrace.analysis.questions.calls import Calls, lanes
from vtrace.io.archive.reader_abi import SLICE

Event = tuple[bool, int, int]
"""True for the start of a call; the time; the number of the call."""


def _random_track(seed: int, ticks: int) -> tuple[list[Event], np.ndarray]:
    """Random events in their order, and the calls in the order of their ends. Many times are equal."""
    rng, now, stack = random.Random(seed), 0, []
    events: list[Event] = []
    ended: list[tuple[int, int, int, int, int]] = []
    for number in range(200):
        while stack and rng.random() < 0.5:
            now += rng.randrange(ticks)
            number_, begin = stack.pop()
            events.append((False, now, number_))
            ended.append((begin, now, number_, len(stack), 0, 1))
        now += rng.randrange(ticks)
        stack.append((number, now))
        events.append((True, now, number))
    while stack:
        number_, begin = stack.pop()
        events.append((False, now, number_))
        ended.append((begin, now, number_, len(stack), 0, 1))
    return events, np.array(ended, SLICE)


@pytest.mark.parametrize("ticks", [1, 2, 50])
def test_steps_are_in_the_order_of_the_events(ticks: int) -> None:
    tracks = [_random_track(seed, ticks) for seed in range(5)]
    calls = Calls([(7 + i, ended) for i, (_, ended) in enumerate(tracks)])
    expected = [(7 + i, *event) for i, (events, _) in enumerate(tracks) for event in events]
    rows = zip(calls.track[calls.call].tolist(), (~calls.is_end).tolist(), calls.time.tolist(), strict=True)
    found = [(*row, number) for row, number in zip(rows, calls.region[calls.call].tolist(), strict=True)]
    assert found == expected


def test_the_innermost_call_around_a_time() -> None:
    events, ended = _random_track(3, 50)
    calls = Calls([(0, ended)])
    for time in range(events[0][1], events[-1][1]):
        stack: list[int] = []
        for begins, at, number in events:
            if at > time:
                break
            stack.append(number) if begins else stack.pop()
        if stack:
            found = calls.around(np.array([0]), np.array([time]))
            assert calls.region[found[0]] == stack[-1], time


def test_the_nearest_call_where_none_is_around() -> None:
    calls = Calls([(3, np.array([(10, 20, 1, 0, 0, 1), (50, 60, 2, 0, 0, 1)], SLICE)), (4, np.empty(0, SLICE))])
    found = calls.around(np.array([3, 3, 3, 3, 3, 4, 5]), np.array([0, 15, 22, 48, 99, 15, 15]))
    assert [int(calls.region[row]) if row >= 0 else None for row in found] == [1, 1, 1, 2, 2, None, None]


def test_lanes_do_not_overlap() -> None:
    begin, end = np.array([0, 5, 10, 10, 12, 30]), np.array([10, 20, 15, 11, 13, 31])
    assert lanes(begin, end).tolist() == [0, 1, 0, 2, 2, 0] or _free(begin, end, lanes(begin, end))
    assert lanes(begin, end).max() == 2


def _free(begin: np.ndarray, end: np.ndarray, lane: np.ndarray) -> bool:
    return all(
        np.all(begin[lane == number][1:] >= end[lane == number][:-1]) for number in range(int(lane.max()) + 1)
    )  # fmt: skip
