# SPDX-License-Identifier: BSD-3-Clause
"""The line of a diagnosis about what to record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.findings import run_notes
from vtrace.analysis.findings.run_facts import OUTSIDE
from vtrace.analysis.findings.sampled_places import SampledPlaces
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table


@pytest.mark.parametrize(
    ("texts", "python", "slept", "line"),
    [
        ((f"rank 1 takes longer in {OUTSIDE}",), {}, 100, "compile with vtrace-cc"),
        (("noise", f"rank 1 takes longer in {OUTSIDE}"), {}, 100, "compile with vtrace-cc"),
        ((f"rank 1 takes longer in {OUTSIDE}",), {3: "python work@/a/x.py:1"}, 100, "vtrace run --python"),
        (
            (f"rank 1 takes longer in {OUTSIDE}",),
            {},
            300,
            "compile with vtrace-cc, and whether calls of I/O do: vtrace run --io",
        ),
        (("rank 1 takes longer in work", f"iteration 3 took longer: rank 0, {OUTSIDE}"), {}, 300, ""),
    ],
    ids=["compiled", "noise first", "Python", "asleep in an unknown call", "named"],
)
def test_functions_without_samples(
    monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...], python: dict[int, str], slept: int, line: str
) -> None:
    """A function that sleeps for a millisecond at a time has no samples, nor has its call a line. Two ranks lose 1000
    ns together for one that may sleep in calls of I/O."""
    for name in ("_processes_to_record", "_locks_to_record", "_calls_to_record"):
        monkeypatch.setattr(run_notes, name, lambda _: "")
    blocked = SimpleNamespace(
        python_regions=python, within=lambda: np.array([slept, 900]), is_known=np.array([False, True])
    )
    facts: Any = SimpleNamespace(rows=[0], window=Selection(), sampled=True, blocked=blocked, io=np.zeros(1, bool),
                                 asleep_at_work=np.ones(2, bool))  # fmt: skip
    findings: Any = [
        SimpleNamespace(text=text, kind="noise" if text == "noise" else "imbalance", loss_ns=1000, ranks=(0, 2))
        for text in texts
    ]
    told = f"samples do not show which functions take the time: {line}" if line else ""
    assert run_notes.to_record(facts, findings) == told


@pytest.mark.parametrize(
    ("samples", "inside", "setting", "is_told"),
    [(20, 0, "no", True), (20, 2, "no", True), (20, 3, "no", False), (20, 0, "yes", False), (3, 0, "no", False)],
    ids=["outside of recorded calls", "in a function", "in MPI", "recorded", "few"],
)
def test_samples_in_calls_that_are_not_recorded(samples: int, inside: int, setting: str, is_told: bool) -> None:
    """20 of 100 ms are samples in write, which work calls, or which a recorded function or MPI calls."""
    activities = [ACTIVITIES.index(name) for name in ("user", "user", "user", "mpi/p2p")]
    regions = Table({"name": np.array(["__GI___libc_write", "work", "main", "MPI_Send"], object),
                     "activity": np.array(activities)})  # fmt: skip
    found = object.__new__(SampledPlaces)
    found._trace = cast(Any, SimpleNamespace(regions=regions))
    tree = Table({"region": np.array([-1, 1, 2, 3, 0]), "parent": np.array([-1, 0, 0, 0, 1])})
    rows = [(4, inside, samples // 2, 10**6), (4, inside, samples - samples // 2, 10**6), (1, 0, 80, 10**6)]
    columns = zip(("path", "inside", "count", "ns"), np.array(rows).T, strict=True)
    found._costs = cast(Any, SimpleNamespace(tree=tree, samples=Table(dict(columns))))
    trace = SimpleNamespace(vtrace={"SETTINGS": {"VT_IOTRACE": setting, "VT_MEMTRACE": "no"}})
    facts: Any = SimpleNamespace(trace=trace, sampled=found, whole=100 * 10**6)
    line = f"{samples} ms are in calls of I/O, by samples, which are not recorded: vtrace run --io"
    assert [*run_notes._calls_to_record(facts)] == [line] * is_told
