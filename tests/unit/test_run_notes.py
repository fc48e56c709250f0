# SPDX-License-Identifier: BSD-3-Clause
"""The line of a diagnosis about what to record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vtrace.analysis.findings import run_notes
from vtrace.analysis.findings.run_facts import OUTSIDE
from vtrace.analysis.selection import Selection


@pytest.mark.parametrize(
    ("texts", "python", "line"),
    [
        ((f"rank 1 takes longer in {OUTSIDE}",), {}, "compile with vtrace-cc"),
        ((f"rank 1 takes longer in {OUTSIDE}",), {3: "python work@/a/x.py:1"}, "vtrace run --python"),
        (("rank 1 takes longer in work", f"iteration 3 took longer: rank 0, {OUTSIDE}"), {}, ""),
    ],
    ids=["compiled", "Python", "named"],
)
def test_functions_without_samples(
    monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...], python: dict[int, str], line: str
) -> None:
    """A function that sleeps for a millisecond at a time has no samples, nor has its call a line."""
    for name in ("_processes_to_record", "_locks_to_record"):
        monkeypatch.setattr(run_notes, name, lambda _: "")
    blocked = SimpleNamespace(python_regions=python)
    facts: Any = SimpleNamespace(rows=[0], window=Selection(), sampled=True, blocked=blocked, io=np.zeros(1, bool))
    findings: Any = [SimpleNamespace(text=text) for text in texts]
    told = f"samples do not show which functions take the time: {line}" if line else ""
    assert run_notes.to_record(facts, findings) == told
