# SPDX-License-Identifier: BSD-3-Clause
"""Findings of small archives, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.synthetic_runs.archives import Foreign
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace

Event = tuple[Any, ...]
PARALLEL, BARRIER = _otf2.REGION_ROLE_PARALLEL.value, _otf2.REGION_ROLE_BARRIER.value
OPENMP, PTHREAD = _otf2.PARADIGM_OPENMP.value, _otf2.PARADIGM_PTHREAD.value


def threads(where: Path, events: dict[int, list[Event]], name: str, role: int, paradigm: int) -> Trace:
    """An archive of the threads of one process. Region 0 is main, region 1 the one with the name."""
    archive = Foreign(where)
    for thread, each in events.items():
        archive.events(thread, each)
    archive.begin_definitions()
    archive.machine(length=max(each[-1][0] for each in events.values()))
    for thread in events:
        archive.location(thread)
    archive.region(0, "main")
    archive.region(1, name, role, paradigm)
    return Trace(archive.close())


def told(trace: Trace, kind: str) -> Finding:
    """The only finding of a kind."""
    (found,) = (one for one in trace.diagnosis(Selection()).findings if one.kind == kind)
    return found


def test_threads_are_idle_before_their_first_event(tmp_path: Path) -> None:
    """Three threads begin after 900 of 1000 ns: each is idle for 900 ns, of 4000 ns of all threads."""
    work = [(900, "Enter", 1), (1000, "Leave", 1)]
    events = {0: [(0, "Enter", 0), *work, (1000, "Leave", 0)], 1: work, 2: work, 3: work}
    serial = told(threads(tmp_path, events, "!$omp parallel", PARALLEL, OPENMP), "omp_serial")
    assert serial.loss_ns == 3 * 900
    assert serial.share == pytest.approx(2700 / 4000)
