# SPDX-License-Identifier: BSD-3-Clause
"""The line that makes most long calls of a region."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.synthetic_runs.diagnosed import threads
from vtrace.analysis.long_calls import LongCalls
from vtrace.io.sidecar import sidecar


@pytest.mark.parametrize(
    ("places", "caller", "line"),
    [
        ({"work@/a.c:3": 40, "work@/a.c:7": 60}, "work", "/a.c:7"),
        ({"work@/a.c:3": 40, "work@/a.c:7": 60}, "", "/a.c:7"),
        ({"work@/a.c:3": 40, "step@/a.c:7": 60}, "work", "/a.c:3"),
        ({"step@/a.c:7": 60}, "work", "/a.c:7"),  # inlined
        ({"work@/a.c:3": 40, "step@/a.c:7 <- work@/a.c:9": 60}, "work", "/a.c:7"),
        ({"work@/a.c:3": 40, "step@/a.c:7 <- main@/a.c:9": 60}, "work", "/a.c:3"),
        ({"main@/a.c:7": 60}, "work", ""),  # recorded, too: another call
        ({"main@/a.c:7": 60}, "main._omp_fn.0", "/a.c:7"),
        ({"work@/a.c:3": 40, "": 60}, "", ""),
        ({"_Py_write@/b/Python-3.11/Python/fileutils.c:18": 60}, "", ""),  # the line is that of Python
        ({"wait_impl@/b/Modules/posixmodule.c:18": 60}, "", ""),
        ({"work@/a.c:3": 40, "PMPI_x@libx.so+0x10": 60}, "", ""),
        ({"a@/a.c:1": 30, "b@/a.c:2": 30, "c@/a.c:3": 30}, "", ""),
    ],
)
def test_source(places: dict[str, int], caller: str, line: str, tmp_path: Path) -> None:
    trace = threads(tmp_path / "a", {0: [(0, "Enter", 0), (10, "Leave", 0)]}, "read", 1, 4)
    rows = [(0, 1, number, 1, ns) for number, ns in enumerate(places.values())]
    names = ("location", "region", "site", "count", "ns")
    columns = {name: np.array(values, "<u8") for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    table = sidecar.SidecarTable(columns, {"site": [*places]})
    of = sidecar.identity(trace.anchor, trace.properties)
    sidecar.write(trace.anchor.parent, *sidecar.LONG_CALLS, of, table)
    assert LongCalls(trace).source(1, [0], caller) == line


def test_a_damaged_table_is_none(tmp_path: Path) -> None:
    trace = threads(tmp_path / "a", {0: [(0, "Enter", 0), (10, "Leave", 0)]}, "read", 1, 4)
    columns = {name: np.array([0.5], "<f8") for name in ("location", "region", "site", "count", "ns")}
    of = sidecar.identity(trace.anchor, trace.properties)
    sidecar.write(trace.anchor.parent, *sidecar.LONG_CALLS, of, sidecar.SidecarTable(columns, {"site": ["x@/a.c:1"]}))
    assert LongCalls(trace).source(1, [0]) == ""
