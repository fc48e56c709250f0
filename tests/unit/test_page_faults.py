# SPDX-License-Identifier: BSD-3-Clause
"""Findings about page faults: from the sums that the runtime states for each location."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.synthetic_runs.archives import Foreign
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.page_fault_findings import _sampled_place
from vtrace.analysis.findings.sampled_places import SampledPlace
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

MS = 10**6
UINT64 = 4
STORM = {"SYSTEM_NS": 400 * MS, "MINOR_FAULTS": 200_000, "MAJOR_FAULTS": 0, "RESIDENT_PAGES": 10_000}


def told(where: Path, *threads: dict[str, int], window: Selection | None = None) -> list[Finding]:
    """The findings about page faults of two processes of one thread, of 1 s, in which process 0 does I/O for 100 ms.
    threads: properties of their locations."""
    made = Foreign(where)
    read = [(100 * MS, "Enter", 1), (200 * MS, "Leave", 1)]
    for number in range(len(threads)):
        made.events(number, [(0, "Enter", 0), *(read if number == 0 else []), (1000 * MS, "Leave", 0)])
    made.begin_definitions()
    made.machine(groups=len(threads), length=1000 * MS)
    for number, properties in enumerate(threads):
        made.location(number, number)
        for name, value in properties.items():
            made.define("LocationProperty", number, f"VTRACE::{name}", UINT64, value)
    made.region(0, "main")
    made.region(1, "read", 12, 1)  # FILE_IO
    found = Trace(made.close()).diagnosis(window or Selection()).findings
    return [one for one in found if one.kind == "page_faults"]


def test_storm(tmp_path: Path) -> None:
    """The loss is the time in the kernel without that in recorded I/O."""
    (found,) = told(tmp_path, STORM, STORM | {"MINOR_FAULTS": 20_000, "SYSTEM_NS": 30 * MS})
    assert (found.loss_ns, found.certainty, found.ranks) == (300 * MS, "upper bound", (0,))
    assert found.share == pytest.approx(0.15)
    assert "process 0 takes 200,000 page faults with at most 10,000 pages in memory" in found.text


def test_only_the_named_process_counts(tmp_path: Path) -> None:
    """Process 1 gets memory again, too, but takes an eighth of the time."""
    (found,) = told(tmp_path, STORM, STORM | {"MINOR_FAULTS": 30_000, "SYSTEM_NS": 40 * MS})
    assert "process 0 takes 200,000 page faults with at most 10,000 pages in memory" in found.text


@pytest.mark.parametrize(
    "change",
    [
        {"MINOR_FAULTS": 20_000},  # each page once, or twice
        {"RESIDENT_PAGES": 0},  # unknown
        {"SYSTEM_NS": 150 * MS},  # of which 100 ms may be in I/O
        {"SYSTEM_NS": 200 * MS},  # 10 % of the time, but it may be none by chance
        {"RESIDENT_PAGES": 1000, "MINOR_FAULTS": 4000},  # 4000 page faults take 40 ms at most
    ],
)
def test_healthy(tmp_path: Path, change: dict[str, int]) -> None:
    assert not told(tmp_path, STORM | change)


def test_part_of_a_run(tmp_path: Path) -> None:
    """Only the sums of the run are known."""
    assert not told(tmp_path, STORM, window=Selection(start=0, stop=500 * MS))


def test_without_sums(tmp_path: Path) -> None:
    """Archives of other tools."""
    assert not told(tmp_path, {})


@pytest.mark.parametrize(("others", "is_told"), [(8, True), (13, True), (25, False)])
def test_the_function_with_most_page_faults(others: int, is_told: bool) -> None:
    """Page faults take 200 ms. Of 10-ms samples 20 are in one function, the others in code that may have page faults,
    too: 13 of them are above half of the loss, but may be so by chance."""
    place = SampledPlace(names=("write_pages",), source="", is_inlined=False, ns=200 * MS)
    columns = {"location": 0, "count": 20 + others, "ns": 10 * MS}
    samples = Table({name: np.array([value]) for name, value in columns.items()})
    trace = SimpleNamespace(interrupt_generators={"name": []})
    facts: Any = SimpleNamespace(
        rows=[0], trace=trace, costs=SimpleNamespace(samples=samples),
        sampled=SimpleNamespace(longer=lambda around, locations, others: place),
    )  # fmt: skip
    assert (_sampled_place(facts, 200.0 * MS) is place) == is_told
