# SPDX-License-Identifier: BSD-3-Clause
"""Delays of threads that live for a moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from vtrace.analysis.findings.short_threads import with_first_threads
from vtrace.analysis.table import Table
from vtrace.io.archive.properties import TID


def test_time_between_threads_is_that_of_the_first_thread() -> None:
    """Location 3 of process 1 has had two threads, location 1 of process 0 one. The first thread of process 1 takes
    longer in relax. Time in a recorded call is the thread's own."""
    paths = [(), ("exchange",), ("main",), ("main", "relax")]
    properties = Table({"location": np.array([1, 3, 3]), "name": np.array([f"{TID}.1", f"{TID}.1", f"{TID}.2"])})
    trace = SimpleNamespace(location_properties=properties, places=SimpleNamespace(process=np.array([0, 0, 1, 1])))
    facts: Any = SimpleNamespace(
        trace=trace, masters={0: 0, 1: 2}, longer_path=lambda mine, others: 3 if (mine, others) == ([2], [0]) else -1,
        names=lambda row, tree=None: paths[row],
    )  # fmt: skip
    delays = Table({"location": np.array([1, 3, 3]), "path": np.array([0, 0, 1])}, paths=Table({"region": np.zeros(4)}))
    found = with_first_threads(facts, delays)
    assert list(zip(found["location"].tolist(), found["path"].tolist(), strict=True)) == [(1, 0), (2, 3), (3, 1)]
