# SPDX-License-Identifier: BSD-3-Clause
"""Locks of windows: the lock that each lock waits for, against the definition."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vtrace.analysis.questions.rma_locks import blockers
from vtrace.analysis.table import Array
from vtrace.io.archive.reader_abi import LOCK_EPOCH

ALL, NEVER = 0xFFFFFFFF, np.iinfo(np.int64).max


def made(draw: random.Random, count: int) -> Array:
    locks = np.zeros(count, LOCK_EPOCH)
    ends = draw.sample(range(100, 100 + 10 * count), count)
    for at, one in enumerate(locks):
        one["lock_enter"], one["unlock_enter"] = ends[at] - draw.randrange(50), ends[at]
        one["window"], one["target"] = draw.randrange(2), draw.choice([0, 1, 2, ALL])
        one["is_exclusive"] = one["target"] != ALL and draw.random() < 0.5
        if draw.random() < 0.1:
            one["unlock_enter"] = NEVER
        one["location"] = at
    return locks


def slow(locks: Array, at: int) -> int:
    """The latest release, among locks that exclude this one, that begins before this lock's release; -1: none."""
    own = locks[at]
    found = -1
    for other in locks:
        same = own["target"] == other["target"] or ALL in (own["target"], other["target"])
        excludes = own["is_exclusive"] or other["is_exclusive"]
        if same and excludes and own["window"] == other["window"] and other["unlock_enter"] < own["unlock_enter"]:
            found = max(found, int(other["unlock_enter"]))
    return found


@pytest.mark.parametrize("seed", range(200))
def test_against_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    locks = made(draw, draw.choice([0, 1, 2, 5, 20]))
    until, by = blockers(locks)
    assert until.tolist() == [slow(locks, at) for at in range(len(locks))]
    for at, place in enumerate(by.tolist()):
        assert place == -1 if until[at] < 0 else locks["unlock_enter"][place] == until[at]
