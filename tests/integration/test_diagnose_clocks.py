# SPDX-License-Identifier: BSD-3-Clause
"""Findings about waits that are shorter than the clocks of two hosts may differ."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace as package
from support.build.run import unify, vtrace
from support.synthetic_runs.archives import UNDEFINED
from support.synthetic_runs.random_mpi import archive, region
from support.tools import ROOT, call
from vtrace.analysis.questions.clock_bounds import ClockBounds
from vtrace.analysis.trace import Trace

WAITS = {"imbalance", "serialisation", "mpi_wait"}


def diagnosed(where: Path, *words: str) -> dict[str, Any]:
    """The JSON of a run of 4 ranks, 2 on each host, with these clocks. Messages take no time, so waits have causes."""
    size = ["--ranks", "4", "--ranks-per-host", "2", "--events", "4e3"]
    times = ["--compute", "200000", "--latency", "1", "--jitter", "1"]
    call([sys.executable, ROOT / "bench" / "synthetic.py", "c", *size, *times, *words], where)
    unify(where, "c")
    found: dict[str, Any] = json.loads(vtrace(where, "diagnose", "c", "--json").stdout)
    assert {one["kind"] for one in found["findings"]} & WAITS
    return found


def told(found: dict[str, Any], text: str) -> list[bool]:
    """For each finding about waits, true if a caveat has this text."""
    mine = [one["caveats"] for one in found["findings"] if one["kind"] in WAITS]
    return [any(text in line for line in lines) for lines in mine]


def test_exact_clocks(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "--error", "1")
    assert not any(told(found, "clocks"))
    assert not any("clocks are known" in note for note in found["notes"])


def test_an_error_longer_than_the_waits(tmp_path: Path) -> None:
    """The bound of a pair of hosts is 10 s, so no wait between hosts is sure."""
    found = diagnosed(tmp_path, "--error", "10000000000")
    assert any(told(found, "clocks are known within 1e+07 us: waits of "))
    assert any("within 1e+07 us, more than the mean wait between hosts" in note for note in found["notes"])
    text = vtrace(tmp_path, "diagnose", "c").stdout
    assert re.search(r"clocks are known within 1e\+07 us:\s+waits of \d+%", text)


def test_clocks_that_were_never_compared(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "--measured", "0")
    assert any(told(found, "clocks of hosts were aligned by real time only: "))
    assert any("waits between hosts may be wrong" in note for note in found["notes"])


@pytest.mark.parametrize(("error", "certainty"), [(499, "exact"), (501, "estimate")])
def test_certainty(error: int, certainty: str, tmp_path: Path) -> None:
    """Rank 1 waits 500 ns in a barrier for rank 0 on another host."""
    op = ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 0, 0, UNDEFINED, 0, 0)
    barrier, events = region("MPI_Barrier"), {}
    for rank, begin in enumerate((900, 400)):
        inside = [(begin, "Enter", barrier), *((900, *event) for event in op), (900, "Leave", barrier)]
        events[rank] = [(0, "Enter", 0), *inside, (1000, "Leave", 0)]
    trace = Trace(archive(tmp_path / "a.trace", events))
    trace.processes["host"][:] = ["here", "there"]
    trace.vtrace["CLOCKS"] = {"reference": "here", "error_ns": error, "bounds": [{"host": "there", "error_ns": error}]}
    (found,) = (one for one in trace.findings() if one.kind == "imbalance")
    assert (found.loss_ns, found.certainty) == (500, certainty)
    assert [line.partition(" us")[0] for line in found.caveats] == ["clocks are known within 0.501"] * (error > 500)


def test_pairs_of_hosts(tmp_path: Path) -> None:
    """Two ranks of one host have one clock, the errors of two hosts add up, and an unknown partner counts as the worst
    other host."""
    diagnosed(tmp_path, "--error", "1")
    trace = package.open(tmp_path / "c")
    hosts = [str(host) for host in trace.processes["host"]]
    assert hosts[0] == hosts[1] != hosts[2] == hosts[3]
    trace.vtrace["CLOCKS"] = {
        "count": 3, "reference": hosts[0], "error_ns": 90, "bounds": [{"host": hosts[2], "error_ns": 50}],
    }  # fmt: skip
    bounds = ClockBounds(trace)
    one, other = np.array([0, 0, 2, 0]), np.array([1, 2, 0, -1])
    assert bounds.between(one, other).tolist() == [0, 50, 50, 50]
    assert bounds.between(np.array([2]), np.array([-1])).tolist() == [50], "for rank 0 or 1"
    share, line = bounds.doubt(one, other, np.array([1, 98, 102, 1000]), np.array([1, 2, 2, 10]))
    assert share == pytest.approx(98 / 1201)
    assert line == "clocks are known within 0.05 us: waits of 8% of this loss are shorter"
    trace.vtrace["CLOCKS"]["bounds"] = []  # the list of a large run lacks hosts
    assert ClockBounds(trace).between(one, other).tolist() == [0, 90, 90, 90]
    trace.vtrace["CLOCKS"] = {"count": 1}
    assert not ClockBounds(trace).between(one, other).any()
