# SPDX-License-Identifier: BSD-3-Clause
"""Increases of counters where threads share a location or a counter, of synthetic archives with known values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import _otf2
import pytest

import vtrace
from support.build.run import vtrace as command
from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.questions import section_sums
from vtrace.analysis.questions.increases import Increases
from vtrace.analysis.questions.timers import timers
from vtrace.analysis.selection import Patterns, Selection

PTHREAD = 5
FAULTS, BYTES = 0, 1


def reading(time: int, counter: int, value: int) -> tuple[Any, ...]:
    return time, "Metric", counter, [_otf2.TYPE_UINT64], [_otf2.MetricValue(unsigned_int=value)]


def begins(time: int, number: int) -> tuple[Any, ...]:
    return time, "ThreadBegin", UNDEFINED, number


def archive(where: Path, *locations: list[tuple[Any, ...]]) -> Any:
    """Locations of one process; the region 0 is "work". The counters are page-faults and net/lo/rx_bytes."""
    made = Foreign(where / "t.trace")
    for number, events in enumerate(locations):
        made.events(number, events)
    made.begin_definitions()
    made.machine(groups=1, length=1000)
    for number in range(len(locations)):
        made.location(number, 0)
    made.region(0, "work")
    made.region(1, "inner")
    made.region(2, "work")
    kind, mode = _otf2.TYPE_UINT64.value, _otf2.METRIC_ACCUMULATED_START.value
    for number, (name, unit) in enumerate((("page-faults", "#"), ("net/lo/rx_bytes", "bytes"))):
        made.define("MetricMember", number, name, "", 0, mode, kind, _otf2.BASE_DECIMAL.value, 0, unit)
        made.define("MetricClass", number, [number], 0, 0)
    made.close()
    return vtrace.open(where / "t.trace")


def increases(trace: Any, counter: int) -> dict[tuple[int, tuple[int, ...]], float]:
    """By location and call path."""
    question = Increases(trace, [counter])
    trace.scan([question])
    return {(location, path): value for (location, _, path), value in question.answer().items()}


@pytest.mark.parametrize("first", [5, 5000])
def test_threads_that_follow_each_other_on_a_location(tmp_path: Path, first: int) -> None:
    """The counters of a new thread restart, at a smaller or a larger value: between both threads nothing counts."""
    trace = archive(tmp_path, [
        begins(0, 0), reading(10, FAULTS, 100), (10, "Enter", 0), reading(20, FAULTS, 130), (20, "Leave", 0),
        begins(30, 1), reading(40, FAULTS, first), (40, "Enter", 0), reading(50, FAULTS, first + 7), (50, "Leave", 0),
    ])  # fmt: skip
    assert increases(trace, FAULTS) == {(0, ()): 0, (0, (0,)): 37}
    whole = section_sums.read(trace, Selection(), [FAULTS]).counters["all/0"]
    assert whole["page-faults"] == 37


def test_a_call_without_readings_of_its_own(tmp_path: Path) -> None:
    """Nothing has increased there: the number is known, and 0."""
    archive(tmp_path, [
        reading(10, FAULTS, 100), (20, "Enter", 0), (30, "Enter", 1), reading(40, FAULTS, 130), (40, "Leave", 1),
        (50, "Leave", 0),
    ])  # fmt: skip
    words = ("--metrics", "page-faults", "--json")
    rows = {row["function"]: row for row in json.loads(command(tmp_path, "profile", "t", *words).stdout)["metrics"]}
    assert [rows[name]["page-faults"] for name in ("work", "inner")] == [0, 30]
    assert [rows[name]["page-faults:inclusive"] for name in ("work", "inner")] == [30, 30]


def test_two_regions_of_one_name(tmp_path: Path) -> None:
    """A function with a region of its own name inside, as VT_USER_START makes: its calls count once."""
    archive(tmp_path, [
        reading(10, FAULTS, 100), (20, "Enter", 0), (30, "Enter", 2), reading(40, FAULTS, 130), (40, "Leave", 2),
        (50, "Leave", 0),
    ])  # fmt: skip
    rows = json.loads(command(tmp_path, "profile", "t", "--metrics", "page-faults", "--json").stdout)["metrics"]
    (row,) = [row for row in rows if row["function"] == "work"]
    assert (row["page-faults"], row["page-faults:inclusive"]) == (30, 30)


def test_a_counter_that_begins_anew_is_no_increase(tmp_path: Path) -> None:
    """The counter restarts without an event of another thread."""
    values = [100, 130, 5, 12]
    trace = archive(tmp_path, [reading(10 * place, FAULTS, value) for place, value in enumerate(values)])
    assert increases(trace, FAULTS) == {(0, ()): 37}


def test_threads_read_a_counter_of_the_node_in_turn(tmp_path: Path) -> None:
    """Each increase belongs to the thread that makes the second reading, and counts once."""
    call = [(45, "Enter", 0), reading(50, BYTES, 1500), (60, "Leave", 0)]
    one = [reading(10, BYTES, 1100), reading(30, BYTES, 1130), *call]
    trace = archive(tmp_path, one, [reading(20, BYTES, 1110), reading(40, BYTES, 1160)])
    assert increases(trace, BYTES) == {(0, ()): 20, (0, (0,)): 340, (1, ()): 40}


def test_timers_have_no_bytes_of_the_node(tmp_path: Path) -> None:
    """The readings are not counts of the program."""
    trace = archive(tmp_path, [(0, "Enter", 0), reading(10, BYTES, 1100), reading(20, BYTES, 1130), (30, "Leave", 0)])
    (timer,), _ = timers(trace, Selection(), Patterns.of_options(["region=*"]))
    assert (timer["label"], timer["bytes"]) == ("work", None)
