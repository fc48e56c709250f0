# SPDX-License-Identifier: BSD-3-Clause
"""The times in which one process is alone in calls of I/O, against a look at each unit of time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vtrace.analysis.findings.io_waits import _only_io
from vtrace.analysis.findings.sync_calls import CALL

CALLS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 12)), max_size=25)


@given(CALLS)
def test_alone(drawn: list[tuple[int, int, int]]) -> None:
    calls = np.zeros(len(drawn), CALL)
    for row, (process, begin, length) in zip(calls, drawn, strict=True):
        row["process"], row["begin"], row["end"] = process, begin, begin + length
    expected = {}
    for time in range(50):
        running = {process for process, begin, length in drawn if begin <= time < begin + length}
        if len(running) == 1:
            expected[time] = running.pop()
    pieces = _only_io(calls)
    found = [(time, int(row["process"])) for row in pieces for time in range(int(row["begin"]), int(row["end"]))]
    assert found == sorted(expected.items())


def test_many_calls_beside_a_long_one() -> None:
    """Ends of calls far back would make a search from each piece backwards quadratic."""
    calls = np.zeros(200_001, CALL)
    calls["process"], calls["begin"] = 1, np.arange(200_001) * 10
    calls["end"] = calls["begin"] + 5
    calls[0] = np.zeros(1, CALL)[0]
    calls["process"][0], calls["end"][0] = 0, 3_000_000
    pieces = _only_io(calls)
    assert pieces["process"].tolist() == [0] * 200_001
