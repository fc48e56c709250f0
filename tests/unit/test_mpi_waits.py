# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of random programs against the oracle, path by path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.oracles.slow_waits import Key, Waits
from support.readers.archive import read
from support.synthetic_runs.random_mpi import archive, program
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer


def found(trace: Trace, **window: Any) -> dict[Key, tuple[int, int]]:
    """The waits of Trace.waits as the oracle gives them."""
    table = trace.waits(**window)
    sums: dict[Key, tuple[int, int]] = {}
    for row in table.records():
        path = tuple(path_names(table.paths, trace.regions["name"], row["path"]))
        key = table.kinds[row["kind"]], path, row["location"], row["partner"]
        ns, count = sums.get(key, (0, 0))
        sums[key] = ns + row["time_ns"], count + row["count"]
    return sums


@pytest.mark.parametrize(("seed", "batch"), [(seed, (1, 7, 1 << 16)[seed % 3]) for seed in range(9)])
def test_random_programs(seed: int, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(batch))
    anchor = archive(tmp_path / "a", program(seed, 2 + seed % 4))
    trace, oracle = Trace(anchor), Waits(read(anchor.parent))
    assert found(trace) == oracle.waits()
    half = trace.duration // 2
    assert found(trace, start=half // 2, stop=half) == oracle.waits(half // 2, half)
    ideal = trace._replayed(None, None, None).places["ideal"].tolist()
    assert ideal == [ns for _, ns in sorted(oracle.ideal().items())]
