# SPDX-License-Identifier: BSD-3-Clause
"""The archive's property with loops: damaged and malicious values lead to no loop, never to an endless search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.synthetic_runs.archives import Foreign
from vtrace.analysis.trace import Trace
from vtrace.io.archive.properties import PROPERTY


def loop(number: int, outer: Any = None, **more: Any) -> dict[str, Any]:
    known = {"number": number, "outer": outer, "region": 0, "file": "a.c", "first": 3, "last": 9, "level": 1}
    return known | {"kind": "for", "lines": [number + 4]} | more


def opened(where: Path, value: Any) -> Trace:
    made = Foreign(where)
    made.begin_definitions()
    made.machine()
    made.region(0, "f")
    _otf2.Archive_SetProperty(made.archive, f"{PROPERTY}LOOPS", json.dumps(value), True)
    return Trace(made.close())


def test_loops(tmp_path: Path) -> None:
    loops = opened(tmp_path, [loop(0), loop(1, 0, level=2), loop(2, 1, level=3, lines=[6, 5])]).loops
    assert [loops.at(0, "a.c", line) for line in (3, 4, 5, 6)] == [-1, 0, 1, 2]
    assert (loops.at(1, "a.c", 4), loops.at(0, "b.c", 4)) == (-1, -1)
    assert loops.around(2) == [0, 1]
    assert loops.table["level"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "value",
    [
        [loop(0, 0)], [loop(0, 1), loop(1, 0)], [loop(0), loop(0, 0)], [loop(1, 7)], [loop(0, region=2**62)],
        [loop(0, region=77)], [loop(0) | {"number": 2**62}],
    ],
)  # fmt: skip
def test_impossible_loops(tmp_path: Path, value: Any) -> None:
    loops = opened(tmp_path, value).loops
    assert all(outer < row for row, outer in enumerate(loops.table["outer"].tolist()))
    assert all(len(loops.around(row)) <= row for row in range(loops.table.rows))


@pytest.mark.parametrize(
    "value", [7, "x", {}, [7], [{}], [loop(0, "x")], [loop(0, first=-1)], [loop(0, lines=7)], [loop(0, kind=None)]]
)
def test_damaged_loops_are_told(tmp_path: Path, value: Any) -> None:
    trace = opened(tmp_path, value)
    assert trace.loops.table.rows == 0
    assert any("LOOPS" in line for line in trace.problems)


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    trace = opened(tmp_path, [loop(0, lines=[4, "x", -1, 6])])
    assert [trace.loops.at(0, "a.c", line) for line in (4, 5, 6)] == [0, -1, 0]
    assert len(trace.problems) == 2
